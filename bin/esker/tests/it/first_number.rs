//! `--number`: a chain whose first block has another number than 0.

use serde_json::{Value, json};

use crate::harness::{Ended, Esker, run};

const FROM: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const TO: &str = "0x00000000000000000000000000000000000000aa";

fn send(node: &Esker) -> Value {
    node.evm("eth_sendTransaction", json!([{"from": FROM, "to": TO, "value": "0x1"}]))
}

fn block(node: &Esker, block: &str) -> Value {
    node.evm("eth_getBlockByNumber", json!([block, false]))
}

/// What the code `BLOCKHASH(number)` returns in a call.
fn block_hash(node: &Esker, number: u8) -> Value {
    let code = format!("0x60{number:02x}4060005260206000f3");
    node.evm("eth_call", json!([{"data": code}, "latest"]))
}

fn start(args: &[&str]) -> (Esker, Vec<String>) {
    let (node, banner, _) = Esker::start_anvil(&[&["--port", "0"], args].concat());
    (node, banner)
}

#[test]
fn there_are_no_blocks_below_the_first_one() {
    let (node, banner) = start(&["--number", "100"]);
    let title = banner.iter().position(|line| line == "Genesis Number").unwrap();
    assert_eq!(banner[title + 3], "100");
    assert!(!banner.iter().any(|line| line.contains("--number")), "{banner:?}");
    assert_eq!(node.evm("eth_blockNumber", json!([])), "0x64");
    let first = block(&node, "earliest");
    assert_eq!((&first["number"], &first), (&json!("0x64"), &block(&node, "0x64")));
    for missing in ["0x0", "0x1", "0x63"] {
        assert_eq!(block(&node, missing), Value::Null, "{missing}");
        let why = node.evm_refusal("eth_getBalance", json!([FROM, missing]));
        assert!(why.starts_with("BlockOutOfRangeError: block height is 100 "), "{why}");
    }
    assert_eq!(block(&node, "safe")["number"], "0x64");
    assert_eq!(node.evm("eth_getBalance", json!([FROM, "earliest"])), "0x21e19e0c9bab2400000");
    assert_eq!(
        node.evm_refusal("debug_traceBlockByNumber", json!(["0x64"])),
        "genesis is not traceable"
    );

    let receipt = node.receipt(&send(&node));
    assert_eq!(receipt["blockNumber"], "0x65");
    assert_eq!(node.evm("debug_getAccessibleState", json!(["earliest", "latest"])), 100);
    assert_eq!(block(&node, "0x65")["parentHash"], first["hash"]);
    assert_eq!(block_hash(&node, 100), first["hash"]);
    // The machine has a block 0 of its own, which is not of this chain.
    assert_eq!(block_hash(&node, 0), format!("{:#066x}", 0));
    let trace = node.evm("debug_traceBlockByNumber", json!(["0x65", {"tracer": "callTracer"}]));
    assert_eq!(trace[0]["result"]["value"], "0x1");
    for from in ["0x0", "earliest"] {
        let logs = json!([{"fromBlock": from, "toBlock": "latest"}]);
        assert_eq!(node.evm("eth_getLogs", logs), json!([]));
    }
    let history = node.evm("eth_feeHistory", json!(["0x9", "latest", []]));
    assert_eq!(
        (&history["oldestBlock"], &history["baseFeePerGas"].as_array().unwrap().len()),
        (&json!("0x64"), &3)
    );
    let page = node.evm("ots_searchTransactionsBefore", json!([TO, 0, 5]));
    assert_eq!((&page["txs"].as_array().unwrap().len(), &page["lastPage"]), (&1, &json!(true)));
}

#[test]
fn the_chain_goes_back_to_its_first_block_at_most() {
    let (node, _) = start(&["--number", "100"]);
    node.evm("anvil_mine", json!(["0x3"]));
    assert_eq!(
        node.evm_refusal("anvil_rollback", json!([4])),
        "cannot take back 4 blocks: the chain has 3"
    );
    let why = node.evm_refusal("debug_setHead", json!(["0x63"]));
    assert_eq!(why, "not allowed to rewind to block 99: the chain begins with block 100");
    let why = node.evm_refusal("anvil_reorg", json!([4, []]));
    assert!(why.ends_with("current height 103, depth 4"), "{why}");
    node.evm("anvil_reorg", json!([3, []]));
    node.evm("anvil_rollback", json!([3]));
    assert_eq!(node.evm("eth_blockNumber", json!([])), "0x64");
    let id = node.evm("evm_snapshot", json!([]));
    node.receipt(&send(&node));
    assert_eq!(node.evm("evm_revert", json!([id])), true);
    node.evm("anvil_reset", json!([]));
    assert_eq!(node.evm("eth_blockNumber", json!([])), "0x64");

    // A fork continues the numbers of its source; without it the number is there again.
    let (source, _) = start(&["--number", "7"]);
    source.evm("anvil_mine", json!(["0x2"]));
    let url = format!("http://{}", source.ready["evm"].as_str().unwrap());
    node.evm("anvil_reset", json!([{"forking": {"jsonRpcUrl": url}}]));
    assert_eq!(node.evm("eth_blockNumber", json!([])), "0x9");
    assert_eq!(block(&node, "earliest")["number"], "0x7");
    node.evm("anvil_reset", json!([]));
    assert_eq!(node.evm("eth_blockNumber", json!([])), "0x64");
}

#[test]
fn a_kept_folder_has_its_number() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (data, other, file) = (path("data"), path("other"), path("blocks"));
    let with = |number: &'static str| ["--data-dir", &data, "--number", number].map(str::to_owned);
    let start = |number| {
        let args = with(number);
        Esker::start_alone(&args.each_ref().map(String::as_str))
    };
    let node = start("1000");
    let hash = send(&node);
    assert_eq!(node.receipt(&hash)["blockNumber"], "0x3e9");
    node.signal("KILL");
    drop(node);
    let node = start("1000");
    assert_eq!(node.receipt(&hash)["blockNumber"], "0x3e9");
    assert_eq!(block(&node, "earliest")["number"], "0x3e8");
    send(&node);
    let (status, ..) = node.stop("TERM");
    assert!(status.success());

    let offline = |args: &[&str], data: &str, number: &str| -> Ended {
        run(&[args, &["--evm", "--data-dir", data, "--number", number]].concat())
    };
    for (number, found) in [("0", "none"), ("999", "999")] {
        let ended = offline(&["db", "verify"], &data, number);
        let text = format!("made with 1000, this start has {found}: start with 1000 (--number)");
        assert!(ended.stderr.contains(&text), "{}", ended.stderr);
    }
    assert_eq!(offline(&["db", "verify"], &data, "1000").code(), Some(0));
    assert_eq!(offline(&["export", &file], &data, "1000").code(), Some(0));
    assert_eq!(offline(&["import", &file], &other, "1000").code(), Some(0));
    let verified = offline(&["db", "verify"], &other, "1000");
    assert_eq!(verified.code(), Some(0), "{}", verified.stdout);
    let refused = offline(&["import", &file], &path("wrong"), "999");
    assert_eq!(refused.code(), Some(1));
    assert!(refused.stderr.contains("block 1001 of chain evm"), "{}", refused.stderr);
}

#[test]
fn logs_are_not_looked_for_below_the_first_block() {
    let (node, _) = start(&["--number", "4503599627370495"]);
    // LOG0 in the code that creates a contract.
    let tx = json!({"from": FROM, "data": "0x60006000a0"});
    let receipt = node.receipt(&node.evm("eth_sendTransaction", json!([tx])));
    assert_eq!(receipt["blockNumber"], "0x10000000000000");
    let logs = |filter: Value| node.evm("eth_getLogs", json!([filter]));
    for from in ["0x0", "earliest", "0xfffffffffffff"] {
        let found = logs(json!({"fromBlock": from}));
        assert_eq!(found[0]["transactionHash"], receipt["transactionHash"], "{from}");
    }
    assert_eq!(logs(json!({"fromBlock": "0x0", "toBlock": "0xffffffffffffe"})), json!([]));
}

#[test]
fn what_does_not_go_together_is_refused() {
    let most = (1u64 << 52).to_string();
    for (args, reason) in [
        (&["evm", "--number", &most][..], "number: expected at most 4503599627370495"),
        (&["evm", "--number", "1", "--genesis", "g.json"], "number: not with genesis"),
        (
            &["evm", "--number", "1", "--fork-url", "http://127.0.0.1:1"],
            "number: not with fork-url",
        ),
        (&["evm", "--number", "1", "--api-sync-enabled"], "api-sync-enabled: not with number"),
        (&["dev", "--number", "1"], "number: only for esker evm"),
    ] {
        let ended = run(args);
        assert_eq!(ended.code(), Some(2), "{args:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(reason), "{args:?}: {}", ended.stderr);
    }
}
