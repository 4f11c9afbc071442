//! Why a control is refused.

use std::fmt;

use alloy_primitives::U256;
use thiserror::Error;

use super::limits::{MAX_BLOCKS, MAX_IMPERSONATED, MAX_INTERVAL_S, MAX_REQUESTS, MAX_TIME_S};
use super::record::{MAX_BASE_FEE, MAX_GAS_LIMIT};

/// Why a control was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ControlError {
    /// Too many blocks.
    #[error("cannot mine {0} blocks at once: at most {MAX_BLOCKS}")]
    Blocks(u64),
    /// A time before that of the last block.
    #[error("timestamp {time} is lower than previous block's timestamp {last}")]
    TimeBefore {
        /// Unix s.
        time: u64,
        /// Of the last block of any chain of the node, Unix s.
        last: u64,
    },
    /// A time that no block can have.
    #[error("timestamp {0} is too late: at most {MAX_TIME_S}")]
    TimeTooLate(u128),
    /// Blocks too rarely.
    #[error("an interval of {0} s is too long: at most {MAX_INTERVAL_S}")]
    Interval(u64),
    /// A base fee that no transaction can pay.
    #[error("a base fee of {0} wei is too high: at most {MAX_BASE_FEE}")]
    BaseFee(U256),
    /// A gas limit out of bounds.
    #[error("cannot set a gas limit of {0}: 1 to {MAX_GAS_LIMIT}")]
    GasLimit(u64),
    /// Too many requests.
    #[error("too many requests wait for a block: at most {MAX_REQUESTS}")]
    TooMany,
    /// Too many accounts.
    #[error("too many accounts are impersonated: at most {MAX_IMPERSONATED}")]
    TooManyAccounts,
    /// The change is not possible.
    #[error("{0}")]
    Refused(String),
    /// The time that a request has was over before all blocks were made.
    #[error("made {made} of {wanted} blocks in the time that a request has: ask for the other {}", wanted - made)]
    OutOfTime {
        /// Blocks that were made.
        made: u64,
        /// Blocks that were asked for.
        wanted: u64,
    },
    /// What is to be taken back is from before the node kept the rows for it.
    #[error(
        "blocks that the node made for itself before it was ready, and those of an older version or an import, can't be taken back"
    )]
    NotKept,
    /// Others follow the blocks of this node, which a control could take back.
    #[error("a node that others can follow has no controls: start it without api-sync-enabled")]
    Followed,
    /// The node stops.
    #[error("the node stops")]
    Stopped,
}

/// A refusal with the text of another error.
pub(super) fn refused(error: impl fmt::Display) -> ControlError {
    ControlError::Refused(error.to_string())
}
