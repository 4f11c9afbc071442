//! Headers of JSON-RPC, and their hashes in the known forms.

use alloy_primitives::B256;
use esker_evm_state::types::{Header, from_state_header};
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
    match header.base_fee.map(u64::try_from) {
        Some(Err(_)) => B256::ZERO,
        Some(Ok(_)) | None => from_state_header(header).hash_slow(),
    }
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
