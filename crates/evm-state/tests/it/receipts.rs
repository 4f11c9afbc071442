//! Receipts: their row in the store.

use alloy_primitives::{Address, B256, Log, LogData};
use esker_evm_state::types::{Receipt, StoredReceipts};
use esker_storage::ValueCodec;
use proptest::prelude::*;

fn log() -> impl Strategy<Value = Log> {
    let topics = proptest::collection::vec(any::<[u8; 32]>().prop_map(B256::new), 0..5);
    let data = proptest::collection::vec(any::<u8>(), 0..80);
    (any::<[u8; 20]>(), topics, data).prop_map(|(address, topics, data)| Log {
        address: Address::new(address),
        data: LogData::new_unchecked(topics, data.into()),
    })
}

fn receipts() -> impl Strategy<Value = Vec<Receipt>> {
    let receipt = (
        0u8..3,
        any::<bool>(),
        0u64..1 << 40,
        any::<[u8; 20]>(),
        proptest::option::of(any::<[u8; 20]>()),
        proptest::collection::vec(log(), 0..4),
        proptest::option::of(any::<[u8; 32]>()),
    );
    proptest::collection::vec(receipt, 0..6).prop_map(|all| {
        let mut sum = 0;
        all.into_iter()
            .map(|(tx_type, success, gas_used, from, made, logs, root)| {
                sum += gas_used;
                Receipt {
                    tx_type,
                    success,
                    cumulative_gas_used: sum,
                    gas_used,
                    from: Address::new(from),
                    contract_address: made.map(Address::new),
                    logs,
                    state_root: root.map(B256::new),
                }
            })
            .collect()
    })
}

/// A row of a receipt without a state root.
#[derive(alloy_rlp::RlpEncodable)]
struct RowWithStatus {
    tx_type: u8,
    success: bool,
    cumulative_gas_used: u64,
    from: Address,
    contract_address: Vec<Address>,
    logs: Vec<Log>,
}

#[test]
fn a_row_without_state_roots_has_six_items() {
    let receipt = Receipt {
        tx_type: 2,
        success: true,
        cumulative_gas_used: 21_000,
        gas_used: 21_000,
        from: Address::repeat_byte(1),
        contract_address: None,
        logs: Vec::new(),
        state_root: None,
    };
    let mut row = Vec::new();
    StoredReceipts(vec![receipt.clone()]).encode_value(&mut row);
    let Receipt { tx_type, success, cumulative_gas_used, from, .. } = receipt;
    let (contract_address, logs) = (Vec::new(), Vec::new());
    let old = RowWithStatus { tx_type, success, cumulative_gas_used, from, contract_address, logs };
    assert_eq!(row, alloy_rlp::encode(vec![old]));
    // Before Byzantium the consensus form has the root in place of the status.
    let root = B256::repeat_byte(9);
    let early = Receipt { tx_type: 0, state_root: Some(root), ..receipt };
    let mut bytes = Vec::new();
    early.encode_consensus(&mut bytes);
    assert!(bytes.windows(33).any(|part| part == alloy_rlp::encode(root)));
}

proptest! {
    #[test]
    fn a_row_gives_back_what_was_stored(receipts in receipts()) {
        let stored = StoredReceipts(receipts);
        let mut row = Vec::new();
        stored.encode_value(&mut row);
        prop_assert_eq!(StoredReceipts::decode_value(&row), Some(stored));
    }

    #[test]
    fn any_bytes_are_a_row_or_none(
        receipts in receipts(),
        cut in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        noise in proptest::collection::vec(any::<u8>(), 0..100),
    ) {
        let mut row = Vec::new();
        StoredReceipts(receipts).encode_value(&mut row);
        let at = cut.index(row.len());
        let _cut = StoredReceipts::decode_value(&row[..at]);
        row[at] = byte;
        let _changed = StoredReceipts::decode_value(&row);
        let _noise = StoredReceipts::decode_value(&noise);
    }
}
