//! The codec of atomic transactions: what it takes, what it refuses and in which words.

use alloy_primitives::{Address, U256};
use esker_primitives::keys::Signature;
use esker_primitives::{Id, NanoNative, ShortId};
use esker_transactions::money::Wei;
use esker_transactions::nat::{
    AmountError, AtomicCredential, AtomicTx, EvmInput, EvmOutput, ExtDataForm, FeeError,
    UnsignedAtomicTx, UnsignedExport, UnsignedImport, decode_ext_data, dynamic_fee,
    encode_ext_data,
};
use esker_utxo::{
    CredentialSlot, FxKind, OutputOwners, TransferInput, TransferOutput, TransferableInput,
    TransferableOutput, UtxoId,
};
use proptest::prelude::*;

fn id() -> impl Strategy<Value = Id> {
    any::<[u8; 32]>().prop_map(Id::new)
}

fn address() -> impl Strategy<Value = Address> {
    any::<[u8; 20]>().prop_map(Address::new)
}

fn owners() -> impl Strategy<Value = OutputOwners> {
    let addresses = prop::collection::vec(any::<[u8; 20]>().prop_map(ShortId::new), 0..3);
    (any::<u64>(), any::<u32>(), addresses).prop_map(|(locktime, threshold, addresses)| {
        OutputOwners { locktime, threshold, addresses }
    })
}

fn imported() -> impl Strategy<Value = TransferableInput> {
    let indices = prop::collection::vec(any::<u32>(), 0..3);
    (id(), any::<u32>(), id(), any::<u64>(), indices).prop_map(
        |(tx_id, output_index, asset_id, amount, sig_indices)| TransferableInput {
            utxo_id: UtxoId { tx_id, output_index },
            asset_id,
            input: TransferInput { amount, sig_indices },
        },
    )
}

fn import() -> impl Strategy<Value = UnsignedAtomicTx> {
    let output = (address(), any::<u64>(), id())
        .prop_map(|(address, amount, asset_id)| EvmOutput { address, amount, asset_id });
    let inputs = prop::collection::vec(imported(), 0..4);
    let outputs = prop::collection::vec(output, 0..4);
    (any::<u32>(), id(), id(), inputs, outputs).prop_map(
        |(network_id, blockchain_id, source_chain, imported_inputs, outputs)| {
            UnsignedAtomicTx::Import(UnsignedImport {
                network_id,
                blockchain_id,
                source_chain,
                imported_inputs,
                outputs,
            })
        },
    )
}

fn export() -> impl Strategy<Value = UnsignedAtomicTx> {
    let input = (address(), any::<u64>(), id(), any::<u64>()).prop_map(
        |(address, amount, asset_id, nonce)| EvmInput { address, amount, asset_id, nonce },
    );
    let output = (id(), any::<u64>(), owners()).prop_map(|(asset_id, amount, owners)| {
        TransferableOutput { asset_id, output: TransferOutput { amount, owners } }
    });
    let inputs = prop::collection::vec(input, 0..4);
    let outputs = prop::collection::vec(output, 0..4);
    (any::<u32>(), id(), id(), inputs, outputs).prop_map(
        |(network_id, blockchain_id, destination_chain, inputs, exported_outputs)| {
            UnsignedAtomicTx::Export(UnsignedExport {
                network_id,
                blockchain_id,
                destination_chain,
                inputs,
                exported_outputs,
            })
        },
    )
}

fn credential() -> impl Strategy<Value = AtomicCredential> {
    let signature = any::<([u8; 32], [u8; 33])>().prop_map(|(a, b)| {
        let mut bytes = [0; Signature::LEN];
        bytes[..32].copy_from_slice(&a);
        bytes[32..].copy_from_slice(&b);
        Signature::new(bytes)
    });
    prop_oneof![
        4 => prop::collection::vec(signature, 0..3)
            .prop_map(|s| AtomicCredential::Shared(CredentialSlot::new(FxKind::Secp256k1, s))),
        1 => prop::collection::vec(any::<u32>(), 0..3).prop_map(AtomicCredential::Input),
        1 => owners().prop_map(AtomicCredential::Owners),
    ]
}

pub(crate) fn any_tx() -> impl Strategy<Value = AtomicTx> {
    let unsigned = prop_oneof![import(), export()];
    let credentials = prop::collection::vec(credential(), 0..3);
    (unsigned, credentials).prop_map(|(unsigned, credentials)| AtomicTx::new(unsigned, credentials))
}

proptest! {
    #[test]
    fn what_is_written_is_read(tx in any_tx()) {
        let read = AtomicTx::parse(tx.bytes()).unwrap();
        prop_assert_eq!(&read, &tx);
        prop_assert_eq!(read.id(), tx.id());
        prop_assert_eq!(read.unsigned(), tx.unsigned());
        prop_assert_eq!(read.credentials(), tx.credentials());
        prop_assert_eq!(read.signed().unsigned_bytes(), tx.signed().unsigned_bytes());
        prop_assert!(tx.gas() > tx.signed().unsigned_bytes().len() as u64);
    }

    #[test]
    fn what_is_cut_or_extended_is_refused(tx in any_tx(), cut in any::<prop::sample::Index>()) {
        let bytes = tx.bytes();
        prop_assert!(AtomicTx::parse(&bytes[..cut.index(bytes.len())]).is_err());
        let longer = [bytes.as_ref(), &[0]].concat();
        prop_assert_eq!(
            AtomicTx::parse(&longer).unwrap_err().to_string(),
            format!("trailing buffer space: read {} provided {}", bytes.len(), longer.len())
        );
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let versioned = [&[0, 0], bytes.as_slice()].concat();
        let _decoded = AtomicTx::parse(&versioned);
        let _decoded = decode_ext_data(&versioned, ExtDataForm::Batch);
    }

    #[test]
    fn batches_are_read_as_written(txs in prop::collection::vec(any_tx(), 0..4)) {
        let data = encode_ext_data(&txs);
        prop_assert_eq!(data.is_empty(), txs.is_empty());
        prop_assert_eq!(decode_ext_data(&data, ExtDataForm::Batch).unwrap(), txs);
    }

    /// A fee covers its gas, and one billionth less would not.
    #[test]
    fn a_fee_is_rounded_up(gas in any::<u32>(), base_fee in any::<u64>()) {
        let cost = U256::from(gas) * U256::from(base_fee);
        match dynamic_fee(gas.into(), U256::from(base_fee)) {
            Ok(fee) => {
                prop_assert!(Wei::from(fee).0 >= cost);
                if let Some(less) = fee.checked_sub(NanoNative(1)) {
                    prop_assert!(Wei::from(less).0 < cost);
                }
            }
            Err(FeeError::Overflow) => prop_assert!(cost > Wei::from(NanoNative(u64::MAX)).0),
        }
    }
}

fn refused(hexed: &str) -> String {
    AtomicTx::parse(&hex::decode(hexed).unwrap()).unwrap_err().to_string()
}

fn prefix(type_id: u32) -> String {
    format!("0000{type_id:08x}")
}

#[test]
fn a_transaction_of_another_kind() {
    assert_eq!(refused("00"), "couldn't unpack codec version");
    assert_eq!(refused("000100000000"), "unknown codec version");
    assert_eq!(
        refused(&prefix(5)),
        "couldn't unmarshal interface: *secp256k1fx.TransferInput does not implement interface \
         evm.UnsignedAtomicTx"
    );
    assert_eq!(
        refused(&prefix(10)),
        "couldn't unmarshal interface: *secp256k1fx.Input does not implement interface \
         evm.UnsignedAtomicTx"
    );
    for unused in [2, 3, 4, 12, 20, 21, u32::MAX] {
        assert_eq!(
            refused(&prefix(unused)),
            format!("couldn't unmarshal interface: unknown type ID {unused}")
        );
    }
    let long = "00".repeat(262_145);
    assert_eq!(refused(&long), "byte array exceeds maximum length: 262145 > 262144");
}

/// Type IDs that the asset chains' codec knows otherwise, or not at all.
#[test]
fn faults_name_this_chains_types() {
    let import = |type_id: u32| {
        let head = format!("{}{}", prefix(0), "00".repeat(4 + 32 + 32));
        refused(&format!("{head}00000001{}{type_id:08x}", "00".repeat(32 + 4 + 32)))
    };
    let fault = |name: &str, interface: &str| {
        format!("couldn't unmarshal interface: {name} does not implement interface {interface}")
    };
    assert_eq!(import(0), fault("*evm.UnsignedImportTx", "avax.TransferableIn"));
    assert_eq!(import(1), fault("*evm.UnsignedExportTx", "avax.TransferableIn"));
    assert_eq!(import(7), fault("*secp256k1fx.TransferOutput", "avax.TransferableIn"));
    assert_eq!(import(10), fault("*secp256k1fx.Input", "avax.TransferableIn"));
    assert_eq!(import(3), "couldn't unmarshal interface: unknown type ID 3");
    assert_eq!(import(14), "couldn't unmarshal interface: unknown type ID 14");
    let export = |type_id: u32| {
        let head = format!("{}{}", prefix(1), "00".repeat(4 + 32 + 32 + 4));
        refused(&format!("{head}00000001{}{type_id:08x}", "00".repeat(32)))
    };
    assert_eq!(export(6), fault("*secp256k1fx.MintOutput", "avax.TransferableOut"));
    assert_eq!(export(11), fault("*secp256k1fx.OutputOwners", "avax.TransferableOut"));
    let credential = |type_id: u32| {
        let head = format!("{}{}", prefix(0), "00".repeat(4 + 32 + 32 + 4 + 4));
        refused(&format!("{head}00000001{type_id:08x}"))
    };
    assert_eq!(credential(0), fault("*evm.UnsignedImportTx", "verify.Verifiable"));
    assert_eq!(credential(12), "couldn't unmarshal interface: unknown type ID 12");
    assert_eq!(credential(9), "couldn't unmarshal slice: packer has insufficient length for input");
}

#[test]
fn bytes_that_hold_no_transaction() {
    let refused = |hexed: &str| {
        let bytes = hex::decode(hexed).unwrap();
        decode_ext_data(&bytes, ExtDataForm::Batch).unwrap_err().to_string()
    };
    assert_eq!(
        refused("000000000000"),
        "cannot build a block with non-empty extra data and zero atomic transactions"
    );
    assert_eq!(
        refused("00"),
        "failed to unmarshal atomic tx (AP5) due to couldn't unpack codec version"
    );
    let single = decode_ext_data(&[0, 1], ExtDataForm::Single).unwrap_err().to_string();
    assert_eq!(single, "failed to unmarshal atomic transaction (pre-AP5): unknown codec version");
    assert!(decode_ext_data(&[], ExtDataForm::Single).unwrap().is_empty());
}

#[test]
fn what_conflicts() {
    let input = |address: u8, nonce| EvmInput {
        address: Address::repeat_byte(address),
        amount: 1,
        asset_id: Id::ZERO,
        nonce,
    };
    let keys = |inputs: Vec<EvmInput>| {
        let export = UnsignedExport { inputs, ..UnsignedExport::default() };
        UnsignedAtomicTx::Export(export).conflict_keys()
    };
    let one = keys(vec![input(1, 7)]);
    let key = "0000000000000007000000140101010101010101010101010101010101010101";
    let key = Id::from_slice(&hex::decode(key).unwrap()).unwrap();
    assert_eq!(one.iter().collect::<Vec<_>>(), [&key]);
    assert!(one.is_disjoint(&keys(vec![input(1, 8), input(2, 7)])));
    // Two assets of one account use up one nonce.
    assert_eq!(keys(vec![input(1, 7), input(1, 7)]), one);
}

#[test]
fn sums_that_no_amount_can_hold() {
    let import = |inputs: &[u64], outputs: &[u64]| {
        UnsignedAtomicTx::Import(UnsignedImport {
            imported_inputs: inputs
                .iter()
                .map(|amount| TransferableInput {
                    input: TransferInput { amount: *amount, sig_indices: Vec::new() },
                    ..TransferableInput::default()
                })
                .collect(),
            outputs: outputs
                .iter()
                .map(|amount| EvmOutput { amount: *amount, ..EvmOutput::default() })
                .collect(),
            ..UnsignedImport::default()
        })
    };
    assert_eq!(import(&[5, 6], &[4]).burned(&Id::ZERO), Ok(7));
    assert_eq!(import(&[5, 6], &[4]).burned(&Id::new([1; 32])), Ok(0));
    assert_eq!(import(&[5], &[6]).burned(&Id::ZERO), Err(AmountError::Underflow));
    assert_eq!(import(&[u64::MAX, 1], &[6]).burned(&Id::ZERO), Err(AmountError::Overflow));
    assert_eq!(import(&[1], &[u64::MAX, 1]).burned(&Id::ZERO), Err(AmountError::Overflow));
}
