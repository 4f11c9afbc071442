//! Transactions whose costs no balance pays, some beyond 256 bits.

use alloy_consensus::{TxLegacy, TypedTransaction};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, Bytes, TxKind, U256, U512, address, hex, keccak256};
use alloy_rlp::{Encodable, Header};
use esker_evm::accounts::{AccountManager, KeyRing, WELL_KNOWN_KEY, sign_transaction};
use esker_evm_rpc::evm::TransactConfig;
use serde_json::json;

use super::world::World;

const HELD: Address = address!("0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc");
const PRICE: u128 = 300_000_000_000;
const GAS: u64 = 21_000;

fn list(elements: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Header { list: true, payload_length: elements.len() }.encode(&mut out);
    [out.as_slice(), elements].concat()
}

/// A signed transfer of a value that the chain's own transactions have no room for.
fn signed(keys: &KeyRing, nonce: u64, gas: u64, value: &[u8]) -> Vec<u8> {
    let mut elements = Vec::new();
    let fields: [&dyn Encodable; 6] = [&nonce, &PRICE, &gas, &HELD, &value, &Bytes::new()];
    fields.iter().for_each(|field| field.encode(&mut elements));
    let mut unsigned = elements.clone();
    43112u64.encode(&mut unsigned);
    unsigned.extend([0x80, 0x80]);
    let signature = keys.sign_hash(&HELD, &keccak256(list(&unsigned))).unwrap();
    (43112 * 2 + 35 + u64::from(signature.v())).encode(&mut elements);
    signature.r().encode(&mut elements);
    signature.s().encode(&mut elements);
    list(&elements)
}

#[tokio::test]
async fn the_cost_is_shown_in_full() {
    let world = World::new(TransactConfig::default(), false);
    let keys = KeyRing::new([WELL_KNOWN_KEY.as_slice()]).unwrap();
    let send = async |raw: &[u8]| {
        let reply = world
            .call("eth_sendRawTransaction", &json!([hex::encode_prefixed(raw)]).to_string())
            .await;
        reply["error"]["message"].as_str().unwrap_or_else(|| panic!("{reply}")).to_owned()
    };
    let balance = world.call("eth_getBalance", &json!([HELD, "latest"]).to_string()).await;
    let balance: U256 = balance["result"].as_str().unwrap().parse().unwrap();
    let refused = |value: U512| {
        let cost = value + U512::from(PRICE) * U512::from(GAS);
        let overshot = cost - U512::from(balance);
        format!(
            "insufficient funds for gas * price + value: balance {balance}, tx cost {cost}, overshot {overshot}"
        )
    };
    // A value of 256 bits, and a fee beside it.
    let tx = TxLegacy {
        chain_id: Some(43112),
        nonce: 0,
        gas_price: PRICE,
        gas_limit: GAS,
        to: TxKind::Call(HELD),
        value: U256::MAX,
        input: Bytes::new(),
    };
    let known = sign_transaction(&keys, &HELD, TypedTransaction::Legacy(tx)).unwrap();
    assert_eq!(send(&known.encoded_2718()).await, refused(U512::from(U256::MAX)));
    // It is signed as any other.
    let same = signed(&keys, 0, GAS, &U256::MAX.to_be_bytes::<32>());
    assert_eq!(same, known.encoded_2718());
    for bytes in [33, 40, 64] {
        let value = vec![0x7f; bytes];
        let text = send(&signed(&keys, 0, GAS, &value)).await;
        assert_eq!(text, refused(U512::from_be_slice(&value)), "{bytes} bytes");
    }
    // The rules that are checked before the funds come first.
    let large = vec![0x7f; 33];
    let text = send(&signed(&keys, 0, GAS - 1, &large)).await;
    assert!(text.starts_with(&format!("intrinsic gas too low: address {HELD}")), "{text}");
    let text = send(&signed(&keys, 0, 1 << 40, &large)).await;
    assert!(text.starts_with("tx fee ("), "{text}");
    let mut foreign = signed(&keys, 0, GAS, &large);
    let last = foreign.len() - 40;
    foreign[last] ^= 1;
    let text = send(&foreign).await;
    assert_ne!(text, refused(U512::from_be_slice(&large)));
    let text = send(&signed(&keys, 0, GAS, &[0x7f; 65])).await;
    assert_eq!(text, "value higher than 2^256-1");
}
