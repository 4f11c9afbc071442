//! The first block of a genesis file: go-ethereum's form.

mod error;

use alloy_consensus::Header;
use alloy_consensus::constants::EMPTY_WITHDRAWALS;
use alloy_eips::eip1559::INITIAL_BASE_FEE;
use alloy_eips::eip7685::EMPTY_REQUESTS_HASH;
use alloy_primitives::{B64, B256, U256};
use esker_evm_execution::genesis::{
    Genesis as GenesisFields, GenesisError as FieldsError, JsonError,
};
use esker_go_json::{Document, Kind};

use crate::forks::{BlockRule, ChainConfig, Fork};

pub use error::GenesisError;

/// Gas limit if the file has 0.
const DEFAULT_GAS_LIMIT: u64 = 4_712_388;

/// The definition of the first block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Genesis {
    /// Chain ID and forks.
    pub config: ChainConfig,
    /// Fields of the header, and accounts.
    pub fields: GenesisFields,
}

impl Genesis {
    /// Reads a genesis file. Any bytes give a genesis or an error.
    ///
    /// # Errors
    /// A field is missing or has another form, or the chain is impossible.
    pub fn parse(json: &[u8]) -> Result<Self, GenesisError> {
        let fields = GenesisFields::parse(json)?;
        let config = ChainConfig::parse(config_of(json)?)?;
        if fields.number != 0 {
            return Err(GenesisError::Number(fields.number));
        }
        let base_fee = fields.base_fee.unwrap_or_default();
        if base_fee > U256::from(u64::MAX) {
            return Err(GenesisError::BaseFee(base_fee));
        }
        Ok(Self { config, fields })
    }

    /// The fork of the first block.
    pub fn fork(&self) -> Fork {
        let fields = &self.fields;
        let is_merged = self.config.is_merged(fields.number, fields.timestamp, fields.difficulty);
        self.config.fork_at(fields.number, fields.timestamp, is_merged)
    }

    /// The header of the first block, whose state has this root. Fields of forks depend on heights and times only,
    /// not on the difficulty.
    pub fn header(&self, state_root: B256) -> Header {
        let fields = &self.fields;
        let is_london = self.config.is_active(BlockRule::London, fields.number);
        let base_fee = fields.base_fee.map_or(INITIAL_BASE_FEE, |fee| fee.saturating_to());
        let timed = self.config.fork_at(fields.number, fields.timestamp, true);
        let from = |fork| timed >= fork;
        Header {
            parent_hash: fields.parent_hash,
            beneficiary: fields.coinbase,
            state_root,
            difficulty: fields.difficulty,
            number: fields.number,
            gas_limit: if fields.gas_limit == 0 { DEFAULT_GAS_LIMIT } else { fields.gas_limit },
            gas_used: fields.gas_used,
            timestamp: fields.timestamp,
            extra_data: fields.extra_data.clone(),
            mix_hash: fields.mix_hash,
            nonce: B64::from(fields.nonce),
            base_fee_per_gas: is_london.then_some(base_fee),
            withdrawals_root: from(Fork::Shanghai).then_some(EMPTY_WITHDRAWALS),
            blob_gas_used: from(Fork::Cancun).then(|| fields.blob_gas_used.unwrap_or(0)),
            excess_blob_gas: from(Fork::Cancun).then(|| fields.excess_blob_gas.unwrap_or(0)),
            parent_beacon_block_root: from(Fork::Cancun).then_some(B256::ZERO),
            requests_hash: from(Fork::Prague).then_some(EMPTY_REQUESTS_HASH),
            ..Header::default()
        }
    }
}

/// The last `config` of a genesis file.
fn config_of(json: &[u8]) -> Result<Document<'_>, GenesisError> {
    let whole = Document::whole(json).map_err(JsonError::from)?;
    let mut found = None;
    Document::first_with_members(whole.as_bytes(), |name, value| {
        if name.is("config") && value.kind() != Kind::Null {
            found = Some(value);
        }
    })
    .map_err(JsonError::from)?;
    found.ok_or(GenesisError::Fields(FieldsError::NoConfig))
}
