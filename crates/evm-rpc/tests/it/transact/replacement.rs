//! Defaults of transactions that replace one of an account of the node.

use alloy_primitives::{Address, address};
use esker_evm_rpc::evm::TransactConfig;
use serde_json::{Value, json};

use super::world::World;

const HELD: Address = address!("0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc");

fn world() -> World {
    World::new(TransactConfig::default(), false)
}

/// The transaction that waits after a send, or the error's text.
async fn send(world: &World, fees: &[(&str, u64)]) -> Result<Value, String> {
    let mut args =
        json!({"from": HELD, "to": Address::repeat_byte(2), "gas": "0x5208", "nonce": "0x0"});
    for (name, wei) in fees {
        args[name] = json!(format!("{wei:#x}"));
    }
    let reply = world.call("eth_sendTransaction", &json!([args]).to_string()).await;
    if let Some(error) = reply["error"]["message"].as_str() {
        return Err(error.to_owned());
    }
    let found = json!([reply["result"]]).to_string();
    Ok(world.call("eth_getTransactionByHash", &found).await["result"].clone())
}

fn fees(tx: &Value) -> (u64, u64) {
    let number = |name: &str| {
        let text = tx[name].as_str().unwrap_or_else(|| panic!("{tx}"));
        u64::from_str_radix(&text[2..], 16).unwrap()
    };
    (number("maxFeePerGas"), number("maxPriorityFeePerGas"))
}

#[tokio::test]
async fn a_higher_cap_is_enough() {
    let world = world();
    let (cap, tip) = fees(&send(&world, &[]).await.unwrap());
    let doubled = send(&world, &[("maxFeePerGas", 2 * cap)]).await.unwrap();
    assert_eq!(fees(&doubled), (2 * cap, (tip * 11 / 10).max(tip + 1)));
    let (next_cap, next_tip) = fees(&doubled);
    // One that names no fee comes from a sender that counted to the same nonce: it replaces nothing.
    let underpriced = Err("replacement transaction underpriced".to_owned());
    assert_eq!(send(&world, &[]).await, underpriced);
    // A given value counts, whether it is enough or not.
    assert_eq!(send(&world, &[("maxFeePerGas", next_cap + 1)]).await, underpriced);
    let same_tip = [("maxFeePerGas", 2 * next_cap), ("maxPriorityFeePerGas", next_tip)];
    assert_eq!(send(&world, &same_tip).await, underpriced);
    assert_eq!(send(&world, &[("gasPrice", next_cap + 1)]).await, underpriced);
    let legacy = send(&world, &[("gasPrice", 2 * next_cap)]).await.unwrap();
    assert_eq!(legacy["type"], "0x0");
    // A price is both: the tip rises as far as the cap allows.
    let (price, _) = fees(&send(&world, &[("maxFeePerGas", 4 * next_cap)]).await.unwrap());
    assert_eq!(price, 4 * next_cap);
    assert_eq!(world.call("txpool_status", "[]").await["result"]["pending"], "0x1");
}

#[tokio::test]
async fn what_is_filled_in_replaces_as_well() {
    let world = world();
    let (cap, tip) = fees(&send(&world, &[]).await.unwrap());
    let fill = |nonce: &str, from: Address| {
        let doubled = format!("{:#x}", 2 * cap);
        let args = json!([{"from": from, "to": HELD, "gas": "0x5208", "nonce": nonce, "maxFeePerGas": doubled}]);
        let world = &world;
        async move { world.call("eth_fillTransaction", &args.to_string()).await["result"].clone() }
    };
    let (_, filled) = fees(&fill("0x0", HELD).await["tx"]);
    assert!(filled > tip, "{filled}");
    // Nothing waits with the next nonce.
    assert_eq!(fees(&fill("0x1", HELD).await["tx"]).1, tip);
    // A transaction that is to be resent is the one that waits, whose caps stay.
    let args = json!([
        {"from": HELD, "to": Address::repeat_byte(2), "gas": "0x5208", "nonce": "0x0"},
        "0xba43b7400",
    ]);
    let resent = world.call("eth_resend", &args.to_string()).await;
    assert_eq!(resent["error"]["message"], "already known", "{resent}");
}
