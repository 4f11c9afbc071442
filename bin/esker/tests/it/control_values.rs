//! Values of code that clients set: the chain ID, and signers of signatures.

use serde_json::{Value, json};

use crate::harness::{Esker, run};

const FROM: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const CONTRACT: &str = "0x00000000000000000000000000000000000000c1";
const ECRECOVER: &str = "0x0000000000000000000000000000000000000001";
const SIGNER: &str = "0x000000000000000000000000000000000000beef";

/// Stores what CHAINID returns.
const STORES_CHAIN_ID: &str = "0x4660005500";
/// Stores what ECRECOVER returns for the call's data.
const STORES_SIGNER: &str = "0x60806000600037602060806080600060015afa5060805160005500";

fn anvil(args: &[&str]) -> Esker {
    Esker::start_anvil(&[&["--port", "0"], args].concat()).0
}

fn set_code(node: &Esker, code: &str) {
    node.evm("anvil_setCode", json!([CONTRACT, code.replace(' ', "")]));
}

/// Sends a transaction with data to the contract. Returns its hash, and the value that it stored.
fn stored(node: &Esker, data: &str) -> (Value, Value) {
    let tx = json!({"from": FROM, "to": CONTRACT, "data": data, "gas": "0x30d40"});
    let hash = node.evm("eth_sendTransaction", json!([tx]));
    assert_eq!(node.receipt(&hash)["status"], "0x1");
    (hash, node.evm("eth_getStorageAt", json!([CONTRACT, "0x0", "latest"])))
}

/// What CHAINID returns in a call at a block.
fn chain_id_at(node: &Esker, block: &str) -> Value {
    node.evm("eth_call", json!([{"data": "0x4660005260206000f3"}, block]))
}

fn word(number: u64) -> String {
    format!("{number:#066x}")
}

/// A signed transfer to the sender with this nonce.
fn signed(node: &Esker, nonce: u64) -> Value {
    let tx = json!({
        "from": FROM, "to": FROM, "gas": "0x5208", "nonce": format!("{nonce:#x}"),
        "maxFeePerGas": "0x77359400", "maxPriorityFeePerGas": "0x1",
    });
    node.evm("eth_signTransaction", json!([tx]))
}

fn signature(v: &str) -> String {
    format!("0x{}{}{v}", "11".repeat(32), "22".repeat(32))
}

/// The data of a call of ECRECOVER with this signature.
fn recovery(v: &str) -> String {
    let (hash, zeros) = ("aa".repeat(32), "00".repeat(31));
    format!("0x{hash}{zeros}{v}{}{}", "11".repeat(32), "22".repeat(32))
}

fn recovered(node: &Esker, data: &str) -> Value {
    node.evm("eth_call", json!([{"to": ECRECOVER, "data": data}, "latest"]))
}

#[test]
fn another_chain_id_holds_from_its_block_on() {
    let node = anvil(&[]);
    set_code(&node, STORES_CHAIN_ID);
    let (old, value) = stored(&node, "0x");
    assert_eq!(value, word(31_337));
    let before = signed(&node, 1);
    for id in [json!(99), json!("0x63"), json!("99")] {
        assert_eq!(node.evm("anvil_setChainId", json!([id])), Value::Null);
    }
    assert_eq!(node.evm("eth_chainId", json!([])), "0x63");
    assert_eq!(node.evm("net_version", json!([])), "99");
    assert_eq!(node.evm("anvil_nodeInfo", json!([]))["environment"]["chainId"], 99);
    assert_eq!(node.evm("anvil_metadata", json!([]))["chainId"], 99);
    assert_eq!(node.evm("eth_config", json!([]))["current"]["chainId"], "0x63");

    let refusal = node.evm_refusal("eth_sendRawTransaction", json!([before]));
    assert_eq!(refusal, "invalid chain id for signer");
    let hash = node.evm("eth_sendRawTransaction", json!([signed(&node, 1)]));
    assert_eq!(node.receipt(&hash)["status"], "0x1");
    let (new, value) = stored(&node, "0x");
    assert_eq!(value, word(99));
    assert_eq!(node.evm("eth_getTransactionByHash", json!([new]))["chainId"], "0x63");
    let other = json!([{"from": FROM, "to": FROM, "chainId": "0x7a69"}]);
    assert_eq!(
        node.evm_refusal("eth_sendTransaction", other),
        "chainId does not match node's (have=31337, want=99)"
    );

    // What was there before keeps its chain ID: in calls, in traces, in scripts.
    let old_block = node.receipt(&old)["blockNumber"].as_str().unwrap().to_owned();
    assert_eq!(chain_id_at(&node, &old_block), word(31_337));
    assert_eq!(chain_id_at(&node, "latest"), word(99));
    let script = "{step: function(log) { if (log.op.toString() == 'PUSH1') this.id = log.stack.peek(0).toString() }, \
                  fault: function() {}, result: function() { return this.id }}";
    for (hash, id) in [(old, 31_337), (new, 99)] {
        let diff = json!({"tracer": "prestateTracer", "tracerConfig": {"diffMode": true}});
        let trace = node.evm("debug_traceTransaction", json!([hash, diff]));
        assert_eq!(trace["post"][CONTRACT]["storage"][word(0)], word(id));
        let traced = node.evm("debug_traceTransaction", json!([hash, {"tracer": script}]));
        assert_eq!(traced, id.to_string());
    }
    let simulated = node.evm(
        "eth_simulateV1",
        json!([{"blockStateCalls": [{"calls": [{"to": CONTRACT}]}], "validation": false}]),
    );
    assert_eq!(simulated[0]["calls"][0]["status"], "0x1");
}

#[test]
fn the_pool_keeps_no_transactions_of_another_chain() {
    let node = anvil(&["--no-mining"]);
    let hashes: Vec<Value> = (0..3)
        .map(|nonce| node.evm("eth_sendRawTransaction", json!([signed(&node, nonce)])))
        .collect();
    node.evm("anvil_setChainId", json!([7]));
    assert_eq!(node.evm("txpool_status", json!([])), json!({"pending": "0x0", "queued": "0x0"}));
    let why = node.evm("txpool_dropReason", json!([hashes[0]]));
    assert_eq!(why["reason"], "invalid chain id for signer: have 31337 want 7", "{why}");
    node.evm("evm_mine", json!([]));
    assert_eq!(node.evm("eth_getTransactionByHash", json!([hashes[0]])), Value::Null);

    // A rollback brings the old ID back, and the pool has a transaction for the new one.
    let newer = node.evm("eth_sendRawTransaction", json!([signed(&node, 0)]));
    node.evm("anvil_rollback", json!([2]));
    assert_eq!(node.evm("eth_chainId", json!([])), "0x7a69");
    node.evm("evm_mine", json!([]));
    assert_eq!(node.evm("eth_getTransactionByHash", json!([newer])), Value::Null);
    assert_eq!(node.evm("txpool_status", json!([])), json!({"pending": "0x0", "queued": "0x0"}));
    let hash = node.evm("eth_sendRawTransaction", json!([signed(&node, 0)]));
    node.evm("evm_mine", json!([]));
    assert_eq!(node.receipt(&hash)["status"], "0x1");
}

#[test]
fn the_signer_of_a_signature_is_the_one_that_was_set() {
    let node = anvil(&[]);
    assert_eq!(recovered(&node, &recovery("1b")), "0x");
    // Anvil takes a list.
    node.evm("anvil_impersonateSignature", json!([[signature("1b"), SIGNER]]));
    let padded = format!("0x{:0>64}", &SIGNER[2..]);
    assert_eq!(recovered(&node, &recovery("1b")), padded);
    assert_eq!(recovered(&node, &format!("{}ffff", recovery("1b"))), padded);
    // Another signature is not changed.
    assert_eq!(recovered(&node, &recovery("1c")), "0x");
    node.evm("anvil_impersonateSignature", json!([signature("1c"), word(0)[..42].to_owned()]));
    assert_eq!(recovered(&node, &recovery("1c")), word(0));

    set_code(&node, STORES_SIGNER);
    let (first, value) = stored(&node, &recovery("1b"));
    assert_eq!(value, padded);
    let gas = node.receipt(&first)["gasUsed"].clone();
    node.evm("anvil_impersonateSignature", json!([signature("1b"), CONTRACT]));
    let (second, value) = stored(&node, &recovery("1b"));
    assert_eq!(value, format!("0x{:0>64}", &CONTRACT[2..]));
    assert_ne!(node.receipt(&second)["gasUsed"], gas, "a slot that is set already costs less");
    // The first one is still executed as it was, also with a script, which another process runs.
    for tracer in [
        json!({"tracer": "callTracer"}),
        json!({"tracer": "{result: function(ctx, db) { return {calls: [{output: this.out}]} }, fault: function() {}, \
               enter: function() {}, exit: function(end) { this.out = toHex(end.getOutput()) }}"}),
    ] {
        let trace = node.evm("debug_traceTransaction", json!([first, tracer]));
        assert_eq!(trace["calls"][0]["output"], padded, "{trace}");
    }
    let witness = node.evm("debug_executionWitness", json!([node.receipt(&first)["blockNumber"]]));
    assert!(!witness["state"].as_array().unwrap().is_empty());
}

#[test]
fn a_kept_folder_keeps_the_values() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (data, other, file) = (path("data"), path("other"), path("blocks"));
    let start = || Esker::start_alone(&["--data-dir", &data]);
    let node = start();
    let usual = node.evm("eth_chainId", json!([]));
    let snapshot = node.evm("evm_snapshot", json!([]));
    node.evm("anvil_setChainId", json!([77]));
    node.evm("anvil_impersonateSignature", json!([signature("1b"), SIGNER]));
    assert_eq!(node.evm("evm_revert", json!([snapshot])), true);
    assert_eq!(node.evm("eth_chainId", json!([])), usual);
    assert_eq!(recovered(&node, &recovery("1b")), "0x");

    set_code(&node, STORES_CHAIN_ID);
    assert_eq!(stored(&node, "0x").1, word(31_337));
    node.evm("anvil_setChainId", json!([77]));
    set_code(&node, STORES_SIGNER);
    node.evm("anvil_impersonateSignature", json!([signature("1b"), SIGNER]));
    let padded = format!("0x{:0>64}", &SIGNER[2..]);
    assert_eq!(stored(&node, &recovery("1b")).1, padded);
    node.signal("KILL");
    drop(node);
    let node = start();
    assert_eq!(node.evm("eth_chainId", json!([])), "0x4d");
    assert_eq!(recovered(&node, &recovery("1b")), padded);
    node.evm("anvil_rollback", json!([2]));
    assert_eq!(recovered(&node, &recovery("1b")), "0x");
    node.evm("anvil_impersonateSignature", json!([signature("1b"), SIGNER]));
    assert_eq!(stored(&node, &recovery("1b")).1, padded);
    assert!(node.stop("TERM").0.success());

    // Blocks that are executed again, elsewhere too, have the values of their time.
    let offline = |args: &[&str], data: &str| {
        let ended = run(&[args, &["--evm", "--data-dir", data]].concat());
        assert_eq!(ended.code(), Some(0), "{args:?}: {}{}", ended.stdout, ended.stderr);
    };
    offline(&["db", "verify"], &data);
    offline(&["export", &file], &data);
    offline(&["import", &file], &other);
    offline(&["db", "verify"], &other);
}

#[test]
fn a_fork_has_values_of_its_own() {
    let source = anvil(&[]);
    source.evm("anvil_setChainId", json!([55]));
    source.evm("anvil_impersonateSignature", json!([signature("1b"), SIGNER]));
    let url = format!("http://{}", source.ready["evm"].as_str().unwrap());
    let node = anvil(&["--fork-url", &url]);
    assert_eq!(node.evm("eth_chainId", json!([])), "0x37");
    assert_eq!(recovered(&node, &recovery("1b")), "0x");
    let reads = node.evm("eth_blockNumber", json!([]));
    node.evm("anvil_setChainId", json!([56]));
    node.evm("anvil_impersonateSignature", json!([signature("1b"), CONTRACT]));
    assert_ne!(node.evm("eth_blockNumber", json!([])), reads);
    assert_eq!(node.evm("eth_chainId", json!([])), "0x38");
    assert_eq!(recovered(&node, &recovery("1b")), format!("0x{:0>64}", &CONTRACT[2..]));
    set_code(&node, STORES_CHAIN_ID);
    assert_eq!(stored(&node, "0x").1, word(56));
    assert_eq!(source.evm("eth_chainId", json!([])), "0x37");
    node.evm("anvil_reset", json!([]));
}

#[test]
fn bad_values_are_refused() {
    let node = anvil(&[]);
    let height = node.evm("eth_blockNumber", json!([]));
    for (id, reason) in [
        (json!(0), "chain ID 0: expected 1 to 9223372036854775771"),
        (
            json!("0x7fffffffffffffdc"),
            "chain ID 9223372036854775772: expected 1 to 9223372036854775771",
        ),
        (json!("0x10000000000000000"), "chain ID 18446744073709551616 has more than 64 bits"),
        (
            json!("one"),
            "invalid argument 0: expected a number of at most 256 bits: an integer, decimal digits, or 0x and hex digits",
        ),
    ] {
        assert_eq!(node.evm_refusal("anvil_setChainId", json!([id])), reason);
    }
    let long = signature("1b00");
    for (arguments, reason) in [
        (
            json!(["0x1234", SIGNER]),
            "invalid argument 0: a signature has 65 bytes (r, s, v), not 2",
        ),
        (json!([long, SIGNER]), "invalid argument 0: a signature has 65 bytes (r, s, v), not 66"),
        (json!([signature("1b")]), "missing address"),
        (json!([[signature("1b"), SIGNER], SIGNER]), "the address is given twice"),
        (json!([[signature("1b")]]), "invalid argument 0: expected a signature and an address"),
    ] {
        assert_eq!(node.evm_refusal("anvil_impersonateSignature", arguments), reason);
    }
    assert_eq!(node.evm("eth_blockNumber", json!([])), height);
    // Other networks have no such methods.
    let public = Esker::start(&["node", "--network", "local"]);
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "anvil_setChainId", "params": [5]});
    let (_, reply) = public.http("POST", "/ext/bc/C/rpc", &request.to_string());
    assert!(
        reply.contains("the method anvil_setChainId does not exist/is not available"),
        "{reply}"
    );
}
