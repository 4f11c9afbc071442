//! Traces: those of the recorded chain, and when one ends early.

use std::time::Instant;

use esker_client::RpcClient;
use esker_e2e::Node;
use serde_json::{Value, json};

use crate::support::local;

const PATH: &str = "/ext/bc/C/rpc";

fn call(rpc: &mut RpcClient, method: &str, params: Value) -> Value {
    rpc.call(PATH, method, params).unwrap()
}

/// The trace of a transaction alone is its member of the block's, and both agree with the receipt.
pub(crate) fn assert_traces_agree(node: &Node, last: u64) {
    let mut rpc = node.rpc();
    let mut count = 0;
    for height in 1..=last {
        let at = format!("{height:#x}");
        let receipts = call(&mut rpc, "eth_getBlockReceipts", json!([at]));
        for config in [
            json!({ "tracer": "callTracer", "tracerConfig": { "withLog": true } }),
            Value::Null,
            json!({ "tracer": "callTracerLegacy" }),
        ] {
            let all = call(&mut rpc, "debug_traceBlockByNumber", json!([at, config]));
            let (all, receipts) = (all.as_array().unwrap(), receipts.as_array().unwrap());
            assert_eq!(all.len(), receipts.len(), "block {height}");
            for (member, receipt) in all.iter().zip(receipts) {
                let hash = &receipt["transactionHash"];
                assert_eq!(&member["txHash"], hash);
                let alone = call(&mut rpc, "debug_traceTransaction", json!([hash, config]));
                assert_eq!(member["result"], alone, "{hash}");
                let succeeded = receipt["status"] == "0x1";
                if config.is_null() {
                    assert_eq!(
                        format!("{:#x}", alone["gas"].as_u64().unwrap()),
                        receipt["gasUsed"]
                    );
                    assert_eq!(alone["failed"], !succeeded, "{hash}");
                } else {
                    assert_eq!(alone["gasUsed"], receipt["gasUsed"], "{hash}");
                    assert_eq!(alone.get("error").is_none(), succeeded, "{hash}");
                    // The script knows no logs.
                    if config["tracer"] == "callTracer" {
                        let logs = receipt["logs"].as_array().unwrap().len();
                        assert_eq!(logs_in(&alone), logs, "{hash}");
                    }
                }
                count += 1;
            }
        }
    }
    assert!(count > 300, "{count}");
}

fn logs_in(frame: &Value) -> usize {
    let own = frame["logs"].as_array().map_or(0, Vec::len);
    own + frame["calls"].as_array().into_iter().flatten().map(logs_in).sum::<usize>()
}

#[test]
fn a_trace_ends_at_its_time_and_where_it_is_too_much() {
    let node = local().dev().start().unwrap();
    let mut rpc = node.rpc();
    let to = "0x00000000000000000000000000000000000000aa";
    let mut trace = |code: &str, config: Value| {
        let mut config = config;
        config["stateOverrides"] = json!({ to: { "code": code } });
        let params = json!([{ "to": to, "gas": "0xffffffffffff" }, "latest", config]);
        let error = rpc.call::<Value>(PATH, "debug_traceCall", params).unwrap_err();
        error.to_string()
    };
    // JUMPDEST, PUSH 0, JUMP.
    let endless = "0x5b600056";
    let begun = Instant::now();
    let text = trace(endless, json!({ "tracer": "callTracer", "timeout": "200ms" }));
    assert!(text.contains("execution timeout"), "{text}");
    assert!(begun.elapsed().as_secs() < 5);
    let text = trace(endless, json!({ "tracer": "callTracer", "timeout": "-1s" }));
    assert!(text.contains("execution timeout"), "{text}");
    let text = trace(endless, json!({ "timeout": "x" }));
    assert!(text.contains("time: invalid duration"), "{text}");
}

/// A small call whose trace has some 100 MB: it goes through a file, right to the last byte, and not through memory.
#[test]
fn a_large_trace_goes_through_a_file() {
    const PUSHES: u64 = 500;
    const MEMORY: usize = 100_032;
    let node = local().dev().start().unwrap();
    let to = "0x00000000000000000000000000000000000000aa";
    // PUSH 1, PUSH 100000, MSTORE, then pushes of 0.
    let code = format!("0x6001620186a052{}", "5f".repeat(PUSHES as usize));
    let params = |config: Value| {
        let mut config = config;
        config["stateOverrides"] = json!({ to: { "code": code } });
        json!([{ "to": to, "gas": "0xf4240" }, "latest", config])
    };
    let mut rpc = node.rpc();
    let small = call(&mut rpc, "debug_traceCall", params(json!({ "limit": 4 })));
    let gas = small["structLogs"][3]["gas"].as_u64().unwrap();
    let words: Vec<String> =
        (0..MEMORY / 32).map(|at| format!("\"{:064x}\"", u8::from(at == 3125))).collect();
    let words = words.join(",");

    let peak = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", node.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
    };
    let before = peak();
    let request = json!({
        "jsonrpc": "2.0", "id": 1, "method": "debug_traceCall",
        "params": params(json!({ "enableMemory": true })),
    });
    let reply = node.rpc().post(PATH, request.to_string().as_bytes()).unwrap();
    let grown = peak() - before;
    assert!(reply.body.len() > 100_000_000, "{}", reply.body.len());
    assert!(grown < 48 << 20, "the process grew by {grown} bytes");

    // From the end to the front: STOP, then the pushes.
    let mut rest = &reply.body[..];
    let mut cut = |end: &str| match rest.strip_suffix(end.as_bytes()) {
        Some(before) => rest = before,
        None => {
            let shown = &rest[rest.len().saturating_sub(200)..];
            panic!("{} is no end like {end:.200}", String::from_utf8_lossy(shown));
        }
    };
    cut("]}}\n");
    for at in (0..=PUSHES).rev() {
        let (op, cost) = if at == PUSHES { ("STOP", 0) } else { ("PUSH0", 2) };
        let (pc, gas) = (7 + at, gas - 2 * at);
        let stack = vec!["\"0x0\""; at as usize].join(",");
        cut(&format!(
            ",{{\"pc\":{pc},\"op\":\"{op}\",\"gas\":{gas},\"gasCost\":{cost},\"depth\":1,\"stack\":[{stack}],\"memory\":[{words}]}}"
        ));
    }
}
