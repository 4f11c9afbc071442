//! Exports of the C-Chain in fixtures of `esker dev`.

use std::path::Path;

use esker_e2e::{Node, until};
use serde_json::{Value, json};

use crate::controls::result as evm;
use crate::fixtures::{accepted, blocks, dev, start, x};
use crate::support::esker;

/// Of accounts 0 and 1.
const OWNERS: [&str; 2] = [
    "X-local15428vq2uzwhm3taey9sr9x5vm6tk78ew499s5v",
    "X-local1cjzphr67dug28rw9ueewrqllmxlqe5f0unaxss",
];
const KEYS: [&str; 2] = [
    "PrivateKey-2JmTFo8knhffGK32o8vv4oRd8sA7MYo2xx1j4yhAPxN3JrLgMh",
    "PrivateKey-gYChgv9KmCAaRH47tkCCm94bZLAxdQAygvZKNRUsaq7KM14hL",
];
const ON_C: [&str; 2] =
    ["0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266", "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"];

fn with_user(mut params: Value) -> Value {
    params["username"] = "mover".into();
    params["password"] = "Str0ng-Pass-W0rd!".into();
    params
}

/// The exports of C to an address that wait on X.
fn waiting(node: &Node, address: &str) -> Value {
    let asked = json!({"addresses": [address], "sourceChain": "C"});
    x(node, "xvm.getUTXOs", asked)["numFetched"].clone()
}

fn on_x(node: &Node, address: &str) -> Value {
    x(node, "xvm.getBalance", json!({"address": address, "assetID": "NAT"}))["balance"].clone()
}

/// Wei, and the nonce.
fn on_c(node: &Node, account: &str) -> (u128, Value) {
    let balance = evm(node, "eth_getBalance", json!([account, "latest"]));
    let balance = balance.as_str().unwrap().trim_start_matches("0x").to_owned();
    let nonce = evm(node, "eth_getTransactionCount", json!([account, "latest"]));
    (u128::from_str_radix(&balance, 16).unwrap(), nonce)
}

fn verify(fixture: &Path, folder: &Path, flags: &[&str]) {
    let arguments = [&["db", "verify", "--dev"][..], flags, &["--fixture"]].concat();
    let (code, output) = esker(&arguments, &[fixture, Path::new("--data-dir"), folder]);
    assert_eq!(code, Some(0), "{output}");
}

#[test]
fn exports_of_c_wait_on_x_where_their_owners_import_them() {
    let files = tempfile::tempdir().unwrap();
    let (file, folders) = (files.path().join("fixture.json"), ["one", "two"]);
    let folders = folders.map(|name| files.path().join(name));
    let fixture = json!({
        "timestamp": 1_760_000_000,
        "exports": [
            {"from": "C", "to": "X", "amount": 3_000_000_000_u64, "addresses": [0]},
            {"from": "C", "to": "X", "amount": "5", "addresses": [0, 1], "threshold": 2, "account": 1},
            {"from": "X", "to": "C", "amount": 7, "addresses": [0]},
            {"from": "C", "to": "X", "asset": "NAT", "amount": 11, "addresses": [OWNERS[1]], "account": 1},
        ],
        "contracts": [{"bytecode": "0x6001600055", "value": "1000000000"}],
    });
    std::fs::write(&file, fixture.to_string()).unwrap();
    let node = start(&file, &folders[0]);
    let known = blocks(&node);
    assert_eq!(known.1.len(), 5, "{known:?}");
    let unit = 1_000_000_000_u128;
    assert_eq!([waiting(&node, OWNERS[0]), waiting(&node, OWNERS[1])], ["2", "2"]);
    assert_eq!(
        on_c(&node, ON_C[1]),
        ((10_000 * unit - 5 - 11_250 - 11 - 11_230) * unit, json!("0x2")),
        "the account that exports pays the fee, of 1 gwei"
    );
    let (left, nonce) = on_c(&node, ON_C[0]);
    let without_gas = (10_000 * unit - 3 * unit - 11_230 - 1) * unit;
    assert!(left < without_gas && left > without_gas - 1_000_000 * unit, "{left}");
    assert_eq!(nonce, "0x2");

    let call = |path: &str, method: &str, params: Value| {
        node.rpc().call(path, method, params).unwrap_or_else(|error| panic!("{method}: {error}"))
    };
    let _created: Value = call("/ext/keystore", "keystore.createUser", with_user(json!({})));
    let before = on_x(&node, OWNERS[0]).as_str().unwrap().parse::<u128>().unwrap();
    for key in KEYS {
        x(&node, "xvm.importKey", with_user(json!({"privateKey": key})));
    }
    let import = with_user(json!({"sourceChain": "C", "to": OWNERS[0]}));
    let id = x(&node, "xvm.import", import)["txID"].clone();
    until("the import is accepted", || {
        let status = x(&node, "xvm.getTxStatus", json!({"txID": id}))["status"].clone();
        (status == "Accepted").then_some(())
    });
    let imported = 3 * unit + 5 + 11 - 1_000_000;
    assert_eq!(on_x(&node, OWNERS[0]), (before + imported).to_string());
    assert_eq!([waiting(&node, OWNERS[0]), waiting(&node, OWNERS[1])], ["0", "0"]);

    // Nothing is applied again, and it holds as other blocks do.
    node.kill().unwrap();
    let node = start(&file, &folders[0]);
    let later = blocks(&node);
    assert_eq!((later.0.len(), &later.1), (known.0.len() + 1, &known.1));
    assert_eq!(waiting(&node, OWNERS[0]), "0");
    assert!(node.stop().unwrap().success());
    verify(&file, &folders[0], &[]);
    assert_eq!(blocks(&start(&file, &folders[1])), known);
}

/// A start is killed while it applies exports of C; the next one goes on where it was.
#[test]
fn an_interrupted_start_is_completed_with_each_export_of_c_once() {
    let files = tempfile::tempdir().unwrap();
    let (file, data) = (files.path().join("fixture.json"), files.path().join("data"));
    let exports: Vec<_> = (0..90)
        .map(|n| json!({"from": "C", "to": "X", "amount": n + 1, "addresses": [n % 10], "account": n % 3}))
        .collect();
    let fixture = json!({
        "timestamp": 1_760_000_000,
        "utxos": [{"amount": 5, "addresses": [0]}],
        "exports": exports,
    });
    std::fs::write(&file, fixture.to_string()).unwrap();
    let whole = blocks(&start(&file, &files.path().join("other")));
    assert_eq!(whole.1.len(), 91);
    let accepted = || accepted(&data.join("logs"), "C");
    let mut killed_at = Vec::new();
    for at in [1, 20, 45, 70] {
        let starting = dev(Some(&file), &data).spawn().unwrap();
        until("so many exports of the fixture are accepted", || (accepted() >= at).then_some(()));
        starting.kill().unwrap();
        killed_at.push(accepted());
    }
    let node = start(&file, &data);
    assert_eq!(blocks(&node), whole, "killed at {killed_at:?}");
    assert_eq!(on_c(&node, ON_C[1]).1, "0x1e");
    assert!(node.stop().unwrap().success());
    verify(&file, &data, &[]);
}

/// The fees and the number of the C-Chain are those of the settings, whose blocks of the same fixture are others.
#[test]
fn the_settings_of_the_chain_count_for_exports_and_contracts() {
    let files = tempfile::tempdir().unwrap();
    let file = files.path().join("fixture.json");
    let fixture = json!({
        "timestamp": 1_760_000_000,
        "exports": [
            {"from": "C", "to": "X", "amount": 8, "addresses": [0], "account": 1},
            {"from": "C", "to": "X", "amount": 9, "addresses": [0], "account": 1},
        ],
        "contracts": [{"bytecode": "0x6001600055"}, {"bytecode": "0x6001600055"}],
    });
    std::fs::write(&file, fixture.to_string()).unwrap();
    for (name, flags, fee) in [
        ("dear", &["--base-fee", "400000000000"][..], 400),
        ("other", &["--chain-id", "31337"], 1),
        ("exact", &["--real-fees"], 300),
        ("free", &["--base-fee", "0"], 0),
    ] {
        let folder = files.path().join(name);
        let node = flags.iter().fold(dev(Some(&file), &folder), |node, flag| node.arg(*flag));
        let node = node.start().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(waiting(&node, OWNERS[0]), "2", "{name}");
        let spent = (8 + 9 + 2 * 11_230 * fee) * 1_000_000_000;
        let left = 10_000 * 10_u128.pow(18) - spent;
        assert_eq!(on_c(&node, ON_C[1]), (left, json!("0x2")), "{name}");
        assert_eq!(blocks(&node).1.len(), 5, "{name}");
        assert!(node.stop().unwrap().success());
        verify(&file, &folder, flags);
    }
    // An account that can just pay for an export can not at a higher base fee.
    let fixture = json!({"exports": [
        {"from": "C", "to": "X", "amount": 9_999_999_988_770_u64, "addresses": [0]},
    ]});
    std::fs::write(&file, fixture.to_string()).unwrap();
    let folder = files.path().join("usual");
    assert!(start(&file, &folder).stop().unwrap().success());
    let dear = dev(Some(&file), &files.path().join("poor")).arg("--base-fee").arg("1000000001");
    let error = dear.start().unwrap_err().to_string();
    assert!(
        error.contains(
            "exports[0].amount: account 0 spends 10000000000001 native units on C up to here"
        ),
        "{error}"
    );
}
