//! Forwards transactions to the node that decides, if this node does not.

use std::ops::ControlFlow;
use std::sync::{Arc, Weak};

use alloy_eips::eip2718::{Decodable2718, Encodable2718};
use alloy_primitives::B256;
use esker_chain::forward::{
    AdmitError, ExchangePool, ForwardError, ForwardPool, ForwardedTx, SendAnswer, Submission,
    TxKind,
};
use esker_evm_state::types::Transaction;
use esker_primitives::Id;

use super::{Evm, SubmitError};
use crate::pool::{DropReason, PoolError};

/// A submitted transaction.
#[derive(Debug)]
pub struct SubmittedTx {
    /// Hash of the transaction.
    pub hash: B256,
    /// What the client's answer waits for: the source, or the block on a development node.
    pub answer: SendAnswer,
}

/// The pool of a chain, for the forwarding of the node.
#[derive(Debug)]
struct WaitingTxs(Weak<Evm>);

impl Evm {
    /// Registers the pool with the node's forwarding.
    pub(super) fn register_pool(self: &Arc<Self>) {
        if let Some(forwarding) = &self.context.forwarding {
            let pool = Arc::new(WaitingTxs(Arc::downgrade(self)));
            forwarding.register(self.context.chain_id, TxKind::Evm, pool);
        }
    }

    /// The pool for a node that exchanges transactions with other nodes that decide.
    pub fn exchange_pool(self: &Arc<Self>) -> Arc<dyn ExchangePool> {
        Arc::new(WaitingTxs(Arc::downgrade(self)))
    }

    /// As [`Self::submit`]; also forwards the transaction if another node decides.
    pub fn submit_and_forward(&self, tx: Transaction) -> Result<SubmittedTx, SubmitError> {
        self.check_impersonation(&tx)?;
        self.check_fetched(&tx)?;
        let permit = self.context.reserve_forward()?;
        let outgoing = permit.is_forwarding().then(|| self.forwarded_tx(&tx));
        let hash = self.submit_here(tx)?;
        let answer = match outgoing {
            Some(tx) => permit.send(Submission::New, || tx),
            None => self.answer_with_block(&hash),
        };
        Ok(SubmittedTx { hash, answer })
    }

    /// What the answer to a send waits for. The transaction is in the pool.
    pub(super) fn answer_with_block(&self, hash: &B256) -> SendAnswer {
        if !self.makes_blocks_at_once() {
            return SendAnswer::Now;
        }
        self.context.answer_with_block(Id::new(hash.0), || {
            let (pooled, base_fee) =
                (self.pool.get(hash), self.next_block().map(|next| next.base_fee));
            matches!((pooled, base_fee), (Some((tx, true)), Ok(base_fee)) if tx.fee_cap() >= base_fee)
        })
    }

    /// Whether clients may send transactions at all.
    ///
    /// # Errors
    /// The node is read-only.
    pub fn check_sending(&self) -> Result<(), ForwardError> {
        self.context.check_sending()
    }

    /// A transaction in the form that is sent to a source.
    fn forwarded_tx(&self, tx: &Transaction) -> ForwardedTx {
        ForwardedTx {
            chain: self.context.chain_id,
            kind: TxKind::Evm,
            id: id_of(tx),
            bytes: tx.encoded_2718().into(),
        }
    }
}

fn id_of(tx: &Transaction) -> Id {
    Id::new(tx.tx_hash().0)
}

impl ForwardPool for WaitingTxs {
    fn is_in_block(&self, id: &Id) -> bool {
        self.0.upgrade().is_some_and(|evm| evm.is_mined(&B256::new(*id.as_bytes())))
    }

    fn withdraw(&self, id: &Id, error: &ForwardError) {
        if let Some(evm) = self.0.upgrade() {
            let reason = DropReason::Source(error.reason());
            let now_ms = evm.context.clock.now_ms();
            evm.pool.withdraw(&B256::new(*id.as_bytes()), reason, now_ms);
        }
    }

    fn visit_waiting(&self, visit: &mut dyn FnMut(ForwardedTx) -> ControlFlow<()>) {
        let Some(evm) = self.0.upgrade() else { return };
        for pooled in evm.pool.waiting() {
            if visit(evm.forwarded_tx(&pooled.sent_form())).is_break() {
                return;
            }
        }
    }
}

impl ExchangePool for WaitingTxs {
    fn is_waiting(&self, id: &Id) -> bool {
        self.0.upgrade().is_some_and(|evm| evm.pool.contains(&B256::new(*id.as_bytes())))
    }

    fn waiting(&self, id: &Id) -> Option<ForwardedTx> {
        let evm = self.0.upgrade()?;
        let (pooled, _) = evm.pool.get(&B256::new(*id.as_bytes()))?;
        Some(evm.forwarded_tx(&pooled.sent_form()))
    }

    fn visit_waiting_ids(&self, visit: &mut dyn FnMut(Id) -> ControlFlow<()>) {
        let Some(evm) = self.0.upgrade() else { return };
        let waiting = evm.pool.waiting();
        let _stopped = waiting.iter().try_for_each(|pooled| visit(id_of(pooled.tx())));
    }

    fn admit(&self, tx: &ForwardedTx) -> Result<(), AdmitError> {
        let Some(evm) = self.0.upgrade() else { return Ok(()) };
        let parsed = Transaction::decode_2718_exact(&tx.bytes).map_err(AdmitError::malformed)?;
        if parsed.tx_hash().0 != *tx.id.as_bytes() {
            let found = parsed.tx_hash().to_string();
            return Err(AdmitError::OtherId { name: "hash", found });
        }
        match evm.submit_here(parsed) {
            Ok(_) | Err(SubmitError::Pool(PoolError::AlreadyKnown)) => Ok(()),
            Err(error) => Err(AdmitError::refused(error)),
        }
    }
}
