//! Simulated blocks: forms, order, logs of transfers, errors and limits of the standard's test suite, on this
//! chain's rules.

use alloy_primitives::{Address, U256, address};
use esker_evm_rpc::evm::TransactConfig;
use serde_json::{Value, json};

use super::world::World;

const HELD: Address = address!("0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc");
const A: Address = address!("0xc000000000000000000000000000000000000000");
const B: Address = address!("0xc100000000000000000000000000000000000000");
const C: Address = address!("0xc200000000000000000000000000000000000000");
const TRANSFER: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

fn world() -> World {
    World::new(TransactConfig::default(), false)
}

async fn ask(world: &World, options: Value) -> Value {
    world.call("eth_simulateV1", &json!([options]).to_string()).await
}

async fn run(world: &World, options: Value) -> Vec<Value> {
    let reply = ask(world, options).await;
    reply["result"].as_array().unwrap_or_else(|| panic!("{reply}")).clone()
}

/// One block of these calls after these changes of accounts.
async fn calls(world: &World, state: Value, calls: Value) -> Vec<Value> {
    let block = json!({"stateOverrides": state, "calls": calls});
    let blocks = run(world, json!({"blockStateCalls": [block], "traceTransfers": true})).await;
    blocks[0]["calls"].as_array().unwrap().clone()
}

fn number(value: &Value) -> u64 {
    value.as_str().unwrap().parse::<U256>().unwrap().to()
}

/// `from`, `to` and amount of each transfer.
fn transfers(call: &Value) -> Vec<(Address, Address, u64)> {
    let address = |topic: &Value| format!("0x{}", &topic.as_str().unwrap()[26..]).parse().unwrap();
    let logs = call["logs"].as_array().unwrap().iter();
    logs.map(|log| {
        assert_eq!(log["address"], "0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee");
        assert_eq!(log["topics"][0], TRANSFER);
        (address(&log["topics"][1]), address(&log["topics"][2]), number(&log["data"]))
    })
    .collect()
}

#[tokio::test]
async fn a_block_is_as_it_would_be_made() {
    let world = world();
    // The second, so that the fee window has begun.
    let send = json!([{"from": HELD, "to": A, "value": "0x9", "gas": "0x5208", "gasPrice": "0x12309ce54000"}]);
    assert!(world.call("eth_sendTransaction", &send.to_string()).await["result"].is_string());
    world.settle().await;
    // Logs a word: LOG1(0, 32, 7).
    let init = "0x602a600052600760206000a100";
    let tx = json!({"from": HELD, "input": init, "gas": "0xf4240", "gasPrice": "0x12309ce54000", "nonce": "0x1"});
    let time = format!("{:#x}", world.now_s() + 2);
    let simulated = run(
        &world,
        json!({
            "blockStateCalls": [{"blockOverrides": {"time": time}, "calls": [tx]}],
            "validation": true,
        }),
    )
    .await;
    assert!(
        world.call("eth_sendTransaction", &json!([tx]).to_string()).await["result"].is_string()
    );
    world.settle().await;
    let made = world.call("eth_getBlockByNumber", "[\"latest\",false]").await["result"].clone();
    for member in [
        "number",
        "timestamp",
        "parentHash",
        "stateRoot",
        "receiptsRoot",
        "logsBloom",
        "gasUsed",
        "gasLimit",
        "baseFeePerGas",
        "blockGasCost",
        "extDataHash",
        "extDataGasUsed",
        "miner",
        "difficulty",
        "mixHash",
        "nonce",
        "sha3Uncles",
        "parentBeaconBlockRoot",
        "blobGasUsed",
        "excessBlobGas",
        "uncles",
        "totalDifficulty",
        "blockExtraData",
    ] {
        assert_eq!(simulated[0][member], made[member], "{member}");
        assert!(!made[member].is_null(), "{member}");
    }
    assert_ne!(made["logsBloom"], format!("0x{}", "0".repeat(512)));
    assert_eq!(simulated[0]["calls"][0]["status"], "0x1");
    assert_eq!(simulated[0]["extraData"], "0x");
}

#[tokio::test]
async fn base_fees_follow_from_simulated_blocks() {
    let world = world();
    // A loop until nothing is left, in two blocks of which the second feels the first.
    let burn = json!({"from": HELD, "input": "0x5b600056", "maxFeePerGas": "0x12309ce54000"});
    let run_with = async |first: Value| {
        let blocks = json!([{}, {"calls": first}, {}, {}]);
        let blocks = run(&world, json!({"blockStateCalls": blocks, "validation": true})).await;
        blocks.iter().map(|block| number(&block["baseFeePerGas"])).collect::<Vec<_>>()
    };
    let (idle, busy) = (run_with(json!([])).await, run_with(json!([burn])).await);
    assert_eq!(idle[..2], busy[..2]);
    assert!(idle[2] < idle[1] && idle[2] < busy[2], "{idle:?} {busy:?}");
}

#[tokio::test]
async fn blocks_follow_each_other() {
    let world = world();
    let base = world.call("eth_getBlockByNumber", "[\"latest\",false]").await["result"].clone();
    // Returns the hash of the block whose number is in the call data.
    let code = "0x6000354060005260206000f3";
    let ask = |number: u64| json!({"to": C, "input": format!("0x{number:064x}")});
    let blocks = run(
        &world,
        json!({"blockStateCalls": [
            {"stateOverrides": {(C.to_string()): {"code": code}}, "calls": [ask(0), ask(1)]},
            {"blockOverrides": {"number": "0x5", "gasLimit": "0xf4240", "feeRecipient": A}, "calls": [ask(1), ask(4)]},
            {},
        ]}),
    )
    .await;
    assert_eq!(blocks.len(), 6, "gaps are filled");
    let mut parent = base.clone();
    for block in &blocks {
        assert_eq!(block["parentHash"], parent["hash"]);
        assert_eq!(number(&block["number"]), number(&parent["number"]) + 1);
        assert_eq!(number(&block["timestamp"]), number(&parent["timestamp"]) + 2);
        assert_eq!(block["baseFeePerGas"], "0x0");
        parent = block.clone();
    }
    let answer = |block: usize, call: usize| &blocks[block]["calls"][call]["returnData"];
    assert_eq!(answer(0, 0), &base["hash"]);
    assert_eq!(answer(0, 1), &json!(format!("0x{:064x}", 0)), "not of the block itself");
    assert_eq!(answer(4, 0), &blocks[0]["hash"]);
    assert_eq!(answer(4, 1), &blocks[3]["hash"]);
    // The settings of a block also apply to those after it.
    assert_eq!((&blocks[5]["gasLimit"], &blocks[5]["miner"]), (&json!("0xf4240"), &json!(A)));
    assert_eq!(blocks[5]["stateRoot"], blocks[4]["stateRoot"]);
    assert_eq!(blocks[1]["stateRoot"], blocks[0]["stateRoot"]);
    assert_eq!(world.call("eth_blockNumber", "[]").await["result"], "0x0", "nothing stays");
}

#[tokio::test]
async fn headers_can_be_different() {
    let world = world();
    let seed = format!("0x{:064x}", 0x12);
    // NUMBER, TIMESTAMP, GASLIMIT, COINBASE, PREVRANDAO, BASEFEE, BLOBBASEFEE.
    let code = "0x43600052426020524560405241606052446080524860a0524a60c05260e06000f3";
    let blocks = run(
        &world,
        json!({"blockStateCalls": [{
            "blockOverrides": {
                "number": "0x2", "time": "0x70000000", "gasLimit": "0x2e630", "feeRecipient": A,
                "prevRandao": seed, "baseFeePerGas": "0xa", "blobBaseFee": "0x7", "beaconRoot": seed,
                "withdrawals": [],
            },
            "stateOverrides": {(C.to_string()): {"code": code}},
            // Without a price there is no base fee for code either.
            "calls": [{"to": C}, {"from": HELD, "to": C, "maxFeePerGas": "0xf", "gas": "0xffff"}],
        }]}),
    )
    .await;
    let words = |call: usize| {
        let data = blocks[1]["calls"][call]["returnData"].as_str().unwrap()[2..].to_owned();
        let word = |at: usize| U256::from_str_radix(&data[at * 64..at * 64 + 64], 16).unwrap();
        (0..7).map(word).collect::<Vec<_>>()
    };
    let a = U256::from_be_bytes(A.into_word().0);
    let mut want = [2, 0x7000_0000, 0x2e630, 0, 0x12, 0, 7].map(U256::from);
    want[3] = a;
    assert_eq!(words(0), want);
    want[5] = U256::from(10);
    assert_eq!(words(1), want);
    for (member, want) in [("mixHash", &seed), ("parentBeaconBlockRoot", &seed)] {
        assert_eq!(blocks[1][member], **want, "{member}");
    }
    assert_eq!((&blocks[1]["baseFeePerGas"], &blocks[1]["miner"]), (&json!("0xa"), &json!(A)));
}

#[tokio::test]
async fn transactions_are_shown_whole_if_asked_for() {
    let world = world();
    let block = json!({
        "blockOverrides": {"baseFeePerGas": "0xf"},
        "stateOverrides": {(A.to_string()): {"balance": "0xe8d4a51000"}},
        "calls": [
            {"from": A, "to": B, "maxFeePerGas": "0x10", "value": "0x3e8"},
            {"from": A, "to": B, "gasPrice": "0x10", "gas": "0x5208"},
        ],
    });
    let options = |full: bool| json!({"blockStateCalls": [block], "validation": true, "returnFullTransactions": full});
    let (short, full) = (run(&world, options(false)).await, run(&world, options(true)).await);
    let txs = full[0]["transactions"].as_array().unwrap();
    assert_eq!(short[0]["transactions"], json!([txs[0]["hash"], txs[1]["hash"]]));
    assert_eq!(short[0]["hash"], full[0]["hash"]);
    // Gas and nonce are filled in, and a price decides the type.
    let shown = json!({
        "blockHash": full[0]["hash"], "blockNumber": "0x1", "from": A, "gas": "0xe4e1c0", "gasPrice": "0xf",
        "maxFeePerGas": "0x10", "maxPriorityFeePerGas": "0x0", "hash": txs[0]["hash"], "input": "0x",
        "nonce": "0x0", "to": B, "transactionIndex": "0x0", "value": "0x3e8", "type": "0x2", "accessList": [],
        "chainId": "0xa868", "v": "0x0", "r": "0x0", "s": "0x0", "yParity": "0x0",
    });
    let lower = |value: &Value| value.to_string().to_lowercase();
    assert_eq!(lower(&txs[0]), lower(&shown));
    assert_eq!((&txs[1]["type"], &txs[1]["nonce"]), (&json!("0x0"), &json!("0x1")));
}

#[tokio::test]
async fn a_nonce_that_is_not_checked_wraps() {
    let world = world();
    let state = json!({(A.to_string()): {"nonce": "0xffffffffffffffff"}});
    let call = json!({"from": A, "to": B});
    let block = json!({"stateOverrides": state, "calls": [call, call, call]});
    let options = json!({"blockStateCalls": [block], "returnFullTransactions": true});
    let blocks = run(&world, options).await;
    let nonces = [0_usize, 1, 2].map(|at| number(&blocks[0]["transactions"][at]["nonce"]));
    assert_eq!(nonces, [u64::MAX, 0, 1]);
}

#[tokio::test]
async fn transfers_are_logs() {
    let world = world();
    let rich = json!({(A.to_string()): {"balance": "0x7d0"}});
    let send = json!({"from": A, "to": B, "value": "0x3e8"});
    let plain =
        run(&world, json!({"blockStateCalls": [{"stateOverrides": rich, "calls": [send]}]})).await;
    assert_eq!(plain[0]["calls"][0]["logs"], json!([]), "only if asked for");
    let options = json!({"blockStateCalls": [{"stateOverrides": rich, "calls": [send]}], "traceTransfers": true});
    let traced = run(&world, options).await;
    let log = &traced[0]["calls"][0]["logs"][0];
    assert_eq!(transfers(&traced[0]["calls"][0]), [(A, B, 1000)]);
    assert_eq!(log["blockHash"], traced[0]["hash"]);
    assert_eq!((&log["blockTimestamp"], &log["removed"]), (&traced[0]["timestamp"], &json!(false)));
    assert_eq!(log["transactionHash"], traced[0]["transactions"][0]);
    // They are no logs of the block.
    assert_eq!(plain[0]["hash"], traced[0]["hash"]);

    // Sends what it got on to C, logs, and reverts if the call data are not empty.
    let forward = "600080808034 73c200000000000000000000000000000000000000 5af150 60006000a0 3615602d57 60006000fd 5b00";
    let forward = format!("0x{}", forward.replace(' ', ""));
    let forward_at = |code: &str| json!({(A.to_string()): {"balance": "0x7d0"}, (B.to_string()): {"code": code}});
    let done = calls(
        &world,
        forward_at(&forward),
        json!([send, {"from": A, "to": B, "value": "0x1", "input": "0x01"}]),
    )
    .await;
    let logs = done[0]["logs"].as_array().unwrap();
    assert_eq!(logs.len(), 3, "{logs:?}");
    assert_eq!(logs[2]["address"].as_str().unwrap(), B.to_string().to_lowercase());
    let index = |log: &Value| number(&log["logIndex"]);
    assert_eq!(logs.iter().map(index).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!((&done[1]["status"], &done[1]["logs"]), (&json!("0x0"), &json!([])));

    // Creation with a value, and the end of a contract: whoever gets its coins is the caller.
    let end = "0x33ff";
    let created = A.create(0);
    let state = json!({(A.to_string()): {"balance": "0x7d0"}});
    let made = calls(&world, state, json!([{"from": A, "value": "0x5", "input": end}])).await;
    assert_eq!(transfers(&made[0]), [(A, created, 5), (created, A, 5)]);
    // A call that fails for want of funds transfers nothing.
    let poor =
        "0x600080808060ff 73c200000000000000000000000000000000000000 5af100".replace(' ', "");
    let none = calls(&world, forward_at(&poor), json!([{"from": A, "to": B}])).await;
    assert_eq!((&none[0]["status"], &none[0]["logs"]), (&json!("0x1"), &json!([])));
    // CALLCODE leaves the coins where they are, DELEGATECALL sends none.
    let code_of = |call: &str| {
        format!(
            "0x6000808080{call}73c2000000000000000000000000000000000000005a{}00",
            if call.is_empty() { "f4" } else { "f2" }
        )
    };
    let kept =
        calls(&world, forward_at(&code_of("6003")), json!([{"from": A, "to": B, "value": "0x4"}]))
            .await;
    assert_eq!(transfers(&kept[0]), [(A, B, 4), (B, C, 3)]);
    let delegated =
        calls(&world, forward_at(&code_of("")), json!([{"from": A, "to": B, "value": "0x4"}]))
            .await;
    assert_eq!(transfers(&delegated[0]), [(A, B, 4)]);
}

#[tokio::test]
async fn precompiled_contracts_can_be_moved() {
    let world = world();
    let (sha, elsewhere) = (Address::with_last_byte(2), Address::repeat_byte(0x12));
    let hash = "0x3a103a4e5729ad68c02a678ae39accfbc0ae208096437401b7ceab63cca0622f";
    let call = |to: Address| json!({"to": to, "input": "0x1234"});
    let blocks = run(
        &world,
        json!({"blockStateCalls": [
            {
                "stateOverrides": {(sha.to_string()): {"movePrecompileToAddress": elsewhere}},
                "calls": [call(elsewhere), call(sha)],
            },
            {"calls": [call(elsewhere), call(sha)]},
            {
                // Returns 1.
                "stateOverrides": {(sha.to_string()): {"code": "0x600160005260206000f3"}},
                "calls": [call(sha)],
            },
        ]}),
    )
    .await;
    let answers = |block: usize| {
        let calls = blocks[block]["calls"].as_array().unwrap();
        calls.iter().map(|call| call["returnData"].as_str().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(answers(0), [hash, "0x"]);
    assert_eq!(answers(1), ["0x", hash], "for one block only");
    assert_eq!(answers(2), [format!("0x{:064x}", 1)]);
    // Two to one place: the last one is there.
    let state = json!({
        (sha.to_string()): {"movePrecompileToAddress": elsewhere},
        (Address::with_last_byte(4).to_string()): {"movePrecompileToAddress": elsewhere},
    });
    let both = calls(&world, state, json!([call(elsewhere)])).await;
    assert_eq!(both[0]["returnData"], "0x1234");
}

#[tokio::test]
async fn failures_of_code_are_results() {
    let world = world();
    let at = |code: &str| json!({(B.to_string()): {"code": code}});
    let check = async |code: &str, want: Value| {
        let done = calls(&world, at(code), json!([{"to": B, "gas": "0xffff"}])).await;
        assert_eq!((&done[0]["status"], &done[0]["returnData"]), (&json!("0x0"), &json!("0x")));
        assert_eq!(done[0]["error"], want);
        assert_eq!(done[0]["gasUsed"], done[0]["maxUsedGas"]);
    };
    check("0x60006000fd", json!({"message": "execution reverted", "code": 3, "data": "0x"})).await;
    let text = "62461bcd60e51b6000526020600452600260245261686960f01b60445260646000fd";
    let data = format!("0x08c379a0{:064x}{:064x}6869{}", 32, 2, "0".repeat(60));
    let want = json!({"message": "execution reverted: hi", "code": 3, "data": data});
    check(&format!("0x{text}"), want).await;
    check("0xfe", json!({"message": "invalid opcode: INVALID", "code": -32015})).await;
    check("0x5b600056", json!({"message": "out of gas", "code": -32015})).await;
}

#[tokio::test]
async fn what_is_refused() {
    let world = world();
    let check = async |options: Value, code: i64, text: &str| {
        let reply = ask(&world, options.clone()).await;
        assert_eq!(reply["error"], json!({"code": code, "message": text}), "{options}");
    };
    let blocks = |blocks: Value| json!({"blockStateCalls": blocks});
    let call = |call: Value| json!({"blockStateCalls": [{"calls": [call]}]});
    let validated = |fee: &str, call: Value| {
        let header = json!({"baseFeePerGas": fee});
        json!({"blockStateCalls": [{"blockOverrides": header, "calls": [call]}], "validation": true})
    };
    let genesis = number(
        &world.call("eth_getBlockByNumber", "[\"latest\",false]").await["result"]["timestamp"],
    );
    let at = |time: u64| json!({"blockOverrides": {"time": format!("{time:#x}")}});

    check(blocks(json!([])), -32602, "empty input").await;
    check(json!({}), -32602, "empty input").await;
    check(blocks(vec![json!({}); 257].into()), -38026, "too many blocks").await;
    check(blocks(json!([{"blockOverrides": {"number": "0x101"}}])), -38026, "too many blocks")
        .await;
    assert_eq!(
        run(&world, blocks(json!([{"blockOverrides": {"number": "0x100"}}]))).await.len(),
        256
    );
    let numbers =
        json!([{"blockOverrides": {"number": "0x3"}}, {"blockOverrides": {"number": "0x3"}}]);
    check(blocks(numbers), -38020, "block numbers must be in order: 3 <= 3").await;
    let text = format!("block timestamps must be in order: {0} <= {0}", genesis + 9);
    check(blocks(json!([at(genesis + 9), at(genesis + 9)])), -38021, &text).await;
    let text = format!("block timestamps must be in order: {genesis} <= {genesis}");
    check(blocks(json!([at(genesis)])), -38021, &text).await;

    let text = "err: nonce too low: address 0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC, tx: 1 state: 2 (supplied gas 21000)";
    let mut low = validated("0x0", json!({"from": HELD, "to": A, "nonce": "0x1", "gas": "0x5208"}));
    low["blockStateCalls"][0]["stateOverrides"] = json!({(HELD.to_string()): {"nonce": "0x2"}});
    check(low, -38010, text).await;
    let text = "err: nonce too high: address 0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC, tx: 100 state: 0 (supplied gas 21000)";
    let high = json!({"from": HELD, "to": A, "nonce": "0x64", "gas": "0x5208"});
    check(validated("0x0", high.clone()), -38011, text).await;
    assert_eq!(run(&world, call(high)).await[0]["calls"][0]["status"], "0x1", "only if validated");
    let text = "err: max fee per gas less than block base fee: address 0xC000000000000000000000000000000000000000, maxFeePerGas: 0, baseFee: 10 (supplied gas 15000000)";
    check(validated("0xa", json!({"from": A, "to": B})), -38012, text).await;
    let text = "err: intrinsic gas too low: have 0, want 21000 (supplied gas 0)";
    check(call(json!({"from": A, "to": B, "gas": "0x0"})), -38013, text).await;
    let text = "err: insufficient funds for gas * price + value: address 0xC000000000000000000000000000000000000000 have 0 want 1000 (supplied gas 15000000)";
    check(call(json!({"from": A, "to": B, "value": "0x3e8"})), -38014, text).await;
    let text = "block gas limit reached: 15000001 > 15000000";
    check(call(json!({"from": A, "to": B, "gas": "0xe4e1c1"})), -38015, text).await;
    let text =
        "err: max initcode size exceeded: code size 49153 limit 49152 (supplied gas 15000000)";
    check(call(json!({"from": A, "input": format!("0x{}", "00".repeat(49_153))})), -38025, text)
        .await;
    let text = "err: max priority fee per gas higher than max fee per gas: address 0xC000000000000000000000000000000000000000, maxPriorityFeePerGas: 2, maxFeePerGas: 1 (supplied gas 15000000)";
    check(
        call(json!({"from": A, "to": B, "maxFeePerGas": "0x1", "maxPriorityFeePerGas": "0x2"})),
        -32602,
        text,
    )
    .await;
    let mut last = validated("0x0", json!({"from": A, "to": B, "gas": "0x5208"}));
    last["blockStateCalls"][0]["stateOverrides"] =
        json!({(A.to_string()): {"nonce": "0xffffffffffffffff"}});
    let text = "err: nonce has max value: address 0xC000000000000000000000000000000000000000, nonce: 18446744073709551615 (supplied gas 21000)";
    check(last, -32603, text).await;

    let moved = |from: u8, to: Address| {
        let from = Address::with_last_byte(from).to_string();
        json!({"blockStateCalls": [{"stateOverrides": {(from): {"movePrecompileToAddress": to}}}]})
    };
    let text = "MovePrecompileToAddress referenced itself in replacement";
    check(moved(1, Address::with_last_byte(1)), -38022, text).await;
    let text = format!("account {} is not a precompile", Address::with_last_byte(0x77));
    check(moved(0x77, A), -32000, &text).await;
    let mut onto = moved(1, A);
    onto["blockStateCalls"][0]["stateOverrides"][A.to_string()] = json!({"balance": "0x1"});
    check(onto, -32000, &format!("account {A} is already overridden")).await;
    let both = json!({(A.to_string()): {"state": {}, "stateDiff": {}}});
    let text = format!("account {A} has both 'state' and 'stateDiff'");
    check(blocks(json!([{"stateOverrides": both}])), -32000, &text).await;
    let text = "both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified";
    check(call(json!({"gasPrice": "0x1", "maxFeePerGas": "0x1"})), -32000, text).await;
    let text = "chainId does not match node's (have=1, want=43112)";
    check(call(json!({"chainId": "0x1"})), -32000, text).await;
    let blobs = json!({"to": A, "blobVersionedHashes": [format!("0x{}", "01".repeat(32))]});
    check(call(blobs), -32602, "blob transactions are not supported").await;
    let paid = json!([{"blockOverrides": {"withdrawals": [{}]}}]);
    check(blocks(paid), -32602, "withdrawals are not supported").await;
    let text = "invalid argument 0: json: cannot unmarshal string into Go struct field simOpts.Validation of type bool";
    check(json!({"validation": "yes"}), -32602, text).await;
    let reply = world.call("evm_simulateV1", "[]").await;
    assert_eq!(
        reply["error"],
        json!({"code": -32602, "message": "missing value for required argument 0"})
    );
    let reply = world.call("eth_simulateV1", "[{\"blockStateCalls\":[{}]},\"0x1\"]").await;
    assert_eq!(reply["error"]["message"], "cannot query unfinalized data");
}

#[tokio::test]
async fn gas_is_limited_over_all_blocks() {
    let world = World::new(TransactConfig { gas_cap: 60_000, ..TransactConfig::default() }, false);
    let call = json!({"to": B});
    let two = json!({"blockStateCalls": [{"calls": [call]}, {"calls": [call]}], "returnFullTransactions": true});
    let blocks = run(&world, two).await;
    let gas = |block: usize| number(&blocks[block]["transactions"][0]["gas"]);
    assert_eq!((gas(0), gas(1)), (60_000, 39_000));
    let three =
        json!({"blockStateCalls": [{"calls": [call]}, {"calls": [call]}, {"calls": [call]}]});
    let text = "err: intrinsic gas too low: have 18000, want 21000 (supplied gas 18000)";
    let reply = ask(&world, three).await;
    assert_eq!(reply["error"], json!({"code": -38013, "message": text}));
}

#[tokio::test]
async fn answers_have_a_limit_of_bytes() {
    let world = world();
    // Returns 100,000 bytes.
    let state = json!({(B.to_string()): {"code": "0x620186a06000f3"}});
    let block = |calls: usize| {
        let calls = vec![json!({"to": B, "gas": "0x1117f"}); calls];
        json!({"blockStateCalls": [{"stateOverrides": state, "calls": calls}]})
    };
    let blocks = run(&world, block(120)).await;
    assert_eq!(blocks[0]["calls"][119]["returnData"].as_str().unwrap().len(), 200_002);
    let want =
        json!({"code": -38026, "message": "the calls return and log more than 12000000 bytes"});
    assert_eq!(ask(&world, block(121)).await["error"], want);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_simulation_ends_with_its_time() {
    let world = World::with_endless_gas();
    let block = json!({
        "blockOverrides": {"gasLimit": "0x7fffffffffffffff"},
        "calls": [{"input": "0x5b600056"}],
    });
    let params = json!([{"blockStateCalls": [block]}]).to_string();
    let reply = world.call_while_time_passes("eth_simulateV1", &params).await;
    assert_eq!(reply["error"]["message"], "execution aborted (timeout = 5s)");
}
