//! Takes transactions into the pool that the node built for a user: they replace nothing that waits.

use esker_chain::forward::{Submission, TxKind};
use esker_primitives::ids::TxId;
use esker_storage::StorageResult;
use esker_transactions::nat::{AccountNonce, AtomicTx};

use super::accounts::PendingAccounts;
use super::forward::SubmittedTx;
use super::issue::SubmitError;
use super::parts::Nat;
use crate::pool::JoinError;
use crate::verify::VerifyError;

/// The reason why a transaction that was built for a user was not taken.
#[derive(Debug)]
pub(crate) enum BuiltError {
    /// Its coins were taken after they were chosen, or the chain moved on. It may succeed on the present state.
    Outdated,
    /// For good.
    Refused(SubmitError),
}

impl<E: Into<SubmitError>> From<E> for BuiltError {
    fn from(error: E) -> Self {
        Self::Refused(error.into())
    }
}

impl Nat {
    /// Notes what is refused for good: what is outdated is built anew.
    fn note_built<T>(&self, id: &TxId, result: Result<T, BuiltError>) -> Result<T, BuiltError> {
        if let Err(BuiltError::Refused(error)) = &result {
            self.note_refused(id, error);
        }
        result
    }

    /// Like [`Self::submit`], for an import that was built for a user: it replaces nothing that waits.
    pub(crate) fn submit_import(&self, tx: &AtomicTx) -> Result<SubmittedTx, BuiltError> {
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

    /// Like [`Self::submit`], for an export that was built for a user on what `accounts` hold: it replaces nothing
    /// that waits, and its nonces may have to come.
    pub(crate) fn submit_export(
        &self,
        tx: &AtomicTx,
        accounts: &PendingAccounts<'_>,
    ) -> Result<SubmittedTx, BuiltError> {
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

    /// The funds of accounts after the transactions that wait in both pools.
    pub(crate) fn accounts(&self) -> StorageResult<PendingAccounts<'_>> {
        let (context, reader) = (self.context(), self.context().store.snapshot()?);
        Ok(PendingAccounts::new(&self.evm, self.pool(), context.native_asset_id, reader))
    }
}
