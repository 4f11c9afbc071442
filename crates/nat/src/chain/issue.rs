//! Takes transactions into the pool.

use std::sync::Arc;

use alloy_primitives::Address;
use esker_chain::NotImpersonated;
use esker_chain::forward::{ForwardError, ForwardPermit, SendAnswer, Submission, TxKind};
use esker_evm_execution::executor::{NoHashes, StateOverlay};
use esker_evm_execution::rules::{MAX_ATOMIC_GAS, RuleError};
use esker_evm_state::state::{StateError, StateView};
use esker_primitives::ids::TxId;
use esker_storage::{KvRead, StorageError};
use esker_transactions::nat::{AtomicTx, UnsignedAtomicTx};

use super::build::MAX_BUILT_BYTES;
use super::forward::SubmittedTx;
use super::parts::Nat;
use crate::execute::{TransferError, transfer};
use crate::pool::{JoinError, PoolError, RefusalKind};
use crate::state::tables::AcceptedTx;
use crate::verify::VerifyError;
use crate::verify::semantic::{CheckError, VerifyContext};

/// How often a transaction is verified that blocks overtake meanwhile.
const MAX_CHECKS: usize = 8;

/// The reason why a transaction was not taken. What `Display` shows is what clients of the reference see.
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
    Fees(#[from] RuleError),
    /// Others took what it spends, or the chain moved on, again and again.
    #[error("the chain moved on while the transaction was verified; try again")]
    Outdated,
    /// The node passes no transactions on, or too many already.
    #[error(transparent)]
    Forward(#[from] ForwardError),
    /// An address stands in place of a signature, and is not impersonated.
    #[error(transparent)]
    NotImpersonated(#[from] NotImpersonated),
    /// State can't be read.
    #[error(transparent)]
    State(#[from] StateError),
}

impl From<StorageError> for SubmitError {
    fn from(error: StorageError) -> Self {
        StateError::from(error).into()
    }
}

impl SubmitError {
    /// How a refusal is counted; `None`: the node failed, and no rule.
    const fn refusal_kind(&self) -> Option<RefusalKind> {
        Some(match self {
            Self::TooLong(_) => RefusalKind::TooLong,
            Self::TooMuchGas(_) => RefusalKind::GasLimit,
            Self::Invalid(_) | Self::NotImpersonated(_) | Self::Pool(PoolError::Amount(_)) => {
                RefusalKind::Invalid
            }
            Self::Pool(PoolError::Conflict { .. } | PoolError::Undecided(_)) => {
                RefusalKind::Conflict
            }
            Self::Pool(PoolError::FeeTooLow { .. }) => RefusalKind::Underpriced,
            Self::Pool(PoolError::TooMany) => RefusalKind::Full,
            Self::Outdated => RefusalKind::Outdated,
            Self::Forward(_) => RefusalKind::NotForwarded,
            Self::Fees(_) | Self::State(_) => return None,
        })
    }
}

impl Nat {
    /// Verifies a transaction on the last accepted state and takes it into the pool; a block that can hold it is
    /// asked for. One that is known already is left as it is. Recovers signatures, so call it off the async
    /// threads.
    pub fn submit(&self, tx: AtomicTx) -> Result<TxId, SubmitError> {
        self.submit_and_forward(&tx).map(|submitted| submitted.id)
    }

    /// Counts and logs a refusal.
    pub(super) fn note_refused(&self, id: &TxId, error: &SubmitError) {
        if let Some(kind) = error.refusal_kind() {
            self.pool().count_refused(kind);
        }
        tracing::debug!(chain = self.context().primary_alias(), txID = %id, %error, "transaction refused");
    }

    /// Like [`Self::submit`], with the source's answer, if another node decides.
    pub fn submit_and_forward(&self, tx: &AtomicTx) -> Result<SubmittedTx, SubmitError> {
        let permit = self.context().reserve_forward()?;
        let id = tx.id();
        let checked = self.context().check_impersonated(tx.signed().all_signatures());
        let admitted = checked.map_err(SubmitError::from).and_then(|()| self.admit(tx));
        let submission = admitted.inspect_err(|error| self.note_refused(&id, error))?;
        Ok(self.submitted(tx, permit, submission))
    }

    /// A transaction that waits here, with what its answer waits for.
    pub(super) fn submitted(
        &self,
        tx: &AtomicTx,
        permit: ForwardPermit,
        submission: Submission,
    ) -> SubmittedTx {
        let id = tx.id();
        let answer = match permit.is_forwarding() {
            true => permit.send(submission, || self.forwarded(tx)),
            false if self.evm.makes_blocks_at_once() => {
                self.context().answer_with_block(id, || self.pool().contains(&id))
            }
            false => SendAnswer::Now,
        };
        SubmittedTx { id, answer }
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

    /// Whether a transaction is valid on the last accepted state: by the rules of its last block, at the base fee
    /// of one that would be made now.
    pub fn verify(&self, tx: &AtomicTx) -> Result<(), SubmitError> {
        self.verify_on(tx, self.context().store.snapshot()?.as_ref())
    }

    pub(super) fn verify_on(&self, tx: &AtomicTx, reader: &dyn KvRead) -> Result<(), SubmitError> {
        self.check_rules(tx, reader)?;
        let view = self.evm.view(reader).latest_state();
        if self.evm.fork().is_some() {
            check_fetched(tx.unsigned(), &view)?;
        }
        let mut state =
            StateOverlay::new(view, &NoHashes, Arc::clone(&self.evm.params().machine.codes));
        transfer(tx.unsigned(), &mut state, &self.context().native_asset_id).map_err(|error| {
            match error {
                TransferError::Rule(error) => error.into(),
                TransferError::State(error) => error.into(),
            }
        })
    }

    /// The rules, but for what accounts must have.
    pub(super) fn check_rules(
        &self,
        tx: &AtomicTx,
        reader: &dyn KvRead,
    ) -> Result<(), SubmitError> {
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
}

/// Fails with all accounts of a transaction that are not fetched yet, so that they are fetched together.
fn check_fetched(tx: &UnsignedAtomicTx, view: &StateView<'_>) -> Result<(), StateError> {
    let reads = accounts(tx).into_iter().map(|address| view.account(&address));
    StateError::all_not_fetched(reads).map_or(Ok(()), |lacking| Err(lacking.into()))
}

/// The accounts that a transaction changes.
fn accounts(tx: &UnsignedAtomicTx) -> Vec<Address> {
    match tx {
        UnsignedAtomicTx::Import(tx) => tx.outputs.iter().map(|output| output.address).collect(),
        UnsignedAtomicTx::Export(tx) => tx.inputs.iter().map(|input| input.address).collect(),
    }
}
