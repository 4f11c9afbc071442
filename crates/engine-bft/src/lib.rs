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
mod committee;
mod consensus;
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
mod library;
mod log_limit;
#[cfg(test)]
mod loopback;
mod observer;
mod rejoin;
#[cfg(test)]
mod rotation;
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
#[cfg(test)]
#[path = "../../nat/tests/it/world.rs"]
#[expect(dead_code, reason = "the chains' tests use more of it")]
mod world;

pub use certificate::{CertificateError, CertificateVerifier, CommitteeError};
pub use changes::ChangeHistory;
pub use consensus::Simplex;
pub use engine::BftEngine;
