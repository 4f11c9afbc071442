//! Errors of simulations.

use alloy_primitives::Address;
use esker_evm_state::state::StateError;
use thiserror::Error;

use crate::call::CallError;
use crate::executor::TxError;
use crate::rules::RuleError;

/// Why a simulation has no result. Texts and codes are those of the standard's test suite.
#[derive(Debug, Error)]
pub enum SimulateError {
    /// The request has no blocks.
    #[error("empty input")]
    Empty,
    /// There are too many blocks, including those that fill gaps.
    #[error("too many blocks")]
    TooManyBlocks,
    /// A block's number is not above its parent's.
    #[error("block numbers must be in order: {number} <= {previous}")]
    NumberOrder {
        /// Number of the block.
        number: u64,
        /// Number of the parent.
        previous: u64,
    },
    /// A block's time is not after its parent's.
    #[error("block timestamps must be in order: {time} <= {previous}")]
    TimeOrder {
        /// Unix s.
        time: u64,
        /// Unix s.
        previous: u64,
    },
    /// A call's gas exceeds what its block has left.
    #[error("block gas limit reached: {wanted} > {limit}")]
    BlockGasLimit {
        /// Gas used in the block, and that of the call.
        wanted: u64,
        /// Gas of the block.
        limit: u64,
    },
    /// A call can't be executed.
    #[error("err: {error} (supplied gas {gas})")]
    Refused {
        /// Why it can't be executed.
        error: TxError,
        /// Gas limit of the call.
        gas: u64,
    },
    /// A precompiled contract is moved to its own address.
    #[error("MovePrecompileToAddress referenced itself in replacement")]
    MovedToItself,
    /// The moved account is not a precompiled contract.
    #[error("account {0} is not a precompile")]
    NotPrecompile(Address),
    /// A precompiled contract is moved to an account with overrides.
    #[error("account {0} is already overridden")]
    Overridden(Address),
    /// A call is for another chain.
    #[error("chainId does not match node's (have={have}, want={want})")]
    ChainId {
        /// Chain ID of the call.
        have: u64,
        /// ID of this chain.
        want: u64,
    },
    /// This chain has no blobs.
    #[error("blob transactions are not supported")]
    Blobs,
    /// A fee does not fit into a transaction.
    #[error("fees of more than 128 bits are not supported")]
    FeeRange,
    /// The result would be too long.
    #[error("the calls return and log more than {0} bytes")]
    TooMuchData(usize),
    /// The chain has no rules for the block, or the block breaks them.
    #[error(transparent)]
    Rules(#[from] RuleError),
    /// An error that a single call can also have.
    #[error(transparent)]
    Call(#[from] CallError),
}

impl From<StateError> for SimulateError {
    fn from(error: StateError) -> Self {
        Self::Call(error.into())
    }
}

impl SimulateError {
    /// The JSON-RPC error code; `None` if the standard has no code for the error.
    pub fn code(&self) -> Option<i64> {
        Some(match self {
            Self::Empty | Self::Blobs | Self::FeeRange => -32602,
            Self::TooManyBlocks | Self::TooMuchData(_) => -38026,
            Self::NumberOrder { .. } => -38020,
            Self::TimeOrder { .. } => -38021,
            Self::BlockGasLimit { .. } => -38015,
            Self::MovedToItself => -38022,
            Self::Refused { error, .. } => refusal(error),
            Self::NotPrecompile(_)
            | Self::Overridden(_)
            | Self::ChainId { .. }
            | Self::Rules(_)
            | Self::Call(_) => return None,
        })
    }
}

fn refusal(error: &TxError) -> i64 {
    match error {
        TxError::NonceTooLow { .. } => -38010,
        TxError::NonceTooHigh { .. } => -38011,
        TxError::FeeCapTooLow { .. } => -38012,
        TxError::IntrinsicGas { .. } | TxError::FloorGas { .. } => -38013,
        TxError::InsufficientFunds { .. } | TxError::CostOverflow(_) => -38014,
        TxError::GasLimitReached => -38015,
        TxError::SenderNotEoa { .. } | TxError::SenderHasCode { .. } => -38024,
        TxError::InitCodeSize { .. } => -38025,
        TxError::TipAboveFeeCap { .. } => -32602,
        TxError::NonceMax { .. }
        | TxError::Prohibited(_)
        | TxError::BlobCreate
        | TxError::MissingBlobHashes
        | TxError::TooManyBlobs
        | TxError::BlobVersion(_)
        | TxError::BlobFeeCapTooLow { .. }
        | TxError::SetCodeCreate(_)
        | TxError::EmptyAuthorizationList(_)
        | TxError::GasLimitTooHigh { .. }
        | TxError::WarpPredicate
        | TxError::Sender(_)
        | TxError::State(_)
        | TxError::Stopped(_)
        | TxError::Machine(_) => -32603,
    }
}
