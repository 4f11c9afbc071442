//! Why the pool refused a transaction, in the order of the checks (docs/protocol/c-chain-pool.md, "Pool checks").

use alloy_primitives::{Address, U256, U512};
use thiserror::Error;

use super::sidecar::BlobError;

/// Texts that clients see.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PoolError {
    /// The pool already holds the transaction.
    #[error("already known")]
    AlreadyKnown,
    /// The type is that of blob transactions or a later one.
    #[error("transaction type not supported")]
    TypeNotSupported,
    /// The transaction is longer than [`super::MAX_TX_SIZE`].
    #[error("oversized data: transaction size {size}, limit {limit}")]
    Oversized {
        /// Bytes.
        size: usize,
        /// Bytes.
        limit: usize,
    },
    /// The init code is too long.
    #[error("max initcode size exceeded: code size {size}, limit {limit}")]
    InitCode {
        /// Bytes.
        size: usize,
        /// Bytes.
        limit: usize,
    },
    /// The gas limit exceeds that of blocks.
    #[error("exceeds block gas limit: tx gas ({gas}) > current max gas ({limit})")]
    GasLimit {
        /// Gas limit of the transaction.
        gas: u64,
        /// Gas of a block.
        limit: u64,
    },
    /// The tip is above the cap that includes it.
    #[error("max priority fee per gas higher than max fee per gas")]
    TipAboveFeeCap,
    /// It requires a verified message of another chain (docs/decisions.md, "Warp and snowman").
    #[error("warp predicates are not supported")]
    WarpPredicate,
    /// The signature is invalid, or belongs to another chain.
    #[error("invalid sender")]
    InvalidSender,
    /// The gas limit is below the intrinsic gas.
    #[error("intrinsic gas too low: address {sender} tx gas ({gas}), minimum needed {needed}")]
    IntrinsicGas {
        /// The sender.
        sender: Address,
        /// Gas limit of the transaction.
        gas: u64,
        /// Gas needed.
        needed: u64,
    },
    /// The tip is below the pool's minimum.
    #[error("transaction underpriced: gas tip cap {tip}, minimum needed {needed}")]
    TipUnderpriced {
        /// Wei.
        tip: u128,
        /// Wei.
        needed: u128,
    },
    /// The fee cap is below the chain's minimum base fee.
    #[error(
        "transaction underpriced: address {sender} have gas fee cap ({fee_cap}) < pool minimum fee cap ({needed})"
    )]
    FeeCapUnderpriced {
        /// The sender.
        sender: Address,
        /// Wei.
        fee_cap: u128,
        /// Wei.
        needed: u128,
    },
    /// The nonce was used.
    #[error("nonce too low: next nonce {next}, tx nonce {nonce}")]
    NonceTooLow {
        /// Next nonce of the account.
        next: u64,
        /// Nonce of the transaction.
        nonce: u64,
    },
    /// The next block can't have it, since nonces before it are missing ([`super::RefusedTxs`]).
    #[error(
        "Nonce too high. Expected nonce to be {next} but got {nonce}. Note that transactions can't be queued when automining."
    )]
    NonceTooHigh {
        /// Next nonce of the account, its waiting transactions counted.
        next: u64,
        /// Nonce of the transaction.
        nonce: u64,
    },
    /// The next block can't have it, since it offers less than the base fee ([`super::RefusedTxs`]).
    #[error(
        "max fee per gas less than block base fee: {fee_cap} is too low for the next block, which has a baseFeePerGas of \
         {base_fee}"
    )]
    BelowBaseFee {
        /// Wei.
        fee_cap: u128,
        /// Wei.
        base_fee: u128,
    },
    /// No block can hold it, since no nonce follows it (EIP-2681).
    #[error("nonce has max value: address {sender}, nonce: {}", u64::MAX)]
    NonceMax {
        /// The sender.
        sender: Address,
    },
    /// The account can't pay for the transaction.
    #[error(
        "insufficient funds for gas * price + value: balance {balance}, tx cost {cost}, overshot {}",
        .cost.saturating_sub(U512::from(*.balance))
    )]
    Funds {
        /// Wei.
        balance: U256,
        /// Wei; a value and a fee together can be more than 256 bits.
        cost: U512,
    },
    /// The account can't pay for the transaction and its waiting ones.
    #[error(
        "insufficient funds for gas * price + value: balance {balance}, queued cost {queued}, tx cost {cost}, overshot {}",
        .queued.saturating_add(*.cost) - .balance
    )]
    QueuedFunds {
        /// Wei.
        balance: U256,
        /// Cost of the waiting transactions, wei.
        queued: U256,
        /// Wei.
        cost: U256,
    },
    /// The account can't pay for the higher price.
    #[error(
        "insufficient funds for gas * price + value: balance {balance}, queued cost {queued}, tx bumped {bump}, overshot {}",
        .queued.saturating_add(*.bump) - .balance
    )]
    BumpedFunds {
        /// Wei.
        balance: U256,
        /// Cost of the waiting transactions, wei.
        queued: U256,
        /// Additional cost compared with the replaced transaction, wei.
        bump: U256,
    },
    /// The pool is full, and all others pay more.
    #[error("transaction underpriced")]
    Underpriced,
    /// The pool is full, and no transaction that pays less can make room.
    #[error("txpool is full")]
    Full,
    /// The pool is full, and a transaction that can't run yet would displace one that can.
    #[error("future transaction tries to replace pending")]
    FutureReplacesPending,
    /// Another transaction with this nonce pays as much, or nearly as much.
    #[error("replacement transaction underpriced")]
    ReplacementUnderpriced,
    /// Its blobs are refused.
    #[error(transparent)]
    Blobs(#[from] BlobError),
    /// The gas limit is below the floor price of its data (EIP-7623).
    #[error("insufficient gas for floor data gas cost: gas {gas}, minimum needed {needed}")]
    FloorGas {
        /// Gas limit of the transaction.
        gas: u64,
        /// Gas needed.
        needed: u64,
    },
    /// The gas limit is above that of any transaction (EIP-7825).
    #[error("transaction gas limit too high (cap: {cap}, tx: {gas})")]
    GasCap {
        /// Most gas of a transaction.
        cap: u64,
        /// Gas limit of the transaction.
        gas: u64,
    },
    /// A set-code transaction without authorizations.
    #[error("set code tx must have at least one authorization tuple")]
    NoAuthorizations,
    /// A delegated account has a transaction already.
    #[error("in-flight transaction limit reached for delegated accounts")]
    InflightLimit,
    /// A delegated account leaves a gap between its nonces.
    #[error("gapped-nonce tx from delegated accounts")]
    GappedDelegated,
    /// An account that authorizes a delegation has transactions here.
    #[error("authority already reserved")]
    AuthorityReserved,
    /// A rewind took place between the read of the sender's state and the decision.
    #[error("the chain was taken back to an older block meanwhile: send the transaction again")]
    Rewound,
}

impl PoolError {
    /// Labels of the errors in metrics.
    pub(super) const LABELS: [&str; 23] = [
        "already_known",
        "type_not_supported",
        "oversized",
        "init_code",
        "gas_limit",
        "tip_above_fee_cap",
        "warp_predicate",
        "invalid_sender",
        "intrinsic_gas",
        "underpriced",
        "nonce_too_low",
        "funds",
        "full",
        "future_replaces_pending",
        "replacement_underpriced",
        "rewound",
        "nonce_max",
        "blobs",
        "floor_gas",
        "gas_cap",
        "no_authorizations",
        "delegated",
        "nonce_too_high",
    ];

    /// Index of the error's label in [`Self::LABELS`].
    pub(super) const fn index(&self) -> usize {
        match self {
            Self::AlreadyKnown => 0,
            Self::TypeNotSupported => 1,
            Self::Oversized { .. } => 2,
            Self::InitCode { .. } => 3,
            Self::GasLimit { .. } => 4,
            Self::TipAboveFeeCap => 5,
            Self::WarpPredicate => 6,
            Self::InvalidSender => 7,
            Self::IntrinsicGas { .. } => 8,
            Self::TipUnderpriced { .. }
            | Self::FeeCapUnderpriced { .. }
            | Self::BelowBaseFee { .. }
            | Self::Underpriced => 9,
            Self::NonceTooLow { .. } => 10,
            Self::Funds { .. } | Self::QueuedFunds { .. } | Self::BumpedFunds { .. } => 11,
            Self::Full => 12,
            Self::FutureReplacesPending => 13,
            Self::ReplacementUnderpriced => 14,
            Self::Rewound => 15,
            Self::NonceMax { .. } => 16,
            Self::Blobs(_) => 17,
            Self::FloorGas { .. } => 18,
            Self::GasCap { .. } => 19,
            Self::NoAuthorizations => 20,
            Self::InflightLimit | Self::GappedDelegated | Self::AuthorityReserved => 21,
            Self::NonceTooHigh { .. } => 22,
        }
    }
}
