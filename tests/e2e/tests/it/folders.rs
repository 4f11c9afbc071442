//! Data folders that earlier versions made, kept in `tests/folders`: this version opens each, finds nothing wrong and
//! answers as the version did that made it. `cargo xtask data-folder` adds the one of a new version.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use alloy_primitives::U256;
use esker_client::{CallError, RpcClient};
use esker_e2e::files::tests_path;
use esker_e2e::funds::{FUNDED, funded, key};
use esker_e2e::{Node, NodeBuilder, until};
use esker_evm::accounts::address_of_key;
use esker_primitives::{ShortId, address, hexfmt};
use esker_storage::meta::{self, OpenOptions, SCHEMA_VERSION};
use esker_storage::{KvStore as _, WriteSet};
use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::legacy_tx::LegacyTx;
use crate::support::{esker, local};

/// Where a new folder is kept, if it is to be.
const NEW_FOLDER: &str = "NEW_DATA_FOLDER";
const STORE: &str = "esker.mdb";
const PACKED: &str = "esker.mdb.gz";
const ANSWERS: &str = "answers.json";
/// Largest folder that is kept, in bytes.
const MAX_BYTES: u64 = 300 * 1024;

const C: &str = "/ext/bc/C/rpc";
const NAT: &str = "/ext/bc/C/nat";
const X: &str = "/ext/bc/X";
const KEYSTORE: &str = "/ext/keystore";
const PASSWORD: &str = "Str0ng-Pass-W0rd!";
/// One unit of the native asset.
const ONE: u64 = 1_000_000_000;
/// PUSH1 0x2a, PUSH1 0, PUSH1 0, LOG1, STOP: a contract without code whose making is logged under the topic 0x2a.
const LOGS: &[u8] = &[0x60, 0x2a, 0x60, 0, 0x60, 0, 0xa1, 0];
const TOPIC: &str = "0x000000000000000000000000000000000000000000000000000000000000002a";
/// Chain ID of the C-Chain of the local network.
const CHAIN_ID: u64 = 43_112;

/// A request, and a part of its result.
#[derive(Debug, Deserialize, Serialize)]
struct Answer {
    path: String,
    method: String,
    params: Value,
    /// JSON pointer of the part.
    at: String,
    value: Value,
}

fn node(folder: &Path) -> NodeBuilder {
    local().data_dir(folder)
}

fn call(rpc: &mut RpcClient, path: &str, method: &str, params: Value) -> Value {
    rpc.call(path, method, params).unwrap_or_else(|error: CallError| panic!("{method}: {error}"))
}

fn alice(mut params: Value) -> Value {
    params["username"] = json!("alice");
    params["password"] = json!(PASSWORD);
    params
}

fn on(chain: &str, owner: ShortId) -> String {
    address::format(chain, "local", &owner)
}

fn account(number: u8) -> Value {
    json!(address_of_key(&key(number).public_key()))
}

fn assert_verifies(folder: &Path) {
    let (code, text) = esker(&["db", "verify", "--network", "local", "--data-dir"], &[folder]);
    assert_eq!(code, Some(0), "{text}");
}

/// Makes a call of the user whose answer names a transaction, and waits until that is accepted; the answer.
fn accepted(rpc: &mut RpcClient, path: &str, method: &str, params: Value) -> Value {
    let reply = call(rpc, path, method, alice(params));
    let id = if reply["txID"].is_null() { &reply["assetID"] } else { &reply["txID"] };
    let status = if path == NAT { "nat.getAtomicTxStatus" } else { "xvm.getTxStatus" };
    until(&format!("{method}: {id} is accepted"), || {
        (call(rpc, path, status, json!({ "txID": id }))["status"] == "Accepted").then_some(())
    });
    reply
}

/// A transaction of the funded account, signed with EIP-155; its receipt.
fn mined(rpc: &mut RpcClient, to: &[u8], value: u64, data: &[u8]) -> Value {
    let from = address_of_key(&funded().public_key());
    let nonce = call(rpc, C, "eth_getTransactionCount", json!([from, "latest"]));
    let nonce = nonce.as_str().unwrap().parse::<U256>().unwrap();
    let tx = LegacyTx { nonce: nonce.to(), gas: 200_000, to, value: U256::from(value), data };
    let hash = call(rpc, C, "eth_sendRawTransaction", json!([tx.signed(CHAIN_ID)]));
    until(&format!("{hash} is mined"), || {
        let receipt = call(rpc, C, "eth_getTransactionReceipt", json!([hash]));
        (!receipt.is_null()).then_some(receipt)
    })
}

/// Some of everything: a user, payments, an NFT, transfers in both directions, a contract's log, what waits in shared
/// memory. The requests whose answers are kept.
fn fill(node: &Node) -> Vec<(&'static str, &'static str, Value, &'static str)> {
    let mut rpc = node.rpc();
    let (bob, carol) = (on("X", key(7).address()), on("X", key(8).address()));
    call(&mut rpc, KEYSTORE, "keystore.createUser", alice(json!({})));
    for (path, method) in [(X, "xvm.importKey"), (NAT, "nat.importKey")] {
        call(&mut rpc, path, method, alice(json!({ "privateKey": FUNDED })));
    }
    let mut x = |method, params| accepted(&mut rpc, X, method, params);
    x("xvm.send", json!({ "to": bob, "amount": 5 * ONE, "assetID": "NAT" }));
    let minters = json!([{ "minters": [on("X", funded().address())], "threshold": 1 }]);
    let create = json!({ "name": "Pictures", "symbol": "PIC", "minterSets": minters });
    let nft = x("xvm.createNFTAsset", create)["assetID"].take();
    let payload = hexfmt::encode_checked(b"hello");
    x("xvm.mintNFT", json!({ "assetID": nft, "payload": payload, "to": bob }));
    let export = json!({ "to": on("C", funded().address()), "amount": 3 * ONE, "assetID": "NAT" });
    let exported = x("xvm.export", export)["txID"].take();
    let import = json!({ "sourceChain": "X", "to": account(9) });
    let imported = accepted(&mut rpc, NAT, "nat.import", import)["txID"].take();
    let back = json!({ "to": carol, "amount": ONE, "assetID": "NAT" });
    let waits = accepted(&mut rpc, NAT, "nat.export", back)["txID"].take();
    let log = mined(&mut rpc, &[], 0, LOGS);
    assert_eq!(
        (&log["status"], log["logs"][0]["topics"][0].as_str()),
        (&json!("0x1"), Some(TOPIC))
    );
    let to = address_of_key(&key(7).public_key());
    let paid = mined(&mut rpc, to.as_slice(), 12_345, b"");
    let all_logs = json!([{ "fromBlock": "0x0", "topics": [TOPIC] }]);
    vec![
        (X, "xvm.getHeight", json!({}), "/height"),
        (X, "xvm.getBlockByHeight", json!({ "height": 1, "encoding": "hex" }), "/block"),
        (X, "xvm.getTxStatus", json!({ "txID": exported }), "/status"),
        (X, "xvm.getTx", json!({ "txID": nft, "encoding": "hex" }), "/tx"),
        (X, "xvm.getBalance", json!({ "address": bob, "assetID": "NAT" }), "/balance"),
        (X, "xvm.getAllBalances", json!({ "address": bob }), "/balances"),
        (X, "xvm.getUTXOs", json!({ "addresses": [bob] }), "/utxos"),
        (X, "xvm.getUTXOs", json!({ "addresses": [carol], "sourceChain": "C" }), "/utxos"),
        (X, "xvm.listAddresses", alice(json!({})), "/addresses"),
        (KEYSTORE, "keystore.listUsers", json!({}), "/users"),
        (NAT, "nat.getAtomicTxStatus", json!({ "txID": imported }), "/status"),
        (NAT, "nat.getAtomicTx", json!({ "txID": waits, "encoding": "hex" }), "/tx"),
        (C, "eth_blockNumber", json!([]), ""),
        (C, "eth_getBlockByNumber", json!([paid["blockNumber"], false]), "/hash"),
        (C, "eth_getBlockByNumber", json!([paid["blockNumber"], false]), "/stateRoot"),
        (C, "eth_getBalance", json!([account(7), "latest"]), ""),
        (C, "eth_getBalance", json!([account(9), "latest"]), ""),
        (C, "eth_getLogs", all_logs, ""),
        (C, "eth_getTransactionReceipt", json!([paid["transactionHash"]]), "/gasUsed"),
    ]
}

fn ask(rpc: &mut RpcClient, path: &str, method: &str, params: &Value, at: &str) -> Value {
    let result = call(rpc, path, method, params.clone());
    let part = result.pointer(at).unwrap_or_else(|| panic!("{method}: no {at} in {result}"));
    part.clone()
}

/// Makes a folder with this version: its store, compacted and packed, and what the node answers.
fn make(folder: &Path) {
    let dir = tempfile::tempdir().unwrap();
    let (data, copy) = (dir.path().join("data"), dir.path().join("copy"));
    let maker = node(&data).start().unwrap();
    let mut rpc = maker.rpc();
    let answers: Vec<Answer> = fill(&maker)
        .into_iter()
        .map(|(path, method, params, at)| {
            let value = ask(&mut rpc, path, method, &params, at);
            let (path, method, at) = (path.to_owned(), method.to_owned(), at.to_owned());
            Answer { path, method, params, at, value }
        })
        .collect();
    assert!(maker.stop().unwrap().success());
    let (code, text) = esker(&["backup", "--network", "local", "--data-dir"], &[&data, &copy]);
    assert_eq!(code, Some(0), "{text}");
    fs::create_dir_all(folder).unwrap();
    let packed = BufWriter::new(File::create(folder.join(PACKED)).unwrap());
    let mut packed = GzEncoder::new(packed, Compression::best());
    std::io::copy(&mut File::open(copy.join(STORE)).unwrap(), &mut packed).unwrap();
    packed.finish().unwrap().flush().unwrap();
    let text = serde_json::to_string_pretty(&answers).unwrap();
    fs::write(folder.join(ANSWERS), text + "\n").unwrap();
}

fn unpack(folder: &Path, data: &Path) {
    fs::create_dir(data).unwrap();
    let mut packed = GzDecoder::new(BufReader::new(File::open(folder.join(PACKED)).unwrap()));
    std::io::copy(&mut packed, &mut File::create(data.join(STORE)).unwrap()).unwrap();
}

/// The folder verifies, answers as it did, and goes on.
fn check(folder: &Path) {
    let name = folder.display();
    let size = fs::metadata(folder.join(PACKED)).unwrap().len();
    assert!(size <= MAX_BYTES, "{name}: {size} bytes");
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    unpack(folder, &data);
    assert_verifies(&data);
    let opened = node(&data).start().unwrap();
    let mut rpc = opened.rpc();
    let answers: Vec<Answer> =
        serde_json::from_slice(&fs::read(folder.join(ANSWERS)).unwrap()).unwrap();
    assert!(answers.len() >= 15, "{name}: {} answers", answers.len());
    for Answer { path, method, params, at, value } in answers {
        assert_eq!(ask(&mut rpc, &path, &method, &params, &at), value, "{name}: {method} {at}");
    }
    let bob = json!({ "to": on("X", key(7).address()), "amount": 1, "assetID": "NAT" });
    accepted(&mut rpc, X, "xvm.send", bob);
    assert_eq!(mined(&mut rpc, &[], 0, LOGS)["status"], "0x1");
    assert!(opened.stop().unwrap().success());
    assert_verifies(&data);
}

fn kept() -> Vec<PathBuf> {
    let entries = fs::read_dir(tests_path("folders")).unwrap();
    let mut folders: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    folders.retain(|path| path.is_dir());
    folders.sort();
    folders
}

/// Whether LMDB can open the files of these folders here.
fn is_readable() -> bool {
    let same = cfg!(all(target_endian = "little", target_pointer_width = "64"));
    if !same {
        eprintln!("skipped: the folders are those of a 64-bit little-endian machine");
    }
    same
}

#[test]
fn folders_of_earlier_versions_open_and_answer_as_before() {
    if !is_readable() {
        return;
    }
    let folders = kept();
    assert!(!folders.is_empty());
    folders.iter().for_each(|folder| check(folder));
}

/// With the variable the folder stays: `cargo xtask data-folder`.
#[test]
fn a_folder_of_this_version_can_be_kept() {
    let dir = tempfile::tempdir().unwrap();
    let folder = match std::env::var_os(NEW_FOLDER) {
        Some(folder) => PathBuf::from(folder),
        None => dir.path().join("folder"),
    };
    assert!(!folder.exists(), "{} exists", folder.display());
    make(&folder);
    check(&folder);
}

#[test]
fn a_folder_of_a_later_schema_is_refused_and_left_alone() {
    if !is_readable() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    unpack(&kept()[0], &data);
    {
        let store = meta::open_dir(&data, &OpenOptions::TEST).unwrap();
        let (key, value) = store.snapshot().unwrap().seek(&[]).unwrap().unwrap();
        let mut facts = vec![(key, value)];
        while !facts.last().unwrap().0.ends_with(b"schema") {
            let mut next = facts.last().unwrap().0.clone();
            next.push(0);
            facts.push(store.snapshot().unwrap().seek(&next).unwrap().unwrap());
        }
        let (key, value) = facts.pop().unwrap();
        assert_eq!(value, 1u32.to_be_bytes(), "the layout of 0.1.0");
        let mut set = WriteSet::new();
        set.put(&key, &(SCHEMA_VERSION + 1).to_be_bytes());
        store.write(&set).unwrap();
    }
    let before = fs::read(data.join(STORE)).unwrap();
    let refusal = format!(
        "data folder {} was written by a later release (schema {}, this one knows {SCHEMA_VERSION}): \
         use that release or a newer one, or choose another folder",
        data.display(),
        SCHEMA_VERSION + 1
    );
    let copy = dir.path().join("copy");
    for command in [&["node"][..], &["db", "verify"], &["backup", copy.to_str().unwrap()]] {
        let args = [command, &["--network", "local", "--http-port", "0", "--data-dir"]].concat();
        let (code, text) = esker(&args, &[&data]);
        assert_eq!(code, Some(2), "{command:?}: {text}");
        assert!(text.contains(&refusal), "{command:?}: {text}");
    }
    assert!(!copy.exists());
    assert!(fs::read(data.join(STORE)).unwrap() == before, "nothing was written");
}
