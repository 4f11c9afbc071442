//! Why fees are wrong.

use alloy_primitives::{Bytes, U256, hex};
use thiserror::Error;

use super::block_gas_cost::BlockGasCost;
use super::fortuna::{CapacityError, GasState};
use super::phase::Phase;
use crate::rules::error::RuleError;

/// Why fees can't be computed or are wrong. Texts are the reference's, if it has one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FeeRuleError {
    /// The block belongs to the chain's early history.
    #[error(
        "block time {0} is before Apricot 5: blocks of that history are not executed by this node"
    )]
    BeforeApricot5(u64),
    /// The block is older than its parent.
    #[error("timestamp less than parent's")]
    TimeBeforeParent,
    /// The parent's header lacks a field that the fee depends on.
    #[error("parent header has no {0}")]
    BadParent(&'static str),
    /// The fee window in the extra data does not follow from the parent.
    #[error("expected rollup window bytes: {}, found {}", hex::encode(want), hex::encode(got))]
    Window {
        /// The expected value.
        want: Bytes,
        /// The value in the header.
        got: Bytes,
    },
    /// The gas state of Fortuna does not follow from the parent and the gas used.
    #[error("incorrect fee state: expected {want}, found {got}")]
    GasState {
        /// The expected value.
        want: GasState,
        /// The value in the header.
        got: GasState,
    },
    /// The header has no base fee.
    #[error("expected baseFee to be non-nil")]
    NoBaseFee,
    /// The base fee is wrong.
    #[error("expected base fee ({want}), found ({got})")]
    BaseFee {
        /// Wei.
        want: U256,
        /// Wei.
        got: U256,
    },
    /// The gas limit is wrong.
    #[error("expected gas limit to be {want} in {phase:?}, but found {got}")]
    GasLimit {
        /// Gas.
        want: u64,
        /// Gas.
        got: u64,
        /// The phase with this rule.
        phase: Phase,
    },
    /// The block gas cost is wrong.
    #[error("invalid blockGasCost: have {got}, want {want}")]
    BlockGasCost {
        /// Gas.
        want: BlockGasCost,
        /// Gas.
        got: U256,
    },
    /// The block used more gas than the capacity of Fortuna.
    #[error(transparent)]
    Capacity(#[from] CapacityError),
}

impl From<FeeRuleError> for RuleError {
    fn from(error: FeeRuleError) -> Self {
        Self::new(error)
    }
}
