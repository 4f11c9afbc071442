//! Controls of a development network: blocks on request, and changes of the state that no transaction makes
//! (docs/protocol/c-chain-blocks.md, "Control records").
//!
//! A [`ControlRecord`] in a block's ext data lists the changes of the block. [`ControlExtension`] applies it, in the
//! same way when a block is built and when it is verified. Chains of other networks do not have this extension and
//! refuse such blocks. [`Controls`] queues the requests of clients.

mod accounts;
mod error;
mod extension;
mod intervals;
mod limits;
mod queue;
mod record;
mod reorg;
mod replaced;
mod saved;
mod settings;
mod snapshots;
mod time;

pub use accounts::ImpersonatedAccounts;
pub use error::ControlError;
pub use extension::ControlExtension;
pub use intervals::Interval;
pub use limits::{MAX_BLOCKS, MAX_INTERVAL_S, MAX_TIME_S};
pub use queue::{Controls, Turn};
pub(crate) use queue::{Plan, RecordPlan};
pub use record::{
    ChangeRequest, ControlRecord, MAX_BASE_FEE, MAX_CODE, MAX_GAS_LIMIT, RecordError, StateChange,
    split_record,
};
pub use snapshots::Snapshots;
