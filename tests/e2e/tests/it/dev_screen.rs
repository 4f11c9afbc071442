//! The lines of `esker dev` about transactions, blocks and refused calls, for a person's terminal.

use std::io::Read as _;
use std::net::{Shutdown, SocketAddr};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use alloy_primitives::hex;
use esker_client::{RpcClient, Wallet};
use esker_e2e::funds::{FUNDED, funded};
use esker_e2e::{Node, NodeBuilder, until};
use serde_json::{Value, json};
use socket2::Socket;

use crate::support::{PROGRAM, accept, local, wallet};

const RPC: &str = "/ext/bc/C/rpc";
const NAT: &str = "/ext/bc/C/nat";
const X: &str = "/ext/bc/X";

fn call(node: &Node, method: &str, params: Value) -> Value {
    node.rpc().call(RPC, method, params).unwrap_or_else(|error| panic!("{method}: {error}"))
}

fn mined(node: &Node, hash: &Value) -> Value {
    until(&format!("{hash} is mined"), || {
        Some(call(node, "eth_getTransactionReceipt", json!([hash]))).filter(|r| !r.is_null())
    })
}

/// Init code of a contract that reverts each call with `Error("no luck")`.
fn unlucky() -> String {
    let word = |number: u8| [vec![0; 31], vec![number]].concat();
    let text = [b"no luck".to_vec(), vec![0; 25]].concat();
    let reason = [hex!("08c379a0").to_vec(), word(32), word(7), text].concat();
    let runtime = [hex!("6064600c60003960646000fd").to_vec(), reason].concat();
    assert_eq!(runtime.len(), 0x70);
    hex::encode_prefixed([hex!("607080600b6000396000f3").to_vec(), runtime].concat())
}

fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().unwrap_or_else(|| panic!("no {member}: {value}"))
}

fn number(value: &Value, member: &str) -> u64 {
    u64::from_str_radix(text(value, member).trim_start_matches("0x"), 16).unwrap()
}

/// Waits until the screen has all of these texts.
fn assert_shown(node: &Node, texts: &[String]) {
    for text in texts {
        let mut screen = String::new();
        until(&format!("the screen shows {text:?}"), || {
            screen = node.output();
            screen.contains(text.as_str()).then_some(())
        });
    }
}

/// A deployment, a call that reverts, refused calls; what the screen says of each.
fn on_c(node: &Node) -> Vec<String> {
    let accounts = call(node, "eth_accounts", json!([]));
    let from = &accounts[0];
    let deploy = json!([{ "from": from, "data": unlucky(), "gas": "0x30000" }]);
    let hash = call(node, "eth_sendTransaction", deploy);
    let deployed = mined(node, &hash);
    let block = call(node, "eth_getBlockByHash", json!([deployed["blockHash"], false]));
    let contract = text(&deployed, "contractAddress").to_owned();
    // The screen has addresses in the form with a checksum, as anvil has.
    let shown = contract.parse::<alloy_primitives::Address>().unwrap().to_string();
    let mut texts = vec![format!(
        "\n    Transaction: {}\n    Contract created: {shown}\n    Gas used: {}\n\n    \
         Block Number: {}\n    Block Hash: {}\n    Block Time: \"",
        text(&deployed, "transactionHash"),
        number(&deployed, "gasUsed"),
        number(&block, "number"),
        text(&block, "hash"),
    )];
    let failing = json!([{ "from": from, "to": contract, "gas": "0x30000" }]);
    let failed = mined(node, &call(node, "eth_sendTransaction", failing));
    assert_eq!(failed["status"], "0x0");
    texts.push(format!(
        "\n    Transaction: {}\n    Gas used: {}\n    Error: reverted with: no luck\n\n    Block Number: ",
        text(&failed, "transactionHash"),
        number(&failed, "gasUsed"),
    ));
    for (method, params, reason) in [
        ("sendRawTransaction", json!(["0x01"]), "typed transaction too short"),
        ("estimateGas", json!([{ "from": from, "to": contract }]), "execution reverted: no luck"),
        ("call", json!([{ "to": contract }, "latest"]), "execution reverted: no luck"),
    ] {
        let refused = node.rpc().call::<Value>(RPC, &format!("eth_{method}"), params);
        let refused = refused.unwrap_err().rpc_message().unwrap().to_owned();
        assert!(refused.starts_with(reason), "{method}: {refused}");
        texts.push(format!("\nevm_{method} refused: {refused}"));
    }
    texts
}

/// A transfer on the X-Chain, and one from it to the C-Chain.
fn on_x(node: &Node) -> Vec<String> {
    let funds = wallet(node, "X", funded());
    let output = Wallet::output(funds.params().fee_asset_id, 7, funds.owner());
    let transfer = funds.base_tx(vec![output], b"").unwrap();
    accept(&mut node.x(), &transfer);
    let user = |mut params: Value| {
        params["username"] = json!("alice");
        params["password"] = json!("Str0ng-Pass-W0rd!");
        params
    };
    let ok = |path: &str, method: &str, params: Value| -> Value {
        let reply = node.rpc().call(path, method, user(params));
        reply.unwrap_or_else(|error| panic!("{method}: {error}"))
    };
    ok("/ext/keystore", "keystore.createUser", json!({}));
    let key = json!({ "privateKey": FUNDED });
    let on_x = text(&ok(X, "xvm.importKey", key.clone()), "address").to_owned();
    let on_c = ok(NAT, "nat.importKey", key)["address"].clone();
    let sent = json!({ "to": on_x.replacen('X', "C", 1), "amount": 5_000_000, "assetID": "NAT" });
    let exported = ok(X, "xvm.export", sent);
    until("the export is accepted", || {
        let status = ok(X, "xvm.getTxStatus", json!({ "txID": exported["txID"] }));
        (status["status"] == "Accepted").then_some(())
    });
    let imported = ok(NAT, "nat.import", json!({ "to": on_c, "sourceChain": "X" }));
    let shown = |id: &str, kind: &str| format!("\n    Transaction: {id}\n    Kind: {kind}\n");
    vec![
        shown(&transfer.id().to_string(), "transfer on X"),
        shown(text(&exported, "txID"), "export on X"),
        shown(text(&imported, "txID"), "import on C"),
        "\"\n    Chain: X\n".to_owned(),
        "\"\n    Chain: C\n".to_owned(),
    ]
}

fn dev() -> NodeBuilder {
    local().dev().temporary()
}

#[test]
fn transactions_blocks_and_refused_calls_are_shown() {
    let node = dev().start().unwrap();
    let texts = [on_c(&node), on_x(&node)].concat();
    assert_shown(&node, &texts);
    let screen = node.output();
    let ready = screen.find("Accounts, 10,000 each").unwrap();
    let first = screen.find("    Transaction: ").unwrap();
    assert!(
        ready < first,
        "the screen comes first, and nothing of the network's funding:\n{screen}"
    );
    assert_eq!(screen.matches("Contract created: ").count(), 1, "{screen}");
    // The screen ends with where it listens, also where no terminal shows it.
    let (shown, _) = screen.split_at(first);
    let address = node.ready()["evm"].as_str().unwrap();
    let end = format!("\n\nListening on {address}\n");
    assert!(shown.trim_end().ends_with(end.trim_end()), "{shown}");
    assert!(node.stop().unwrap().success());
}

#[test]
fn a_silent_node_and_one_with_a_machine_readable_line_show_none() {
    for flag in ["--silent", "--json"] {
        let node = dev().arg(flag).start().unwrap();
        let _texts = [on_c(&node), on_x(&node)].concat();
        // The lines that a task writes at its end exist when the process has ended.
        let log = node.scratch().join("output.txt");
        let kept = tempfile::NamedTempFile::new().unwrap();
        std::fs::hard_link(&log, kept.path().with_extension("log")).unwrap();
        assert!(node.stop().unwrap().success());
        let log = kept.path().with_extension("log");
        let output = std::fs::read_to_string(&log).unwrap();
        std::fs::remove_file(log).unwrap();
        for text in ["Transaction: ", "Block Number: ", " refused: "] {
            assert!(!output.contains(text), "{flag}: {output}");
        }
    }
}

#[test]
fn many_blocks_have_some_texts_a_second_and_a_summary() {
    const SENT: usize = 400;
    let node = dev().start().unwrap();
    let mut rpc = node.rpc();
    let accounts = call(&node, "eth_accounts", json!([]));
    let tx = json!([{ "from": accounts[0], "to": accounts[1], "value": "0x1" }]);
    let begun = std::time::Instant::now();
    let sent: Vec<Value> =
        (0..SENT).map(|_| rpc.call(RPC, "eth_sendTransaction", &tx).unwrap()).collect();
    mined(&node, sent.last().unwrap());
    let seconds = usize::try_from(begun.elapsed().as_secs()).unwrap() + 2;
    let numbers = |pattern: &str, screen: &str| -> usize {
        let pattern = regex_lite::Regex::new(pattern).unwrap();
        let found = pattern.captures_iter(screen).map(|found| found[1].parse::<usize>().unwrap());
        found.sum()
    };
    until("the texts and the summaries have all transactions", || {
        let screen = node.output();
        let shown = screen.matches("    Transaction: ").count();
        let further = numbers(r"Further transactions: (\d+)\n", &screen);
        let in_summaries = numbers(r"Further blocks on C: .*, (\d+) transactions", &screen);
        (shown + further + in_summaries == SENT).then_some(())
    });
    let screen = node.output();
    let blocks = screen.matches("    Block Number: ").count();
    assert!(blocks <= 10 * seconds, "{blocks} blocks in {seconds} s");
    assert!(node.stop().unwrap().success());
}

/// A node whose standard output is `stdout`, and where it listens.
fn spawn(folder: &Path, stdout: Stdio) -> (Child, SocketAddr) {
    let ready = folder.join("ready.json");
    let mut command = Command::new(PROGRAM);
    command.args(["dev", "--http-port", "0", "--evm-port", "0", "--ready-file"]).arg(&ready);
    let command = command.stdin(Stdio::null()).stdout(stdout).stderr(Stdio::null());
    let mut node = command.spawn().unwrap();
    let address = until("the node is ready", || {
        assert!(matches!(node.try_wait(), Ok(None)), "the node ended");
        let text = std::fs::read_to_string(&ready).ok()?;
        let ready: Value = serde_json::from_str(&text).ok()?;
        ready["http"].as_str()?.parse().ok()
    });
    (node, address)
}

/// Sends transactions until blocks hold them all, then ends the node.
fn assert_goes_on(mut node: Child, address: SocketAddr) {
    let mut rpc = RpcClient::new(address);
    let accounts: Vec<String> = rpc.call(RPC, "eth_accounts", json!([])).unwrap();
    let tx = json!([{ "from": accounts[0], "to": accounts[1], "value": "0x1" }]);
    for _ in 0..5 {
        for _ in 0..100 {
            let _hash: Value = rpc.call(RPC, "eth_sendTransaction", &tx).unwrap();
        }
        until("all are mined", || {
            let [mined, sent]: [String; 2] = ["latest", "pending"].map(|tag| {
                rpc.call(RPC, "eth_getTransactionCount", json!([accounts[0], tag])).unwrap()
            });
            (mined == sent).then_some(())
        });
    }
    let sent = Command::new("kill").args(["-TERM", &node.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let status = until("the node ends", || node.try_wait().unwrap());
    assert!(status.success(), "{status}");
}

#[test]
fn a_terminal_that_is_closed_or_never_read_stops_nothing() {
    for closed in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let (ours, theirs) = UnixStream::pair().unwrap();
        let kept = Socket::from(OwnedFd::from(theirs.try_clone().unwrap()));
        let (node, address) = spawn(folder.path(), Stdio::from(OwnedFd::from(theirs)));
        let mut ours = ours;
        ours.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut screen = String::new();
        while !screen.contains("\nListening on ") {
            let mut part = [0; 4096];
            let read = ours.read(&mut part).unwrap();
            screen.push_str(&String::from_utf8_lossy(&part[..read]));
        }
        if closed {
            ours.shutdown(Shutdown::Both).unwrap();
            drop((ours, kept));
            assert_goes_on(node, address);
            continue;
        }
        // Full to the last byte, without changing the end that the node has.
        const MSG_DONTWAIT: i32 = 0x40;
        for part in [4096, 1] {
            while kept.send_with_flags(&vec![b'-'; part], MSG_DONTWAIT).is_ok() {}
        }
        assert_goes_on(node, address);
        drop(ours);
    }
}
