//! Issues transactions: `issueTx` with all checks, `wallet.issueTx` without.

use std::collections::BTreeSet;

use esker_chain::forward::{ForwardError, ForwardPermit, SendAnswer, Submission, TxKind};
use esker_chain::{ChainError, NotImpersonated};
use esker_primitives::TxId;
use esker_primitives::codec::CodecError;
use esker_storage::{KvRead, StorageError};
use esker_transactions::xvm::Tx;
use thiserror::Error;

use super::forward::Issued;
use super::parts::Xvm;
use crate::pool::{
    AddOutcome, JoinError, MempoolError, PendingList, Pooled, PushOutcome, RefusalKind,
    RefusalValidity, RejectKind, WalletFull,
};
use crate::state::ChainState;
use crate::verify::semantic::{AssetCache, CheckError, Semantic, may_pass_on_same_tip};
use crate::verify::{VerifyError, syntactic};

/// How often a transaction is checked again because blocks were accepted meanwhile.
const MAX_CHECKS: usize = 8;

/// The reason why a transaction is refused. Texts are the reference's.
#[derive(Debug, Error)]
pub enum IssueError {
    /// The bytes are no transaction.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// It was refused before with this text, and nothing has changed since.
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
    /// The node passes no transactions on, or too many already.
    #[error(transparent)]
    Forward(#[from] ForwardError),
    /// An address stands in place of a signature, and is not impersonated.
    #[error(transparent)]
    NotImpersonated(#[from] NotImpersonated),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl IssueError {
    /// How a refusal is counted; `None`: the store failed, and no rule.
    const fn refusal_kind(&self) -> Option<RefusalKind> {
        Some(match self {
            Self::Codec(_) => RefusalKind::Undecodable,
            Self::RefusedBefore(_) => RefusalKind::RefusedBefore,
            Self::Verify(_) | Self::NotImpersonated(_) => RefusalKind::Invalid,
            Self::Mempool(MempoolError::TooLarge { .. }) => RefusalKind::TooLarge,
            Self::Mempool(MempoolError::Full { .. }) => RefusalKind::Full,
            Self::Mempool(MempoolError::Conflict(_)) => RefusalKind::Conflict,
            Self::WalletFull(_) => RefusalKind::WalletFull,
            Self::Forward(_) => RefusalKind::NotForwarded,
            Self::Storage(_) => return None,
        })
    }
}

/// The decision of accepted blocks about a transaction.
#[derive(Clone, Copy, Debug)]
enum Decision {
    Accepted,
    /// Another one has spent an output that it spends.
    DoubleSpend,
}

impl Xvm {
    /// Issues a transaction, with its version prefix: decode, duplicate, remembered refusal, syntactic rules, semantic
    /// rules, pool. Returns once it waits for a block. May be called from many threads; nothing is verified under a lock.
    pub fn issue(&self, bytes: &[u8]) -> Result<TxId, IssueError> {
        self.issue_and_forward(bytes).map(|issued| issued.id)
    }

    /// Like [`Self::issue`], for a transaction that is decoded.
    pub fn issue_tx(&self, tx: Tx) -> Result<TxId, IssueError> {
        self.forward_tx(&tx).map(|issued| issued.id)
    }

    /// Like [`Self::issue`], with the source's answer, if another node decides.
    pub fn issue_and_forward(&self, bytes: &[u8]) -> Result<Issued, IssueError> {
        self.forward_tx(&self.parse(bytes)?)
    }

    fn forward_tx(&self, tx: &Tx) -> Result<Issued, IssueError> {
        let permit = self.context().reserve_forward()?;
        let checked = self.check_impersonated(tx).and_then(|()| self.admit(tx));
        let added = checked.inspect_err(|error| self.note_refused(&tx.id(), error))?;
        let id = tx.id();
        let answer = match permit.is_forwarding() {
            true => permit.send(submission(added), || self.forwarded(tx)),
            false => self.answer_with_block(id),
        };
        Ok(Issued { id, answer })
    }

    /// Whether a block may have the addresses in place of signatures follows from the network; whether a client may send
    /// them, from who is impersonated now.
    fn check_impersonated(&self, tx: &Tx) -> Result<(), IssueError> {
        Ok(self.context().check_impersonated(tx.all_signatures())?)
    }

    fn parse(&self, bytes: &[u8]) -> Result<Tx, IssueError> {
        let parsed = Tx::parse(bytes).map_err(IssueError::from);
        parsed.inspect_err(|error| {
            self.count_refused(error);
            tracing::debug!(chain = self.context().primary_alias(), bytes = bytes.len(), %error, "transaction refused");
        })
    }

    pub(crate) fn count_refused(&self, error: &IssueError) {
        if let Some(kind) = error.refusal_kind() {
            self.counters.count_refused(kind);
        }
    }

    /// Counts and logs a refusal.
    fn note_refused(&self, id: &TxId, error: &IssueError) {
        self.count_refused(error);
        tracing::debug!(chain = self.context().primary_alias(), %id, %error, "transaction refused");
    }

    fn admit(&self, tx: &Tx) -> Result<AddOutcome, IssueError> {
        let id = tx.id();
        let waits = self.mempool.contains(&id);
        if (waits || self.undecided.has_tx(&id)) && !self.is_accepted(&id)? {
            if !waits && let Err(error) = self.pool(Pooled::new(tx.clone(), false)) {
                // It is only in an undecided block, and another that waits here consumes the same.
                tracing::debug!(%id, %error, "a transaction of an undecided block does not wait here");
            }
            return Ok(AddOutcome::Known);
        }
        self.context().store.ensure_writable()?;
        let height = self.accepted_height();
        if let Some(reason) = self.mempool.refusal(&id, height) {
            return Err(IssueError::RefusedBefore(reason));
        }
        if let Err(error) = syntactic::verify(tx, self.params()) {
            self.mempool.remember_refusal(id, error.to_string(), RefusalValidity::Always);
            return Err(error.into());
        }
        for _ in 0..MAX_CHECKS {
            let reader = self.context().store.snapshot()?;
            if let Err(error) = self.check_tx(tx, reader.as_ref(), self.context().clock.now_s())? {
                // Unlike the reference, which answers the same until the entry is pushed out: a transaction that
                // came before its parent was accepted is not refused for ever.
                if !may_pass_on_same_tip(&error, tx.unsigned()) {
                    self.mempool.remember_refusal(
                        id,
                        error.to_string(),
                        RefusalValidity::AtHeight(height),
                    );
                }
                return Err(error.into());
            }
            let verified_at = ChainState::new(reader.as_ref(), self.scope()).tip()?.height;
            drop(reader);
            match self.join(Pooled::new(tx.clone(), true), verified_at, &BTreeSet::new()) {
                Ok(added) => return Ok(added),
                Err(JoinError::Pool(error)) => return Err(error.into()),
                Err(JoinError::Spent | JoinError::NoParent) => break,
                Err(JoinError::Outdated) => {}
            }
        }
        // As on the state of the blocks that overtook it.
        Err(VerifyError::NotFound.into())
    }

    /// Whether it is in an accepted block. The pool is notified of a block a moment after its commit.
    pub(crate) fn is_accepted(&self, id: &TxId) -> Result<bool, StorageError> {
        let reader = self.context().store.snapshot()?;
        ChainState::new(reader.as_ref(), self.scope()).has_tx(id)
    }

    /// Issues a transaction of the wallet: only the pool's limits are checked. It waits while earlier ones of the wallet
    /// are pending.
    pub fn issue_unverified(&self, bytes: &[u8]) -> Result<TxId, IssueError> {
        self.issue_unverified_and_forward(bytes).map(|issued| issued.id)
    }

    /// Like [`Self::issue_unverified`], with the source's answer, if another node decides.
    pub fn issue_unverified_and_forward(&self, bytes: &[u8]) -> Result<Issued, IssueError> {
        let permit = self.context().reserve_forward()?;
        let tx = self.parse(bytes)?;
        let checked = self.check_impersonated(&tx).and_then(|()| self.enqueue(&tx));
        let added = checked.inspect_err(|error| self.note_refused(&tx.id(), error))?;
        Ok(self.issued_by_wallet(&tx, permit, added))
    }

    /// Like [`Self::issue_unverified`], for a transaction that is decoded. It is not passed on.
    pub(crate) fn enqueue(&self, tx: &Tx) -> Result<AddOutcome, IssueError> {
        self.context().store.ensure_writable()?;
        let enqueued = self.wallet.push(tx)?;
        self.follow_wallet(tx, enqueued)
    }

    /// Like [`Self::issue_unverified_and_forward`], for a transaction that was built on `pending`; `None` if those
    /// have changed since.
    pub(crate) fn issue_after_pending(
        &self,
        tx: &Tx,
        pending: &PendingList,
    ) -> Option<Result<Issued, IssueError>> {
        let permit = match self.context().reserve_forward() {
            Ok(permit) => permit,
            Err(error) => return Some(Err(error.into())),
        };
        if let Err(error) = self.context().store.ensure_writable() {
            return Some(Err(error.into()));
        }
        let enqueued = match self.wallet.push_after(pending, tx)? {
            Ok(enqueued) => self.follow_wallet(tx, enqueued),
            Err(full) => Err(full.into()),
        };
        let added = enqueued.inspect_err(|error| self.note_refused(&tx.id(), error));
        Some(added.map(|added| self.issued_by_wallet(tx, permit, added)))
    }

    fn issued_by_wallet(&self, tx: &Tx, permit: ForwardPermit, added: AddOutcome) -> Issued {
        let id = tx.id();
        let answer = match permit.is_forwarding() {
            true => permit.send(submission(added), || self.forwarded_as(TxKind::AssetWallet, tx)),
            false => self.answer_with_block(id),
        };
        Issued { id, answer }
    }

    /// The condition that the answer to a send waits for, if its transaction waits here.
    pub(crate) fn answer_with_block(&self, id: TxId) -> SendAnswer {
        self.context()
            .answer_with_block(id, || self.mempool.contains(&id) || self.wallet.contains(&id))
    }

    fn follow_wallet(&self, tx: &Tx, enqueued: PushOutcome) -> Result<AddOutcome, IssueError> {
        let id = tx.id();
        match enqueued {
            PushOutcome::Queued => {
                self.context().announce(TxKind::AssetWallet, id);
                Ok(AddOutcome::New)
            }
            PushOutcome::Known => Ok(AddOutcome::Known),
            PushOutcome::First => match self.pool_from_wallet(tx) {
                Ok(Some(AddOutcome::New)) => Ok(AddOutcome::New),
                // In the pool already, so it need not wait in the queue.
                Ok(Some(AddOutcome::Known)) => {
                    self.wallet_decided(&id);
                    Ok(AddOutcome::Known)
                }
                Ok(None) => {
                    self.wallet_decided(&id);
                    Ok(AddOutcome::New)
                }
                Err(error) => {
                    self.wallet_decided(&id);
                    Err(error.into())
                }
            },
        }
    }

    /// The wallet's pending transactions, oldest first.
    pub fn wallet_pending(&self) -> Vec<Tx> {
        self.wallet.pending().txs
    }

    /// Lets the wallet's next transaction follow one that was decided or refused.
    pub(crate) fn wallet_decided(&self, id: &TxId) {
        let mut decided = *id;
        while let Some(next) = self.wallet.remove(&decided) {
            decided = next.id();
            match self.pool_from_wallet(&next) {
                Ok(Some(_)) => return,
                Ok(None) => {}
                Err(error) => self.reject(decided, RejectKind::Wallet, error.to_string()),
            }
        }
    }

    /// Adds a transaction of the wallet's queue to the pool, unverified; `None`: it is decided already.
    fn pool_from_wallet(&self, tx: &Tx) -> Result<Option<AddOutcome>, MempoolError> {
        let added = self.pool(Pooled::new(tx.clone(), false))?;
        // No builder comes to it where another node decides, and a block that was accepted before it joined has neither
        // removed nor rejected it.
        let is_followed = self.context().forwarding.is_some();
        let decision = if is_followed { self.decision(tx).unwrap_or(None) } else { None };
        let Some(decision) = decision else { return Ok(Some(added)) };
        self.mempool.remove([&tx.id()]);
        if let Decision::DoubleSpend = decision {
            let reason = "conflicts with an accepted transaction".to_owned();
            self.reject(tx.id(), RejectKind::Conflict, reason);
        }
        Ok(None)
    }

    /// The decision of the accepted blocks about a transaction.
    fn decision(&self, tx: &Tx) -> Result<Option<Decision>, StorageError> {
        let reader = self.context().store.snapshot()?;
        let state = ChainState::new(reader.as_ref(), self.scope());
        if state.has_tx(&tx.id())? {
            return Ok(Some(Decision::Accepted));
        }
        for id in tx.unsigned().local_utxo_ids() {
            // An output that this node does not know yet may be one of a block to come.
            if state.has_tx(&id.tx_id)? && state.utxo_bytes(&id)?.is_none() {
                return Ok(Some(Decision::DoubleSpend));
            }
        }
        Ok(None)
    }

    /// Adds to the pool and asks for a block.
    pub(crate) fn pool(&self, pooled: Pooled) -> Result<AddOutcome, MempoolError> {
        let id = pooled.tx.id();
        let added = self.mempool.add(pooled)?;
        self.request_block(id, added);
        Ok(added)
    }

    /// Like [`Self::pool`], for a transaction that was verified: see [`Mempool::add_verified`].
    ///
    /// [`Mempool::add_verified`]: crate::pool::Mempool::add_verified
    pub(crate) fn join(
        &self,
        pooled: Pooled,
        verified_at: u64,
        parents: &BTreeSet<TxId>,
    ) -> Result<AddOutcome, JoinError> {
        let id = pooled.tx.id();
        let added = self.mempool.add_verified(pooled, verified_at, parents)?;
        self.request_block(id, added);
        Ok(added)
    }

    fn request_block(&self, id: TxId, added: AddOutcome) {
        if added == AddOutcome::New {
            self.context().announce(TxKind::Asset, id);
            self.context().work.notify_one();
        }
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
            context: rules.verify_context(),
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

    /// Removes a transaction that the builder found invalid from the pool, and those that spend its outputs.
    pub(crate) fn reject_pooled(
        &self,
        tx: &Tx,
        reason: String,
        height: u64,
    ) -> Result<(), ChainError> {
        let id = tx.id();
        // Issued by two callers at once, one of them too late: it is accepted, not rejected.
        let reader = self.context().store.snapshot()?;
        if ChainState::new(reader.as_ref(), self.scope()).has_tx(&id)? {
            self.mempool.remove([&id]);
            self.wallet_decided(&id);
            return Ok(());
        }
        for (id, reason) in self.with_descendants(id, reason) {
            tracing::debug!(chain = self.context().primary_alias(), %id, reason, "transaction rejected");
            self.mempool.remove([&id]);
            self.mempool.remember_refusal(id, reason.clone(), RefusalValidity::AtHeight(height));
            self.reject(id, RejectKind::Invalid, reason);
            self.wallet_decided(&id);
        }
        self.maintenance.wake();
        Ok(())
    }

    /// A transaction that can't be accepted any more, with the waiting ones that spend its outputs, and why.
    pub(crate) fn with_descendants(&self, id: TxId, reason: String) -> Vec<(TxId, String)> {
        let descendants =
            self.mempool.with_descendants(&id).into_iter().filter(|other| *other != id);
        let inherited = |other| (other, format!("spends an output of rejected transaction {id}"));
        let descendants: Vec<_> = descendants.map(inherited).collect();
        [(id, reason)].into_iter().chain(descendants).collect()
    }
}

const fn submission(added: AddOutcome) -> Submission {
    match added {
        AddOutcome::New => Submission::New,
        AddOutcome::Known => Submission::Repeat,
    }
}
