//! The validators of a network: keys, addresses, changes of their set, and the port to a consensus library.
//!
//! [`Consensus`] is the port to such a library. `esker-engine-bft` fills it with Commonware. This crate depends on no
//! library, so that a node can be built without one.

mod address;
mod change;
mod change_log;
mod config;
mod engine;
pub mod journal;
mod keys;
mod settings;
mod status;
pub mod whole_file;

pub use address::{AddressError, HostName, ValidatorAddress};
pub use change::{
    ChangeError, MAX_CHANGE, MAX_SIGNED_CHANGE, SetChange, Signature, Signatures, SignedChange,
    VerifiedChange, put_signatures, read_signatures,
};
pub use change_log::{ChangeLog, MemoryChangeLog};
pub use config::ValidatorConfig;
pub use engine::{Committees, CommitteesError, Consensus, ValidatorEngine};
pub use keys::{KeyError, ValidatorKey, ValidatorPublicKey};
pub use settings::{MAX_VALIDATORS, Timings, quorum};
pub use status::{ApprovalError, ChangeStatus, Proposal, ValidatorStats, VoteCounts};
