//! How a transaction is passed on to the node that decides, if this one does not.

use esker_chain::forward::{ForwardedTx, SendAnswer, TxKind};
use esker_primitives::ids::TxId;
use esker_transactions::nat::AtomicTx;

use super::parts::Nat;

/// A transaction that waits for a block.
#[derive(Debug)]
pub struct SubmittedTx {
    /// Its ID.
    pub id: TxId,
    /// The condition that the client's answer waits for: the source, or on a development node the block.
    pub answer: SendAnswer,
}

impl Nat {
    /// A transaction as it goes to a source.
    pub(super) fn forwarded(&self, tx: &AtomicTx) -> ForwardedTx {
        let bytes = tx.bytes().clone();
        ForwardedTx { chain: self.context().chain_id, kind: TxKind::Atomic, id: tx.id(), bytes }
    }
}
