//! Why a block is refused.

use alloy_primitives::{Address, B64, B256, Bloom, Bytes, U256, hex};
use esker_evm_execution::executor::TxError;
use esker_evm_execution::rules::{BlockGasCost, FeeRuleError};
use esker_evm_state::state::StateError;
use thiserror::Error;

use crate::extension::ExtError;

/// Why a block is refused, in the reference's words.
#[derive(Debug, Error)]
pub enum VerifyError {
    /// Its own form.
    #[error("syntactic block verification failed: {0}")]
    Syntactic(#[from] SyntacticError),
    /// Its parent is another block.
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
    /// The header has other results.
    #[error(
        "failed to verify predicates: invalid header predicate results \
         (remote: {} local: {})",
        hex::encode(remote),
        hex::encode(local)
    )]
    PredicateResults {
        /// What is there.
        remote: Bytes,
        /// What follows.
        local: Bytes,
    },
    /// Fees and limits do not follow from the parent.
    #[error(transparent)]
    Fees(#[from] FeeRuleError),
    /// More gas than the limit.
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
    /// Blobs.
    #[error("blob gas used mismatch (header {header}, calculated {calculated})")]
    BlobGas {
        /// Gas.
        header: u64,
        /// Gas.
        calculated: u64,
    },
    /// Blobs, before the header had a place for them.
    #[error("data blobs present in block body")]
    Blobs,
    /// A transaction can't be run.
    #[error("could not apply tx {index} [{hash}]: {error}")]
    Apply {
        /// Its place in the block.
        index: usize,
        /// Its hash.
        hash: B256,
        /// Why.
        error: Box<TxError>,
    },
    /// What comes before the transactions can't be run.
    #[error(transparent)]
    Begin(#[from] TxError),
    /// The ext data.
    #[error(transparent)]
    Extension(#[from] ExtError),
    /// Found after the transactions.
    #[error("engine finalization check failed: {0}")]
    Finalize(Box<Self>),
    /// The tips do not pay for making the block so soon.
    #[error(
        "insufficient gas ({gas}) to cover the block cost ({cost}) at base fee ({base_fee}) \
         (total block fee: {total})"
    )]
    BlockFee {
        /// Gas paid for.
        gas: U256,
        /// Gas to pay for.
        cost: BlockGasCost,
        /// Wei.
        base_fee: U256,
        /// Wei.
        total: U256,
    },
    /// Another sum of gas.
    #[error("invalid gas used (remote: {remote} local: {local})")]
    GasUsed {
        /// The header's.
        remote: u64,
        /// Found.
        local: u64,
    },
    /// Another filter of logs.
    #[error("invalid bloom (remote: {:x}  local: {:x})", **remote, **local)]
    Bloom {
        /// The header's.
        remote: Box<Bloom>,
        /// Found.
        local: Box<Bloom>,
    },
    /// Other receipts.
    #[error("invalid receipt root hash (remote: {remote:x} local: {local:x})")]
    ReceiptsRoot {
        /// The header's.
        remote: B256,
        /// Found.
        local: B256,
    },
    /// Another state.
    #[error("invalid merkle root (remote: {remote:x} local: {local:x})")]
    StateRoot {
        /// The header's.
        remote: B256,
        /// Found.
        local: B256,
    },
    /// State can't be read: this node's trouble, not the block's.
    #[error(transparent)]
    State(#[from] StateError),
}

impl VerifyError {
    /// This node's trouble, if it is that rather than the block's.
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

    /// The block's time and the latest that is taken now (Unix s), if that alone is wrong.
    pub fn too_early(&self) -> Option<(u64, u64)> {
        match self {
            Self::Syntactic(SyntacticError::TooFarInFuture { time, allowed }) => {
                Some((*time, *allowed))
            }
            _ => None,
        }
    }
}

/// What is wrong with a block's own form.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SyntacticError {
    /// Another hash of the ext data.
    #[error("extra data hash mismatch: have {have:x}, want {want:x}")]
    ExtDataHash {
        /// The header's.
        have: B256,
        /// Found.
        want: B256,
    },
    /// Not 1.
    #[error("invalid difficulty: {0}")]
    Difficulty(U256),
    /// Not 0.
    #[error("expected nonce to be 0 but got {}: invalid nonce", u64::from_be_bytes(_0.0))]
    Nonce(B64),
    /// Not zero.
    #[error("invalid mix digest: {0}")]
    MixDigest(B256),
    /// Another gas limit than the phase's.
    #[error("expected gas limit to be {want} after {since} but got {got}")]
    GasLimit {
        /// Gas.
        want: u64,
        /// Since when.
        since: &'static str,
        /// Gas.
        got: u64,
    },
    /// Extra data is too short, or not as long as it is.
    #[error("expected header ExtraData to be len {want} but got {got}")]
    ExtraLength {
        /// Bytes, maybe as a bound.
        want: String,
        /// Bytes.
        got: usize,
    },
    /// Not 0.
    #[error("invalid version: {0}")]
    Version(u32),
    /// Another root of the transactions.
    #[error("invalid txs hash {have} does not match calculated txs hash {want}")]
    TransactionsRoot {
        /// The header's.
        have: B256,
        /// Found.
        want: B256,
    },
    /// Another hash of the uncles.
    #[error("invalid uncle hash {have} does not match calculated uncle hash {want}")]
    UnclesHash {
        /// The header's.
        have: B256,
        /// Found.
        want: B256,
    },
    /// Fees would go elsewhere.
    #[error("invalid coinbase {have} does not match required blackhole address {want}")]
    Coinbase {
        /// The header's.
        have: Address,
        /// The one.
        want: Address,
    },
    /// There are uncles.
    #[error("uncles unsupported")]
    Uncles,
    /// There is no transaction of either kind.
    #[error("empty block")]
    Empty,
    /// Ahead of the clock; it may be fine later.
    #[error("block timestamp is too far in the future: {time} > allowed {allowed}")]
    TooFarInFuture {
        /// Unix s.
        time: u64,
        /// Unix s.
        allowed: u64,
    },
    /// A field is missing.
    #[error("{0}")]
    Missing(&'static str),
    /// More atomic gas than a block may use.
    #[error("too large extDataGasUsed: {0}")]
    ExtDataGasTooLarge(U256),
    /// Another sum of atomic gas.
    #[error("invalid extDataGasUsed: have {have}, want {want}")]
    ExtDataGasUsed {
        /// The header's.
        have: U256,
        /// Found.
        want: u64,
    },
    /// Beyond 64 bits.
    #[error("too large blockGasCost: {0}")]
    BlockGasCostTooLarge(U256),
    /// A field of Etna's before Etna.
    #[error("invalid {name}: have {have}, expected nil")]
    BeforeEtna {
        /// Which field.
        name: &'static str,
        /// What it holds.
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
    /// Blobs.
    #[error("blobs not enabled on avalanche networks: used {0} blob gas, expected 0")]
    BlobGasUsed(u64),
}
