//! Traces to files, and of a block from one.

use std::fs;
use std::path::Path;
use std::time::Duration;

use alloy_primitives::{Address, B256, Bytes, TxKind, hex};
use esker_rpc::Caller;
use serde_json::{Value, json};

use super::world::{MAX_TRACED, World};

const TO_FILE: &str = "debug_standardTraceBlockToFile";
const BAD_TO_FILE: &str = "debug_standardTraceBadBlockToFile";
const FROM_FILE: &str = "debug_traceBlockFromFile";

fn names(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<_> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A block of a transfer, of a creation with this code, and of another transfer; the transactions and the block's hash.
async fn with_code(folder: &Path, code: &[u8]) -> (World, [B256; 3], String) {
    let world = World::new(folder);
    let to = TxKind::Call(Address::repeat_byte(2));
    let hashes = [
        world.send(0, to, 1, Bytes::new()),
        world.send(1, TxKind::Create, 0, code.to_vec().into()),
        world.send(2, to, 1, Bytes::new()),
    ];
    world.block().await;
    let block = world.call("eth_getBlockByNumber", json!(["0x1", false])).await;
    let hash = block["hash"].as_str().unwrap().to_owned();
    (world, hashes, hash)
}

#[tokio::test]
async fn files_have_the_lines_of_geth() {
    let folder = tempfile::tempdir().unwrap();
    // PUSH 1, PUSH 0, MSTORE, PUSH 32, PUSH 0, REVERT.
    let (world, txs, block) = with_code(folder.path(), &hex!("60015f5260205ffd")).await;
    let written = world.call(TO_FILE, json!([block, {"enableMemory": true}])).await;
    let written: Vec<String> = serde_json::from_value(written).unwrap();
    let expected: Vec<_> = (0..3)
        .map(|at| {
            let tx = hex::encode(&txs[at][..4]);
            let name = format!("block_{}-{at}-0x{tx}-{}", &block[..10], at + 1);
            folder.path().canonicalize().unwrap().join(name).to_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(written, expected);
    assert_eq!(names(folder.path()).len(), 3, "nothing unfinished");
    let lines = |at: usize| fs::read_to_string(&written[at]).unwrap();
    assert_eq!(lines(0), "{\"output\":\"\",\"gasUsed\":\"0x0\"}\n");
    assert_eq!(lines(2), lines(0));
    // The gas in the trace of the transaction.
    let trace = world.call("debug_traceTransaction", json!([txs[1]])).await;
    let word = format!("{:064x}", 1);
    let line = |at: usize, op: &str, rest: &str| {
        let step = &trace["structLogs"][at];
        let (gas, cost) = (step["gas"].as_u64().unwrap(), step["gasCost"].as_u64().unwrap());
        let pc = &step["pc"];
        format!(
            "{{\"pc\":{pc},\"op\":{op},\"gas\":\"{gas:#x}\",\"gasCost\":\"{cost:#x}\",{rest}}}\n"
        )
    };
    let memory = format!("\"memory\":\"0x{word}\",\"memSize\":32");
    let used = trace["structLogs"][0]["gas"].as_u64().unwrap()
        - trace["structLogs"][5]["gas"].as_u64().unwrap();
    let expected = [
        line(0, "96", "\"memSize\":0,\"stack\":[],\"depth\":1,\"refund\":0,\"opName\":\"PUSH1\""),
        line(
            1,
            "95",
            "\"memSize\":0,\"stack\":[\"0x1\"],\"depth\":1,\"refund\":0,\"opName\":\"PUSH0\"",
        ),
        line(
            2,
            "82",
            "\"memSize\":0,\"stack\":[\"0x1\",\"0x0\"],\"depth\":1,\"refund\":0,\"opName\":\"MSTORE\"",
        ),
        line(
            3,
            "96",
            &format!("{memory},\"stack\":[],\"depth\":1,\"refund\":0,\"opName\":\"PUSH1\""),
        ),
        line(
            4,
            "95",
            &format!("{memory},\"stack\":[\"0x20\"],\"depth\":1,\"refund\":0,\"opName\":\"PUSH0\""),
        ),
        line(
            5,
            "253",
            &format!(
                "{memory},\"stack\":[\"0x20\",\"0x0\"],\"depth\":1,\"refund\":0,\"opName\":\"REVERT\""
            ),
        ),
        line(
            5,
            "253",
            &format!(
                "{memory},\"stack\":[],\"depth\":1,\"refund\":0,\"opName\":\"REVERT\",\"error\":\"execution reverted\""
            ),
        ),
        format!(
            "{{\"output\":\"{word}\",\"gasUsed\":\"{used:#x}\",\"error\":\"execution reverted\"}}\n"
        ),
    ];
    assert_eq!(lines(1), expected.concat());

    // One transaction; without stack and memory.
    let config = json!({"txHash": txs[1], "disableStack": true});
    let one = world.call(TO_FILE, json!([block, config])).await;
    let one: Vec<String> = serde_json::from_value(one).unwrap();
    assert_eq!(one.len(), 1);
    let text = fs::read_to_string(&one[0]).unwrap();
    assert!(one[0].contains("-1-") && text.starts_with("{\"pc\":0,"), "{one:?}");
    assert!(text.contains("\"memSize\":32,\"stack\":null,\"depth\":1,"), "{text}");
    assert!(!text.contains("\"memory\""), "{text}");
}

#[tokio::test]
async fn arguments_and_blocks_that_are_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let (world, _, block) = with_code(folder.path(), &[]).await;
    let genesis = world.call("eth_getBlockByNumber", json!(["0x0", false])).await;
    let other = format!("0x{}", "12".repeat(32));
    for (method, params, code, text) in [
        (TO_FILE, json!([]), -32602, "missing value for required argument 0".to_owned()),
        (TO_FILE, json!([other]), -32000, format!("block {other} not found")),
        (BAD_TO_FILE, json!([other]), -32000, format!("bad block {other} not found")),
        (TO_FILE, json!([genesis["hash"]]), -32000, "genesis is not traceable".to_owned()),
        (
            TO_FILE,
            json!([block, {"txHash": other}]),
            -32000,
            format!("transaction {other} not found in block"),
        ),
        (
            TO_FILE,
            json!([block, {"reexec": "x"}]),
            -32602,
            "invalid argument 1: json: cannot unmarshal string into Go struct field StdTraceConfig.Reexec of type uint64"
                .to_owned(),
        ),
        (FROM_FILE, json!([]), -32602, "missing value for required argument 0".to_owned()),
        (
            FROM_FILE,
            json!(["/nope/dir/file"]),
            -32000,
            "could not read file: open /nope/dir/file: no such file or directory".to_owned(),
        ),
        (
            FROM_FILE,
            json!(["/dev/zero"]),
            -32000,
            "could not read file: files of blocks must be in the folder of the setting chain-files-dir of this chain"
                .to_owned(),
        ),
        (
            FROM_FILE,
            json!([folder.path()]),
            -32000,
            format!("could not read file: read {}: is a directory", folder.path().display()),
        ),
    ] {
        let error = world.error(method, params.clone()).await;
        assert_eq!(error, (code, text), "{method}{params}");
    }
    assert_eq!(names(folder.path()), [""; 0]);
}

#[tokio::test]
async fn a_block_of_a_file_is_traced() {
    let folder = tempfile::tempdir().unwrap();
    let (world, _, block) = with_code(folder.path(), &hex!("60015f5260205ffd")).await;
    world.call("admin_exportChain", json!(["block", 1, 1])).await;
    for config in [Value::Null, json!({"tracer": "callTracer"})] {
        let expected = world.call("debug_traceBlockByHash", json!([block, config])).await;
        assert_eq!(world.call(FROM_FILE, json!(["block", config])).await, expected);
    }
    fs::write(folder.path().join("empty"), b"").unwrap();
    let (_, text) = world.error(FROM_FILE, json!(["empty"])).await;
    assert_eq!(text, "could not decode block: EOF");
}

#[tokio::test]
async fn too_much_and_an_early_end_leave_no_file() {
    let folder = tempfile::tempdir().unwrap();
    // JUMPDEST, PUSH 0, JUMP: some 200,000 lines.
    let (world, txs, block) = with_code(folder.path(), &hex!("5b600056")).await;
    let (code, text) = world.error(TO_FILE, json!([block])).await;
    assert_eq!(
        (code, text),
        (-32003, format!("traces of a call have at most {MAX_TRACED} bytes in files"))
    );
    assert_eq!(names(folder.path()), [""; 0]);
    // A client that leaves.
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": TO_FILE, "params": [block]}).to_string();
    let caller = Caller::default();
    let asked = world.server.answer(body.as_bytes(), None, &caller);
    let _ = tokio::time::timeout(Duration::from_millis(1), asked).await;
    let end = std::time::Instant::now() + Duration::from_secs(30);
    // The turn is given back when the work has ended.
    loop {
        let reply = world.ask(TO_FILE, &json!([block, {"txHash": txs[0]}])).await;
        if reply.get("result").is_some() {
            break;
        }
        assert_eq!(reply["error"]["message"], "another trace is being written to files");
        assert!(std::time::Instant::now() < end, "it does not end");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(names(folder.path()).len(), 1);
}

#[tokio::test]
async fn pages_of_other_origins_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (world, _, block) = with_code(folder.path(), &[]).await;
    let page = Caller { is_untrusted_page: true, ..Caller::default() };
    for method in [TO_FILE, BAD_TO_FILE, FROM_FILE] {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": [block]});
        let answer = world.server.answer(body.to_string().as_bytes(), None, &page).await;
        let reply: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(reply["error"]["message"], esker_rpc::UNTRUSTED_ORIGIN, "{method}");
    }
    assert_eq!(names(folder.path()), [""; 0]);
}
