//! Why a block is refused.

use alloy_primitives::{Address, B64, B256, Bloom, Bytes, U256, hex};
use esker_evm_execution::executor::TxError;
use esker_evm_execution::rules::{BlockGasCost, FeeRuleError};
use esker_evm_state::state::StateError;
use thiserror::Error;

use crate::extension::ExtError;

/// Why a block is refused. The texts are the reference's.
#[derive(Debug, Error)]
pub enum VerifyError {
    /// The block breaks a syntactic rule.
    #[error("syntactic block verification failed: {0}")]
    Syntactic(#[from] SyntacticError),
    /// The block has another parent.
    #[error("unknown ancestor")]
    UnknownAncestor,
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
    /// A transaction can't be executed.
    #[error("could not apply tx {index} [{hash}]: {error}")]
    Apply {
        /// Index of the transaction in the block.
        index: usize,
        /// Hash of the transaction.
        hash: B256,
        /// Why it can't be executed.
        error: Box<TxError>,
    },
    /// The work before the transactions can't be executed.
    #[error(transparent)]
    Begin(#[from] TxError),
    /// The ext data is refused.
    #[error(transparent)]
    Extension(#[from] ExtError),
    /// The block breaks a rule that is checked after the transactions.
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
    /// The gas used is not the one in the header.
    #[error("invalid gas used (remote: {remote} local: {local})")]
    GasUsed {
        /// The value in the header.
        remote: u64,
        /// The computed value.
        local: u64,
    },
    /// The bloom filter is not the one in the header.
    #[error("invalid bloom (remote: {:x}  local: {:x})", **remote, **local)]
    Bloom {
        /// The value in the header.
        remote: Box<Bloom>,
        /// The computed value.
        local: Box<Bloom>,
    },
    /// The root of the receipts is not the one in the header.
    #[error("invalid receipt root hash (remote: {remote:x} local: {local:x})")]
    ReceiptsRoot {
        /// The value in the header.
        remote: B256,
        /// The computed value.
        local: B256,
    },
    /// The state root is not the one in the header.
    #[error("invalid merkle root (remote: {remote:x} local: {local:x})")]
    StateRoot {
        /// The value in the header.
        remote: B256,
        /// The computed value.
        local: B256,
    },
    /// State can't be read: a fault of this node, not of the block.
    #[error(transparent)]
    State(#[from] StateError),
}

impl VerifyError {
    /// The error of the state if this is a fault of the node rather than the block.
    pub fn internal(self) -> Result<StateError, Self> {
        match self {
            Self::State(error)
            | Self::Begin(TxError::State(error))
            | Self::Extension(ExtError::State(error)) => Ok(error),
            Self::Apply { index, hash, error } => match *error {
                TxError::State(error) => Ok(error),
                error => Err(Self::Apply { index, hash, error: Box::new(error) }),
            },
            Self::Finalize(error) => {
                error.internal().map_err(|error| Self::Finalize(Box::new(error)))
            }
            other => Err(other),
        }
    }

    /// The block's time and the latest accepted time (Unix s), if the block is only too early.
    pub fn too_early(&self) -> Option<(u64, u64)> {
        match self {
            Self::Syntactic(SyntacticError::TooFarInFuture { time, allowed }) => {
                Some((*time, *allowed))
            }
            _ => None,
        }
    }
}

/// The syntactic rule that a block breaks.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SyntacticError {
    /// The hash of the ext data is not the one in the header.
    #[error("extra data hash mismatch: have {have:x}, want {want:x}")]
    ExtDataHash {
        /// The value in the header.
        have: B256,
        /// The computed value.
        want: B256,
    },
    /// The difficulty is not 1.
    #[error("invalid difficulty: {0}")]
    Difficulty(U256),
    /// Not 0.
    #[error("expected nonce to be 0 but got {}: invalid nonce", u64::from_be_bytes(_0.0))]
    Nonce(B64),
    /// Not zero.
    #[error("invalid mix digest: {0}")]
    MixDigest(B256),
    /// The gas limit is not that of the phase.
    #[error("expected gas limit to be {want} after {since} but got {got}")]
    GasLimit {
        /// Gas.
        want: u64,
        /// The phase since which the limit applies.
        since: &'static str,
        /// Gas.
        got: u64,
    },
    /// The extra data has another length.
    #[error("expected header ExtraData to be len {want} but got {got}")]
    ExtraLength {
        /// Expected bytes, or a bound of them.
        want: String,
        /// Bytes.
        got: usize,
    },
    /// Not 0.
    #[error("invalid version: {0}")]
    Version(u32),
    /// The root of the transactions is not the one in the header.
    #[error("invalid txs hash {have} does not match calculated txs hash {want}")]
    TransactionsRoot {
        /// The value in the header.
        have: B256,
        /// The computed value.
        want: B256,
    },
    /// The hash of the uncles is not the one in the header.
    #[error("invalid uncle hash {have} does not match calculated uncle hash {want}")]
    UnclesHash {
        /// The value in the header.
        have: B256,
        /// The computed value.
        want: B256,
    },
    /// The coinbase is another address than that of all fees.
    #[error("invalid coinbase {have} does not match required blackhole address {want}")]
    Coinbase {
        /// The value in the header.
        have: Address,
        /// The required address.
        want: Address,
    },
    /// The block has uncles.
    #[error("uncles unsupported")]
    Uncles,
    /// The block has no transaction of either kind.
    #[error("empty block")]
    Empty,
    /// The block is too far ahead of the clock. It may be valid later.
    #[error("block timestamp is too far in the future: {time} > allowed {allowed}")]
    TooFarInFuture {
        /// Unix s.
        time: u64,
        /// Unix s.
        allowed: u64,
    },
    /// A field is missing; the text names it.
    #[error("{0}")]
    Missing(&'static str),
    /// The block uses more atomic gas than allowed.
    #[error("too large extDataGasUsed: {0}")]
    ExtDataGasTooLarge(U256),
    /// The atomic gas is not the one in the header.
    #[error("invalid extDataGasUsed: have {have}, want {want}")]
    ExtDataGasUsed {
        /// The value in the header.
        have: U256,
        /// The computed value.
        want: u64,
    },
    /// The block gas cost has more than 64 bits.
    #[error("too large blockGasCost: {0}")]
    BlockGasCostTooLarge(U256),
    /// The header has a field of Etna before Etna.
    #[error("invalid {name}: have {have}, expected nil")]
    BeforeEtna {
        /// Name of the field.
        name: &'static str,
        /// Value of the field.
        have: String,
    },
    /// Not zero.
    #[error(
        "invalid excessBlobGas: have {0}, want 0, parent excessBlobGas 0, parent blobDataUsed 0"
    )]
    ExcessBlobGas(u64),
    /// Not zero.
    #[error("invalid parentBeaconRoot: have {0:x}, expected empty hash")]
    ParentBeaconRoot(B256),
    /// The blob gas in the header is not that of the transactions.
    #[error("blobs not enabled on avalanche networks: used {0} blob gas, expected 0")]
    BlobGasUsed(u64),
}
