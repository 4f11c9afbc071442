//! Vectors of the reference.

use esker_primitives::codec::{Decode, Encode, MAX_SIZE};
use esker_primitives::hash::sha256;
use esker_primitives::ids::ShortId;
use esker_primitives::keys::Signature;
use esker_primitives::{address, hexfmt};
use esker_utxo::{
    CredentialSlot, FxKind, Output, SignerRecovery, Signers, TransferInput, Utxo, UtxoId,
};
use serde_json::Value;

/// The vectors whose name starts so; at least one.
fn vectors(prefix: &str) -> Vec<(Value, Value)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/x-chain.json");
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let named = |v: &&Value| v["name"].as_str().unwrap().starts_with(prefix);
    let found: Vec<_> = file["vectors"].as_array().unwrap().iter().filter(named).collect();
    assert!(!found.is_empty(), "no vector {prefix}");
    found.into_iter().map(|v| (v["input"].clone(), v["expected"].clone())).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn signature(value: &Value) -> Signature {
    Signature::new(hex::decode(text(value)).unwrap().try_into().unwrap())
}

#[test]
fn input_ids() {
    for (input, expected) in vectors("inputid-") {
        let tx_id = text(&input["txID"]);
        let tx_id = match hex::decode(tx_id) {
            Ok(bytes) => esker_primitives::Id::from_slice(&bytes).unwrap(),
            Err(_) => tx_id.parse().unwrap(),
        };
        let output_index = input["index"].as_u64().unwrap().try_into().unwrap();
        let got = UtxoId { tx_id, output_index }.input_id();
        let expected = text(&expected["id"]);
        assert!(got.to_string() == expected || hex::encode(got.as_bytes()) == expected);
    }
}

#[test]
fn fx_ids() {
    for (input, expected) in vectors("fxid-") {
        let fx = FxKind::ALL.into_iter().find(|fx| fx.name() == text(&input["name"])).unwrap();
        assert_eq!(fx.id().to_string(), text(&expected["cb58"]));
        assert_eq!(fx.id_text(), text(&expected["cb58"]));
        assert_eq!(FxKind::from_index(fx.index()), Some(fx));
    }
}

#[test]
fn signers_are_recovered() {
    for (input, expected) in vectors("recover-fx") {
        let hash = sha256(&hex::decode(text(&input["unsignedBytes"])).unwrap());
        let signatures = [signature(&input["signature"])];
        let signers = SignerRecovery { hash: &hash, signatures: &signatures };
        let expected = hex::decode(text(&expected["addressHex"])).unwrap();
        assert_eq!(signers.signer(0, 0).unwrap(), ShortId::from_slice(&expected).unwrap());
        assert!(signers.signer(0, 1).is_err());
    }
}

#[test]
fn transfer_input_bytes() {
    for (input, expected) in vectors("fx-transfer-input") {
        let indices = input["signatureIndices"].as_array().unwrap();
        let value = TransferInput {
            amount: input["amount"].as_u64().unwrap(),
            sig_indices: indices.iter().map(|i| i.as_u64().unwrap().try_into().unwrap()).collect(),
        };
        assert_eq!(hex::encode(value.to_versioned_bytes()), text(&expected["hex"]));
    }
}

#[test]
fn credential_bytes() {
    for (input, expected) in vectors("fx-credential") {
        let signatures = input["signatures"].as_array().unwrap().iter().map(signature).collect();
        let slot = CredentialSlot::new(FxKind::Secp256k1, signatures);
        let bytes = hex::encode(slot.to_versioned_bytes());
        // The vector has no type ID between version and signatures.
        assert_eq!(bytes.replacen("000000000009", "0000", 1), text(&expected["hex"]));
    }
}

#[test]
fn utxos() {
    for (input, expected) in vectors("utxo-docs-") {
        let bytes = hexfmt::decode_checked(text(&input["utxo"])).unwrap();
        let utxo = Utxo::from_versioned_bytes(&bytes, MAX_SIZE).unwrap();
        assert_eq!(utxo.to_versioned_bytes(), bytes);
        assert_eq!(utxo.utxo_id.tx_id.to_string(), text(&expected["txID"]));
        assert_eq!(u64::from(utxo.utxo_id.output_index), expected["outputIndex"]);
        assert_eq!(utxo.asset_id.to_string(), text(&expected["assetID"]));
        assert_eq!(utxo.output.fx().id_text(), text(&expected["fxID"]));
        assert_eq!(u64::from(utxo.output.type_id()), expected["typeID"]);
        assert_eq!(utxo.utxo_id.input_id().to_string(), text(&expected["inputID"]));
        let Output::SecpTransfer(output) = &utxo.output else { panic!("{utxo:?}") };
        let body = &expected["output"];
        assert_eq!(output.amount, body["amount"]);
        assert_eq!(output.owners.locktime, body["locktime"]);
        assert_eq!(u64::from(output.owners.threshold), body["threshold"]);
        let addresses: Vec<_> = body["addresses"].as_array().unwrap().iter().map(text).collect();
        let hrp = addresses.first().map_or("avax", |a| a.split(['-', '1']).nth(1).unwrap());
        let got: Vec<_> =
            output.owners.addresses.iter().map(|a| address::format("X", hrp, a)).collect();
        assert_eq!(got, addresses);
    }
}
