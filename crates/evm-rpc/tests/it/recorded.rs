//! A whole chain recorded on the reference, and its answers about it.

use std::sync::Arc;

use alloy_primitives::hex;
use esker_chain::{BuildContext, ChainVm};
use esker_evm::types::Block;
use serde_json::Value;

use crate::atomic::Recorded;
use crate::golden;
use crate::world::{Setup, World};

fn blocks() -> Vec<Vec<u8>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/chain/local-1.jsonl");
    let lines = std::fs::read_to_string(path).unwrap();
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let of_chain = lines.filter(|block| block["chain"] == "C");
    of_chain.map(|block| hex::decode(block["bytes"].as_str().unwrap()).unwrap()).collect()
}

/// Takes a block of someone else.
async fn accept(world: &World, bytes: &[u8]) {
    let store = world.evm.context().store.clone();
    let mut executed = {
        let reader = store.snapshot().unwrap();
        let at = BuildContext { now_ms: u64::MAX, ..BuildContext::default() };
        world.evm.verify(reader.as_ref(), bytes, &at).unwrap()
    };
    let mut sealed = std::mem::take(&mut executed.writes);
    world.evm.seal(&executed, 0, &mut sealed);
    store.writer.commit(sealed).await.unwrap();
    world.evm.accepted(&Arc::new(executed), 0);
}

#[tokio::test]
async fn the_answers_about_the_recorded_chain_match() {
    let blocks = blocks();
    let parsed: Vec<_> = blocks.iter().map(|bytes| Block::parse(bytes).unwrap()).collect();
    let extension = Recorded::new(parsed.iter().map(|block| &block.ext_data));
    let world = World::with_extension(Setup::ARCHIVE, Arc::new(extension));
    for bytes in &blocks {
        accept(&world, bytes).await;
    }
    let (mut compared, mut members) = (0, 0);
    for exchange in golden::exchanges("vectors/chain/local-1.io") {
        if exchange.body.contains("eth_getLogs") {
            continue;
        }
        let answer = world.ask(&exchange.body).await;
        let expected = exchange.expected.unwrap();
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(read(&answer), read(&expected), "{}", exchange.body);
        let order = golden::names(&answer);
        assert_eq!(order, golden::names(&expected), "{}", exchange.body);
        members += order.len();
        compared += 1;
    }
    assert_eq!(compared, 263);
    assert!(members > 12_000, "{members}");
}
