//! What contracts print, on the screens of `esker dev`, `esker evm` and `esker anvil`.

use serde_json::{Value, json};

use crate::harness::{Esker, command};

const FROM: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
/// Calls the console with the call data, by a STATICCALL.
const PRINT: &str = "365f5f375f5f365f73000000000000000000636f6e736f6c652e6c6f675afa50";
/// Reverts.
const REVERT: &str = "5f5ffd";

/// Init code of a contract.
fn init_code(code: &str) -> String {
    format!("0x60{:02x}8060095f395ff3{code}", code.len() / 2)
}

/// Call data of `log(string,uint256)`.
fn log(text: &[u8], number: u64) -> String {
    let word = |number: u64| format!("{number:064x}");
    let text_hex: String = text.iter().map(|byte| format!("{byte:02x}")).collect();
    let (offset, length) = (word(64), word(text.len() as u64));
    format!("0xb60e72cc{offset}{}{length}{text_hex:0<64}", word(number))
}

/// A node with a contract that prints, and with one that prints and reverts.
struct Printing {
    node: Esker,
    prints: Value,
    reverts: Value,
}

impl Printing {
    fn start(args: &[&str]) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let command = command(args, temp.path());
        let (node, _, _) = Esker::start_screen(command, temp);
        let deploy = |code: &str| {
            let tx = json!({"from": FROM, "gas": "0x186a0", "data": init_code(code)});
            let hash = node.evm("eth_sendTransaction", json!([tx]));
            node.receipt(&hash)["contractAddress"].clone()
        };
        let prints = deploy(&PRINT.repeat(2));
        let reverts = deploy(&format!("{PRINT}{REVERT}"));
        Self { node, prints, reverts }
    }

    /// The status of a transaction that prints, and its hash.
    fn send(&self, to: &Value, data: &str) -> (Value, String) {
        let tx = json!({"from": FROM, "to": to, "gas": "0x186a0", "data": data});
        let hash = self.node.evm("eth_sendTransaction", json!([tx]));
        let status = self.node.receipt(&hash)["status"].clone();
        (status, hash.as_str().unwrap().to_owned())
    }

    /// Asks for a call or an estimate, which may fail.
    fn ask(&self, method: &str, to: &Value, data: &str) {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method,
            "params": [{"from": FROM, "to": to, "data": data}]});
        let address = self.node.ready["evm"].as_str().unwrap();
        let (status, _) = self.node.http_at(address, "POST", "/", &request.to_string());
        assert_eq!(status, 200);
    }

    /// Everything below the screen.
    fn end(self) -> String {
        let (status, shown, _) = self.node.stop("TERM");
        assert!(status.success());
        shown
    }
}

/// The screen has this text once.
fn has_once(shown: &str, text: &str) {
    assert_eq!(shown.matches(text).count(), 1, "{text}: {shown}");
}

#[test]
fn what_contracts_print_is_on_the_screen() {
    for args in [
        &["dev", "--http-port", "0", "--evm-port", "0"][..],
        &["evm", "--port", "0"],
        &["anvil", "--port", "0"],
    ] {
        let printing = Printing::start(args);
        let (prints, reverts) = (printing.prints.clone(), printing.reverts.clone());
        let (status, sent) = printing.send(&prints, &log(b"a %d\n\x1b[2J<b>", 5));
        assert_eq!(status, "0x1");
        let (status, failed) = printing.send(&reverts, &log(b"fails", 6));
        assert_eq!(status, "0x0");
        let (_, malformed) = printing.send(&prints, "0xb60e72ccff");
        printing.ask("eth_call", &prints, &log(b"call", 7));
        printing.ask("eth_call", &reverts, &log(b"refused call", 8));
        printing.ask("eth_estimateGas", &prints, &log(b"estimate", 9));
        printing.ask("eth_estimateGas", &reverts, &log(b"refused estimate", 10));
        printing.ask("eth_createAccessList", &prints, &log(b"list", 11));
        let calls = [12, 13]
            .map(|number| json!({"from": FROM, "to": prints, "data": log(b"sequence %e", number)}));
        for params in [
            ("eth_simulateV1", json!([{"blockStateCalls": [{"calls": calls}]}, "latest"])),
            ("eth_callMany", json!([[{"transactions": calls}]])),
        ] {
            printing.node.evm(params.0, params.1);
        }
        let traced = json!([sent, {"tracer": "consoleTracer"}]);
        let traced = printing.node.evm("debug_traceTransaction", traced);
        assert_eq!(traced[1]["text"], "a 5\n\u{1b}[2J<b>");
        let shown = printing.end();
        assert!(!shown.contains('\u{1b}'), "{shown}");
        // Of a transaction, below its gas.
        let below = |hash: &str| {
            let (_, after) = shown.split_once(&format!("Transaction: {hash}\n")).unwrap();
            after.split_once("\n\n").unwrap().0.to_owned()
        };
        let text = "      a 5\\n\\u{1b}[2J<b>";
        assert!(below(&sent).ends_with(&format!("    console.log:\n{text}\n{text}")), "{shown}");
        assert!(below(&failed).ends_with("    console.log:\n      fails 6"), "{shown}");
        let raw = "0xb60e72ccff (5 bytes, argument 1 of log(string,uint256) is malformed)";
        assert!(below(&malformed).ends_with(raw), "{shown}");
        // Of calls and estimates, with the name of the method.
        let twice = |text: &str| format!("    console.log:\n      {text}\n      {text}\n");
        has_once(&shown, &format!("\nevm_call\n{}", twice("call 7")));
        has_once(&shown, "\nevm_call\n    console.log:\n      refused call 8\n");
        has_once(&shown, &format!("\nevm_estimateGas\n{}", twice("estimate 9")));
        has_once(&shown, "\nevm_estimateGas\n    console.log:\n      refused estimate 10\n");
        has_once(&shown, &format!("\nevm_createAccessList\n{}", twice("list 11")));
        let all =
            format!("{}      sequence 1.3e1\n      sequence 1.3e1\n", twice("sequence 1.2e1"));
        has_once(&shown, &format!("\nevm_simulateV1\n{all}"));
        has_once(&shown, &format!("\nevm_callMany\n{all}"));
    }
}

#[test]
fn without_console_nothing_is_shown() {
    for args in [
        &["dev", "--http-port", "0", "--evm-port", "0", "--no-console"][..],
        &["evm", "--port", "0", "--no-console"],
        &["anvil", "--port", "0", "--disable-console-log"],
    ] {
        let printing = Printing::start(args);
        let prints = printing.prints.clone();
        let (_, hash) = printing.send(&prints, &log(b"hidden", 5));
        printing.ask("eth_call", &prints, &log(b"hidden", 5));
        let traced = json!([hash, {"tracer": "consoleTracer"}]);
        let traced = printing.node.evm("debug_traceTransaction", traced);
        assert_eq!(traced[0]["text"], "hidden 5");
        let shown = printing.end();
        assert!(shown.contains(&hash) && !shown.contains("hidden"), "{shown}");
    }
}
