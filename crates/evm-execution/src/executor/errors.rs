//! Errors of transactions that can't be executed, and errors of executed code.

use std::fmt;

use alloy_primitives::{Address, B256, U256};
use esker_evm_state::state::StateError;
use thiserror::Error;

use super::{SenderError, Stop};

/// Why a transaction can't be part of a block, or a call can't be executed: nothing was executed. The texts are the
/// reference's.
#[derive(Debug, Error)]
pub enum TxError {
    /// The nonce is above that of the sender.
    #[error("nonce too high: address {address}, tx: {tx} state: {state}")]
    NonceTooHigh {
        /// Sender.
        address: Address,
        /// Nonce of the transaction.
        tx: u64,
        /// Nonce of the account.
        state: u64,
    },
    /// The nonce was used.
    #[error("nonce too low: address {address}, tx: {tx} state: {state}")]
    NonceTooLow {
        /// Sender.
        address: Address,
        /// Nonce of the transaction.
        tx: u64,
        /// Nonce of the account.
        state: u64,
    },
    /// The nonce is the highest one, so no transaction can follow.
    #[error("nonce has max value: address {address}, nonce: {nonce}")]
    NonceMax {
        /// Sender.
        address: Address,
        /// Nonce of the transaction and the account.
        nonce: u64,
    },
    /// The sender is a contract (EIP-3607).
    #[error("sender not an eoa: address {address}, codehash: {code_hash}")]
    SenderNotEoa {
        /// Sender.
        address: Address,
        /// Hash of its code.
        code_hash: B256,
    },
    /// The sender is a contract, where accounts may delegate to contracts (EIP-7702).
    #[error("sender not an eoa: address {address}, len(code): {length}")]
    SenderHasCode {
        /// Sender.
        address: Address,
        /// Bytes of its code.
        length: usize,
    },
    /// The sender is an address reserved by the chain.
    #[error("prohibited address cannot be sender or created contract address: address {0}")]
    Prohibited(Address),
    /// The tip cap is above the fee cap.
    #[error(
        "max priority fee per gas higher than max fee per gas: address {address}, \
         maxPriorityFeePerGas: {tip_cap}, maxFeePerGas: {fee_cap}"
    )]
    TipAboveFeeCap {
        /// Sender.
        address: Address,
        /// Wei a gas.
        tip_cap: U256,
        /// Wei a gas.
        fee_cap: U256,
    },
    /// The fee does not reach the base fee.
    #[error(
        "max fee per gas less than block base fee: address {address}, \
         maxFeePerGas: {fee_cap}, baseFee: {base_fee}"
    )]
    FeeCapTooLow {
        /// Sender.
        address: Address,
        /// Wei a gas.
        fee_cap: U256,
        /// Wei a gas.
        base_fee: U256,
    },
    /// A call with blobs has no recipient.
    #[error("blob transaction of type create")]
    BlobCreate,
    /// The list of blobs of a call is empty.
    #[error("blob transaction missing blob hashes")]
    MissingBlobHashes,
    /// There are more blobs than a transaction or a block may have.
    #[error("blob transaction has too many blobs")]
    TooManyBlobs,
    /// A blob's hash has another version.
    #[error("blob {0} has invalid hash version")]
    BlobVersion(usize),
    /// The blob fee is too low.
    #[error(
        "max fee per blob gas less than block blob gas fee: address {address} \
         blobGasFeeCap: {fee_cap}, blobBaseFee: {base_fee}"
    )]
    BlobFeeCapTooLow {
        /// Sender.
        address: Address,
        /// Wei a blob gas.
        fee_cap: U256,
        /// Wei a blob gas.
        base_fee: U256,
    },
    /// A set-code transaction has no recipient. Only a call can lack it.
    #[error("EIP-7702 transaction cannot be used to create contract (sender {0})")]
    SetCodeCreate(Address),
    /// The list of authorizations is empty.
    #[error("EIP-7702 transaction with empty auth list (sender {0})")]
    EmptyAuthorizationList(Address),
    /// The gas limit is above that of any transaction (EIP-7825).
    #[error("transaction gas limit too high (cap: {cap}, tx: {gas})")]
    GasLimitTooHigh {
        /// Highest gas limit.
        cap: u64,
        /// Gas limit.
        gas: u64,
    },
    /// The sender can't pay the cost.
    #[error(
        "insufficient funds for gas * price + value: address {address} have {have} want {want}"
    )]
    InsufficientFunds {
        /// Sender.
        address: Address,
        /// Wei.
        have: U256,
        /// Wei.
        want: U256,
    },
    /// The cost exceeds 256 bits.
    #[error(
        "insufficient funds for gas * price + value: address {0} required balance exceeds 256 bits"
    )]
    CostOverflow(Address),
    /// The block has less gas left.
    #[error("gas limit reached")]
    GasLimitReached,
    /// The gas limit is below the intrinsic gas.
    #[error("intrinsic gas too low: have {have}, want {want}")]
    IntrinsicGas {
        /// Gas limit.
        have: u64,
        /// Gas needed.
        want: u64,
    },
    /// The gas limit is below the floor price of the call data (EIP-7623).
    #[error("insufficient gas for floor data gas cost: have {have}, want {want}")]
    FloorGas {
        /// Gas limit.
        have: u64,
        /// Gas needed.
        want: u64,
    },
    /// The init code is too long (EIP-3860).
    #[error("max initcode size exceeded: code size {size} limit {limit}")]
    InitCodeSize {
        /// Bytes of the init code.
        size: usize,
        /// Most bytes.
        limit: usize,
    },
    /// The access list names the warp precompile (docs/decisions.md, "Warp and snowman").
    #[error("warp predicates are not supported")]
    WarpPredicate,
    /// The sender can't be recovered, or the chain does not have the transaction type.
    #[error(transparent)]
    Sender(#[from] SenderError),
    /// State can't be read.
    #[error(transparent)]
    State(#[from] StateError),
    /// Execution was stopped from outside.
    #[error("{0}")]
    Stopped(Stop),
    /// revm failed in a way that should not happen.
    #[error("{0}")]
    Machine(String),
}

impl TxError {
    /// Whether this is a fault of the node rather than of the transaction.
    pub fn is_internal(&self) -> bool {
        matches!(self, Self::State(_) | Self::Stopped(_) | Self::Machine(_))
    }
}

/// The error with which code ended. The texts are the reference's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VmError {
    /// It reverted; the output may hold the reason.
    Reverted,
    /// The gas was used up.
    OutOfGas,
    /// The gas for storing a new contract's code was missing.
    CodeStoreOutOfGas,
    /// A cost has more than 64 bits.
    GasOverflow,
    /// The instruction is not defined, or not yet.
    InvalidOpcode(u8),
    /// The target of a jump is not a jump destination.
    InvalidJump,
    /// Code tried to change the state in a static call.
    WriteProtection,
    /// Calls are nested too deep.
    Depth,
    /// The caller has less wei than it sends.
    InsufficientBalance,
    /// A contract already exists at the address.
    AddressCollision,
    /// The new contract's code is too long.
    CodeSize,
    /// The new contract's code begins with 0xef.
    InvalidCode,
    /// Init code from a contract is too long.
    InitCodeSize,
    /// Code tried to read beyond the returned data.
    ReturnDataOutOfBounds,
    /// The creator's nonce can't grow.
    NonceOverflow,
    /// The stack has too few items.
    StackUnderflow {
        /// Items on the stack.
        have: usize,
        /// Items that the instruction needs.
        want: usize,
    },
    /// The stack has too many items.
    StackOverflow {
        /// Items on the stack.
        have: usize,
        /// Most items before this instruction.
        limit: usize,
    },
    /// The new contract's address is reserved by the chain.
    Prohibited,
    /// A precompiled contract failed with this text.
    Precompile(String),
}

impl VmError {
    /// The name of the interpreter for such an end, which Foundry's tools show.
    #[must_use]
    pub const fn interpreter_name(&self) -> &'static str {
        match self {
            Self::Reverted => "Revert",
            Self::OutOfGas | Self::CodeStoreOutOfGas | Self::GasOverflow => "OutOfGas",
            Self::InvalidOpcode(0xfe) => "InvalidFEOpcode",
            Self::InvalidOpcode(_) => "OpcodeNotFound",
            Self::InvalidJump => "InvalidJump",
            Self::WriteProtection => "StateChangeDuringStaticCall",
            Self::Depth => "CallTooDeep",
            Self::InsufficientBalance => "OutOfFunds",
            Self::AddressCollision => "CreateCollision",
            Self::CodeSize => "CreateContractSizeLimit",
            Self::InvalidCode => "CreateContractStartingWithEF",
            Self::InitCodeSize => "CreateInitCodeSizeLimit",
            Self::ReturnDataOutOfBounds => "OutOfOffset",
            Self::NonceOverflow => "NonceOverflow",
            Self::StackUnderflow { .. } => "StackUnderflow",
            Self::StackOverflow { .. } => "StackOverflow",
            // Addresses of this chain's own precompiled contracts.
            Self::Prohibited => "Prohibited",
            Self::Precompile(_) => "PrecompileError",
        }
    }
}

impl fmt::Display for VmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reverted => f.write_str("execution reverted"),
            Self::OutOfGas => f.write_str("out of gas"),
            Self::CodeStoreOutOfGas => f.write_str("contract creation code storage out of gas"),
            Self::GasOverflow => f.write_str("gas uint64 overflow"),
            Self::InvalidOpcode(opcode) => match super::opcodes::name(*opcode) {
                Some(name) => write!(f, "invalid opcode: {name}"),
                None => write!(f, "invalid opcode: opcode {opcode:#x} not defined"),
            },
            Self::InvalidJump => f.write_str("invalid jump destination"),
            Self::WriteProtection => f.write_str("write protection"),
            Self::Depth => f.write_str("max call depth exceeded"),
            Self::InsufficientBalance => f.write_str("insufficient balance for transfer"),
            Self::AddressCollision => f.write_str("contract address collision"),
            Self::CodeSize => f.write_str("max code size exceeded"),
            Self::InvalidCode => f.write_str("invalid code: must not begin with 0xef"),
            Self::InitCodeSize => f.write_str("max initcode size exceeded"),
            Self::ReturnDataOutOfBounds => f.write_str("return data out of bounds"),
            Self::NonceOverflow => f.write_str("nonce uint64 overflow"),
            Self::StackUnderflow { have, want } => write!(f, "stack underflow ({have} <=> {want})"),
            Self::StackOverflow { have, limit } => {
                write!(f, "stack limit reached {have} ({limit})")
            }
            Self::Prohibited => {
                f.write_str("prohibited address cannot be sender or created contract address")
            }
            Self::Precompile(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for VmError {}
