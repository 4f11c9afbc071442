//! Calls whose arguments are large: what they take is limited for each client and for all.

use std::net::SocketAddr;
use std::time::Duration;

use esker_e2e::hostile::figures::{Watch, anonymous, metric, mib};
use esker_e2e::hostile::requests::request;
use esker_e2e::hostile::{RPC, Wire, frame};
use esker_e2e::until;
use serde_json::{Map, Value, json};

use crate::support::{alone, assert_served, dev, measured};

pub(crate) const MIB: u64 = 1024 * 1024;

/// Accounts with other balances.
fn overrides(accounts: u32) -> Value {
    let account = |n: u32| (format!("0x{:040x}", n + 0x1000), json!({ "balance": "0x1" }));
    Value::Object((0..accounts).map(account).collect::<Map<_, _>>())
}

fn simulate(overrides: &Value) -> String {
    let blocks = json!([{ "stateOverrides": overrides, "calls": [{}] }]);
    request("eth_simulateV1", &json!([{ "blockStateCalls": blocks }, "latest"])).to_string()
}

/// How calls were answered.
#[derive(Debug, Default)]
struct Answers {
    results: usize,
    /// Refused, because other calls had the memory.
    full: usize,
}

/// Sends all over connections of their own, and reads the answers.
fn ask(node: SocketAddr, bodies: &[&str]) -> Answers {
    let asked = |body: &str| {
        let mut wire = Wire::open(node).unwrap();
        wire.call(RPC, body).unwrap().json().unwrap()
    };
    let replies: Vec<_> = std::thread::scope(|scope| {
        let clients: Vec<_> = bodies.iter().map(|body| scope.spawn(|| asked(body))).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let mut answers = Answers::default();
    for reply in replies {
        let text = reply["error"]["message"].as_str().unwrap_or_default();
        match text {
            "" => answers.results += 1,
            text if text.starts_with("other calls take the memory that there is:") => {
                assert!(text.contains("http-call-memory"), "{text}");
                answers.full += 1;
            }
            text => panic!("{text}"),
        }
    }
    answers
}

/// The most memory that the node's process took for this on top, bytes; 0 where it can't be read.
pub(crate) fn taken<T>(pid: u32, work: impl FnOnce() -> T) -> (u64, T) {
    let before = anonymous(pid).unwrap_or_default();
    let watch = Watch::start(pid);
    let done = work();
    (watch.take_most().saturating_sub(before), done)
}

#[test]
fn many_calls_with_large_arguments() {
    let _alone = alone();
    let limit = 24 * MIB;
    let node = dev().arg("--http-client-call-memory").arg(limit.to_string()).start().unwrap();
    let overrides = overrides(10_000);
    let contract = "0x00000000000000000000000000000000000000aa";
    let with_overrides = |method: &str| {
        request(method, &json!([{ "to": contract }, "latest", overrides])).to_string()
    };
    let (call, estimate) = (with_overrides("eth_call"), with_overrides("eth_estimateGas"));
    let simulate = simulate(&overrides);
    let bodies: Vec<&str> =
        [&*call, &estimate, &simulate].into_iter().flat_map(|body| [body; 16]).collect();
    let ((most, answers), latencies) =
        measured(&node, |address| taken(node.pid(), || ask(address, &bodies)));
    println!("48 calls with 10,000 overrides take {} on top: {answers:?}", mib(most));
    assert_served("48 calls with 10,000 overrides", &latencies);
    assert!(answers.results > 0 && answers.results + answers.full == bodies.len(), "{answers:?}");
    // Beside the limit: the bodies, and what the threads of the node keep.
    assert!(most < limit + 130 * MIB, "{}", mib(most));
    until("all of it is free", || {
        (metric(&node, "esker_rpc_call_memory_bytes").unwrap() == 0.0).then_some(())
    });
}

#[test]
fn a_call_that_needs_more_than_its_client_may_have() {
    let _alone = alone();
    let node = dev().arg("--http-client-call-memory").arg((8 * MIB).to_string()).start().unwrap();
    // Three bytes of text become half a kilobyte.
    let small = format!("[{}]", vec!["{}"; 20_000].join(","));
    let calls: Value = serde_json::from_str(&small).unwrap();
    let blocks = json!([{ "calls": calls }]);
    let bomb = request("eth_simulateV1", &json!([{ "blockStateCalls": blocks }, "latest"]));
    let bombs = [simulate(&overrides(20_000)), bomb.to_string()];
    let text = "the call needs more memory than the 8388608 bytes that the calls of a client may take \
                (http-client-call-memory)";
    let (most, ()) = taken(node.pid(), || {
        for bomb in &bombs {
            let mut wire = Wire::open(node.address()).unwrap();
            let reply = wire.call(RPC, bomb).unwrap().json().unwrap();
            assert_eq!(reply["error"], json!({ "code": -32005, "message": text }), "{:.100}", bomb);
        }
    });
    println!("two such calls take {} on top", mib(most));
    assert!(most < 100 * MIB, "{}", mib(most));
    // A small call of the same client is served.
    let mut wire = Wire::open(node.address()).unwrap();
    let reply = wire.call(RPC, &simulate(&overrides(10))).unwrap().json().unwrap();
    assert!(reply["result"].is_array(), "{reply}");
    until("all of it is free", || {
        (metric(&node, "esker_rpc_call_memory_bytes").unwrap() == 0.0).then_some(())
    });
}

#[test]
fn calls_of_clients_that_leave_hold_nothing() {
    let _alone = alone();
    let node = dev().arg("--http-client-call-memory").arg((16 * MIB).to_string()).start().unwrap();
    let body = simulate(&overrides(10_000));
    for _ in 0..3 {
        let clients: Vec<_> = (0..8)
            .map(|n| {
                let mut wire = match n % 2 {
                    0 => Wire::open(node.address()).unwrap(),
                    _ => Wire::open_socket(node.address(), "/ext/bc/C/ws").unwrap(),
                };
                match n % 2 {
                    0 => wire.post(RPC, &body).unwrap(),
                    _ => wire.send(&frame(&body)).unwrap(),
                }
                wire
            })
            .collect();
        until("a call holds memory", || {
            (metric(&node, "esker_rpc_call_memory_bytes").unwrap() > 0.0).then_some(())
        });
        drop(clients);
        until("none holds any", || {
            (metric(&node, "esker_rpc_call_memory_bytes").unwrap() == 0.0).then_some(())
        });
    }
}

/// As docs/security.md has it, "Memory of calls".
#[test]
#[ignore = "measures a release build: see docs/testing.md"]
fn slow_simulations_with_70_000_overrides() {
    let _alone = alone();
    let overrides = overrides(70_000);
    let contract = "0x00000000000000000000000000000000000000aa";
    let of = |method: &str| {
        request(method, &json!([{ "to": contract }, "latest", overrides])).to_string()
    };
    let simulate = simulate(&overrides);
    let attacks =
        [(1, simulate.clone()), (40, simulate), (48, of("eth_call")), (48, of("eth_estimateGas"))];
    for (times, body) in attacks {
        let node = dev().start().unwrap();
        let bodies = vec![&*body; times];
        let ((most, answers), latencies) =
            measured(&node, |address| taken(node.pid(), || ask(address, &bodies)));
        println!("{times} times {:.60}: {} on top, {answers:?}\n{latencies}", &body, mib(most));
        assert!(most < 268 * MIB, "{}", mib(most));
        assert!(latencies.longest() < Duration::from_secs(1), "{latencies}");
    }
}
