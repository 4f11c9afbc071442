//! Every method, with the largest answer and the longest call that a small request can ask for.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use esker_e2e::Node;
use esker_e2e::funds::funded;
use esker_e2e::hostile::figures::{Watch, metric, mib};
use esker_e2e::hostile::requests::request;
use esker_e2e::hostile::{HonestClient, Wire};
use esker_e2e::tables::{SWITCHES, full_name, is_positional, tables};
use esker_e2e::until;
use serde_json::Value;

use crate::demands::demands;
use crate::stock::{Amounts, prepare};
use crate::support::{LONGEST, alone, dev, now_s};

/// Of the indexes, the one with the largest containers.
const INDEX: &str = "/ext/index/X/block";
/// The longest body of a request.
const SMALL: usize = 1024;
/// The most bytes of an answer to a request: `http-connection-reply-memory`.
const MOST_BYTES: usize = 64 * 1024 * 1024;
/// How long a call may take (`api-max-duration`): short, so that many methods are tried in a short time, and long enough
/// for the calls of the honest client and for the largest answers beside other tests.
const MAX_DURATION: Duration = Duration::from_secs(5);
/// How many more connections send the same over and over and read the answers.
const ATTACKERS: usize = 4;
/// Memory that is not a file's, bytes, beyond that before: the memory of replies, and what a few calls have in hand.
const MEMORY: u64 = 1024 * 1024 * 1024;

/// The measurements of one method.
#[derive(Debug)]
struct Figures {
    method: String,
    /// The largest of the answers, bytes.
    bytes: usize,
    /// The longest of the calls.
    took: Duration,
    memory: u64,
    /// The longest call of an honest client meanwhile.
    honest: Duration,
    /// The texts of the answers that are errors.
    errors: Vec<String>,
}

/// Every method that is served, by name, with a path.
fn served() -> BTreeMap<String, String> {
    let mut served = BTreeMap::new();
    for (path, service) in tables().unwrap() {
        for info in service.methods() {
            let known = served.entry(full_name(&path, info)).or_insert_with(|| path.clone());
            if path == INDEX {
                known.clone_from(&path);
            }
        }
    }
    served
}

/// One call in a body.
fn body(path: &str, method: &str, params: &Value) -> String {
    let body = request(method, params).to_string();
    assert!(body.len() <= SMALL, "{path} {method}: {} bytes", body.len());
    body
}

/// As many of the calls as a small body holds.
fn batch(path: &str, body: &str) -> String {
    if !is_positional(path) {
        return body.to_owned();
    }
    let times = ((SMALL - 1) / (body.len() + 1)).max(1);
    if times == 1 { body.to_owned() } else { format!("[{}]", vec![body; times].join(",")) }
}

/// Sends the bodies in turn until `stop` is set.
fn attack(
    node: SocketAddr,
    path: &str,
    bodies: &[String],
    first: usize,
) -> (impl FnOnce() + Send + 'static, std::thread::JoinHandle<()>) {
    let mut wire = Wire::open(node).unwrap();
    let close = wire.closer().unwrap();
    let (path, bodies) = (path.to_owned(), bodies.to_vec());
    let work = move || {
        for body in bodies.iter().cycle().skip(first % bodies.len()) {
            // It ends when the connection does, by whichever side.
            if wire.call(&path, body).is_err() {
                return;
            }
        }
    };
    (close, std::thread::spawn(work))
}

/// Lets hostile clients ask for a method for a while.
fn run_attack(node: &Node, path: &str, bodies: &[String], lasts: Duration) {
    let address = node.address();
    let attackers: Vec<_> = (0..ATTACKERS).map(|n| attack(address, path, bodies, n)).collect();
    // One reads nothing.
    let mut deaf = Wire::open(address).unwrap();
    for body in bodies {
        deaf.post(path, body).unwrap();
    }
    // One asks and leaves, again and again.
    let end = Instant::now() + lasts;
    while Instant::now() < end {
        for body in bodies {
            Wire::open(address).unwrap().post(path, body).unwrap();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    for (close, thread) in attackers {
        close();
        thread.join().unwrap();
    }
}

/// Tries every method. What is asserted of all holds in any build on any machine.
fn sweep(amounts: &Amounts, lasts: Duration) -> Vec<Figures> {
    let mut node = dev();
    for switch in SWITCHES {
        node = node.arg(switch);
    }
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config.toml");
    let text = format!(
        "[chains.C]\nadmin-api-enabled = true\napi-max-duration = \"{}ms\"\n",
        MAX_DURATION.as_millis()
    );
    std::fs::write(&config, text).unwrap();
    let node = node.config(config).start().unwrap();
    let begun = Instant::now();
    let stock = prepare(&node, amounts);
    println!("prepared in {:?}", begun.elapsed());
    let watch = Watch::start(node.pid());
    let honest = HonestClient::start(node.address(), funded(), now_s()).unwrap();
    let mut all = Vec::new();
    let before = esker_e2e::hostile::figures::anonymous(node.pid()).unwrap_or_default();
    let mut served: Vec<_> = served().into_iter().collect();
    // The others are asked about transactions that wait, which these put into blocks, or make too old.
    served.sort_by_key(|(name, _)| name.ends_with("mine") || name.contains("Time"));
    for (method, path) in served {
        let Some(rows) = demands(&method, &stock) else {
            panic!("{method} is served and has no row in demands.rs")
        };
        let mut figures = Figures {
            method: method.clone(),
            bytes: 0,
            took: Duration::ZERO,
            memory: 0,
            honest: Duration::ZERO,
            errors: Vec::new(),
        };
        let bodies: Vec<_> = rows.iter().map(|params| body(&path, &method, params)).collect();
        watch.take_most();
        honest.take_longest();
        for body in &bodies {
            let mut wire = Wire::open(node.address()).unwrap();
            let begun = Instant::now();
            let reply = wire.call(&path, body).unwrap();
            figures.took = figures.took.max(begun.elapsed());
            figures.bytes = figures.bytes.max(reply.body.len());
            let reply = reply.json().unwrap_or_else(|error| panic!("{method}: {error}"));
            if let Some(text) = reply["error"]["message"].as_str() {
                figures.errors.push(text.chars().take(60).collect());
            }
        }
        let batches: Vec<_> = bodies.iter().map(|body| batch(&path, body)).collect();
        run_attack(&node, &path, &batches, lasts);
        figures.memory = watch.take_most();
        figures.honest = honest.take_longest();
        assert!(honest.is_working(), "{method}: {:?}", honest.stop().unwrap_err());
        all.push(figures);
    }
    let latencies = honest.stop().unwrap();
    println!("{}", table(&all));
    println!("from {}; the honest client:\n{latencies}", mib(before));
    for figures in &all {
        let Figures { method, bytes, took, memory, honest, .. } = figures;
        assert!(*bytes <= MOST_BYTES, "{method}: {bytes} bytes");
        assert!(*took < MAX_DURATION + LONGEST, "{method}: {took:?}");
        assert!(*memory < before + MEMORY, "{method}: {}", mib(*memory));
        assert!(*honest < LONGEST, "{method}: an honest client waited {honest:?}");
    }
    until("nothing of them is left", || {
        let running = metric(&node, "esker_rpc_calls_running").unwrap();
        let held = metric(&node, "esker_http_reply_memory_bytes").unwrap();
        (running == 0.0 && held == 0.0).then_some(())
    });
    all
}

fn table(all: &[Figures]) -> String {
    let mut table =
        "| Method | Answer, bytes | ms | Memory, MiB | HonestClient, ms | Errors |\n".to_owned();
    table.push_str("|---|---|---|---|---|---|\n");
    for Figures { method, bytes, took, memory, honest, errors } in all {
        let (took, honest) = (took.as_secs_f64() * 1000.0, honest.as_secs_f64() * 1000.0);
        let (memory, errors) = (memory / 1024 / 1024, errors.join("; "));
        let _ = writeln!(
            table,
            "| {method} | {bytes} | {took:.1} | {memory} | {honest:.1} | {errors} |"
        );
    }
    table
}

#[test]
fn the_most_of_each_method() {
    let _alone = alone();
    let amounts = Amounts {
        long: 10,
        transfers: 100,
        slots: 1,
        logs: 1,
        waiting: 10,
        outputs: 3,
        assets: 3,
        addresses: 2,
    };
    let all = sweep(&amounts, Duration::from_millis(60));
    // It asks for much indeed.
    let of = |method: &str| all.iter().find(|figures| figures.method == method).unwrap();
    for (method, least) in [
        ("evm_call", 10_000_000),
        ("evm_getLogs", 1_000_000),
        ("evm_getBlockByNumber", 2_000_000),
        ("evm_getBlockReceipts", 2_000_000),
        ("debug_dumpBlock", 50_000),
        ("debug_storageRangeAt", 100_000),
        ("debug_getRawBlock", 2_000_000),
        ("txpool_content", 2_000_000),
        ("xvm.getUTXOs", 100_000),
        // Of all the outputs, which are more than are added up briefly.
        ("xvm.getBalance", 100_000),
        ("xvm.getTx", 100_000),
    ] {
        assert!(of(method).bytes > least, "{:?}", of(method));
    }
    for method in ["evm_call", "evm_estimateGas", "evm_simulateV1"] {
        assert!(of(method).took >= Duration::from_millis(100), "{:?}", of(method));
    }
}

#[test]
#[ignore = "measures a release build: see docs/testing.md"]
fn slow_the_most_of_each_method() {
    let _alone = alone();
    let amounts = Amounts {
        long: 28,
        transfers: 700,
        slots: 16,
        logs: 8,
        waiting: 90,
        outputs: 20,
        assets: 200,
        addresses: 100,
    };
    for figures in sweep(&amounts, Duration::from_secs(1)) {
        assert!(figures.honest < Duration::from_secs(1), "{figures:?}");
    }
}
