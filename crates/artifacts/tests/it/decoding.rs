//! Calls, events and errors by their names, and bytes of which nothing is known.

use alloy_primitives::{B256, hex, keccak256};
use esker_artifacts::{Registry, compiled};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

use crate::support::{creation, find, fixtures, registry_of, safe_code, vault_code};

fn word(number: u64) -> Vec<u8> {
    [vec![0; 24], number.to_be_bytes().to_vec()].concat()
}

/// The length of a text, and the text.
fn text(text: &[u8]) -> Vec<u8> {
    let padding = vec![0; text.len().next_multiple_of(32) - text.len()];
    [word(text.len() as u64), text.to_vec(), padding].concat()
}

fn selector(signature: &str) -> Vec<u8> {
    keccak256(signature)[..4].to_vec()
}

#[test]
fn arguments_of_constructors() {
    let vault_data = |arguments: &[[u8; 32]]| creation("foundry/Vault.sol/Vault.json", arguments);
    let argument = |number: u64| word(number).try_into().unwrap();
    // Hardhat compiled the same source under another path.
    for tool in ["foundry", "hardhat"] {
        let registry = registry_of(&fixtures(tool));
        let found = find(&registry, &vault_code(1));
        let text = |data: &[u8]| registry.creation(found.as_ref(), data).map(|it| it.to_string());
        let data = vault_data(&[argument(5)]);
        assert_eq!(text(&data).as_deref(), Some("Vault.constructor(fee_: 5)"), "{tool}");
        let malformed =
            format!("Vault.constructor (malformed arguments, {} bytes)", data.len() - 32);
        assert_eq!(text(&vault_data(&[])), Some(malformed));
        // Another code before the arguments, and less than the code.
        let mut other = data.clone();
        other[3] ^= 1;
        for data in [&other[..], &data[..100], &[]] {
            assert_eq!(text(data), None);
        }
        assert_eq!(registry.creation(None, &data), None);
    }
    let registry = registry_of(&fixtures("vyper"));
    let found = find(&registry, &safe_code(1));
    let data = creation("vyper/Safe.json", &[argument(5), argument(7)]);
    let safe = "Safe.constructor(limit: 5, keeper: 0x0000000000000000000000000000000000000007)";
    assert_eq!(registry.creation(found.as_ref(), &data).unwrap().to_string(), safe);
}

#[test]
fn constructors_without_parameters_have_no_text() {
    let registry = registry_of(&fixtures("foundry"));
    let init = creation("foundry/Vault.sol/Fees.json", &[]);
    // The constructor of a library puts its address into the code.
    let runtime_start = init.windows(3).position(|bytes| bytes == [0x73, 0, 0]).unwrap();
    let mut code = init[runtime_start..].to_vec();
    code[1..21].fill(7);
    let found = find(&registry, &code);
    assert_eq!(&*found.as_ref().unwrap().label(), "Fees");
    assert_eq!(registry.creation(found.as_ref(), &init), None);
}

#[test]
fn calls_of_a_known_contract() {
    let registry = registry_of(&fixtures("foundry"));
    let found = find(&registry, &vault_code(1)).unwrap();
    let call =
        |parts: &[Vec<u8>]| registry.call(Some(&found), &parts.concat()).unwrap().to_string();
    let store = selector("store(uint256,string)");
    let note = "Vault.store(amount: 10, note: \"a\\u{1b}[2J \\\"b\\\"\")";
    assert_eq!(call(&[store.clone(), word(10), word(64), text(b"a\x1b[2J \"b\"")]), note);
    let order = [word(32), word(5), word(96), word(192), word(2), word(1), word(2), text(b"")];
    assert_eq!(
        call(&[selector("order((address,uint256[],string))"), order.concat()]),
        "Vault.order(given: (buyer: 0x0000000000000000000000000000000000000005, amounts: [1, 2], note: \"\"))"
    );
    assert_eq!(call(&[selector("keeper()")]), "Vault.keeper()");
    // Of another standard, malformed, unknown, without a function.
    assert_eq!(call(&[selector("owner()")]), "Vault.owner()");
    assert_eq!(call(&[store, word(10)]), "Vault.store (malformed arguments, 36 bytes)");
    let unknown = call(&[hex!("01020304").to_vec(), word(5)]);
    assert_eq!(unknown, "Vault.0x01020304 (unknown function, 36 bytes)");
    assert_eq!(call(&[vec![7]]), "Vault.0x07 (unknown function, 1 bytes)");
    assert_eq!(call(&[]), "Vault.receive()");
    assert_eq!(registry.call(None, &hex!("01020304")), None);
}

#[test]
fn events_and_errors() {
    let registry = registry_of(&fixtures("hardhat"));
    let found = find(&registry, &vault_code(1)).unwrap();
    let topics: Vec<B256> = vec![
        keccak256("Stored(address,uint256,string,string)"),
        B256::left_padding_from(&[9]),
        keccak256("tag"),
    ];
    let data = [word(7), word(64), text(b"tag")].concat();
    let event = registry.event(Some(&found), &topics, &data).unwrap();
    let tag = hex::encode_prefixed(keccak256("tag"));
    assert_eq!(
        event.to_string(),
        format!(
            "Vault.Stored(by: 0x0000000000000000000000000000000000000009, amount: 7, tag: {tag}, note: \"tag\")"
        )
    );
    assert_eq!(registry.event(Some(&found), &topics[..2], &data), None);
    assert_eq!(registry.event(Some(&found), &topics, &data[..64]), None);
    assert_eq!(registry.event(Some(&found), &[], &data), None);
    let unauthorized = selector("Unauthorized(address,string)");
    let error = [unauthorized, word(9), word(64), text(b"close")].concat();
    let error = registry.error(&error).unwrap();
    assert_eq!(
        error.to_string(),
        "Unauthorized(caller: 0x0000000000000000000000000000000000000009, action: \"close\")"
    );
    assert_eq!(
        error.without_names().to_string(),
        "Unauthorized(0x0000000000000000000000000000000000000009, \"close\")"
    );
    // The library's error is known although the vault does not declare it.
    let fee = [selector("FeeTooHigh(uint256,uint256)"), word(5), word(3)].concat();
    assert_eq!(registry.error(&fee).unwrap().to_string(), "FeeTooHigh(fee: 5, most: 3)");
}

#[test]
fn standards_are_known_without_artifacts() {
    let registry = Registry::default();
    let transfer = [hex!("a9059cbb").to_vec(), word(3), word(5)].concat();
    assert_eq!(
        registry.call(None, &transfer).unwrap().to_string(),
        "transfer(to: 0x0000000000000000000000000000000000000003, value: 5)"
    );
    // Bytes that the function's arguments can't be.
    let dirty = [hex!("a9059cbb").to_vec(), vec![1; 64]].concat();
    assert_eq!(registry.call(None, &dirty), None);
    assert_eq!(registry.call(None, &transfer[..40]), None);
    let topics: Vec<B256> = vec![
        keccak256("Transfer(address,address,uint256)"),
        B256::ZERO,
        B256::left_padding_from(&[1]),
        B256::left_padding_from(&[2]),
    ];
    let of = |topics: &[B256], data: &[u8]| {
        registry.event(None, topics, data).unwrap().arguments.unwrap()[2].clone()
    };
    assert_eq!((of(&topics, &[]).name, of(&topics, &[]).value), ("tokenId".into(), "2".into()));
    let erc20 = of(&topics[..3], &word(7));
    assert_eq!((erc20.name, erc20.value), ("value".into(), "7".into()));
}

/// An ABI whose function takes this type.
fn taking(ty: &str) -> Registry {
    let abi = json!([{"type": "function", "name": "f", "inputs": [{"name": "a", "type": ty}]}]);
    let output = json!({"contracts": {"a": {"A": {"abi": abi}}}}).to_string();
    let registry = Registry::default();
    registry.add(compiled(&output).unwrap());
    registry
}

#[test]
fn values_that_refer_to_themselves_end() {
    // Each element of a list is the same next list: as values these would be 100^8 numbers.
    let ty = format!("uint256{}", "[]".repeat(8));
    let registry = taking(&ty);
    let count = 100_u64;
    let list = [word(count), word(count * 32).repeat(100)].concat().repeat(8);
    let data = [selector(&format!("f({ty})")), word(32), list].concat();
    let text = registry.call(None, &data).unwrap().to_string();
    assert!(text.starts_with("f(a: [[[[[[[[3200, 3200, ") && text.ends_with("...)"), "{text}");
    assert!(text.len() < 3000, "{text}");
    // A length that the data does not have, elements of no size, and one that is longer than the text.
    for (ty, words) in [
        ("uint256[]", vec![word(32), word(1 << 40)]),
        ("uint256[0][]", vec![word(32), word(1 << 60)]),
        ("uint256[18446744073709551615]", vec![word(32)]),
        ("uint256[1000]", (0..1000).map(word).collect()),
    ] {
        let data = [selector(&format!("f({ty})")), words.concat()].concat();
        let text = taking(ty).call(None, &data).map(|call| call.to_string());
        assert!(
            text.as_ref().is_none_or(|text| text.len() < 3000 && text.ends_with("...)")),
            "{ty}: {text:?}"
        );
    }
}

fn types() -> impl Strategy<Value = String> {
    let base = prop_oneof![
        Just("uint256"),
        Just("int8"),
        Just("address"),
        Just("bool"),
        Just("bytes"),
        Just("string"),
        Just("bytes4"),
    ];
    let arrays = vec(prop_oneof![Just("[]"), Just("[3]"), Just("[0]")], 0..4);
    (base, arrays).prop_map(|(base, arrays)| format!("{base}{}", arrays.concat()))
}

proptest! {
    #[test]
    fn any_bytes_have_a_text_of_bounded_length_or_none(
        ty in types(),
        words in vec(prop_oneof![0_u64..200, any::<u64>()], 0..40),
        rest in vec(any::<u8>(), 0..40),
    ) {
        let registry = taking(&ty);
        let words = words.into_iter().flat_map(word).collect::<Vec<_>>();
        let data = [selector(&format!("f({ty})")), words, rest].concat();
        if let Some(call) = registry.call(None, &data) {
            let text = call.to_string();
            prop_assert!(text.len() < 3000 && !text.chars().any(char::is_control), "{text}");
        }
        let topics: Vec<B256> = data.chunks_exact(32).take(4).map(B256::from_slice).collect();
        let _any = registry.event(None, &topics, &data);
        let _any = registry.error(&data);
    }

    #[test]
    fn any_text_is_an_artifact_or_an_error(text in ".{0,200}") {
        let _any = compiled(&text);
        let abi = json!([{"type": text, "name": text, "inputs": [{"name": text, "type": text}]}]);
        let code = json!({"deployedBytecode": {"object": text}});
        let output = json!({"contracts": {text.clone(): {text: {"abi": abi, "evm": code}}}});
        let _any = compiled(&output.to_string());
    }
}
