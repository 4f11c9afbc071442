//! Estimates are made for the block that comes next, not for the last one.

use alloy_primitives::{Address, U256, address, hex};
use esker_evm_rpc::evm::TransactConfig;
use serde_json::{Value, json};

use super::world::World;

const HELD: Address = address!("0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc");

/// `NUMBER` and `TIMESTAMP`.
const CLOCKS: [u8; 2] = [0x43, 0x42];

/// How many transactions follow each other.
const SENDS: usize = 5;

fn world() -> World {
    World::new(TransactConfig::default(), false)
}

/// Init code of a contract with this code.
fn init_code(runtime: &[u8]) -> String {
    let length = u8::try_from(runtime.len()).unwrap();
    let copy = [0x60, length, 0x80, 0x60, 0x0b, 0x60, 0x00, 0x39, 0x60, 0x00, 0xf3];
    hex::encode_prefixed([&copy, runtime].concat())
}

/// Writes a checkpoint of its own for every new value of `clock`: as ERC20Votes does by block number, and
/// Uniswap's pools by time. Slot 0 holds the last one.
fn checkpoints(clock: u8) -> Vec<u8> {
    let is_known = [0x60, 0x00, 0x54, clock, 0x14, 0x60, 0x10, 0x57];
    let write = [clock, 0x60, 0x00, 0x55, 0x60, 0x01, clock, 0x55];
    [is_known.as_slice(), &write, &[0x5b, 0x00]].concat()
}

/// Reverts before the time that is its first argument, then writes.
const TIME_LOCK: [u8; 20] = hex!("6000354210600e576001600055005b60006000fd");

async fn send(world: &World, args: Value) -> Value {
    let reply = world.call("eth_sendTransaction", &json!([args]).to_string()).await;
    let hash = reply["result"].as_str().unwrap_or_else(|| panic!("{args}: {reply}")).to_owned();
    world.settle().await;
    world.call("eth_getTransactionReceipt", &json!([hash]).to_string()).await["result"].clone()
}

/// The address of a new contract.
async fn deploy(world: &World, runtime: &[u8]) -> String {
    let receipt = send(world, json!({"from": HELD, "data": init_code(runtime)})).await;
    assert_eq!(receipt["status"], "0x1", "{receipt}");
    receipt["contractAddress"].as_str().unwrap().to_owned()
}

fn number(value: &Value) -> u64 {
    value.as_str().unwrap_or_else(|| panic!("{value}")).parse::<U256>().unwrap().to()
}

#[tokio::test]
async fn gas_suffices_for_what_is_written_once_a_block() {
    for clock in CLOCKS {
        let world = world();
        let contract = deploy(&world, &checkpoints(clock)).await;
        let mut used = Vec::new();
        for sent in 0..SENDS {
            let receipt = send(&world, json!({"from": HELD, "to": contract})).await;
            assert_eq!(receipt["status"], "0x1", "send {sent}, clock {clock:#x}: {receipt}");
            used.push(number(&receipt["gasUsed"]));
        }
        // Each of them wrote.
        assert!(used.iter().all(|used| *used > 40_000), "{used:?}");
        let at_latest = json!([{"from": HELD, "to": contract}, "latest"]).to_string();
        let at_latest = number(&world.call("eth_estimateGas", &at_latest).await["result"]);
        assert!(at_latest < 30_000, "the last block has written: {at_latest}");
    }
}

#[tokio::test]
async fn several_sends_of_one_block_suffice() {
    for clock in CLOCKS {
        let world = world();
        let contract = deploy(&world, &checkpoints(clock)).await;
        for round in 0..2 {
            let mut hashes = Vec::new();
            for _ in 0..SENDS {
                let args = json!([{"from": HELD, "to": contract}]).to_string();
                hashes.push(world.call("eth_sendTransaction", &args).await["result"].clone());
            }
            world.settle().await;
            for hash in hashes {
                let args = json!([hash]).to_string();
                let receipt = world.call("eth_getTransactionReceipt", &args).await;
                assert_eq!(receipt["result"]["status"], "0x1", "round {round}: {receipt}");
            }
        }
    }
}

#[tokio::test]
async fn a_time_lock_opens_although_no_block_was_made() {
    let world = world();
    let contract = deploy(&world, &TIME_LOCK).await;
    let opens = world.now_s() + 60;
    let args = json!({"from": HELD, "to": contract, "data": format!("0x{opens:064x}")});
    let at = |block: Option<&str>| match block {
        Some(block) => json!([args, block]).to_string(),
        None => json!([args]).to_string(),
    };
    let reverted = |reply: &Value| reply["error"]["message"] == "execution reverted";
    let next = [None, Some("pending")];
    for block in next.into_iter().chain([Some("latest")]) {
        let reply = world.call("eth_estimateGas", &at(block)).await;
        assert!(reverted(&reply), "{block:?}: {reply}");
        let reply = world.call("eth_createAccessList", &at(block)).await;
        assert_eq!(reply["result"]["error"], "execution reverted", "{block:?}: {reply}");
    }
    let reply = world.call("eth_sendTransaction", &at(None)).await;
    assert!(reverted(&reply), "{reply}");
    world.clock.advance(60_000);
    for block in next {
        let reply = world.call("eth_estimateGas", &at(block)).await;
        assert!(number(&reply["result"]) > 40_000, "{block:?}: {reply}");
        let reply = world.call("eth_createAccessList", &at(block)).await;
        assert_eq!(reply["result"].get("error"), None, "{block:?}: {reply}");
        assert_eq!(
            reply["result"]["accessList"],
            json!([{
                "address": contract,
                "storageKeys": [format!("0x{:064x}", 0)],
            }])
        );
    }
    assert_eq!(world.call("eth_call", &at(Some("pending"))).await["result"], "0x");
    // The last block is as it was.
    for method in ["eth_estimateGas", "eth_call"] {
        assert!(reverted(&world.call(method, &at(Some("latest"))).await), "{method}");
        assert!(reverted(&world.call(method, &at(Some("0x1"))).await), "{method}");
    }
    assert!(reverted(&world.call("eth_call", &at(None)).await));
    let filled = world.call("eth_fillTransaction", &at(None)).await;
    assert!(number(&filled["result"]["tx"]["gas"]) > 40_000, "{filled}");
    assert_eq!(send(&world, args.clone()).await["status"], "0x1");
}

#[tokio::test]
async fn the_next_block_is_the_one_that_would_be_built_now() {
    let world = world();
    // Two blocks, so that the fee rule has begun.
    for _ in 0..2 {
        send(&world, json!({"from": HELD, "to": HELD, "value": "0x1"})).await;
    }
    world.clock.advance(7_000);
    let history = world.call("eth_feeHistory", "[1,\"latest\",[]]").await;
    let base_fee = number(&history["result"]["baseFeePerGas"][1]);
    let last_fee = number(&history["result"]["baseFeePerGas"][0]);
    assert_ne!(base_fee, last_fee);
    let head = number(&world.call("eth_blockNumber", "[]").await["result"]);
    let price = format!("{:#x}", last_fee * 2);
    let recipient = U256::from_be_slice(&hex!("0100000000000000000000000000000000000000"));
    for (instruction, want) in [
        (0x43, U256::from(head + 1)),
        (0x42, U256::from(world.now_s())),
        (0x48, U256::from(base_fee)),
        (0x41, recipient),
    ] {
        // Reverts unless the instruction gives the value.
        let want = hex::encode(want.to_be_bytes::<32>());
        let code = format!("0x{instruction:02x}7f{want}14602a57600080fd5b00");
        for block in [json!(null), json!("pending")] {
            let call = json!([{"from": HELD, "data": code, "gasPrice": price}, block]).to_string();
            for method in ["eth_estimateGas", "eth_createAccessList"] {
                let reply = world.call(method, &call).await;
                assert!(
                    reply["result"].get("error").is_none(),
                    "{method} {instruction:#x} {reply}"
                );
                assert!(reply["error"].is_null(), "{method} {block} {instruction:#x}: {reply}");
            }
        }
        let call = json!([{"from": HELD, "data": code, "gasPrice": price}, "latest"]).to_string();
        let reply = world.call("eth_estimateGas", &call).await;
        let is_same = instruction == 0x41;
        assert_eq!(reply["error"].is_null(), is_same, "latest {instruction:#x}: {reply}");
    }
}

#[tokio::test]
async fn a_price_of_the_last_block_is_not_refused() {
    let world = world();
    send(&world, json!({"from": HELD, "to": HELD, "value": "0x1"})).await;
    let price = |wei: u64| json!([{"from": HELD, "to": HELD, "gasPrice": format!("{wei:#x}")}]);
    let head = world.call("eth_getBlockByNumber", "[\"latest\",false]").await;
    let fee = number(&head["result"]["baseFeePerGas"]);
    let reply = world.call("eth_estimateGas", &price(fee).to_string()).await;
    assert_eq!(reply["result"], "0x5208", "{reply}");
    let reply = world.call("eth_estimateGas", &price(1).to_string()).await;
    let text = reply["error"]["message"].as_str().unwrap();
    assert!(text.contains("max fee per gas less than block base fee"), "{reply}");
}

#[tokio::test]
async fn the_base_fee_is_that_of_the_next_block() {
    let world = world();
    for _ in 0..2 {
        send(&world, json!({"from": HELD, "to": HELD, "value": "0x1"})).await;
    }
    for seconds in [2, 7, 30] {
        world.clock.advance(seconds * 1000);
        let base_fee = world.call("eth_baseFee", "[]").await["result"].clone();
        let last = world.call("eth_getBlockByNumber", "[\"latest\",false]").await;
        assert_ne!(last["result"]["baseFeePerGas"], base_fee, "after {seconds} s");
        send(&world, json!({"from": HELD, "to": HELD, "value": "0x1"})).await;
        let next = world.call("eth_getBlockByNumber", "[\"latest\",false]").await;
        assert_eq!(next["result"]["baseFeePerGas"], base_fee, "after {seconds} s");
    }
}
