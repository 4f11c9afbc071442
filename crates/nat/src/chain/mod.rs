//! The chain's extension: taking transactions in, and blocks that carry them.
//!
//! `parts` is below: the extension, and the chain with it. Above it `issue` and `issue_built` take transactions in, and
//! `build` chooses those of a block. On top, `extension` fills the port
//! [`BlockExtension`](esker_evm::extension::BlockExtension) with them.

mod accounts;
mod audit;
mod batch;
mod block;
mod build;
mod extension;
mod forward;
mod issue;
mod issue_built;
mod journal;
mod log;
mod open;
mod parts;
mod status;
mod waiting;

pub(crate) use accounts::PendingAccounts;
pub use build::MAX_BUILT_BYTES;
pub use forward::SubmittedTx;
pub use issue::SubmitError;
pub(crate) use issue_built::BuiltError;
pub use parts::{AtomicExtension, Nat};
pub use status::AtomicStatus;
