//! What the execution of a transaction depends on, besides the block and the state.

use alloy_primitives::U256;

/// The rules under which transactions and code run in a block. They are plain values: code that uses them does not
/// depend on the chain that they belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecutionRules {
    /// Ethereum's instruction set and gas table.
    pub revision: Revision,
    /// Behavior of the two native-asset precompiles.
    pub native_asset: NativeAsset,
    /// Whether the warp precompile exists.
    pub warp: bool,
    /// The slots of storage keys.
    pub storage_keys: StorageKeys,
    /// Whether some addresses can neither send transactions nor become contracts
    /// ([`crate::executor::is_prohibited`]).
    pub reserves_addresses: bool,
    /// Recipient of the base fee.
    pub base_fee: BaseFeeUse,
    /// Whether unused storage refunds gas at the end of a transaction.
    pub refunds: bool,
    /// Limits of blobs; `None` if blob transactions are refused.
    pub blobs: Option<BlobLimits>,
    /// Limits that a development chain may have changed.
    pub limits: ExecutionLimits,
}

/// Ethereum's limits of transactions and code, as far as a development chain may change them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExecutionLimits {
    /// Whether transactions may have more gas than EIP-7825 allows.
    pub lifts_tx_gas: bool,
    /// Most bytes of a contract's code, and half of the most bytes of init code; `None`: Ethereum's (EIP-170).
    pub code_size: Option<usize>,
    /// Most bytes of memory of a transaction; code that takes more runs out of gas. `None`: only gas limits it.
    pub memory: Option<u64>,
}

impl ExecutionLimits {
    /// Ethereum's.
    pub const USUAL: Self = Self { lifts_tx_gas: false, code_size: None, memory: None };
}

/// Ethereum's hard forks that changed how code or transactions run, in chronological order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    /// The first instruction set.
    Frontier,
    /// With DELEGATECALL.
    Homestead,
    /// With EIP-150's gas prices.
    TangerineWhistle,
    /// With EIP-155 and EIP-161: empty accounts are removed.
    SpuriousDragon,
    /// With REVERT, STATICCALL, four precompiles; receipts have a status.
    Byzantium,
    /// With shifts, CREATE2, net gas metering.
    Constantinople,
    /// Without net gas metering.
    Petersburg,
    /// With CHAINID, SELFBALANCE, blake2f.
    Istanbul,
    /// With access lists.
    Berlin,
    /// With type 2 transactions and BASEFEE.
    London,
    /// With PREVRANDAO.
    Paris,
    /// With PUSH0, warm coinbase, init code limit.
    Shanghai,
    /// With transient storage, MCOPY, EIP-6780, blob opcodes, point evaluation.
    Cancun,
    /// With set-code transactions, BLS12-381, a floor price of call data.
    Prague,
    /// With CLZ, P-256, a gas limit of transactions.
    Osaka,
}

/// Behavior of the addresses 0x0100..00 to 02.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NativeAsset {
    /// They return balances and make calls with other assets.
    On,
    /// They always revert.
    Reverts,
    /// They are ordinary addresses.
    Absent,
}

/// How a storage key is mapped to a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageKeys {
    /// The key is the slot.
    Whole,
    /// The lowest bit of the first byte is cleared. Balances of other assets have it set
    /// (docs/protocol/c-chain-state.md, "Storage keys").
    Separated,
}

/// The recipient of the base fee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseFeeUse {
    /// The coinbase receives it, with the tip.
    ToCoinbase,
    /// It is burnt; the coinbase receives the tip (EIP-1559).
    Burnt,
}

/// Limits of blobs (EIP-4844, EIP-7840).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobLimits {
    /// Target, blobs a block.
    pub target: u64,
    /// Most blobs of a block.
    pub max: u64,
    /// Denominator of the exponent of the blob base fee.
    pub update_fraction: u64,
    /// Most blobs of a transaction; `None` if only the block limits them.
    pub max_a_transaction: Option<u64>,
}

impl Revision {
    /// All revisions, oldest first.
    pub const ALL: [Self; Self::Osaka as usize + 1] = [
        Self::Frontier,
        Self::Homestead,
        Self::TangerineWhistle,
        Self::SpuriousDragon,
        Self::Byzantium,
        Self::Constantinople,
        Self::Petersburg,
        Self::Istanbul,
        Self::Berlin,
        Self::London,
        Self::Paris,
        Self::Shanghai,
        Self::Cancun,
        Self::Prague,
        Self::Osaka,
    ];
}

/// Highest gas limit of a transaction (EIP-7825).
const MAX_TX_GAS: u64 = 1 << 24;

/// Longest init code (EIP-3860).
const MAX_INIT_CODE: usize = 49_152;

impl ExecutionRules {
    /// Highest gas limit of a transaction; `None` if only the block limits it.
    pub fn max_tx_gas(&self) -> Option<u64> {
        let is_limited = self.revision >= Revision::Osaka && !self.limits.lifts_tx_gas;
        is_limited.then_some(MAX_TX_GAS)
    }

    /// Longest init code, bytes, if the revision limits it.
    pub fn max_init_code(&self) -> usize {
        self.limits.code_size.map_or(MAX_INIT_CODE, |size| size.saturating_mul(2))
    }

    /// Whether transactions of this type can be in a block.
    pub fn has_transaction_type(&self, tx_type: u8) -> bool {
        match tx_type {
            0 => true,
            1 => self.revision >= Revision::Berlin,
            2 => self.revision >= Revision::London,
            3 => self.blobs.is_some(),
            4 => self.revision >= Revision::Prague,
            _ => false,
        }
    }
}

impl BlobLimits {
    /// Most blobs of a transaction.
    pub fn most_of_a_transaction(&self) -> u64 {
        self.max_a_transaction.map_or(self.max, |most| most.min(self.max))
    }
}

impl StorageKeys {
    /// The slot of a storage key.
    #[inline]
    pub fn slot(self, key: U256) -> U256 {
        match self {
            Self::Whole => key,
            Self::Separated => key & !U256::ONE.wrapping_shl(248),
        }
    }
}
