//! A whole node on a host of the test's own.

use std::sync::Arc;

use esker_node::config::{Flags, Mode};
use esker_node::{Config, Environment, Node};
use esker_primitives::Randomness;
use esker_primitives::sync::Mutex;
use rand::rngs::StdRng;
use rand::{RngCore as _, SeedableRng as _};

use crate::client::Client;

fn seeded(seed: u64) -> Randomness {
    let random = Mutex::new_named("random", StdRng::seed_from_u64(seed));
    Arc::new(move |bytes: &mut [u8]| random.lock().fill_bytes(bytes))
}

/// What a development node names by chance: its instance, its BLS key and a filter.
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
