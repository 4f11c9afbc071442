//! The transactions that wait for a block, for the node's forwarding and for its exchange with other nodes.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::{Arc, Weak};

use esker_chain::forward::{
    AdmitError, ExchangePool, ForwardError, ForwardPool, ForwardedTx, TxKind,
};
use esker_primitives::{Id, TxId};
use esker_transactions::xvm::Tx;

use super::forward::parents;
use super::parts::Xvm;
use crate::pool::RejectKind;

/// Bytes of waiting transactions that are looked at together.
const PAGE_BYTES: usize = 1 << 20;

/// The pool and the wallet's queue of a chain.
#[derive(Debug)]
struct WaitingTxs(Weak<Xvm>);

/// Lets the node's forwarding submit what waits here.
pub(super) fn register(vm: &Arc<Xvm>) {
    if let Some(forwarding) = &vm.context().forwarding {
        let pool = Arc::new(WaitingTxs(Arc::downgrade(vm)));
        forwarding.register(vm.context().chain_id, TxKind::Asset, pool);
    }
}

impl Xvm {
    /// The transactions that wait here, for a node that passes them to other validators.
    pub fn exchange_pool(self: &Arc<Self>) -> Arc<dyn ExchangePool> {
        Arc::new(WaitingTxs(Arc::downgrade(self)))
    }

    /// Visits what waits, those that others depend on first, until `visit` breaks.
    fn visit_waiting(&self, visit: &mut dyn FnMut(&Tx) -> ControlFlow<()>) {
        let mut seen = HashSet::new();
        let mut next = 0;
        loop {
            let (page, after) = self.mempool.candidates(next, PAGE_BYTES, &HashSet::new());
            if page.is_empty() {
                break;
            }
            next = after;
            for pooled in page {
                seen.insert(pooled.tx.id());
                if visit(&pooled.tx).is_break() {
                    return;
                }
            }
        }
        for tx in self.wallet_pending().iter().filter(|tx| !seen.contains(&tx.id())) {
            if visit(tx).is_break() {
                return;
            }
        }
    }

    fn waiting_tx(&self, id: &TxId) -> Option<Tx> {
        self.mempool.get(id).map(|pooled| pooled.tx.clone()).or_else(|| self.wallet.get(id))
    }
}

impl ForwardPool for WaitingTxs {
    fn is_in_block(&self, id: &Id) -> bool {
        let Some(vm) = self.0.upgrade() else { return false };
        vm.undecided.has_tx(id) || vm.is_accepted(id).unwrap_or(false)
    }

    fn has_pending_dependencies(&self, id: &Id) -> bool {
        let Some(vm) = self.0.upgrade() else { return false };
        let (Some(tx), Some(forwarding)) = (vm.waiting_tx(id), &vm.context().forwarding) else {
            return false;
        };
        let chain = vm.context().chain_id;
        // The source can't verify it before it has these.
        parents(&tx).any(|parent| {
            (vm.mempool.contains(&parent) || vm.wallet.contains(&parent))
                && !forwarding.is_acknowledged(chain, TxKind::Asset, parent)
        })
    }

    fn withdraw(&self, id: &Id, error: &ForwardError) {
        let Some(vm) = self.0.upgrade() else { return };
        if !vm.mempool.contains(id) && !vm.wallet.contains(id) {
            return;
        }
        for (id, reason) in vm.with_descendants(*id, error.reason()) {
            vm.mempool.remove([&id]);
            vm.reject(id, RejectKind::Source, reason);
            vm.wallet_decided(&id);
        }
        vm.maintenance.wake();
    }

    fn visit_waiting(&self, visit: &mut dyn FnMut(ForwardedTx) -> ControlFlow<()>) {
        let Some(vm) = self.0.upgrade() else { return };
        vm.visit_waiting(&mut |tx| visit(vm.forwarded(tx)));
    }
}

impl ExchangePool for WaitingTxs {
    fn is_waiting(&self, id: &Id) -> bool {
        self.0.upgrade().is_some_and(|vm| vm.mempool.contains(id) || vm.wallet.contains(id))
    }

    fn waiting(&self, id: &Id) -> Option<ForwardedTx> {
        let vm = self.0.upgrade()?;
        vm.waiting_tx(id).map(|tx| vm.forwarded(&tx))
    }

    fn visit_waiting_ids(&self, visit: &mut dyn FnMut(Id) -> ControlFlow<()>) {
        let Some(vm) = self.0.upgrade() else { return };
        vm.visit_waiting(&mut |tx| visit(tx.id()));
    }

    fn admit(&self, tx: &ForwardedTx) -> Result<(), AdmitError> {
        let Some(vm) = self.0.upgrade() else { return Ok(()) };
        let parsed = Tx::parse(&tx.bytes).map_err(AdmitError::malformed)?;
        if parsed.id() != tx.id {
            return Err(AdmitError::OtherId { name: "ID", found: parsed.id().to_string() });
        }
        let admitted = match tx.kind {
            // Outputs that it spends are not accepted yet, so it can't be verified.
            TxKind::AssetWallet => vm.enqueue(&parsed).map(|_added| ()),
            TxKind::Asset | TxKind::Atomic | TxKind::Evm => vm.issue_tx(parsed).map(|_id| ()),
        };
        admitted.map_err(AdmitError::refused)
    }
}
