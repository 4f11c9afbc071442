//! `esker dev --fork-url`: a development network whose C-Chain begins on a block of another one.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fork_files::alter_each_kind;
use crate::harness::{Esker, run};

const FROM: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const OTHER: &str = "0x00000000000000000000000000000000000000aa";
/// An account of the source that no run reads, the eleventh for development there.
const UNREAD: &str = "0xbcd4042de499d14e55001ccbb24a551f3b954096";
/// Init code of a contract that counts its calls in slot 0.
const COUNTER: &str = "0x600b80600b6000396000f360005460010180600055005b";
const NAT: &str = "/ext/bc/C/nat";
const X: &str = "/ext/bc/X";
const PATIENCE: Duration = Duration::from_secs(60);

fn dev(args: &[&str]) -> Esker {
    Esker::start(&[&["dev", "--evm-port", "0"], args].concat())
}

/// A network with a transfer and a contract on its C-Chain that was called once, that contract, and the URL of the chain.
/// Its height is 3.
fn source() -> (Esker, Value, String) {
    let node = dev(&["--accounts", "11"]);
    let send = |tx: Value| node.receipt(&node.evm("eth_sendTransaction", json!([tx])));
    send(json!({"from": FROM, "to": OTHER, "value": "0x5"}));
    let deployed = send(json!({"from": FROM, "data": COUNTER, "gas": "0x50000"}));
    let url = format!("http://{}/ext/bc/C/rpc", node.ready["http"].as_str().unwrap());
    let counter = deployed["contractAddress"].clone();
    send(json!({"from": FROM, "to": counter, "gas": "0x30000"}));
    (node, counter, url)
}

fn count(node: &Esker, counter: &Value) -> Value {
    let tx = json!({"from": FROM, "to": counter, "gas": "0x30000"});
    let receipt = node.receipt(&node.evm("eth_sendTransaction", json!([tx])));
    assert_eq!(receipt["status"], "0x1", "{receipt}");
    node.evm("eth_getStorageAt", json!([counter, "0x0", "latest"]))
}

fn height(node: &Esker) -> u64 {
    let height = node.evm("eth_blockNumber", json!([]));
    u64::from_str_radix(&height.as_str().unwrap()[2..], 16).unwrap()
}

fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "{what}: not within {PATIENCE:?}");
    }
}

#[test]
fn the_status_has_the_source() {
    let (_source, _, url) = source();
    let fork = dev(&["--fork-url", &url]);
    let shown = &fork.ready["fork"];
    assert_eq!((&shown["url"], &shown["blockNumber"]), (&json!(url), &json!(3)));
    assert_eq!((&shown["chainId"], &shown["isProven"]), (&json!(43_112), &json!(true)));
    let ended = run(&["status", "--url", fork.ready["url"].as_str().unwrap()]);
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains(&format!("\nsource     {url}\n")), "{}", ended.stdout);
    assert!(ended.stdout.contains(" of chain 43112, values are proved\n"), "{}", ended.stdout);
    let (_, status) = fork.http("GET", "/ext/status", "");
    let status: Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["fork"]["blockHash"], shown["blockHash"]);
    // Web pages and tools find the chain under its usual names.
    for path in ["/ext/bc/C/rpc", "/ext/bc/evm/rpc"] {
        assert_eq!(fork.call(path, "eth_chainId", json!([])), "0xa868");
    }
}

fn with_user(mut params: Value) -> Value {
    params["username"] = "mover".into();
    params["password"] = "Str0ng-Pass-W0rd!".into();
    params
}

/// Waits until a chain has accepted an atomic transaction.
fn accepted(node: &Esker, (path, method): (&str, &str), issued: &Value) {
    until("the atomic transaction is accepted", || {
        let status = node.call(path, method, json!({"txID": issued["txID"]}));
        (status["status"] == "Accepted").then_some(())
    });
}

/// In wei.
fn balance(node: &Esker, of: &str) -> u128 {
    let wei = node.evm("eth_getBalance", json!([of, "latest"]));
    u128::from_str_radix(&wei.as_str().unwrap()[2..], 16).unwrap()
}

/// Moves an amount from X to an account of the C-Chain that has had so much until then, and a part of it back.
fn move_there_and_back(node: &Esker, to: &str, before: u128) {
    let account = &node.ready["accounts"][0];
    node.call("/ext/keystore", "keystore.createUser", with_user(json!({})));
    let key = with_user(json!({"privateKey": account["xPrivateKey"]}));
    node.call(X, "xvm.importKey", key.clone());
    node.call(NAT, "nat.importKey", key);
    let on_x = account["xAddress"].as_str().unwrap();
    let on_c = on_x.replacen("X-", "C-", 1);
    let export = json!({"to": on_c, "amount": 5_000_000_000_u64, "assetID": "AVAX"});
    let exported = node.call(X, "xvm.export", with_user(export));
    accepted(node, (X, "xvm.getTxStatus"), &exported);
    let import = with_user(json!({"sourceChain": "X", "to": to}));
    let imported = node.call(NAT, "nat.import", import);
    accepted(node, (NAT, "nat.getAtomicTxStatus"), &imported);
    let gained = balance(node, to) - before;
    assert!((4_900_000_000_000_000_000..5_000_000_000_000_000_000).contains(&gained), "{gained}");
    let back = json!({"to": on_x, "amount": 1_000_000_000_u64, "assetID": "AVAX"});
    let exported = node.call(NAT, "nat.export", with_user(back));
    accepted(node, (NAT, "nat.getAtomicTxStatus"), &exported);
    let import = with_user(json!({"sourceChain": "C", "to": on_x}));
    let imported = node.call(X, "xvm.import", import);
    accepted(node, (X, "xvm.getTxStatus"), &imported);
}

#[test]
fn assets_move_between_x_and_the_forked_chain() {
    let (source, counter, url) = source();
    let data = tempfile::tempdir().unwrap();
    let flags = ["--fork-url", &url, "--data-dir", data.path().to_str().unwrap()];
    let fork = dev(&flags);
    // Nobody has read the account that the import pays to.
    move_there_and_back(&fork, UNREAD, balance(&source, UNREAD));
    count(&fork, &counter);
    let (at, balance) = (height(&fork), fork.evm("eth_getBalance", json!([FROM, "latest"])));
    let x_height = fork.height();
    fork.stop("KILL");
    source.stop("TERM");
    let fork = dev(&flags[2..]);
    assert_eq!((height(&fork), fork.height()), (at, x_height));
    assert_eq!(fork.evm("eth_getBalance", json!([FROM, "latest"])), balance);
    count(&fork, &counter);
}

#[test]
fn a_killed_fork_goes_on_with_what_it_has_answered() {
    let (_source, counter, url) = source();
    let data = tempfile::tempdir().unwrap();
    let flags = ["--fork-url", &url, "--data-dir", data.path().to_str().unwrap()];
    let mut counted = json!(null);
    let mut at = 3;
    for round in 0..3 {
        let fork = dev(&flags);
        assert_eq!(height(&fork), at, "round {round}");
        if !counted.is_null() {
            let found = fork.evm("eth_getStorageAt", json!([counter, "0x0", "latest"]));
            assert_eq!(found, counted, "round {round}");
        }
        for _ in 0..5 {
            counted = count(&fork, &counter);
        }
        at = height(&fork);
        fork.stop("KILL");
    }
    assert!(counted.as_str().unwrap().ends_with("10"), "{counted}");
}

/// The file of a run on a fork whose source has ended, and its contract.
fn packed(folder: &Path) -> (String, Value) {
    let (source, counter, url) = source();
    let (data, pack) = (folder.join("data"), folder.join("run.pack"));
    let (data, pack) = (data.to_str().unwrap(), pack.to_str().unwrap());
    let fork = dev(&["--fork-url", &url, "--data-dir", data]);
    count(&fork, &counter);
    let ended = run(&["fork", "pack", pack, "--data-dir", data]);
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("claimed by the source, not proven: 0 "), "{}", ended.stdout);
    fork.stop("TERM");
    source.stop("TERM");
    (pack.to_owned(), counter)
}

#[test]
fn a_pack_runs_alone_and_an_altered_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (pack, counter) = packed(folder.path());
    let ended = run(&["fork", "verify", &pack]);
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("chain 43112: "), "{}", ended.stdout);
    let fork = dev(&["--fork-from", &pack]);
    assert_eq!(fork.evm("eth_chainId", json!([])), "0xa868");
    assert!(count(&fork, &counter).as_str().unwrap().ends_with("02"));
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "eth_getBalance", "params": [UNREAD, "latest"]});
    let address = fork.ready["evm"].as_str().unwrap();
    let (_, reply) = fork.http_at(address, "POST", "/", &body.to_string());
    assert!(reply.contains("run.pack") && reply.contains("esker fork pack"), "{reply}");
    fork.stop("TERM");
    alter_each_kind(Path::new(&pack), |kind| {
        let ended = run(&["dev", "--http-port", "0", "--evm-port", "0", "--fork-from", &pack]);
        assert_eq!(ended.code(), Some(1), "kind {kind}: {}", ended.stderr);
        assert!(ended.stderr.contains(&pack), "{}", ended.stderr);
    });
}

#[test]
fn commands_that_need_the_whole_state_are_refused() {
    let (_source, _, url) = source();
    let data = tempfile::tempdir().unwrap();
    let folder = data.path().to_str().unwrap();
    dev(&["--fork-url", &url, "--data-dir", folder]).stop("TERM");
    let file = data.path().join("blocks");
    for command in [&["db", "verify"][..], &["export", file.to_str().unwrap()]] {
        let ended = run(&[command, &["--network", "dev", "--data-dir", folder]].concat());
        assert_ne!(ended.code(), Some(0), "{command:?}: {}", ended.stdout);
        assert!(ended.stderr.contains("on top of block 3"), "{command:?}: {}", ended.stderr);
    }
    let ended = run(&["dev", "--fork-url", &url, "--follow", "http://127.0.0.1:9"]);
    assert_eq!(ended.code(), Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("follow: not with fork-url"), "{}", ended.stderr);
    let ended = run(&["node", "--network", "dev", "--fork-url", &url]);
    assert_eq!(ended.code(), Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("only for esker dev and esker evm"), "{}", ended.stderr);
}
