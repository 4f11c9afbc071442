//! Keeps the mempool and the wallet's queue across a restart.

use std::collections::HashSet;

use bytes::Bytes;
use esker_primitives::TxId;
use esker_transactions::xvm::Tx;

use super::issue::IssueError;
use super::issue_built::BuiltError;
use super::parts::Xvm;
use crate::pool::RejectKind;

/// The first byte of an entry: a verified transaction follows, or one of the wallet's queue.
const VERIFIED: u8 = 0;
const WALLET: u8 = 1;

impl Xvm {
    /// All waiting transactions, in an order in which they can be issued again. Those of undecided blocks of other nodes
    /// come after the pool's: of two that consume the same, the pool's waits again.
    pub(crate) fn journal(&self) -> Vec<Bytes> {
        let queue = self.wallet_pending();
        let mut known: HashSet<TxId> = queue.iter().map(Tx::id).collect();
        let (pooled, _) = self.mempool.candidates(0, usize::MAX, &known);
        known.extend(pooled.iter().map(|pooled| pooled.tx.id()));
        let mut undecided = self.undecided.txs();
        undecided.retain(|tx| known.insert(tx.id()));
        let entry = |kind, tx: &Tx| Bytes::from([&[kind], tx.bytes().as_ref()].concat());
        let verified = pooled.iter().map(|pooled| &pooled.tx).chain(&undecided);
        let verified = verified.map(|tx| entry(VERIFIED, tx));
        verified.chain(queue.iter().map(|tx| entry(WALLET, tx))).collect()
    }

    /// Removes all that waits, the wallet's queue first: its oldest one is in the mempool.
    pub(crate) fn empty_pools(&self) {
        for tx in self.wallet_pending() {
            self.wallet.remove(&tx.id());
        }
        let (pooled, _) = self.mempool.candidates(0, usize::MAX, &HashSet::new());
        let ids: Vec<TxId> = pooled.iter().map(|pooled| pooled.tx.id()).collect();
        self.mempool.remove(&ids);
    }

    /// Issues an entry of [`Self::journal`] again; true if it waits.
    pub(crate) fn restore(&self, entry: &[u8]) -> bool {
        let (is_verified, bytes) = match entry.split_first() {
            Some((&VERIFIED, bytes)) => (true, bytes),
            Some((&WALLET, bytes)) => (false, bytes),
            Some(_) | None => return self.skip("it is of no known kind"),
        };
        let Ok(tx) = Tx::parse(bytes) else { return self.skip("it does not decode") };
        let id = tx.id();
        let restored = match is_verified {
            true => self.restore_verified(tx),
            false => self.enqueue(&tx).map(|_| ()),
        };
        let Err(error) = restored else { return true };
        // The node may have been killed after it took the journal in, and before it removed it.
        if !self.is_accepted(&id).unwrap_or(false) {
            let reason = format!("refused after a restart: {error}");
            tracing::info!(chain = self.context().primary_alias(), %id, reason, "transaction rejected");
            self.reject(id, RejectKind::Restart, reason);
        }
        false
    }

    /// It may spend outputs of those before it.
    fn restore_verified(&self, tx: Tx) -> Result<(), IssueError> {
        match self.join_built(tx, &self.view()?) {
            Ok(_) => Ok(()),
            Err(BuiltError::CoinsTaken(error) | BuiltError::Refused(error)) => Err(error),
        }
    }

    fn skip(&self, why: &str) -> bool {
        tracing::error!(
            chain = self.context().primary_alias(),
            why,
            "an entry of the pool journal is skipped"
        );
        false
    }
}
