//! A whole chain recorded on the reference, and its answers about it.

use std::sync::Arc;

use alloy_primitives::hex;
use esker_chain::{BuildContext, ChainVm};
use esker_evm::extension::{ExtDataView, NoExtension};
use esker_evm_rpc::{Apis, ReadApi, evm};
use esker_evm_state::types::Block;
use esker_rpc::positional::{Limits, Server};
use esker_storage::PendingWrites;
use esker_testkit::recorded_atomic::RecordedOwners;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::golden;
use crate::world::{Chain, Setup, World, answer};

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
    let executed = {
        let reader = store.snapshot().unwrap();
        let at = BuildContext { now_ms: u64::MAX, ..BuildContext::default() };
        world.evm.verify(reader.as_ref(), bytes, &at).unwrap()
    };
    let executed = Arc::new(executed);
    let extension = {
        let reader = store.snapshot().unwrap();
        let mut commit = PendingWrites::new(reader.as_ref());
        world.evm.extend_commit(std::slice::from_ref(&executed), 0, &mut commit);
        Arc::new(commit.into_writes())
    };
    let sets = vec![Arc::clone(&executed.writes), extension];
    store.writer.commit_all_when_writable(sets).await.unwrap();
    world.evm.on_accepted(&executed, 0);
}

#[tokio::test]
async fn the_answers_about_the_recorded_chain_match() {
    let blocks = blocks();
    let parsed: Vec<_> = blocks.iter().map(|bytes| Block::parse(bytes).unwrap()).collect();
    let extension = RecordedOwners::new(parsed.iter().map(|block| &block.ext_data));
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

/// Shows the length of ext data.
#[derive(Debug)]
struct Lengths;

impl ExtDataView for Lengths {
    fn transactions(&self, ext_data: &[u8]) -> Option<Box<RawValue>> {
        let shown = format!(r#"[{{"z":{},"a":0}}]"#, ext_data.len());
        RawValue::from_string(shown).ok()
    }
}

#[tokio::test]
async fn blocks_show_what_ext_data_holds_where_that_is_wanted() {
    let Chain { evm, reads, .. } = Chain::open(Setup::ARCHIVE, Arc::new(NoExtension));
    let showing = Arc::new(ReadApi {
        loaded: esker_evm_rpc::LoadedBlocks::default(),
        chain: evm.clone(),
        pool: evm,
        ext_data: Some(Arc::new(Lengths)),
        config: reads.config.clone(),
    });
    let server = |reads: &Arc<ReadApi>| {
        Server::new(evm::reading_methods(reads, &Apis::default()), Limits::default())
    };
    let (plain, showing) = (server(&reads), server(&showing));
    let block =
        r#"{"jsonrpc":"2.0","id":1,"method":"evm_getBlockByNumber","params":["0x0",false]}"#;
    let shown = answer(&showing, block).await;
    let member = r#""atomicTransactions":[{"z":0,"a":0}],"#;
    assert!(shown.contains(member), "{shown}");
    assert_eq!(shown.replace(member, ""), answer(&plain, block).await);
    let header = r#"{"jsonrpc":"2.0","id":1,"method":"evm_getHeaderByNumber","params":["0x0"]}"#;
    assert_eq!(answer(&showing, header).await, answer(&plain, header).await);
}
