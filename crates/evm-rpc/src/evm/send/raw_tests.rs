//! Decoding signed transactions: Go's texts, and the same transactions as another decoder finds.

use alloy_consensus::{Signed, TxEip1559, TxEip2930, TxLegacy};
use alloy_eips::eip2718::{Decodable2718, Encodable2718};
use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_primitives::{Address, B256, Bytes, Signature, TxKind, U256, hex};
use esker_evm_state::types::Transaction;
use proptest::prelude::*;

use super::decode_transaction;
use super::raw::RawTx;

fn text(bytes: &[u8]) -> String {
    decode_transaction(bytes).map_or_else(|error| error.to_string(), |_| "fine".to_owned())
}

fn check(hex_text: &str, expected: &str) {
    assert_eq!(text(&hex::decode(hex_text).unwrap()), expected, "{hex_text}");
}

/// An encoded list of these encoded fields.
fn list(fields: &[&str]) -> String {
    let payload = hex::decode(fields.concat()).unwrap();
    let mut out = Vec::new();
    alloy_rlp::Header { list: true, payload_length: payload.len() }.encode(&mut out);
    out.extend(payload);
    hex::encode(out)
}

const TO: &str = "941563915e194d8cfba1943570603f7606a3115508";

#[test]
fn decode_errors_have_gos_texts() {
    // send-errors-1.io of the recorded exchanges.
    for short in ["", "00", "01", "02", "03", "7f"] {
        check(short, "typed transaction too short");
    }
    check("05c0", "transaction type not supported");
    check("03c0", "unexpected EOF");
    check("80", "rlp: expected input list for types.LegacyTx");
    check("c0", "rlp: too few elements for types.LegacyTx");
    check("c101", "rlp: too few elements for types.LegacyTx");
    check("f8", "rlp: value size exceeds available input length");
    check("deadbeef", "rlp: value size exceeds available input length");
    check("01c0", "rlp: too few elements for types.AccessListTx");
    check("02c0", "rlp: too few elements for types.DynamicFeeTx");
    check("f800", "rlp: non-canonical size information for types.LegacyTx");
}

#[test]
fn fields_are_named() {
    let legacy = |at: usize, field: &str| {
        let mut fields = ["01", "02", "03", TO, "80", "80", "1b", "01", "01"];
        fields[at] = field;
        text(&hex::decode(list(&fields)).unwrap())
    };
    let fault = |what: &str, of: &str, field: &str| {
        format!("rlp: {what} for {of}, decoding into (types.LegacyTx).{field}")
    };
    assert_eq!(legacy(0, "01"), "fine");
    assert_eq!(legacy(3, "80"), "fine");
    let zeros = "non-canonical integer (leading zero bytes)";
    assert_eq!(legacy(0, "00"), fault(zeros, "uint64", "Nonce"));
    assert_eq!(legacy(0, "820001"), fault(zeros, "uint64", "Nonce"));
    assert_eq!(legacy(0, "8101"), fault("non-canonical size information", "uint64", "Nonce"));
    assert_eq!(
        legacy(0, "89010101010101010101"),
        fault("input string too long", "uint64", "Nonce")
    );
    let string = "expected input string or byte";
    assert_eq!(legacy(0, "c0"), fault(string, "uint64", "Nonce"));
    assert_eq!(legacy(1, "c0"), fault(string, "*big.Int", "GasPrice"));
    assert_eq!(legacy(1, "00"), fault(zeros, "*big.Int", "GasPrice"));
    assert_eq!(legacy(3, "01"), fault("input string too short", "common.Address", "To"));
    assert_eq!(
        legacy(3, &format!("95{}", "01".repeat(21))),
        fault("input string too long", "common.Address", "To")
    );
    let empty = "wrong kind of empty value (got List, want String)";
    assert_eq!(legacy(3, "c0"), fault(empty, "*common.Address", "To"));
    assert_eq!(legacy(5, "c0"), fault(string, "[]uint8", "Data"));
    assert_eq!(
        legacy(8, "b801"),
        "rlp: non-canonical size information for *big.Int, decoding into (types.LegacyTx).S"
    );
    assert_eq!(legacy(8, "8a01"), "rlp: element is larger than containing list");
    assert_eq!(legacy(8, "0101"), "rlp: input list has too many elements for types.LegacyTx");
    // Wider than any number of the chain's.
    assert_eq!(legacy(1, &format!("a1{}", "01".repeat(33))), "max fee per gas higher than 2^256-1");
    assert_eq!(legacy(4, &format!("a1{}", "01".repeat(33))), "value higher than 2^256-1");
    // A signature that is none is for the pool to refuse.
    assert_eq!(legacy(6, &format!("a1{}", "01".repeat(33))), "fine");
}

#[test]
fn elements_of_access_lists_are_named() {
    let with = |access_list: &str| {
        let fields = ["01", "01", "02", "03", TO, "80", "80", access_list, "80", "01", "01"];
        text(&hex::decode(format!("01{}", list(&fields))).unwrap())
    };
    let key = format!("a0{}", "07".repeat(32));
    let tuple = list(&[TO, &list(&[&key, &key])]);
    assert_eq!(with(&list(&[&tuple, &tuple])), "fine");
    let fault = |what: &str, of: &str, path: &str| {
        format!("rlp: {what} for {of}, decoding into (types.AccessListTx).AccessList{path}")
    };
    assert_eq!(with("80"), fault("expected input list", "types.AccessList", ""));
    assert_eq!(with(&list(&["80"])), fault("expected input list", "types.AccessTuple", "[0]"));
    assert_eq!(with(&list(&[&tuple, "c0"])), fault("too few elements", "types.AccessTuple", "[1]"));
    let long = list(&[TO, "c0", "80"]);
    let many = "input list has too many elements";
    assert_eq!(with(&list(&[&long])), fault(many, "types.AccessTuple", "[0]"));
    let bad_key = list(&[TO, &list(&[&key, "01"])]);
    let path = "[0].StorageKeys[1]";
    assert_eq!(with(&list(&[&bad_key])), fault("input string too short", "common.Hash", path));
}

#[test]
fn signatures_bind_to_a_chain_or_not() {
    let with_v = |v: &str, nonce: &str, s: &str| {
        let fields = [nonce, "02", "03", TO, "80", "80", v, "05", s];
        RawTx::parse(&hex::decode(list(&fields)).unwrap()).unwrap()
    };
    for (v, is_protected) in [("80", false), ("01", false), ("1b", false), ("1c", false)]
        .into_iter()
        .chain([("02", true), ("1d", true), ("25", true), ("830150f4", true)])
    {
        assert_eq!(with_v(v, "01", "06").is_protected, is_protected, "{v}");
    }
    assert!(with_v("1b", "80", "05").has_predictable_signature());
    assert!(!with_v("1b", "01", "05").has_predictable_signature());
    assert!(!with_v("1b", "80", "06").has_predictable_signature());
}

fn kind() -> impl Strategy<Value = TxKind> {
    prop_oneof![
        Just(TxKind::Create),
        any::<[u8; 20]>().prop_map(|to| TxKind::Call(Address::new(to))),
    ]
}

fn access_list() -> impl Strategy<Value = AccessList> {
    let item = (any::<[u8; 20]>(), prop::collection::vec(any::<[u8; 32]>(), 0..3));
    let item = item.prop_map(|(address, keys)| AccessListItem {
        address: Address::new(address),
        storage_keys: keys.into_iter().map(B256::new).collect(),
    });
    prop::collection::vec(item, 0..3).prop_map(AccessList)
}

fn transaction() -> impl Strategy<Value = Transaction> {
    let numbers = (any::<u64>(), any::<u64>(), any::<u128>(), any::<u128>(), any::<[u8; 32]>());
    let rest = (kind(), any::<Vec<u8>>(), access_list(), any::<u32>(), 0u8..4);
    let signature = (any::<[u8; 32]>(), any::<[u8; 32]>(), any::<bool>());
    (numbers, rest, signature).prop_map(|(numbers, rest, (r, s, parity))| {
        let (nonce, gas_limit, price, tip, value) = numbers;
        let (to, input, access_list, chain_id, form) = rest;
        let (value, input) = (U256::from_be_bytes(value), Bytes::from(input));
        let chain_id = u64::from(chain_id);
        let signature = Signature::new(U256::from_be_bytes(r), U256::from_be_bytes(s), parity);
        match form {
            0 | 1 => {
                let chain_id = (form == 0).then_some(chain_id);
                let tx =
                    TxLegacy { chain_id, nonce, gas_price: price, gas_limit, to, value, input };
                Transaction::Legacy(Signed::new_unhashed(tx, signature))
            }
            2 => {
                let gas_price = price;
                let tx = TxEip2930 {
                    chain_id,
                    nonce,
                    gas_price,
                    gas_limit,
                    to,
                    value,
                    access_list,
                    input,
                };
                Transaction::Eip2930(Signed::new_unhashed(tx, signature))
            }
            _ => {
                let tx = TxEip1559 {
                    chain_id,
                    nonce,
                    gas_limit,
                    max_fee_per_gas: price,
                    max_priority_fee_per_gas: tip,
                    to,
                    value,
                    access_list,
                    input,
                };
                Transaction::Eip1559(Signed::new_unhashed(tx, signature))
            }
        }
    })
}

#[test]
fn blob_transactions_are_read_before_they_are_refused() {
    let sound = ["01", "02", "03", "04", "05", TO, "06", "80", "c0", "07", "c0", "80", "01", "01"];
    let refused = "transaction type not supported";
    let plain = |at: usize, field: &str| {
        let mut fields = sound;
        fields[at] = field;
        text(&hex::decode(format!("03{}", list(&fields))).unwrap())
    };
    let fault = |what: &str, of: &str, field: &str| {
        format!("rlp: {what} for {of}, decoding into (types.BlobTx).{field}")
    };
    assert_eq!(plain(0, "01"), refused);
    let number = "*uint256.Int";
    assert_eq!(
        plain(2, "00"),
        fault("non-canonical integer (leading zero bytes)", number, "GasTipCap")
    );
    assert_eq!(plain(3, "8101"), fault("non-canonical size information", number, "GasFeeCap"));
    let long = format!("a1{}", "01".repeat(33));
    assert_eq!(plain(6, &long), fault("input string too long", number, "Value"));
    assert_eq!(plain(9, "c0"), fault("expected input string or byte", number, "BlobFeeCap"));
    assert_eq!(plain(5, "80"), fault("input string too short", "common.Address", "To"));
    assert_eq!(plain(10, "80"), fault("expected input list", "[]common.Hash", "BlobHashes"));
    let hashes = list(&["05"]);
    assert_eq!(plain(10, &hashes), fault("input string too short", "common.Hash", "BlobHashes[0]"));
    let typed = |rest: &str| text(&hex::decode(format!("03{rest}")).unwrap());
    assert_eq!(typed(&list(&sound[..9])), "rlp: too few elements for types.BlobTx");
    assert_eq!(typed(&format!("{}00", list(&sound))), "rlp: input contains more than one value");
    assert_eq!(typed("80"), "rlp: expected List");
    assert_eq!(typed("c0"), "unexpected EOF");
    assert_eq!(typed("f8"), "unexpected EOF");
    assert_eq!(typed("f801"), "rlp: non-canonical size information");
    assert_eq!(typed("c201"), "rlp: value size exceeds available input length");
    // With blobs, which are beside it.
    let inner = list(&sound);
    assert_eq!(typed(&list(&[&inner, "c0", "c0", "c0"])), refused);
    let few = "rlp: too few elements for types.blobTxWithBlobs";
    assert_eq!(typed(&list(&[&inner, "c0"])), few);
    let path = "decoding into (types.blobTxWithBlobs)";
    assert_eq!(
        typed(&list(&[&inner, "c0", "c101", "c0"])),
        format!("rlp: input string too short for kzg4844.Commitment, {path}.Commitments[0]")
    );
    assert_eq!(
        typed(&list(&["c101", "c0", "c0", "c0"])),
        format!("rlp: too few elements for types.BlobTx, {path}.BlobTx")
    );
}

proptest! {
    #[test]
    fn transactions_round_trip(tx in transaction()) {
        let bytes = tx.encoded_2718();
        let read = decode_transaction(&bytes).unwrap();
        prop_assert_eq!(read.encoded_2718(), bytes);
        prop_assert_eq!(read.tx_hash(), tx.tx_hash());
    }

    #[test]
    fn what_another_decoder_reads_is_read_the_same(
        tx in transaction(),
        at in any::<prop::sample::Index>(),
        byte: u8,
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = tx.encoded_2718();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if byte % 4 == 0 {
            bytes.truncate(cut.index(bytes.len()));
        }
        let other = Transaction::decode_2718_exact(&bytes);
        match (decode_transaction(&bytes), other) {
            (Ok(ours), Ok(other)) => prop_assert_eq!(ours, other),
            (Err(error), Ok(other)) => {
                prop_assert!(other.tx_type() as u8 > 2, "{error}: {}", hex::encode(&bytes));
            }
            // Numbers that the other one has no room for.
            (Ok(_) | Err(_), Err(_)) => {}
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(start in 0u8..5, bytes: Vec<u8>) {
        let _ = decode_transaction(&bytes);
        let typed: Vec<u8> = [start].into_iter().chain(bytes).collect();
        let _ = decode_transaction(&typed);
    }
}
