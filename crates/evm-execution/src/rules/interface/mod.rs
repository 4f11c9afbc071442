//! The interface of a chain's rules, by what they decide.

mod bytes;
mod chain;
mod headers;
mod state;

pub use bytes::BlockCodec;
pub use chain::Rules;
pub use headers::{AncestorBlocks, HeaderRules};
pub use state::{RunningBlock, SYSTEM_CALL_GAS, StateRules, SystemCallOutcome, SystemCalls};
