//! The C-Chain below the history.

use esker_e2e::Node;
use serde_json::{Value, json};

use super::{Folders, ask, node};
use crate::load::EVM;

fn c(node: &Node, method: &str, params: Value) -> Result<Value, (i64, String)> {
    ask(node, EVM, method, params)
}

fn hex(height: u64) -> String {
    format!("{height:#x}")
}

/// The error of a read of a block.
fn before_history(height: u64, first: u64) -> Result<Value, (i64, String)> {
    let text = format!(
        "pruned history unavailable: block {height} is not available: this node's history begins at block {first} (it \
         joined from a snapshot)"
    );
    Err((4444, text))
}

/// Both nodes give the same answer, which is no error.
#[track_caller]
fn assert_same(joined: &Node, whole: &Node, method: &str, params: &Value) -> Value {
    let answer = c(whole, method, params.clone()).unwrap();
    assert_eq!(c(joined, method, params.clone()), Ok(answer.clone()), "{method} {params}");
    answer
}

#[test]
fn methods_of_the_c_chain_begin_with_the_first_block() {
    let folders = Folders::new();
    let (whole, joined) = (node(&folders.whole), node(&folders.joined));
    let (whole, joined) = (whole.start().unwrap(), joined.start().unwrap());
    let (first, tip) = (folders.start.first_c_block, folders.start.c_block);
    by_number(&joined, first);
    by_hash(&joined, &whole, first);
    logs(&joined, &whole, first, tip);
    stored_blocks(&joined, &whole, first, tip);
    states(&joined, &whole, first, tip);

    let count = json!(["0x400", "latest", [50]]);
    let history = c(&joined, "evm_feeHistory", count.clone()).unwrap();
    assert_eq!(
        history["oldestBlock"],
        hex(first),
        "earlier blocks are left out, as those before genesis"
    );
    let all = c(&whole, "evm_feeHistory", count).unwrap();
    let last = |history: &Value, name: &str| {
        let list = history[name].as_array().unwrap();
        list[list.len() - 40..].to_vec()
    };
    for name in ["baseFeePerGas", "gasUsedRatio", "reward"] {
        assert_eq!(last(&history, name), last(&all, name), "{name}");
    }
    let newest = json!(["0x4", hex(first - 1), []]);
    assert_eq!(c(&joined, "evm_feeHistory", newest), before_history(first - 4, first));
    for method in ["evm_gasPrice", "evm_maxPriorityFeePerGas", "evm_baseFee"] {
        c(&joined, method, json!([])).unwrap();
    }
    assert_eq!(c(&joined, "evm_syncing", json!([])), Ok(json!(false)));
    files(&joined, &whole, first);
}

/// Files of blocks: what is stored is written, and taken again.
fn files(joined: &Node, whole: &Node, first: u64) {
    let (export, import) = ("admin_exportChain", "admin_importChain");
    assert_eq!(c(joined, export, json!(["all.rlp"])), before_history(1, first));
    assert_eq!(c(joined, export, json!(["part.rlp", first])), Ok(json!(true)));
    assert_eq!(c(joined, import, json!(["part.rlp"])), Ok(json!(true)));
    assert_eq!(c(whole, export, json!(["all.rlp"])), Ok(json!(true)));
    let file = |node: &Node| node.data_dir().join("chain-files").join("all.rlp");
    assert!(!file(joined).exists(), "a refused export leaves no file");
    std::fs::copy(file(whole), file(joined)).unwrap();
    assert_eq!(c(joined, import, json!(["all.rlp"])), before_history(1, first));
}

/// Every method that takes the number of a block says that the block is not there.
fn by_number(joined: &Node, first: u64) {
    let account = json!("0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC");
    for height in [1, first - 1] {
        let number = hex(height);
        for (method, params) in [
            ("evm_getBlockByNumber", json!([number, false])),
            ("evm_getBlockByNumber", json!([number, true])),
            ("evm_getHeaderByNumber", json!([number])),
            ("evm_getBlockReceipts", json!([number])),
            ("evm_getBlockTransactionCountByNumber", json!([number])),
            ("evm_getTransactionByBlockNumberAndIndex", json!([number, "0x0"])),
            ("evm_getRawTransactionByBlockNumberAndIndex", json!([number, "0x0"])),
            ("evm_getUncleCountByBlockNumber", json!([number])),
            ("evm_getBalance", json!([account, number])),
            ("evm_getTransactionCount", json!([account, number])),
            ("evm_getCode", json!([account, number])),
            ("evm_getStorageAt", json!([account, "0x0", number])),
            ("evm_call", json!([{ "to": account }, number])),
            ("evm_estimateGas", json!([{ "to": account }, number])),
            ("debug_getRawBlock", json!([number])),
            ("debug_getRawHeader", json!([number])),
            ("debug_getRawReceipts", json!([number])),
            ("debug_printBlock", json!([height])),
            ("debug_traceBlockByNumber", json!([number])),
            ("debug_traceCall", json!([{ "to": account }, number])),
            ("debug_dumpBlock", json!([number])),
            ("debug_accountRange", json!([number, "0x", 1, true, true, false])),
            ("debug_getModifiedAccountsByNumber", json!([height])),
        ] {
            assert_eq!(c(joined, method, params), before_history(height, first), "{method}");
        }
    }
}

/// A hash is unknown, as any that is no block's or transaction's.
fn by_hash(joined: &Node, whole: &Node, first: u64) {
    let found = (1..first).rev().find_map(|height| {
        let block = c(whole, "evm_getBlockByNumber", json!([hex(height), false])).unwrap();
        Some((block["hash"].clone(), block["transactions"].get(0)?.clone()))
    });
    let (block, tx) = found.unwrap();
    for (method, params) in [
        ("evm_getBlockByHash", json!([block, true])),
        ("evm_getHeaderByHash", json!([block])),
        ("evm_getBlockTransactionCountByHash", json!([block])),
        ("evm_getTransactionByBlockHashAndIndex", json!([block, "0x0"])),
        ("evm_getBlockReceipts", json!([block])),
        ("evm_getTransactionByHash", json!([tx])),
        ("evm_getTransactionReceipt", json!([tx])),
    ] {
        assert!(c(whole, method, params.clone()).unwrap() != Value::Null, "{method}");
        assert_eq!(c(joined, method, params), Ok(Value::Null), "{method}");
    }
    let unknown = |text: &str| Err((-32000, text.to_owned()));
    let logs = json!([{ "blockHash": block }]);
    assert_eq!(c(joined, "evm_getLogs", logs), unknown("unknown block"));
    assert_eq!(c(joined, "debug_traceTransaction", json!([tx])), unknown("transaction not found"));
    let by_hash = json!(["0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC", block]);
    assert_eq!(c(joined, "evm_getBalance", by_hash), unknown("header for hash not found"));
}

/// A range with a block below the history is refused, and no answer is shorter than it should be.
fn logs(joined: &Node, whole: &Node, first: u64, tip: u64) {
    let range = |from: &str, to: &str| json!([{ "fromBlock": from, "toBlock": to }]);
    for (from, to, missing) in [
        ("0x1", "latest", 1),
        ("earliest", "latest", 1),
        ("0x0", "0x1", 1),
        (&*hex(first - 1), &*hex(first - 1), first - 1),
        (&*hex(first - 1), &*hex(tip), first - 1),
    ] {
        let refused = before_history(missing, first);
        assert_eq!(c(joined, "evm_getLogs", range(from, to)), refused, "{from} {to}");
        let filter = c(joined, "evm_newFilter", range(from, to)).unwrap();
        assert_eq!(c(joined, "evm_getFilterLogs", json!([filter])), refused, "{from} {to}");
        assert_eq!(c(joined, "evm_getFilterChanges", json!([filter])), Ok(json!([])));
    }
    assert_eq!(c(joined, "evm_getLogs", range("earliest", "0x0")), Ok(json!([])));
    let found = assert_same(joined, whole, "evm_getLogs", &range(&hex(first), "latest"));
    assert!(!found.as_array().unwrap().is_empty(), "the recorded chain has logs there");
}

/// Stored blocks are answered as on a node with all blocks, and so is the genesis.
fn stored_blocks(joined: &Node, whole: &Node, first: u64, tip: u64) {
    let numbers = (first..=tip).map(hex).chain(["0x0", "earliest", "latest"].map(str::to_owned));
    for number in numbers {
        let block = assert_same(joined, whole, "evm_getBlockByNumber", &json!([number, true]));
        assert_same(joined, whole, "evm_getBlockReceipts", &json!([number]));
        assert_same(joined, whole, "evm_getBlockByHash", &json!([block["hash"], false]));
        for tx in block["transactions"].as_array().unwrap() {
            assert_same(joined, whole, "evm_getTransactionByHash", &json!([tx["hash"]]));
            assert_same(joined, whole, "evm_getTransactionReceipt", &json!([tx["hash"]]));
        }
    }
}

/// States are kept from the snapshot's block on. Its code reaches the hash of the block before the history.
fn states(joined: &Node, whole: &Node, first: u64, tip: u64) {
    let account = json!("0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC");
    assert_same(joined, whole, "evm_getBalance", &json!([account, "latest"]));
    assert_same(joined, whole, "evm_getProof", &json!([account, ["0x0"], "latest"]));
    for number in ["0x0".to_owned(), hex(first), hex(tip - 1)] {
        let (code, text) = c(joined, "evm_getBalance", json!([account, number])).unwrap_err();
        assert!(code == -32000 && text.starts_with("missing trie node "), "{number}: {text}");
    }
    let (_, text) = c(joined, "debug_traceBlockByNumber", json!([hex(tip)])).unwrap_err();
    assert!(text.starts_with("required historical state unavailable"), "{text}");
    let (_, text) = c(joined, "debug_traceBlockByNumber", json!([hex(first)])).unwrap_err();
    assert!(text.starts_with("pruned history unavailable: "), "{text}");
    for height in [first - 1, first, tip - 1] {
        // PUSH2 height, BLOCKHASH, PUSH1 0, MSTORE, PUSH1 32, PUSH1 0, RETURN
        let code = format!("0x61{height:04x}4060005260206000f3");
        let call = json!([{ "data": code }, "latest"]);
        let hash = assert_same(joined, whole, "evm_call", &call);
        let block = c(whole, "evm_getBlockByNumber", json!([hex(height), false])).unwrap();
        assert_eq!(hash, block["hash"]);
    }
}
