//! The program under the name `anvil`.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, Write as _};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Ended, Esker, anvil_command, names, run, run_command};

const FROM: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const TO: &str = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8";
const KEY: &str = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
const PATIENCE: Duration = Duration::from_secs(60);

fn start(args: &[&str]) -> (Esker, Vec<String>) {
    let (node, banner, _) = Esker::start_anvil(&[&["--port", "0"], args].concat());
    (node, banner)
}

/// Runs it to its end under its name.
fn fail(args: &[&str]) -> Ended {
    let (temp, link) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    run_command(anvil_command(args, (temp.path(), link.path())))
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        std::thread::yield_now();
    }
}

fn height(node: &Esker) -> u64 {
    let height = node.evm("eth_blockNumber", json!([]));
    u64::from_str_radix(height.as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
}

fn send(node: &Esker, tx: Value) -> Value {
    node.evm("eth_sendTransaction", json!([tx]))
}

/// The error of a transaction that is refused.
fn refusal(node: &Esker, tx: &Value) -> String {
    node.evm_refusal("eth_sendTransaction", json!([tx]))
}

/// What alloy's node bindings read of the banner: the keys and the port. They look for nothing else.
fn read_as_alloy(banner: &[String]) -> (Vec<String>, u16) {
    let (mut keys, mut is_key, mut port) = (Vec::new(), false, 0);
    for line in banner {
        if let Some(address) = line.strip_prefix("Listening on") {
            port = address.trim().parse::<std::net::SocketAddr>().unwrap().port();
            break;
        }
        is_key |= line.starts_with("Private Keys");
        if is_key && line.starts_with('(') {
            keys.push(line.split("0x").last().unwrap().trim().to_owned());
        }
    }
    (keys, port)
}

/// The line below a heading.
fn below<'a>(banner: &'a [String], heading: &str) -> &'a str {
    let at = banner.iter().position(|line| line == heading).unwrap();
    assert_eq!(banner[at + 1], "==================");
    &banner[at + 3]
}

#[test]
fn a_launcher_starts_it_and_ends_it() {
    let (node, banner, mut stderr) = Esker::start_anvil(&["-p", "0"]);
    let (keys, port) = read_as_alloy(&banner);
    assert_eq!((keys.len(), keys[0].as_str()), (10, KEY));
    assert_eq!(format!("127.0.0.1:{port}"), node.ready["evm"].as_str().unwrap());
    let first = "(0) 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266 (10000.000000000000000000 ETH)";
    assert!(banner.iter().any(|line| line == first), "{banner:?}");
    for (heading, value) in [
        ("Chain ID", "31337"),
        ("Base Fee", "1000000000"),
        ("Gas Limit", "30000000"),
        ("Genesis Number", "0"),
    ] {
        assert_eq!(below(&banner, heading), value, "{heading}");
    }
    let start = node.evm("eth_getBlockByNumber", json!(["0x0", false]))["timestamp"].clone();
    let shown: u64 = below(&banner, "Genesis Timestamp").parse().unwrap();
    assert_eq!(start, format!("{shown:#x}"));
    assert_eq!(node.evm("eth_chainId", json!([])), "0x7a69");
    let hash = send(&node, json!({"from": FROM, "to": TO, "value": "0x1"}));
    assert_eq!(node.receipt(&hash)["status"], "0x1");
    let (status, _, temp) = node.stop("TERM");
    assert!(status.success());
    assert!(names(temp.path()).is_empty(), "{:?}", names(temp.path()));
    let mut errors = String::new();
    stderr.rewind().unwrap();
    stderr.read_to_string(&mut errors).unwrap();
    assert_eq!(errors, "");
}

/// The threads of a process with the name of those that answer requests.
#[cfg(target_os = "linux")]
fn request_threads(args: &[&str]) -> usize {
    let (node, _) = start(args);
    let tasks = std::fs::read_dir(format!("/proc/{}/task", node.pid())).unwrap();
    let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm"));
    let names = tasks.filter_map(|task| name(task.unwrap()).ok());
    names.filter(|name| name.trim_end() == "esker").count()
}

#[cfg(target_os = "linux")]
#[test]
fn as_many_threads_answer_requests_as_are_wanted() {
    let (few, many) = (request_threads(&["--threads", "1"]), request_threads(&["-j", "60"]));
    assert!(few < 40 && (60..80).contains(&many), "{few} {many}");
    let ended = run(&["anvil", "--threads", "1025"]);
    assert_eq!(ended.code(), Some(2));
    assert!(ended.stderr.contains("threads: expected at most 1024"), "{}", ended.stderr);
}

/// Sockets of a process that listen, by the system's tables.
#[cfg(target_os = "linux")]
#[test]
fn it_listens_on_one_port() {
    let (node, _) = start(&[]);
    let folder = format!("/proc/{}", node.pid());
    let mut own = BTreeSet::new();
    for entry in fs::read_dir(format!("{folder}/fd")).unwrap() {
        let target = fs::read_link(entry.unwrap().path()).unwrap_or_default();
        let name = target.to_string_lossy().into_owned();
        own.extend(name.strip_prefix("socket:[").map(|rest| rest.trim_end_matches(']').to_owned()));
    }
    let mut listening = 0;
    for table in ["tcp", "tcp6"] {
        let text = fs::read_to_string(format!("{folder}/net/{table}")).unwrap_or_default();
        let rows = text.lines().skip(1).map(|row| row.split_whitespace().collect::<Vec<_>>());
        listening += rows.filter(|row| row[3] == "0A" && own.contains(row[9])).count();
    }
    assert_eq!(listening, 1);
}

#[test]
fn the_flags_of_ape() {
    let (node, banner) = start(&[
        "--mnemonic",
        "test test test test test test test test test test test junk",
        "--accounts",
        "10",
        "--derivation-path",
        "m/44'/60'/0'/0",
        "--steps-tracing",
        "--block-base-fee-per-gas",
        "0",
        "--gas-price",
        "0",
        "--no-mining",
        "--disable-block-gas-limit",
        "--hardfork",
        "cancun",
    ]);
    assert_eq!(read_as_alloy(&banner).0[0], KEY);
    assert_eq!((below(&banner, "Base Fee"), below(&banner, "Gas Limit")), ("0", "Disabled"));
    assert!(!banner.iter().any(|line| line == "Flags Without Effect"), "{banner:?}");
    let tx = json!({"from": FROM, "to": TO, "value": "0x1", "gas": "0x5f5e100", "gasPrice": "0x0"});
    let hash = send(&node, tx);
    assert_eq!(node.evm("txpool_status", json!([]))["pending"], "0x1");
    assert_eq!(height(&node), 0);
    node.evm("evm_mine", json!([]));
    assert_eq!(node.receipt(&hash)["blockNumber"], "0x1");
    let steps = node.evm("debug_traceTransaction", json!([hash, {}]));
    assert_eq!(steps["structLogs"], json!([]));
    // A reset brings back how it began.
    node.evm("evm_setAutomine", json!([true]));
    node.evm("anvil_reset", json!([]));
    assert_eq!(node.evm("anvil_getAutomine", json!([])), false);
}

#[test]
fn blocks_come_at_intervals_and_with_mixed_mining_also_at_once() {
    let (node, _) = start(&["--block-time", "1"]);
    until("an empty block", || height(&node) >= 1);
    let (node, _) = start(&["-b", "3600", "--mixed-mining"]);
    let hash = send(&node, json!({"from": FROM, "to": TO, "value": "0x1"}));
    assert_eq!(node.receipt(&hash)["blockNumber"], "0x1");
    let (node, _) = start(&["-b", "3600"]);
    send(&node, json!({"from": FROM, "to": TO, "value": "0x1"}));
    assert_eq!((height(&node), node.evm("anvil_getIntervalMining", json!([]))), (0, json!(3600)));
}

/// Init code that returns 30,000 bytes of zeros.
const LARGE_CODE: &str = "0x6175306000f3";

#[test]
fn limits_are_lifted_as_by_anvil() {
    let large = json!({"from": FROM, "data": LARGE_CODE, "gas": "0x1c9c380"});
    let (node, _) = start(&[]);
    // Anvil has no limit of a transaction's gas, but that of a block and of code.
    let hash = send(&node, large.clone());
    assert_eq!(node.receipt(&hash)["status"], "0x0");
    let (node, _) = start(&["--enable-tx-gas-limit"]);
    let refused = refusal(&node, &large);
    let text = "intrinsic gas too high -- tx.gas_limit > env.cfg.tx_gas_limit_cap";
    assert_eq!(refused, text);
    for flags in [&["--disable-code-size-limit"][..], &["--code-size-limit", "30000"]] {
        let (node, _) = start(flags);
        let receipt = node.receipt(&send(&node, large.clone()));
        assert_eq!(receipt["status"], "0x1", "{flags:?}");
        let code = node.evm("eth_getCode", json!([receipt["contractAddress"], "latest"]));
        assert_eq!(code.as_str().unwrap().len(), 2 + 2 * 30_000);
        let traced =
            json!([receipt["transactionHash"], {"tracer": "{fault() {}, result() { return 7; }}"}]);
        assert_eq!(node.evm("debug_traceTransaction", traced), 7);
    }
}

#[test]
fn blocks_take_transactions_as_they_came_with_order_fifo() {
    for (order, first) in [("fifo", 0), ("fees", 1)] {
        let (node, _) = start(&["--order", order, "--no-mining"]);
        assert_eq!(node.evm("anvil_nodeInfo", json!([]))["transactionOrder"], order);
        let price = |wei: &str| json!({"gasPrice": wei, "to": TO, "value": "0x1", "gas": "0x5208"});
        let mut sent = Vec::new();
        for (from, wei) in [(FROM, "0x77359400"), (TO, "0xb2d05e00")] {
            let mut tx = price(wei);
            tx["from"] = json!(from);
            sent.push(send(&node, tx));
        }
        node.evm("evm_mine", json!([]));
        let block = node.evm("eth_getBlockByNumber", json!(["0x1", false]));
        assert_eq!(block["transactions"][0], sent[first], "{order}");
    }
}

/// The next line of a socket, as JSON.
fn next(socket: &mut BufReader<UnixStream>) -> Value {
    let mut line = String::new();
    socket.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
}

#[test]
fn safe_and_finalized_are_behind_by_epochs() {
    for (flags, safe, finalized) in [
        (&[][..], 8, 0),
        (&["--slots-in-an-epoch", "3"], 37, 34),
        (&["--slots-in-an-epoch", "0"], 40, 40),
    ] {
        let (node, _) = start(flags);
        node.evm("anvil_mine", json!(["0x28"]));
        for (tag, expected) in [("safe", safe), ("finalized", finalized), ("latest", 40)] {
            let block = node.evm("eth_getBlockByNumber", json!([tag, false]));
            assert_eq!(block["number"], format!("{expected:#x}"), "{flags:?} {tag}");
        }
        let logs = json!([{"fromBlock": "finalized", "toBlock": "safe"}]);
        assert_eq!(node.evm("eth_getLogs", logs), json!([]));
        let backwards = json!([{"fromBlock": "safe", "toBlock": "finalized"}]);
        assert_eq!(node.evm("eth_getLogs", backwards), json!([]));
        let history = node.evm("eth_feeHistory", json!(["0x1", "safe", []]));
        assert_eq!(history["oldestBlock"], format!("{safe:#x}"), "{flags:?}");
    }
}

#[test]
fn old_states_are_dropped_with_prune_history() {
    let (node, _) = start(&["--prune-history", "3"]);
    for _ in 0..6 {
        node.receipt(&send(&node, json!({"from": FROM, "to": TO, "value": "0x1"})));
    }
    for number in 3..=6 {
        let balance = node.evm("eth_getBalance", json!([TO, format!("{number:#x}")]));
        assert_eq!(balance, format!("0x21e19e0c9bab240000{number}"), "{number}");
    }
    let old = json!({"jsonrpc": "2.0", "id": 1, "method": "eth_getBalance", "params": [TO, "0x2"]});
    let (_, body) = node.http("POST", "/", &old.to_string());
    assert!(body.contains("error"), "{body}");
    // Blocks and their transactions are there all the same.
    let block = node.evm("eth_getBlockByNumber", json!(["0x1", false]));
    assert_eq!(block["transactions"].as_array().unwrap().len(), 1);
}

#[test]
fn requests_may_be_large_with_no_request_size_limit() {
    let data = format!("0x{}", "00".repeat(3 << 20));
    let request =
        json!({"jsonrpc": "2.0", "id": 1, "method": "web3_sha3", "params": [data]}).to_string();
    let (node, _) = start(&[]);
    assert_eq!(node.http("POST", "/", &request).0, 413);
    let (node, _) = start(&["--no-request-size-limit"]);
    let (status, body) = node.http("POST", "/", &request);
    assert_eq!((status, body.contains("\"result\":\"0x")), (200, true), "{body}");
}

#[test]
fn the_memory_limit_makes_code_run_out_of_gas() {
    // Stores a word behind 65,535 bytes, and returns one.
    let stores = json!({"from": FROM, "data": "0x600161ffff5260206000f3", "gas": "0x30d40"});
    for (flags, status, gas_used) in [
        (&[][..], "0x1", None),
        (&["--memory-limit", "70000"], "0x1", None),
        (&["--memory-limit", "1000"], "0x0", Some("0x30d40")),
    ] {
        let (node, _) = start(flags);
        let receipt = node.receipt(&send(&node, stores.clone()));
        assert_eq!(receipt["status"], status, "{flags:?}");
        assert!(gas_used.is_none_or(|gas| receipt["gasUsed"] == gas), "{receipt}");
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "eth_call", "params": [stores]});
        let (_, body) = node.http("POST", "/", &call.to_string());
        assert_eq!(body.contains("EVM error OutOfGas"), status == "0x0", "{body}");
    }
}

#[test]
fn block_0_has_the_deployer_unless_it_is_disabled() {
    let code = |flags: &[&str], address: &str| {
        let (node, _) = start(flags);
        node.evm("eth_getCode", json!([address, "latest"])).as_str().unwrap().len()
    };
    let deployer = "0x4e59b44847b379578588920ca78fbf26c0b4956c";
    assert_eq!(code(&[], deployer), 140);
    assert_eq!(code(&["--disable-default-create2-deployer"], deployer), 2);
    assert!(code(&["--no-create2"], "0xca11bde05977b3631167028862be2a173976ca11") > 2);
}

#[test]
fn the_gas_price_is_that_of_chains_before_london() {
    for (flags, price) in [
        (&["--hardfork", "berlin", "--gas-price", "5000000000"][..], "0x12a05f200"),
        (&["--hardfork", "berlin"], "0x6fc23ac0"),
    ] {
        let (node, _) = start(flags);
        assert_eq!(node.evm("eth_gasPrice", json!([])), price, "{flags:?}");
        // Cheaper transactions are mined, too.
        let cheap = json!({"from": FROM, "to": TO, "value": "0x1", "gasPrice": "0x1"});
        assert_eq!(node.receipt(&send(&node, cheap))["status"], "0x1");
        assert_eq!(node.evm("eth_gasPrice", json!([])), price, "{flags:?}");
        let usual = send(&node, json!({"from": FROM, "to": TO, "value": "0x1"}));
        let sent = node.evm("eth_getTransactionByHash", json!([usual]));
        assert_eq!(sent["gasPrice"], price);
    }
}

/// Init code of a contract that emits two events, calls two accounts and two precompiled contracts, makes contracts,
/// one of which fails, and ends with SELFDESTRUCT.
const BUSY: &str = "0x610172600e6000396101726000f37f22222222222222222222222222222222222222222222222222222222222222227f111111111111111111111111111111111111111111111111111111111111111160036000a27f00000000000000000000000070997970c51812dc3a010c7d01b50e0d17dc79c87f000000000000000000000000f39fd6e51aad88f6f4ce6ab8827279cfffb922667fddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef60206000a360006000600260007370997970c51812dc3a010c7d01b50e0d17dc79c85afa5060006000602460007370997970c51812dc3a010c7d01b50e0d17dc79c85af4506460006000fd6000526005601b6000f0506460016000f36000526005601b6001f060006000600060006000855af1505060076005601b6000f5506000600060206000600060025af1506000600060806000600060015af150600060006000600067ffffffffffffffff7370997970c51812dc3a010c7d01b50e0d17dc79c85af15033ff";
/// Of one that reverts with `Panic(17)`.
const PANICS: &str = "0x61004d600e60003961004d6000f37f4e487b71000000000000000000000000000000000000000000000000000000006000527f000000110000000000000000000000000000000000000000000000000000000060205260246000fd";
/// Of one that begins with the invalid instruction.
const INVALID: &str = "0x610001600e6000396100016000f3fe";

/// The tree that anvil 1.7.1 prints for [`BUSY`], but for the arguments of `ecrecover`, and calls without the value that
/// they send.
const TREE: &str = "\
Traces:
  [117225] 0x5FbDB2315678afecb367f032d93F642f64180aa3::fallback()
    ├─  emit topic 0: 0x1111111111111111111111111111111111111111111111111111111111111111
    │        topic 1: 0x2222222222222222222222222222222222222222222222222222222222222222
    │           data: 0x000000
    ├─ emit Transfer(from: 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266, to: 0x70997970C51812dc3A010C7d01b50e0d17dc79C8, value: 0)
    ├─ [0] 0x70997970C51812dc3A010C7d01b50e0d17dc79C8::fallback(0000) [staticcall]
    │   └─ ← [Stop]
    ├─ [0] 0x70997970C51812dc3A010C7d01b50e0d17dc79C8::00000000(0000000000000000000000000000000000000000000000000000000000000000) [delegatecall]
    │   └─ ← [Stop]
    ├─ [6] → new <unknown>@0xa16E02E87b7454126E5E10d957A927A7F5B5d2be
    │   └─ ← [Revert]
    ├─ [0] 0x0000000000000000000000000000000000000000::fallback()
    │   └─ ← [Stop]
    ├─ [209] → new <unknown>@0xC9635ca2289E68f8CFf93Ba0436Af6586ff4B162
    │   └─ ← [Return] 1 bytes of code
    ├─ [72] PRECOMPILES::sha256(0x00000000000000000000000000000000000000000000000000000060016000f3)
    │   └─ ← [Return] 0xe35a693f18ed449dc706f7035c34246b7b57a24154c21d849c0b423af72276dd
    ├─ [3000] PRECOMPILES::ecrecover(0x00000000000000000000000000000000000000000000000000000060016000f3000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000)
    │   └─ ← [Return] 0x
    └─ ← [SelfDestruct]

    Transaction: ";

#[test]
fn traces_of_transactions_and_calls_are_printed_in_foundrys_form() {
    let (node, _) = start(&["--print-traces", "--disable-console-log"]);
    let create = |code: &str| {
        let hash = send(&node, json!({"from": FROM, "data": code, "gas": "0x1e8480"}));
        node.receipt(&hash)["contractAddress"].clone()
    };
    let busy = create(BUSY);
    let failing = [PANICS, INVALID].map(create);
    for to in [&busy, &failing[0], &failing[1], &json!(TO)] {
        node.receipt(&send(
            &node,
            json!({"from": FROM, "to": to, "gas": "0x1e8480", "value": "0x0"}),
        ));
    }
    node.receipt(&send(
        &node,
        json!({"from": FROM, "to": TO, "value": "0x7", "data": "0x1234567890"}),
    ));
    let called = |method: &str, to: &Value| {
        node.evm(method, json!([{"from": FROM, "to": to, "data": "0x01"}, "latest"]))
    };
    assert_eq!(called("eth_call", &json!(TO)), "0x");
    called("eth_estimateGas", &json!(TO));
    node.evm_refusal("eth_call", json!([{"to": failing[0]}, "latest"]));
    let (status, shown, _) = node.stop("TERM");
    assert!(status.success());
    for text in [
        "evm_call\nTraces:\n  [0] 0x70997970C51812dc3A010C7d01b50e0d17dc79C8::fallback(01)\n    └─ ← [Stop]\n",
        "evm_estimateGas\nTraces:\n  [0] 0x70997970C51812dc3A010C7d01b50e0d17dc79C8::fallback(01)\n",
        "  [74090] → new <unknown>@0x5FbDB2315678afecb367f032d93F642f64180aa3\n    └─ ← [Return] ",
        TREE,
        "    └─ ← [Revert] panic: arithmetic underflow or overflow (0x11)\n",
        "    └─ ← [InvalidFEOpcode] EvmError: InvalidFEOpcode\n",
        "  [0] 0x70997970C51812dc3A010C7d01b50e0d17dc79C8::fallback()\n    └─ ← [Stop]\n",
        "  [0] 0x70997970C51812dc3A010C7d01b50e0d17dc79C8::12345678{value: 7}(90)\n    └─ ← [Stop]\n",
    ] {
        assert!(shown.contains(text), "{text}\nin\n{shown}");
    }
}

#[test]
fn the_socket_of_ipc_answers_and_notifies() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("anvil.ipc");
    let (node, _) = start(&["--ipc", path.to_str().unwrap(), "--no-mining"]);
    let stream = UnixStream::connect(&path).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut socket = BufReader::new(stream.try_clone().unwrap());
    let ask = |text: &str| (&stream).write_all(text.as_bytes()).unwrap();
    // Without a line feed, and two at once.
    ask(r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}"#);
    assert_eq!(next(&mut socket)["result"], "0x7a69");
    ask(
        r#"{"jsonrpc":"2.0","id":2,"method":"eth_subscribe","params":["newHeads"]}[{"jsonrpc":"2.0","id":3,"#,
    );
    ask(r#""method":"evm_mine"}]"#);
    let subscription = next(&mut socket)["result"].clone();
    assert!(subscription.is_string(), "{subscription}");
    let (first, second) = (next(&mut socket), next(&mut socket));
    let (reply, event) = if first.is_array() { (first, second) } else { (second, first) };
    assert_eq!(reply[0]["result"], "0x0");
    assert_eq!(
        (&event["params"]["subscription"], &event["params"]["result"]["number"]),
        (&subscription, &json!("0x1"))
    );
    ask("nonsense\n");
    assert_eq!(next(&mut socket)["error"]["code"], -32700);
    // A program that listens keeps its path; the end of the node removes it.
    let ended = fail(&["--port", "0", "--ipc", path.to_str().unwrap()]);
    assert_eq!(ended.code(), Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("anvil.ipc: "), "{}", ended.stderr);
    assert!(node.stop("TERM").0.success());
    assert!(!path.exists());
}

#[test]
fn any_account_sends_with_auto_impersonate() {
    let (node, _) = start(&["--auto-impersonate"]);
    let someone = "0x000000000000000000000000000000000000c0de";
    node.evm("anvil_setBalance", json!([someone, "0xde0b6b3a7640000"]));
    let hash = send(&node, json!({"from": someone, "to": TO, "value": "0x1"}));
    assert_eq!(node.receipt(&hash)["from"], someone);
}

#[test]
fn a_genesis_file_adds_accounts() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("genesis.json");
    let genesis = json!({
        "config": {"chainId": 77}, "timestamp": "0x5", "baseFeePerGas": "0x7",
        "alloc": {"0x000000000000000000000000000000000000c0de": {"balance": "0x5", "code": "0x6001"}},
    });
    fs::write(&file, genesis.to_string()).unwrap();
    let (node, banner) = start(&["--init", file.to_str().unwrap()]);
    assert_eq!((below(&banner, "Chain ID"), below(&banner, "Base Fee")), ("77", "7"));
    assert_eq!(below(&banner, "Genesis Timestamp"), "5");
    let added = "0x000000000000000000000000000000000000c0de";
    assert_eq!(node.evm("eth_getBalance", json!([added, "latest"])), "0x5");
    assert_eq!(node.evm("eth_getCode", json!([added, "latest"])), "0x6001");
    assert_eq!(node.evm("eth_getBalance", json!([FROM, "latest"])), "0x21e19e0c9bab2400000");
    assert_eq!(node.evm("anvil_nodeInfo", json!([]))["hardFork"], "Osaka");
}

#[test]
fn the_state_is_kept_in_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("state.json");
    let path = file.to_str().unwrap();
    let (node, _) = start(&["--state", path, "--state-interval", "1"]);
    node.evm("anvil_setBalance", json!([TO, "0x7"]));
    until("a file while it runs", || file.exists());
    assert!(node.stop("TERM").0.success());
    let (node, _) = start(&["--load-state", path]);
    assert_eq!(node.evm("eth_getBalance", json!([TO, "latest"])), "0x7");
}

#[test]
fn old_states_are_kept_in_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("state.json");
    let flags = ["--state", file.to_str().unwrap(), "--preserve-historical-states"];
    let run = |more: &[&str]| {
        let (node, banner) = start(&[&flags, more].concat());
        assert!(!banner.iter().any(|line| line == "Flags Without Effect"), "{banner:?}");
        node
    };
    let states = |number: usize| {
        let json: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        let states = json["historical_states"].as_array().unwrap().len();
        assert!((1..=number).contains(&states), "{states}");
        states
    };
    let node = run(&[]);
    for wei in ["0x7", "0x8", "0x9"] {
        node.evm("anvil_setBalance", json!([TO, wei]));
    }
    assert!(node.stop("TERM").0.success());
    assert_eq!(states(3), 3);
    let node = run(&["--prune-history", "4"]);
    for (block, wei) in [("0x1", "0x7"), ("0x2", "0x8"), ("0x3", "0x9")] {
        assert_eq!(node.evm("eth_getBalance", json!([TO, block])), wei);
    }
    // States that the node no longer keeps are not written either.
    node.evm("anvil_mine", json!([20]));
    assert!(node.stop("TERM").0.success());
    states(22);
    assert_eq!(fail(&["--preserve-historical-states", "--init", flags[1]]).code(), Some(2));
}

#[test]
fn the_file_of_config_out_has_the_accounts() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("config.json");
    let (_node, _) =
        start(&["-a", "1", "--timestamp", "1700000000", "--config-out", file.to_str().unwrap()]);
    let config: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let expected = json!({
        "available_accounts": [FROM],
        "private_keys": [format!("0x{KEY}")],
        "wallet": {
            "mnemonic": "test test test test test test test test test test test junk",
            "derivation_path": "m/44'/60'/0'/0/",
        },
        "base_fee": "1000000000",
        "gas_price": "1000000000",
        "gas_limit": null,
        "genesis_timestamp": "1700000000",
    });
    assert_eq!(config, expected);
}

#[test]
fn errors_say_what_to_do() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for (args, code, text) in [
        (
            &["--port", &port][..],
            4,
            format!(
                "port in use: 127.0.0.1:{port}: stop the other program or choose another --port"
            ),
        ),
        (
            &["--fork-url", "http://127.0.0.1:1", "--retries", "0"],
            1,
            "cannot fork http://127.0.0.1:1: eth_chainId: unreachable".to_owned(),
        ),
        (&["--hardfork", "bogus"], 2, "unknown hardfork \"bogus\"".to_owned()),
        (
            &["--mnemonic", "foo bar"],
            2,
            "mnemonic: expected 12, 15, 18, 21 or 24 words, found 2".to_owned(),
        ),
        (&["--accounts", "0"], 2, "accounts: expected a whole number from 1 to 1000".to_owned()),
        (&["--bogus"], 2, "unexpected argument '--bogus' found".to_owned()),
    ] {
        let ended = fail(args);
        assert_eq!(ended.code(), Some(code), "{args:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(&text), "{args:?}: {}", ended.stderr);
        assert_eq!(ended.stdout, "");
    }
    // The command has the same flags.
    let ended = run(&["anvil", "--fork-url", "127.0.0.1"]);
    assert_eq!(ended.code(), Some(2), "{}", ended.stderr);
}

#[test]
fn flags_without_effect_are_listed() {
    let (_node, banner) = start(&["--threads", "2", "--transaction-block-keeper", "5"]);
    let first = "--transaction-block-keeper: all blocks are kept";
    assert_eq!(below(&banner, "Flags Without Effect"), first);
    assert!(!banner.iter().any(|line| line.contains("--threads")), "{banner:?}");
    let last = banner.last().unwrap();
    assert!(last.starts_with("Listening on 127.0.0.1:"), "{last}");
}

/// The flags of a help text: long names, short names, and aliases.
fn flags_of(help: &str) -> BTreeSet<String> {
    let begins = |line: &str| line.trim_start().starts_with('-') || line.contains("[alias");
    let words = help.lines().filter(|line| begins(line)).flat_map(|line| {
        line.split([' ', ',', '[', ']', '<', '.'])
            .filter(|word| word.len() > 1 && word.starts_with('-'))
    });
    words.map(str::to_owned).collect()
}

/// The pinned anvil is a program of one machine, which `cargo xtask test` installs.
#[test]
fn every_flag_of_anvil_is_known() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = "tests/clients/node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil";
    let anvil: PathBuf = root.join(path);
    if !anvil.exists() {
        eprintln!("skipped: there is no anvil: `cargo xtask test` installs it");
        return;
    }
    let theirs = Command::new(anvil).arg("--help").output().unwrap();
    let theirs = flags_of(&String::from_utf8(theirs.stdout).unwrap());
    let ours = flags_of(&run(&["anvil", "--help"]).stdout);
    assert!(theirs.len() > 60, "{theirs:?}");
    let missing: Vec<_> = theirs.difference(&ours).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
