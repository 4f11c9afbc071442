//! Answers of `esker anvil` that are anvil's, where geth's differ: clients' own tests compare them.

use serde_json::{Value, json};

use crate::harness::Esker;

const FROM: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const OTHER: &str = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
const NOBODY: &str = "0x00000000000000000000000000000000000c0ffe";
/// Init code of a contract that reverts with the call data.
const REVERTER: &str = "0x60078060095f395ff3365f5f37365ffd";
/// `Error("a reason")`.
const REASON: &str = "0x08c379a0000000000000000000000000000000000000000000000000000000000000002000000000000000000000000000000000000000000000000000000000000000086120726561736f6e000000000000000000000000000000000000000000000000";
/// Init code that writes an event without topics.
const EVENT: &str = "0x5f5fa0";

fn start(args: &[&str]) -> Esker {
    Esker::start_anvil(&[&["--port", "0"], args].concat()).0
}

fn error(code: i64, message: &str) -> Value {
    json!({"code": code, "message": message})
}

fn keys(object: &Value) -> Vec<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

/// The hash of a transfer that waits or is in a block.
fn transfer(node: &Esker, more: Value) -> Value {
    let mut tx = json!({"from": FROM, "to": OTHER, "value": "0x1"});
    tx.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    node.evm("eth_sendTransaction", json!([tx]))
}

#[test]
fn calls_fail_with_the_texts_of_anvil() {
    let node = start(&[]);
    let deployed = node.evm("eth_sendTransaction", json!([{"from": FROM, "data": REVERTER}]));
    let contract = node.receipt(&deployed)["contractAddress"].clone();
    let panic = format!("0x4e487b71{:0>64}", "11");
    for (data, text) in [
        (REASON, "execution reverted: a reason"),
        (&panic, "execution reverted: panic: arithmetic underflow or overflow (0x11)"),
        ("0xdeadbeef", "execution reverted: custom error 0xdeadbeef"),
        ("0x", "execution reverted"),
    ] {
        let call = json!([{"from": FROM, "to": contract, "data": data}]);
        for method in ["eth_call", "eth_estimateGas"] {
            let expected = json!({"code": 3, "message": text, "data": data});
            assert_eq!(node.evm_error(method, call.clone()), expected);
        }
    }
    let much = format!("{:#x}", 100_000 * 10_u128.pow(18));
    for (call, expected) in [
        (json!({"data": "0xfe"}), error(-32603, "EVM error InvalidFEOpcode")),
        (
            json!({"to": OTHER, "gas": "0x64"}),
            error(-32000, "intrinsic gas too high -- CallGasCostMoreThanGasLimit"),
        ),
        (
            json!({"from": FROM, "to": OTHER, "value": much}),
            error(-32003, "Insufficient funds for gas * price + value"),
        ),
    ] {
        assert_eq!(node.evm_error("eth_call", json!([call])), expected);
    }
    let late = json!([FROM, "0x99"]);
    let text = "BlockOutOfRangeError: block height is 1 but requested was 153";
    assert_eq!(node.evm_error("eth_getBalance", late), error(-32602, text));
}

#[test]
fn transactions_are_refused_with_the_texts_of_anvil() {
    let node = start(&["--no-mining"]);
    let much = format!("{:#x}", 100_000 * 10_u128.pow(18));
    let funds = error(-32003, "Insufficient funds for gas * price + value");
    for (more, expected) in [
        (json!({"value": much}), funds.clone()),
        (json!({"gasPrice": much}), funds),
        (json!({"gas": "0x64"}), error(-32000, "intrinsic gas too low")),
        (
            json!({"gas": "0x5f5e100"}),
            error(-32000, "intrinsic gas too high -- tx.gas_limit > env.block.gas_limit"),
        ),
        (json!({"maxFeePerGas": "0x1"}), error(-32003, "max fee per gas less than block base fee")),
        (json!({"from": NOBODY}), error(-32602, "No Signer available")),
    ] {
        let mut tx = json!({"from": FROM, "to": OTHER, "value": "0x1"});
        tx.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        assert_eq!(node.evm_error("eth_sendTransaction", json!([tx])), expected);
    }
    let first = transfer(&node, json!({}));
    node.evm("evm_mine", json!([]));
    let raw = node.evm("eth_getRawTransactionByHash", json!([first]));
    assert_eq!(
        node.evm_error("eth_sendRawTransaction", json!([raw])),
        error(-32003, "nonce too low")
    );
    let waiting = transfer(&node, json!({}));
    let raw = node.evm("eth_getRawTransactionByHash", json!([waiting]));
    let known = error(-32003, "transaction already imported");
    assert_eq!(node.evm_error("eth_sendRawTransaction", json!([raw])), known);
    let unknown = error(-32602, "Failed to decode transaction");
    assert_eq!(node.evm_error("eth_sendRawTransaction", json!(["0x08f4"])), unknown);
    assert_eq!(
        node.evm_error("personal_sign", json!(["0x12", NOBODY])),
        error(-32602, "No Signer available")
    );
    assert_eq!(node.evm_error("eth_lol", json!([])), error(-32601, "Method not found"));
    assert_eq!(
        node.evm_error("eth_getBlockByHash", json!(["0x0", false])),
        error(-32602, "odd number of digits")
    );
    let text = "anvil_setMinGasPrice is not supported when EIP-1559 is active";
    assert_eq!(node.evm_error("anvil_setMinGasPrice", json!(["0x1"])), error(-32602, text));
    let past = node.evm_error("evm_setNextBlockTimestamp", json!([5]));
    let text = "Timestamp error: 5 is lower than previous block's timestamp";
    assert_eq!(past, error(-32602, text));
}

#[test]
fn what_a_sender_leaves_out_is_as_anvils() {
    let node = start(&["--no-mining"]);
    let deployed = node.evm("eth_sendTransaction", json!([{"from": FROM, "data": REVERTER}]));
    node.evm("evm_mine", json!([]));
    let contract = node.receipt(&deployed)["contractAddress"].clone();
    // It is sent although it fails, with the gas of a block.
    let failing = transfer(&node, json!({"to": contract, "data": "0x12", "value": "0x0"}));
    assert_eq!(node.evm("eth_getTransactionByHash", json!([failing]))["gas"], "0x1c9c380");
    node.evm("evm_mine", json!([]));
    assert_eq!(node.receipt(&failing)["status"], "0x0");
    // The cap is the base fee of the next block and the suggested tip.
    node.evm("anvil_setNextBlockBaseFeePerGas", json!(["0x77359400"]));
    let sent = transfer(&node, json!({}));
    let tx = node.evm("eth_getTransactionByHash", json!([sent]));
    assert_eq!((&tx["maxFeePerGas"], &tx["gas"]), (&json!("0xb2d05e00"), &json!("0x5208")));
    // What waits has the price of the next block, and no time.
    assert_eq!((&tx["gasPrice"], tx.get("blockTimestamp")), (&json!("0xb2d05e00"), None));
    let pool = node.evm("txpool_inspect", json!([]));
    assert_eq!(keys(&pool["pending"]), [FROM]);
    assert_eq!(keys(&node.evm("txpool_content", json!([]))["pending"]), [FROM]);
    let filled = json!([{"from": FROM, "to": OTHER, "maxFeePerGas": "0x1", "nonce": "0x9"}]);
    let tx = node.evm("eth_fillTransaction", filled)["tx"].clone();
    let shown = (&tx["from"], &tx["gasPrice"], &tx["maxPriorityFeePerGas"]);
    assert_eq!(shown, (&json!(FROM), &json!("0x1"), &json!("0x3b9aca00")));
    let signed = node.evm("eth_signTransaction", json!([{"from": FROM, "to": OTHER}]));
    assert!(signed.as_str().unwrap().starts_with("0x02"), "{signed}");
}

#[test]
fn estimates_are_exact() {
    let node = start(&[]);
    let much = format!("{:#x}", 100_000 * 10_u128.pow(18));
    for (call, gas) in [
        (json!({"from": FROM, "to": OTHER, "value": much}), "0x5208"),
        (json!({"from": FROM, "to": OTHER, "accessList": []}), "0x5209"),
        (json!({"from": FROM, "to": OTHER, "data": "0x00"}), "0x5212"),
        (json!({"from": FROM, "data": "0x00"}), "0xcf0e"),
    ] {
        assert_eq!(node.evm("eth_estimateGas", json!([call])), gas, "{call}");
    }
    // An empty loop that needs 5 gas more than any estimate with a tolerance would find.
    let loops = json!([{"from": FROM, "data": "0x61ffff5b6001900380600357"}]);
    let gas = node.evm("eth_estimateGas", loops.clone());
    let gas = u64::from_str_radix(gas.as_str().unwrap().trim_start_matches("0x"), 16).unwrap();
    let with = |gas: u64| {
        let mut call = loops[0].clone();
        call["gas"] = json!(format!("{gas:#x}"));
        json!([call])
    };
    assert_eq!(node.evm("eth_call", with(gas)), "0x");
    assert_eq!(node.evm_error("eth_call", with(gas - 1)), error(-32603, "EVM error OutOfGas"));
}

#[test]
fn receipts_transactions_and_simulations_have_the_members_of_anvils() {
    let node = start(&[]);
    let sent = transfer(&node, json!({}));
    let receipt = node.receipt(&sent);
    assert_eq!(receipt["blobGasPrice"], "0x1");
    assert!(receipt["blockTimestamp"].is_u64(), "{receipt}");
    let of_block = node.evm("eth_getBlockReceipts", json!(["latest"]));
    assert_eq!(of_block[0], receipt);
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "eth_getTransactionByHash", "params": [sent]});
    let (_, text) = node.http("POST", "/", &body.to_string());
    let places = [
        "\"type\"",
        "\"chainId\"",
        "\"nonce\"",
        "\"gas\"",
        "\"input\"",
        "\"hash\"",
        "\"from\"",
        "\"gasPrice\"",
    ];
    let places: Vec<_> = places.iter().map(|name| text.find(name).unwrap()).collect();
    assert!(places.is_sorted(), "{text}");
    let calls = json!([{"blockStateCalls": [{"calls": [{"from": FROM, "to": OTHER}]}]}]);
    let simulated = node.evm("eth_simulateV1", calls);
    assert_eq!(simulated[0]["calls"][0].get("maxUsedGas"), None);
}

#[test]
fn filters_begin_with_the_logs_that_are_there() {
    let node = start(&[]);
    for _ in 0..2 {
        node.evm("eth_sendTransaction", json!([{"from": FROM, "data": EVENT}]));
    }
    node.evm("evm_mine", json!([]));
    let new_filter = |from: Value| node.evm("eth_newFilter", json!([{"fromBlock": from}]));
    let changes = |id: &Value| node.evm("eth_getFilterChanges", json!([id]));
    let (all, last, new) =
        (new_filter(json!("0x0")), new_filter(json!("0x2")), new_filter(Value::Null));
    let found = |id| changes(id).as_array().unwrap().len();
    assert_eq!((found(&all), found(&last), found(&new)), (2, 1, 0));
    node.evm("eth_sendTransaction", json!([{"from": FROM, "data": EVENT}]));
    assert_eq!((found(&all), found(&last), found(&new)), (1, 1, 1));
}

#[test]
fn the_interval_of_blocks_on_request_follows_the_last_block() {
    let node = start(&["--no-mining"]);
    let time = || {
        let block = node.evm("eth_getBlockByNumber", json!(["latest", false]));
        let time = block["timestamp"].as_str().unwrap().trim_start_matches("0x").to_owned();
        u64::from_str_radix(&time, 16).unwrap()
    };
    // Their times are ahead of the clock.
    node.evm("anvil_mine", json!(["0x14"]));
    let last = time();
    node.evm("anvil_mine", json!(["0x1", "0xc"]));
    assert_eq!(time(), last + 12);
}

#[test]
fn a_fork_has_raw_transactions_of_its_source_and_dumps_what_changed_there() {
    let source = start(&[]);
    let sent = transfer(&source, json!({}));
    let url = format!("http://{}", source.ready["evm"].as_str().unwrap());
    let fork = || start(&["--fork-url", &url]);
    let node = fork();
    // The source has the transactions before the fork, and nobody the others.
    let raw = |node: &Esker, hash: &Value| node.evm("eth_getRawTransactionByHash", json!([hash]));
    assert_eq!(raw(&node, &sent), raw(&source, &sent));
    assert!(raw(&node, &sent).as_str().unwrap().starts_with("0x02"));
    assert_eq!(raw(&node, &json!(format!("0x{:064x}", 1))), Value::Null);
    let slot = format!("0x{:064x}", 9);
    node.evm("anvil_setBalance", json!([NOBODY, "0x7"]));
    node.evm("anvil_setStorageAt", json!([NOBODY, "0x5", slot]));
    let state = node.evm("anvil_dumpState", json!([]));
    let other = fork();
    other.evm("anvil_loadState", json!([state]));
    assert_eq!(other.evm("eth_getBalance", json!([NOBODY, "latest"])), "0x7");
    assert_eq!(other.evm("eth_getStorageAt", json!([NOBODY, "0x5", "latest"])), slot);
    assert_eq!(other.evm("eth_getTransactionCount", json!([FROM, "latest"])), "0x1");
}
