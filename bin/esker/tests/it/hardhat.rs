//! `esker hardhat` in the place of `npx hardhat node`.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Esker, run};

const FROM: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const TO: &str = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
/// How long the blocks of a test may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn number(value: &Value) -> u64 {
    u64::from_str_radix(value.as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
}

fn height(node: &Esker) -> u64 {
    number(&node.evm("eth_blockNumber", json!([])))
}

#[test]
fn its_banner_and_its_chain_are_those_of_hardhat() {
    let (node, banner, _) = Esker::start_hardhat(&["node", "--port", "0"]);
    let first = "Account #0: 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266 (10000 ETH)";
    let at = banner.iter().position(|line| line == first).unwrap();
    let key = "Private Key: 0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
    assert_eq!(banner[at + 1], key);
    let last = "Account #19: 0x8626f6940E2eb28930eFb4CeF49B2d1F2C9C1199 (10000 ETH)";
    assert!(banner.iter().any(|line| line == last), "{banner:?}");
    assert_eq!(node.evm("eth_chainId", json!([])), "0x7a69");
    assert_eq!(node.evm("eth_accounts", json!([])).as_array().unwrap().len(), 20);
    let sent = node.evm("eth_sendTransaction", json!([{"from": FROM, "to": TO, "value": "0x1"}]));
    let receipt = node.receipt(&sent);
    assert_eq!(receipt["status"], "0x1");
    let block = node.evm("eth_getBlockByNumber", json!(["latest", false]));
    assert_eq!((number(&block["number"]), number(&block["gasLimit"])), (1, 60_000_000));
    assert!(node.stop("TERM").0.success());
}

#[test]
fn its_intervals_are_milliseconds() {
    let (node, ..) = Esker::start_hardhat(&["--port", "0"]);
    node.evm("evm_setIntervalMining", json!([3]));
    let begun = Instant::now();
    while height(&node) < 5 {
        assert!(begun.elapsed() < PATIENCE, "no 5 blocks within {PATIENCE:?}");
    }
    node.evm("evm_setIntervalMining", json!([[2, 4]]));
    let seen = height(&node);
    while height(&node) < seen + 3 {
        assert!(begun.elapsed() < PATIENCE, "no 3 further blocks within {PATIENCE:?}");
    }
    for (params, text) in [
        (json!([[5, 2]]), "the least interval 5 is greater than the greatest 2"),
        (json!([[0, 2]]), "an interval of blocks has at least a millisecond"),
        (json!([[1]]), "two numbers: the least and the greatest"),
        (json!([31_622_400_001_u64]), "an interval of 31622400001 ms is too long"),
    ] {
        let refused = node.evm_refusal("evm_setIntervalMining", params);
        assert!(refused.contains(text), "{refused}");
    }
    node.evm("evm_setIntervalMining", json!([0]));
    assert_eq!(node.evm("anvil_getIntervalMining", json!([])), Value::Null);
    // The times of blocks are a second apart all the same.
    let times = [1, 2].map(|height| {
        let block = node.evm("eth_getBlockByNumber", json!([format!("{height:#x}"), false]));
        number(&block["timestamp"])
    });
    assert!(times[0] < times[1], "{times:?}");
}

#[test]
fn a_fork_of_no_url_is_refused() {
    let ended = run(&["hardhat", "node", "--port", "0", "--fork", "127.0.0.1"]);
    assert_eq!(ended.code(), Some(2), "{}", ended.stderr);
    let text = "fork-url: the fork URL is not valid (no http:// or https://)";
    assert!(ended.stderr.contains(text), "{}", ended.stderr);
}

/// Calls the console with the call data, by a STATICCALL.
const PRINT: &str = "365f5f375f5f365f73000000000000000000636f6e736f6c652e6c6f675afa50";
/// Reverts with the call data.
const REVERT: &str = "365f5f37365ffd";

/// Init code of a contract.
fn init_code(code: &str) -> String {
    format!("0x60{:02x}8060095f395ff3{code}", code.len() / 2)
}

/// Call data of `log(string)`, and likewise the data of `Error(string)`.
fn text_data(selector: &str, text: &[u8]) -> String {
    let text_hex: String = text.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{selector}{:064x}{:064x}{text_hex:0<64}", 32, text.len())
}

/// The selector of `log(string)`.
const LOG: &str = "0x41304fac";
/// The selector of `Error(string)`.
const ERROR: &str = "0x08c379a0";

impl Esker {
    /// A request of any outcome.
    fn ask(&self, method: &str, params: Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let (_, body) = self.http("POST", "/", &request.to_string());
        serde_json::from_str(&body).unwrap()
    }

    /// Deploys a contract; its address.
    fn deploy(&self, code: &str) -> String {
        let tx = json!({"from": FROM, "gas": "0x186a0", "data": init_code(code)});
        let sent = self.evm("eth_sendTransaction", json!([tx]));
        self.receipt(&sent)["contractAddress"].as_str().unwrap().to_owned()
    }

    /// Hash of a transaction, and hash and number of its block.
    fn send(&self, tx: Value) -> (String, String, u64) {
        let reply = self.ask("eth_sendTransaction", json!([tx]));
        // One that fails is in a block, too.
        let hash = reply.get("result").unwrap_or(&reply["error"]["data"]["txHash"]).clone();
        let receipt = self.receipt(&hash);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        (text(&hash), text(&receipt["blockHash"]), number(&receipt["blockNumber"]))
    }
}

/// The log has these lines in a row.
fn has(shown: &str, lines: &str) {
    assert!(shown.contains(lines), "{lines}\n--- is not in ---\n{shown}");
}

/// The log without the receipts that a test waits for, each of which has one line.
fn without_receipts(shown: &str) -> String {
    let lines = shown.split_inclusive('\n');
    lines.filter(|line| !line.starts_with("eth_getTransactionReceipt")).collect()
}

#[test]
fn its_log_shows_each_call_as_hardhat_does() {
    let (node, ..) = Esker::start_hardhat(&["node", "--port", "0"]);
    for method in ["eth_chainId", "eth_blockNumber", "eth_blockNumber", "eth_blockNumber"] {
        node.evm(method, json!([]));
    }
    let (tx, block, height) =
        node.send(json!({"from": FROM, "to": TO, "value": "0xb1a2bc2ec50000"}));
    assert_eq!(height, 1);
    let both = node.deploy(&format!("{PRINT}{PRINT}"));
    let reverts = node.deploy(REVERT);
    let hello = text_data(LOG, b"hello\n\x1b[2J");
    let closed = text_data(ERROR, b"closed for today");
    let call = |to: &str, data: &str| json!([{"from": FROM, "to": to, "data": data}, "latest"]);
    node.ask("eth_call", call(&both, &hello));
    node.ask("eth_call", call(&reverts, &closed));
    node.ask("eth_call", call(TO, "0x"));
    node.ask("eth_estimateGas", call(&both, &hello));
    node.ask("eth_estimateGas", call(&reverts, &closed));
    node.ask("eth_call", json!([{"to": "nonsense"}]));
    node.ask("eth_fooBar", json!([]));
    node.ask("eth_\u{1b}[31mred\n", json!([]));
    let tx_to =
        |to: &str, data: &str| json!({"from": FROM, "to": to, "gas": "0x186a0", "data": data});
    let (failed, failed_in, failed_at) = node.send(tx_to(&reverts, &closed));
    let (second, second_in, second_at) =
        node.send(json!({"from": FROM, "to": reverts, "data": closed}));
    node.ask("evm_mine", json!([]));
    node.ask("hardhat_mine", json!(["0x5"]));
    let batch: Vec<_> = ["eth_blockNumber", "eth_chainId", "eth_chainId", "eth_nothing"]
        .iter()
        .map(|method| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": []}))
        .collect();
    node.http("POST", "/", &json!(batch).to_string());
    let (status, shown, _) = node.stop("TERM");
    assert!(status.success());
    assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{shown}");
    let shown = without_receipts(&shown);
    let lines = "eth_chainId\neth_blockNumber\neth_blockNumber (2)\neth_blockNumber (3)\neth_sendTransaction\n";
    has(&shown, lines);
    has(
        &shown,
        &format!(
            "eth_sendTransaction
  Transaction: {tx}
  From:        {FROM}
  To:          {TO}
  Value:       0.05 ETH
  Gas used:    21000 of 16777216
  Block #1:    {block}

"
        ),
    );
    let parties =
        |to: &str| format!("  From:                {FROM}\n  To:                  {to}\n");
    let unknown = "  Contract call:       <UnrecognizedContract>\n";
    has(
        &shown,
        &format!("  Contract deployment: <UnrecognizedContract>\n  Contract address:    {both}\n"),
    );
    let printed = "\n  console.log:\n    hello\\n\\u{1b}[2J\n    hello\\n\\u{1b}[2J\n\n";
    has(&shown, &format!("\neth_call\n{unknown}{}{printed}", parties(&both)));
    let error = "\n  Error: reverted with reason string 'closed for today'\n\n";
    has(&shown, &format!("\neth_call\n{unknown}{}{error}", parties(&reverts)));
    let warning = "  WARNING: Calling an account which is not a contract\n";
    has(
        &shown,
        &format!(
            "\neth_call\n{warning}{}\neth_estimateGas\neth_estimateGas\n{unknown}",
            parties(TO)
        ),
    );
    let value = "  Value:               0 ETH\n";
    has(&shown, &format!("\neth_estimateGas\n{unknown}{}{value}{error}", parties(&reverts)));
    has(&shown, "\neth_call\n\n  invalid argument 0: json: cannot unmarshal");
    has(
        &shown,
        "eth_fooBar - Method not supported\neth_\\u{1b}[31mred\\n - Method not supported\n",
    );
    let failure = format!(
        "\neth_sendTransaction\n{unknown}  Transaction:         {failed}\n{}{value}  \
         Gas used:            ",
        parties(&reverts)
    );
    has(&shown, &failure);
    has(&shown, &format!(" of 100000\n  Block #{failed_at}:            {failed_in}\n{error}"));
    // It is sent without an estimate.
    has(&shown, &format!("\neth_sendTransaction\n{unknown}  Transaction:         {second}\n"));
    has(
        &shown,
        &format!(" of 16777216\n  Block #{second_at}:            {second_in}\n{error}evm_mine\n"),
    );
    let first = second_at + 1;
    has(&shown, &format!("evm_mine\n  Mined empty block #{first} with base fee "));
    let range =
        format!("hardhat_mine\n  Mined empty block range #{} to #{}\n\n", first + 1, first + 5);
    has(&shown, &range);
    let end = "eth_blockNumber\neth_chainId\neth_chainId (2)\neth_nothing - Method not supported\n";
    assert!(shown.ends_with(end), "{shown}");
}

#[test]
fn its_log_can_be_switched_off() {
    let (node, ..) = Esker::start_hardhat(&["node", "--port", "0"]);
    let prints = node.deploy(PRINT);
    node.evm("hardhat_setLoggingEnabled", json!([false]));
    node.evm("eth_chainId", json!([]));
    let call = |text: &[u8]| json!([{"from": FROM, "to": prints, "data": text_data(LOG, text)}]);
    node.ask("eth_call", call(b"printed all the same"));
    node.evm("eth_sendTransaction", call(b"by a transaction"));
    node.evm("evm_mine", json!([]));
    node.evm("hardhat_setLoggingEnabled", json!([true]));
    node.evm("web3_clientVersion", json!([]));
    let (_, shown, _) = node.stop("TERM");
    let (_, after) = shown.split_once("<UnrecognizedContract>").unwrap();
    let (_, after) = after.split_once("\n\n").unwrap();
    let expected = "printed all the same\nby a transaction\nweb3_clientVersion\n";
    assert_eq!(without_receipts(after), expected, "{shown}");
}

#[test]
fn blocks_at_regular_times_and_waiting_transactions_are_in_its_log() {
    let (node, ..) = Esker::start_hardhat(&["node", "--port", "0"]);
    node.evm("evm_setAutomine", json!([false]));
    let tx = |value: &str| json!([{"from": FROM, "to": TO, "gas": "0x5208", "value": value}]);
    let sent = [tx("0x1"), tx("0x2")].map(|tx| node.evm("eth_sendTransaction", tx));
    node.evm("evm_mine", json!([]));
    node.evm("eth_sendTransaction", tx("0x3"));
    node.evm("evm_setIntervalMining", json!([20]));
    let begun = Instant::now();
    while height(&node) < 5 {
        assert!(begun.elapsed() < PATIENCE, "no 5 blocks within {PATIENCE:?}");
    }
    node.evm("evm_setIntervalMining", json!([0]));
    let (_, shown, _) = node.stop("TERM");
    let [first, second] = sent.map(|hash| hash.as_str().unwrap().to_owned());
    has(
        &shown,
        "evm_setAutomine\neth_sendTransaction\neth_sendTransaction (2)\nevm_mine\n  Mined block #1\n    Block: 0x",
    );
    let fields = format!(
        "        From:      {FROM}\n        To:        {TO}\n        Value:     1 wei\n        Gas used:  21000 of 21000\n"
    );
    has(&shown, &format!("      Transaction: {first}\n{fields}\n      Transaction: {second}\n"));
    has(&shown, "\nMined block #2\n  Block: 0x");
    has(&shown, "\nMined empty block #3 with base fee ");
    assert!(!shown.contains("Not shown"), "{shown}");
}

#[test]
fn a_reader_that_does_not_read_stops_no_call() {
    const CALLS: usize = 1000;
    let (node, ..) = Esker::start_hardhat(&["node", "--port", "0"]);
    // Nobody reads the log: the pipe is full soon.
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []});
    let batch = json!(vec![request; CALLS]).to_string();
    for _ in 0..20 {
        let (_, body) = node.http("POST", "/", &batch);
        assert_eq!(body.matches("0x7a69").count(), CALLS);
    }
    let sent = node.evm("eth_sendTransaction", json!([{"from": FROM, "to": TO, "value": "0x1"}]));
    assert_eq!(node.receipt(&sent)["status"], "0x1");
    let (status, shown, _) = node.stop("TERM");
    assert!(status.success());
    let log = shown.trim_start();
    assert!(log.starts_with("eth_chainId\neth_chainId (2)\n"), "{}", &log[..200]);
    assert!(shown.len() < 1 << 20, "{} bytes", shown.len());
}
