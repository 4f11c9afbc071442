//! Four validators for tests of faults: links that go through proxies, traffic of both chains and between them
//! meanwhile, and what holds at the end whatever happened.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use esker_e2e::{Mesh, Node, NodeBuilder, until};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::load::EVM;
use crate::support::PROGRAM;
use crate::validator_traffic::Traffic;
use crate::validators::{health, new_network, shorten_timeouts, status};

/// The validators of a network.
pub(crate) const VALIDATORS: usize = 4;

/// A network with short timeouts. Validators are numbered from 0.
pub(crate) struct Net {
    base_port: u16,
    links: Option<Mesh>,
    folder: TempDir,
}

impl Net {
    /// Validators that reach each other directly.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let network = folder.path().join("net");
        let base_port = new_network(&network, u16::try_from(VALIDATORS).unwrap());
        shorten_timeouts(&network);
        Self { base_port, links: None, folder }
    }

    /// Validators that reach each other through proxies: each has a network file with addresses of its own.
    pub(crate) fn with_links() -> Self {
        let net = Self::new();
        let targets: Vec<_> = (0..VALIDATORS).map(|number| net.peer_address(number)).collect();
        let links = Mesh::start(&targets).unwrap();
        for from in 0..VALIDATORS {
            net.write_network_file(from, |to| match to == from {
                true => targets[to],
                false => links.address(from, to),
            });
        }
        Self { links: Some(links), ..net }
    }

    /// Writes the network file of a validator, in which the others have other addresses.
    pub(crate) fn write_network_file(&self, of: usize, address: impl Fn(usize) -> SocketAddr) {
        let shared = std::fs::read(self.path().join("network.json")).unwrap();
        let mut content: Value = serde_json::from_slice(&shared).unwrap();
        for number in 0..VALIDATORS {
            content["esker"]["validators"][number]["address"] = address(number).to_string().into();
        }
        std::fs::write(self.network_file(of), content.to_string()).unwrap();
    }

    /// The proxies between the validators.
    pub(crate) fn links(&self) -> &Mesh {
        self.links.as_ref().unwrap()
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("net")
    }

    /// Where a validator listens for its peers.
    pub(crate) fn peer_address(&self, number: usize) -> SocketAddr {
        let port = self.base_port + 1 + 2 * u16::try_from(number).unwrap();
        SocketAddr::from((Ipv4Addr::LOCALHOST, port))
    }

    /// The folder with a validator's key and data.
    pub(crate) fn validator(&self, number: usize) -> PathBuf {
        self.path().join(format!("validator-{}", number + 1))
    }

    fn network_file(&self, number: usize) -> PathBuf {
        self.path().join(format!("network-of-{number}.json"))
    }

    pub(crate) fn builder(&self, number: usize) -> NodeBuilder {
        self.builder_in(number, &self.validator(number))
    }

    /// As [`Self::builder`], with the key and the data of another folder.
    pub(crate) fn builder_in(&self, number: usize, folder: &Path) -> NodeBuilder {
        let own = self.network_file(number);
        let file = if own.exists() { own } else { self.path().join("network.json") };
        NodeBuilder::new(PROGRAM)
            .network(file)
            .data_dir(folder.join("data"))
            .arg("--validator-key")
            .arg(folder.join("key"))
    }

    pub(crate) fn start(&self, number: usize) -> Node {
        self.builder(number).start().unwrap()
    }

    pub(crate) fn start_all(&self) -> Vec<Node> {
        let starting: Vec<_> =
            (0..VALIDATORS).map(|number| self.builder(number).spawn().unwrap()).collect();
        starting.into_iter().map(|node| node.wait().unwrap()).collect()
    }

    /// The traffic ends; all that was accepted is accepted on all nodes, which have the same blocks; the store of each is
    /// sound, and the native asset conserved. `nodes` are those that are honest, with their numbers.
    pub(crate) fn finish(self, nodes: Vec<(usize, Node)>, traffic: Traffic) {
        let sent = traffic.stop();
        assert!(!sent.is_empty());
        let all: Vec<&Node> = nodes.iter().map(|(_, node)| node).collect();
        for tx in &sent {
            for node in &all {
                let what = format!("{tx:?} is accepted on all");
                until(&what, || tx.is_accepted_at(node.address()).then_some(()));
            }
        }
        assert_same_blocks(&all);
        let mut supplies = Vec::new();
        for (number, node) in nodes {
            assert!(node.stop().unwrap().success());
            assert_stopped_quietly(&self.validator(number).join("data"));
            supplies.push(verify(&self.path(), number + 1));
        }
        assert!(supplies.iter().all(|supply| *supply == supplies[0]), "{supplies:?}");
        eprintln!("{} transactions are on all; {}", sent.len(), supplies[0]);
    }
}

/// A stop is logged without errors, which operators are alerted by.
fn assert_stopped_quietly(data: &Path) {
    let log = std::fs::read_to_string(data.join("logs/main.log")).unwrap();
    let (_, end) = log.rsplit_once(" stopping").unwrap_or_else(|| panic!("{log}"));
    assert!(end.contains(" stopped") && !end.contains("ERROR"), "{end}");
}

/// All nodes have the blocks of the first, of both chains at every height.
pub(crate) fn assert_same_blocks(nodes: &[&Node]) {
    let heights = heights(nodes[0]);
    let first = blocks(nodes[0], heights);
    for node in &nodes[1..] {
        wait_for_heights(node, heights);
        assert_eq!(blocks(node, heights), first);
    }
}

/// Waits until a node has blocks up to these heights.
pub(crate) fn wait_for_heights(node: &Node, (x, c): (u64, u64)) {
    until("it has the blocks of another", || {
        let (own_x, own_c) = heights(node);
        (own_x >= x && own_c >= c).then_some(())
    });
}

/// The heights of X and C.
pub(crate) fn heights(node: &Node) -> (u64, u64) {
    let c: String = node.rpc().call(EVM, "eth_blockNumber", json!([])).unwrap();
    let c = u64::from_str_radix(c.trim_start_matches("0x"), 16).unwrap();
    (node.x().get_height().unwrap(), c)
}

/// The IDs of all blocks of both chains up to these heights.
fn blocks(node: &Node, (x, c): (u64, u64)) -> Vec<String> {
    let on_x = (0..=x).map(|height| node.x().get_block_by_height(height).unwrap().id().to_string());
    let on_c = (0..=c).map(|height| {
        let params = json!([format!("{height:#x}"), false]);
        let block: Value = node.rpc().call(EVM, "eth_getBlockByNumber", params).unwrap();
        block["hash"].as_str().unwrap().to_owned()
    });
    on_x.chain(on_c).collect()
}

/// `esker db verify` of a validator, numbered from 1, finds nothing; what it says of the native supply.
pub(crate) fn verify(network: &Path, number: usize) -> String {
    let config = network.join(format!("validator-{number}/config.toml"));
    let mut command = Command::new(PROGRAM);
    let command = command.args(["db", "verify", "--config"]).arg(config).stdin(Stdio::null());
    let reported = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(reported.ends_with("\nnothing is wrong\n"), "validator {number}: {reported}");
    let supply = reported.lines().find(|line| line.contains("native supply: "));
    supply.unwrap_or_else(|| panic!("{reported}")).trim().to_owned()
}

/// Waits until a node has so many peers.
pub(crate) fn wait_for_peers(node: &Node, peers: usize) {
    until("it has its peers", || (status(node)["peers"] == peers).then_some(()));
}

/// Waits until a node says that it is connected to too few to decide.
pub(crate) fn wait_for_lost_quorum(node: &Node) {
    until("it misses the others", || health(node).0.map(|_| ()));
}

pub(crate) fn signal(node: &Node, name: &str) {
    let args = [format!("-{name}"), node.pid().to_string()];
    assert!(Command::new("kill").args(args).status().unwrap().success());
}

/// The lines of a node's output that contain a text.
pub(crate) fn lines_with(node: &Node, text: &str) -> Vec<String> {
    node.output().lines().filter(|line| line.contains(text)).map(str::to_owned).collect()
}
