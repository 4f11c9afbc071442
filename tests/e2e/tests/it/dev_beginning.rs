//! The beginning of a development network: what a client sees before its first request, and what keeps it.

use std::fs;
use std::path::Path;

use esker_e2e::tables::dev_config;
use esker_e2e::{Node, NodeBuilder, until};
use esker_settings::config::Beginning;
use esker_settings::networks::DevStart;
use serde_json::{Value, json};

use crate::support::{esker, local, now_s};

const RPC: &str = "/ext/bc/C/rpc";
/// The first account of the usual mnemonic.
const FIRST: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const YEAR_S: u64 = 365 * 24 * 3600;

fn ask(node: &Node, method: &str, params: Value) -> Value {
    node.rpc().call(RPC, method, params).unwrap()
}

fn number(value: &Value) -> u64 {
    let text = value.as_str().unwrap_or_else(|| panic!("no quantity: {value}"));
    u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
}

fn block(node: &Node, at: &str) -> Value {
    ask(node, "eth_getBlockByNumber", json!([at, false]))
}

fn time(node: &Node, at: &str) -> u64 {
    number(&block(node, at)["timestamp"])
}

/// Sends a transaction with this much gas, and waits for its receipt.
fn send(node: &Node, gas: u64) -> Value {
    let tx = json!([{"from": FIRST, "to": FIRST, "value": "0x1", "gas": format!("{gas:#x}")}]);
    let hash = ask(node, "eth_sendTransaction", tx);
    until("the transaction is mined", || {
        let receipt = ask(node, "eth_getTransactionReceipt", json!([hash]));
        (!receipt.is_null()).then_some(receipt)
    })
}

fn kept(folder: &Path) -> NodeBuilder {
    local().dev().data_dir(folder)
}

fn verified(folder: &Path) {
    let (code, text) = esker(&["db", "verify", "--dev", "--data-dir"], &[folder]);
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn it_is_now_with_the_limits_of_the_next_blocks() {
    let before = now_s();
    let node = local().dev().temporary().start().unwrap();
    let genesis = block(&node, "latest");
    let start = number(&genesis["timestamp"]);
    assert!((before..=now_s()).contains(&start), "{start}, started at {before}");
    assert_eq!(genesis["number"], "0x0");
    // As Hardhat's network `localhost` sends, which no block of 15,000,000 holds.
    assert_eq!(send(&node, 16_777_216)["status"], "0x1");
    let next = block(&node, "latest");
    for member in ["gasLimit", "baseFeePerGas"] {
        assert_eq!(genesis[member], next[member], "{member}");
    }
    assert_eq!((&next["gasLimit"], &next["number"]), (&json!("0x1c9c380"), &json!("0x1")));
    assert!((start..start + 600).contains(&number(&next["timestamp"])), "{next}");
    // One gas more than a block has is refused, and the most that it has is not.
    let tx = |gas: u64| json!([{"from": FIRST, "to": FIRST, "gas": format!("{gas:#x}")}]);
    let refused = node.rpc().call::<Value>(RPC, "eth_sendTransaction", tx(30_000_001));
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("tx gas (30000001) > current max gas (30000000)"), "{refused}");
    assert_eq!(send(&node, 30_000_000)["status"], "0x1");
}

#[test]
fn time_moves_from_block_0_on() {
    let node = local().dev().temporary().start().unwrap();
    // This is the step of hardhat-network-helpers: the latest block's time and an hour, in a block of its own.
    let target = time(&node, "latest") + 3600;
    ask(&node, "evm_setNextBlockTimestamp", json!([target]));
    ask(&node, "evm_mine", json!([]));
    assert_eq!(time(&node, "latest"), target);
    let node = local().dev().temporary().start().unwrap();
    let start = time(&node, "latest");
    ask(&node, "evm_increaseTime", json!([YEAR_S]));
    ask(&node, "evm_mine", json!([]));
    let later = time(&node, "latest");
    assert!((start + YEAR_S..start + YEAR_S + 600).contains(&later), "{later} from {start}");
    // A snapshot of the beginning has it.
    let node = local().dev().temporary().start().unwrap();
    let (genesis, snapshot) = (block(&node, "latest"), ask(&node, "evm_snapshot", json!([])));
    send(&node, 21_000);
    assert_eq!(ask(&node, "evm_revert", json!([snapshot])), true);
    assert_eq!(block(&node, "latest"), genesis);
}

#[test]
fn settings_of_gas_and_fees_are_those_of_block_0() {
    for (args, gas_limit, base_fee) in [
        (&["--gas-limit", "20000000", "--base-fee", "7"][..], 20_000_000, 7),
        (&["--real-fees"], 15_000_000, 225_000_000_000),
        (&["--real-fees", "--gas-limit", "40000000"], 40_000_000, 225_000_000_000),
    ] {
        let node = local().dev().temporary().args(args).start().unwrap();
        let genesis = block(&node, "latest");
        let found = (number(&genesis["gasLimit"]), number(&genesis["baseFeePerGas"]));
        assert_eq!(found, (gas_limit, base_fee), "{args:?}");
        send(&node, 21_000);
        assert_eq!(number(&block(&node, "latest")["gasLimit"]), gas_limit, "{args:?}");
    }
}

#[test]
fn a_folder_keeps_it() {
    let folder = tempfile::tempdir().unwrap();
    let node = kept(folder.path()).start().unwrap();
    let genesis = block(&node, "0x0");
    send(&node, 21_000);
    assert!(node.stop().unwrap().success());
    until("the clock goes on", || (now_s() > number(&genesis["timestamp"])).then_some(()));
    let node = kept(folder.path()).start().unwrap();
    assert_eq!(block(&node, "0x0"), genesis);
    send(&node, 21_000);
    assert!(node.stop().unwrap().success());
    verified(folder.path());
    for timestamp in ["1700000000", "1607144400"] {
        let Err(error) = kept(folder.path()).args(&["--timestamp", timestamp]).start() else {
            panic!("the start was not refused")
        };
        let text = "or --timestamp (it differs in genesis of C-Chain): start with the same";
        assert!(error.to_string().contains(text), "{error}");
    }
}

#[test]
fn blocks_that_are_exported_take_it_along() {
    let folder = tempfile::tempdir().unwrap();
    let [data, copy, other] = ["data", "copy", "other"].map(|name| folder.path().join(name));
    let file = folder.path().join("blocks.jsonl");
    let node = kept(&data).start().unwrap();
    send(&node, 21_000);
    let blocks = [block(&node, "0x0"), block(&node, "0x1")];
    assert!(node.stop().unwrap().success());
    let (code, text) = esker(&["export", "--dev", "--data-dir"], &[&data, &file]);
    assert_eq!(code, Some(0), "{text}");
    until("the clock goes on", || (now_s() > number(&blocks[0]["timestamp"])).then_some(()));
    let import = |args: &[&str], data: &Path| {
        esker(&[&["import", "--dev"], args, &["--data-dir"]].concat(), &[data, &file])
    };
    let (code, text) = import(&["--accounts", "3"], &other);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("a development network with other --accounts, "), "{text}");
    assert!(!other.exists(), "a refused import made a folder");
    for round in ["2 blocks imported", "0 blocks imported (2 more were there)"] {
        let (code, text) = import(&[], &copy);
        assert_eq!(code, Some(0), "{text}");
        assert!(text.contains(round), "{text}");
    }
    verified(&copy);
    let node = kept(&copy).start().unwrap();
    assert_eq!([block(&node, "0x0"), block(&node, "0x1")], blocks);
    assert!(node.stop().unwrap().success());
    // A network of its own begins at another time.
    assert!(kept(&other).start().unwrap().stop().unwrap().success());
    let (code, text) = import(&[], &other);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("has a development network that began at "), "{text}");
}

/// A folder as earlier versions made it.
fn old(folder: &Path, beginning: Beginning) {
    let made = tempfile::tempdir().unwrap();
    let mut config = dev_config(made.path(), &[]).unwrap();
    config.beginning = beginning;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let environment = esker_node::Environment::system();
        let node = esker_node::Node::start(config, environment).await.unwrap();
        node.stop().await.unwrap();
    });
    // Parts of the stopped node may still hold the lock of its folder.
    fs::copy(made.path().join("esker.mdb"), folder.join("esker.mdb")).unwrap();
}

#[test]
fn a_folder_of_an_earlier_version_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    old(folder.path(), Beginning::OfFile);
    let node = kept(folder.path()).start().unwrap();
    let genesis = block(&node, "0x0");
    assert_eq!(number(&genesis["timestamp"]), 1_607_144_400);
    assert_eq!(number(&genesis["gasLimit"]), 100_000_000);
    send(&node, 21_000);
    assert_eq!(number(&block(&node, "latest")["gasLimit"]), 15_000_000);
    assert!(node.stop().unwrap().success());
    verified(folder.path());
    follows_everywhere(folder.path(), &genesis);
}

#[test]
fn block_0_has_a_fee_window() {
    let node = local().dev().temporary().start().unwrap();
    let window = format!("0x{}", "00".repeat(80));
    // That of the next blocks begins so.
    let has_window = |node: &Node, at: &str| {
        let extra = block(node, at)["extraData"].clone();
        assert!(extra.as_str().unwrap().starts_with(&window), "{at}: {extra}");
        extra
    };
    assert_eq!(has_window(&node, "0x0"), json!(window));
    send(&node, 21_000);
    has_window(&node, "0x1");
    // Before it was a single byte, and stays so where it was.
    let folder = tempfile::tempdir().unwrap();
    let start = DevStart { time_s: now_s() - 100, has_fee_window: false };
    old(folder.path(), Beginning::At(start));
    let node = kept(folder.path()).start().unwrap();
    let genesis = block(&node, "0x0");
    assert_eq!(number(&genesis["timestamp"]), start.time_s);
    assert_eq!(genesis["extraData"], "0x00");
    send(&node, 21_000);
    has_window(&node, "0x1");
    assert!(node.stop().unwrap().success());
    verified(folder.path());
    follows_everywhere(folder.path(), &genesis);
    // One that began at the same time with a window is another network.
    let other = folder.path().join("other");
    fs::create_dir(&other).unwrap();
    old(&other, Beginning::At(DevStart::at(start.time_s)));
    let file = folder.path().join("blocks.jsonl");
    let (code, text) = esker(&["import", "--dev", "--data-dir"], &[&other, &file]);
    assert_eq!(code, Some(2), "{text}");
    let time = start.time_s;
    let differs = format!(
        "began at {time}, the blocks are of one that began at {time} with an earlier version"
    );
    assert!(text.contains(&differs), "{text}");
}

/// The blocks of a stopped folder go into another one that begins as it did, and its followers begin so.
fn follows_everywhere(folder: &Path, genesis: &Value) {
    let (file, copy) = (folder.join("blocks.jsonl"), folder.join("copy"));
    let (code, text) = esker(&["export", "--dev", "--data-dir"], &[folder, &file]);
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = esker(&["import", "--dev", "--data-dir"], &[&copy, &file]);
    assert_eq!(code, Some(0), "{text}");
    let node = kept(&copy).start().unwrap();
    assert_eq!(&block(&node, "0x0"), genesis);
    assert!(node.stop().unwrap().success());
    let source = kept(folder).arg("--api-sync-enabled").start().unwrap();
    let data = folder.join("follower");
    let follower = follower(&data, &source.url()).start().unwrap();
    until("the follower has the block", || {
        (ask(&follower, "eth_blockNumber", json!([])) == "0x1").then_some(())
    });
    assert_eq!(&block(&follower, "0x0"), genesis);
}

/// A follower of the development network.
fn follower(data: &Path, source: &str) -> NodeBuilder {
    local().network("dev").data_dir(data).args(&["--follow", source])
}

#[test]
fn a_follower_takes_it_from_a_source_that_comes_later() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [data, followed] = folders.each_ref().map(|folder| folder.path());
    let source = || kept(data).arg("--api-sync-enabled");
    let node = source().start().unwrap();
    let (genesis, port, url) = (block(&node, "0x0"), node.address().port(), node.url());
    assert!(node.stop().unwrap().success());
    let log = folders[1].path().join("output.txt");
    let starting = follower(&followed.join("data"), &url).log_file(&log).spawn().unwrap();
    until("the follower waits", || {
        let text = fs::read_to_string(&log).unwrap_or_default();
        text.contains("the source does not say when the network began").then_some(())
    });
    let node = source().http_port(port).start().unwrap();
    let following = starting.wait().unwrap();
    assert_eq!(block(&following, "0x0"), genesis);
    // Later starts don't need the source.
    assert!(node.stop().unwrap().success());
    assert!(following.stop().unwrap().success());
    let following = follower(&followed.join("data"), &url).start().unwrap();
    assert_eq!(block(&following, "0x0"), genesis);
}

#[test]
fn a_fixture_ends_now() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fixture.json");
    let utxos: Vec<_> = (0..20).map(|n| json!({"amount": n + 1, "addresses": [0]})).collect();
    let contracts = json!([{"bytecode": "0x00"}, {"bytecode": "0x00"}]);
    fs::write(&file, json!({"utxos": utxos, "contracts": contracts}).to_string()).unwrap();
    let before = now_s();
    let node = local().dev().temporary().arg("--fixture").arg(&file).start().unwrap();
    let latest = time(&node, "latest");
    assert!((before.saturating_sub(1)..=now_s()).contains(&latest), "{latest}, from {before}");
    assert!(time(&node, "0x0") < latest);
    let clock: Value = node.rpc().call("/ext/bc/X", "dev.getTime", json!({})).unwrap();
    let clock: u64 = clock["timestamp"].as_str().unwrap().parse().unwrap();
    assert!((latest..=now_s()).contains(&clock), "{clock} after {latest}");
}
