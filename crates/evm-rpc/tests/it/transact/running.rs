//! Calls within their limits, and what the recorded exchanges leave open.

use alloy_primitives::{Address, U256, address};
use esker_evm_execution::call::CallRequest;
use esker_evm_rpc::evm::TransactConfig;
use serde_json::{Value, json};

use super::world::World;

const HELD: Address = address!("0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc");
/// A loop without end.
const ENDLESS: &str = "0x5b600056";

fn world() -> World {
    World::new(TransactConfig::default(), false)
}

fn error(reply: &Value) -> &str {
    reply["error"]["message"].as_str().unwrap_or_else(|| panic!("{reply}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_end_with_their_time() {
    let world = World::with_endless_gas();
    for method in ["eth_call", "eth_estimateGas"] {
        let params = format!("[{{\"data\":\"{ENDLESS}\",\"gas\":\"0x7fffffffffffffff\"}}]");
        let reply = world.call_while_time_passes(method, &params).await;
        assert_eq!(error(&reply), "execution aborted (timeout = 5s)", "{method}");
    }
}

#[tokio::test]
async fn calls_have_a_limit_of_memory() {
    let config = TransactConfig { max_memory: 1 << 16, ..TransactConfig::default() };
    let world = World::new(config, false);
    // MSTORE just within, and just beyond.
    let store = |at: &str| format!("[{{\"data\":\"0x600162{at}52\"}}]");
    assert_eq!(world.call("eth_call", &store("00ff00")).await["result"], "0x");
    let reply = world.call("eth_call", &store("010000")).await;
    assert_eq!(error(&reply), "memory limit of 65536 bytes exceeded");
}

#[tokio::test]
async fn a_price_of_the_next_block_is_enough_at_the_tip() {
    let world = world();
    // Two blocks, so that the fee rule has begun, and time for the base fee to fall.
    for nonce in ["0x0", "0x1"] {
        let args = json!([{"from": HELD, "to": HELD, "nonce": nonce, "gas": "0x5208", "gasPrice": "0x12309ce54000"}]);
        let reply = world.call("eth_sendTransaction", &args.to_string()).await;
        assert!(reply["result"].is_string(), "{reply}");
        world.settle().await;
    }
    world.clock.advance(20_000);
    let next = world.call("eth_feeHistory", "[1,\"latest\",[]]").await["result"]["baseFeePerGas"]
        [1]
    .clone();
    let last =
        world.call("eth_feeHistory", "[1,\"0x1\",[]]").await["result"]["baseFeePerGas"][1].clone();
    let number = |value: &Value| value.as_str().unwrap().parse::<U256>().unwrap();
    assert!(number(&next) < number(&last), "{next} {last}");
    let at = |price: &Value, block: &str| {
        json!([{"from": HELD, "to": HELD, "gas": "0x5208", "gasPrice": price}, block]).to_string()
    };
    assert_eq!(world.call("eth_call", &at(&next, "latest")).await["result"], "0x");
    assert_eq!(world.call("eth_call", &at(&next, "0x2")).await["result"], "0x");
    let low = json!(format!("{:#x}", number(&next) - U256::from(1)));
    let reply = world.call("eth_call", &at(&low, "latest")).await;
    assert!(error(&reply).contains(&format!("baseFee: {}", number(&next))), "{reply}");
    // An earlier block has its own.
    let reply = world.call("eth_call", &at(&next, "0x1")).await;
    assert!(error(&reply).contains("baseFee: 225000000000"), "{reply}");
    // BASEFEE answers the block's own at the tip, the next one's on top of it.
    let base_fee = "0x4860005260206000f3";
    let read = async |block: &str| {
        let params = json!([{"data": base_fee, "maxFeePerGas": "0x12309ce54000", "from": HELD, "gas": "0xfffff"}, block]);
        let reply = world.call("eth_call", &params.to_string()).await;
        number(&reply["result"])
    };
    assert_eq!((read("latest").await, read("pending").await), (number(&last), number(&next)));
}

#[tokio::test]
async fn overrides_reach_the_code() {
    let world = world();
    let code = Address::repeat_byte(0xaa);
    // Returns the slot of key 1, then the number of the block.
    let runtime = "0x60015460005243602052604060 00f3".replace(' ', "");
    let slot = format!("0x{:064x}", 1);
    let value = format!("0x{:064x}", 7);
    let overridden = json!([
        {"to": code},
        "latest",
        {(code.to_string()): {"code": runtime, "stateDiff": {(slot.clone()): value}}},
        {"number": "0x63"},
    ]);
    let reply = world.call("eth_call", &overridden.to_string()).await;
    assert_eq!(reply["result"], format!("0x{:064x}{:064x}", 7, 0x63));
    let both = json!([
        {"to": code},
        "latest",
        {(code.to_string()): {"state": {}, "stateDiff": {}}},
    ]);
    let reply = world.call("eth_call", &both.to_string()).await;
    assert_eq!(error(&reply), format!("account {code} has both 'state' and 'stateDiff'"));
    // A block without anything named is none, unlike no block.
    let reply = world.call("eth_call", "[{},{}]").await;
    assert_eq!(error(&reply), "invalid arguments; neither block nor hash specified");
    assert_eq!(world.call("eth_call", "[{},null]").await["result"], "0x");
}

#[tokio::test]
async fn access_lists_that_can_not_be_made() {
    let world = world();
    let reply = world.call("eth_createAccessList", "[{}]").await;
    assert_eq!(error(&reply), "contract creation without any data provided");
    let poor = Address::repeat_byte(1);
    let args = json!([{"from": poor, "to": HELD, "gas": "0x5208", "gasPrice": "0x34630b8a00", "nonce": "0x0"}]);
    let reply = world.call("eth_createAccessList", &args.to_string()).await;
    let hash = CallRequest {
        from: Some(poor),
        to: Some(HELD),
        gas: Some(21_000),
        gas_price: Some(U256::from(225_000_000_000_u64)),
        nonce: Some(0),
        chain_id: Some(43112),
        access_list: Some(Default::default()),
        ..CallRequest::default()
    }
    .unsigned_hash();
    let text = format!(
        "failed to apply transaction: {hash} err: insufficient funds for gas * price + value: address {poor} have 0 want 4725000000000000"
    );
    assert_eq!(error(&reply), text);
    // A revert has only its text.
    let args = json!([{"from": HELD, "data": "0x60006000fd"}]).to_string();
    let reply = world.call("eth_createAccessList", &args).await;
    assert_eq!(reply["result"]["error"], "execution reverted");
    assert_eq!(reply["result"]["accessList"], json!([]));
}
