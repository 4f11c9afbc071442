//! How a transaction is passed on to the node that decides, if this one does not.

use esker_chain::forward::{ForwardedTx, SendAnswer, TxKind};
use esker_primitives::TxId;
use esker_transactions::xvm::Tx;

use super::parts::Xvm;

/// A transaction that waits for a block.
#[derive(Debug)]
pub struct Issued {
    /// Its ID.
    pub id: TxId,
    /// The condition that the client's answer waits for: the source, or on a development node the block.
    pub answer: SendAnswer,
}

impl Xvm {
    /// A transaction as it goes to a source.
    pub(crate) fn forwarded(&self, tx: &Tx) -> ForwardedTx {
        let waits = |id: &TxId| self.mempool.contains(id) || self.wallet.contains(id);
        let kind = match parents(tx).any(|parent| waits(&parent)) {
            true => TxKind::AssetWallet,
            false => TxKind::Asset,
        };
        self.forwarded_as(kind, tx)
    }

    pub(crate) fn forwarded_as(&self, kind: TxKind, tx: &Tx) -> ForwardedTx {
        let (chain, id) = (self.context().chain_id, tx.id());
        ForwardedTx { chain, kind, id, bytes: tx.bytes().clone() }
    }
}

/// The transactions whose outputs, or whose assets, a transaction uses.
pub(super) fn parents(tx: &Tx) -> impl Iterator<Item = TxId> {
    let spent = tx.unsigned().local_utxo_ids().map(|id| id.tx_id);
    spent.chain(tx.unsigned().base().inputs.iter().map(|input| input.asset_id))
}
