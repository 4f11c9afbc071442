//! Tests of the pool.

use esker_transactions::xvm::{BaseTx, UnsignedTx};
use esker_utxo::{OutputOwners, TransferOutput, TransferableInput, TransferableOutput};

use super::*;

/// A transaction that consumes the outputs of those numbers; `salt` makes it unique.
fn tx(outputs: &[u8], salt: u8) -> Tx {
    let input = |number: &u8| TransferableInput {
        utxo_id: UtxoId { tx_id: Id::new([*number; 32]), output_index: 0 },
        ..TransferableInput::default()
    };
    let inputs = outputs.iter().map(input).collect();
    let memo = vec![salt];
    Tx::new(UnsignedTx::Base(BaseTx { inputs, memo, ..BaseTx::default() }), Vec::new())
}

fn pool() -> Mempool {
    Mempool::new(MempoolLimits { max_bytes: 10_000, max_tx_bytes: 1000 })
}

fn add(pool: &Mempool, tx: &Tx) -> Result<AddOutcome, MempoolError> {
    pool.add(Pooled::new(tx.clone(), true))
}

fn ids(found: &[Arc<Pooled>]) -> Vec<TxId> {
    found.iter().map(|pooled| pooled.tx.id()).collect()
}

#[test]
fn order_is_that_of_arrival() {
    let pool = pool();
    let txs: Vec<Tx> = (0..5).map(|n| tx(&[n], 0)).collect();
    for tx in &txs {
        assert_eq!(add(&pool, tx), Ok(AddOutcome::New));
        assert_eq!(add(&pool, tx), Ok(AddOutcome::Known));
    }
    let all: Vec<TxId> = txs.iter().map(Tx::id).collect();
    let none = HashSet::new();
    let (found, next) = pool.candidates(0, usize::MAX, &none);
    assert_eq!((ids(&found), next), (all.clone(), 5));
    // Up to the one that exceeds the room.
    let one = txs[0].bytes().len();
    let (found, next) = pool.candidates(0, one, &none);
    assert_eq!((ids(&found), next), (all[..2].to_vec(), 2));
    let (found, _) = pool.candidates(next, usize::MAX, &HashSet::from([all[3]]));
    assert_eq!(ids(&found), [all[2], all[4]]);
    pool.remove(&all[1..2]);
    assert!(!pool.contains(&all[1]));
    // Back again: behind the others.
    add(&pool, &txs[1]).unwrap();
    let (found, _) = pool.candidates(0, usize::MAX, &none);
    assert_eq!(ids(&found), [all[0], all[2], all[3], all[4], all[1]]);
    let size = txs.iter().map(|tx| tx.bytes().len()).sum();
    assert_eq!(pool.size(), (5, size));
    pool.remove(&all);
    assert_eq!(pool.size(), (0, 0));
}

#[test]
fn double_spends_conflict() {
    let pool = pool();
    let (first, rival, other) = (tx(&[1, 2], 0), tx(&[2, 3], 1), tx(&[3], 2));
    add(&pool, &first).unwrap();
    assert_eq!(add(&pool, &rival), Err(MempoolError::Conflict(rival.id())));
    add(&pool, &other).unwrap();
    let consumed = |tx: &Tx| -> Vec<(Id, TxId)> {
        tx.unsigned().consumed_utxo_ids().map(|id| (id.input_id(), tx.id())).collect()
    };
    assert_eq!(
        pool.conflicts(&consumed(&rival)),
        [(first.id(), rival.id()), (other.id(), rival.id())]
    );
    assert!(pool.conflicts(&consumed(&first)).is_empty());
    pool.remove(&[first.id(), other.id()]);
    add(&pool, &rival).unwrap();
    assert!(pool.conflicts(&consumed(&rival)).is_empty());
}

#[test]
fn sixty_four_refusals_are_remembered() {
    let pool = pool();
    let id = |n: u8| Id::new([n; 32]);
    for n in 0..65 {
        pool.remember_refusal(id(n), format!("no {n}"), RefusalValidity::Always);
    }
    assert_eq!(pool.refusal(&id(0), 1), None);
    assert_eq!(pool.refusal(&id(64), 1).as_deref(), Some("no 64"));
    pool.remember_refusal(id(70), "not now".into(), RefusalValidity::AtHeight(5));
    assert_eq!(pool.refusal(&id(70), 5).as_deref(), Some("not now"));
    assert_eq!(pool.refusal(&id(70), 6), None);
    assert_eq!(pool.refusal(&id(70), 5), None, "forgotten once it did not hold");
    // A transaction that is accepted into the pool after all is not refused any more, and neither is a waiting one.
    let tx = tx(&[1], 0);
    pool.remember_refusal(tx.id(), "no".into(), RefusalValidity::Always);
    add(&pool, &tx).unwrap();
    pool.remember_refusal(tx.id(), "no".into(), RefusalValidity::Always);
    assert_eq!(pool.refusal(&tx.id(), 1), None);
}

/// A transaction that consumes the first output of another one and gives `amounts` to one owner.
fn child(parent: &Tx, amounts: &[u64]) -> Tx {
    let input = TransferableInput {
        utxo_id: UtxoId { tx_id: parent.id(), output_index: 0 },
        ..TransferableInput::default()
    };
    let output = |amount: &u64| TransferableOutput {
        asset_id: Id::new([9; 32]),
        output: TransferOutput { amount: *amount, owners: OutputOwners::single(owner()) },
    };
    let outputs = amounts.iter().map(output).collect();
    let base = BaseTx { inputs: vec![input], outputs, ..BaseTx::default() };
    Tx::new(UnsignedTx::Base(base), Vec::new())
}

fn owner() -> ShortId {
    ShortId::new([5; 20])
}

/// Parents and numbers of the outputs that can be spent.
fn free(pool: &Mempool) -> Vec<(TxId, u32)> {
    let found = pool.outputs_of(&BTreeSet::from([owner(), ShortId::ZERO]));
    found.iter().map(|utxo| (utxo.utxo_id.tx_id, utxo.utxo_id.output_index)).collect()
}

#[test]
fn pooled_outputs_are_free_until_consumed() {
    let pool = pool();
    let parent = child(&tx(&[1], 0), &[10, 20]);
    let first = child(&parent, &[10]);
    let second = child(&first, &[10]);
    add(&pool, &parent).unwrap();
    assert_eq!(free(&pool), [(parent.id(), 0), (parent.id(), 1)]);
    add(&pool, &first).unwrap();
    assert_eq!(free(&pool), [(parent.id(), 1), (first.id(), 0)]);
    // Nobody has verified it: what it produces may never be there.
    pool.add(Pooled::new(second.clone(), false)).unwrap();
    assert_eq!(free(&pool), [(parent.id(), 1)]);
    assert_eq!(pool.output(&UtxoId { tx_id: second.id(), output_index: 0 }), None);
    assert!(pool.output(&UtxoId { tx_id: parent.id(), output_index: 0 }).is_some());
    assert_eq!(pool.output(&UtxoId { tx_id: parent.id(), output_index: 2 }), None);
    let all = [parent.id(), first.id(), second.id()];
    assert_eq!(pool.with_descendants(&parent.id()), all);
    assert_eq!(pool.with_descendants(&second.id()), all[2..]);
    // A transaction that leaves frees the UTXOs that it consumed.
    pool.remove(&all[2..]);
    assert_eq!(free(&pool), [(parent.id(), 1), (first.id(), 0)]);
    pool.remove(&all[1..2]);
    assert_eq!(free(&pool), [(parent.id(), 0), (parent.id(), 1)]);
    assert_eq!(pool.removals(), 2);
    pool.remove(&all);
    assert_eq!(free(&pool), []);
    assert_eq!(pool.inner.lock().outputs.owned_by(&BTreeSet::new()).len(), 0);
}

#[test]
fn large_owner_sets_find_the_same_outputs() {
    let pool = pool();
    let parent = child(&tx(&[1], 0), &[10]);
    add(&pool, &parent).unwrap();
    let mut owners: BTreeSet<ShortId> = (0..100).map(|n| ShortId::new([n; 20])).collect();
    assert_eq!(pool.outputs_of(&owners).len(), 1);
    owners.remove(&owner());
    assert!(pool.outputs_of(&owners).is_empty());
}

#[test]
fn verified_transactions_join_only_if_still_valid() {
    let pool = pool();
    let verified = |tx: &Tx, at: u64, parents: &[TxId]| {
        let parents = parents.iter().copied().collect();
        pool.add_verified(Pooled::new(tx.clone(), true), at, &parents)
    };
    let accept = |height: u64, tx: &Tx| {
        let ids = tx.unsigned().consumed_utxo_ids();
        let consumed: Vec<(Id, TxId)> = ids.map(|id| (id.input_id(), tx.id())).collect();
        pool.accepted(height, &[tx.id()], &consumed);
    };
    let (first, rival, other) = (tx(&[1], 0), tx(&[1, 2], 1), tx(&[2], 2));
    assert_eq!(verified(&first, 10, &[]), Ok(AddOutcome::New));
    assert_eq!(verified(&first, 10, &[]), Ok(AddOutcome::Known));
    let conflict = MempoolError::Conflict(rival.id());
    assert_eq!(verified(&rival, 10, &[]), Err(JoinError::Pool(conflict)));
    accept(11, &first);
    // It was valid before the block, and is not after it.
    assert_eq!(verified(&rival, 10, &[]), Err(JoinError::Spent));
    assert_eq!(verified(&first, 10, &[]), Err(JoinError::Spent));
    assert_eq!(verified(&other, 10, &[]), Ok(AddOutcome::New));
    // A parent waits, or was accepted, or neither.
    let late = tx(&[3], 3);
    assert_eq!(verified(&late, 11, &[rival.id()]), Err(JoinError::NoParent));
    assert_eq!(verified(&late, 11, &[first.id(), other.id()]), Ok(AddOutcome::New));
    // Verified before the remembered blocks.
    let old = tx(&[4], 4);
    let blocks = u64::try_from(recent::REMEMBERED_BLOCKS).unwrap();
    for height in 12..12 + blocks {
        accept(height, &tx(&[200], u8::try_from(height).unwrap()));
    }
    assert_eq!(verified(&old, 10, &[]), Err(JoinError::Outdated));
    assert_eq!(verified(&old, 11, &[first.id()]), Err(JoinError::NoParent));
    assert_eq!(verified(&old, 11, &[]), Ok(AddOutcome::New));
}
