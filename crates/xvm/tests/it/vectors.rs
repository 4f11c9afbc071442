//! Vectors of the reference: transactions, blocks. Others take theirs with [`vectors`].

use esker_primitives::address;
use esker_primitives::keys::PrivateKey;
use esker_transactions::xvm::{Block, Tx, UnsignedTx};
use esker_utxo::json::{AddressFormat, Json};
use esker_utxo::{FxKind, Signers};
use serde::Serialize;
use serde_json::Value;

/// A file of the repository's `tests` folder.
pub(crate) fn test_file(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/");
    let path = format!("{folder}{name}");
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Input and expectation of each vector whose name starts so; at least one.
pub(crate) fn vectors(prefix: &str) -> Vec<(Value, Value)> {
    let file: Value = serde_json::from_slice(&test_file("vectors/x-chain.json")).unwrap();
    let named = |v: &&Value| v["name"].as_str().unwrap().starts_with(prefix);
    let found: Vec<_> = file["vectors"].as_array().unwrap().iter().filter(named).collect();
    assert!(!found.is_empty(), "no vector {prefix}");
    found.into_iter().map(|v| (v["input"].clone(), v["expected"].clone())).collect()
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

pub(crate) fn bytes(value: &Value) -> Vec<u8> {
    hex::decode(text(value).trim_start_matches("0x")).unwrap()
}

/// Rendered text, which must have the members of `expected` in the order in which the reference writes them.
pub(crate) fn rendered<T>(value: &T, hrp: &str) -> String
where
    for<'a> Json<'a, T>: Serialize,
{
    serde_json::to_string(&Json::new(value, AddressFormat { alias: "X", hrp })).unwrap()
}

/// As the vectors' file has it: `serde_json::Value` sorts members, so the text is compared from the file's.
fn raw_expected(name: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct File<'a> {
        #[serde(borrow)]
        vectors: Vec<Vector<'a>>,
    }
    #[derive(serde::Deserialize)]
    struct Vector<'a> {
        name: String,
        #[serde(borrow)]
        expected: &'a serde_json::value::RawValue,
    }
    #[derive(serde::Deserialize)]
    struct Expected<'a> {
        #[serde(borrow)]
        json: Option<&'a serde_json::value::RawValue>,
    }
    let text = test_file("vectors/x-chain.json");
    let file: File<'_> = serde_json::from_slice(&text).unwrap();
    let vector = file.vectors.iter().find(|vector| vector.name == name)?;
    let expected: Expected<'_> = serde_json::from_str(vector.expected.get()).unwrap();
    Some(compact(expected.json?.get()))
}

/// Takes the whitespace out of JSON text.
fn compact(json: &str) -> String {
    let (mut out, mut quoted, mut escaped) = (String::new(), false, false);
    for c in json.chars() {
        if quoted || !c.is_whitespace() {
            out.push(c);
        }
        match c {
            '"' if !escaped => quoted = !quoted,
            _ => {}
        }
        escaped = c == '\\' && !escaped;
    }
    out
}

#[test]
fn transactions() {
    let names = [
        "tx-base-unsigned",
        "tx-create-asset",
        "tx-export-unsigned",
        "tx-import-unsigned",
        "tx-json-base",
        "tx-json-export",
        "tx-json-create-asset",
        "tx-json-nft-mint",
        "tx-create-nft-id",
        "tx-json-secp-mint",
        "tx-json-property-mint",
        "tx-mainnet-export",
    ];
    for name in names {
        let (input, expected) = vectors(name).remove(0);
        let encoded = bytes(&input["hex"]);
        let tx = Tx::parse(&encoded).unwrap();
        assert_eq!(tx.id().to_string(), text(&expected["txID"]), "{name}");
        assert_eq!(tx.bytes(), &encoded);
        // The decoded value equals the encoded one, not only the bytes that were kept.
        let again = Tx::new(tx.unsigned().clone(), tx.credentials().to_vec());
        assert_eq!(again, tx);
        if let Some(json) = raw_expected(name) {
            assert_eq!(rendered(&tx, text(&input["hrp"])), json, "{name}");
        }
    }
}

fn unsigned(input: &Value) -> UnsignedTx {
    let mut encoded = bytes(&input["unsigned"]);
    // No credentials.
    encoded.extend_from_slice(&[0; 4]);
    Tx::parse(&encoded).unwrap().unsigned().clone()
}

#[test]
fn signed_transactions() {
    let (input, _) = vectors("tx-base-signed").remove(0);
    let key: PrivateKey = text(&input["privateKey"]).parse().unwrap();
    for name in ["tx-base-signed", "tx-export-signed"] {
        let (input, expected) = vectors(name).remove(0);
        let credential = (FxKind::Secp256k1, vec![&key, &key]);
        let tx = Tx::sign(unsigned(&input), &[credential.clone(), credential]);
        assert_eq!(hex::encode(tx.bytes()), text(&expected["hex"]), "{name}");
        assert_eq!(tx.id().to_string(), text(&expected["txID"]), "{name}");
        assert_eq!(tx.unsigned_bytes(), bytes(&input["unsigned"]));
        assert_eq!(tx.signer(1, 1).unwrap(), key.address());
    }
}

#[test]
fn the_signer_of_a_mainnet_transaction() {
    let (input, expected) = vectors("tx-mainnet-export").remove(0);
    let tx = Tx::parse(&bytes(&input["hex"])).unwrap();
    let signer = tx.signer(0, 0).unwrap();
    assert_eq!(address::format("X", "avax", &signer), text(&expected["signer"]));
    assert!(tx.signer(0, 1).is_err());
    assert!(tx.signer(1, 0).is_err());
}

#[test]
fn a_block_of_two_transactions() {
    let (input, expected) = vectors("block-two-txs").remove(0);
    let encoded = bytes(&input["hex"]);
    let block = Block::parse(&encoded).unwrap();
    assert_eq!(block.id().to_string(), text(&expected["id"]));
    assert_eq!(block.txs().len(), 2);
    let json = raw_expected("block-two-txs").unwrap();
    assert_eq!(rendered(&block, text(&input["hrp"])), json);
    let txs = block.txs().to_vec();
    let again = Block::new(block.parent_id(), block.height(), block.time_s(), txs);
    assert_eq!(again.bytes(), &encoded);
    // Each transaction is the same as by itself.
    for tx in block.txs() {
        assert_eq!(&Tx::parse(tx.bytes()).unwrap(), tx);
    }
}
