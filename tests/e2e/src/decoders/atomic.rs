//! Atomic transactions of the C-Chain, and the ext data that carries them.

use esker_primitives::Id;
use esker_primitives::codec::Encode;
use esker_transactions::nat::{
    AtomicTx, ExtDataForm, UnsignedAtomicTx, decode_ext_data, encode_ext_data,
};
use esker_utxo::Signers;
use esker_utxo::json::AddressFormat;

use super::chain::round_trip;
use super::primitives::value_of;

const FORMAT: AddressFormat<'static> = AddressFormat { alias: "X", hrp: "local" };

/// A signed transaction: its parts, its JSON form, the amount that it burns.
pub(super) fn tx(bytes: &[u8]) -> bool {
    let Some(tx) = value_of(AtomicTx::parse(bytes)) else { return false };
    assert_eq!(tx.bytes().as_ref(), bytes);
    assert_eq!(tx.id(), Id::sha256(bytes));
    assert!(bytes.starts_with(tx.signed().unsigned_bytes()));
    look_at(&tx);
    true
}

fn look_at(tx: &AtomicTx) {
    let again = AtomicTx::new(tx.unsigned().clone(), tx.credentials().to_vec());
    let parts = |tx: &AtomicTx| (tx.bytes().clone(), tx.signed().unsigned_bytes().len());
    assert_eq!(parts(&again), parts(tx));
    value_of(serde_json::to_vec(&FORMAT.json(tx.signed())))
        .expect("every transaction has a JSON form");
    if let UnsignedAtomicTx::Export(export) = tx.unsigned() {
        export.exported_utxos(tx.id()).for_each(|utxo| round_trip(&utxo));
    }
    value_of(tx.burned(&Id::ZERO));
    assert!(tx.gas() > tx.signed().unsigned_bytes().len() as u64);
    value_of(tx.signed().signer(0, 0));
    value_of(tx.evm_signer(0, 0));
}

/// The ext data of a block, in both forms.
pub(super) fn ext_data(bytes: &[u8]) -> bool {
    let single = value_of(decode_ext_data(bytes, ExtDataForm::Single));
    if let Some([tx]) = single.as_deref() {
        assert_eq!(tx.bytes().as_ref(), bytes);
    }
    let Some(txs) = value_of(decode_ext_data(bytes, ExtDataForm::Batch)) else { return false };
    assert_eq!(encode_ext_data(&txs), bytes);
    txs.iter().for_each(look_at);
    assert!(
        txs.iter().map(|tx| tx.to_versioned_bytes().len()).sum::<usize>()
            <= bytes.len() + 2 * txs.len()
    );
    true
}
