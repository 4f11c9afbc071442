//! Functions that several tests use.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use esker_client::{ChainParams, HttpClient, Wallet, XvmClient};
use esker_e2e::{Node, NodeBuilder, until};
use esker_primitives::keys::PrivateKey;
use esker_primitives::{AssetId, ShortId, TxId};
use esker_transactions::xvm::Tx;
use esker_utxo::{Utxo, UtxoId};

/// The binary under test: the node's main.rs.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_esker-e2e-node");

/// A node of the local network.
pub(crate) fn local() -> NodeBuilder {
    NodeBuilder::new(PROGRAM)
}

/// Runs a command to its end: exit code, and both outputs.
pub(crate) fn esker(args: &[&str], paths: &[&Path]) -> (Option<i32>, String) {
    let mut command = Command::new(PROGRAM);
    let output = command.args(args).args(paths).stdin(Stdio::null()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout) + &text(output.stderr))
}

/// The URL of a server that answers each request with the same body.
pub(crate) fn liar(body: &[u8]) -> String {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\n\r\n";
    let reply = [&head[..], body].concat();
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    // It ends with the process of the test.
    thread::spawn(move || {
        for mut client in listener.incoming().map_while(Result::ok) {
            let mut request = [0; 4096];
            let _head = client.read(&mut request);
            let _left = client.write_all(&reply);
        }
    });
    url
}

/// The lines of a log file of the format `json`.
pub(crate) fn json_lines(file: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Unix seconds, for wallets.
#[expect(clippy::disallowed_methods, reason = "tests see the clock that the node under test sees")]
pub(crate) fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// A wallet of one key on a chain, with what the chain has for it.
pub(crate) fn wallet(node: &Node, alias: &str, key: PrivateKey) -> Wallet {
    wallet_at(node.address(), alias, key)
}

/// As [`wallet`], of the node at an address.
pub(crate) fn wallet_at(address: SocketAddr, alias: &str, key: PrivateKey) -> Wallet {
    // Also of the networks that only a test has.
    let params = ChainParams::fetch_unchecked(&HttpClient::new(address), alias, "NAT").unwrap();
    let mut wallet = Wallet::new(params, key, Vec::new(), now_s());
    let mut chain = XvmClient::new(address, alias);
    wallet.add_utxos(chain.walk_utxos(&[wallet.address()], 1024, None).unwrap());
    wallet
}

/// Issues a transaction and waits for its acceptance.
pub(crate) fn accept(chain: &mut XvmClient, tx: &Tx) -> TxId {
    let id = chain.issue_tx(tx).unwrap();
    assert_eq!(id, tx.id());
    wait_accepted(chain, &id);
    id
}

/// Waits until a transaction is accepted; a rejected one fails the test.
pub(crate) fn wait_accepted(chain: &mut XvmClient, id: &TxId) {
    until(&format!("{id} is accepted"), || {
        let status = chain.get_tx_status(id).unwrap();
        assert_ne!(status.status, "Rejected", "{id}: {:?}", status.reason);
        status.is_accepted().then_some(())
    });
}

/// The UTXO set that the blocks say: genesis assets, then every transaction of every block.
pub(crate) fn replay(chain: &mut XvmClient, genesis: &[AssetId]) -> BTreeMap<UtxoId, Utxo> {
    let mut utxos = BTreeMap::new();
    for asset in genesis {
        let tx = chain.get_tx(asset).unwrap();
        utxos.extend(tx.produced_utxos().map(|utxo| (utxo.utxo_id, utxo)));
    }
    let mut parent = chain.get_block_by_height(0).unwrap();
    assert!(parent.txs().is_empty());
    for height in 1..=chain.get_height().unwrap() {
        let block = chain.get_block_by_height(height).unwrap();
        assert_eq!((block.parent_id(), block.height()), (parent.id(), height));
        assert!(block.time_s() >= parent.time_s());
        for tx in block.txs() {
            for id in tx.unsigned().local_utxo_ids() {
                assert!(
                    utxos.remove(&id).is_some(),
                    "block {height} spends {id:?}, which is not there"
                );
            }
            utxos.extend(tx.produced_utxos().map(|utxo| (utxo.utxo_id, utxo)));
        }
        parent = block;
    }
    utxos
}

/// Asserts that the chain's UTXOs are exactly those of its blocks.
pub(crate) fn assert_state_is_replay(chain: &mut XvmClient, genesis: &[AssetId]) {
    let replayed = replay(chain, genesis);
    let owners: BTreeSet<ShortId> =
        replayed.values().flat_map(|utxo| utxo.output.owners().addresses.iter().copied()).collect();
    let addresses: Vec<String> = owners.iter().map(ToString::to_string).collect();
    let mut listed = BTreeMap::new();
    for some in addresses.chunks(1024) {
        for utxo in chain.walk_utxos(some, 1024, None).unwrap() {
            let id = utxo.utxo_id;
            assert!(listed.insert(id, utxo).is_none() || addresses.len() > 1024, "{id:?} twice");
        }
    }
    assert_eq!(listed, replayed);
}

/// The screen of a development node, which comes after the ready file.
pub(crate) fn screen(node: &Node) -> String {
    until("the screen is complete", || {
        Some(node.output()).filter(|screen| screen.contains("\nListening on "))
    })
}
