//! The header as subscribers see it (docs/protocol/c-chain-rpc.md, "New heads").

use std::sync::Arc;

use esker_evm_execution::rules::Dialect;
use esker_evm_state::types::SealedHeader;
use esker_rpc::schema_as;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::{Addr, Big, Hash, HexRef, Uint64};

/// A header in the order of its fields; absent ones are `null`, but those of ext data are left out where there is none.
#[derive(Clone, Debug)]
pub struct NewHead {
    /// The header.
    pub header: Arc<SealedHeader>,
    /// Which members it has.
    pub dialect: Dialect,
}

schema_as!(NewHead, "NewHead", Members<'_>);

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Members<'a> {
    parent_hash: Hash,
    sha3_uncles: Hash,
    miner: Addr,
    state_root: Hash,
    transactions_root: Hash,
    receipts_root: Hash,
    logs_bloom: HexRef<'a>,
    difficulty: Big,
    number: Uint64,
    gas_limit: Uint64,
    gas_used: Uint64,
    timestamp: Uint64,
    extra_data: HexRef<'a>,
    mix_hash: Hash,
    nonce: HexRef<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ext_data_hash: Option<Hash>,
    base_fee_per_gas: Option<Big>,
    #[serde(skip_serializing_if = "Option::is_none")]
    withdrawals_root: Option<Option<Hash>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ext_data_gas_used: Option<Option<Big>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    block_gas_cost: Option<Option<Big>>,
    blob_gas_used: Option<Uint64>,
    excess_blob_gas: Option<Uint64>,
    parent_beacon_block_root: Option<Hash>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requests_hash: Option<Option<Hash>>,
    hash: Hash,
}

impl Serialize for NewHead {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let SealedHeader { header, hash } = &*self.header;
        let is_standard = self.dialect.is_standard();
        let has_ext_data = !is_standard;
        Members {
            parent_hash: Hash(header.parent_hash),
            sha3_uncles: Hash(header.ommers_hash),
            miner: Addr(header.coinbase),
            state_root: Hash(header.state_root),
            transactions_root: Hash(header.transactions_root),
            receipts_root: Hash(header.receipts_root),
            logs_bloom: HexRef(header.bloom.as_slice()),
            difficulty: Big(header.difficulty),
            number: Uint64(header.number),
            gas_limit: Uint64(header.gas_limit),
            gas_used: Uint64(header.gas_used),
            timestamp: Uint64(header.time),
            extra_data: HexRef(&header.extra),
            mix_hash: Hash(header.mix_digest),
            nonce: HexRef(header.nonce.as_slice()),
            ext_data_hash: has_ext_data.then_some(Hash(header.ext_data_hash)),
            base_fee_per_gas: header.base_fee.map(Big),
            withdrawals_root: is_standard.then(|| header.withdrawals_root.map(Hash)),
            ext_data_gas_used: has_ext_data.then(|| header.ext_data_gas_used.map(Big)),
            block_gas_cost: has_ext_data.then(|| header.block_gas_cost.map(Big)),
            blob_gas_used: header.blob_gas_used.map(Uint64),
            excess_blob_gas: header.excess_blob_gas.map(Uint64),
            parent_beacon_block_root: header.parent_beacon_root.map(Hash),
            requests_hash: is_standard.then(|| header.requests_hash.map(Hash)),
            hash: Hash(*hash),
        }
        .serialize(serializer)
    }
}
