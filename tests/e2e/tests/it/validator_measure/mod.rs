//! How fast validators decide: figures for docs/performance.md, not assertions.
//!
//! Networks of different sizes take payments on X and transfers on C over several nodes, first at a steady rate, then as
//! fast as the clients can. The result is a table, and a file for `cargo xtask plots`.

mod figures;
mod load;
mod watch;

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use esker_e2e::until::until_within;
use esker_e2e::{Node, NodeBuilder, until};
use serde_json::{Value, json};

use self::figures::{Figures, Usage};
use self::load::{Batch, Funds, SENDERS, Sent};
use self::watch::Watch;
use crate::support::PROGRAM;
use crate::validators::{new_network, status};

/// How long all transactions of a phase may take to be accepted after the last was sent.
const PATIENCE: Duration = Duration::from_secs(120);

/// A number from the environment.
fn variable(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |text| text.parse().expect("a whole number"))
}

/// Lets the blocks of the C-Chain hold what is sent, at a fee that does not move.
fn widen_blocks(network: &Path) {
    let file = network.join("network.json");
    let mut content: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    content["esker"]["evm"] = json!({
        "gasLimit": 3_000_000_000_u64,
        "targetGas": u64::MAX,
        "minBaseFee": 1_000_000_000,
        "blockGasCostStep": 0,
    });
    std::fs::write(file, content.to_string()).unwrap();
}

fn start(network: &Path, number: usize) -> Node {
    let program = std::env::var_os("MEASURED_NODE").unwrap_or_else(|| OsString::from(PROGRAM));
    let folder = network.join(format!("validator-{number}"));
    NodeBuilder::new(program)
        .network(network.join("network.json"))
        .data_dir(folder.join("data"))
        .arg("--validator-key")
        .arg(folder.join("key"))
        .start()
        .unwrap()
}

/// Sends a batch and waits until the watched nodes have accepted all of it. `interval`: of each sender.
fn run(nodes: &[Node], ports: &[u16], batch: Batch, interval: Option<Duration>) -> Figures {
    let count = batch.len();
    let last = nodes.len() - 1;
    let watched: Vec<usize> = if last == 0 { vec![0] } else { vec![0, last] };
    let mut watches: Vec<Watch> =
        watched.iter().map(|node| Watch::start(nodes[*node].address())).collect();
    let (usage, begun) = (Usage::now(nodes, ports), Instant::now());
    let addresses: Vec<_> = nodes.iter().map(Node::address).collect();
    let sent: HashMap<String, Sent> = thread::scope(|scope| {
        let senders: Vec<_> = batch
            .into_senders()
            .into_iter()
            .map(|sender| {
                let addresses = &addresses;
                scope.spawn(move || sender.send_all(addresses, interval))
            })
            .collect();
        senders.into_iter().flat_map(|sender| sender.join().unwrap()).collect()
    });
    for watch in &mut watches {
        until_within("all is accepted", PATIENCE, || (watch.count() >= count).then_some(()));
    }
    let used = Usage::now(nodes, ports).since(&usage);
    let seen: Vec<_> = watches.into_iter().map(Watch::end).collect();
    let ended = seen.iter().flat_map(HashMap::values).max().copied().unwrap();
    Figures::new(&sent, &seen, ended - begun, used)
}

/// Measures a network of this size. Returns each phase in words, and as a row of the file.
fn measure(validators: usize) -> Vec<(String, Value)> {
    let seconds = variable("MEASURED_SECONDS", 20);
    let rate = variable("MEASURED_RATE", 200);
    let full = variable("MEASURED_FULL", 20_000);
    let folder = tempfile::tempdir().unwrap();
    let network = folder.path().join("net");
    let base = new_network(&network, u16::try_from(validators).unwrap());
    widen_blocks(&network);
    let nodes: Vec<Node> = (1..=validators).map(|number| start(&network, number)).collect();
    for node in &nodes {
        until("each validator has its peers", || {
            (status(node)["peers"] == validators - 1).then_some(())
        });
    }
    let ports: Vec<u16> =
        (0..validators).map(|n| base + 2 * u16::try_from(n).unwrap() + 1).collect();
    // Halves for X and for C, in equal parts for the senders.
    let of_sender = |txs: usize| txs.div_ceil(2 * SENDERS);
    let mut funds = Funds::new(&nodes[0], of_sender(rate * seconds) + of_sender(full));
    let interval = Duration::from_secs_f64((2 * SENDERS) as f64 / rate as f64);
    let mut rows = Vec::new();
    for (phase, txs, interval) in [("steady", rate * seconds, Some(interval)), ("full", full, None)]
    {
        let batch = funds.batch(of_sender(txs));
        let figures = run(&nodes, &ports, batch, interval);
        let text = format!("{validators} validators, {phase}: {}", figures.describe());
        rows.push((text, figures.row(validators, phase)));
    }
    for node in nodes {
        assert!(node.stop().unwrap().success());
    }
    rows
}

/// `MEASURED_NODE` names the binary; `MEASURED_VALIDATORS` (1,4,7), `MEASURED_SECONDS` and `MEASURED_RATE` (transactions a
/// second of both chains together) of the steady phase, `MEASURED_FULL` (transactions of the other phase) say how much;
/// `MEASURED_OUT` names the file for the plots.
#[test]
#[ignore = "measures a release build: see docs/performance.md"]
fn slow_how_fast_validators_are() {
    let sizes = std::env::var("MEASURED_VALIDATORS").unwrap_or_else(|_| "1,4,7".to_owned());
    let sizes = sizes.split(',').map(|size| size.parse().expect("numbers of validators"));
    let mut rows = Vec::new();
    for (text, row) in sizes.flat_map(measure) {
        println!("{text}");
        rows.push(row);
    }
    if let Some(file) = std::env::var_os("MEASURED_OUT") {
        let lines: Vec<String> = rows.iter().map(|row| format!("  {row}")).collect();
        std::fs::write(file, format!("[\n{}\n]\n", lines.join(",\n"))).unwrap();
    }
}
