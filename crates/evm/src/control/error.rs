//! Why a control is refused.

use std::fmt;

use alloy_primitives::U256;
use thiserror::Error;

use super::limits::{MAX_IMPERSONATED, MAX_INTERVAL_S, MAX_REQUESTS, MAX_TIME_S};
use super::record::MAX_GAS_LIMIT;

/// Why a control was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ControlError {
    /// The request is for too many blocks.
    #[error("cannot mine {blocks} blocks at once: at most {most}")]
    Blocks {
        /// Requested number.
        blocks: u64,
        /// Most that a request of its kind may have.
        most: u64,
    },
    /// The time is before that of the last block.
    #[error("timestamp {time} is lower than previous block's timestamp {last}")]
    TimeBefore {
        /// Requested time, Unix s.
        time: u64,
        /// Time of the last block of any chain of the node, Unix s.
        last: u64,
    },
    /// No block can have so late a time.
    #[error("timestamp {0} is too late: at most {MAX_TIME_S}")]
    TimeTooLate(u128),
    /// The interval of blocks is too long.
    #[error("an interval of {0} ms is too long: at most {MAX_INTERVAL_S} s")]
    Interval(u64),
    /// Blocks would follow one another without a pause.
    #[error("an interval of blocks has at least a millisecond")]
    NoInterval,
    /// No transaction can pay so high a base fee.
    #[error("a base fee of {wei} wei is too high: at most {most}")]
    BaseFee {
        /// The wanted base fee, wei.
        wei: U256,
        /// The highest of the chain, wei.
        most: U256,
    },
    /// The gas limit is out of bounds.
    #[error("cannot set a gas limit of {0}: 1 to {MAX_GAS_LIMIT}")]
    GasLimit(u64),
    /// Too many requests wait.
    #[error("too many requests wait for a block: at most {MAX_REQUESTS}")]
    TooMany,
    /// Too many accounts.
    #[error("too many accounts are impersonated: at most {MAX_IMPERSONATED}")]
    TooManyAccounts,
    /// The change is not possible; the text says why.
    #[error("{0}")]
    Refused(String),
    /// The time of the request was over before all blocks were made.
    #[error("made {made} of {wanted} blocks in the time that a request has: ask for the other {}", wanted - made)]
    OutOfTime {
        /// Number of blocks that were made.
        made: u64,
        /// Number of requested blocks.
        wanted: u64,
    },
    /// The blocks can't be taken back, because they are older than the undo rows.
    #[error(
        "blocks that the node made for itself before it was ready, and those of an older version or an import, can't be taken back"
    )]
    NotKept,
    /// Other nodes can follow this node, and a control could take its blocks back.
    #[error("a node that others can follow has no controls: start it without api-sync-enabled")]
    Followed,
    /// The node stops.
    #[error("the node stops")]
    Stopped,
}

/// A refusal with the text of another error.
pub(super) fn refusal(error: impl fmt::Display) -> ControlError {
    ControlError::Refused(error.to_string())
}
