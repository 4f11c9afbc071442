//! The syntactic rules that a block can break.

use alloy_primitives::{Address, B64, B256, U256};
use thiserror::Error;

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
