//! `esker db verify` over a folder in which one row of one table is damaged.

use std::path::Path;
use std::process::{Command, Stdio};

use esker_e2e::files::{copy_folder, tests_path};
use esker_e2e::until;
use esker_storage::meta::{self, OpenOptions};
use esker_storage::{Entry, KvStore as _, Scope, WriteSet};
use serde_json::{Value, json};

use crate::support::{PROGRAM, local};

/// Settings under which the folder keeps as many earlier states and preimages as possible.
const CONFIG: &str =
    "[chains.C]\npruning-enabled = false\npreimages-enabled = true\nindex-addresses = true\n";

/// Tables of the node, the X-Chain and the C-Chain: tag, and what a finding names.
const NODE: &[(u8, &str)] = &[
    (0x10, "bundles: "),
    (0x11, "bundles: position"),
    (0x12, "chains: "),
    (0x15, "state commitment of "),
    (0x16, "state commitment"),
    (0x20, "shared memory: element"),
    (0x21, "shared memory: trait and element"),
];
const X: &[(u8, &str)] = &[
    (0x01, "X: last block"),
    (0x02, "X: genesis"),
    (0x03, "X: block"),
    (0x04, "X: height of block"),
    (0x05, "X: time of acceptance of block"),
    (0x06, "X: transaction or UTXO"),
    (0x08, "X: UTXO of an address"),
    (0x09, "X: asset"),
    (0x0a, "X: transaction of an address"),
    (0x0b, "X: "),
];
const C: &[(u8, &str)] = &[
    (0x40, "C: state root of the accounts"),
    (0x41, "C: storage"),
    (0x42, "C: code"),
    (0x43, "C: account trie"),
    (0x44, "C: storage trie"),
    (0x45, "C: "),
    (0x46, "C: "),
    (0x47, "C: "),
    (0x48, "C: "),
    (0x49, "C: "),
    (0x4a, "C: preimage"),
    (0x50, "C: block"),
    (0x51, "C: height of block"),
    (0x52, "C: receipts of block"),
    (0x53, "C: place of transaction"),
    (0x54, "C: "),
    (0x5b, "C: index of address"),
    (0x60, "C: atomic transaction"),
];

/// Of the C-Chain: what went with contracts.
const DESTROYED: u8 = 0x57;

/// A damage of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Damage {
    Removed,
    Changed,
    Added,
}

/// Damage that nobody can see, by scope and table: what is in such a row follows from nothing else.
const UNSEEN: &[(u16, u8, Damage)] = &[
    // Only the key counts.
    (NODE_SCOPE, 0x12, Damage::Changed),
    // A chain that no network has.
    (NODE_SCOPE, 0x12, Damage::Added),
    // This node's own clock.
    (X_SCOPE, 0x05, Damage::Changed),
    // They may have been switched on later.
    (C_SCOPE, 0x4a, Damage::Removed),
    // Only running a transaction shows what else it called.
    (C_SCOPE, 0x5b, Damage::Added),
];
const NODE_SCOPE: u16 = 0;
/// Chains get their scopes in the order of the network.
const X_SCOPE: u16 = 1;
const C_SCOPE: u16 = 2;

fn esker(args: &[&str], folder: &Path, config: &Path) -> (Option<i32>, String) {
    let mut command = Command::new(PROGRAM);
    command.args(args).args(["--network", "local", "--data-dir"]).arg(folder);
    let output = command.arg("--config").arg(config).stdin(Stdio::null()).output().unwrap();
    let output_text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    (output.status.code(), output_text)
}

/// Damages the row in the middle of a table; false if it has none.
fn damage(folder: &Path, scope: Scope, tag: u8, damage: Damage) -> bool {
    let store = meta::open_dir(folder, &OpenOptions::TEST).unwrap();
    let prefix = [&scope.0.to_be_bytes()[..], &[tag]].concat();
    let mut rows: Vec<Entry> = Vec::new();
    let mut visit = |key: &[u8], value: &[u8]| {
        rows.push((key.to_vec(), value.to_vec()));
        std::ops::ControlFlow::Continue(())
    };
    store.snapshot().unwrap().scan(&prefix, None, &mut visit).unwrap();
    let Some((mut key, mut value)) = rows.get(rows.len() / 2).cloned() else { return false };
    let mut set = WriteSet::new();
    match damage {
        Damage::Removed => set.delete(&key),
        Damage::Changed => {
            match value.last_mut() {
                Some(byte) => *byte ^= 1,
                None => value.push(1),
            }
            set.put(&key, &value);
        }
        Damage::Added if key.len() == prefix.len() => return false,
        Damage::Added => {
            while rows.iter().any(|(known, _)| *known == key) {
                let last = key.last_mut().unwrap();
                *last = last.wrapping_add(1);
            }
            set.put(&key, &value);
        }
    }
    store.write(&set).unwrap();
    true
}

#[test]
fn each_kind_of_damage_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let (config, whole) = (dir.path().join("esker.toml"), dir.path().join("whole"));
    std::fs::write(&config, CONFIG).unwrap();
    let blocks = tests_path("vectors/chain/local-1.jsonl");
    let imported = esker(&["import", blocks.to_str().unwrap()], &whole, &config);
    assert_eq!(imported.0, Some(0), "{}", imported.1);
    let (code, output_text) = esker(&["db", "verify"], &whole, &config);
    assert!(output_text.ends_with("\nnothing is wrong\n"), "{output_text}");
    assert_eq!((code, output_text.lines().count()), (Some(0), 2));
    assert!(output_text.starts_with("native supply: 360000000 in genesis; "), "{output_text}");
    let tables = [(NODE_SCOPE, NODE), (X_SCOPE, X), (C_SCOPE, C)];
    let (mut wrong, mut tried) = (Vec::new(), 0);
    for (scope, tables) in tables {
        for (tag, place) in tables {
            for kind in [Damage::Removed, Damage::Changed, Damage::Added] {
                let folder = dir.path().join("damaged");
                copy_folder(&whole, &folder).unwrap();
                if damage(&folder, Scope(scope), *tag, kind) {
                    let (code, output_text) = esker(&["db", "verify"], &folder, &config);
                    let unseen = UNSEEN.contains(&(scope, *tag, kind));
                    let is_reported = output_text.lines().any(|line| line.starts_with(place));
                    if unseen != (code == Some(0)) || unseen == is_reported {
                        wrong
                            .push(format!("{kind:?} in {scope} {tag:#x}: {code:?}\n{output_text}"));
                    }
                    tried += 1;
                } else {
                    assert_ne!(kind, Damage::Removed, "table {tag:#x} of {scope} is empty");
                }
                std::fs::remove_dir_all(&folder).unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(tried > 90, "{tried}");
}

/// A contract that destroys itself while it is made, and keeps what it was given: that is burnt.
#[test]
fn coins_destroyed_with_a_contract_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("data");
    let node = local().dev().data_dir(&folder).start().unwrap();
    let mut rpc = node.rpc();
    let mut call = |method: &str, params: Value| -> Value {
        rpc.call("/ext/bc/C/rpc", method, params).unwrap()
    };
    let accounts = call("eth_accounts", json!([]));
    // ADDRESS SELFDESTRUCT, with one coin.
    let tx = json!([{"from": accounts[0], "data": "0x30ff", "value": "0xde0b6b3a7640000"}]);
    let hash = call("eth_sendTransaction", tx);
    let receipt = until("it has a receipt", || {
        let receipt = call("eth_getTransactionReceipt", json!([hash]));
        (!receipt.is_null()).then_some(receipt)
    });
    assert_eq!(receipt["status"], "0x1");
    assert!(node.stop().unwrap().success());
    let verify = || {
        let mut command = Command::new(PROGRAM);
        command.args(["db", "verify", "--dev", "--data-dir"]).arg(&folder);
        let output = command.stdin(Stdio::null()).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, output_text) = verify();
    assert_eq!(code, Some(0), "{output_text}");
    // The fee of the X-Chain transaction that funds the accounts is burnt, too.
    assert!(output_text.contains("; 1.001 burnt\n"), "{output_text}");
    let c = meta::scopes(&meta::open_dir(&folder, &OpenOptions::TEST).unwrap()).unwrap();
    let scope = c
        .iter()
        .map(|(_, scope)| *scope)
        .find(|scope| damage(&folder, *scope, DESTROYED, Damage::Removed));
    assert!(scope.is_some());
    let (code, output_text) = verify();
    assert_eq!(code, Some(1), "{output_text}");
    assert!(output_text.contains("C: coins held: expected "), "{output_text}");
    assert!(
        output_text.contains("\n2 things are wrong\n"),
        "the chain's, and the whole supply: {output_text}"
    );
}

#[test]
fn a_damaged_file_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let (config, folder) = (dir.path().join("esker.toml"), dir.path().join("data"));
    std::fs::write(&config, "").unwrap();
    let nothing = esker(&["db", "verify"], &folder, &config);
    assert_eq!(nothing.0, Some(2), "{}", nothing.1);
    assert!(!folder.exists());
    let blocks = tests_path("vectors/chain/local-1.jsonl");
    assert_eq!(esker(&["import", blocks.to_str().unwrap()], &folder, &config).0, Some(0));
    let file = folder.join("esker.mdb");
    let mut bytes = std::fs::read(&file).unwrap();
    // Pages but the first two, which LMDB has for itself.
    bytes[2 * 4096..].fill(0xa5);
    std::fs::write(&file, bytes).unwrap();
    let (code, output_text) = esker(&["db", "verify"], &folder, &config);
    assert!(
        output_text.starts_with("store: expected pages that can be read, found "),
        "{output_text}"
    );
    assert!(output_text.ends_with("\n1 thing is wrong\n"), "{output_text}");
    assert_eq!(code, Some(1));
}
