//! `esker dev` with accounts, fees and a start of its user's choice, under the names that anvil has for them.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use esker_client::RpcClient;
use esker_e2e::{Node, NodeBuilder, until};
use serde_json::{Value, json};

use crate::support::{PROGRAM, local, screen};

const RPC: &str = "/ext/bc/C/rpc";
/// The first account of the usual mnemonic.
const FIRST: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const ABANDON: &str = "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon \
                       about";
/// Whole units of the native asset in wei.
const UNIT: u128 = 1_000_000_000_000_000_000;

fn dev(args: &[&str]) -> NodeBuilder {
    args.iter().fold(local().dev().temporary(), |node, arg| node.arg(*arg))
}

/// The error of a start that is refused with exit code 2.
fn refused(node: NodeBuilder) -> String {
    let Err(error) = node.start() else { panic!("the start was not refused") };
    let error = error.to_string();
    assert!(error.contains("exit status: 2"), "{error}");
    error
}

fn call(node: &Node, method: &str, params: Value) -> Value {
    node.rpc().call(RPC, method, params).unwrap()
}

fn quantity(value: &Value) -> u128 {
    let text = value.as_str().unwrap_or_else(|| panic!("no quantity: {value}"));
    u128::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
}

fn accounts(node: &Node) -> Vec<String> {
    serde_json::from_value(call(node, "eth_accounts", json!([]))).unwrap()
}

fn c_balance(node: &Node, account: &str) -> u128 {
    quantity(&call(node, "eth_getBalance", json!([account, "latest"])))
}

fn x_balance(node: &Node, address: &str) -> String {
    let params = json!({"address": address, "assetID": "NAT"});
    let reply: Value = node.rpc().call("/ext/bc/X", "xvm.getBalance", params).unwrap();
    reply["balance"].as_str().unwrap().to_owned()
}

/// Addresses on X and on C, and the key, of the account with this number, the latter two as the screen shows them.
fn shown(node: &Node, number: usize) -> (String, String, String) {
    let screen = screen(node);
    let of = |heading: &str| {
        let (_, section) = screen.split_once(&format!("\n{heading}")).unwrap();
        let line = section.lines().find_map(|line| line.strip_prefix(&format!("({number}) ")));
        line.unwrap_or_else(|| panic!("{heading}: no {number}: {screen}")).to_owned()
    };
    let x = node.ready()["accounts"][number]["xAddress"].as_str().unwrap().to_owned();
    (x, of("Available Accounts").to_lowercase(), of("Private Keys"))
}

/// Sends a transaction that the node signs; the receipt.
fn send(node: &Node, tx: Value) -> Value {
    let hash = call(node, "eth_sendTransaction", json!([tx]));
    until("the transaction is mined", || {
        Some(call(node, "eth_getTransactionReceipt", json!([hash]))).filter(|r| !r.is_null())
    })
}

fn block(node: &Node, number: Value) -> Value {
    call(node, "eth_getBlockByNumber", json!([number, false]))
}

/// A command of the binary; variables of the tests are not for it.
fn esker(args: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ESKER_") {
            command.env_remove(name);
        }
    }
    command.args(args).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn more_accounts_with_a_balance_on_both_chains() {
    // More than one transaction can fund on the X-Chain.
    let node = dev(&["-a", "501", "--balance", "7"]).start().unwrap();
    let accounts = accounts(&node);
    assert_eq!(accounts.len(), 501);
    assert_eq!(accounts[0], FIRST);
    for number in [0, 10, 500] {
        let (x, c, _) = shown(&node, number);
        assert_eq!(c, accounts[number]);
        assert_eq!(c_balance(&node, &c), 7 * UNIT, "{number}");
        assert_eq!(x_balance(&node, &x), "7000000000", "{number}");
    }
    // The node signs for the last as for the first.
    let receipt = send(&node, json!({"from": accounts[500], "to": FIRST, "value": "0x1"}));
    assert_eq!(receipt["status"], "0x1");
    assert_eq!(c_balance(&node, FIRST), 7 * UNIT + 1);
}

#[test]
fn fewer_accounts_and_accounts_without_a_balance() {
    let node = dev(&["--accounts", "1", "--balance", "0"]).start().unwrap();
    assert_eq!(accounts(&node).len(), 1);
    let (x, c, _) = shown(&node, 0);
    assert_eq!((c_balance(&node, &c), x_balance(&node, &x)), (0, "0".to_owned()));
    let second = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
    assert_eq!(c_balance(&node, second), 0);
}

#[test]
fn numbers_of_accounts_and_balances_have_bounds() {
    for (args, text) in [
        (&["--accounts", "0"][..], "--accounts: accounts: expected a whole number from 1 to 1000"),
        (&["-a", "1001"], "--accounts: accounts: expected a whole number from 1 to 1000"),
        (&["--accounts", "ten"], "--accounts: accounts: \"ten\": expected a whole number"),
        (
            &["--balance", "30000000"],
            "--balance: balance: 10 accounts can get at most 29999999 units each: the X-Chain's genesis has \
             299999999 for all of them",
        ),
        (&["--balance", "1.5"], "--balance: balance: \"1.5\": expected a whole number"),
    ] {
        let error = refused(dev(args));
        assert!(error.contains(text), "{error}");
    }
    let node = dev(&["--balance", "29999999"]).start().unwrap();
    let (x, c, _) = shown(&node, 9);
    assert_eq!(c_balance(&node, &c), 29_999_999 * UNIT);
    assert_eq!(x_balance(&node, &x), "29999999000000000");
}

#[test]
fn accounts_of_another_mnemonic_and_path() {
    let node = dev(&["-m", ABANDON]).start().unwrap();
    let first = "0x9858effd232b4033e47d90003d41ec34ecaeda94";
    assert_eq!(accounts(&node)[0], first);
    let (x, c, key) = shown(&node, 0);
    assert_eq!((c.as_str(), c_balance(&node, first)), (first, 10_000 * UNIT));
    assert_eq!(x_balance(&node, &x), "10000000000000");
    assert_eq!(key, "0x1ab42cc412b618bdea3a599e3c9bae199ebf030895b039e9db1e30dafb12b727");
    assert_eq!(c_balance(&node, FIRST), 0);
    assert_eq!(send(&node, json!({"from": first, "to": FIRST, "value": "0x1"}))["status"], "0x1");
    let screen = screen(&node);
    assert!(screen.contains("\nAvailable Accounts, 10,000 each\n"), "{screen}");
    let (_, words) = screen.split_once("\nMnemonic:").unwrap();
    let (words, _) = words.split_once("\nDerivation path:").unwrap();
    assert_eq!(words.split_whitespace().collect::<Vec<_>>().join(" "), ABANDON);

    let path = "m/44'/60'/0'/1/";
    let node = dev(&["--derivation-path", path]).start().unwrap();
    assert_ne!(accounts(&node)[0], FIRST);
    shown(&node, 0);
    assert!(node.output().contains("\nDerivation path:   m/44'/60'/0'/1/N\n"));
    // The usual path, written with its slash, is the usual one.
    let node = dev(&["--derivation-path", "m/44'/60'/0'/0/"]).start().unwrap();
    assert_eq!(accounts(&node)[0], FIRST);
}

#[test]
fn mnemonics_and_paths_that_are_none() {
    for (args, text) in [
        (
            ["-m", "test test junk"],
            "--mnemonic: mnemonic: expected 12, 15, 18, 21 or 24 words, found 3",
        ),
        (
            ["-m", &ABANDON.replace("about", "abuot")],
            "--mnemonic: mnemonic: word 12, \"abuot\", is not in the English word list of BIP-39",
        ),
        (
            ["-m", &ABANDON.replace("about", "abandon")],
            "--mnemonic: mnemonic: wrong checksum: a word is wrong or in the wrong place",
        ),
        (
            ["--derivation-path", "44/60"],
            "--derivation-path: derivation-path: expected a path such as",
        ),
    ] {
        let error = refused(dev(&args));
        assert!(error.contains(text), "{error}");
    }
}

#[test]
fn a_base_fee_stays_from_the_first_block_on() {
    for (flag, wei) in [("--base-fee", 300_000_000_000_u128), ("--block-base-fee-per-gas", 7)] {
        let node = dev(&[flag, &wei.to_string()]).start().unwrap();
        // Before any block, above and below what other networks begin with.
        assert_eq!(quantity(&call(&node, "eth_gasPrice", json!([]))), wei + 1);
        for number in 0..3 {
            if number > 0 {
                send(&node, json!({"from": FIRST, "to": FIRST, "value": "0x1"}));
            }
            let block = block(&node, json!(format!("{number:#x}")));
            assert_eq!(quantity(&block["baseFeePerGas"]), wei, "{flag}, block {number}");
        }
    }
    let node = dev(&["--base-fee", "0", "--gas-price", "0"]).start().unwrap();
    assert_eq!(call(&node, "eth_gasPrice", json!([])), "0x0");
    let receipt = send(&node, json!({"from": FIRST, "to": FIRST}));
    assert_eq!(receipt["effectiveGasPrice"], "0x0");
    assert_eq!(c_balance(&node, FIRST), 10_000 * UNIT);

    let error = refused(dev(&["--base-fee", "7", "--real-fees"]));
    assert!(error.contains("--base-fee: base-fee: not with real-fees"), "{error}");
    let error = refused(dev(&["--base-fee", "1gwei"]));
    assert!(error.contains("--base-fee: base-fee: \"1gwei\": expected a whole number"), "{error}");
}

#[test]
fn transfers_between_the_chains_burn_nothing_on_c_without_a_base_fee() {
    let node = dev(&["--base-fee", "0", "--api-keystore-enabled"]).start().unwrap();
    let own = "8jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u";
    let account = "0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC";
    let key = "PrivateKey-ewoqjP7PxY4yr3iLTpLisriqt94hdyDFNgchSxGGztUrTXtNN";
    let ask = |path: &str, method: &str, mut params: Value| -> Value {
        params["username"] = "mover".into();
        params["password"] = "Str0ng-Pass-W0rd!".into();
        node.rpc().call(path, method, params).unwrap_or_else(|error| panic!("{method}: {error}"))
    };
    let (x, c) = ("/ext/bc/X", "/ext/bc/C/nat");
    ask("/ext/keystore", "keystore.createUser", json!({}));
    for (path, method) in [(x, "xvm.importKey"), (c, "nat.importKey")] {
        ask(path, method, json!({"privateKey": key}));
    }
    let settled = |path: &str, method: &str, id: &Value| {
        until("a transfer is accepted", || {
            let status = ask(path, method, json!({"txID": id}))["status"].clone();
            (status == "Accepted").then_some(())
        });
    };
    let before = c_balance(&node, account);
    let there = json!({"to": format!("C-local1{own}"), "amount": 5, "assetID": "NAT"});
    settled(x, "xvm.getTxStatus", &ask(x, "xvm.export", there)["txID"]);
    let taken = ask(c, "nat.import", json!({"to": account, "sourceChain": "X"}));
    settled(c, "nat.getAtomicTxStatus", &taken["txID"]);
    assert_eq!(c_balance(&node, account), before + 5_000_000_000);
    let back = json!({"to": format!("X-local1{own}"), "amount": 3, "assetID": "NAT"});
    settled(c, "nat.getAtomicTxStatus", &ask(c, "nat.export", back)["txID"]);
    assert_eq!(c_balance(&node, account), before + 2_000_000_000);
    let waiting = json!({"addresses": [format!("X-local1{own}")], "sourceChain": "C"});
    assert_eq!(ask(x, "xvm.getUTXOs", waiting)["numFetched"], "1");
}

#[test]
fn a_gas_price_is_what_the_node_suggests_and_signs_with() {
    let node = dev(&["--gas-price", "5000000000"]).start().unwrap();
    assert_eq!(call(&node, "eth_gasPrice", json!([])), json!("0x12a05f200"));
    assert_eq!(call(&node, "eth_maxPriorityFeePerGas", json!([])), json!("0xee6b2800"));
    let receipt = send(&node, json!({"from": FIRST, "to": FIRST, "value": "0x1"}));
    assert_eq!(receipt["effectiveGasPrice"], "0x12a05f200");
    assert_eq!(call(&node, "eth_gasPrice", json!([])), json!("0x12a05f200"));
    // A cheaper one that pays the base fee is mined too.
    let receipt = send(&node, json!({"from": FIRST, "to": FIRST, "gasPrice": "0x3b9aca00"}));
    assert_eq!(receipt["effectiveGasPrice"], "0x3b9aca00");

    let error = refused(dev(&["--gas-price", "999999999"]));
    assert!(
        error.contains("expected at least the base fee, 1000000000: set base-fee too"),
        "{error}"
    );
}

#[test]
fn blocks_count_on_from_a_timestamp() {
    // Long ago, and in the future.
    for start in [1_650_000_000_u128, 4_000_000_000] {
        let folder = tempfile::tempdir().unwrap();
        let text = start.to_string();
        let begin =
            || local().dev().data_dir(folder.path()).arg("--timestamp").arg(&text).start().unwrap();
        let node = begin();
        assert_eq!(quantity(&block(&node, json!("0x0"))["timestamp"]), start);
        let mut last = start;
        let mut later = |node: &Node| {
            send(node, json!({"from": FIRST, "to": FIRST, "value": "0x1"}));
            let time = quantity(&block(node, json!("latest"))["timestamp"]);
            // The tests take no ten minutes.
            assert!((last..start + 600).contains(&time), "{time} after {last}");
            last = time;
        };
        later(&node);
        later(&node);
        let x = node.x().get_block_by_height(1).unwrap();
        assert!((start..start + 600).contains(&u128::from(x.time_s())), "{x:?}");
        assert!(node.stop().unwrap().success());
        // A later start goes on where the chain has come to.
        let node = begin();
        later(&node);
        assert!(node.stop().unwrap().success());
        let folder = folder.path().to_str().unwrap();
        let verified =
            esker(&["db", "verify", "--dev", "--timestamp", &text, "--data-dir", folder]);
        assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
    }
    let error = refused(dev(&["--timestamp", "1607144399"]));
    assert!(
        error.contains("--timestamp: timestamp: expected Unix seconds from 1607144400"),
        "{error}"
    );
}

#[test]
fn a_silent_node_prints_nothing() {
    for (silent, is_shown) in [("--silent=false", true), ("--silent", false), ("-q", false)] {
        let folder = tempfile::tempdir().unwrap();
        let ready = folder.path().join("ready.json");
        let mut command = Command::new(PROGRAM);
        command
            .args(["dev", "--http-port", "0", "--port", "0", silent, "--ready-file"])
            .arg(&ready);
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut node = command.spawn().unwrap();
        let has_ended = |node: &mut Child| !matches!(node.try_wait(), Ok(None));
        until("the node is ready", || (ready.exists() || has_ended(&mut node)).then_some(()));
        // It prints its lines before it handles signals.
        let sent = Command::new("kill").args(["-TERM", &node.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let ended = node.wait_with_output().unwrap();
        let printed = String::from_utf8_lossy(&ended.stdout);
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        assert_eq!(printed.contains("Accounts, 10,000 each"), is_shown, "{silent}: {printed}");
        assert_eq!(printed.is_empty(), !is_shown, "{silent}: {printed}");
    }
    // It still prints errors.
    let output = esker(&["dev", "--silent", "--accounts", "0"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(error, "esker: --accounts: accounts: expected a whole number from 1 to 1000\n");
    let error = refused(dev(&["-q", "--json"]));
    assert!(error.contains("not with json"), "{error}");
}

#[test]
fn a_port_has_two_names() {
    // The harness gives --evm-port 0.
    let node = dev(&["--port", "0", "--host", "127.0.0.1"]).start().unwrap();
    let ready = std::fs::read_to_string(node.scratch().join("ready.json")).unwrap();
    let ready: Value = serde_json::from_str(&ready).unwrap();
    let evm: SocketAddr = ready["evm"].as_str().unwrap().parse().unwrap();
    let accounts: Vec<String> = RpcClient::new(evm).call("/", "eth_accounts", json!([])).unwrap();
    assert_eq!(accounts[0], FIRST);

    let error = refused(dev(&["-p", "1"]).arg("--port").arg("2"));
    assert!(error.contains("cannot be used multiple times"), "{error}");
    let error = refused(dev(&["--port", "1"]));
    let text = "--evm-port 0 and --port 1 are the same setting: give one of them";
    assert!(error.contains(text), "{error}");

    let shown = |args: &[&str]| {
        let output = esker(&[&["config", "show", "--dev"], args].concat());
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    let lines = shown(&["-p", "1234", "--host", "::1", "-a", "3", "--balance", "2"]);
    for (name, value) in
        [("evm-port", "1234"), ("http-host", "::1"), ("accounts", "3"), ("balance", "2")]
    {
        let line = lines.lines().find(|line| line.split_whitespace().next() == Some(name));
        let words: Vec<_> = line.unwrap_or_default().split_whitespace().collect();
        assert_eq!(words, [name, value, "flag", &format!("--{name}")], "{lines}");
    }
    assert!(shown(&[]).contains("test test test test test test test test test test test junk"));
}

#[test]
fn other_networks_have_none_of_it() {
    for (args, text) in [
        (
            ["--accounts", "10"],
            "--accounts: accounts: only for the development network: use esker dev",
        ),
        (["--timestamp", "1700000000"], "--timestamp: timestamp: only for the development network"),
        (["--silent=true", "--json=false"], "--silent: silent: only for esker dev"),
        (["--port", "1"], "unexpected argument '--port'"),
    ] {
        let node = args.iter().fold(local(), |node, arg| node.arg(*arg));
        let error = refused(node);
        assert!(error.contains(text), "{error}");
    }
}

fn kept(folder: &Path, args: &[&str]) -> NodeBuilder {
    args.iter().fold(local().dev().data_dir(folder), |node, arg| node.arg(*arg))
}

#[test]
fn a_folder_wants_the_settings_that_it_was_made_with() {
    let folder = tempfile::tempdir().unwrap();
    let own = ["--accounts", "501", "--balance", "5", "--base-fee", "9"];
    let node = kept(folder.path(), &own).start().unwrap();
    send(&node, json!({"from": FIRST, "to": FIRST, "value": "0x1"}));
    assert!(node.stop().unwrap().success());
    let other = "the data folder was made with other --accounts, --balance, --mnemonic, --derivation-path or \
                 --timestamp (it differs in genesis of C-Chain): start with the same, or choose another --data-dir";
    for (args, text) in [
        (&["--accounts", "502", "--balance", "5", "--base-fee", "9"][..], other),
        (&["--accounts", "501", "--balance", "6", "--base-fee", "9"], other),
        (&["--accounts", "501", "--balance", "5", "--base-fee", "9", "-m", ABANDON], other),
        (
            &[
                "--accounts",
                "501",
                "--balance",
                "5",
                "--base-fee",
                "9",
                "--timestamp",
                "1700000000",
            ],
            other,
        ),
        (&[], other),
        (
            &["--accounts", "501", "--balance", "5"],
            "min-base-fee of chain C: the data folder was made with 9, this start has 1000000000: start with 9 \
             (--base-fee, --real-fees), or choose another --data-dir",
        ),
    ] {
        let error = refused(kept(folder.path(), args));
        assert!(error.contains(text), "{args:?}: {error}");
    }
    // The suggested price is no parameter.
    let again = [&own[..], &["--gas-price", "20"]].concat();
    let node = kept(folder.path(), &again).start().unwrap();
    assert_eq!(accounts(&node).len(), 501);
    // Funded once, by both transactions.
    for number in [0, 499, 500] {
        assert_eq!(x_balance(&node, &shown(&node, number).0), "5000000000", "{number}");
    }
    assert_eq!(node.x().get_height().unwrap(), 2);
    assert!(node.stop().unwrap().success());
    let data = folder.path().to_str().unwrap();
    let verified = esker(&[&["db", "verify", "--dev", "--data-dir", data], &own[..]].concat());
    let report = String::from_utf8_lossy(&verified.stdout);
    assert!(verified.status.success() && report.ends_with("\nnothing is wrong\n"), "{report}");
}

#[test]
fn settings_of_a_file_and_of_the_environment() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("esker.toml");
    std::fs::write(&file, "accounts = 2\nbalance = 3\n").unwrap();
    let node = dev(&[]).config(&file).env("ESKER_BALANCE", "4").start().unwrap();
    assert_eq!(accounts(&node).len(), 2);
    assert_eq!(c_balance(&node, FIRST), 4 * UNIT);
}
