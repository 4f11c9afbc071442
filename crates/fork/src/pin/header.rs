//! Headers of JSON-RPC, and their hashes in the known forms.

use alloy_consensus::Header as EthereumHeader;
use alloy_primitives::B256;
use esker_evm_state::types::Header;
use serde_json::Value;

use crate::json::{FieldError, Fields};

/// The form of a header whose hash was recomputed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderForm {
    /// Ethereum's, up to Osaka.
    Ethereum,
    /// The C-Chain's.
    CChain,
    /// Another one: the hash and all fields are only what the source says.
    Unknown,
}

/// Reads a header, and the hash that is given with it.
pub(crate) fn read_header(value: &Value) -> Result<(Header, B256), FieldError> {
    let fields = Fields::of(value)?;
    let header = Header {
        parent_hash: fields.hash("parentHash")?,
        ommers_hash: fields.hash("sha3Uncles")?,
        coinbase: fields.address("miner")?,
        state_root: fields.hash("stateRoot")?,
        transactions_root: fields.hash("transactionsRoot")?,
        receipts_root: fields.hash("receiptsRoot")?,
        bloom: fields.fixed::<256>("logsBloom")?.into(),
        difficulty: fields.u256("difficulty")?,
        number: fields.u64("number")?,
        gas_limit: fields.u64("gasLimit")?,
        gas_used: fields.u64("gasUsed")?,
        time: fields.u64("timestamp")?,
        extra: fields.bytes("extraData")?,
        mix_digest: fields.optional("mixHash", Fields::hash)?.unwrap_or_default(),
        nonce: fields.optional("nonce", Fields::fixed)?.unwrap_or_default(),
        ext_data_hash: fields.optional("extDataHash", Fields::hash)?.unwrap_or_default(),
        base_fee: fields.optional("baseFeePerGas", Fields::u256)?,
        ext_data_gas_used: fields.optional("extDataGasUsed", Fields::u256)?,
        block_gas_cost: fields.optional("blockGasCost", Fields::u256)?,
        blob_gas_used: fields.optional("blobGasUsed", Fields::u64)?,
        excess_blob_gas: fields.optional("excessBlobGas", Fields::u64)?,
        parent_beacon_root: fields.optional("parentBeaconBlockRoot", Fields::hash)?,
        withdrawals_root: fields.optional("withdrawalsRoot", Fields::hash)?,
        requests_hash: fields.optional("requestsHash", Fields::hash)?,
    };
    Ok((header, fields.hash("hash")?))
}

/// The hash in Ethereum's form; zero if a field does not fit it.
pub(crate) fn ethereum_hash(header: &Header) -> B256 {
    let Ok(base_fee) = header.base_fee.map(u64::try_from).transpose() else {
        return B256::ZERO;
    };
    let header = EthereumHeader {
        parent_hash: header.parent_hash,
        ommers_hash: header.ommers_hash,
        beneficiary: header.coinbase,
        state_root: header.state_root,
        transactions_root: header.transactions_root,
        receipts_root: header.receipts_root,
        logs_bloom: header.bloom,
        difficulty: header.difficulty,
        number: header.number,
        gas_limit: header.gas_limit,
        gas_used: header.gas_used,
        timestamp: header.time,
        extra_data: header.extra.clone(),
        mix_hash: header.mix_digest,
        nonce: header.nonce,
        base_fee_per_gas: base_fee,
        withdrawals_root: header.withdrawals_root,
        blob_gas_used: header.blob_gas_used,
        excess_blob_gas: header.excess_blob_gas,
        parent_beacon_block_root: header.parent_beacon_root,
        requests_hash: header.requests_hash,
        ..EthereumHeader::default()
    };
    header.hash_slow()
}

/// The form in which the header has this hash.
pub(crate) fn form_of(header: &Header, hash: B256) -> HeaderForm {
    if ethereum_hash(header) == hash {
        HeaderForm::Ethereum
    } else if header.hash() == hash {
        HeaderForm::CChain
    } else {
        HeaderForm::Unknown
    }
}
