//! The commands of users of a running node, against a development node.

mod calls;
mod lies;

use std::process::{Command, Stdio};

use esker_client::Wallet;
use esker_e2e::Node;
use esker_e2e::files::{tests_path, write_secret};
use esker_e2e::funds::{funded, key};
use esker_primitives::address;
use esker_transactions::xvm::InitialState;
use esker_utxo::{Output, OutputOwners, TransferOutput};
use serde_json::{Value, json};

use crate::controls::{FIRST, height, result};
use crate::support::{PROGRAM, accept, liar, local, wallet};

const WELL_KNOWN_X: &str = "X-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u";
const WELL_KNOWN_C: &str = "C-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u";
const WELL_KNOWN_EVM: &str = "0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC";
const WELL_KNOWN_KEY: &str = "56289e99c94b6912bfc12adc093c9b51124f0dc54ac7a766b2bc5ccf558d8027";
/// The first account on the X-Chain.
const FIRST_X: &str = "X-local15428vq2uzwhm3taey9sr9x5vm6tk78ew499s5v";
/// An account that nothing else uses.
const NOBODY: &str = "0x00000000000000000000000000000000000000a1";

/// Exit code, standard output and standard error.
type Ran = (Option<i32>, String, String);

fn run(variables: &[(&str, &str)], args: &[&str]) -> Ran {
    let mut command = Command::new(PROGRAM);
    command.args(args).stdin(Stdio::null());
    for name in [
        "ESKER_PRIVATE_KEY",
        "ESKER_MNEMONIC",
        "ESKER_DERIVATION_PATH",
        "ESKER_NETWORK",
        "ESKER_CHAIN_ID",
        "HOME",
    ] {
        command.env_remove(name);
    }
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn run_with(url: &str, variables: &[(&str, &str)], args: &[&str]) -> Ran {
    run(variables, &[args, &["--url", url]].concat())
}

/// The output of a command that succeeds.
fn text(node: &Node, args: &[&str]) -> String {
    let (code, out, errors) = run_with(&node.url(), &[], args);
    assert_eq!((code, &*errors), (Some(0), ""), "{args:?}: {out}");
    out
}

/// The document that a command prints with `--json`.
fn document(node: &Node, args: &[&str]) -> Value {
    let out = text(node, &[args, &["--json"]].concat());
    assert_eq!(out.lines().count(), 1, "{out}");
    serde_json::from_str(&out).unwrap()
}

/// The output of a command that fails with an exit code; nothing goes to standard output.
fn failure(url: &str, code: i32, args: &[&str]) -> String {
    let (found, out, errors) = run_with(url, &[], args);
    assert_eq!((found, &*out), (Some(code), ""), "{args:?}: {errors}");
    errors
}

fn assert_failures(node: &Node, cases: &[(&[&str], i32, &str)]) {
    for (args, code, expected) in cases {
        let errors = failure(&node.url(), *code, args);
        assert!(errors.contains(expected), "{args:?}: {errors}");
    }
}

/// The balance of an address in the native asset.
fn balance(node: &Node, address: &str) -> String {
    let found = document(node, &["balance", address, "--asset", "NAT"]);
    found["balances"][0]["amount"].as_str().unwrap().to_owned()
}

fn lines<'a>(text: &'a str, expected: &[&str]) -> Vec<&'a str> {
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), expected.len(), "{text}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.starts_with(expected), "{line}: {expected}");
    }
    lines
}

/// An answer of a node can't control the terminal, and is not printed without end.
#[test]
fn answers_that_are_no_text_for_a_terminal() {
    let id = "\u{1b}]0;title\u{7}";
    let snapshot = json!({"jsonrpc": "2.0", "id": 1, "result": {"id": id}}).to_string();
    let (code, out, _) = run_with(&liar(snapshot.as_bytes()), &[], &["snapshot"]);
    assert_eq!((code, out.trim_end()), (Some(0), "\\u{1b}]0;title\\u{7}"));
    let error = json!({"code": -32000, "message": format!("{id}{}", "x".repeat(1 << 20))});
    let refusal = json!({"jsonrpc": "2.0", "id": 1, "error": error}).to_string();
    for body in [refusal.as_bytes(), &[0x1b; 1 << 20]] {
        let errors = failure(&liar(body), 1, &["snapshot"]);
        assert!(errors.contains("\\u{1b}") && !errors.contains('\u{1b}'), "{errors}");
        assert!(errors.len() < 32 * 1024 && errors.ends_with(" bytes more)\n"), "{errors}");
    }
}

#[test]
fn payments_on_both_chains() {
    let node = local().dev().start().unwrap();
    let to = wallet(&node, "X", key(7)).address();
    let paid = document(&node, &["transfer", "1.5", &to]);
    assert_eq!(
        (&paid["chain"], &paid["from"], &paid["to"]),
        (&json!("X"), &json!(FIRST_X), &json!(to))
    );
    assert_eq!((&paid["amount"], &paid["units"]), (&json!("1.5"), &json!("1500000000")));
    assert_eq!(paid["assetID"], document(&node, &["balance", &to])["balances"][0]["assetID"]);
    assert_eq!(balance(&node, &to), "1.5");
    assert_eq!(balance(&node, FIRST_X), "9998.499");
    assert_eq!((&paid["fee"], &paid["feeUnits"]), (&json!("0.001"), &json!("1000000")));
    let mut chain = node.x();
    let block = chain.get_block(&paid["block"]["id"].as_str().unwrap().parse().unwrap()).unwrap();
    assert_eq!(paid["block"]["height"], block.height().to_string());
    assert_eq!(block.txs()[0].id().to_string(), paid["id"].as_str().unwrap());

    let paid = document(&node, &["transfer", "12wei", NOBODY, "--from", "3"]);
    assert_eq!((&paid["chain"], &paid["units"]), (&json!("C"), &json!("12")));
    assert_eq!(paid["amount"], "0.000000000000000012");
    let receipt = result(&node, "evm_getTransactionReceipt", json!([paid["id"]]));
    assert_eq!(receipt["blockHash"], paid["block"]["id"]);
    let quantity = |name: &str| -> u128 {
        let digits = receipt[name].as_str().unwrap().trim_start_matches("0x");
        u128::from_str_radix(digits, 16).unwrap()
    };
    let fee = quantity("gasUsed") * quantity("effectiveGasPrice");
    assert_eq!(paid["feeUnits"], fee.to_string());
    assert_eq!(paid["from"], document(&node, &["accounts"])["accounts"][3]["address"]);
    assert_eq!(result(&node, "evm_getBalance", json!([NOBODY, "latest"])), "0xc");

    let out = text(&node, &["transfer", "2", NOBODY]);
    lines(
        &out,
        &[
            "2 NAT to 0x00",
            "fee          0.0000",
            "from         0xf39Fd6",
            "transaction  0x",
            "block        2 0x",
        ],
    );
    let out = text(&node, &["transfer", "0.25", &to, "--from", "1", "--chain", "X"]);
    lines(
        &out,
        &[
            "0.25 NAT to X-local1",
            "fee          0.001 NAT",
            "from         X-local1cj",
            "transaction  ",
            "block        3 ",
        ],
    );
    assert_eq!(balance(&node, &to), "1.75");
}

#[test]
fn payments_with_a_private_key() {
    let node = local().start().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    write_secret(&file, &format!("0x{WELL_KNOWN_KEY}\n")).unwrap();
    let file = file.to_str().unwrap();
    // A node that is not for development has no accounts, but takes payments.
    let paid = document(&node, &["transfer", "1", NOBODY, "--private-key-file", file]);
    assert_eq!(paid["from"], WELL_KNOWN_EVM);
    let args = ["transfer", "1", FIRST_X, "--json"];
    let (code, out, errors) =
        run_with(&node.url(), &[("ESKER_PRIVATE_KEY", WELL_KNOWN_KEY)], &args);
    assert_eq!((code, &*errors), (Some(0), ""));
    assert!(out.contains(&format!("\"from\":\"{WELL_KNOWN_X}\"")), "{out}");
    assert_eq!(balance(&node, FIRST_X), "1");

    assert_failures(
        &node,
        &[
            (&["transfer", "1", FIRST_X], 2, "use --private-key-file or ESKER_PRIVATE_KEY"),
            (&["transfer", "1", FIRST_X, "--private-key-file", "/nowhere/key"], 2, "/nowhere/key"),
            (&["transfer", "1", FIRST_X, "--private-key-file", file, "--from", "1"], 2, "--from"),
        ],
    );
    for secret in ["c0ffee", "PrivateKey-c0ffee"] {
        let (code, _, errors) = run_with(&node.url(), &[("ESKER_PRIVATE_KEY", secret)], &args);
        assert_eq!(code, Some(2));
        assert!(errors.contains("ESKER_PRIVATE_KEY: no private key") && !errors.contains("c0ffee"));
    }
}

#[test]
fn payments_that_cannot_be_made() {
    let node = local().dev().start().unwrap();
    let other_network = &address::format("X", "fuji", &key(7).address());
    assert_failures(
        &node,
        &[
            (
                &["transfer", "1.0000000001", FIRST_X],
                2,
                "more decimal places than the asset has, 9",
            ),
            (&["transfer", "1wei", FIRST_X], 2, "more decimal places than the asset has, 9"),
            (&["transfer", "1e3", FIRST_X], 2, "expected digits"),
            (&["transfer", "0", FIRST_X], 2, "the amount is zero"),
            (&["transfer", "20000000000", FIRST_X], 2, "too large"),
            (&["transfer", "1", WELL_KNOWN_C], 2, "give the 0x address"),
            (&["transfer", "1", "0x12"], 2, "40 hex digits"),
            (&["transfer", "1", other_network], 2, "of another network"),
            (&["transfer", "1", FIRST_X, "--chain", "C"], 2, "another chain"),
            (&["transfer", "1", NOBODY, "--chain", "X"], 2, "hex address"),
            (&["transfer", "1", NOBODY, "--asset", "NAT"], 2, "only the chain's coin"),
            (&["transfer", "1", FIRST_X, "--from", "10"], 2, "accounts 0 to 9"),
            (&["transfer", "1", FIRST_X, "--asset", "nothing"], 1, "nothing"),
            (&["transfer", "10000", FIRST_X], 1, "has 10000 NAT that can be spent, and 10000.001"),
            (&["transfer", "10001", NOBODY], 1, "has 10000 NAT, and 10001 are needed"),
            (&["transfer", "10000", NOBODY], 1, "the greatest fee included"),
            (&["transfer", "1", NOBODY, "--chain", "D"], 1, "does not serve /ext/bc/D/rpc"),
            (&["transfer", "1"], 2, "<TO>"),
        ],
    );
    // Nothing makes the block.
    result(&node, "evm_setAutomine", json!([false]));
    let errors = failure(&node.url(), 1, &["transfer", "1", NOBODY, "--timeout", "1"]);
    let expected = "was in no accepted block of C within 1 s";
    assert!(errors.contains(expected) && errors.contains("esker mine"), "{errors}");
    text(&node, &["mine"]);
    assert_eq!(balance(&node, NOBODY), "1");
    let gone = node.url();
    node.stop().unwrap();
    for args in [&["transfer", "1", FIRST_X][..], &["accounts"], &["time"]] {
        let errors = failure(&gone, 1, args);
        assert!(errors.contains("is the node running?"), "{errors}");
    }
}

#[test]
fn balances_of_all_assets() {
    let node = local().dev().start().unwrap();
    let mut wallet = wallet(&node, "X", funded());
    let output = TransferOutput { amount: 1234, owners: OutputOwners::single(wallet.owner()) };
    let state = InitialState { fx_index: 0, outputs: vec![Output::SecpTransfer(output)] };
    let asset = wallet.create_asset("Points", "PTS", 2, vec![state]).unwrap();
    accept(&mut node.x(), &asset);
    wallet.apply(&asset);
    let id = asset.id().to_string();
    let found = document(&node, &["balance", WELL_KNOWN_X]);
    let points = json!({
        "assetID": id, "symbol": "PTS", "decimals": 2, "amount": "12.34", "units": "1234",
    });
    assert!(found["balances"].as_array().unwrap().contains(&points), "{found}");
    assert_eq!((&found["chain"], &found["kind"]), (&json!("X"), &json!("outputs")));
    let out = text(&node, &["balance", WELL_KNOWN_X]);
    assert!(out.contains(&format!("12.34 PTS  {id}\n")), "{out}");

    // The asset can be paid, in its own decimal places.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    write_secret(&file, WELL_KNOWN_KEY).unwrap();
    let signed = ["--asset", &id, "--private-key-file", file.to_str().unwrap()];
    let paid = document(&node, &[&["transfer", "2.3", FIRST_X][..], &signed].concat());
    assert_eq!((&paid["symbol"], &paid["units"]), (&json!("PTS"), &json!("230")));
    let found = document(&node, &["balance", FIRST_X, "--asset", &id]);
    assert_eq!(found["balances"][0]["amount"], "2.3");
    let errors = failure(&node.url(), 2, &[&["transfer", "2.345", FIRST_X][..], &signed].concat());
    assert!(errors.contains("more decimal places than the asset has, 2"), "{errors}");
    let errors = failure(&node.url(), 2, &[&["transfer", "1nano", FIRST_X][..], &signed].concat());
    assert!(errors.contains("units of the native asset"), "{errors}");

    assert_eq!(text(&node, &["balance", NOBODY]).split(' ').next(), Some("0"));
    assert_eq!(balance(&node, FIRST), "10000");
    // A development account by its number, on both chains.
    let found = document(&node, &["balance", "3"]);
    assert_eq!((&found["chain"], &found["xChain"]["chain"]), (&json!("C"), &json!("X")));
    assert_eq!(found["address"], document(&node, &["accounts"])["accounts"][3]["address"]);
    assert_eq!(found["balances"][0]["amount"], "10000");
    assert_eq!(found["xChain"]["balances"][0]["amount"], "10000");
    let out = text(&node, &["balance", "0"]);
    lines(
        &out,
        &[
            "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
            "10000 NAT",
            FIRST_X,
            "2.3 PTS",
            "10000 NAT",
        ],
    );
    assert_eq!(document(&node, &["balance", "0", "--asset", &id])["chain"], "X");
    assert_failures(
        &node,
        &[
            (&["balance", "nobody"], 2, "not an address"),
            (&["balance", "10"], 2, "accounts 0 to 9"),
            (&["balance", "99999999999999999999999"], 2, "accounts 0 to 9"),
            (&["balance", NOBODY, "--asset", &id], 2, "only the native asset"),
            (&["balance", FIRST_X, "--asset", "nothing"], 1, "nothing"),
            (&["balance", "D-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u"], 1, "does not serve"),
        ],
    );
}

#[test]
fn balances_that_wait_for_their_import() {
    let node = local().dev().start().unwrap();
    assert!(text(&node, &["balance", WELL_KNOWN_C]).ends_with("nothing\n"));
    let wallet = wallet(&node, "X", funded());
    let native = wallet.params().fee_asset_id;
    let c: Value =
        node.rpc().call("/ext/info", "info.getBlockchainID", json!({"alias": "C"})).unwrap();
    let c = c["blockchainID"].as_str().unwrap().parse().unwrap();
    let output = Wallet::output(native, 2_500_000_000, wallet.owner());
    let tx = wallet.export(c, vec![output]).unwrap();
    accept(&mut node.x(), &tx);
    let found = document(&node, &["balance", WELL_KNOWN_C]);
    assert_eq!((&found["chain"], &found["kind"]), (&json!("C"), &json!("exported")));
    assert_eq!(found["balances"][0]["amount"], "2.5");
    assert_eq!(balance(&node, WELL_KNOWN_C), "2.5");
    let out = text(&node, &["balance", WELL_KNOWN_C]);
    assert!(out.starts_with("exported to the C-Chain") && out.contains("\n2.5 NAT"), "{out}");
}

#[test]
fn accounts_of_the_node() {
    let node = local().dev().start().unwrap();
    let found = document(&node, &["accounts"]);
    let accounts = found["accounts"].as_array().unwrap();
    assert_eq!(accounts.len(), 10);
    assert_eq!(
        accounts[0],
        json!({
            "number": 0,
            "address": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
            "xAddress": FIRST_X,
            "cAddress": FIRST_X.replace("X-", "C-"),
            "xBalance": "10000",
            "cBalance": "10000",
        })
    );
    assert_eq!(found["wellKnown"]["address"], WELL_KNOWN_EVM);
    assert_eq!(found["wellKnown"]["number"], Value::Null);
    let first_key = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
    let with_keys = document(&node, &["accounts", "--private-keys"]);
    assert_eq!(with_keys["accounts"][0]["privateKey"], first_key);
    assert_eq!(with_keys["wellKnown"]["privateKey"], format!("0x{WELL_KNOWN_KEY}"));
    let out = text(&node, &["accounts"]);
    assert!(out.contains("0  0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266  10000 NAT\n"), "{out}");
    assert!(!out.contains(&first_key[2..]) && !out.contains("PrivateKey-"), "{out}");
    let out = text(&node, &["accounts", "--private-keys"]);
    assert!(out.contains(first_key) && out.contains("PrivateKey-"), "{out}");
}

#[test]
fn accounts_of_another_mnemonic() {
    let words = "legal winner thank year wave sausage worth useful legal winner thank yellow";
    let node = local().dev().args(&["--mnemonic", words, "--accounts", "3"]).start().unwrap();
    assert_failures(
        &node,
        &[
            (&["accounts"], 2, "ESKER_MNEMONIC"),
            (&["transfer", "1", FIRST_X], 2, "--private-key-file"),
        ],
    );
    let variables = [("ESKER_MNEMONIC", words)];
    let (code, out, _) = run_with(&node.url(), &variables, &["accounts", "--json"]);
    assert_eq!(code, Some(0));
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(found["accounts"].as_array().unwrap().len(), 3);
    assert_eq!(found["accounts"][2]["xBalance"], "10000");
    let (code, _, errors) =
        run_with(&node.url(), &variables, &["transfer", "1", FIRST_X, "--from", "2"]);
    assert_eq!((code, &*errors), (Some(0), ""));
    assert_eq!(balance(&node, FIRST_X), "1");
    let (code, _, errors) = run_with(&node.url(), &[("ESKER_MNEMONIC", "no words")], &["accounts"]);
    assert!(code == Some(2) && errors.contains("ESKER_MNEMONIC"), "{errors}");
}

#[test]
fn the_faucet_pays_on_both_chains() {
    let node = local().dev().start().unwrap();
    let to = wallet(&node, "X", key(9)).address();
    for address in [&to, NOBODY] {
        let given = document(&node, &["faucet", address]);
        assert_eq!((&given["amount"], &given["to"]), (&json!("100"), &json!(given["to"])));
        assert_eq!(balance(&node, address), "100");
        text(&node, &["faucet", address, "0.5"]);
        assert_eq!(balance(&node, address), "100.5");
    }
    assert_failures(
        &node,
        &[
            (&["faucet", WELL_KNOWN_C], 2, "give the 0x address"),
            (&["faucet", NOBODY, "much"], 2, "expected digits"),
            (&["faucet", &to, "299999999"], 1, "are needed"),
        ],
    );
}

#[test]
fn payments_at_the_same_time_are_all_made() {
    let node = local().dev().start().unwrap();
    let to = wallet(&node, "X", key(9)).address();
    std::thread::scope(|scope| {
        for address in [&to, NOBODY] {
            for _ in 0..4 {
                scope.spawn(|| text(&node, &["faucet", address, "2"]));
            }
        }
    });
    assert_eq!([balance(&node, &to), balance(&node, NOBODY)], ["8", "8"]);
}

#[test]
fn the_clock_is_shown_and_moved() {
    let node = local().dev().start().unwrap();
    let seconds = |args: &[&str]| -> u64 {
        let shown = document(&node, args);
        assert!(shown["utc"].as_str().unwrap().ends_with('Z'), "{shown}");
        shown["timestamp"].as_str().unwrap().parse().unwrap()
    };
    let now = seconds(&["time"]);
    assert!(seconds(&["time", "increase", "3600"]) >= now + 3600);
    assert_eq!(seconds(&["time", "set", "4000000000"]), 4_000_000_000);
    assert!(seconds(&["time", "get"]) >= 4_000_000_000);
    assert!(seconds(&["time", "increase", "1h30m"]) >= 4_000_005_400);
    assert!(seconds(&["time", "+1h"]) >= 4_000_009_000);
    assert_eq!(seconds(&["time", "2096-10-03"]), 4_000_060_800);
    assert_eq!(seconds(&["time", "set", "2096-10-03T00:00:01Z"]), 4_000_060_801);
    assert!(text(&node, &["time"]).contains("  2096-10-03T00:"));
    text(&node, &["mine"]);
    assert_failures(
        &node,
        &[
            (&["time", "set", "5"], 1, "timestamp 5 is lower than previous block's timestamp"),
            (&["time", "set", "soon"], 2, "soon"),
            (&["time", "soon"], 2, "TIME soon: expected +1h"),
            (&["time", "-1h"], 2, "forward only"),
            (&["time", "increase"], 2, "<DURATION>"),
            (&["time", "2030-01-01"], 1, "lower than previous block's timestamp"),
        ],
    );
}

#[test]
fn blocks_are_made() {
    let node = local().dev().start().unwrap();
    assert_eq!(text(&node, &["mine"]), "1 block made, the C-Chain's height is 1\n");
    let made = document(&node, &["mine", "3", "--interval", "60"]);
    assert_eq!(made, json!({"blocks": "3", "height": "4"}));
    let time = |number: &str| -> u64 {
        let block = result(&node, "evm_getBlockByNumber", json!([number, false]));
        let digits = block["timestamp"].as_str().unwrap().trim_start_matches("0x").to_owned();
        u64::from_str_radix(&digits, 16).unwrap()
    };
    assert_eq!(time("0x4") - time("0x3"), 60);
    assert_failures(
        &node,
        &[
            (&["mine", "0"], 2, "1..=100000"),
            (&["mine", "2", "--interval", "18446744073709551615"], 1, "dev.mine"),
        ],
    );
    assert_eq!(height(&node), 4);
}

#[test]
fn snapshots_are_taken_and_reverted_to() {
    let node = local().dev().start().unwrap();
    assert_eq!(text(&node, &["snapshot", "list"]), "no snapshots\n");
    assert_eq!(text(&node, &["snapshot"]), "1\n");
    text(&node, &["transfer", "1", NOBODY]);
    assert_eq!(document(&node, &["snapshot", "take"]), json!({"id": "2"}));
    let listed = document(&node, &["snapshot", "list"]);
    let heights: Vec<_> =
        listed["snapshots"].as_array().unwrap().iter().map(|one| &one["block"]["height"]).collect();
    assert_eq!(heights, ["0", "1"]);
    assert_eq!(text(&node, &["snapshot", "list"]).lines().count(), 2);
    assert_eq!(text(&node, &["snapshot", "revert", "1"]), "reverted to snapshot 1\n");
    assert_eq!((height(&node), balance(&node, NOBODY)), (0, "0".to_owned()));
    assert_failures(
        &node,
        &[
            (&["snapshot", "revert", "2"], 1, "there is no snapshot 2"),
            (&["snapshot", "revert"], 2, "<ID>"),
            (&["snapshot", "revert", "first"], 2, "first"),
        ],
    );
}

#[test]
fn other_nodes_refuse_what_is_for_development() {
    let node = local().start().unwrap();
    for args in [
        &["accounts"][..],
        &["faucet", NOBODY],
        &["time"],
        &["time", "increase", "1"],
        &["time", "set", "4000000000"],
        &["mine"],
        &["snapshot"],
        &["snapshot", "revert", "1"],
        &["snapshot", "list"],
    ] {
        let errors = failure(&node.url(), 1, args);
        assert!(errors.contains("is not a development node"), "{args:?}: {errors}");
        assert!(errors.contains("esker dev"), "{args:?}: {errors}");
    }
    assert_eq!((height(&node), node.x().get_height().unwrap()), (0, 0));
    let errors = failure("127.0.0.1:9650", 2, &["time"]);
    assert!(errors.contains("--url 127.0.0.1:9650: expected http://HOST:PORT"), "{errors}");
}

#[test]
fn every_documented_example_works() {
    let node = local().dev().start().unwrap();
    let page = std::fs::read_to_string(tests_path("../docs/commands.md")).unwrap();
    let examples: Vec<Vec<String>> =
        page.lines().filter_map(|line| line.strip_prefix("    esker ")).map(words).collect();
    assert!(examples.len() >= 24, "{examples:?}");
    for example in &examples {
        let args: Vec<_> = example.iter().map(String::as_str).collect();
        // The only command without a node.
        if args[0] == "address" {
            assert_eq!(run(&[], &args).0, Some(0), "{args:?}");
        } else {
            text(&node, &args);
        }
    }
}

/// The words of a shell's line: separated by spaces, except within single quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for char in line.chars() {
        match char {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            _ => words.last_mut().unwrap().push(char),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
