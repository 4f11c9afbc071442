//! For each method what a request of a kilobyte can ask for: the largest answer, and the longest call.

use esker_e2e::hostile::requests::ENDLESS;
use serde_json::{Value, json};

use super::stock::{OTHER_USER, Stock, USER};

/// A signature of some text.
const SIGNATURE: &str = "0xf16ea9a3478698f695fd1401bfe27e9e4a7e8e3da94aa72b021125e31fa899cc573c48ea3fe1d4ab61a9db10c19032026e3ed2dbccba5a178235ac27f94504311c";
/// The account of the key `11..11`, which `personal_importRawKey` puts into the folder of keys.
const KEPT_ACCOUNT: &str = "0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a";
/// Where code of overrides lies.
const CONTRACT: &str = "0x00000000000000000000000000000000000000aa";
/// Returns 5,000,000 bytes of memory, about as much as there is gas for: an answer of 10 MB. PUSH4, PUSH1 0, RETURN.
const RETURNS: &str = "0x63004c4b406000f3";
/// Reverts with as many.
const REVERTS: &str = "0x63004c4b406000fd";
/// Returns 2,000,000, of which a simulation may return 12,000,000.
const RETURNS_LESS: &str = "0x63001e84806000f3";
/// Looks at the account that has the number of the gas left, over and over: JUMPDEST, GAS, BALANCE, POP, PUSH1 0, JUMP.
const BALANCES: &str = "0x5b5a3150600056";
/// Loads the slot that has the number of the gas left, over and over.
const SLOTS: &str = "0x5b5a5450600056";

/// The slowest instruction for its gas, over and over: `(N - 1) * (N - 1) mod N` of 256 bits, 16 times a round. PUSH1, NOT
/// (N), PUSH1, NOT (N - 1), DUP1; JUMPDEST, 16 times DUP3, DUP3, DUP3, MULMOD, POP; PUSH1 7, JUMP.
fn products() -> String {
    format!("0x60bc1960bd19805b{}600756", "8282820950".repeat(16))
}

/// The arguments of the method's demands; `None`: no row is there for it.
pub(super) fn demands(method: &str, stock: &Stock) -> Option<Vec<Value>> {
    let evm = || of_evm(method, stock);
    let x = || of_x(method, stock);
    let otterscan = || of_otterscan(method, stock);
    let traces = || of_trace(method, stock);
    evm().or_else(x).or_else(otterscan).or_else(traces).or_else(|| of_node(method, stock))
}

/// The number of a block as a JSON number.
fn height(number: &str) -> u64 {
    u64::from_str_radix(&number[2..], 16).unwrap()
}

fn code(code: &str) -> Value {
    json!({ CONTRACT: { "code": code } })
}

/// Bundles of calls of the code of overrides.
fn bundles(bundles: usize, calls: usize) -> Value {
    json!(vec![json!({ "transactions": vec![json!({ "to": CONTRACT }); calls] }); bundles])
}

fn of_otterscan(method: &str, stock: &Stock) -> Option<Vec<Value>> {
    let Stock { account, other, long, many, logs, .. } = stock;
    Some(match method {
        "ots_getBlockDetails" => vec![json!([many.number])],
        "ots_getApiLevel" => vec![json!([])],
        "ots_getBlockDetailsByHash" => vec![json!([many.hash])],
        "ots_getBlockTransactions" => {
            vec![json!([many.number, 0, 100]), json!([long.number, 0, 100])]
        }
        // The whole block of many transactions, and long ones.
        "ots_searchTransactionsBefore" | "ots_searchTransactionsAfter" => {
            vec![json!([account, 0, 100]), json!([other, 0, 100])]
        }
        "ots_hasCode" => vec![json!([stock.long_code, "latest"])],
        "ots_getTransactionBySenderAndNonce" => vec![json!([account, 1])],
        "ots_getContractCreator" => vec![json!([stock.long_code]), json!([stock.full])],
        "ots_getInternalOperations" | "ots_getTransactionError" | "ots_traceTransaction" => {
            vec![json!([long.tx]), json!([logs.tx]), json!([many.tx])]
        }
        _ => return None,
    })
}

fn of_trace(method: &str, stock: &Stock) -> Option<Vec<Value>> {
    let Stock { account, other, long, many, logs, .. } = stock;
    let (all, calls) = (["trace", "stateDiff", "vmTrace"], ["trace"]);
    let endless = json!({ "from": account, "data": "0x5b600056" });
    Some(match method {
        "trace_transaction" => vec![json!([long.tx]), json!([logs.tx]), json!([many.tx])],
        "trace_get" => vec![json!([long.tx, []]), json!([many.tx, [0]])],
        "trace_block" => vec![json!([long.number]), json!([many.hash])],
        "trace_filter" => vec![
            json!([{}]),
            json!([{ "toAddress": [other] }]),
            json!([{ "after": u64::MAX, "count": u64::MAX }]),
        ],
        "trace_replayTransaction" => vec![json!([long.tx, all]), json!([logs.tx, all])],
        "trace_replayBlockTransactions" => {
            vec![json!([long.number, all]), json!([many.number, calls])]
        }
        "trace_call" => vec![
            json!([{ "to": CONTRACT }, all, "latest", code(ENDLESS)]),
            json!([{ "to": CONTRACT }, calls, "latest", code(&products())]),
            json!([{ "to": CONTRACT }, all, "latest", code(RETURNS)]),
            json!([{ "to": CONTRACT }, ["stateDiff"], "latest", code(BALANCES)]),
        ],
        "trace_callMany" => vec![json!([vec![json!([endless, all]); 6]])],
        "trace_rawTransaction" => {
            let raw = format!("0x{}", "ab".repeat(400));
            let endless = stock.endless.iter().map(|tx| json!([tx, all, "latest"]));
            endless.take(1).chain([json!([raw, all])]).collect()
        }
        _ => return None,
    })
}

fn of_evm(method: &str, stock: &Stock) -> Option<Vec<Value>> {
    let Stock { account, other, long, many, logs, .. } = stock;
    let to = json!({ "to": CONTRACT });
    let tx = json!({ "from": account, "to": other, "value": "0x1", "gas": "0x5208", "gasPrice": "0x77359400" });
    let no_gas = json!({ "from": account, "data": "0x5b600056" });
    let text = format!("0x{}", "ab".repeat(400));
    let many_blocks: Vec<Value> = (0..6)
        .map(|_| json!({ "stateOverrides": code(ENDLESS), "calls": [{ "to": CONTRACT }] }))
        .collect();
    let mut large_blocks = vec![json!({ "calls": [{ "to": CONTRACT }] }); 5];
    large_blocks[0]["stateOverrides"] = code(RETURNS_LESS);
    let products_block =
        json!([{ "stateOverrides": code(&products()), "calls": [{ "to": CONTRACT }] }]);
    let keys: Vec<String> = (0..12).map(|n| format!("0x{n:064x}")).collect();
    let far = json!({ "blockStateCalls": [{ "blockOverrides": { "number": "0x100" } }], "returnFullTransactions": true });
    let rows = match method {
        "evm_etherbase"
        | "evm_coinbase"
        | "evm_chainId"
        | "evm_blockNumber"
        | "evm_capabilities"
        | "evm_getChainConfig"
        | "evm_blobBaseFee"
        | "evm_config"
        | "evm_getBadBlocks"
        | "evm_gasPrice"
        | "evm_baseFee"
        | "evm_maxPriorityFeePerGas"
        | "evm_suggestPriceOptions"
        | "evm_syncing"
        | "evm_accounts"
        | "evm_requestAccounts"
        | "personal_listAccounts"
        | "personal_listWallets"
        | "evm_pendingTransactions"
        | "evm_newPendingTransactionFilter"
        | "evm_newBlockFilter"
        | "net_listening"
        | "net_peerCount"
        | "net_version"
        | "rpc_modules"
        | "rpc_discover"
        | "txpool_content"
        | "txpool_inspect"
        | "txpool_status"
        | "web3_clientVersion"
        | "anvil_getAutomine"
        | "anvil_getIntervalMining"
        | "anvil_snapshot"
        | "evm_snapshot"
        | "anvil_removeBlockTimestampInterval"
        | "evm_removeBlockTimestampInterval"
        | "anvil_nodeInfo"
        | "anvil_metadata"
        | "hardhat_getAutomine"
        | "hardhat_metadata"
        | "debug_getBadBlocks"
        | "debug_memStats"
        | "debug_freeOSMemory"
        | "debug_gcStats"
        | "debug_stopGoTrace"
        | "debug_stopCPUProfile"
        | "anvil_enableTraces"
        | "anvil_getGenesisTime"
        | "evm_protocolVersion"
        | "evm_hashrate"
        | "evm_mining"
        | "hardhat_getStackTraceFailuresCount"
        | "evm_networkId"
        | "hardhat_dumpState"
        | "anvil_dumpState" => vec![json!([])],
        "evm_getBalance" | "evm_getAccount" | "evm_getAccountInfo" | "evm_getTransactionCount" => {
            vec![json!([account, "latest"]), json!([account, "0x1"]), json!([account, "pending"])]
        }
        "anvil_impersonateAccount"
        | "hardhat_impersonateAccount"
        | "anvil_stopImpersonatingAccount"
        | "hardhat_stopImpersonatingAccount"
        | "anvil_removePoolTransactions"
        | "anvil_setCoinbase"
        | "hardhat_setCoinbase" => vec![json!([CONTRACT])],
        "evm_sendUnsignedTransaction" => vec![json!([tx])],
        "hardhat_addCompilationResult" => {
            let code = json!({"deployedBytecode": {"object": "7f".repeat(400)}});
            let output = json!({"contracts": {"A.sol": {"A": {"evm": code}}}});
            vec![json!(["0.8.28", {}, output])]
        }
        // No snapshot of this number: the node stays as it is for the other methods.
        "anvil_revert" | "evm_revert" => vec![json!(["0x0"])],
        // With an argument too many: the pool stays full for the other methods.
        "anvil_dropAllTransactions" | "hardhat_dropAllTransactions" | "debug_clearTxpool" => {
            vec![json!(["extra"])]
        }
        "anvil_mine_detailed" | "evm_mine_detailed" => vec![json!([{ "blocks": 256 }])],
        "evm_mine" => vec![json!([{ "blocks": "0x40" }])],
        "anvil_mine" | "hardhat_mine" => vec![json!(["0x40", "0x1"])],
        "evm_setAutomine"
        | "anvil_setAutomine"
        | "anvil_autoImpersonateAccount"
        | "hardhat_autoImpersonateAccount"
        | "anvil_setLoggingEnabled"
        | "hardhat_setLoggingEnabled" => vec![json!([true])],
        "evm_setIntervalMining" | "anvil_setIntervalMining" => vec![json!([0])],
        "anvil_setChainId" => vec![json!([43112])],
        "anvil_impersonateSignature" => vec![json!([format!("0x{}", "5a".repeat(65)), account])],
        "evm_increaseTime"
        | "anvil_increaseTime"
        | "evm_setBlockTimestampInterval"
        | "anvil_setBlockTimestampInterval"
        | "evm_setTime"
        | "anvil_setTime"
        | "evm_setNextBlockTimestamp"
        | "anvil_setNextBlockTimestamp" => vec![json!([2])],
        "anvil_setBalance"
        | "hardhat_setBalance"
        | "tenderly_setBalance"
        | "anvil_addBalance"
        | "hardhat_addBalance"
        | "tenderly_addBalance"
        | "anvil_setNonce"
        | "hardhat_setNonce"
        | "evm_setAccountNonce" => {
            vec![json!([CONTRACT, "0x1"])]
        }
        // Later calls must still run, so these are refused or have no effect.
        "anvil_setNextBlockBaseFeePerGas" | "hardhat_setNextBlockBaseFeePerGas" => {
            vec![json!([format!("0x{}", "f".repeat(64))])]
        }
        "anvil_setBlockGasLimit"
        | "evm_setBlockGasLimit"
        | "anvil_rollback"
        | "anvil_reorg"
        | "debug_setHead" => vec![json!(["0xffffffffffffffff"])],
        "anvil_setPrevRandao"
        | "anvil_setNextBlockPrevRandao"
        | "anvil_setNextBlockParentBeaconBlockRoot"
        | "hardhat_setPrevRandao" => {
            vec![json!([format!("0x{}", "5a".repeat(32))])]
        }
        "anvil_setMinGasPrice" | "hardhat_setMinGasPrice" => vec![json!(["0x3b9aca01"])],
        "anvil_setRpcUrl" => vec![json!(["http://127.0.0.1:1"])],
        "anvil_reset" | "hardhat_reset" => vec![json!([{ "forking": { "blockNumber": 1 } }])],
        "anvil_dealERC20" | "hardhat_dealERC20" => vec![json!([account, CONTRACT, "0x1"])],
        "anvil_setERC20Allowance" => vec![json!([account, other, CONTRACT, "0x1"])],
        "anvil_setCode" | "hardhat_setCode" => {
            vec![json!([CONTRACT, format!("0x{}", "00".repeat(256))])]
        }
        "anvil_setStorageAt" | "hardhat_setStorageAt" => vec![json!([account, "0x0", "0x1"])],
        "evm_getAssetBalance" => vec![json!([account, "latest", stock.asset])],
        "evm_getCode" => vec![json!([stock.long_code, "latest"])],
        "evm_getStorageValues" => vec![json!([{ stock.long_code.as_str(): keys }, "latest"])],
        "evm_getStorageAt" => vec![json!([stock.long_code, "0x0", "latest"])],
        "evm_getProof" => vec![json!([stock.long_code, keys, "latest"])],
        "evm_getBlockAccessList"
        | "debug_getRawBlockAccessList"
        | "evm_getHeaderByNumber"
        | "debug_getRawHeader" => vec![json!([long.number])],
        "evm_getHeaderByHash"
        | "anvil_getBlobByHash"
        | "anvil_getBlobsByTransactionHash"
        | "anvil_dropTransaction"
        | "hardhat_dropTransaction"
        | "debug_preimage"
        | "debug_codeByHash"
        | "debug_traceBadBlock"
        | "debug_standardTraceBadBlockToFile" => vec![json!([long.hash])],
        "erigon_getHeaderByNumber" => vec![json!([many.number])],
        "debug_dbGet" => vec![json!([format!("0x63{}", &long.hash[2..])])],
        "evm_getBlockByNumber" => {
            vec![json!([long.number, true]), json!([many.number, true]), json!([logs.number, true])]
        }
        "evm_getBlockByHash" => {
            vec![json!([long.hash, true]), json!([many.hash, true]), json!([logs.hash, true])]
        }
        "evm_getBlockReceipts" => vec![json!([logs.number]), json!([many.hash])],
        "evm_getUncleByBlockNumberAndIndex"
        | "evm_getTransactionByBlockNumberAndIndex"
        | "evm_getRawTransactionByBlockNumberAndIndex" => vec![json!([long.number, "0x0"])],
        "evm_getUncleByBlockHashAndIndex"
        | "evm_getTransactionByBlockHashAndIndex"
        | "evm_getRawTransactionByBlockHashAndIndex" => vec![json!([long.hash, "0x0"])],
        "evm_getUncleCountByBlockNumber" | "evm_getBlockTransactionCountByNumber" => {
            vec![json!([many.number])]
        }
        "evm_getUncleCountByBlockHash" | "evm_getBlockTransactionCountByHash" => {
            vec![json!([many.hash])]
        }
        "evm_getTransactionByHash" | "evm_getRawTransactionByHash" => {
            vec![json!([long.tx]), json!([stock.waiting])]
        }
        "evm_getTransactionBySenderAndNonce" => {
            vec![json!([account, "0x0"]), json!([account, "0xffff"])]
        }
        "evm_getTransactionReceipt" => vec![json!([logs.tx])],
        "evm_newFilter" => vec![json!([{ "fromBlock": "0x0" }])],
        "evm_uninstallFilter" => {
            vec![json!(["0x1"])]
        }
        "evm_getFilterChanges" => stock.filters.iter().map(|id| json!([id])).collect(),
        "evm_getFilterLogs" => vec![json!([stock.filters[0]])],
        "evm_getLogs" => vec![
            json!([{ "fromBlock": logs.number, "toBlock": logs.number }]),
            json!([{ "fromBlock": "0x0" }]),
        ],
        "evm_feeHistory" => vec![json!(["0x800", "latest", (0..100).collect::<Vec<_>>()])],
        "evm_call" => vec![
            json!([to, "latest", code(RETURNS)]),
            json!([to, "latest", code(REVERTS)]),
            json!([to, "latest", code(ENDLESS)]),
            json!([to, "latest", code(&products())]),
            json!([to, "latest", code(BALANCES)]),
            json!([to, "latest", code(SLOTS)]),
        ],
        "evm_callDetailed" => vec![
            json!([to, "latest", code(RETURNS)]),
            json!([to, "latest", code(REVERTS)]),
            json!([to, "latest", code(ENDLESS)]),
            json!([to, "latest", code(&products())]),
        ],
        "evm_estimateGas" => vec![
            json!([to, "latest", code(ENDLESS)]),
            json!([to, "latest", code(&products())]),
            json!([to, "latest", code(REVERTS)]),
            json!([{ "data": BALANCES }]),
        ],
        "evm_createAccessList" => [BALANCES, SLOTS]
            .map(|code| json!([{ "from": account, "data": code, "gas": "0xe00000" }]))
            .into(),
        "evm_simulateV1" => vec![
            json!([{ "blockStateCalls": many_blocks }, "latest"]),
            json!([{ "blockStateCalls": products_block }, "latest"]),
            json!([{ "blockStateCalls": large_blocks }, "latest"]),
            json!([far, "earliest"]),
        ],
        "evm_callMany" => vec![
            json!([bundles(1, 6), null, code(ENDLESS)]),
            json!([bundles(1, 1), null, code(&products())]),
            json!([bundles(1, 5), null, code(RETURNS_LESS)]),
            json!([bundles(4, 1), { "transactionIndex": 0 }, code(BALANCES)]),
        ],
        "evm_sendRawTransaction"
        | "web3_sha3"
        | "debug_traceBlock"
        | "anvil_loadState"
        | "hardhat_loadState" => {
            vec![json!([text])]
        }
        "evm_callBundle" => {
            let bundle =
                json!({ "txs": stock.endless, "blockNumber": "0x1", "gasLimit": "0x2faf080" });
            vec![json!([bundle]), json!([{ "txs": [text], "blockNumber": "0x1" }])]
        }
        "evm_sendRawTransactionConditional" => {
            let slots: serde_json::Map<_, _> =
                (0..50).map(|slot| (format!("{slot:#x}"), json!("0x0"))).collect();
            vec![json!(["0x", { "knownAccounts": { stock.long_code.as_str(): slots } }])]
        }
        "evm_sendRawTransactionSync" => vec![json!([text, 1000])],
        "evm_sendTransactionSync" => vec![json!([tx, 1000]), json!([no_gas, 1000])],
        "evm_sendTransaction" | "evm_fillTransaction" => vec![json!([tx]), json!([no_gas])],
        "evm_signTransaction" => {
            let mut tx = tx;
            tx["nonce"] = json!("0x1");
            vec![json!([tx])]
        }
        "evm_resend" => {
            let mut tx = tx;
            tx["nonce"] = json!("0xf0000000");
            vec![json!([tx, null, null])]
        }
        "evm_sign" => vec![json!([account, text])],
        "personal_sign" => vec![json!([text, account]), json!([text, other, "a wrong one"])],
        // Each of them would take 256 MiB and a second.
        "personal_newAccount" => vec![json!(["any"])],
        "personal_importRawKey" => vec![json!(["11".repeat(32), "any"])],
        "personal_unlockAccount" => vec![
            json!([account, "any", 0]),
            json!([KEPT_ACCOUNT, "a wrong one"]),
            json!([KEPT_ACCOUNT, text]),
        ],
        "personal_lockAccount" => vec![json!([account])],
        "personal_sendTransaction" => vec![json!([tx, "any"]), json!([no_gas, "any"])],
        "personal_signTransaction" => {
            let mut tx = tx;
            tx["nonce"] = json!("0x1");
            vec![json!([tx, "any"])]
        }
        "personal_ecRecover" => vec![json!([text, SIGNATURE])],
        "personal_openWallet" | "personal_initializeWallet" => {
            vec![json!([format!("memory://{account}")])]
        }
        "personal_deriveAccount" => {
            vec![json!([format!("memory://{account}"), format!("m{}", "/0".repeat(200))])]
        }
        "personal_unpair" => vec![json!([format!("memory://{account}"), "1"])],
        "evm_signTypedData_v4" => vec![json!([account, {
            "types": {
                "EIP712Domain": [{ "name": "name", "type": "string" }],
                "M": [{ "name": "c", "type": "uint256[]" }],
            },
            "primaryType": "M",
            "domain": { "name": "n" },
            "message": { "c": vec![0; 250] },
        }])],
        "debug_traceTransaction" => vec![
            json!([long.tx, { "enableMemory": true, "timeout": "1h" }]),
            json!([long.tx, { "tracer": "callTracer" }]),
        ],
        "debug_traceCall" => vec![
            json!([to, "latest", { "stateOverrides": code(ENDLESS), "timeout": "1h" }]),
            json!([to, "latest", { "stateOverrides": code(ENDLESS), "enableMemory": true }]),
        ],
        "debug_traceBlockByNumber" => {
            vec![json!([many.number]), json!([long.number, { "enableMemory": true }])]
        }
        "debug_traceBlockByHash"
        | "debug_intermediateRoots"
        | "debug_executionWitnessByBlockHash" => {
            vec![json!([long.hash]), json!([many.hash])]
        }
        "debug_executionWitness" => vec![json!([long.number]), json!([many.number])],
        "debug_standardTraceBlockToFile" => {
            vec![json!([many.hash]), json!([long.hash, { "enableMemory": true }])]
        }
        "debug_dumpBlock" => vec![json!(["latest"])],
        "debug_accountRange" => vec![json!(["latest", "0x", 256, false, false, true])],
        // Many transactions run before the one that is named.
        "debug_storageRangeAt" => {
            let (last, full) = (stock.transfers - 1, &stock.full);
            vec![
                json!([many.number, last, account, "0x", i64::MAX]),
                json!(["latest", 0, full, "0x", i64::MAX]),
            ]
        }
        "debug_accountInfoAt" => {
            vec![json!([many.number, stock.transfers - 1, account])]
        }
        "debug_getModifiedAccountsByNumber" => vec![json!([0, height(&many.number)])],
        "debug_getModifiedAccountsByHash" => vec![json!([many.hash])],
        "debug_getAccessibleState" => vec![json!(["0x0", "latest"])],
        "debug_getRawBlock" | "debug_getRawReceipts" | "debug_getRawTransactions" => {
            vec![json!([long.number]), json!([many.number]), json!([logs.number])]
        }
        "debug_printBlock" => vec![json!([height(&long.number)]), json!([height(&many.number)])],
        "admin_exportChain" => vec![json!(["all"]), json!(["all.gz"])],
        "admin_importChain" | "debug_traceBlockFromFile" => vec![json!(["all"])],
        "txpool_contentFrom" => vec![json!([stock.sender])],
        "debug_verbosity" | "debug_setGCPercent" | "debug_setBlockProfileRate" => vec![json!([3])],
        "debug_setMutexProfileFraction" => vec![json!([1])],
        "debug_vmodule" => vec![json!([format!("{}=3", "*/".repeat(300))])],
        "debug_stacks" => vec![json!([]), json!(["!".repeat(400)])],
        "debug_startCPUProfile"
        | "debug_writeMutexProfile"
        | "debug_writeMemProfile"
        | "debug_startGoTrace"
        | "debug_writeBlockProfile" => vec![json!(["file"])],
        "debug_cpuProfile" | "debug_mutexProfile" | "debug_goTrace" | "debug_blockProfile" => {
            vec![json!(["file", 1])]
        }
        "txpool_dropReason" | "debug_getRawTransaction" => vec![json!([long.tx])],
        _ => return None,
    };
    Some(rows)
}

fn of_x(method: &str, stock: &Stock) -> Option<Vec<Value>> {
    let Stock { owner, asset, x_tx, x_bytes, .. } = stock;
    let (name, password) = USER;
    let user = |more: Value| {
        let mut user = json!({ "username": name, "password": password });
        user.as_object_mut()?.extend(more.as_object()?.clone());
        Some(user)
    };
    let to = &stock.user_address;
    let holders = json!([{ "amount": 1, "address": to }]);
    let minters = json!([{ "minters": [to], "threshold": 1 }]);
    let payment = json!({ "amount": 1, "assetID": "NAT", "to": to });
    let payments: Vec<_> = (0..6).map(|_| payment.clone()).collect();
    let genesis = json!({ "asset": {
        "name": "n", "symbol": "S", "denomination": 0,
        "initialState": { "fixedCap": [{ "amount": 1, "address": "local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u" }] },
    } });
    let rows = match method {
        "xvm.buildGenesis" => vec![json!({ "networkID": 12345, "genesisData": genesis })],
        "xvm.getAddressTxs" => {
            vec![json!({ "address": owner, "assetID": "NAT", "pageSize": 1024 })]
        }
        "xvm.getAllBalances" => vec![json!({ "address": owner, "includePartial": true })],
        "xvm.getBalance" => {
            vec![json!({ "address": owner, "assetID": "NAT", "includePartial": true })]
        }
        "xvm.getAssetDescription" => vec![json!({ "assetID": asset })],
        "xvm.getBlock" => ["json", "hex"]
            .map(|encoding| json!({ "blockID": stock.x_block, "encoding": encoding }))
            .into(),
        "xvm.getBlockByHeight" => {
            ["json", "hex"].map(|encoding| json!({ "height": "2", "encoding": encoding })).into()
        }
        "xvm.getHeight"
        | "xvm.getTxFee"
        | "nat.version"
        | "keystore.listUsers"
        | "dev.snapshot"
        | "dev.getTime"
        | "dev.getImpersonatedAddresses" => vec![json!({})],
        // Refused: the stock stays for the other methods.
        "dev.reset" => vec![json!(7)],
        "dev.revert" => vec![json!({ "id": "0" })],
        "dev.mine" => vec![json!({ "blocks": "16", "interval": "1" })],
        "dev.impersonateAddress" | "dev.stopImpersonatingAddress" => {
            vec![json!({ "address": owner })]
        }
        "dev.increaseTime" => vec![json!({ "seconds": "2" })],
        "dev.setTime" => vec![json!({ "timestamp": "2" })],
        "xvm.getTx" => {
            ["json", "hex"].map(|encoding| json!({ "txID": x_tx, "encoding": encoding })).into()
        }
        "xvm.getTxStatus" => vec![json!({ "txID": x_tx, "includeReason": true })],
        "xvm.getUTXOs" => vec![json!({ "addresses": [owner], "limit": 1024 })],
        "xvm.subscribe" => {
            vec![json!({ "kind": "utxos", "addresses": vec![owner; 18], "fromHeight": 0 })]
        }
        "xvm.unsubscribe" => vec![json!({ "subscription": "1".repeat(900) })],
        "xvm.issueTx" | "wallet.issueTx" | "nat.issueTx" => vec![json!({ "tx": &x_bytes[..800] })],
        "xvm.createAddress" | "xvm.listAddresses" | "keystore.exportUser" => vec![user(json!({}))?],
        "xvm.createAsset" | "xvm.createFixedCapAsset" => {
            vec![user(json!({ "name": "N", "symbol": "S", "initialHolders": holders }))?]
        }
        "xvm.createNFTAsset" | "xvm.createVariableCapAsset" => {
            vec![user(json!({ "name": "N", "symbol": "S", "minterSets": minters }))?]
        }
        "xvm.export" => vec![user(json!({ "amount": 1, "assetID": "NAT", "to": owner }))?],
        "xvm.exportKey" => vec![user(json!({ "address": to }))?],
        "xvm.import" => vec![user(json!({ "sourceChain": "C", "to": to }))?],
        "xvm.importKey" | "nat.importKey" => {
            vec![user(json!({ "privateKey": esker_e2e::funds::key(7).to_text() }))?]
        }
        "xvm.mint" => vec![user(json!({ "amount": 1, "assetID": asset, "to": to }))?],
        "xvm.mintNFT" => vec![user(json!({ "assetID": asset, "payload": "0x00", "to": to }))?],
        "xvm.send" | "wallet.send" => vec![user(payment)?],
        "xvm.sendMultiple" | "wallet.sendMultiple" => vec![user(json!({ "outputs": payments }))?],
        "xvm.sendNFT" => vec![user(json!({ "assetID": asset, "groupID": 0, "to": to }))?],
        "nat.export" | "nat.exportNative" => {
            vec![user(json!({ "amount": 1, "assetID": "NAT", "to": owner }))?]
        }
        "nat.exportKey" => vec![user(json!({ "address": stock.account }))?],
        "nat.getAtomicTx" | "nat.getAtomicTxStatus" => vec![json!({ "txID": x_tx })],
        "nat.getUTXOs" => {
            vec![
                json!({ "addresses": [owner.replace("X-", "C-")], "sourceChain": "X", "limit": 1024 }),
            ]
        }
        "nat.import" | "nat.importNative" => {
            vec![user(json!({ "sourceChain": "X", "to": stock.account }))?]
        }
        "keystore.createUser" => vec![json!({ "username": name, "password": password })],
        "keystore.deleteUser" => vec![json!({ "username": OTHER_USER, "password": "a wrong one" })],
        "keystore.importUser" => {
            let bytes = stock.exported.get(..700).unwrap_or(&stock.exported);
            vec![user(json!({ "user": bytes }))?]
        }
        _ => return None,
    };
    Some(rows)
}

fn of_node(method: &str, stock: &Stock) -> Option<Vec<Value>> {
    let p_owner = stock.owner.replace("X-", "P-");
    let rows = match method {
        "rpc.discover"
        | "admin.getLoggerLevel"
        | "admin.getConfig"
        | "admin.getSettings"
        | "admin.getValidators"
        | "admin.getVMConfig"
        | "admin.loadVMs"
        | "admin.stacktrace"
        | "admin.startCPUProfiler"
        | "admin.stopCPUProfiler"
        | "admin.memoryProfile"
        | "admin.lockProfile"
        | "health.health"
        | "health.readiness"
        | "health.liveness"
        | "info.getNetworkID"
        | "info.getNetworkName"
        | "info.getNodeVersion"
        | "info.getNodeID"
        | "info.getNodeIP"
        | "info.peers"
        | "info.uptime"
        | "info.getVMs"
        | "info.getTxFee"
        | "info.upgrades"
        | "info.acps"
        | "platform.getHeight"
        | "platform.getTimestamp"
        | "platform.getFeeConfig"
        | "platform.getFeeState"
        | "platform.getMinStake"
        | "platform.getStakingAssetID"
        | "platform.getBlockchains"
        | "platform.getSubnets"
        | "platform.getCurrentValidators"
        | "platform.getCurrentSupply"
        | "platform.validates" => vec![json!({})],
        "admin.approveValidators" => {
            let member = json!({ "publicKey": "7".repeat(64), "address": "127.0.0.1:1" });
            vec![json!({ "height": "18446744073709551615", "validators": vec![member; 8] })]
        }
        // The second one is refused: the folder exists.
        "admin.backup" => vec![json!({ "path": "backup" })],
        "info.getBlockchainID" => vec![json!({ "alias": "X" })],
        "info.isBootstrapped" => vec![json!({ "chain": "X" })],
        "platform.getBlockchainStatus" | "platform.validatedBy" => {
            vec![json!({ "blockchainID": stock.asset })]
        }
        "platform.getTxStatus" => vec![json!({ "txID": stock.x_tx })],
        "platform.getValidatorsAt" => vec![json!({ "height": "0" })],
        "platform.issueTx" => vec![json!({ "tx": &stock.x_bytes[..800] })],
        "platform.getBalance" => vec![json!({ "addresses": [p_owner] })],
        "platform.getUTXOs" => {
            vec![json!({ "addresses": [p_owner], "sourceChain": "X", "limit": 1024 })]
        }
        "index.getLastAccepted" => vec![json!({ "encoding": "hex" })],
        "index.getContainerByIndex" => vec![json!({ "index": "1", "encoding": "hex" })],
        "index.getContainerByID" | "index.getIndex" | "index.isAccepted" => {
            vec![json!({ "id": stock.x_block, "encoding": "hex" })]
        }
        "index.getContainerRange" => {
            vec![json!({ "startIndex": "0", "numToFetch": 1024, "encoding": "hex" })]
        }
        // The things that they change belong to the operator of the node.
        "admin.alias" => vec![json!({ "endpoint": "bc/X", "alias": "x".repeat(400) })],
        "admin.aliasChain" => vec![json!({ "chain": "X", "alias": "y".repeat(400) })],
        "admin.getChainAliases" => vec![json!({ "chain": stock.asset })],
        "admin.setLogLevel" => vec![json!({ "level": "info" })],
        "admin.getLogs" => vec![json!({ "level": "verbo", "limit": 1000 })],
        "admin.dbGet" => vec![json!({ "key": "0x00" })],
        "admin.setLoggerLevel" => vec![json!({ "loggerName": "X", "logLevel": "info" })],
        _ => return None,
    };
    Some(rows)
}
