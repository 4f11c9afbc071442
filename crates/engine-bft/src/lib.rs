//! The engine of several validators: Commonware simplex orders bundles, marshal delivers them, behind
//! [`esker_chain::ChainMachine`].
//!
//! * A leader proposes a bundle of the machine, the others verify it with theirs and vote. A bundle with the votes of
//!   a quorum is final. With `3f + 1` validators, `f` may be down, slow or dishonest.
//! * Marshal stores no second copy of final bundles: it reads them from the machine. Only bundles that are not final
//!   at the machine yet, and the votes, are in a folder of their own.
//! * Types of the library stay inside this crate: keys and addresses come in as bytes and text.
//!
//! Chain code knows bundles, parents and state, but no votes; this crate knows no transactions. Start with `stack.rs`,
//! which puts the parts together, and `application.rs`, which calls the machine.

mod address;
#[cfg(test)]
#[path = "../../nat/tests/it/any_tx.rs"]
#[expect(dead_code, reason = "the chains' tests use more of it")]
mod any_tx;
mod application;
#[cfg(test)]
#[path = "../../nat/tests/it/audit.rs"]
mod audit;
mod block;
mod blocker;
mod certificate;
mod changes;
mod disk;
mod engine;
mod exchange;
mod finalizer;
#[cfg(test)]
mod followers;
#[cfg(test)]
#[path = "../../nat/tests/it/funded.rs"]
#[expect(dead_code, reason = "the chains' tests use more of it")]
mod funded;
#[cfg(test)]
mod hostile;
mod journal;
mod keys;
mod log_limit;
#[cfg(test)]
mod loopback;
mod observer;
mod rejoin;
#[cfg(test)]
mod rotation;
mod settings;
mod shared;
#[cfg(test)]
mod simulation;
mod stack;
mod store;
#[cfg(test)]
#[path = "../../chain/tests/it/toy.rs"]
#[expect(dead_code, reason = "the machine's tests use more of it")]
mod toy;
#[cfg(test)]
mod toy_pool;
mod whole_file;
#[cfg(test)]
#[path = "../../nat/tests/it/world.rs"]
#[expect(dead_code, reason = "the chains' tests use more of it")]
mod world;

pub use address::{AddressError, ValidatorAddress};
pub use certificate::{CertificateError, CertificateVerifier, CommitteeError};
pub use changes::{
    ApprovalError, ChangeError, ChangeHistory, ChangeLog, ChangeStatus, MemoryChangeLog, Proposal,
    SetChange, SignedChange,
};
pub use engine::{BftConfig, BftEngine, BftStats};
pub use journal::begin_journal;
pub use keys::{KeyError, ValidatorKey, ValidatorPublicKey};
pub use settings::{MAX_VALIDATORS, Timings};
pub use shared::VoteCounts;
