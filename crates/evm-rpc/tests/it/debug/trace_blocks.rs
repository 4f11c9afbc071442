//! Traces of blocks that are given whole, and of blocks that were refused.

use std::fs;
use std::path::Path;

use alloy_primitives::{Address, Bytes, TxKind, hex};
use serde_json::{Value, json};

use super::world::World;

#[tokio::test]
async fn a_block_that_is_given_is_traced_as_the_accepted_one() {
    let world = World::new(Path::new("/nowhere"));
    // PUSH 1, PUSH 0, MSTORE, PUSH 32, PUSH 0, REVERT.
    world.send(0, TxKind::Create, 0, hex!("60015f5260205ffd").to_vec().into());
    world.send(1, TxKind::Call(Address::repeat_byte(2)), 1, Bytes::new());
    world.block().await;
    let raw = world.call("debug_getRawBlock", json!(["0x1"])).await;
    let block = world.call("eth_getBlockByNumber", json!(["0x1", false])).await;
    for config in [Value::Null, json!({"tracer": "callTracer"}), json!({"enableMemory": true})] {
        let expected = world.call("debug_traceBlockByHash", json!([block["hash"], config])).await;
        assert_eq!(expected.as_array().unwrap().len(), 2);
        assert_eq!(world.call("debug_traceBlock", json!([raw, config])).await, expected);
        assert_eq!(
            world.call("debug_traceBlockByNumber", json!(["latest", config])).await,
            expected
        );
        for (at, member) in expected.as_array().unwrap().iter().enumerate() {
            let hash = &block["transactions"][at];
            assert_eq!(&member["txHash"], hash);
            let alone = world.call("debug_traceTransaction", json!([hash, config])).await;
            assert_eq!(member["result"], alone);
        }
    }
}

/// A block whose header says another gas than its transactions use.
#[tokio::test]
async fn a_refused_block_is_traced() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::new(folder.path());
    world.send(0, TxKind::Call(Address::repeat_byte(2)), 1, Bytes::new());
    world.block().await;
    let raw = world.call("debug_getRawBlock", json!(["0x1"])).await;
    let mut raw: Vec<u8> = raw.as_str().unwrap().parse::<Bytes>().unwrap().into();
    let at = raw.windows(2).position(|w| w == [0x52, 0x08]).unwrap();
    raw[at + 1] = 0x09;
    fs::write(folder.path().join("altered"), raw).unwrap();

    let other = World::new(folder.path()).later();
    let (_, text) = other.error("admin_importChain", json!(["altered"])).await;
    assert!(text.starts_with("batch 0: failed to insert: "), "{text}");
    let bad = other.call("debug_getBadBlocks", json!([])).await;
    let hash = &bad[0]["hash"];
    let config = json!({"tracer": "callTracer"});
    let expected = world.call("debug_traceBlockByNumber", json!(["0x1", config])).await;
    let params = json!([hash, config]);
    assert_eq!(other.call("debug_traceBadBlock", params).await, expected);
    let written = other.call("debug_standardTraceBadBlockToFile", json!([hash])).await;
    let written: Vec<String> = serde_json::from_value(written).unwrap();
    assert_eq!(written.len(), 1);
    let lines = fs::read_to_string(&written[0]).unwrap();
    assert_eq!(lines, "{\"output\":\"\",\"gasUsed\":\"0x0\"}\n");
}
