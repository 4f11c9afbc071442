//! The chain as services see it: what they submit, and what they ask about atomic transactions.

use std::sync::{Arc, Weak};

use alloy_primitives::U256;
use esker_chain::ChainContext;
use esker_chain::forward::{ForwardError, ForwardPermit, SendAnswer, Submission, TxKind};
use esker_evm::chain::{ChainReadError, Evm};
use esker_evm_execution::executor::{NoHashes, StateOverlay};
use esker_evm_execution::rules::{FeeRuleError, MAX_ATOMIC_GAS, PhaseRules};
use esker_evm_state::state::StateError;
use esker_primitives::ids::TxId;
use esker_storage::{KvRead, StorageError, StorageResult};
use esker_transactions::nat::{AccountNonce, AtomicTx};

use crate::accounts::PendingAccounts;
use crate::extension::{AtomicExtension, MAX_BUILT_BYTES};
use crate::forward::Submitted;
use crate::pool::{AtomicPool, JoinError, PoolError, PoolStatus};
use crate::tables::AcceptedTx;
use crate::transfer::{TransferError, transfer};
use crate::verify::VerifyError;
use crate::verify::semantic::{CheckError, VerifyContext};

/// Why a transaction was not taken. What `Display` shows is what clients of the reference see.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// Longer than what a block may carry.
    #[error("tx size ({0}) exceeds total atomic txs size target ({MAX_BUILT_BYTES})")]
    TooLong(usize),
    /// More gas than a block may use.
    #[error("tx gas usage ({0}) exceeds atomic gas limit ({MAX_ATOMIC_GAS})")]
    TooMuchGas(u64),
    /// It is invalid on the last accepted state.
    #[error(transparent)]
    Invalid(#[from] VerifyError),
    /// The pool refused it.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// The fees of the next block can't be computed.
    #[error(transparent)]
    Fees(#[from] FeeRuleError),
    /// Others took what it spends, or the chain moved on, again and again.
    #[error("the chain moved on while the transaction was verified; try again")]
    Outdated,
    /// The node passes no transactions on, or too many already.
    #[error(transparent)]
    Forward(#[from] ForwardError),
    /// State can't be read.
    #[error(transparent)]
    State(#[from] StateError),
}

/// Why a transaction that was built for a user was not taken.
#[derive(Debug)]
pub(crate) enum BuiltError {
    /// What it spends was taken after it was chosen, or the chain moved on: on the state of now it may do.
    Outdated,
    /// For good.
    Refused(SubmitError),
}

impl<E: Into<SubmitError>> From<E> for BuiltError {
    fn from(error: E) -> Self {
        Self::Refused(error.into())
    }
}

/// How often a transaction is verified that blocks overtake meanwhile.
const MAX_CHECKS: usize = 8;

impl From<StorageError> for SubmitError {
    fn from(error: StorageError) -> Self {
        StateError::from(error).into()
    }
}

/// Where a transaction is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AtomicStatus {
    /// In the accepted block of this height.
    Accepted(u64),
    /// Waits for a block, or is in one that is being decided on.
    Processing,
    /// Given up, for this reason.
    Dropped(String),
}

/// The C-Chain and its atomic transactions.
#[derive(Clone, Debug)]
pub struct Nat {
    evm: Arc<Evm>,
    extension: Arc<AtomicExtension>,
}

impl Nat {
    /// The chain `evm`, which was made with `extension`.
    pub fn new(evm: Arc<Evm>, extension: Arc<AtomicExtension>) -> Self {
        extension.set_chain(&evm);
        let nat = Self::over(evm, Arc::clone(&extension));
        nat.register_pool(&extension);
        nat
    }

    /// As [`Self::new`], of a chain and an extension that know each other.
    pub(crate) const fn over(evm: Arc<Evm>, extension: Arc<AtomicExtension>) -> Self {
        Self { evm, extension }
    }

    /// The chain.
    pub const fn evm(&self) -> &Arc<Evm> {
        &self.evm
    }

    /// The extension, for what must not keep it.
    pub(crate) fn weak_extension(&self) -> Weak<AtomicExtension> {
        Arc::downgrade(&self.extension)
    }

    /// The chain's context: names, clock, store.
    pub fn context(&self) -> &ChainContext {
        self.extension.context()
    }

    /// Transactions that wait for a block.
    pub fn pool(&self) -> &AtomicPool {
        self.extension.pool()
    }

    /// Wei a gas, in a block that would be made now.
    pub fn next_base_fee(&self) -> Result<U256, FeeRuleError> {
        let head = self.evm.head();
        let time = self.context().clock.now_s().max(head.header.time);
        Ok(self.evm.params().rules.next_terms(&head.header, time)?.base_fee)
    }

    /// The rules of the last block. A genesis may be older than all rules that blocks are executed by: above it the
    /// rules of the next block hold.
    pub(crate) fn phase(&self) -> Result<PhaseRules, FeeRuleError> {
        let head = self.evm.head();
        let time = match head.header.number {
            0 => self.context().clock.now_s().max(head.header.time),
            _ => head.header.time,
        };
        self.evm.params().rules.phase_at(time)
    }

    /// Verifies a transaction on the last accepted state and takes it into the pool; a block that can hold it is
    /// asked for. One that is known already is left as it is. Recovers signatures, so call it off the async
    /// threads.
    pub fn submit(&self, tx: AtomicTx) -> Result<TxId, SubmitError> {
        self.submit_and_forward(&tx).map(|submitted| submitted.id)
    }

    /// Counts and logs a refusal.
    fn note_refused(&self, id: &TxId, error: &SubmitError) {
        self.pool().count_refused(error);
        tracing::debug!(chain = self.context().primary_alias(), txID = %id, %error, "transaction refused");
    }

    /// Notes what is refused for good: what is outdated is built anew.
    fn note_built<T>(&self, id: &TxId, result: Result<T, BuiltError>) -> Result<T, BuiltError> {
        if let Err(BuiltError::Refused(error)) = &result {
            self.note_refused(id, error);
        }
        result
    }

    /// As [`Self::submit`], with the source's answer, if another node decides.
    pub fn submit_and_forward(&self, tx: &AtomicTx) -> Result<Submitted, SubmitError> {
        let permit = self.context().reserve_forward()?;
        let id = tx.id();
        let submission = self.admit(tx).inspect_err(|error| self.note_refused(&id, error))?;
        Ok(self.submitted(tx, permit, submission))
    }

    /// A transaction that waits here, with what its answer waits for.
    fn submitted(&self, tx: &AtomicTx, permit: ForwardPermit, submission: Submission) -> Submitted {
        let id = tx.id();
        let answer = match permit.is_forwarding() {
            true => permit.send(submission, || self.forwarded(tx)),
            false if self.evm.makes_blocks_at_once() => {
                self.context().answer_with_block(id, || self.pool().contains(&id))
            }
            false => SendAnswer::Now,
        };
        Submitted { id, answer }
    }

    fn admit(&self, tx: &AtomicTx) -> Result<Submission, SubmitError> {
        let id = tx.id();
        for _ in 0..MAX_CHECKS {
            let is_pooled = self.pool().contains(&id);
            let reader = self.context().store.snapshot()?;
            // The pool drops an accepted transaction a moment after the commit. Until then the rules refuse it, as
            // they do later.
            if is_pooled && AcceptedTx::get(reader.as_ref(), self.context().scope, &id)?.is_none() {
                self.context().work.notify_one();
                return Ok(Submission::Repeat);
            }
            self.context().store.ensure_writable()?;
            self.verify_on(tx, reader.as_ref())?;
            let verified_at = self.height(reader.as_ref())?;
            match self.pool().add_verified(tx.clone(), verified_at) {
                Ok(()) => {
                    self.context().announce(TxKind::Atomic, id);
                    self.context().work.notify_one();
                    return Ok(Submission::New);
                }
                Err(JoinError::Pool(error)) => return Err(error.into()),
                Err(JoinError::Outdated) => {}
            }
        }
        Err(SubmitError::Outdated)
    }

    /// As [`Self::submit`], of an import that was built for a user: it replaces nothing that waits.
    pub(crate) fn submit_import(&self, tx: &AtomicTx) -> Result<Submitted, BuiltError> {
        let permit = self.context().reserve_forward()?;
        self.note_built(&tx.id(), self.join_import(tx))?;
        Ok(self.submitted(tx, permit, Submission::New))
    }

    fn join_import(&self, tx: &AtomicTx) -> Result<TxId, BuiltError> {
        self.context().store.ensure_writable()?;
        let reader = self.context().store.snapshot()?;
        match self.verify_on(tx, reader.as_ref()) {
            // Accepted or taken since it was looked for.
            Err(SubmitError::Invalid(VerifyError::UtxosNotFound(_))) => Err(BuiltError::Outdated),
            Err(error) => Err(error.into()),
            Ok(()) => self.join(tx.clone(), self.height(reader.as_ref())?, &[]),
        }
    }

    /// As [`Self::submit`], of an export that was built for a user on what `accounts` hold: it replaces nothing
    /// that waits, and its nonces may have to come.
    pub(crate) fn submit_export(
        &self,
        tx: &AtomicTx,
        accounts: &PendingAccounts<'_>,
    ) -> Result<Submitted, BuiltError> {
        let permit = self.context().reserve_forward()?;
        self.note_built(&tx.id(), self.join_export(tx, accounts))?;
        Ok(self.submitted(tx, permit, Submission::New))
    }

    fn join_export(
        &self,
        tx: &AtomicTx,
        accounts: &PendingAccounts<'_>,
    ) -> Result<TxId, BuiltError> {
        self.context().store.ensure_writable()?;
        self.check_rules(tx, accounts.reader())?;
        let nonces: Vec<AccountNonce> = tx.unsigned().account_nonces().collect();
        let follows = accounts.exports_before(&nonces);
        // Who sends a transaction of the EVM without a nonce waits until this one has got its own.
        self.evm.senders().with_locks(nonces.iter().map(|nonce| nonce.account), || {
            let in_evm = |nonce: &AccountNonce| {
                self.evm.pool().get_by_nonce(&nonce.account, nonce.nonce).is_some()
            };
            if nonces.iter().any(in_evm) {
                return Err(BuiltError::Outdated);
            }
            self.join(tx.clone(), self.height(accounts.reader())?, &follows)
        })
    }

    fn join(
        &self,
        tx: AtomicTx,
        verified_at: u64,
        follows: &[AccountNonce],
    ) -> Result<TxId, BuiltError> {
        let id = tx.id();
        match self.pool().add_built(tx, verified_at, follows) {
            Ok(()) => {
                self.context().announce(TxKind::Atomic, id);
                self.context().work.notify_one();
                Ok(id)
            }
            Err(JoinError::Pool(error)) => Err(error.into()),
            Err(JoinError::Outdated) => Err(BuiltError::Outdated),
        }
    }

    /// What accounts hold after what waits in both pools.
    pub(crate) fn accounts(&self) -> StorageResult<PendingAccounts<'_>> {
        let (context, reader) = (self.context(), self.context().store.snapshot()?);
        Ok(PendingAccounts::new(&self.evm, self.pool(), context.native_asset_id, reader))
    }

    /// Height of the last block that a reader shows.
    fn height(&self, reader: &dyn KvRead) -> StorageResult<u64> {
        match self.evm.view(reader).tip() {
            Ok(tip) => Ok(tip.height),
            Err(ChainReadError::Storage(error)) => Err(error),
            Err(other) => Err(StorageError::Corrupted(other.to_string())),
        }
    }

    /// Whether a transaction is valid on the last accepted state: by the rules of its last block, at the base fee
    /// of one that would be made now.
    pub fn verify(&self, tx: &AtomicTx) -> Result<(), SubmitError> {
        self.verify_on(tx, self.context().store.snapshot()?.as_ref())
    }

    fn verify_on(&self, tx: &AtomicTx, reader: &dyn KvRead) -> Result<(), SubmitError> {
        self.check_rules(tx, reader)?;
        let view = self.evm.view(reader).latest_state();
        let mut state = StateOverlay::new(view, &NoHashes, Arc::clone(&self.evm.params().codes));
        transfer(tx.unsigned(), &mut state, &self.context().native_asset_id).map_err(|error| {
            match error {
                TransferError::Rule(error) => error.into(),
                TransferError::State(error) => error.into(),
            }
        })
    }

    /// The rules, but for what accounts must have.
    fn check_rules(&self, tx: &AtomicTx, reader: &dyn KvRead) -> Result<(), SubmitError> {
        if tx.bytes().len() > MAX_BUILT_BYTES {
            return Err(SubmitError::TooLong(tx.bytes().len()));
        }
        if tx.gas() > MAX_ATOMIC_GAS {
            return Err(SubmitError::TooMuchGas(tx.gas()));
        }
        let phase = self.phase()?;
        let verify_context = VerifyContext {
            context: self.context(),
            phase: &phase,
            base_fee: self.next_base_fee()?,
            time_s: self.context().clock.now_s(),
            shared: reader,
            undecided: &[],
        };
        verify_context.verify(tx).map_err(|error| match error {
            CheckError::Rule(error) => SubmitError::Invalid(error),
            CheckError::Storage(error) => error.into(),
        })
    }

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
