//! The first block: its JSON form, its state and its header (docs/protocol/c-chain-genesis.md, "C-Chain genesis").
//!
//! [`Genesis::parse`] reads the reference's JSON with Go's rules and texts. [`Genesis::build`] builds the state and
//! the block.

mod forms;
mod json;
mod json_error;

use std::collections::BTreeMap;

use alloy_primitives::{Address, B64, B256, Bytes, U256, keccak256};
use alloy_trie::{EMPTY_ROOT_HASH, KECCAK_EMPTY};
use esker_evm_state::state::{
    AccountChange, AccountParts, ApplyOptions, BlockState, StateChanges, StateError, asset_slot,
};
use esker_evm_state::types::{Block, EMPTY_OMMERS_HASH, Header};
use esker_storage::{KvRead, KvStore, KvWrite, MemoryStore, Scope};
use thiserror::Error;

use crate::rules::{BlockPoint, GenesisTerms, Rules, StorageKeys};

pub use json::{FORK_NAMES, GenesisConfig};
pub use json_error::{HexError, JsonError};

/// Gas limit if the JSON has 0.
const DEFAULT_GAS_LIMIT: u64 = 4_712_388;

/// Why a genesis can't be used. The texts are the reference's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GenesisError {
    /// The JSON can't be read as a genesis.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// The genesis has no configuration.
    #[error("genesis has no chain configuration")]
    NoConfig,
    /// The store holds another chain.
    #[error("database contains incompatible genesis (have {have:x}, new {new:x})")]
    Incompatible {
        /// Hash of the stored first block.
        have: B256,
        /// Hash of the configured one.
        new: B256,
    },
    /// A fork was moved that the stored chain has reached.
    #[error(
        "mismatching {what} in database (have timestamp {have}, want timestamp {want}, \
         rewindto timestamp {rewind_to})"
    )]
    Schedule {
        /// Name of the fork.
        what: String,
        /// Unix s.
        have: u64,
        /// Unix s.
        want: u64,
        /// Unix s.
        rewind_to: u64,
    },
    /// The forks are not in their order.
    #[error(
        "chain configuration: {later} at {later_at} would come before {earlier} at {earlier_at}"
    )]
    Order {
        /// Name of the fork.
        earlier: String,
        /// Unix s.
        earlier_at: u64,
        /// Name of the fork.
        later: String,
        /// Unix s.
        later_at: u64,
    },
}

/// An account of the first block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GenesisAccount {
    /// Wei.
    pub balance: U256,
    /// Code.
    pub code: Bytes,
    /// Nonce.
    pub nonce: u64,
    /// Storage by key, before the rules map keys to slots.
    pub storage: BTreeMap<B256, B256>,
    /// Balances of other assets.
    pub assets: BTreeMap<B256, U256>,
}

/// The definition of the first block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Genesis {
    /// The header's nonce.
    pub nonce: u64,
    /// Unix s.
    pub timestamp: u64,
    /// The header's extra data.
    pub extra_data: Bytes,
    /// Gas limit; 0 selects the default.
    pub gas_limit: u64,
    /// Difficulty.
    pub difficulty: U256,
    /// The header's mix digest.
    pub mix_hash: B256,
    /// The header's coinbase.
    pub coinbase: Address,
    /// Accounts.
    pub alloc: BTreeMap<Address, GenesisAccount>,
    /// The header's number: 0.
    pub number: u64,
    /// The header's gas used.
    pub gas_used: u64,
    /// The header's parent hash.
    pub parent_hash: B256,
    /// Base fee if the rules have one, wei.
    pub base_fee: Option<U256>,
    /// Excess of blob gas, if the rules have it.
    pub excess_blob_gas: Option<u64>,
    /// Blob gas, if the rules have it.
    pub blob_gas_used: Option<u64>,
    /// The parent's beacon root, if the rules have one.
    pub parent_beacon_root: Option<B256>,
}

impl Genesis {
    /// Reads the C-Chain's JSON form. Any bytes give a genesis or an error. [`GenesisConfig::parse`] reads the forks.
    pub fn parse(json: &[u8]) -> Result<Self, GenesisError> {
        json::parse(json)
    }

    /// The state of the first block.
    pub fn state(&self, rules: &dyn Rules) -> StateChanges {
        let is_merged = self.difficulty.is_zero();
        let point = BlockPoint { number: self.number, time: self.timestamp, is_merged };
        let mut changes = rules.genesis_accounts(&point);
        for (address, account) in &self.alloc {
            changes.insert(*address, account.change(rules.storage_keys()));
        }
        changes
    }

    /// Writes the state, and returns the first block.
    pub fn build(
        &self,
        rules: &dyn Rules,
        scope: Scope,
        options: ApplyOptions,
        out: &mut dyn KvWrite,
    ) -> Result<Block, StateError> {
        let nothing: Box<dyn KvRead> = MemoryStore::new().snapshot()?;
        let (below, root, height) = (&*nothing, EMPTY_ROOT_HASH, 0);
        let state = BlockState { codec: rules, below, scope, root, height, options, base: None };
        let root = state.apply(&self.state(rules), out)?;
        Ok(rules.genesis_block(self.header(root), &self.terms()))
    }

    /// The header's fields that do not depend on the rules.
    fn header(&self, state_root: B256) -> Header {
        Header {
            parent_hash: self.parent_hash,
            ommers_hash: EMPTY_OMMERS_HASH,
            coinbase: self.coinbase,
            state_root,
            transactions_root: EMPTY_ROOT_HASH,
            receipts_root: EMPTY_ROOT_HASH,
            difficulty: self.difficulty,
            number: self.number,
            gas_limit: if self.gas_limit == 0 { DEFAULT_GAS_LIMIT } else { self.gas_limit },
            gas_used: self.gas_used,
            time: self.timestamp,
            extra: self.extra_data.clone(),
            mix_digest: self.mix_hash,
            nonce: B64::from(self.nonce),
            ..Header::default()
        }
    }

    fn terms(&self) -> GenesisTerms {
        GenesisTerms {
            base_fee: self.base_fee,
            excess_blob_gas: self.excess_blob_gas,
            blob_gas_used: self.blob_gas_used,
            parent_beacon_root: self.parent_beacon_root,
        }
    }
}

impl GenesisAccount {
    /// The creation of the account. An empty account is kept: only a touch removes it.
    fn change(&self, keys: StorageKeys) -> AccountChange {
        let word = |value: &B256| U256::from_be_bytes(value.0);
        let mut slots = BTreeMap::new();
        for (key, value) in &self.storage {
            slots.insert(keys.slot(word(key)), word(value));
        }
        let assets = self.assets.iter().filter(|(_, amount)| !amount.is_zero());
        slots.extend(assets.map(|(asset, amount)| (asset_slot(*asset), *amount)));
        slots.retain(|_, value| !value.is_zero());
        let code = (!self.code.is_empty()).then(|| (keccak256(&self.code), self.code.clone()));
        let account = AccountParts {
            nonce: self.nonce,
            balance: self.balance,
            code_hash: code.as_ref().map_or(KECCAK_EMPTY, |(hash, _)| *hash),
            is_multi_coin: self.assets.values().any(|amount| !amount.is_zero()),
        };
        AccountChange { account: Some(account), code, wiped: false, slots }
    }
}
