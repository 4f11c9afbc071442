//! Headers with Ethereum's fields.

use alloy_consensus::Header as EthereumHeader;
use alloy_primitives::{B256, U256};

use super::Header;

/// A header in the types of all EVM chains. What only other chains have is absent; what only Amsterdam has is lost.
pub fn to_state_header(header: EthereumHeader) -> Header {
    Header {
        parent_hash: header.parent_hash,
        ommers_hash: header.ommers_hash,
        coinbase: header.beneficiary,
        state_root: header.state_root,
        transactions_root: header.transactions_root,
        receipts_root: header.receipts_root,
        bloom: header.logs_bloom,
        difficulty: header.difficulty,
        number: header.number,
        gas_limit: header.gas_limit,
        gas_used: header.gas_used,
        time: header.timestamp,
        extra: header.extra_data,
        mix_digest: header.mix_hash,
        nonce: header.nonce,
        ext_data_hash: B256::ZERO,
        base_fee: header.base_fee_per_gas.map(U256::from),
        ext_data_gas_used: None,
        block_gas_cost: None,
        blob_gas_used: header.blob_gas_used,
        excess_blob_gas: header.excess_blob_gas,
        parent_beacon_root: header.parent_beacon_block_root,
        withdrawals_root: header.withdrawals_root,
        requests_hash: header.requests_hash,
    }
}

/// A header out of the types of all EVM chains. A base fee of more than 64 bits becomes the highest one.
pub fn from_state_header(header: &Header) -> EthereumHeader {
    EthereumHeader {
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
        base_fee_per_gas: header.base_fee.map(|base_fee| base_fee.saturating_to()),
        withdrawals_root: header.withdrawals_root,
        blob_gas_used: header.blob_gas_used,
        excess_blob_gas: header.excess_blob_gas,
        parent_beacon_block_root: header.parent_beacon_root,
        requests_hash: header.requests_hash,
        block_access_list_hash: None,
        slot_number: None,
    }
}
