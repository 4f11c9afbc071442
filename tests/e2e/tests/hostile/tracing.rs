//! A thousand clients that ask for traces: time, memory and files have limits, and others are served meanwhile.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use esker_e2e::hostile::figures::{metric, mib, peak, resident};
use esker_e2e::hostile::requests::{ENDLESS, request};
use esker_e2e::hostile::{Latencies, RPC, Wire, frame};
use esker_e2e::{Node, until};
use serde_json::{Value, json};

use crate::support::{alone, assert_served, dev, measured};

const MIB: u64 = 1024 * 1024;
/// The bytes that the node may use besides: its threads, and a thousand connections.
const REST: u64 = 64 * MIB;
/// Where the clients that trace come from. Of an address that fills the queue its own further calls are refused.
const ATTACKER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
/// Where code of overrides lies.
const CONTRACT: &str = "0x00000000000000000000000000000000000000aa";

/// Calls itself with all its gas, until the depth or the gas ends, and then again after it.
const DEEP: &str = "0x5b600060006000600060003061fffff15060005600";
/// Reads a slot more each time.
const SLOTS: &str = "0x5b80545060010160015600";
/// Writes a megabyte of memory, then loops.
const WIDE: &str = "0x6001620fffff535b60005060265600";

fn trace_of(code: &str, mut config: Value) -> Value {
    config["stateOverrides"] = json!({ CONTRACT: { "code": code } });
    config["timeout"] = json!("10s");
    request("debug_traceCall", &json!([{ "to": CONTRACT, "gas": "0xffffffff" }, "latest", config]))
}

/// The bytes that tracing may add to the node's memory (docs/security.md): unread answers, and for each processor a
/// trace with the memory of its code and the data of its tracer.
fn most_memory() -> u64 {
    let processors = std::thread::available_parallelism().unwrap().get() as u64;
    192 * MIB + processors * (128 + 64) * MIB + REST
}

/// Traces that cost much, of each kind.
fn costly() -> Vec<Value> {
    vec![
        trace_of(ENDLESS, json!({})),
        trace_of(WIDE, json!({ "enableMemory": true, "enableReturnData": true })),
        trace_of(DEEP, json!({ "tracer": "callTracer", "tracerConfig": { "withLog": true } })),
        trace_of(DEEP, json!({ "tracer": "flatCallTracer" })),
        trace_of(
            SLOTS,
            json!({ "tracer": "prestateTracer", "tracerConfig": { "diffMode": true } }),
        ),
        trace_of(
            ENDLESS,
            json!({ "tracer": "muxTracer", "tracerConfig": { "callTracer": {}, "4byteTracer": {} } }),
        ),
        trace_of(ENDLESS, json!({ "tracer": "opcountTracer" })),
        trace_of(
            ENDLESS,
            json!({ "tracer": "{data: [], step: function() { this.data.push([1, 2, 3]) }, fault: function() {}, result: function() { return this.data }}" }),
        ),
    ]
}

/// Connections from another address of which each sends one of the requests and reads nothing.
fn deaf(node: SocketAddr, connections: usize, sockets: usize) -> Vec<Wire> {
    let bodies: Vec<String> = costly().iter().map(Value::to_string).collect();
    let http = (0..connections).map(|at| {
        let mut wire = Wire::open_from(ATTACKER, node).unwrap();
        wire.post(RPC, &bodies[at % bodies.len()]).unwrap();
        wire
    });
    let mut clients: Vec<_> = http.collect();
    clients.extend((0..sockets).map(|_| {
        let wire = Wire::open_from(ATTACKER, node).unwrap();
        let mut wire = wire.into_socket("/ext/bc/C/ws").unwrap();
        bodies.iter().for_each(|body| wire.send(&frame(body)).unwrap());
        wire
    }));
    clients
}

/// A thousand clients trace, read nothing, and leave after `lasts`; the most memory of the node, and what an honest
/// client waited for.
fn attacked(node: &Node, lasts: Duration) -> (Option<u64>, Latencies) {
    let before = resident(node.pid());
    let (spooled, latencies) = measured(node, |address| {
        let clients = deaf(address, 900, 100);
        let end = Instant::now() + lasts;
        let mut most = 0.0_f64;
        while Instant::now() < end {
            most = most.max(metric(node, "esker_http_reply_spool_bytes").unwrap());
            std::thread::sleep(Duration::from_millis(50));
        }
        drop(clients);
        most
    });
    println!("answers in files held at most {}", mib(spooled as u64));
    assert!(spooled <= (4_u64 << 30) as f64, "{spooled}");
    until("nothing of them runs, waits or is kept", || {
        let left =
            ["esker_rpc_calls_running", "esker_rpc_calls_waiting", "esker_http_reply_spool_bytes"]
                .map(|name| metric(node, name).unwrap());
        (left.iter().sum::<f64>() == 0.0).then_some(())
    });
    let grown = peak(node.pid()).zip(before).map(|(most, before)| most.saturating_sub(before));
    if let Some(grown) = grown {
        println!("the node grew by at most {}", mib(grown));
        assert!(grown < most_memory(), "{}", mib(grown));
    }
    (grown, latencies)
}

#[test]
fn a_thousand_clients_trace() {
    let _alone = alone();
    let node = dev().open_files(4096).start().unwrap();
    let (_, latencies) = attacked(&node, Duration::from_secs(5));
    assert_served("1,000 clients that trace", &latencies);
}

#[test]
#[ignore = "measures a release build: see docs/testing.md"]
fn slow_a_thousand_clients_trace() {
    let _alone = alone();
    let node = dev().open_files(4096).start().unwrap();
    let (_, latencies) = attacked(&node, Duration::from_secs(60));
    assert_served("1,000 clients that trace for a minute", &latencies);
    for name in ["blockNumber", "xvm.getHeight"] {
        assert!(latencies.longest_of(name) < Duration::from_secs(1), "{name}: {latencies}");
    }
}
