//! Roots of the state in receipts, before Byzantium.

use esker_evm_execution::rules::Revision;
use esker_evm_state::types::{Receipt, Transaction};

use super::{ALICE, CODE, Lab, deploying, legacy};

/// Code that stores the first word of its input in slot 0, and destroys itself if the second one is set.
const CODE_OF_BOTH: [u8; 17] =
    [0x60, 0, 0x35, 0x60, 0, 0x55, 0x60, 32, 0x35, 0x60, 13, 0x57, 0, 0x5b, 0x60, 0, 0xff];

fn words(first: u8, second: u8) -> Vec<u8> {
    let word = |byte| [&[0; 31][..], &[byte]].concat();
    [word(first), word(second)].concat()
}

/// Stores, clears, creates, destroys, and sends to what is gone.
fn transactions() -> Vec<Transaction> {
    let (call, none) = (Some(CODE), Vec::new());
    let created = ALICE.create(2);
    [
        (call, words(5, 0), 0),
        (call, words(0, 0), 0),
        (None, deploying(&CODE_OF_BOTH).to_vec(), 3),
        (Some(created), words(7, 0), 0),
        (Some(created), words(8, 0), 0),
        (Some(created), words(9, 1), 0),
        (Some(created), none.clone(), 2),
        (call, words(6, 0), 0),
        (call, words(6, 1), 0),
        (call, none, 1),
    ]
    .into_iter()
    .zip(0..)
    .map(|((to, input, value), nonce)| legacy(nonce, to, &input, value))
    .collect()
}

fn receipts(lab: &mut Lab, txs: &[Transaction]) -> Vec<Receipt> {
    lab.in_block(|block| {
        txs.iter().map(|tx| block.execute(tx, Some(ALICE)).unwrap().clone()).collect()
    })
}

/// A protected signature is invalid before EIP-155.
fn unprotected(revision: Revision, txs: Vec<Transaction>) -> Vec<Transaction> {
    use alloy_consensus::SignableTransaction as _;
    if revision >= Revision::SpuriousDragon {
        return txs;
    }
    let strip = |tx: Transaction| {
        let mut legacy = tx.as_legacy().unwrap().tx().clone();
        legacy.chain_id = None;
        legacy.into_signed(alloy_primitives::Signature::test_signature()).into()
    };
    txs.into_iter().map(strip).collect()
}

#[test]
fn each_receipt_has_the_root_after_its_transaction() {
    for revision in [Revision::Frontier, Revision::TangerineWhistle, Revision::SpuriousDragon] {
        let txs = unprotected(revision, transactions());
        let mut one_by_one = Lab::of_revision(revision, true, &CODE_OF_BOTH);
        let roots: Vec<_> = txs
            .iter()
            .map(|tx| {
                let receipt = receipts(&mut one_by_one, std::slice::from_ref(tx)).remove(0);
                assert_eq!(receipt.state_root, Some(one_by_one.parent.state_root));
                receipt.state_root
            })
            .collect();
        let mut at_once = Lab::of_revision(revision, true, &CODE_OF_BOTH);
        let found = receipts(&mut at_once, &txs);
        let found: Vec<_> = found.into_iter().map(|receipt| receipt.state_root).collect();
        assert_eq!(found, roots, "{revision:?}");
        assert_eq!(at_once.parent.state_root, one_by_one.parent.state_root, "{revision:?}");
    }
    let mut later = Lab::of_revision(Revision::Byzantium, true, &CODE_OF_BOTH);
    let found = receipts(&mut later, &transactions());
    assert!(found.iter().all(|receipt| receipt.state_root.is_none()));
}
