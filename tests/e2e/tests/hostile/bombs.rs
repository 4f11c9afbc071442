//! Code that takes long for its gas, of 64 connections from another address: others are served meanwhile.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use esker_e2e::funds::funded;
use esker_e2e::hostile::figures::metric;
use esker_e2e::hostile::requests::{batch, bombs, call_of, request};
use esker_e2e::hostile::{HonestClient, Latencies, RPC, Wire};
use esker_e2e::{Node, until};
use serde_json::{Value, json};

use crate::support::{LONGEST, alone, dev, now_s};

/// Where the attackers are.
const ELSEWHERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 0, 2));
/// The connections of an attack.
const CONNECTIONS: usize = 64;
/// Bytes that a batch has, as a rule: what is measured is code, not the reading of JSON.
const BODY: usize = 100_000;
/// Where code of overrides lies.
const CONTRACT: &str = "0x00000000000000000000000000000000000000aa";
/// The longest that honest calls may take beside any attack, in a release build.
const BAR: Duration = Duration::from_secs(1);

/// A thing that code does, by name: the call, and how many of it a batch has.
struct Attack {
    name: String,
    call: Value,
    times: usize,
}

/// Each bomb as a call, and some of them in other methods.
fn attacks() -> Vec<Attack> {
    let mut attacks = Vec::new();
    for (name, code) in bombs() {
        let times = (BODY / code.len()).clamp(1, 20);
        attacks.push(Attack { name: name.to_owned(), call: call_of(&code), times });
    }
    let code = |name: &str| {
        let found = bombs().into_iter().find(|(bomb, _)| *bomb == name);
        json!({ CONTRACT: { "code": found.unwrap().1 } })
    };
    let to = json!({ "to": CONTRACT });
    let hashes = code("hashes of 1 MiB in a loop");
    let mut other = |name: &str, method: &str, params: Value| {
        let call = request(method, &params);
        attacks.push(Attack { name: name.to_owned(), call, times: 1 });
    };
    other("estimates of hashes", "eth_estimateGas", json!([to, "latest", hashes]));
    let blocks = vec![json!({ "stateOverrides": hashes, "calls": [to] }); 8];
    other(
        "simulations of hashes",
        "eth_simulateV1",
        json!([{ "blockStateCalls": blocks }, "latest"]),
    );
    for tracer in ["", "callTracer", "prestateTracer", "opcountTracer"] {
        let mut config = json!({ "stateOverrides": hashes, "timeout": "60s" });
        if tracer.is_empty() {
            config["enableMemory"] = json!(true);
        } else {
            config["tracer"] = json!(tracer);
        }
        let name =
            format!("traces of hashes by {}", if tracer.is_empty() { "steps" } else { tracer });
        other(&name, "debug_traceCall", json!([to, "latest", config]));
    }
    attacks
}

/// The longest wait of an honest client meanwhile, and the time after the attackers left until none of their work
/// runs.
fn attacked(node: &Node, attack: &Attack, lasts: Duration) -> (Latencies, Duration) {
    let body = batch(&attack.call, attack.times);
    let honest = HonestClient::start(node.address(), funded(), now_s()).unwrap();
    let open = |address: SocketAddr| {
        let mut wire = Wire::open_from(ELSEWHERE, address).unwrap();
        wire.post(RPC, &body).unwrap();
        wire
    };
    let clients: Vec<Wire> = (0..CONNECTIONS).map(|_| open(node.address())).collect();
    std::thread::sleep(lasts);
    let latencies = honest.stop().unwrap();
    assert!(latencies.rounds() > 0, "{}: the honest client was not served", attack.name);
    drop(clients);
    let left = Instant::now();
    until("nothing of the attackers runs or waits", || {
        let calls = metric(node, "esker_rpc_calls_running").unwrap()
            + metric(node, "esker_rpc_calls_waiting").unwrap();
        (calls == 0.0).then_some(())
    });
    (latencies, left.elapsed())
}

fn check(lasts: Duration, longest: Duration) {
    let _alone = alone();
    let node = dev().start().unwrap();
    for attack in attacks() {
        let (latencies, ended) = attacked(&node, &attack, lasts);
        let waited = latencies.longest();
        let receipts = latencies.longest_of("getBlockReceipts");
        let code = latencies.longest_of("call of code");
        println!(
            "{}: honest {waited:.0?}, receipts {receipts:.0?}, code {code:.0?}; ended after {ended:.0?}",
            attack.name
        );
        assert!(waited < longest, "{}:\n{latencies}", attack.name);
    }
}

#[test]
fn long_code_of_64_connections() {
    check(Duration::from_secs(1), LONGEST);
}

#[test]
#[ignore = "measures a release build: see docs/testing.md"]
fn slow_long_code_of_64_connections() {
    check(Duration::from_secs(5), BAR);
}
