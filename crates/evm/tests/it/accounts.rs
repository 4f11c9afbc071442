//! Accounts of the node, and their signatures.

use alloy_primitives::{Address, B256, U256, address, b256, hex, keccak256};
use esker_evm::accounts::{
    AccountError, AccountManager, KeyRing, NoAccounts, TypedData, WELL_KNOWN_KEY, sign_transaction,
    text_hash,
};
use proptest::prelude::*;
use serde_json::{Value, json};

const WELL_KNOWN: Address = address!("0x8db97c7cece249c2b98bdc0226cc4c2a57bf52fc");

/// A few accounts; the account of the well-known key is the first.
fn ring() -> KeyRing {
    let few = [[1; 32], [2; 32], [3; 32]];
    let keys = [WELL_KNOWN_KEY.as_slice()].into_iter().chain(few.iter().map(|key| key.as_slice()));
    KeyRing::new(keys).unwrap()
}

#[test]
fn accounts_are_those_of_the_keys_in_their_order() {
    let expected = [
        WELL_KNOWN,
        address!("0x1a642f0E3c3aF545E7AcBD38b07251B3990914F1"),
        address!("0x5050A4F4b3f9338C3472dcC01A87C76A144b3c9c"),
        address!("0x3325A78425F17a7E487Eb5666b2bFd93aBB06c70"),
    ];
    assert_eq!(ring().accounts(), expected);
}

#[test]
fn texts_are_signed_as_the_reference_signs_them() {
    let ring = ring();
    let hash = text_hash(b"hello");
    assert_eq!(hash, b256!("0x50b2c43fd39106bafbba0da34fc430e1f91e3c96ea2acee2bc34119f92b37750"));
    let signature = ring.sign_hash(&WELL_KNOWN, &hash).unwrap();
    // personal-1.io of the recorded exchanges.
    let expected = "820ac0fcc2edb60a46ed68bf969baa7560917dfe04a6c56e9ba7ced7f53d898963fa702578f837dbc2bb66e966513280eb889b5d7ee1e1786fceaa7ccd7f84de1b";
    assert_eq!(hex::encode(signature.as_bytes()), expected);
    assert_eq!(signature.recover_address_from_prehash(&hash).unwrap(), WELL_KNOWN);
}

#[test]
fn unknown_accounts_do_not_sign() {
    let unknown = Address::repeat_byte(7);
    assert_eq!(ring().sign_hash(&unknown, &B256::ZERO), Err(AccountError::Unknown));
    assert_eq!(NoAccounts.sign_hash(&WELL_KNOWN, &B256::ZERO), Err(AccountError::Unknown));
    assert!(!NoAccounts.holds(&WELL_KNOWN) && ring().holds(&WELL_KNOWN));
    assert!(KeyRing::new([[0; 32].as_slice()]).is_err());
    // A key given twice is one account.
    assert_eq!(KeyRing::new([[1; 32].as_slice(), &[1; 32]]).unwrap().accounts().len(), 1);
}

#[test]
fn transactions_are_signed_as_the_reference_signs_them() {
    use alloy_consensus::{TxLegacy, TypedTransaction};
    use alloy_eips::eip2718::Encodable2718;
    let tx = TxLegacy {
        chain_id: Some(43112),
        nonce: 1,
        gas_price: 0x1230_9ce5_4000,
        gas_limit: 21_000,
        to: address!("0x1563915e194d8cfba1943570603f7606a3115508").into(),
        value: U256::from(5),
        input: Default::default(),
    };
    let signed = sign_transaction(&ring(), &WELL_KNOWN, TypedTransaction::Legacy(tx));
    // accounts-1.io of the recorded exchanges.
    let raw = "f868018612309ce54000825208941563915e194d8cfba1943570603f7606a31155080580830150f3a04fe2dcbb59d7b361172f860730c6af4fa37dcdd00d28a3a730d037abf4302168a052cdbc9d378631cf7566cc8e6d7e4ddb4628b4306372c0a51ab3a55c4c7b54d1";
    assert_eq!(hex::encode(signed.unwrap().encoded_2718()), raw);
}

/// The example of EIP-712.
fn mail() -> Value {
    json!({
        "types": {
            "EIP712Domain": [
                {"name": "name", "type": "string"},
                {"name": "version", "type": "string"},
                {"name": "chainId", "type": "uint256"},
                {"name": "verifyingContract", "type": "address"},
            ],
            "Person": [{"name": "name", "type": "string"}, {"name": "wallet", "type": "address"}],
            "Mail": [
                {"name": "from", "type": "Person"},
                {"name": "to", "type": "Person"},
                {"name": "contents", "type": "string"},
            ],
        },
        "primaryType": "Mail",
        "domain": {
            "name": "Ether Mail",
            "version": "1",
            "chainId": 1,
            "verifyingContract": "0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC",
        },
        "message": {
            "from": {"name": "Cow", "wallet": "0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826"},
            "to": {"name": "Bob", "wallet": "0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB"},
            "contents": "Hello, Bob!",
        },
    })
}

#[test]
fn typed_data_hashes_as_its_standard_says() {
    let data = TypedData::parse(mail().to_string().as_bytes()).unwrap();
    let hash = data.signing_hash().unwrap();
    assert_eq!(hash, b256!("0xbe609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2"));
    let key = keccak256("cow");
    let ring = KeyRing::new([key.as_slice()]).unwrap();
    let cow = address!("0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826");
    let signature = ring.sign_hash(&cow, &hash).unwrap();
    let expected = "4355c47d63924e8a72e509b65029052eb6c299d53a04e167c5775fd466751c9d07299936d304c153f6443dfa05f40ff007d72911b6f72307f996231605b915621c";
    assert_eq!(hex::encode(signature.as_bytes()), expected);
}

#[test]
fn typed_data_without_sense_is_refused() {
    let fault = |data: Value| {
        let parsed = TypedData::parse(data.to_string().as_bytes());
        parsed.and_then(|data| data.signing_hash()).unwrap_err().to_string()
    };
    let change = |pointer: &str, value: Value| {
        let mut data = mail();
        *data.pointer_mut(pointer).unwrap() = value;
        data
    };
    let long = "x".repeat(1 << 20);
    let text = fault(change("/message/contents", json!(long)));
    assert!(text.ends_with(" bytes, at most 1048576"), "{text}");
    assert!(fault(json!(5)).starts_with("invalid typed data: "));
    assert!(fault(json!({})).starts_with("invalid typed data: "));
    assert!(fault(change("/primaryType", json!("None"))).starts_with("invalid typed data: "));
    assert!(fault(change("/message/to", json!("Bob"))).starts_with("invalid typed data: "));
    // Types that double: they are small, but endless when written out.
    let mut doubling = mail();
    for n in 0..40 {
        let next = format!("T{}", n + 1);
        doubling["types"][format!("T{n}")] =
            json!([{"name": "a", "type": next}, {"name": "b", "type": next}]);
    }
    doubling["types"]["T40"] = json!([{"name": "x", "type": "bool"}]);
    assert!(fault(doubling).contains("at all depths"));
    // A circle in a tuple, or after a space.
    for hidden in ["(Mail)", "tuple(Mail,bool)[]", "Mail []"] {
        let circle = json!([{"name": "mail", "type": hidden}]);
        assert!(fault(change("/types/Person", circle)).starts_with("invalid typed data: "));
    }
    // Types that hold each other.
    let circle = json!([{"name": "mail", "type": "Mail"}]);
    assert!(fault(change("/types/Person", circle)).starts_with("invalid typed data: "));
    let many: Vec<_> =
        (0..300).map(|i| json!({"name": format!("n{i}"), "type": "uint8"})).collect();
    let text = "invalid typed data: more than 256 types, members of a type or nested lists";
    assert_eq!(fault(change("/types/Person", json!(many))), text);
    let deep = json!([{"name": "name", "type": format!("string{}", "[]".repeat(100_000))}]);
    assert_eq!(fault(change("/types/Person", deep)), text);
}

proptest! {
    #[test]
    fn signatures_name_their_account(text: Vec<u8>, index in 0usize..4) {
        let ring = ring();
        let account = ring.accounts()[index];
        let hash = text_hash(&text);
        let signature = ring.sign_hash(&account, &hash).unwrap();
        prop_assert_eq!(signature.recover_address_from_prehash(&hash).unwrap(), account);
        prop_assert!(signature.normalize_s().is_none());
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
        let _ = TypedData::parse(&bytes).and_then(|data| data.signing_hash());
    }

    #[test]
    fn any_member_may_have_any_type(name in "[a-zA-Z0-9\\[\\]]{0,12}", value in prop_oneof![
        Just(json!(null)), Just(json!("0x")), Just(json!(-1)), Just(json!([])), Just(json!({})),
    ]) {
        let mut data = mail();
        data["types"]["Mail"][2]["type"] = json!(name);
        data["message"]["contents"] = value;
        let _ = TypedData::parse(data.to_string().as_bytes()).and_then(|data| data.signing_hash());
    }
}
