//! Blobs with a fault in each place, with geth's texts.

use alloy_consensus::TxEip4844;
use alloy_eips::eip4844::{Blob, Bytes48};
use alloy_eips::eip7594::CELLS_PER_EXT_BLOB;
use alloy_primitives::B256;
use esker_evm_execution::rules::{BlobLimits, ExecutionRules, Phase, Revision};

use super::sidecar::{BlobError, Sidecar, check, prove, sidecar_of};

/// Rules of a fork with blobs.
fn rules(revision: Revision) -> ExecutionRules {
    let is_osaka = revision >= Revision::Osaka;
    let limits = BlobLimits {
        target: 6,
        max: 9,
        update_fraction: 5_007_716,
        max_a_transaction: is_osaka.then_some(6),
    };
    ExecutionRules { revision, blobs: Some(limits), ..Phase::Etna.rules().execution }
}

/// A transaction with this many blobs, and their proofs.
fn made(blobs: u8) -> (TxEip4844, Sidecar) {
    let blob = |n: u8| {
        // Each field element is below the modulus, and no two are the same.
        let mut blob = Blob::ZERO;
        for (at, element) in blob.chunks_exact_mut(32).enumerate() {
            element[24..].copy_from_slice(&(at as u64 + 5 * u64::from(n)).to_be_bytes());
            element[1] = (at % 251) as u8;
        }
        blob
    };
    let sidecar = sidecar_of((1..=blobs).map(blob).collect()).unwrap();
    let hashes = sidecar.versioned_hashes().collect();
    let tx =
        TxEip4844 { blob_versioned_hashes: hashes, max_fee_per_blob_gas: 1, ..Default::default() };
    (tx, sidecar)
}

/// The text of the check that fails.
fn refused(tx: &TxEip4844, sidecar: Sidecar, revision: Revision) -> String {
    let checked = check(tx, Some(&sidecar), &rules(revision));
    let proved = checked.and_then(|()| prove(sidecar, &tx.blob_versioned_hashes, &rules(revision)));
    proved.unwrap_err().to_string()
}

fn old_form(sidecar: &mut Sidecar) -> &mut alloy_consensus::BlobTransactionSidecar {
    match sidecar {
        Sidecar::Eip4844(sidecar) => sidecar,
        Sidecar::Eip7594(_) => panic!("made with blob proofs"),
    }
}

#[test]
fn blobs_that_need_no_proof_to_be_refused() {
    let (tx, sidecar) = made(1);
    let rules = rules(Revision::Prague);
    assert_eq!(check(&tx, None, &rules), Err(BlobError::MissingSidecar));
    let cheap = TxEip4844 { max_fee_per_blob_gas: 0, ..tx.clone() };
    let text = "transaction gas price below minimum: blob fee cap 0, minimum needed 1";
    assert_eq!(refused(&cheap, sidecar.clone(), Revision::Prague), text);
    let none = TxEip4844 { blob_versioned_hashes: Vec::new(), ..tx.clone() };
    assert_eq!(refused(&none, sidecar.clone(), Revision::Prague), "blobless blob transaction");
    for (revision, have, permitted) in [(Revision::Prague, 10, 9), (Revision::Osaka, 7, 6)] {
        let many = TxEip4844 { blob_versioned_hashes: vec![B256::ZERO; have], ..tx.clone() };
        let text = format!("too many blobs in transaction: have {have}, permitted {permitted}");
        assert_eq!(refused(&many, sidecar.clone(), revision), text);
    }
    let hashes = vec![tx.blob_versioned_hashes[0]; 2];
    let two = TxEip4844 { blob_versioned_hashes: hashes, ..tx };
    let text = "invalid number of 1 blobs compared to 2 blob hashes";
    assert_eq!(refused(&two, sidecar, Revision::Prague), text);
}

#[test]
fn commitments_must_be_those_of_the_hashes() {
    let (tx, sidecar) = made(2);
    let mut fewer = sidecar.clone();
    old_form(&mut fewer).commitments.pop();
    let text = "invalid number of 1 blob commitments compared to 2 blob hashes";
    assert_eq!(refused(&tx, fewer, Revision::Prague), text);
    let mut other = sidecar.clone();
    old_form(&mut other).commitments.swap(0, 1);
    let [first, second] = tx.blob_versioned_hashes[..] else { panic!("two blobs") };
    let text = format!("blob 0: computed hash {second} mismatches transaction one {first}");
    assert_eq!(refused(&tx, other, Revision::Prague), text);
    // Another version of the hash.
    let mut version = tx.clone();
    version.blob_versioned_hashes[1].0[0] = 2;
    let given = version.blob_versioned_hashes[1];
    let text = format!("blob 1: computed hash {second} mismatches transaction one {given}");
    assert_eq!(refused(&version, sidecar, Revision::Prague), text);
}

#[test]
fn proofs_of_blobs_are_checked() {
    let (tx, sidecar) = made(1);
    assert_eq!(check(&tx, Some(&sidecar), &rules(Revision::Cancun)), Ok(()));
    let kept = prove(sidecar.clone(), &tx.blob_versioned_hashes, &rules(Revision::Prague));
    assert_eq!(kept.as_ref(), Ok(&sidecar));
    let mut more = sidecar.clone();
    old_form(&mut more).proofs.push(Bytes48::ZERO);
    let text = "invalid number of 2 blob proofs expected 1";
    assert_eq!(refused(&tx, more, Revision::Prague), text);
    let text = "KZG verification error: invalid blob proof: ";
    for revision in [Revision::Prague, Revision::Osaka] {
        let mut infinite = Bytes48::ZERO;
        infinite.0[0] = 0xc0;
        let mut other = sidecar.clone();
        old_form(&mut other).proofs[0] = infinite;
        assert_eq!(refused(&tx, other, revision), format!("{text}invalid KZG proof"));
        // No point of the curve.
        let mut broken = sidecar.clone();
        old_form(&mut broken).proofs[0] = Bytes48::repeat_byte(0xff);
        let found = refused(&tx, broken, revision);
        assert!(found.starts_with(text), "{found}");
    }
}

#[test]
fn cells_have_proofs_from_osaka_on() {
    let (tx, sidecar) = made(1);
    let (hashes, osaka) = (&tx.blob_versioned_hashes, rules(Revision::Osaka));
    let cells = prove(sidecar, hashes, &osaka).unwrap();
    let Sidecar::Eip7594(inner) = &cells else { panic!("blob proofs stay") };
    assert_eq!(inner.cell_proofs.len(), CELLS_PER_EXT_BLOB);
    assert_eq!(prove(cells.clone(), hashes, &osaka).as_ref(), Ok(&cells));
    let text = "invalid sidecar version pre-osaka: 1";
    assert_eq!(refused(&tx, cells.clone(), Revision::Prague), text);
    let mut fewer = inner.clone();
    fewer.cell_proofs.pop();
    let text = "invalid number of 127 blob proofs expected 128";
    assert_eq!(refused(&tx, Sidecar::Eip7594(fewer), Revision::Osaka), text);
    let mut swapped = inner.clone();
    swapped.cell_proofs.swap(0, 1);
    let found = refused(&tx, Sidecar::Eip7594(swapped), Revision::Osaka);
    assert_eq!(found, "KZG verification error: invalid KZG proof");
}
