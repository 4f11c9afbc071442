//! Consensus bytes: transactions, blocks, genesis, UTXOs, bundles.

use std::fmt::Debug;

use esker_chain::Bundle;
use esker_chain::snapshot::{Page, PageBuilder, SnapshotItem};
use esker_follow::RecordReader;
use esker_follow::snapshot::{SnapshotRecord, SnapshotRecordReader};
use esker_primitives::codec::{Decode, Encode, MAX_SIZE};
use esker_primitives::{Id, hash};
use esker_transactions::xvm::{Block, Tx};
use esker_utxo::json::{AddressFormat, Json};
use esker_utxo::{Signers, Utxo};
use esker_xvm::genesis::Genesis;
use esker_xvm::verify::syntactic;

use super::primitives::value_of;

const FORMAT: AddressFormat<'static> = AddressFormat { alias: "X", hrp: "local" };
/// Signatures of one transaction that are checked; each takes as long as all the rest.
const SIGNERS: usize = 4;

/// A signed transaction: its parts, its JSON form, the rules that need no state.
pub(super) fn x_tx(bytes: &[u8]) -> bool {
    let Some(tx) = value_of(Tx::parse(bytes)) else { return false };
    assert_eq!(tx.bytes().as_ref(), bytes);
    assert_eq!(tx.id(), Id::sha256(bytes));
    assert!(bytes.starts_with(tx.unsigned_bytes()));
    let again = Tx::new(tx.unsigned().clone(), tx.credentials().to_vec());
    assert_eq!((again.bytes().as_ref(), again.unsigned_bytes()), (bytes, tx.unsigned_bytes()));
    for utxo in tx.produced_utxos().chain(tx.exported_utxos()) {
        assert_eq!(utxo.utxo_id.tx_id, tx.id());
        round_trip(&utxo);
    }
    look_at(&tx);
    true
}

fn look_at(tx: &Tx) {
    value_of(serde_json::to_vec(&Json::new(tx, FORMAT)))
        .expect("every transaction has a JSON form");
    let base = tx.unsigned().base();
    let params = syntactic::Params {
        network_id: base.network_id,
        chain_id: base.blockchain_id,
        fee_asset_id: base.outputs.first().map_or(Id::ZERO, |output| output.asset_id),
        tx_fee: 0,
        create_asset_tx_fee: 0,
        fx_count: 3,
    };
    value_of(syntactic::verify(tx, &params));
    if let Some(slot) = tx.credentials().first() {
        for index in 0..slot.signatures().len().min(SIGNERS) {
            value_of(tx.signer(0, index));
        }
    }
}

/// A block and its transactions.
pub(super) fn x_block(bytes: &[u8]) -> bool {
    let Some(block) = value_of(Block::parse(bytes)) else { return false };
    assert_eq!((block.bytes().as_ref(), block.id()), (bytes, Id::new(hash::sha256(bytes))));
    value_of(serde_json::to_vec(&Json::new(&block, FORMAT))).expect("every block has a JSON form");
    let txs = block.txs().to_vec();
    if block.merkle_root().is_zero() {
        let again = Block::new(block.parent_id(), block.height(), block.time_s(), txs);
        assert_eq!(again.bytes(), block.bytes());
    }
    for tx in block.txs() {
        assert!(x_tx(tx.bytes()));
    }
    true
}

/// Genesis bytes of an asset-VM chain.
pub(super) fn x_genesis(bytes: &[u8]) -> bool {
    let Some(genesis) = value_of(Genesis::parse(bytes)) else { return false };
    assert_eq!(genesis.to_bytes(), bytes);
    assert!(genesis.fee_asset_id().is_some());
    for asset in &genesis.assets {
        assert_eq!(asset.to_tx().id(), asset.asset_id());
        look_at(&asset.to_tx());
    }
    true
}

/// A UTXO as stored, exported and sent.
pub(super) fn utxo(bytes: &[u8]) -> bool {
    let Some(utxo) = value_of(Utxo::from_versioned_bytes(bytes, MAX_SIZE)) else { return false };
    assert_eq!(utxo.to_versioned_bytes(), bytes);
    round_trip(&utxo);
    true
}

pub(super) fn round_trip(utxo: &Utxo) {
    let bytes = utxo.to_versioned_bytes();
    // One output may need nearly all of a transaction. Its UTXO is then larger than that.
    if bytes.len() <= MAX_SIZE {
        assert_eq!(Utxo::from_versioned_bytes(&bytes, MAX_SIZE).as_ref(), Ok(utxo));
    }
    value_of(serde_json::to_vec(&Json::new(&utxo.output, FORMAT)))
        .expect("every output has a JSON form");
}

/// The unit that an engine orders.
pub(super) fn bundle(bytes: &[u8]) -> bool {
    let Some(bundle) = value_of(Bundle::parse(bytes)) else { return false };
    assert_eq!(bundle.to_versioned_bytes(), bytes);
    assert_eq!(bundle.id(), Id::sha256(bytes));
    true
}

/// Checks that the records of a stream that arrives in parts, and the error that ends it, are the same for all sizes
/// of parts.
fn cut_anywhere<R, T: Clone + Debug + PartialEq, E: Clone + Debug + PartialEq>(
    bytes: &[u8],
    reader: fn() -> R,
    push: fn(&mut R, &[u8]),
    next: fn(&mut R) -> Result<Option<T>, E>,
) -> (Vec<T>, Option<E>) {
    let read = |size: usize| {
        let (mut reader, mut records) = (reader(), Vec::new());
        for part in bytes.chunks(size.max(1)) {
            push(&mut reader, part);
            loop {
                match next(&mut reader) {
                    Ok(Some(record)) => records.push(record),
                    Ok(None) => break,
                    Err(error) => return (records, Some(error)),
                }
            }
        }
        (records, None)
    };
    let whole = read(bytes.len());
    assert_eq!(read(3), whole);
    whole
}

/// Records of a stream of bundles, cut at any byte: the result must be the same records, or the same error.
pub(super) fn bundle_stream(bytes: &[u8]) -> bool {
    let (records, error) =
        cut_anywhere(bytes, RecordReader::default, RecordReader::push, RecordReader::next);
    let written: Vec<u8> = records.iter().flat_map(|record| record.to_bytes()).collect();
    // Invalid UTF-8 in the reason of an end is replaced.
    if !records.iter().any(|record| matches!(record, esker_follow::Record::End(_))) {
        assert!(bytes.starts_with(&written));
    }
    error.is_none() && !records.is_empty()
}

/// Records of a snapshot, cut at any byte, and the rows in them: the result must be the same records, or the same
/// error.
pub(super) fn snapshot_stream(bytes: &[u8]) -> bool {
    let (records, error) = cut_anywhere(
        bytes,
        SnapshotRecordReader::default,
        SnapshotRecordReader::push,
        SnapshotRecordReader::next,
    );
    let written: Vec<u8> = records.iter().flat_map(|record| record.to_bytes()).collect();
    // Invalid UTF-8 in the reason of a failure is replaced.
    if !records.iter().any(|record| matches!(record, SnapshotRecord::Failed(_))) {
        assert!(bytes.starts_with(&written));
    }
    error.is_none() && !records.is_empty() && records.iter().all(has_valid_rows)
}

/// Rows that are valid encode to the same page.
fn has_valid_rows(record: &SnapshotRecord) -> bool {
    let SnapshotRecord::Item(SnapshotItem::Rows { page, .. }) = record else { return true };
    let mut encoded = PageBuilder::default();
    for row in Page(page) {
        let Some((key, value)) = row else { return false };
        encoded.push(key, value);
    }
    assert_eq!(encoded.finish(), *page);
    true
}
