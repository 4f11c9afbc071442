//! How transactions come in: `issueTx` with all checks, `wallet.issueTx` without.

use esker_chain::ChainError;
use esker_primitives::TxId;
use esker_primitives::codec::CodecError;
use esker_storage::{KvRead, StorageError};
use thiserror::Error;

use crate::mempool::{Added, Holds, MempoolError, Pooled};
use crate::state::ChainState;
use crate::txs::Tx;
use crate::verify::semantic::{AssetCache, CheckError, Semantic, depends_on_more_than_the_tip};
use crate::verify::{VerifyError, syntactic};
use crate::vm::Xvm;
use crate::wallet::{Enqueued, WalletFull};

/// Why a transaction is not taken in. Texts are the reference's.
#[derive(Debug, Error)]
pub enum IssueError {
    /// The bytes are no transaction.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// It was refused a moment ago, with this text, and nothing has changed since.
    #[error("{0}")]
    RefusedBefore(String),
    /// A rule is broken.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// The pool does not take it.
    #[error(transparent)]
    Mempool(#[from] MempoolError),
    /// The wallet's queue does not take it.
    #[error(transparent)]
    WalletFull(#[from] WalletFull),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Xvm {
    /// Takes in a transaction, with its version prefix: decode, duplicate, remembered refusal, rules without and
    /// with state, pool. Returns once it waits for a block. May be called from many threads; nothing is verified
    /// under a lock.
    pub fn issue(&self, bytes: &[u8]) -> Result<TxId, IssueError> {
        self.issue_tx(Tx::parse(bytes)?)
    }

    /// As [`Self::issue`], of a transaction that is decoded.
    pub fn issue_tx(&self, tx: Tx) -> Result<TxId, IssueError> {
        let id = tx.id();
        if (self.mempool.contains(&id) || self.undecided.has_tx(&id)) && !self.is_accepted(&id)? {
            return Ok(id);
        }
        let height = self.accepted_height();
        if let Some(reason) = self.mempool.refusal(&id, height) {
            return Err(IssueError::RefusedBefore(reason));
        }
        if let Err(error) = syntactic::verify(&tx, self.params()) {
            self.mempool.remember_refusal(id, error.to_string(), Holds::Always);
            return Err(error.into());
        }
        let reader = self.context().store.snapshot()?;
        if let Err(error) = self.check_tx(&tx, reader.as_ref(), self.context().clock.now_s())? {
            // Unlike the reference, which answers the same until the entry is pushed out: a transaction that came
            // before its parent was accepted is not refused for ever.
            if !depends_on_more_than_the_tip(&error, tx.unsigned()) {
                self.mempool.remember_refusal(id, error.to_string(), Holds::AtHeight(height));
            }
            return Err(error.into());
        }
        drop(reader);
        self.pool(Pooled::new(tx, true))?;
        Ok(id)
    }

    /// Is it in an accepted block? The pool hears of a block a moment after its commit.
    fn is_accepted(&self, id: &TxId) -> Result<bool, StorageError> {
        let reader = self.context().store.snapshot()?;
        ChainState::new(reader.as_ref(), self.scope()).has_tx(id)
    }

    /// Takes in a transaction for the wallet: nothing but the pool's limits is checked. While others that came this
    /// way are pending, it waits for them.
    pub fn issue_unverified(&self, bytes: &[u8]) -> Result<TxId, IssueError> {
        self.issue_unverified_tx(Tx::parse(bytes)?)
    }

    /// As [`Self::issue_unverified`], of a transaction that is decoded.
    pub fn issue_unverified_tx(&self, tx: Tx) -> Result<TxId, IssueError> {
        let id = tx.id();
        match self.wallet.push(&tx)? {
            Enqueued::Waits | Enqueued::Known => Ok(id),
            Enqueued::First => match self.pool(Pooled::new(tx, false)) {
                // In the pool already, on its own behalf: nobody needs to wait for it here.
                Ok(Added::Known) => {
                    self.wallet_decided(&id);
                    Ok(id)
                }
                Ok(Added::New) => Ok(id),
                Err(error) => {
                    self.wallet_decided(&id);
                    Err(error.into())
                }
            },
        }
    }

    /// The wallet's pending transactions, oldest first.
    pub fn wallet_pending(&self) -> Vec<Tx> {
        self.wallet.pending()
    }

    /// Lets the wallet's next transaction follow one that was decided or refused.
    pub(crate) fn wallet_decided(&self, id: &TxId) {
        let mut decided = *id;
        while let Some(next) = self.wallet.remove(&decided) {
            decided = next.id();
            match self.pool(Pooled::new(next, false)) {
                Ok(_) => return,
                Err(error) => self.rejections.add(decided, error.to_string()),
            }
        }
    }

    /// Adds to the pool and asks for a block.
    pub(crate) fn pool(&self, pooled: Pooled) -> Result<Added, MempoolError> {
        let added = self.mempool.add(pooled)?;
        let now_ms = self.context().clock.now_ms();
        if added == Added::New && !self.spacing.is_waiting(now_ms, self.mempool.size().1) {
            self.context().work.notify_one();
        }
        Ok(added)
    }

    /// The rules that need state, on the state that `reader` shows at `now_s`.
    pub(crate) fn check_tx(
        &self,
        tx: &Tx,
        reader: &dyn KvRead,
        now_s: u64,
    ) -> Result<Result<(), VerifyError>, StorageError> {
        let rules = self.rules();
        let outcome = Semantic {
            around: rules.around(),
            state: ChainState::new(reader, self.scope()),
            now_s,
            assets: &mut AssetCache::new(rules.genesis_assets),
        }
        .check(tx);
        match outcome {
            Ok(_) => Ok(Ok(())),
            Err(CheckError::Rule(error)) => Ok(Err(error)),
            Err(CheckError::Storage(error)) => Err(error),
        }
    }

    /// Throws a transaction out of the pool that the builder found invalid.
    pub(crate) fn reject_pooled(
        &self,
        tx: &Tx,
        reason: String,
        height: u64,
    ) -> Result<(), ChainError> {
        let id = tx.id();
        self.mempool.remove([&id]);
        // Issued by two callers at once, one of them too late: it is accepted, not rejected.
        let reader = self.context().store.snapshot()?;
        if !ChainState::new(reader.as_ref(), self.scope()).has_tx(&id)? {
            tracing::debug!(%id, reason, "transaction rejected");
            self.mempool.remember_refusal(id, reason.clone(), Holds::AtHeight(height));
            self.rejections.add(id, reason);
            self.maintenance.wake();
        }
        self.wallet_decided(&id);
        Ok(())
    }
}
