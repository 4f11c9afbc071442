//! The reference's atomic transactions, their gas and their fees: `tests/vectors/c-chain.json`.

use alloy_primitives::U256;
use esker_primitives::codec::{self, Decode, Encode};
use esker_primitives::keys::PrivateKey;
use esker_primitives::{AssetId, Id};
use esker_transactions::nat::{
    AtomicTx, EvmInput, EvmOutput, ExtDataError, ExtDataForm, UnsignedAtomicTx, UnsignedExport,
    UnsignedImport, decode_ext_data, dynamic_fee, encode_ext_data,
};
use esker_utxo::{
    OutputOwners, Signers, TransferInput, TransferOutput, TransferableInput, TransferableOutput,
    Utxo,
};
use serde_json::{Value, json};

/// Name, input and expectation of each vector of a kind; at least one.
pub(crate) fn of_kind(kind: &str) -> Vec<(String, Value, Value)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/c-chain.json");
    let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let found: Vec<_> = file["vectors"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|vector| vector["kind"] == kind)
        .map(|v| (v["name"].as_str().unwrap().into(), v["input"].clone(), v["expected"].clone()))
        .collect();
    assert!(!found.is_empty(), "no vector of kind {kind}");
    found
}

pub(crate) fn bytes(value: &Value) -> Vec<u8> {
    hex::decode(value.as_str().unwrap().trim_start_matches("0x")).unwrap()
}

/// The bytes of a vector, without the checksum that some have.
fn unchecked(input: &Value, expected: &Value) -> Vec<u8> {
    let mut bytes = bytes(input);
    if expected["encoding"].is_string() {
        bytes.truncate(bytes.len() - 4);
    }
    bytes
}

/// The transaction as the vectors write it down.
fn shown(tx: &AtomicTx) -> Value {
    let credentials: Vec<Vec<String>> = tx
        .credentials()
        .iter()
        .map(|slot| {
            let signatures = &slot.credential().unwrap().signatures;
            signatures.iter().map(|s| format!("0x{}", hex::encode(s.as_bytes()))).collect()
        })
        .collect();
    let mut shown = match tx.unsigned() {
        UnsignedAtomicTx::Import(tx) => json!({
            "sourceChain": tx.source_chain,
            "importedInputs": tx.imported_inputs.iter().map(|input| json!({
                "txID": input.utxo_id.tx_id,
                "outputIndex": input.utxo_id.output_index,
                "assetID": input.asset_id,
                "amount": input.input.amount,
                "signatureIndices": input.input.sig_indices,
            })).collect::<Vec<_>>(),
            "outputs": tx.outputs.iter().map(|output| json!({
                "address": format!("{:#x}", output.address),
                "amount": output.amount,
                "assetID": output.asset_id,
            })).collect::<Vec<_>>(),
        }),
        UnsignedAtomicTx::Export(tx) => json!({
            "destinationChain": tx.destination_chain,
            "inputs": tx.inputs.iter().map(|input| json!({
                "address": format!("{:#x}", input.address),
                "amount": input.amount,
                "assetID": input.asset_id,
                "nonce": input.nonce,
            })).collect::<Vec<_>>(),
            "exportedOutputs": tx.exported_outputs.iter().map(|out| json!({
                "assetID": out.asset_id,
                "amount": out.output.amount,
                "locktime": out.output.owners.locktime,
                "threshold": out.output.owners.threshold,
                "addresses": out.output.owners.addresses.iter()
                    .map(|address| format!("0x{}", hex::encode(address.as_bytes())))
                    .collect::<Vec<_>>(),
            })).collect::<Vec<_>>(),
        }),
    };
    shown["typeID"] = json!(tx.unsigned().type_id());
    shown["networkID"] = json!(tx.unsigned().network_id());
    shown["blockchainID"] = json!(tx.unsigned().blockchain_id());
    shown["credentials"] = json!(credentials);
    shown
}

#[test]
fn transactions() {
    for (name, input, expected) in of_kind("atomic_tx") {
        let bytes = unchecked(&input, &expected);
        let tx = AtomicTx::parse(&bytes).unwrap();
        assert_eq!(shown(&tx), expected["json"], "{name}");
        assert_eq!(tx.id().to_string(), expected["txID"], "{name}");
        assert_eq!(tx.bytes(), &bytes, "{name}");
        let again = AtomicTx::new(tx.unsigned().clone(), tx.credentials().to_vec());
        assert_eq!(again.bytes(), &bytes, "{name}");
        let gas = [("gasNoFixed", tx.gas_without_base()), ("gasFixed", tx.gas())];
        for (member, gas) in gas.iter().filter(|(member, _)| !expected[*member].is_null()) {
            assert_eq!(expected[*member], *gas, "{name} {member}");
        }
        let native: AssetId = "2fombhL7aGPwj3KH4bfrmJwW6PVnMobf9Y2fn9GwxiAAJyFDbe".parse().unwrap();
        if let Some(burned) = expected["burned"].as_u64() {
            assert_eq!(tx.burned(&native).unwrap(), burned, "{name}");
            assert_eq!(tx.gas_price(&native).unwrap(), burned / tx.gas(), "{name}");
        }
        if let Some(signer) = expected["signerEvmAddress"].as_str() {
            assert_eq!(format!("{:#x}", tx.evm_signer(0, 0).unwrap()), signer, "{name}");
        }
        if let Some(signer) = expected["signerShortID"].as_str() {
            let got = tx.signed().signer(0, 0).unwrap();
            assert_eq!(format!("0x{}", hex::encode(got.as_bytes())), signer, "{name}");
        }
    }
}

#[test]
fn an_export_is_signed_and_leaves_a_utxo() {
    let exports = of_kind("atomic_tx");
    let (_, input, expected) =
        exports.iter().find(|(name, ..)| name == "atomic_export_derived").unwrap();
    let tx = AtomicTx::parse(&bytes(input)).unwrap();
    assert_eq!(tx.signed().unsigned_bytes(), bytes(&expected["unsigned"]));
    let key: PrivateKey =
        format!("PrivateKey-{}", expected["privateKeyCb58"].as_str().unwrap()).parse().unwrap();
    assert_eq!(AtomicTx::sign(tx.unsigned().clone(), &[vec![&key]]), tx);
    let UnsignedAtomicTx::Export(export) = tx.unsigned() else { panic!("an export") };
    let utxos: Vec<Utxo> = export.exported_utxos(tx.id()).collect();
    assert_eq!(utxos.len(), 1);
    assert_eq!(utxos[0].to_versioned_bytes(), bytes(&expected["producedUTXO"]));
    assert_eq!(utxos[0].utxo_id.input_id().to_string(), expected["producedUTXOID"]);
    let fee = tx.fee(U256::from(225_000_000_000u64)).unwrap();
    assert_eq!(fee.0, expected["feeAt225gwei"]);
}

#[test]
fn utxos() {
    for (name, input, expected) in of_kind("utxo") {
        let mut bytes = bytes(&input);
        bytes.truncate(bytes.len() - 4);
        let utxo = Utxo::from_versioned_bytes(&bytes, codec::MAX_SIZE).unwrap();
        assert_eq!(utxo.utxo_id.input_id().to_string(), expected["utxoID"], "{name}");
        assert_eq!(utxo.output.as_transfer().unwrap().amount, expected["amount"], "{name}");
    }
}

#[test]
fn ext_data() {
    for (name, input, expected) in of_kind("ext_data") {
        let txs: Vec<AtomicTx> = input["txs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tx| AtomicTx::parse(&bytes(tx)).unwrap())
            .collect();
        let data = bytes(&expected["extData"]);
        assert_eq!(encode_ext_data(&txs), data, "{name}");
        assert_eq!(decode_ext_data(&data, ExtDataForm::Batch).unwrap(), txs, "{name}");
        let hash = esker_evm_state::types::ext_data_hash(&data);
        assert_eq!(format!("{hash:#x}"), expected["extDataHash"], "{name}");
        let gas: u64 = txs.iter().map(AtomicTx::gas).sum();
        assert_eq!(expected["extDataGasUsed"], gas, "{name}");
        // Before Apricot 5 a list was no transaction.
        let refused = decode_ext_data(&data, ExtDataForm::Single).unwrap_err();
        assert!(matches!(refused, ExtDataError::Single(_)), "{name}: {refused}");
    }
}

#[test]
fn fees() {
    for (name, input, expected) in of_kind("atomic_fee") {
        let base_fee = U256::from(input["baseFeeWei"].as_u64().unwrap());
        let fee = dynamic_fee(input["gas"].as_u64().unwrap(), base_fee).unwrap();
        assert_eq!(fee.0, expected["feeNAvax"], "{name}");
    }
}

/// A transaction with that many inputs and outputs.
fn of_shape(input: &Value) -> AtomicTx {
    let count = |name: &str| input[name].as_u64().unwrap() as usize;
    let unsigned = if input["kind"] == "import" {
        let indices = input["sigIndicesPerInput"].as_array().unwrap();
        assert_eq!(indices.len(), count("inputs"));
        let imported_inputs = indices.iter().map(|n| TransferableInput {
            input: TransferInput { amount: 1, sig_indices: vec![0; n.as_u64().unwrap() as usize] },
            ..TransferableInput::default()
        });
        UnsignedAtomicTx::Import(UnsignedImport {
            imported_inputs: imported_inputs.collect(),
            outputs: vec![EvmOutput::default(); count("outputs")],
            ..UnsignedImport::default()
        })
    } else {
        let owners = OutputOwners::single(esker_primitives::ShortId::ZERO);
        let out =
            TransferableOutput { asset_id: Id::ZERO, output: TransferOutput { amount: 1, owners } };
        UnsignedAtomicTx::Export(UnsignedExport {
            inputs: vec![EvmInput::default(); count("inputs")],
            exported_outputs: vec![out; count("outputs")],
            ..UnsignedExport::default()
        })
    };
    AtomicTx::new(unsigned, Vec::new())
}

#[test]
fn gas() {
    for (name, input, expected) in of_kind("atomic_gas") {
        let tx = of_shape(&input);
        let gas = match input["fixedFee"].as_bool().unwrap() {
            true => tx.gas(),
            false => tx.gas_without_base(),
        };
        assert_eq!(expected["gas"], gas, "{name}");
        let base_fee = U256::from(input["baseFeeWei"].as_u64().unwrap());
        assert_eq!(expected["feeNAvax"], dynamic_fee(gas, base_fee).unwrap().0, "{name}");
    }
}

#[test]
fn what_exports_burn() {
    for (name, mut input, expected) in of_kind("atomic_burned") {
        input["kind"] = json!("export");
        let tx = of_shape(&input);
        let base_fee = U256::from(input["baseFeeWei"].as_u64().unwrap());
        let fee = match input["phase"].as_str().unwrap() {
            // A fixed fee, which this software needs nowhere.
            "AP0" => continue,
            "AP3" => dynamic_fee(tx.gas_without_base(), base_fee),
            _ => tx.fee(base_fee),
        };
        assert_eq!(expected["burned"], fee.unwrap().0, "{name}");
    }
}
