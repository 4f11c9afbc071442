//! The engine of several validators: Commonware simplex orders bundles, marshal delivers them, behind
//! [`esker_chain::ChainMachine`].
//!
//! * A leader proposes a bundle of the machine, the others verify it with theirs and vote. A bundle with the votes of
//!   a quorum is final. With `3f + 1` validators, `f` may be down, slow or dishonest.
//! * Marshal stores no second copy of final bundles: it reads them from the machine. Only bundles that are not final
//!   at the machine yet, and the votes, are in a folder of their own.
//! * Types of the library stay inside this crate. The node knows the port that it fills, `esker_validators::Consensus`.
//!
//! Chain code knows bundles, parents and state, but no votes; this crate knows no transactions. Start with `stack.rs`,
//! which puts the parts together, and `application.rs`, which calls the machine.

mod application;
mod block;
mod blocker;
mod certificate;
mod changes;
mod committee;
mod consensus;
mod disk;
mod engine;
mod exchange;
mod finalizer;
mod library;
mod log_limit;
mod observer;
mod rejoin;
mod shared;
mod stack;
mod store;
#[cfg(test)]
mod tests;

pub use certificate::{CertificateError, CertificateVerifier, CommitteeError};
pub use changes::ChangeHistory;
pub use consensus::Simplex;
pub use engine::BftEngine;
