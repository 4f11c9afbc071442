//! Signatures of the node for its accounts.

use alloy_primitives::{Address, Signature, address, hex};
use esker_evm::accounts::text_hash;
use esker_evm_rpc::evm::TransactConfig;
use serde_json::{Value, json};

use super::world::World;

const HELD: Address = address!("0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc");

fn world() -> World {
    World::new(TransactConfig::default(), false)
}

fn signature(reply: &Value) -> Signature {
    let text = reply["result"].as_str().unwrap_or_else(|| panic!("{reply}"));
    Signature::from_raw(&hex::decode(text).unwrap()).unwrap()
}

#[tokio::test]
async fn texts_and_typed_data() {
    let world = world();
    assert_eq!(world.call("eth_accounts", "[]").await["result"], json!([HELD]));
    let reply = world.call("eth_sign", &format!("[\"{HELD}\",\"0x68656c6c6f\"]")).await;
    assert_eq!(
        reply["result"],
        "0x820ac0fcc2edb60a46ed68bf969baa7560917dfe04a6c56e9ba7ced7f53d898963fa702578f837dbc2bb66e966513280eb889b5d7ee1e1786fceaa7ccd7f84de1b",
    );
    // The same text the other way round; no account here has a password.
    for params in [
        json!(["0x68656c6c6f", HELD]),
        json!(["0x68656c6c6f", HELD, "any"]),
        json!(["0x68656c6c6f", HELD, null]),
    ] {
        let signed = world.call("personal_sign", &params.to_string()).await;
        assert_eq!(signed["result"], reply["result"]);
    }
    assert_eq!(world.call("eth_requestAccounts", "[]").await["result"], json!([HELD]));
    let signer = signature(&reply).recover_address_from_prehash(&text_hash(b"hello")).unwrap();
    assert_eq!(signer, HELD);

    let data = json!({
        "types": {
            "EIP712Domain": [{"name": "chainId", "type": "uint256"}],
            "Note": [{"name": "text", "type": "string"}, {"name": "tags", "type": "bytes32[]"}],
        },
        "primaryType": "Note",
        "domain": {"chainId": "0xa868"},
        "message": {"text": "hi", "tags": []},
    });
    let as_object = world.call("eth_signTypedData_v4", &json!([HELD, data]).to_string()).await;
    let as_text = json!([HELD, data.to_string()]).to_string();
    let as_text = world.call("evm_signTypedData_v4", &as_text).await;
    assert_eq!(signature(&as_object), signature(&as_text));
}

#[tokio::test]
async fn what_is_not_signed() {
    let world = world();
    let check = async |method: &str, params: Value, code: i64, text: &str| {
        let reply = world.call(method, &params.to_string()).await;
        assert_eq!(reply["error"], json!({"code": code, "message": text}), "{method}{params}");
    };
    let other = Address::repeat_byte(1);
    check("eth_sign", json!([other, "0x"]), -32000, "unknown account").await;
    check("personal_sign", json!(["0x", other, "any"]), -32000, "unknown account").await;
    let swapped = "invalid argument 1: hex string has length 4, want 40 for common.Address";
    check("personal_sign", json!([HELD, "0x1234"]), -32602, swapped).await;
    let text = "invalid argument 0: json: cannot unmarshal hex string without 0x prefix into Go value of type hexutil.Bytes";
    check("personal_sign", json!(["hello", HELD]), -32602, text).await;
    check("eth_requestAccounts", json!([1]), -32602, "too many arguments, want at most 0").await;
    // An unknown account is refused before the data are looked at.
    check("eth_signTypedData_v4", json!([other, {}]), -32000, "unknown account").await;
    let wanted = "invalid argument 1: json: cannot unmarshal number into Go value of type apitypes.TypedData";
    check("eth_signTypedData_v4", json!([HELD, 5]), -32602, wanted).await;
    let reply = world.call("eth_signTypedData_v4", &json!([HELD, {}]).to_string()).await;
    assert!(reply["error"]["message"].as_str().unwrap().starts_with("invalid typed data: "));

    let blob = json!([{"from": HELD, "to": other, "gas": "0x5208", "gasPrice": "0x1", "nonce": "0x0", "blobVersionedHashes": [format!("0x{}", "01".repeat(32))]}]);
    let text = "signing blob transactions not supported";
    check("eth_signTransaction", blob.clone(), -32000, text).await;
    check("eth_sendTransaction", blob, -32000, text).await;
    let sidecar = json!([{"from": HELD, "to": other, "blobs": ["0x00"]}]);
    let text = "\"blobs\" is not supported for this RPC method";
    check("eth_fillTransaction", sidecar, -32000, text).await;
    let huge = format!("0x{}", "ff".repeat(32));
    let huge = json!([{"from": HELD, "to": other, "gas": "0x5208", "gasPrice": huge}]);
    let text = "tx fee (2431633873983639973142590050580682732348104564503710242781003776.00 ether) exceeds the configured cap (100.00 ether)";
    check("eth_sendTransaction", huge, -32000, text).await;
}

#[tokio::test]
async fn transactions_made_at_once_get_different_nonces() {
    let world = world();
    let args = json!([{"from": HELD, "to": Address::repeat_byte(2), "value": "0x1"}]).to_string();
    let send = || world.call("eth_sendTransaction", &args);
    let sent = tokio::join!(send(), send(), send(), send());
    let mut hashes: Vec<String> = [sent.0, sent.1, sent.2, sent.3]
        .iter()
        .map(|reply| reply["result"].as_str().unwrap_or_else(|| panic!("{reply}")).to_owned())
        .collect();
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), 4);
    world.settle().await;
    let params = format!("[\"{}\",\"latest\"]", Address::repeat_byte(2));
    assert_eq!(world.call("eth_getBalance", &params).await["result"], "0x4");
}

#[tokio::test]
async fn prices_of_the_node_are_taken_while_the_base_fee_falls() {
    let world = world();
    let to = Address::repeat_byte(2);
    for _ in 0..3 {
        let price = world.call("eth_gasPrice", "[]").await["result"].clone();
        let args = json!([{"from": HELD, "to": to, "value": "0x1", "gasPrice": price}]).to_string();
        assert_eq!(world.call("eth_estimateGas", &args).await["result"], "0x5208");
        let reply = world.call("eth_sendTransaction", &args).await;
        assert!(reply["result"].is_string(), "{reply}");
        world.settle().await;
        world.clock.advance(20_000);
    }
    assert!(world.now_s() > 0);
}
