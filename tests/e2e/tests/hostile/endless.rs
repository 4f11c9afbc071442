//! Calls that never end: they get the remaining time, and end with their clients.

use std::time::{Duration, Instant};

use esker_e2e::hostile::figures::metric;
use esker_e2e::hostile::requests::{ENDLESS, batch, call_of, precompiled, request};
use esker_e2e::hostile::{RPC, Wire, frame};
use esker_e2e::until;
use serde_json::{Value, json};

use crate::support::{alone, assert_served, dev, measured};

/// How long an attack goes on.
const LASTS: Duration = Duration::from_secs(4);

/// Clients that send this and wait.
fn sent(node: std::net::SocketAddr, clients: usize, body: &str) -> Vec<Wire> {
    let send = || {
        let mut wire = Wire::open(node).unwrap();
        wire.post(RPC, body).unwrap();
        wire
    };
    (0..clients).map(|_| send()).collect()
}

#[test]
fn endless_calls_of_many_connections() {
    let _alone = alone();
    let node = dev().start().unwrap();
    let body = batch(&call_of(ENDLESS), 1000);
    let ((), latencies) = measured(&node, |address| {
        let clients = sent(address, 64, &body);
        std::thread::sleep(LASTS);
        drop(clients);
    });
    assert_served("64 connections, each with a batch of 1,000 endless calls", &latencies);
    let left = Instant::now();
    until("no call of a client that has left runs or waits", || {
        let calls = metric(&node, "esker_rpc_calls_running").unwrap()
            + metric(&node, "esker_rpc_calls_waiting").unwrap();
        (calls == 0.0).then_some(())
    });
    println!("their work ended after {:?}", left.elapsed());
}

#[test]
fn endless_calls_over_websockets() {
    let _alone = alone();
    let node = dev().start().unwrap();
    let text = call_of(ENDLESS).to_string();
    let ((), latencies) = measured(&node, |address| {
        let open = || {
            let mut wire = Wire::open_socket(address, "/ext/bc/C/ws").unwrap();
            (0..40).for_each(|_| wire.send(&frame(&text)).unwrap());
            wire
        };
        let sockets: Vec<_> = (0..32).map(|_| open()).collect();
        std::thread::sleep(LASTS);
        drop(sockets);
    });
    assert_served("32 websockets, each with 40 endless calls", &latencies);
    until("the websockets' calls have ended", || {
        (metric(&node, "esker_rpc_calls_running").unwrap() == 0.0).then_some(())
    });
}

#[test]
fn calls_that_are_long_in_other_ways() {
    let _alone = alone();
    let node = dev().start().unwrap();
    // Burns what it is given, but for the last, so that an estimate has to look for long.
    let greedy = "0x5b615208 5a11600057 00".replace(' ', "");
    let estimate = request(
        "eth_estimateGas",
        &json!([{ "to": CONTRACT }, "latest", { CONTRACT: { "code": greedy } }]),
    );
    let blocks: Vec<Value> = (0..64)
        .map(|_| json!({ "stateOverrides": { CONTRACT: { "code": ENDLESS } }, "calls": [{ "to": CONTRACT }] }))
        .collect();
    let simulate = request("eth_simulateV1", &json!([{ "blockStateCalls": blocks }, "latest"]));
    // Precompiled contracts can't be stopped within: identity, SHA-256, modular exponentiation.
    let calls = [precompiled(4, 1 << 20), precompiled(2, 1 << 16), precompiled(5, 96)];
    let ((), latencies) = measured(&node, |address| {
        let bodies: Vec<_> = calls.iter().chain([&estimate, &simulate]).collect();
        let clients: Vec<_> =
            bodies.into_iter().map(|call| sent(address, 8, &batch(call, 100))).collect();
        std::thread::sleep(LASTS);
        drop(clients);
    });
    assert_served("40 connections with long estimates, simulations and precompiles", &latencies);
}

/// Where code of overrides lies.
const CONTRACT: &str = "0x00000000000000000000000000000000000000aa";

#[test]
fn clients_that_leave_at_once() {
    let _alone = alone();
    let node = dev().start().unwrap();
    let body = batch(&call_of(ENDLESS), 1000);
    let ((), latencies) = measured(&node, |address| {
        for _ in 0..20 {
            drop(sent(address, 20, &body));
        }
    });
    assert_served("400 clients that send a batch of endless calls and leave", &latencies);
    until("nothing of them is left", || {
        let connections = metric(&node, "esker_http_connections").unwrap();
        let running = metric(&node, "esker_rpc_calls_running").unwrap();
        // The one that asks is there.
        (connections <= 1.0 && running == 0.0).then_some(())
    });
}
