//! Differences on a development network, for the tools that are made for it.

use alloy_primitives::{Address, B256, address};
use esker_evm_rpc::evm::TransactConfig;
use serde_json::{Value, json};

use super::world::World;

const HELD: Address = address!("0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc");

/// Init code that reverts without data.
const SILENT: &str = "0x5f5ffd";
/// Init code that reverts with the word 7.
const TALKING: &str = "0x60075f5260205ffd";

fn exact() -> World {
    World::new(TransactConfig::default(), false)
}

async fn error(world: &World, method: &str, params: &Value) -> Value {
    let reply = world.call(method, &params.to_string()).await;
    reply.get("error").unwrap_or_else(|| panic!("{method}{params}: {reply}")).clone()
}

#[tokio::test]
async fn every_revert_has_a_code_and_data() {
    let (world, exact) = (World::development(), exact());
    let talking = json!({
        "code": 3, "message": "execution reverted", "data": format!("0x{:064x}", 7),
    });
    let silent = json!({"code": 3, "message": "execution reverted", "data": "0x"});
    let plain = json!({"code": -32000, "message": "execution reverted"});
    let methods = ["eth_call", "eth_estimateGas", "eth_sendTransaction", "eth_fillTransaction"];
    for method in methods {
        let params = |code: &str| json!([{"from": HELD, "data": code}]);
        assert_eq!(error(&world, method, &params(SILENT)).await, silent, "{method}");
        assert_eq!(error(&world, method, &params(TALKING)).await, talking, "{method}");
        assert_eq!(error(&exact, method, &params(SILENT)).await, plain, "{method}");
        assert_eq!(error(&exact, method, &params(TALKING)).await, talking, "{method}");
    }
    let method = "eth_createAccessList";
    let params = |code: &str| json!([{"from": HELD, "data": code}]);
    assert_eq!(error(&world, method, &params(SILENT)).await, silent);
    assert_eq!(error(&world, method, &params(TALKING)).await, talking);
    let reply = exact.call(method, &params(SILENT).to_string()).await;
    assert_eq!(reply["result"]["error"], "execution reverted", "{reply}");
    // Code that fails otherwise has no data on any network.
    let stopped = json!([{"from": HELD, "data": "0xfe"}, "latest"]);
    for world in [&world, &exact] {
        let error = error(world, "eth_call", &stopped).await;
        assert_eq!((&error["code"], error.get("data")), (&json!(-32000), None), "{error}");
    }
    // As a reason is decoded for a call, so it is for a list.
    let reason = "0x08c379a0".to_owned() + &format!("{:064x}{:064x}{:0<64}", 0x20, 2, "6e6f");
    let code = format!("0x60{:02x}600a5f3960{:02x}5ffd{}", 100, 100, &reason[2..]);
    let lists = error(&world, method, &json!([{"from": HELD, "data": code}])).await;
    let calls = error(&world, "eth_call", &json!([{"from": HELD, "data": code}])).await;
    assert_eq!(calls["message"], "execution reverted: no", "{calls}");
    assert_eq!(lists, calls);
}

#[tokio::test]
async fn an_access_list_without_a_sender_costs_nobody() {
    let (world, exact) = (World::development(), exact());
    let ask = json!([{"to": HELD}]);
    let reply = world.call("eth_createAccessList", &ask.to_string()).await;
    assert_eq!(reply["result"], json!({"accessList": [], "gasUsed": "0x5208"}));
    // A price has to be paid, and a code has to be there.
    for (args, text) in [
        (json!([{"to": HELD, "gasPrice": "0x746a528800"}]), "insufficient funds"),
        (json!([{}]), "contract creation without any data provided"),
    ] {
        let error = error(&world, "eth_createAccessList", &args).await;
        assert!(error["message"].as_str().unwrap().contains(text), "{error}");
    }
    let error = error(&exact, "eth_createAccessList", &ask).await;
    assert!(error["message"].as_str().unwrap().contains("insufficient funds"), "{error}");
}

#[tokio::test]
async fn a_null_block_is_the_last_one() {
    let (world, exact) = (World::development(), exact());
    let slot = format!("{:#x}", B256::ZERO);
    let cases = [
        ("eth_getBalance", json!([HELD])),
        ("eth_getTransactionCount", json!([HELD])),
        ("eth_getCode", json!([HELD])),
        ("eth_getStorageAt", json!([HELD, slot])),
        ("eth_getProof", json!([HELD, []])),
        ("eth_call", json!([{"to": HELD}])),
        ("eth_estimateGas", json!([{"to": HELD}])),
        ("evm_callDetailed", json!([{"to": HELD}])),
    ];
    let with = |params: &Value, block: Value| {
        let mut params = params.as_array().unwrap().clone();
        params.push(block);
        Value::from(params)
    };
    for (method, params) in cases {
        let latest = world.call(method, &with(&params, json!("latest")).to_string()).await;
        let null = world.call(method, &with(&params, Value::Null).to_string()).await;
        assert!(latest.get("result").is_some(), "{method}: {latest}");
        assert_eq!(null, latest, "{method}");
        // An object that names no block names none.
        let none = error(&world, method, &with(&params, json!({}))).await;
        assert_eq!(none["code"], -32000, "{method}");
        if !matches!(method, "eth_call" | "eth_estimateGas") {
            let refused = error(&exact, method, &with(&params, Value::Null)).await;
            let text = refused["message"].as_str().unwrap();
            assert!(text.contains("specified") || text.contains("provided"), "{method}: {text}");
        }
    }
}

#[tokio::test]
async fn without_a_sender_the_first_account_sends() {
    let (world, exact) = (World::development(), exact());
    let args = json!([{"to": Address::repeat_byte(2), "value": "0x1"}]);
    let sent = world.call("eth_sendTransaction", &args.to_string()).await;
    let sent = world.call("eth_getTransactionByHash", &json!([sent["result"]]).to_string()).await;
    assert_eq!(sent["result"]["from"], json!(HELD), "{sent}");
    let filled = world.call("eth_fillTransaction", &args.to_string()).await;
    assert_eq!(filled["result"]["tx"]["nonce"], "0x1", "{filled}");
    let complete = json!([{
        "to": HELD, "gas": "0x5208", "gasPrice": "0x6fc23ac00", "nonce": "0x1", "value": "0x1",
    }]);
    let signed = world.call("eth_signTransaction", &complete.to_string()).await;
    let raw = json!([signed["result"]["raw"]]).to_string();
    let hash = world.call("eth_sendRawTransaction", &raw).await;
    let signed = world.call("eth_getTransactionByHash", &json!([hash["result"]]).to_string()).await;
    assert_eq!(signed["result"]["from"], json!(HELD), "{signed}");
    for method in ["eth_sendTransaction", "eth_signTransaction"] {
        let refused = error(&exact, method, &complete).await;
        assert_eq!(refused["message"], "unknown account", "{method}");
    }
}

#[tokio::test]
async fn transactions_that_set_code_are_not_made() {
    let world = World::development();
    let given = [
        json!([]),
        json!([{"chainId": "0xa868", "address": HELD, "nonce": "0x0", "yParity": "0x0", "r": "0x1", "s": "0x1"}]),
        json!("any"),
    ];
    let methods =
        ["eth_fillTransaction", "eth_sendTransaction", "eth_signTransaction", "eth_resend"];
    for list in given {
        let args = json!([{
            "from": HELD, "to": HELD, "gas": "0x5208", "gasPrice": "0x6fc23ac00", "nonce": "0x0",
            "authorizationList": list,
        }]);
        for method in methods {
            let refused = error(&world, method, &args).await;
            assert_eq!(
                refused["message"],
                "\"authorizationList\" is not supported: this chain has no set-code transactions (EIP-7702)",
                "{method}"
            );
        }
    }
    let null = json!([{"from": HELD, "to": HELD, "authorizationList": null}]);
    let filled = world.call("eth_fillTransaction", &null.to_string()).await;
    assert!(filled["result"]["raw"].is_string(), "{filled}");
}
