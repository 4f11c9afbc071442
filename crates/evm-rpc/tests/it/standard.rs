//! Forms of the Ethereum execution API, beside those of the reference.

use std::sync::Arc;

use alloy_primitives::{B256, U256};
use esker_evm_execution::rules::Dialect;
use esker_evm_rpc::wire::{BlockReply, Transactions};
use esker_evm_state::types::{Block, Header, SealedBlock};
use serde_json::{Value, json};

/// Members that only blocks with ext data have.
const OF_EXT_DATA: [&str; 5] =
    ["blockExtraData", "blockGasCost", "extDataGasUsed", "extDataHash", "totalDifficulty"];

fn shown(block: &Arc<SealedBlock>, dialect: Dialect) -> Value {
    let reply = BlockReply {
        block: Arc::clone(block),
        transactions: Transactions::Hashes,
        atomic_transactions: None,
        uncles: vec![B256::repeat_byte(7)],
        is_pending: false,
        dialect,
    };
    serde_json::to_value(reply).unwrap()
}

#[test]
fn blocks_have_the_members_of_their_chain() {
    let header = Header {
        base_fee: Some(U256::from(7)),
        blob_gas_used: Some(0),
        excess_blob_gas: Some(3),
        parent_beacon_root: Some(B256::ZERO),
        withdrawals_root: Some(B256::ZERO),
        requests_hash: Some(B256::ZERO),
        ..Header::default()
    };
    let block = Block { header, withdrawals: Some(Vec::new()), ..Block::default() };
    let block = Arc::new(SealedBlock { block, hash: B256::ZERO, size: 1 });
    let standard = shown(&block, Dialect::Standard);
    for name in OF_EXT_DATA {
        assert!(standard.get(name).is_none(), "{name}");
        assert!(shown(&block, Dialect::Reference).get(name).is_some(), "{name}");
    }
    assert_eq!(standard["withdrawals"], json!([]));
    assert_eq!(standard["requestsHash"], format!("{:#x}", B256::ZERO));
    assert_eq!((&standard["excessBlobGas"], &standard["size"]), (&json!("0x3"), &json!("0x1")));
    assert_eq!(standard["uncles"], json!([format!("{:#x}", B256::repeat_byte(7))]));
    // A block of a fork without them.
    let before = Block { header: Header::default(), ..Block::default() };
    let before = Arc::new(SealedBlock { block: before, hash: B256::ZERO, size: 1 });
    let before = shown(&before, Dialect::Standard);
    for name in ["baseFeePerGas", "blobGasUsed", "withdrawals", "withdrawalsRoot", "requestsHash"] {
        assert!(before.get(name).is_none(), "{name}");
    }
}
