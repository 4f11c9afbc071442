//! The transactions that wait for a block, for the node's forwarding and for its exchange with other nodes.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::{Arc, Weak};

use esker_chain::forward::{
    AdmitError, ExchangePool, ForwardError, ForwardPool, ForwardedTx, TxKind,
};
use esker_evm::chain::Evm;
use esker_primitives::ids::Id;
use esker_transactions::nat::{AccountNonce, AtomicTx};

use super::parts::{AtomicExtension, Nat};
use crate::pool::PoolStatus;
use crate::state::tables::AcceptedTx;

/// The pool of a chain's atomic transactions.
#[derive(Debug)]
struct WaitingTxs {
    evm: Weak<Evm>,
    extension: Weak<AtomicExtension>,
}

impl WaitingTxs {
    fn nat(&self) -> Option<Nat> {
        Some(Nat::over(self.evm.upgrade()?, self.extension.upgrade()?))
    }
}

/// Lets the node's forwarding submit what waits here.
pub(super) fn register(nat: &Nat) {
    if let Some(forwarding) = &nat.context().forwarding {
        let pool = WaitingTxs { evm: Arc::downgrade(nat.evm()), extension: nat.weak_extension() };
        forwarding.register(nat.context().chain_id, TxKind::Atomic, Arc::new(pool));
    }
}

impl Nat {
    /// The transactions that wait here, for a node that passes them to other validators.
    pub fn exchange_pool(&self) -> Arc<dyn ExchangePool> {
        let extension = self.weak_extension();
        Arc::new(WaitingTxs { evm: Arc::downgrade(self.evm()), extension })
    }

    /// Whether an export has to wait for transactions of its accounts that wait here: a source verifies it on the
    /// accepted state only.
    fn follows_waiting(&self, tx: &AtomicTx) -> bool {
        let own: BTreeSet<AccountNonce> = tx.unsigned().account_nonces().collect();
        let mut before = own.iter().filter_map(|nonce| nonce.previous());
        before.any(|before| {
            let in_evm = || self.evm().pool().get_by_nonce(&before.account, before.nonce).is_some();
            !own.contains(&before) && (self.pool().is_used(&before) || in_evm())
        })
    }
}

impl ForwardPool for WaitingTxs {
    fn is_in_block(&self, id: &Id) -> bool {
        let Some(nat) = self.nat() else { return false };
        let is_issued = nat.pool().get(id).is_some_and(|(_, status)| status == PoolStatus::Issued);
        let is_accepted = || -> bool {
            let (context, found) = (nat.context(), nat.context().store.snapshot());
            found
                .and_then(|reader| AcceptedTx::get(reader.as_ref(), context.scope, id))
                .is_ok_and(|found| found.is_some())
        };
        is_issued || is_accepted()
    }

    fn has_pending_dependencies(&self, id: &Id) -> bool {
        let Some(nat) = self.nat() else { return false };
        let waiting = nat.pool().get(id).filter(|_| nat.pool().contains(id));
        waiting.is_some_and(|(tx, _)| nat.follows_waiting(&tx))
    }

    fn withdraw(&self, id: &Id, error: &ForwardError) {
        if let Some(nat) = self.nat() {
            nat.pool().withdraw(id, error.reason());
        }
    }

    fn visit_waiting(&self, visit: &mut dyn FnMut(ForwardedTx) -> ControlFlow<()>) {
        let Some(nat) = self.nat() else { return };
        for tx in nat.pool().first_spenders() {
            if visit(nat.forwarded(&tx)).is_break() {
                return;
            }
        }
    }
}

impl ExchangePool for WaitingTxs {
    fn is_waiting(&self, id: &Id) -> bool {
        self.nat().is_some_and(|nat| nat.pool().contains(id))
    }

    fn waiting(&self, id: &Id) -> Option<ForwardedTx> {
        let nat = self.nat()?;
        let (tx, _) = nat.pool().get(id).filter(|_| nat.pool().contains(id))?;
        Some(nat.forwarded(&tx))
    }

    fn visit_waiting_ids(&self, visit: &mut dyn FnMut(Id) -> ControlFlow<()>) {
        let Some(nat) = self.nat() else { return };
        let _stopped = nat.pool().first_spenders().iter().try_for_each(|tx| visit(tx.id()));
    }

    fn admit(&self, tx: &ForwardedTx) -> Result<(), AdmitError> {
        let Some(nat) = self.nat() else { return Ok(()) };
        let parsed = AtomicTx::parse(&tx.bytes).map_err(AdmitError::malformed)?;
        if parsed.id() != tx.id {
            return Err(AdmitError::OtherId { name: "ID", found: parsed.id().to_string() });
        }
        nat.submit(parsed).map(|_id| ()).map_err(AdmitError::refused)
    }
}
