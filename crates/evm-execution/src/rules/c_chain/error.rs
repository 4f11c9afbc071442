//! Why a block of the C-Chain is refused.

use alloy_primitives::{Bytes, U256, hex};
use thiserror::Error;

use super::block_gas_cost::BlockGasCost;
use super::fee_error::FeeRuleError;
use super::syntactic_error::SyntacticError;
use crate::rules::error::RuleError;

/// The rule that a block breaks. The texts are the reference's, with its wrappers.
#[derive(Debug, Error)]
pub enum BlockRuleError {
    /// A syntactic rule.
    #[error("syntactic block verification failed: {0}")]
    Syntactic(#[from] SyntacticError),
    /// A transaction requires a warp message (docs/decisions.md, "Warp and snowman").
    #[error("failed to verify predicates: warp predicates are not supported")]
    WarpPredicate,
    /// The header has no results of predicates.
    #[error(
        "failed to verify predicates: failed to find predicate results in extra data: {}",
        hex::encode(_0)
    )]
    NoPredicateResults(Bytes),
    /// The header has other results of predicates.
    #[error(
        "failed to verify predicates: invalid header predicate results \
         (remote: {} local: {})",
        hex::encode(remote),
        hex::encode(local)
    )]
    PredicateResults {
        /// The results in the header.
        remote: Bytes,
        /// The expected results.
        local: Bytes,
    },
    /// Fees and limits do not follow from the parent.
    #[error(transparent)]
    Fees(#[from] FeeRuleError),
    /// The block used more gas than its limit.
    #[error("invalid gasUsed: have {have}, gasLimit {limit}")]
    GasAboveLimit {
        /// Gas.
        have: u64,
        /// Gas.
        limit: u64,
    },
    /// The block gas cost does not follow from the parent.
    #[error("invalid block gas cost: have {have}, want {want}")]
    BlockGasCost {
        /// Gas.
        have: U256,
        /// Gas.
        want: BlockGasCost,
    },
    /// The blob gas in the header is not that of the transactions.
    #[error("blob gas used mismatch (header {header}, calculated {calculated})")]
    BlobGas {
        /// Gas.
        header: u64,
        /// Gas.
        calculated: u64,
    },
    /// The block has blobs before Etna.
    #[error("data blobs present in block body")]
    Blobs,
    /// A rule that is checked after the transactions.
    #[error("engine finalization check failed: {0}")]
    Finalize(Box<Self>),
    /// The tips do not pay the block gas cost.
    #[error(
        "insufficient gas ({gas}) to cover the block cost ({cost}) at base fee ({base_fee}) \
         (total block fee: {total})"
    )]
    BlockFee {
        /// Gas that the tips pay for.
        gas: U256,
        /// Gas that the tips must pay for.
        cost: BlockGasCost,
        /// Wei.
        base_fee: U256,
        /// Wei.
        total: U256,
    },
}

impl From<BlockRuleError> for RuleError {
    fn from(error: BlockRuleError) -> Self {
        match error {
            BlockRuleError::Syntactic(SyntacticError::TooFarInFuture { time, allowed }) => {
                Self::ahead_of_clock(error, time, allowed)
            }
            BlockRuleError::BlockFee { .. } => Self::unpaid(error),
            other => Self::new(other),
        }
    }
}

/// Why a block of a snapshot is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(super) enum BodyError {
    #[error("it has uncles")]
    Uncles,
    #[error("it has another version")]
    Version,
    #[error("its transactions are not those of its header")]
    Transactions,
    #[error("its ext data is not that of its header")]
    ExtData,
}
