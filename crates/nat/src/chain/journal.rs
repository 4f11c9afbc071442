//! Taking in again what waited when the node stopped.

use esker_chain::ChainContext;
use esker_transactions::nat::AtomicTx;

use crate::pool::{AtomicPool, DropKind};
use crate::state::tables::AcceptedTx;

/// Takes a transaction in; true if it waits again. As with one whose block was abandoned, the builder verifies it
/// when it comes to it, and gives it up with the reason where it is not valid any more.
pub(crate) fn restore_tx(context: &ChainContext, pool: &AtomicPool, bytes: &[u8]) -> bool {
    let tx = match AtomicTx::parse(bytes) {
        Ok(tx) => tx,
        Err(error) => {
            tracing::error!(chain = context.primary_alias(), %error, "an atomic transaction of the pool journal is skipped");
            return false;
        }
    };
    let id = tx.id();
    // The node may have been killed after it took the journal in, and before it removed it.
    let is_accepted = context.store.snapshot().is_ok_and(|reader| {
        AcceptedTx::get(reader.as_ref(), context.scope, &id).is_ok_and(|found| found.is_some())
    });
    if is_accepted {
        return false;
    }
    match pool.add(tx) {
        Ok(()) => {
            context.work.notify_one();
            true
        }
        Err(error) => {
            let reason = format!("refused after a restart: {error}");
            tracing::info!(chain = context.primary_alias(), txID = %id, reason, "atomic transaction dropped");
            pool.note_dropped(id, DropKind::Restart, reason);
            false
        }
    }
}
