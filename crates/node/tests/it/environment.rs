//! A whole node in an environment of the test.

use std::sync::Arc;
use std::time::{Duration, Instant};

use esker_node::{Environment, Node, RunningNode};
use esker_primitives::Randomness;
use esker_primitives::clock::ManualClock;
use esker_primitives::sync::Mutex;
use esker_settings::config::{Config, Flags, Mode};
use esker_testkit::http_client::Client;
use rand::rngs::StdRng;
use rand::{RngCore as _, SeedableRng as _};
use serde_json::json;

fn seeded(seed: u64) -> Randomness {
    let random = Mutex::new_named("random", StdRng::seed_from_u64(seed));
    Arc::new(move |bytes: &mut [u8]| random.lock().fill_bytes(bytes))
}

/// The random names of a development node: its instance, its BLS key and a filter.
async fn names(randomness: Randomness) -> [String; 3] {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let flags = [("http-port", "0"), ("evm-port", "0"), ("data-dir", path)];
    let flags: Flags = flags.map(|(name, text)| (name, text.to_owned())).into();
    let config = Config::load(Mode::Dev, flags, []).unwrap();
    let node =
        Node::start(config, Environment { randomness, ..Environment::system() }).await.unwrap();
    let mut client = Client::connect(node.http_addr()).await;
    let mut ask = async |path: &str, method: &str| {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#);
        client.send(&Client::post(path, &body)).await.json()["result"].take()
    };
    let text = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
    let instance = text(&ask("/ext/bc/C/rpc", "anvil_metadata").await["instanceId"]);
    let key = text(&ask("/ext/info", "info.getNodeID").await["nodePOP"]["publicKey"]);
    let filter = text(&ask("/ext/bc/C/rpc", "eth_newBlockFilter").await);
    drop(client);
    node.stop().await.unwrap();
    [instance, key, filter]
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_randomness_gives_the_same_names() {
    let first = names(seeded(1)).await;
    assert_eq!(names(seeded(1)).await, first);
    let other = names(seeded(2)).await;
    for (name, other) in first.iter().zip(&other) {
        assert_ne!(name, other);
    }
}

/// A development network that began at [`BEGIN_S`], over a clock that stands still in 1970.
async fn begun(folder: &std::path::Path, clock: &ManualClock) -> RunningNode {
    let (path, begin) = (folder.to_str().unwrap(), BEGIN_S.to_string());
    let flags = [("http-port", "0"), ("evm-port", "0"), ("data-dir", path), ("timestamp", &begin)];
    let flags: Flags = flags.map(|(name, text)| (name, text.to_owned())).into();
    let config = Config::load(Mode::Dev, flags, []).unwrap();
    let environment = Environment { clock: Arc::new(clock.clone()), ..Environment::system() };
    Node::start(config, environment).await.unwrap()
}

/// File of a folder's data.
const STORE: &str = "esker.mdb";

/// Unix seconds.
const BEGIN_S: u64 = 1_700_000_000;

/// Sends a transaction; returns the time of its block, Unix seconds.
async fn block_time(node: &RunningNode) -> u64 {
    const FIRST: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
    let mut client = Client::connect(node.http_addr()).await;
    let mut ask = async |method: &str, params: serde_json::Value| {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let request = Client::post("/ext/bc/C/rpc", &body.to_string());
        client.send(&request).await.json()["result"].take()
    };
    let tx = json!({"from": FIRST, "to": FIRST, "value": "0x1"});
    let hash = ask("eth_sendTransaction", json!([tx])).await;
    let deadline = Instant::now() + Duration::from_secs(30);
    let receipt = loop {
        let receipt = ask("eth_getTransactionReceipt", json!([hash])).await;
        if !receipt.is_null() {
            break receipt;
        }
        assert!(Instant::now() < deadline, "transaction {hash} is not mined");
    };
    let block = ask("eth_getBlockByHash", json!([receipt["blockHash"], false])).await;
    let time = block["timestamp"].as_str().unwrap().trim_start_matches("0x");
    u64::from_str_radix(time, 16).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn time_goes_on_from_the_timestamp_and_later_from_the_last_block() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::new(0);
    let node = begun(folder.path(), &clock).await;
    assert_eq!(block_time(&node).await, BEGIN_S);
    clock.advance(3_600_000);
    assert_eq!(block_time(&node).await, BEGIN_S + 3_600);
    node.stop().await.unwrap();

    // Parts of the stopped node may still hold the lock of its folder: the next start has a copy of the data.
    let later = tempfile::tempdir().unwrap();
    std::fs::copy(folder.path().join(STORE), later.path().join(STORE)).unwrap();
    let clock = ManualClock::new(0);
    let node = begun(later.path(), &clock).await;
    clock.advance(10_000);
    assert_eq!(block_time(&node).await, BEGIN_S + 3_610);
    node.stop().await.unwrap();
}
