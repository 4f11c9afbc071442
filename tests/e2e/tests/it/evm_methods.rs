//! Every method of `web3`, `net`, `evm`, `txpool`, `personal`, `debug`, `admin` and what development nodes have: a success and a failure of each, by
//! both names, walked along the tables.

use std::collections::BTreeMap;

use esker_e2e::tables::tables;
use esker_e2e::{Socket, until};
use serde_json::{Value, json};

use crate::support::local;

const RPC: &str = "/ext/bc/C/rpc";
const WS: &str = "/ext/bc/C/ws";
const NAMESPACES: [&str; 13] = [
    "evm", "net", "web3", "txpool", "personal", "debug", "admin", "anvil", "hardhat", "tenderly",
    "ots", "erigon", "trace",
];
/// The answer of the methods that only a Go runtime can carry out, whatever the arguments.
const OF_GO: &str = "only a Go runtime has this";
/// An account of `esker dev`.
const HELD: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
/// Two more, one for each transport.
const ACCOUNTS: [&str; 2] =
    ["0x70997970c51812dc3a010c7d01b50e0d17dc79c8", "0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc"];
/// Methods that only hardware wallets can carry out. The node has none.
const OF_HARDWARE: [&str; 3] =
    ["personal_deriveAccount", "personal_initializeWallet", "personal_unpair"];
/// Its signature of the text `hello`.
const SIGNATURE: &str = "0xf16ea9a3478698f695fd1401bfe27e9e4a7e8e3da94aa72b021125e31fa899cc573c48ea3fe1d4ab61a9db10c19032026e3ed2dbccba5a178235ac27f94504311c";
const ZERO: &str = "0x0000000000000000000000000000000000000000000000000000000000000000";
const OTHER: &str = "0x00000000000000000000000000000000000000aa";

#[test]
fn every_method_succeeds_and_fails() {
    // A base fee above what a waiting transaction pays.
    let node = local().dev().arg("--real-fees").start().unwrap();
    let mut http = |body: &str| {
        let reply = node.rpc().post(RPC, body.as_bytes()).unwrap();
        String::from_utf8(reply.body).unwrap()
    };
    let over_http = walk(&mut http, ACCOUNTS[0]);
    let mut socket = Socket::open(node.address(), WS).unwrap();
    let mut websocket = |body: &str| {
        socket.send(body).unwrap();
        socket.read().unwrap()
    };
    let over_websocket = walk(&mut websocket, ACCOUNTS[1]);
    // The transactions that were sent before differ between the transports, so their errors are not compared.
    for (method, error) in
        over_http.iter().filter(|(method, _)| !method.ends_with("RawTransaction"))
    {
        assert_eq!(error, &over_websocket[method], "{method}");
    }
}

/// Asks over one transport; gives the errors by method.
fn walk(ask: &mut dyn FnMut(&str) -> String, account: &str) -> BTreeMap<String, Value> {
    let values = prepare(ask, account);
    let mut cases = cases();
    cases.extend(otterscan_cases());
    cases.extend(trace_cases());
    let mut errors = BTreeMap::new();
    for (path, service) in tables().unwrap() {
        for info in
            service.methods().filter(|info| path == RPC && NAMESPACES.contains(&info.namespace))
        {
            let name = format!("{}_{}", info.namespace, info.name);
            let Some(case) = cases.get(name.as_str()) else { panic!("{name} has no case") };
            let aliases =
                info.namespace_aliases.iter().map(|alias| format!("{alias}_{}", info.name));
            let all: Vec<String> = [name.clone()].into_iter().chain(aliases).collect();
            for called in &all {
                let bad = call(ask, called, &filled(&case.bad, &values));
                assert!(bad["error"]["code"].is_i64(), "{called}: {bad}");
                errors.insert(called.clone(), bad["error"].clone());
            }
            // Once: some can't be repeated.
            let last = all.last().unwrap();
            if case.good.is_null() {
                continue;
            }
            let good = call(ask, last, &filled(&case.good, &values));
            match case.of_go {
                true => assert_eq!(good["error"]["message"], OF_GO, "{last}"),
                false => {
                    let is_done = good.get("result").is_some();
                    assert_ne!(is_done, OF_HARDWARE.contains(&name.as_str()), "{last}: {good}");
                }
            }
        }
    }
    assert!(errors.len() > 100, "{}", errors.len());
    errors
}

fn call(ask: &mut dyn FnMut(&str) -> String, method: &str, params: &Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    serde_json::from_str(&ask(&body.to_string())).unwrap()
}

/// The things that the cases name: a transaction in a block, one that can be sent, one that waits, a filter.
fn prepare(ask: &mut dyn FnMut(&str) -> String, account: &str) -> BTreeMap<&'static str, Value> {
    let mut done = |method: &str, params: Value| {
        let reply = call(ask, method, &params);
        reply.get("result").unwrap_or_else(|| panic!("{method}: {reply}")).clone()
    };
    let hash = done("evm_sendTransaction", json!([{"from": HELD, "to": OTHER, "value": "0x1"}]));
    let receipt = until("the transaction is in a block", || {
        Some(done("evm_getTransactionReceipt", json!([hash]))).filter(|receipt| !receipt.is_null())
    });
    let height = receipt["blockNumber"].as_str().unwrap();
    let height = u64::from_str_radix(&height[2..], 16).unwrap();
    let nonce = done("evm_getTransactionCount", json!([HELD, "pending"]));
    let price = done("evm_gasPrice", json!([]));
    let number = u64::from_str_radix(&nonce.as_str().unwrap()[2..], 16).unwrap();
    let fresh = |nonce: u64| {
        let nonce = format!("{nonce:#x}");
        json!({"from": HELD, "to": OTHER, "gas": "0x5208", "gasPrice": price, "nonce": nonce})
    };
    let waiting = json!({
        "from": account, "to": OTHER, "value": "0x1", "gas": "0x5208", "gasPrice": "0x3b9aca00", "nonce": "0x0",
    });
    done("evm_sendTransaction", json!([waiting]));
    let first = format!("first-{account}");
    done("admin_exportChain", json!([first, 1, 1]));
    BTreeMap::from([
        ("$FIRST", json!(first)),
        ("$RAW", done("debug_getRawBlock", json!([receipt["blockNumber"]]))),
        ("$TX", done("evm_getRawTransactionByHash", json!([hash]))),
        ("$FRESH", done("evm_signTransaction", json!([fresh(number)]))["raw"].clone()),
        ("$CONDITIONAL", done("evm_signTransaction", json!([fresh(number + 1)]))["raw"].clone()),
        ("$NEXT", done("evm_signTransaction", json!([fresh(number + 2)]))["raw"].clone()),
        // The sender's other transaction with this nonce waits.
        ("$BUNDLED", done("evm_signTransaction", json!([waiting]))["raw"].clone()),
        ("$LOGS", done("evm_newFilter", json!([{}]))),
        ("$BLOCK", receipt["blockHash"].clone()),
        ("$BEFORE", json!(format!("{:#x}", height - 1))),
        ("$HASH", hash),
        ("$WAITING", waiting),
        // One that this walk writes.
        ("$FILE", json!(account)),
        // Another one for each transport.
        ("$KEY", format!("{}{}", "11".repeat(12), &account[2..]).into()),
    ])
}

/// A value with what its words stand for.
fn filled(value: &Value, values: &BTreeMap<&'static str, Value>) -> Value {
    match value {
        Value::String(word) => values.get(word.as_str()).unwrap_or(value).clone(),
        Value::Array(items) => items.iter().map(|item| filled(item, values)).collect(),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| (name.clone(), filled(value, values)));
            Value::Object(members.collect())
        }
        other => other.clone(),
    }
}

/// Something every method has to say about: arguments that it takes (null: there are none here), and some that it
/// refuses.
struct Case {
    good: Value,
    bad: Value,
    of_go: bool,
}

fn case(good: Value, bad: Value) -> Case {
    Case { good, bad, of_go: false }
}

/// Of a method that only a Go runtime can carry out.
fn of_go(good: Value, bad: Value) -> Case {
    Case { of_go: true, ..case(good, bad) }
}

/// The cases of `ots`.
fn otterscan_cases() -> [(&'static str, Case); 12] {
    let hash = |name: &str| case(json!([name]), json!(["0x12"]));
    [
        ("ots_getApiLevel", case(json!([]), json!([1]))),
        ("ots_getInternalOperations", hash("$HASH")),
        ("ots_hasCode", case(json!([OTHER, 1]), json!([OTHER, -1]))),
        ("ots_getTransactionError", hash("$HASH")),
        ("ots_traceTransaction", hash("$HASH")),
        ("ots_searchTransactionsBefore", case(json!([HELD, 0, 25]), json!([HELD, 0, 101]))),
        ("ots_searchTransactionsAfter", case(json!([HELD, 0, 25]), json!([HELD, 0, 0]))),
        ("ots_getBlockDetails", case(json!([1]), json!([-1]))),
        ("ots_getBlockDetailsByHash", case(json!(["$BLOCK"]), json!([ZERO]))),
        ("ots_getBlockTransactions", case(json!([1, 0, 25]), json!([1, 0, 101]))),
        ("ots_getTransactionBySenderAndNonce", case(json!([HELD, 0]), json!([HELD, -1]))),
        ("ots_getContractCreator", case(json!([OTHER]), json!(["0x12"]))),
    ]
}

/// The cases of `trace`.
fn trace_cases() -> [(&'static str, Case); 9] {
    let hash = |name: &str| case(json!([name]), json!(["0x12"]));
    let (types, call) =
        (json!(["trace", "stateDiff", "vmTrace"]), json!({"from": HELD, "to": OTHER}));
    let replay = |at: &str| case(json!([at, types]), json!([at, ["nope"]]));
    [
        ("trace_transaction", hash("$HASH")),
        ("trace_get", case(json!(["$HASH", []]), json!(["$HASH", ["x"]]))),
        ("trace_block", case(json!(["$BLOCK"]), json!(["x"]))),
        ("trace_filter", case(json!([{"toAddress": [OTHER]}]), json!([{"mode": "x"}]))),
        ("trace_replayTransaction", replay("$HASH")),
        ("trace_replayBlockTransactions", replay("0x1")),
        ("trace_call", case(json!([call, types]), json!([call, types, "0xffff"]))),
        ("trace_callMany", case(json!([[[call, types]]]), json!([[[call]]]))),
        ("trace_rawTransaction", case(json!(["$TX", types, "$BEFORE"]), json!(["0x", types]))),
    ]
}

/// The cases, by canonical names. Words that begin with `$` stand for what [`prepare`] makes.
fn cases() -> BTreeMap<&'static str, Case> {
    let none = || case(json!([]), json!([1]));
    let place = || case(json!(["latest", "0x0"]), json!(["latest", "a"]));
    let place_by_hash = || case(json!(["$BLOCK", "0x0"]), json!(["0x12", "0x0"]));
    let number = || case(json!(["0x1"]), json!(["a"]));
    let hash = |name: &str| case(json!([name]), json!(["0x12"]));
    // No block of a fresh chain was refused: crates/evm-rpc/tests/it/debug/trace_blocks.rs has such ones.
    let without_success = || case(Value::Null, json!([OTHER]));
    let call = json!({"from": HELD, "to": OTHER});
    let bundle = json!({"txs": ["$BUNDLED"], "blockNumber": "0x1", "baseFee": "0x1"});
    let sent = json!({"from": HELD, "to": OTHER, "value": "0x1"});
    let unknown = json!([{"from": OTHER, "to": HELD, "gas": "0x5208", "gasPrice": "0x77359400", "nonce": "0x0"}]);
    let wallet = format!("memory://{HELD}");
    let typed = json!({
        "types": {"EIP712Domain": [], "Note": [{"name": "text", "type": "string"}]},
        "primaryType": "Note", "domain": {}, "message": {"text": "hi"},
    });
    let waiting = json!({"from": HELD, "to": OTHER, "value": "0x7", "gas": "0x5208", "gasPrice": "0x3b9aca00", "nonce": "0x63"});
    BTreeMap::from([
        ("web3_clientVersion", none()),
        ("web3_sha3", case(json!(["0x"]), json!(["0x1"]))),
        ("net_listening", none()),
        ("net_peerCount", none()),
        ("net_version", none()),
        ("evm_etherbase", none()),
        ("evm_coinbase", none()),
        ("evm_chainId", none()),
        ("evm_blockNumber", none()),
        ("evm_getChainConfig", none()),
        ("evm_config", none()),
        ("evm_blobBaseFee", none()),
        ("evm_getBadBlocks", none()),
        ("evm_gasPrice", none()),
        ("evm_baseFee", none()),
        ("evm_maxPriorityFeePerGas", none()),
        ("evm_suggestPriceOptions", none()),
        ("evm_syncing", none()),
        ("evm_accounts", none()),
        ("evm_requestAccounts", none()),
        ("evm_pendingTransactions", none()),
        ("debug_traceBlock", case(json!(["$RAW"]), json!(["0x"]))),
        ("debug_traceBadBlock", without_success()),
        ("debug_traceBlockFromFile", case(json!(["$FIRST"]), json!(["no file"]))),
        ("debug_standardTraceBlockToFile", hash("$BLOCK")),
        ("debug_standardTraceBadBlockToFile", without_success()),
        ("debug_dumpBlock", case(json!(["0x1"]), json!(["0xffff"]))),
        (
            "debug_accountRange",
            case(json!(["latest", "0x", 2, false, false, false]), json!(["latest", "0x", 2])),
        ),
        (
            "debug_preimage",
            // Of an account of the genesis.
            case(
                json!(["0x5a9331cb1d584bc0703e5252f4fccf19b3887d5a12e7edad074d585640a7ff57"]),
                json!([format!("0x{}", "12".repeat(32))]),
            ),
        ),
        (
            "debug_storageRangeAt",
            case(json!(["$BLOCK", 0, OTHER, "0x", 5]), json!(["0x1", 99, OTHER, "0x", 5])),
        ),
        ("debug_accountInfoAt", case(json!(["$BLOCK", 0, OTHER]), json!(["0x1", 99, OTHER]))),
        ("debug_codeByHash", case(json!(["$HASH"]), json!(["0x12"]))),
        ("debug_getModifiedAccountsByNumber", case(json!([1]), json!([0]))),
        ("debug_getModifiedAccountsByHash", hash("$BLOCK")),
        ("debug_getAccessibleState", case(json!(["0x0", "0x1"]), json!(["0x1", "0x1"]))),
        ("debug_getBadBlocks", none()),
        ("debug_getRawHeader", number()),
        ("debug_getRawBlock", number()),
        ("debug_getRawReceipts", number()),
        ("debug_getRawTransaction", hash("$HASH")),
        ("debug_getRawTransactions", number()),
        ("debug_printBlock", case(json!([1]), json!(["0x1"]))),
        ("admin_exportChain", case(json!(["$FILE", 0, 1]), json!(["$FILE", null, 1]))),
        ("admin_importChain", case(json!(["$FILE"]), json!(["no file"]))),
        ("personal_listAccounts", none()),
        ("personal_listWallets", none()),
        ("personal_openWallet", case(json!([wallet]), json!([wallet.replace("f39f", "f39e")]))),
        ("personal_deriveAccount", case(json!([wallet, "m/0"]), json!([wallet, "m"]))),
        ("personal_initializeWallet", case(json!([wallet]), json!(["x"]))),
        ("personal_unpair", case(json!([wallet, "1"]), json!([wallet]))),
        ("personal_newAccount", case(json!(["any"]), json!([5]))),
        ("personal_importRawKey", case(json!(["$KEY", "any"]), json!(["12", "any"]))),
        ("personal_unlockAccount", case(json!([HELD, "any"]), json!([OTHER, "any"]))),
        ("personal_lockAccount", case(json!([HELD]), json!([HELD, "any"]))),
        ("personal_sendTransaction", case(json!([sent, "any"]), json!([unknown[0], "any"]))),
        ("personal_signTransaction", case(json!([waiting, "any"]), json!([unknown[0], "any"]))),
        ("personal_ecRecover", case(json!(["0x68656c6c6f", SIGNATURE]), json!(["0x68", "0x"]))),
        ("personal_sign", case(json!(["0x68", HELD, "any"]), json!(["0x68", OTHER]))),
        ("debug_traceTransaction", hash("$HASH")),
        ("debug_traceCall", case(json!([call, "latest"]), json!([call]))),
        ("debug_traceBlockByNumber", number()),
        ("debug_traceBlockByHash", hash("$BLOCK")),
        ("debug_intermediateRoots", hash("$BLOCK")),
        ("debug_executionWitness", number()),
        ("debug_executionWitnessByBlockHash", hash("$BLOCK")),
        ("debug_verbosity", case(json!([3]), json!(["x"]))),
        ("debug_vmodule", case(json!(["pool/*=3"]), json!(["x"]))),
        ("debug_memStats", none()),
        ("debug_freeOSMemory", none()),
        ("debug_stacks", case(json!(["esker"]), json!([1]))),
        ("debug_cpuProfile", case(json!(["timed", 1]), json!(["timed", 26]))),
        ("debug_startCPUProfile", case(json!(["started"]), json!(["../started"]))),
        ("debug_stopCPUProfile", none()),
        ("debug_mutexProfile", case(json!(["waits", 0]), json!(["/nope/dir/file", 0]))),
        ("debug_writeMutexProfile", case(json!(["waits"]), json!(["a/b"]))),
        ("debug_setMutexProfileFraction", case(json!([10]), json!([]))),
        ("debug_writeMemProfile", case(json!(["heap"]), json!([""]))),
        ("debug_gcStats", of_go(json!([]), json!([1]))),
        ("debug_setGCPercent", of_go(json!([100]), json!([]))),
        ("debug_goTrace", of_go(json!(["a", 1]), json!(["a"]))),
        ("debug_startGoTrace", of_go(json!(["a"]), json!([1]))),
        ("debug_stopGoTrace", of_go(json!([]), json!([1]))),
        ("debug_blockProfile", of_go(json!(["a", 1]), json!(["a"]))),
        ("debug_setBlockProfileRate", of_go(json!([1]), json!(["a"]))),
        ("debug_writeBlockProfile", of_go(json!(["a"]), json!([]))),
        ("anvil_getAutomine", none()),
        ("anvil_nodeInfo", none()),
        ("anvil_metadata", none()),
        ("hardhat_getAutomine", none()),
        ("hardhat_metadata", none()),
        // Blocks, times and dropped transactions would disturb other cases; they succeed in the tests of `controls`.
        ("evm_mine", case(Value::Null, json!(["a"]))),
        ("anvil_mine_detailed", case(Value::Null, json!(["a"]))),
        ("evm_mine_detailed", case(Value::Null, json!([{"blocks": 257}]))),
        ("anvil_mine", case(Value::Null, json!(["a"]))),
        ("hardhat_mine", case(Value::Null, json!(["a"]))),
        ("evm_setAutomine", case(json!([true]), json!([1]))),
        ("anvil_setAutomine", case(json!([true]), json!([1]))),
        ("anvil_setChainId", case(json!([43112]), json!([0]))),
        ("anvil_impersonateSignature", case(Value::Null, json!(["0x12", OTHER]))),
        ("anvil_setLoggingEnabled", case(json!([true]), json!([1]))),
        ("hardhat_setLoggingEnabled", case(json!([true]), json!([1]))),
        ("anvil_autoImpersonateAccount", case(json!([false]), json!([1]))),
        ("evm_setIntervalMining", case(json!([0]), json!([-1]))),
        ("anvil_setIntervalMining", case(json!([0]), json!([-1]))),
        ("evm_increaseTime", case(json!([0]), json!([-1]))),
        ("anvil_increaseTime", case(json!([0]), json!([-1]))),
        ("evm_setTime", case(Value::Null, json!([-1]))),
        ("anvil_setTime", case(Value::Null, json!([-1]))),
        ("evm_setNextBlockTimestamp", case(Value::Null, json!([-1]))),
        ("anvil_setNextBlockTimestamp", case(Value::Null, json!([-1]))),
        ("evm_setBlockTimestampInterval", case(Value::Null, json!([-1]))),
        ("anvil_setBlockTimestampInterval", case(Value::Null, json!([-1]))),
        ("evm_removeBlockTimestampInterval", none()),
        ("anvil_removeBlockTimestampInterval", none()),
        ("anvil_getIntervalMining", none()),
        ("evm_snapshot", none()),
        ("anvil_snapshot", none()),
        ("anvil_setNextBlockBaseFeePerGas", case(Value::Null, json!([-1]))),
        ("hardhat_setNextBlockBaseFeePerGas", case(Value::Null, json!([-1]))),
        ("evm_setBlockGasLimit", case(json!([15_000_000]), json!([0]))),
        ("anvil_setBlockGasLimit", case(json!([15_000_000]), json!([0]))),
        ("anvil_setCoinbase", case(Value::Null, json!(["0x12"]))),
        ("hardhat_setCoinbase", case(Value::Null, json!(["0x12"]))),
        ("anvil_setPrevRandao", case(Value::Null, json!(["0x12"]))),
        ("anvil_setNextBlockPrevRandao", case(Value::Null, json!(["0x12"]))),
        ("anvil_setNextBlockParentBeaconBlockRoot", case(Value::Null, json!(["0x12"]))),
        ("hardhat_setPrevRandao", case(Value::Null, json!(["0x12"]))),
        ("anvil_setMinGasPrice", case(Value::Null, json!([1]))),
        ("hardhat_setMinGasPrice", case(Value::Null, json!([1]))),
        ("anvil_setRpcUrl", case(Value::Null, json!(["http://127.0.0.1:1"]))),
        ("anvil_enableTraces", none()),
        ("anvil_reset", case(Value::Null, json!([1]))),
        ("hardhat_reset", case(Value::Null, json!([1]))),
        ("anvil_dumpState", case(json!([]), json!([1]))),
        ("anvil_loadState", case(Value::Null, json!(["0x12"]))),
        ("anvil_rollback", case(json!([0]), json!(["a"]))),
        ("debug_setHead", case(Value::Null, json!(["a"]))),
        ("anvil_reorg", case(json!([0, []]), json!(["a"]))),
        ("anvil_dealERC20", case(Value::Null, json!([OTHER]))),
        ("anvil_setERC20Allowance", case(Value::Null, json!([OTHER]))),
        ("evm_revert", case(json!([0]), json!(["a"]))),
        ("anvil_revert", case(json!([0]), json!(["a"]))),
        ("anvil_dropTransaction", case(Value::Null, json!(["0x12"]))),
        ("hardhat_dropTransaction", case(Value::Null, json!(["0x12"]))),
        ("anvil_dropAllTransactions", case(Value::Null, json!([1]))),
        ("debug_clearTxpool", case(Value::Null, json!([1]))),
        ("anvil_removePoolTransactions", case(json!([OTHER]), json!(["0x12"]))),
        ("anvil_getGenesisTime", none()),
        ("anvil_getBlobByHash", hash("$HASH")),
        ("anvil_getBlobsByTransactionHash", hash("$HASH")),
        ("evm_setAccountNonce", case(Value::Null, json!([OTHER, -1]))),
        ("evm_protocolVersion", none()),
        ("evm_hashrate", none()),
        ("evm_mining", none()),
        ("hardhat_getStackTraceFailuresCount", none()),
        ("evm_networkId", none()),
        ("erigon_getHeaderByNumber", case(json!([1]), json!([-1]))),
        ("tenderly_setBalance", case(Value::Null, json!([OTHER, -1]))),
        ("tenderly_addBalance", case(Value::Null, json!([OTHER, -1]))),
        ("hardhat_addBalance", case(Value::Null, json!([OTHER, -1]))),
        ("hardhat_dealERC20", case(Value::Null, json!([OTHER]))),
        ("hardhat_autoImpersonateAccount", case(Value::Null, json!(["yes"]))),
        ("hardhat_dropAllTransactions", case(Value::Null, json!([1]))),
        ("hardhat_dumpState", case(json!([]), json!([1]))),
        ("hardhat_loadState", case(Value::Null, json!(["0x12"]))),
        ("debug_dbGet", case(json!([format!("0x63{}", "12".repeat(32))]), json!(["0x12"]))),
        ("anvil_impersonateAccount", case(json!([OTHER]), json!(["0x12"]))),
        ("hardhat_impersonateAccount", case(json!([OTHER]), json!(["0x12"]))),
        ("anvil_stopImpersonatingAccount", case(json!([OTHER]), json!(["0x12"]))),
        ("hardhat_stopImpersonatingAccount", case(json!([OTHER]), json!(["0x12"]))),
        (
            "hardhat_addCompilationResult",
            case(json!(["0.8.28", {}, {}]), json!(["0.8.28", {}, {"contracts": 5}])),
        ),
        ("evm_sendUnsignedTransaction", case(Value::Null, json!([{}]))),
        ("anvil_setBalance", case(Value::Null, json!([OTHER, -1]))),
        ("hardhat_setBalance", case(Value::Null, json!([OTHER, -1]))),
        ("anvil_addBalance", case(Value::Null, json!([OTHER, -1]))),
        ("anvil_setNonce", case(Value::Null, json!([OTHER, -1]))),
        ("hardhat_setNonce", case(Value::Null, json!([OTHER, -1]))),
        ("anvil_setCode", case(Value::Null, json!([OTHER, "0x6"]))),
        ("hardhat_setCode", case(Value::Null, json!([OTHER, "0x6"]))),
        ("anvil_setStorageAt", case(Value::Null, json!([OTHER, 0]))),
        ("hardhat_setStorageAt", case(Value::Null, json!([OTHER, 0]))),
        ("txpool_content", none()),
        ("txpool_contentFrom", case(json!([HELD]), json!(["0x12"]))),
        ("txpool_inspect", none()),
        ("txpool_status", none()),
        ("txpool_dropReason", hash("$HASH")),
        ("evm_getStorageValues", case(json!([{HELD: [ZERO]}, "latest"]), json!([{}, "latest"]))),
        ("evm_capabilities", none()),
        ("evm_getBlockAccessList", case(json!(["latest"]), json!(["a"]))),
        ("debug_getRawBlockAccessList", case(Value::Null, json!(["latest"]))),
        ("evm_getAccount", case(json!([HELD]), json!([HELD, "0xffff"]))),
        ("evm_getAccountInfo", case(json!([HELD, null]), json!([HELD, "0xffff"]))),
        ("evm_getTransactionBySenderAndNonce", case(json!([HELD, 0]), json!([HELD, -1]))),
        ("evm_newBlockFilter", none()),
        ("evm_newPendingTransactionFilter", case(json!([]), json!(["yes"]))),
        ("evm_newFilter", case(json!([{}]), json!([]))),
        ("evm_getLogs", case(json!([{}]), json!([{"fromBlock": "0x2", "toBlock": "0x1"}]))),
        ("evm_getFilterChanges", case(json!(["$LOGS"]), json!(["0x12"]))),
        ("evm_getFilterLogs", case(json!(["$LOGS"]), json!(["0x12"]))),
        ("evm_uninstallFilter", case(json!(["0x12"]), json!([]))),
        ("evm_feeHistory", case(json!(["0x1", "latest", []]), json!(["0x1", "latest", [101]]))),
        ("evm_getBalance", case(json!([HELD, "latest"]), json!([HELD, "0xffff"]))),
        (
            "evm_getAssetBalance",
            case(
                json!([HELD, "latest", "2fombhL7aGPwj3KH4bfrmJwW6PVnMobf9Y2fn9GwxiAAJyFDbe"]),
                json!([HELD, "latest", "x"]),
            ),
        ),
        ("evm_getCode", case(json!([HELD, "latest"]), json!([HELD]))),
        ("evm_getStorageAt", case(json!([HELD, "0x0", "latest"]), json!([HELD, "x", "latest"]))),
        ("evm_getProof", case(json!([HELD, ["0x0"], "latest"]), json!([HELD, ["x"], "latest"]))),
        ("evm_getTransactionCount", case(json!([HELD, "pending"]), json!([HELD, "0xffff"]))),
        ("evm_getHeaderByNumber", number()),
        ("evm_getHeaderByHash", hash("$BLOCK")),
        ("evm_getBlockByNumber", case(json!(["0x1", true]), json!(["0x1"]))),
        ("evm_getBlockByHash", case(json!(["$BLOCK", true]), json!(["$BLOCK"]))),
        ("evm_getBlockReceipts", number()),
        ("evm_getUncleByBlockNumberAndIndex", place()),
        ("evm_getUncleByBlockHashAndIndex", place_by_hash()),
        ("evm_getUncleCountByBlockNumber", number()),
        ("evm_getUncleCountByBlockHash", hash("$BLOCK")),
        ("evm_getBlockTransactionCountByNumber", number()),
        ("evm_getBlockTransactionCountByHash", hash("$BLOCK")),
        ("evm_getTransactionByBlockNumberAndIndex", place()),
        ("evm_getTransactionByBlockHashAndIndex", place_by_hash()),
        ("evm_getRawTransactionByBlockNumberAndIndex", place()),
        ("evm_getRawTransactionByBlockHashAndIndex", place_by_hash()),
        ("evm_getTransactionByHash", hash("$HASH")),
        ("evm_getRawTransactionByHash", hash("$HASH")),
        ("evm_getTransactionReceipt", hash("$HASH")),
        ("evm_call", case(json!([call]), json!([{"data": "0xfe"}]))),
        ("evm_callDetailed", case(json!([call, "latest"]), json!([call]))),
        ("evm_estimateGas", case(json!([call]), json!([{"data": "0xfe"}]))),
        ("evm_createAccessList", case(json!([call]), json!([{}]))),
        ("evm_simulateV1", case(json!([{"blockStateCalls": [{"calls": [call]}]}]), json!([{}]))),
        ("evm_sendRawTransaction", case(json!(["$FRESH"]), json!(["$TX"]))),
        ("evm_sendRawTransactionSync", case(json!(["$NEXT", 20_000]), json!(["0x"]))),
        ("evm_sendRawTransactionConditional", case(json!(["$CONDITIONAL", {}]), json!(["0x", {}]))),
        ("evm_callBundle", case(json!([bundle]), json!([{}]))),
        ("evm_callMany", case(json!([[{"transactions": [call]}]]), json!([[]]))),
        ("evm_sendTransaction", case(json!([sent]), unknown.clone())),
        ("evm_sendTransactionSync", case(json!([sent, 20_000]), unknown.clone())),
        ("evm_fillTransaction", case(json!([sent]), json!([{"from": HELD}]))),
        ("evm_signTransaction", case(json!([waiting]), unknown)),
        ("evm_sign", case(json!([HELD, "0x68"]), json!([OTHER, "0x68"]))),
        ("evm_signTypedData_v4", case(json!([HELD, typed]), json!([OTHER, typed]))),
        ("evm_resend", case(json!(["$WAITING", "0x77359400"]), json!([waiting, "0x77359400"]))),
    ])
}
