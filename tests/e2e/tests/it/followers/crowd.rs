//! A network with many rows from the beginning, so that a snapshot of it travels for a while.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;

use esker_e2e::funds::{funded, key};
use esker_e2e::{Node, NodeBuilder, Proxy, StartingNode, until};
use esker_primitives::address;
use esker_primitives::keys::PrivateKey;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::snapshot::{assert_same_tips, outputs};
use super::support::call;
use crate::load::{Mover, Random};
use crate::support::PROGRAM;

/// Whose outputs the crowd on the X-Chain has.
const OWNER: u8 = 5;
/// Bytes of the code of each contract.
const CODE_LEN: usize = 24 << 10;
/// Bytes of a snapshot that pass before it is held: some rows, and far from all.
pub(super) const SOME: u64 = 1_000_000;
/// Nano-units of the key that has funds.
const FUNDS: u64 = 300_000_000_000_000_000;

/// How many rows of each kind there are.
#[derive(Clone, Copy, Debug)]
pub(super) struct CrowdSize {
    /// Accounts on the C-Chain.
    pub(super) accounts: u32,
    /// Contracts with different code.
    pub(super) contracts: u32,
    /// Outputs on the X-Chain.
    pub(super) outputs: u32,
}

impl CrowdSize {
    /// About 6 MB of snapshot: more than connections buffer.
    pub(super) const USUAL: Self = Self { accounts: 3000, contracts: 200, outputs: 1000 };
}

/// The network, as a file.
#[derive(Debug)]
pub(super) struct Crowd {
    folder: TempDir,
    program: PathBuf,
}

impl Crowd {
    pub(super) fn new(size: CrowdSize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = json!({
            "networkID": 12345,
            "allocations": allocations(size),
            "cChainGenesis": c_genesis(size),
            "esker": {
                // As on the development network.
                "evm": { "targetGas": u64::MAX, "minBaseFee": 1_000_000_000, "blockGasCostStep": 0 },
                // They wait in shared memory.
                "exportedFromP": [{ "to": "X", "amount": 1, "addresses": [x_address(&key(OWNER))] }],
            },
        });
        let crowd = Self { folder, program: PROGRAM.into() };
        fs::write(crowd.file(), file.to_string()).unwrap();
        crowd
    }

    /// With another binary of the node.
    pub(super) fn with_program(self, program: PathBuf) -> Self {
        Self { program, ..self }
    }

    /// The network file.
    pub(super) fn file(&self) -> PathBuf {
        self.folder.path().join("network.json")
    }

    /// A node that decides alone and serves followers.
    pub(super) fn writer(&self, folder: &Path) -> NodeBuilder {
        NodeBuilder::new(&self.program)
            .network(self.file())
            .data_dir(folder)
            .arg("--api-sync-enabled")
    }

    /// A running writer with blocks on both chains.
    pub(super) fn source(&self, folder: &Path) -> Node {
        let source = self.writer(folder).start().unwrap();
        move_funds(&source);
        source
    }

    /// A follower that begins with a snapshot.
    pub(super) fn joiner(&self, folder: &Path, sources: &str) -> NodeBuilder {
        let flags = ["--snapshot", "--follow-idle-timeout", "3s"];
        self.writer(folder).args(&["--follow", sources]).args(&flags)
    }

    /// A follower whose join has got a part of the snapshot, and the proxy that holds the rest back.
    pub(super) fn held_join(&self, folder: &Path, source: &Node) -> (Proxy, StartingNode) {
        let proxy = Proxy::start(source.address()).unwrap();
        proxy.hold_after(SOME);
        let node = self.joiner(folder, &proxy.url()).spawn().unwrap();
        until("a part of the snapshot was sent", || (proxy.held() > 0).then_some(()));
        (proxy, node)
    }

    /// Runs a command of the program on a folder of the network: its exit code, and both outputs.
    pub(super) fn run(&self, command: &[&str], folder: &Path) -> (Option<i32>, String) {
        let mut program = Command::new(&self.program);
        program.args(command).arg("--network").arg(self.file()).arg("--data-dir").arg(folder);
        let output = program.stdin(Stdio::null()).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    }

    /// `esker db verify` finds nothing.
    pub(super) fn verify(&self, folder: &Path) {
        let (code, text) = self.run(&["db", "verify"], folder);
        assert!(code == Some(0) && text.ends_with("\nnothing is wrong\n"), "{text}");
    }
}

/// Moves funds from chain to chain, so that both have new blocks.
pub(super) fn move_funds(node: &Node) {
    let (sender, _reports) = mpsc::channel();
    Mover::new(node).move_funds(node.address(), &sender).expect("the node runs");
}

/// The last blocks, and rows of the genesis, are the same on both nodes.
pub(super) fn assert_same_state(one: &Node, other: &Node) {
    assert_same_tips(one, other);
    let reads = [
        ("evm_getBalance", json!([account(1), "latest"])),
        ("evm_getCode", json!([contract(0), "latest"])),
        ("evm_getStorageAt", json!([contract(0), "0x1", "latest"])),
    ];
    for (method, params) in reads {
        let read = call(one, method, &params);
        assert!(read.as_str().is_some_and(|text| text.len() > 2), "{method}: {read}");
        assert_eq!(read, call(other, method, &params), "{method}");
    }
    for owner in [1, OWNER] {
        let known = outputs(one, owner);
        assert!(!known.is_empty());
        assert_eq!(known, outputs(other, owner));
    }
    let owner = [x_address(&key(OWNER))];
    let from_p = |node: &Node| node.x().walk_utxos(&owner, 1024, Some("P")).unwrap();
    assert_eq!(from_p(one).len(), 1);
    assert_eq!(from_p(one), from_p(other));
}

fn x_address(key: &PrivateKey) -> String {
    address::format("X", "local", &key.address())
}

fn account(index: u32) -> String {
    format!("0x{index:040x}", index = u64::from(index) + (1 << 32))
}

fn contract(index: u32) -> String {
    format!("0x{index:040x}", index = u64::from(index) + (2 << 32))
}

fn allocations(size: CrowdSize) -> Vec<Value> {
    let allocation = |key: PrivateKey, amount: u64| {
        json!({
            "ethAddr": format!("0x{:040x}", 0),
            "avaxAddr": x_address(&key),
            "initialAmount": amount,
        })
    };
    let rich = allocation(funded(), FUNDS);
    let others = (0..size.outputs).map(|index| allocation(key(OWNER), u64::from(index) + 1));
    std::iter::once(rich).chain(others).collect()
}

/// The development network's genesis, with more accounts.
fn c_genesis(size: CrowdSize) -> String {
    let dev = esker_settings::networks::load("dev").unwrap();
    let mut genesis: Value = serde_json::from_slice(&dev.evm_chain().genesis).unwrap();
    let alloc: &mut Map<String, Value> = genesis["alloc"].as_object_mut().unwrap();
    for index in 0..size.accounts {
        alloc.insert(account(index)[2..].to_owned(), json!({ "balance": "1" }));
    }
    let mut random = Random(1);
    for index in 0..size.contracts {
        // No code begins with EF (EIP-3541).
        let mut code = String::from("0x00");
        while code.len() < 2 * CODE_LEN {
            code.push_str(&format!("{:014x}", random.below(1 << 56)));
        }
        let word = |number: u32| format!("0x{number:064x}");
        let storage: Map<String, Value> =
            (1..4).map(|slot| (word(slot), json!(word(slot + 1)))).collect();
        let contract_parts = json!({ "balance": "0x0", "code": code, "storage": storage });
        alloc.insert(contract(index)[2..].to_owned(), contract_parts);
    }
    genesis.to_string()
}
