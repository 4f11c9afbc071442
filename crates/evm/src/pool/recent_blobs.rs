//! Blob transactions that the pool took in lately, with their sidecars: blocks have no blobs, and tools ask for them later.

use std::collections::VecDeque;

use alloy_consensus::Transaction as _;
use alloy_primitives::B256;

use super::transaction::PooledTx;

/// The last blob transactions, the newest at the end.
#[derive(Debug, Default)]
pub(super) struct RecentBlobs {
    txs: VecDeque<PooledTx>,
    /// Blobs of all of them.
    blobs: usize,
}

impl RecentBlobs {
    /// Adds a transaction, if it has blobs, and forgets the oldest ones beyond so many blobs.
    pub(super) fn add(&mut self, tx: &PooledTx, most: usize) {
        if tx.sidecar().is_none() || tx.blobs() > most || self.of_tx(&tx.hash()).is_some() {
            return;
        }
        self.txs.push_back(tx.clone());
        self.blobs += tx.blobs();
        while self.blobs > most {
            let Some(oldest) = self.txs.pop_front() else { return };
            self.blobs -= oldest.blobs();
        }
    }

    /// The transaction of a hash.
    pub(super) fn of_tx(&self, hash: &B256) -> Option<PooledTx> {
        self.txs.iter().find(|tx| tx.hash() == *hash).cloned()
    }

    /// A transaction with the blob of a versioned hash, and the place of that blob.
    pub(super) fn of_blob(&self, hash: &B256) -> Option<(PooledTx, usize)> {
        self.txs.iter().rev().find_map(|tx| {
            let hashes = tx.tx().blob_versioned_hashes()?;
            let place = hashes.iter().position(|of_blob| of_blob == hash)?;
            Some((tx.clone(), place))
        })
    }
}

#[cfg(test)]
mod tests {
    use alloy_consensus::{Signed, TxEip4844, TxEip4844Variant, TxEip4844WithSidecar};
    use alloy_eips::eip4844::Blob;
    use alloy_eips::eip7594::{BlobTransactionSidecarEip7594, BlobTransactionSidecarVariant};
    use alloy_primitives::{Address, Signature, U256};
    use esker_evm_state::types::Transaction;

    use super::*;

    /// A transaction of this hash, whose blobs have the hashes from `first` on.
    fn tx(hash: u8, first: u8, blobs: u8) -> PooledTx {
        let hashes = (first..first + blobs).map(B256::repeat_byte).collect::<Vec<_>>();
        let sidecar = BlobTransactionSidecarVariant::Eip7594(BlobTransactionSidecarEip7594 {
            blobs: vec![Blob::ZERO; hashes.len()],
            ..Default::default()
        });
        let tx = TxEip4844 { blob_versioned_hashes: hashes, ..TxEip4844::default() };
        let tx = TxEip4844WithSidecar::from_tx_and_sidecar(tx, sidecar);
        let tx = TxEip4844Variant::TxEip4844WithSidecar(tx);
        let signature = Signature::new(U256::from(1), U256::from(1), false);
        let signed = Signed::new_unchecked(tx, signature, B256::repeat_byte(hash));
        PooledTx::new(Transaction::Eip4844(signed), Address::ZERO, 0, 0)
    }

    #[test]
    fn the_newest_are_kept() {
        let mut recent = RecentBlobs::default();
        let has = |recent: &RecentBlobs| {
            [1, 2, 3, 4].map(|hash| recent.of_tx(&B256::repeat_byte(hash)).is_some())
        };
        recent.add(&tx(1, 10, 2), 4);
        recent.add(&tx(2, 12, 2), 4);
        // Once more, as after a replacement that was refused.
        recent.add(&tx(2, 12, 2), 4);
        assert_eq!((has(&recent), recent.blobs), ([true, true, false, false], 4));
        recent.add(&tx(3, 14, 1), 4);
        assert_eq!((has(&recent), recent.blobs), ([false, true, true, false], 3));
        // More than all that are kept.
        recent.add(&tx(4, 20, 5), 4);
        assert_eq!((has(&recent), recent.blobs), ([false, true, true, false], 3));
        let place = |hash: u8| {
            let found = recent.of_blob(&B256::repeat_byte(hash));
            found.map(|(tx, place)| (tx.hash(), place))
        };
        assert_eq!(place(13), Some((B256::repeat_byte(2), 1)));
        assert_eq!(place(14), Some((B256::repeat_byte(3), 0)));
        assert_eq!(place(10), None);
        // Without sidecars nothing is kept.
        recent.add(&tx(1, 10, 2).without_sidecar(), 4);
        assert!(!has(&recent)[0]);
        let mut none = RecentBlobs::default();
        none.add(&tx(1, 10, 1), 0);
        assert_eq!(none.blobs, 0);
    }
}
