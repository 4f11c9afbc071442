//! The status of a transaction.

use esker_primitives::ids::TxId;
use esker_storage::StorageResult;
use esker_transactions::nat::AtomicTx;

use super::parts::Nat;
use crate::pool::PoolStatus;
use crate::state::tables::AcceptedTx;

/// The status of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AtomicStatus {
    /// In the accepted block of this height.
    Accepted(u64),
    /// Waits for a block, or is in one that is being decided on.
    Processing,
    /// Given up, for this reason.
    Dropped(String),
}

impl Nat {
    /// The status of a transaction at this node; `None` if it is unknown.
    pub fn status(&self, id: &TxId) -> StorageResult<Option<AtomicStatus>> {
        if let Some((_, status)) = self.find(id)? {
            return Ok(Some(status));
        }
        let reader = self.context().store.snapshot()?;
        let dropped = self.pool().drop_log().get(reader.as_ref(), self.context().scope, id)?;
        Ok(dropped.map(|dropped| AtomicStatus::Dropped(dropped.reason)))
    }

    /// A transaction that is accepted, waits or was given up lately, and where it is.
    pub fn find(&self, id: &TxId) -> StorageResult<Option<(AtomicTx, AtomicStatus)>> {
        // In this order: what leaves the pool as accepted is in the store by then.
        let pooled = self.pool().get(id);
        let reader = self.context().store.snapshot()?;
        if let Some(accepted) = AcceptedTx::get(reader.as_ref(), self.context().scope, id)? {
            let status = match accepted.height <= self.evm.head().header.number {
                true => AtomicStatus::Accepted(accepted.height),
                // Its commit is in the store a moment before the chain follows.
                false => AtomicStatus::Processing,
            };
            return Ok(Some((accepted.tx()?, status)));
        }
        Ok(pooled.map(|(tx, status)| match status {
            PoolStatus::Pending | PoolStatus::Issued => (tx, AtomicStatus::Processing),
            PoolStatus::Dropped(reason) => (tx, AtomicStatus::Dropped(reason)),
        }))
    }
}
