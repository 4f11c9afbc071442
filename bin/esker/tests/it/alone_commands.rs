//! The commands of users against `esker evm`, and what it refuses.

use std::fs;

use serde_json::{Value, json};

use crate::harness::{Ended, Esker, command, genesis_of_shanghai, run, run_command};

const FROM: &str = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
const NOBODY: &str = "0x00000000000000000000000000000000000000A1";
/// The private key of the first account.
const KEY: &str = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
/// The contract of withdrawal requests (EIP-7002), which each block calls.
const WITHDRAWALS: &str = "0x00000961Ef480Eb55e80D19ad83579A64c007002";

fn with_url(node: &Esker, args: &[&str]) -> Ended {
    let url = format!("http://{}", node.ready["http"].as_str().unwrap());
    run(&[args, &["--url", &url]].concat())
}

/// The output of a command that succeeds.
fn text(node: &Esker, args: &[&str]) -> String {
    let ended = with_url(node, args);
    assert_eq!((ended.code(), &*ended.stderr), (Some(0), ""), "{args:?}: {}", ended.stdout);
    ended.stdout
}

fn document(node: &Esker, args: &[&str]) -> Value {
    serde_json::from_str(&text(node, &[args, &["--json"]].concat())).unwrap()
}

fn refused(node: &Esker, args: &[&str], expected: &str) {
    let ended = with_url(node, args);
    assert_ne!(ended.code(), Some(0), "{args:?}: {}", ended.stdout);
    assert!(ended.stderr.contains(expected), "{args:?}: {}", ended.stderr);
}

#[test]
fn accounts_payments_and_calls_work_without_an_x_chain() {
    let node = Esker::start_alone(&[]);
    let accounts = text(&node, &["accounts"]);
    assert_eq!(accounts.lines().count(), 10, "{accounts}");
    assert!(accounts.starts_with(&format!("0  {FROM}  10000 coin\n")), "{accounts}");
    let keys = document(&node, &["accounts", "--private-keys"]);
    assert_eq!((&keys["chain"], &keys["accounts"][0]["privateKey"]), (&json!("evm"), &json!(KEY)));
    assert_eq!(document(&node, &["balance", "0"])["balances"][0]["amount"], "10000");
    assert_eq!(text(&node, &["balance", NOBODY]), "0 coin\n");
    let paid = document(&node, &["transfer", "1.5", NOBODY]);
    assert_eq!((&paid["chain"], &paid["from"]), (&json!("evm"), &json!(FROM)));
    assert_eq!(text(&node, &["balance", NOBODY]), "1.5 coin\n");
    let shown = document(&node, &["tx", paid["id"].as_str().unwrap()]);
    assert_eq!((&shown["status"], &shown["chain"]), (&json!("Accepted"), &json!("evm")));
    assert_eq!(text(&node, &["call", "eth_blockNumber"]), "\"0x1\"\n");
    assert_eq!(text(&node, &["call", "evm_mine"]), "\"0x0\"\n");
    assert_eq!(text(&node, &["call", "eth_blockNumber", "--chain", "evm"]), "\"0x2\"\n");

    // The others say what there is.
    let only = "runs the chain evm alone and does not serve /ext/";
    for args in [
        &["faucet", "1", NOBODY][..],
        &["time"],
        &["mine"],
        &["snapshot"],
        &["call", "info.getNodeID"],
        &["balance", "X-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u"],
        &["call", "eth_blockNumber", "--chain", "C"],
    ] {
        refused(&node, args, only);
    }
    refused(&node, &["balance", "10"], "accounts 0 to 9");
    refused(&node, &["tx", &format!("0x{}", "12".repeat(32))], "the node knows no transaction");
}

#[test]
fn the_chain_of_a_genesis_has_no_accounts_that_pay() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("genesis.json");
    let genesis = genesis_of_shanghai(FROM, "0x21e19e0c9bab2400000");
    fs::write(&file, genesis.to_string()).unwrap();
    let node = Esker::start_alone(&["--genesis", file.to_str().unwrap()]);
    for args in [&["accounts"][..], &["balance", "0"], &["transfer", "1", NOBODY]] {
        refused(
            &node,
            args,
            "has no development accounts, as with --genesis: use --private-key-file",
        );
    }
    // With a key of the user's, who says which chain it is.
    let url = format!("http://{}", node.ready["http"].as_str().unwrap());
    let pay = |more: &[&str]| {
        let args = [&["transfer", "1", NOBODY, "--url", &url], more].concat();
        let mut command = command(&args, dir.path());
        command.env("ESKER_PRIVATE_KEY", KEY);
        run_command(command)
    };
    let unnamed = pay(&[]);
    assert_ne!(unnamed.code(), Some(0), "{}", unnamed.stdout);
    assert!(unnamed.stderr.contains("--chain-id 9; nothing was signed"), "{}", unnamed.stderr);
    let paid = pay(&["--chain-id", "9"]);
    assert_eq!(paid.code(), Some(0), "{}", paid.stderr);
    assert_eq!(text(&node, &["balance", NOBODY]), "1 coin\n");
}

#[test]
fn a_contract_of_the_system_is_not_removed() {
    let node = Esker::start_alone(&[]);
    let set = json!({"jsonrpc": "2.0", "id": 1, "method": "anvil_setCode", "params": [WITHDRAWALS, "0x"]});
    let (_, reply) = node.http("POST", "/", &set.to_string());
    assert!(reply.contains("empty system contract"), "{reply}");
    assert_ne!(node.evm("eth_getCode", json!([WITHDRAWALS, "latest"])), "0x");
    node.evm("eth_sendTransaction", json!([{"from": FROM, "to": NOBODY, "value": "0x1"}]));
    assert_eq!(node.evm("eth_blockNumber", json!([])), "0x1");
}

#[test]
fn a_fork_without_rules_is_refused_with_those_that_have_some() {
    for name in ["amsterdam", "lisbon"] {
        let ended = run(&["evm", "--port", "0", "--hardfork", name]);
        assert_eq!(ended.code(), Some(2), "{}", ended.stderr);
        let known = "known: frontier, homestead, ";
        assert!(ended.stderr.contains(name) && ended.stderr.contains(known), "{}", ended.stderr);
        assert!(!ended.stderr.contains("panic"), "{}", ended.stderr);
    }
}
