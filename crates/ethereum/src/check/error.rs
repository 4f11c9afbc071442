//! Why a header is refused.

use alloy_primitives::{B256, U256};
use thiserror::Error;

/// Why a header does not follow from its parent. The texts are go-ethereum's: of its package `consensus` and those
/// below it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HeaderError {
    /// The header names another parent.
    #[error("unknown ancestor")]
    UnknownParent,
    /// Proof of work after the merge, or none before it.
    #[error("invalid terminal block")]
    Terminal,
    /// No proof of work before the terminal total difficulty.
    #[error(
        "invalid terminal block: no proof of work after total difficulty {total}, below the terminal {terminal}"
    )]
    EarlyMerge {
        /// The sum of difficulties up to the parent.
        total: U256,
        /// The terminal one.
        terminal: U256,
    },
    /// Proof of work after the terminal total difficulty.
    #[error(
        "invalid terminal block: proof of work after total difficulty {total}, which reached the terminal {terminal}"
    )]
    LateWork {
        /// The sum of difficulties up to the parent.
        total: U256,
        /// The terminal one.
        terminal: U256,
    },
    /// The extra data of a block with proof of work has more than 32 bytes.
    #[error("extra-data too long: {0} > 32")]
    LongWorkExtra(usize),
    /// The extra data of a block without proof of work has more than 32 bytes.
    #[error("extra-data longer than 32 bytes ({0})")]
    LongExtra(usize),
    /// The extra data lack the mark of the DAO fork.
    #[error("bad DAO pro-fork extra-data")]
    NoDaoExtra,
    /// The extra data have the mark of the DAO fork, which the chain opposes.
    #[error("bad DAO no-fork extra-data")]
    DaoExtra,
    /// A block with proof of work is not later than its parent.
    #[error("timestamp older than parent")]
    WorkTime,
    /// A block without proof of work is not later than its parent.
    #[error("invalid timestamp")]
    Time,
    /// The difficulty does not follow from the parent.
    #[error("invalid difficulty: have {have}, want {want}")]
    Difficulty {
        /// That of the header.
        have: U256,
        /// The expected one.
        want: U256,
    },
    /// A block without proof of work has a nonce.
    #[error("invalid nonce")]
    Nonce,
    /// A block without proof of work has ommers.
    #[error("invalid uncle hash")]
    OmmersHash,
    /// The gas limit has more than 63 bits.
    #[error("invalid gasLimit: have {0}, max 9223372036854775807")]
    HugeGasLimit(u64),
    /// The gas limit is too far from the parent's.
    #[error("invalid gas limit: have {have}, want {parent} +-= {most}")]
    GasLimit {
        /// That of the header.
        have: u64,
        /// That of the parent, doubled at the beginning of London.
        parent: u64,
        /// The greatest difference.
        most: u64,
    },
    /// The gas limit is below 5000.
    #[error("invalid gas limit below 5000")]
    LowGasLimit,
    /// More gas than the limit was used.
    #[error("invalid gasUsed: have {used}, gasLimit {limit}")]
    GasUsed {
        /// Gas used.
        used: u64,
        /// The gas limit.
        limit: u64,
    },
    /// The height is not the one after the parent's.
    #[error("invalid block number")]
    Number,
    /// A base fee before London.
    #[error("invalid baseFee before fork: have {0}, expected 'nil'")]
    EarlyBaseFee(u64),
    /// No base fee from London on.
    #[error("header is missing baseFee")]
    NoBaseFee,
    /// The base fee does not follow from the parent.
    #[error(
        "invalid baseFee: have {have}, want {want}, parentBaseFee {}, parentGasUsed {parent_gas_used}",
        nil(parent_base_fee)
    )]
    BaseFee {
        /// That of the header, wei.
        have: u64,
        /// The expected one, wei.
        want: u64,
        /// That of the parent, wei.
        parent_base_fee: Option<u64>,
        /// Gas that the parent used.
        parent_gas_used: u64,
    },
    /// A block with proof of work at a time at which a fork after the merge applies.
    #[error("ethash does not support {0} fork")]
    WorkAfterMerge(&'static str),
    /// No withdrawals root from Shanghai on.
    #[error("missing withdrawalsHash")]
    NoWithdrawalsRoot,
    /// A withdrawals root before Shanghai.
    #[error("invalid withdrawalsHash: have {0:x}, expected nil")]
    EarlyWithdrawalsRoot(B256),
    /// Excess blob gas before Cancun.
    #[error("invalid excessBlobGas: have {0}, expected nil")]
    EarlyExcessBlobGas(u64),
    /// Blob gas before Cancun.
    #[error("invalid blobGasUsed: have {0}, expected nil")]
    EarlyBlobGas(u64),
    /// A beacon root before Cancun.
    #[error("invalid parentBeaconRoot, have {0}, expected nil")]
    EarlyBeaconRoot(B256),
    /// No beacon root from Cancun on.
    #[error("header is missing beaconRoot")]
    NoBeaconRoot,
    /// No excess blob gas from Cancun on.
    #[error("header is missing excessBlobGas")]
    NoExcessBlobGas,
    /// No blob gas from Cancun on.
    #[error("header is missing blobGasUsed")]
    NoBlobGas,
    /// More blob gas than a block may use.
    #[error("blob gas used {have} exceeds maximum allowance {most}")]
    BlobGas {
        /// That of the header.
        have: u64,
        /// The most of a block.
        most: u64,
    },
    /// Blob gas of a part of a blob.
    #[error("blob gas used {0} not a multiple of blob gas per blob 131072")]
    PartOfBlob(u64),
    /// The excess blob gas does not follow from the parent.
    #[error("invalid excessBlobGas: have {have}, want {want}")]
    ExcessBlobGas {
        /// That of the header.
        have: u64,
        /// The expected one.
        want: u64,
    },
    /// No requests hash from Prague on.
    #[error("block has requests before prague fork")]
    NoRequestsHash,
    /// A requests hash before Prague.
    #[error("invalid requestsHash: have {0:x}, expected nil")]
    EarlyRequestsHash(B256),
    /// A hash of an access list before Amsterdam.
    #[error("block had access list before Amsterdam")]
    EarlyAccessList,
    /// A slot number before Amsterdam.
    #[error("invalid slotNumber: have {0}, expected nil")]
    EarlySlotNumber(u64),
    /// The rules of the header's fork are not implemented.
    #[error("the {0} fork is not supported")]
    Unsupported(&'static str),
}

/// A number, or what Go writes for none.
fn nil(value: &Option<u64>) -> String {
    value.map_or_else(|| "<nil>".to_owned(), |value| value.to_string())
}
