//! States that are no longer kept, and names that never were.

use alloy_primitives::{Bytes, TxKind, U256, keccak256};
use serde_json::json;

use super::world::World;
use crate::world::Setup;

#[tokio::test]
async fn missing_states_are_errors_of_the_reference() {
    let world = World::pruning();
    let contract = world.deploy_setter(0);
    world.block().await;
    for nonce in 1..8 {
        world.set_slots(nonce, contract, &[(U256::from(nonce), U256::from(nonce))]);
        world.block().await;
    }
    // The states of blocks 5 to 8 are kept.
    let root = world.call("eth_getBlockByNumber", json!(["0x4", false])).await;
    let root = root["stateRoot"].as_str().unwrap();
    let gone = format!(
        "missing trie node {} (path ) state {root} is not available, not found",
        root.trim_start_matches("0x")
    );
    let range = json!(["0x4", "0x", 5, true, true, true]);
    let text = |text: &str| (-32000, text.to_owned());
    assert_eq!(world.error("debug_dumpBlock", json!(["0x4"])).await, text(&gone));
    assert_eq!(world.error("debug_accountRange", range).await, text(&gone));
    for params in [json!([5]), json!([4, 6])] {
        let error = world.error("debug_getModifiedAccountsByNumber", params).await;
        assert_eq!(error, text(&gone));
    }
    let range = |block: &str| json!([block, 0, contract, "0x", 9]);
    assert_eq!(
        world.error("debug_storageRangeAt", range("0x5")).await,
        text("required historical state unavailable (reexec=0)")
    );
    // The states that are kept are complete.
    let slots = world.call("debug_storageRangeAt", range("0x6")).await;
    assert_eq!(slots["storage"].as_object().unwrap().len(), 4, "{slots}");
    let dump = world.call("debug_dumpBlock", json!(["0x5"])).await;
    let name = contract.to_checksum(None);
    assert_eq!(dump["accounts"][name]["storage"].as_object().unwrap().len(), 4);
    let modified = world.call("debug_getModifiedAccountsByNumber", json!([6])).await;
    assert_eq!(modified.as_array().unwrap().len(), 3, "{modified}");

    for (from, to, first) in
        [("0x0", "latest", 5), ("0x6", "0x8", 6), ("latest", "0x0", 8), ("0x5", "0x1", 5)]
    {
        assert_eq!(world.call("debug_getAccessibleState", json!([from, to])).await, first);
    }
    for (from, to) in [("0x0", "0x5"), ("0x4", "0x0"), ("earliest", "0x3")] {
        let error = world.error("debug_getAccessibleState", json!([from, to])).await;
        assert_eq!(error, text("no state found"), "{from} {to}");
    }
}

#[tokio::test]
async fn without_preimages_accounts_have_no_names() {
    let world = World::with(Setup::ARCHIVE, std::path::Path::new("/nowhere"), true);
    let contract = world.deploy_setter(0);
    world.block().await;
    world.set_slots(1, contract, &[(U256::from(1), U256::from(7))]);
    world.send(2, TxKind::Call(contract), 0, Bytes::new());
    world.block().await;

    let dump = world.call("debug_dumpBlock", json!(["latest"])).await;
    assert_eq!(dump["accounts"], json!({}));
    let range = json!(["latest", "0x", 0, true, false, true]);
    let all = world.call("debug_accountRange", range).await;
    let key = keccak256(contract);
    let found = &all["accounts"][format!("pre({key})")];
    assert_eq!(found["key"], key.to_string());
    assert!(found.get("address").is_none() && found.get("storage").is_none(), "{found}");
    let storage = world.call("debug_storageRangeAt", json!(["0x2", 1, contract, "0x", 9])).await;
    let slot = keccak256(alloy_primitives::B256::with_last_byte(1));
    let value = alloy_primitives::B256::with_last_byte(7);
    assert_eq!(storage["storage"][slot.to_string()], json!({"key": null, "value": value}));
    let (_, text) = world.error("debug_getModifiedAccountsByNumber", json!([2])).await;
    assert!(text.starts_with("no preimage found for hash "), "{text}");
    assert_eq!(world.error("debug_preimage", json!([key])).await.1, "unknown preimage");
}
