//! Submits transactions to the pool.

use std::sync::atomic::Ordering;

use alloy_consensus::Transaction as _;
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, B256, KECCAK256_EMPTY, U512};
use esker_chain::forward::TxKind;
use esker_evm_execution::executor::{
    SenderError, check_chain_id, check_form, recover_signer, sender_of, set_chain_id_in,
};
use esker_evm_execution::rules::RuleError;
use esker_evm_state::state::StateError;
use esker_evm_state::types::Transaction;
use esker_primitives::Id;
use esker_storage::KvRead;

use super::vm::Evm;
use super::{ChainView, SubmitError};
use crate::pool::{
    AccountRead, AccountState, NextBlock, PoolError, PooledTx, RefusedTxs, before_recovery,
    refuse_value,
};

/// Most times that a transaction is checked again because of rewinds.
const MAX_REWIND_RETRIES: usize = 3;

impl Evm {
    /// Parameters of the next block at the clock's time.
    ///
    /// # Errors
    /// The chain has no rules for it.
    pub fn next_block(&self) -> Result<NextBlock, RuleError> {
        let head = self.head();
        let time = self.params.rules.child_time(&head.header, self.context.clock.now_s());
        let terms = self.params.rules.next_terms(&head.header, time)?;
        Ok(NextBlock {
            rules: terms.execution,
            gas_limit: terms.gas_limit,
            base_fee: terms.base_fee.saturating_to(),
            min_base_fee: terms.min_base_fee.saturating_to(),
        })
    }

    /// Submits a transaction to the pool. Recovers its signature, so call it off the async threads.
    pub fn submit(&self, tx: Transaction) -> Result<B256, SubmitError> {
        self.submit_and_forward(tx).map(|submitted| submitted.hash)
    }

    /// As [`Self::submit`], without forwarding the transaction.
    pub(super) fn submit_here(&self, tx: Transaction) -> Result<B256, SubmitError> {
        let hash = *tx.tx_hash();
        let submitted = self.submit_uncounted(tx, self.config.pool.refused);
        if let Err(error) = &submitted {
            self.log_refused(&hash, error);
        }
        if let Err(SubmitError::Pool(error)) = &submitted {
            self.pool.count_refused(error);
        }
        submitted
    }

    fn log_refused(&self, hash: &B256, error: &SubmitError) {
        tracing::debug!(chain = self.context.primary_alias(), %hash, %error, "transaction refused");
    }

    /// Like [`Self::submit_here`], but does not count a refusal in the metrics, and refuses only these for the next block.
    pub(super) fn submit_uncounted(
        &self,
        tx: Transaction,
        refused: RefusedTxs,
    ) -> Result<B256, SubmitError> {
        let hash = *tx.tx_hash();
        if self.pool.contains(&hash) {
            return Err(PoolError::AlreadyKnown.into());
        }
        self.context.store.ensure_writable()?;
        let next = self.next_block()?;
        before_recovery(&tx, tx.encode_2718_len(), &next)?;
        let sender = self.sender_in(&next, &tx)?;
        let now_ms = self.context.clock.now_ms();
        let arrival = self.arrivals.fetch_add(1, Ordering::Relaxed);
        let tx = PooledTx::new(tx, sender, arrival, now_ms);
        tx.check_blobs(&next.rules).map_err(PoolError::from)?;
        if tx.has_costly_checks() {
            // Proofs and further signatures cost too much for a sender who can't pay.
            self.pool.check_alone(&tx, &self.read_account(&sender)?.state, &next)?;
        }
        let tx = tx.with_checked_proofs(&next.rules).map_err(PoolError::from)?;
        // Recovered here, so that the locked pool does not do it.
        let _authorities = tx.authorities();
        let mut rewinds_met = 0;
        loop {
            let admission = self.pool.admit(tx.clone()).refusing(self.refused_now(refused));
            // The account is read only now, because the pool tracks it from here on.
            let reader = self.context.store.snapshot()?;
            let read = self.account_in(reader.as_ref(), &sender)?;
            self.refuse_repeated(reader.as_ref(), &tx, &read.state)?;
            drop(reader);
            match admission.decide(read, &self.next_block()?, now_ms) {
                Err(PoolError::Rewound) if rewinds_met < MAX_REWIND_RETRIES => rewinds_met += 1,
                decided => break decided?,
            }
        }
        self.context.announce(TxKind::Evm, Id::new(hash.0));
        self.context.work.notify_one();
        Ok(hash)
    }

    /// Refuses a transaction that is in a block already. Where a client set a nonce to a lower one, the nonce is valid
    /// again.
    fn refuse_repeated(
        &self,
        reader: &dyn KvRead,
        tx: &PooledTx,
        account: &AccountState,
    ) -> Result<(), SubmitError> {
        if self.controls().is_none() || tx.nonce() < account.nonce {
            return Ok(());
        }
        match self.view(reader).location(&tx.hash())? {
            Some(_) => Err(PoolError::AlreadyKnown.into()),
            None => Ok(()),
        }
    }

    /// Those of these transactions that are refused now.
    fn refused_now(&self, refused: RefusedTxs) -> RefusedTxs {
        let makes_blocks_at_once = self.controls().is_some_and(|controls| controls.automine());
        match refused {
            RefusedTxs::NotInNextBlock if !makes_blocks_at_once => RefusedTxs::None,
            refused => refused,
        }
    }

    /// The sender of a transaction for the next block.
    fn sender_in(&self, next: &NextBlock, tx: &Transaction) -> Result<Address, SubmitError> {
        let sender = || {
            check_form(&next.rules, tx)?;
            sender_of(tx, &*self.params.rules)
        };
        let chain_id = self.chain_id()?;
        let sender = sender().and_then(|sender| check_chain_id(tx, chain_id).map(|()| sender));
        sender.map_err(|error| match error {
            SenderError::Type => PoolError::TypeNotSupported.into(),
            SenderError::Signature | SenderError::ChainId { .. } => PoolError::InvalidSender.into(),
        })
    }

    /// The chain ID of the next block.
    ///
    /// # Errors
    /// The state can't be read.
    pub fn chain_id(&self) -> Result<u64, StateError> {
        let rules = &*self.params.rules;
        if !rules.has_control_values() {
            return Ok(rules.chain_id());
        }
        let reader = self.context.store.snapshot()?;
        let state = self.view(reader.as_ref()).latest_state();
        Ok(set_chain_id_in(state, rules.storage_keys())?.unwrap_or_else(|| rules.chain_id()))
    }

    /// Why a transaction with a value above 256 bits, which `tx` can't represent, is refused. The checks are those of
    /// [`Self::submit`]; `hash` is the transaction's, `signed_hash` is the hash that the sender signed.
    pub fn refuse_value(
        &self,
        tx: Transaction,
        value: U512,
        hash: B256,
        signed_hash: B256,
    ) -> SubmitError {
        let refuse = || {
            let next = self.next_block()?;
            before_recovery(&tx, tx.encode_2718_len(), &next)?;
            let chain_id = self.chain_id()?;
            let is_here = tx.chain_id().is_none_or(|id| id == chain_id);
            let sender = recover_signer(tx.signature(), &signed_hash).filter(|_| is_here);
            let sender = sender.ok_or(PoolError::InvalidSender)?;
            let state = self.read_account(&sender)?.state;
            let tx = PooledTx::new(tx.clone(), sender, 0, self.context.clock.now_ms());
            Ok(refuse_value(&tx, value, &state, &self.config.pool, &next))
        };
        let error = refuse().map_or_else(|error: SubmitError| error, Into::into);
        self.log_refused(&hash, &error);
        error
    }

    /// An account in the newest stored state.
    pub(super) fn read_account(&self, address: &Address) -> Result<AccountRead, SubmitError> {
        self.account_in(self.context.store.snapshot()?.as_ref(), address)
    }

    fn account_in(
        &self,
        reader: &dyn KvRead,
        address: &Address,
    ) -> Result<AccountRead, SubmitError> {
        let view = self.view(reader);
        let account = view.latest_state().account(address)?.unwrap_or_default();
        let state = AccountState { nonce: account.nonce, balance: account.balance };
        let has_code = account.code_hash != KECCAK256_EMPTY;
        Ok(AccountRead { state, height: view.tip()?.height, has_code })
    }
}

/// An account in the newest state of a view.
pub(super) fn newest(view: &ChainView<'_>, address: &Address) -> Result<AccountState, StateError> {
    let account = view.latest_state().account(address)?.unwrap_or_default();
    Ok(AccountState { nonce: account.nonce, balance: account.balance })
}
