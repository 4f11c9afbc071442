//! The changes that a running validator knows.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use esker_chain::EngineError;
use esker_primitives::sync::Mutex;
use esker_storage::StorageError;
use esker_validators::{
    ApprovalError, ChangeError, ChangeLog, ChangeStatus, Proposal, SetChange, SignedChange,
    ValidatorKey, ValidatorPublicKey, quorum,
};
use thiserror::Error;
use tracing::{info, warn};

use super::agreement::{Agreement, Votes};
use super::history::ChangeHistory;
use super::promise::{Commitments, CommitmentsError};
use super::signing::{self, Statement};
use crate::block::Digest;

/// An approved change is at least so many heights ahead, so that all learn of it in time.
const LEAST_AHEAD: u64 = 32;

/// And at most so many.
const MOST_AHEAD: u64 = 1_000_000;

/// The first promise of a change is given at least so many heights ahead of it.
const PROMISE_AHEAD: u64 = 8;

/// The reason why a document is not added.
#[derive(Debug, Error)]
pub(crate) enum AppendError {
    #[error(transparent)]
    Change(#[from] ChangeError),
    #[error("the changes of the validators can't be stored: {0}")]
    Log(#[source] StorageError),
}

/// The signature of this validator is wrong.
#[derive(Debug, Error)]
#[error("the signature of {0} about a change is wrong")]
pub(super) struct WrongSignature(ValidatorPublicKey);

/// Shared by the parts of the engine that vote, deliver, and pass changes on.
pub(crate) struct ChangeState {
    key: ValidatorKey,
    /// The engine's folder; `None`: nothing is kept.
    folder: Option<PathBuf>,
    log: Arc<dyn ChangeLog>,
    inner: Mutex<Inner>,
    /// Grows with everything that peers should hear of.
    version: AtomicU64,
}

struct Inner {
    history: ChangeHistory,
    /// The epoch in which this node takes part.
    epoch: u64,
    votes: bool,
    own: Commitments,
    /// The commitments of `own` in the folder. `None`: a write failed, and the folder may have the old or the new
    /// ones.
    stored: Option<Commitments>,
    agreement: Agreement,
    /// Bundles for whose finality this node may have voted, by round.
    certified: BTreeMap<u64, Certified>,
    /// Until the first call of the protocol its events are those of the journal.
    is_replaying: bool,
}

/// A bundle that may become final.
#[derive(Clone, Copy)]
enum Certified {
    At(u64),
    /// Of the journal; its height is not looked up yet.
    Bundle(Digest),
}

impl Inner {
    /// The first height that this node must not decide in this epoch.
    fn limit(&self, epoch: u64) -> Option<u64> {
        let next = epoch.checked_add(1)?;
        let agreed = self.history.set(next).map(|set| set.first);
        let promised = self.own.promised.as_ref().filter(|change| change.epoch == next);
        let promised = promised.map(|change| change.first_height);
        agreed.into_iter().chain(promised).min()
    }

    fn is_member(&self, key: &ValidatorPublicKey) -> bool {
        self.history.newest().members.iter().any(|(member, _)| member == key)
    }
}

impl ChangeState {
    /// Reads the changes and this validator's part in the next one. `given` are documents of the operator.
    pub(crate) async fn open(
        key: ValidatorKey,
        folder: Option<PathBuf>,
        log: Arc<dyn ChangeLog>,
        mut history: ChangeHistory,
        given: &[Bytes],
    ) -> Result<Self, EngineError> {
        let failed = |error: String| EngineError::Protocol(error);
        for document in log.read().map_err(|error| failed(error.to_string()))? {
            let added = history.append(&document);
            added.map_err(|error| failed(format!("a stored change of the validators: {error}")))?;
        }
        let own = match &folder {
            Some(folder) => Commitments::read(folder).map_err(|error| failed(error.to_string()))?,
            None => Commitments::default(),
        };
        let inner = Inner {
            history,
            epoch: 0,
            votes: false,
            stored: Some(own.clone()),
            own,
            agreement: Agreement::default(),
            certified: BTreeMap::new(),
            is_replaying: true,
        };
        let inner = Mutex::new_named("engine_bft.changes", inner);
        let state = Self { key, folder, log, inner, version: AtomicU64::new(0) };
        for document in given {
            let added = state.append(document).await;
            added.map_err(|error| failed(format!("validator-changes: {error}")))?;
        }
        Ok(state)
    }

    /// Begins with the epoch of the bundle after the last final one, and returns its number.
    pub(crate) fn begin(&self, last_final: u64) -> u64 {
        let mut inner = self.inner.lock();
        inner.epoch = inner.history.epoch_of(last_final.saturating_add(1));
        inner.certified.clear();
        inner.is_replaying = true;
        inner.votes = false;
        let (epoch, newest) = (inner.epoch, inner.history.newest_epoch());
        let own = inner.own.clone();
        inner.own.promised = own.promised.filter(|change| change.epoch > epoch);
        inner.own.approved = own.approved.filter(|change| change.epoch > newest);
        // A failed write is harmless: the next start drops the same commitments again.
        self.save_later(&mut inner);
        self.changed();
        epoch
    }

    /// Whether this node's votes count from now on.
    pub(crate) fn set_votes(&self, votes: bool) {
        self.inner.lock().votes = votes;
    }

    /// Makes this validator's own part durable, if it has changed.
    fn save(&self, inner: &mut Inner) -> Result<(), CommitmentsError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        if inner.stored.as_ref() == Some(&inner.own) {
            return Ok(());
        }
        inner.stored = None;
        inner.own.write(folder)?;
        inner.stored = Some(inner.own.clone());
        Ok(())
    }

    /// Like [`Self::save`], where nothing follows from it: what fails is tried again.
    fn save_later(&self, inner: &mut Inner) {
        if let Err(error) = self.save(inner) {
            warn!(%error, "this validator's part in a change of the validators is not stored");
        }
    }

    fn changed(&self) {
        self.version.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.inner.lock().epoch
    }

    /// Reads the history.
    pub(crate) fn with_history<T>(&self, read: impl FnOnce(&ChangeHistory) -> T) -> T {
        read(&self.inner.lock().history)
    }

    pub(super) fn limit(&self, epoch: u64) -> Option<u64> {
        self.inner.lock().limit(epoch)
    }

    /// Whether this node may vote to make a bundle final; remembers that it does.
    pub(super) fn certify(&self, round: u64, height: u64) -> bool {
        let mut inner = self.inner.lock();
        let epoch = inner.epoch;
        if inner.limit(epoch).is_some_and(|limit| height >= limit) {
            return false;
        }
        inner.certified.insert(round, Certified::At(height));
        true
    }

    /// The protocol asks something: its journal is read.
    pub(super) fn set_replayed(&self) {
        self.inner.lock().is_replaying = false;
    }

    /// The journal says that this node may have voted for the finality of a bundle of this round.
    pub(crate) fn replayed_certification(&self, round: u64, bundle: Digest) {
        let mut inner = self.inner.lock();
        if inner.is_replaying {
            inner.certified.entry(round).or_insert(Certified::Bundle(bundle));
        }
    }

    /// Bundles of the journal whose heights are to be looked up.
    pub(super) fn unresolved(&self) -> Vec<(u64, Digest)> {
        let inner = self.inner.lock();
        let open = inner.certified.iter().filter_map(|(round, certified)| match certified {
            Certified::Bundle(bundle) => Some((*round, *bundle)),
            Certified::At(_) => None,
        });
        open.collect()
    }

    /// A round is final: votes of earlier ones can make nothing else final.
    pub(crate) fn finalized(&self, round: u64) {
        let mut inner = self.inner.lock();
        inner.certified = inner.certified.split_off(&round.saturating_add(1));
    }

    /// Takes the operator's approval. `tip` is the last known bundle.
    pub(crate) fn approve(&self, change: SetChange, tip: u64) -> Result<(), ApprovalError> {
        let mut inner = self.inner.lock();
        let newest = inner.history.newest_epoch();
        if newest > inner.epoch {
            return Err(ApprovalError::Agreed(inner.history.newest().first));
        }
        if !inner.is_member(&self.key.public_key()) {
            return Err(ApprovalError::NotValidator);
        }
        let (found, expected) = (change.epoch, newest + 1);
        if found != expected {
            return Err(ChangeError::Epoch { expected, found }.into());
        }
        if inner.own.approved.as_ref() == Some(&change) {
            return Ok(());
        }
        if let Some(promised) = &inner.own.promised {
            let (height, id) = (promised.first_height, promised.id());
            return Err(ApprovalError::Promised { height, id });
        }
        if !inner.votes {
            return Err(ApprovalError::NoVotes);
        }
        let current: BTreeMap<_, _> =
            inner.history.newest().members.iter().map(|(key, at)| (key, at)).collect();
        let wanted: BTreeMap<_, _> = change.members().iter().map(|(key, at)| (key, at)).collect();
        if current == wanted {
            return Err(ApprovalError::SameSet);
        }
        let (least, most) = (tip.saturating_add(LEAST_AHEAD), tip.saturating_add(MOST_AHEAD));
        // One that others wait for is taken as long as it can come true.
        let is_awaited =
            inner.agreement.votes(&change).is_some_and(|votes| !votes.promises.is_empty());
        let least = if is_awaited { tip.saturating_add(1) } else { least };
        if !(least..=most).contains(&change.first_height) {
            let found = change.first_height;
            return Err(ApprovalError::Height { found, least, most, tip });
        }
        let former = inner.own.approved.replace(change.clone());
        if let Err(error) = self.save(&mut inner) {
            inner.own.approved = former;
            return Err(ApprovalError::Storage(error.to_string()));
        }
        self.sign(&mut inner, &change, Statement::Approval);
        Ok(())
    }

    /// The state for peers: the epoch, the newest known one, and the next change.
    pub(super) fn to_send(&self) -> (u64, u64, Option<Votes>) {
        let inner = self.inner.lock();
        let votes = inner.agreement.leading(inner.own.approved.as_ref()).cloned();
        (inner.epoch, inner.history.newest_epoch(), votes)
    }

    /// Takes what a peer passes on.
    ///
    /// # Errors
    /// A signature is wrong; the peer is to be blocked.
    pub(super) fn receive(&self, votes: Votes) -> Result<(), WrongSignature> {
        let mut inner = self.inner.lock();
        let inner = &mut *inner;
        if votes.change.epoch != inner.history.newest_epoch() + 1 {
            return Ok(());
        }
        let change = votes.change.clone();
        let (domain, set) = (&inner.history.domain, inner.history.newest());
        match inner.agreement.merge(domain, set, votes) {
            Ok(false) => return Ok(()),
            Ok(true) => self.changed(),
            Err(key) => return Err(WrongSignature(key)),
        }
        // A promise that was lost with this node's folder.
        let own = self.key.public_key();
        let votes = inner.agreement.votes(&change);
        let is_promised = votes.is_some_and(|votes| votes.promises.contains_key(&own));
        if is_promised && inner.own.promised.is_none() {
            inner.own = Commitments { approved: Some(change.clone()), promised: Some(change) };
            self.save_later(inner);
        }
        Ok(())
    }

    /// Goes on with the next change: gives the promise when it is due, forgets what is too late, and returns the change
    /// when it is agreed.
    pub(super) fn advance(
        &self,
        last_final: u64,
    ) -> Result<Option<SignedChange>, CommitmentsError> {
        let mut inner = self.inner.lock();
        let inner = &mut *inner;
        let (epoch, newest) = (inner.epoch, inner.history.newest_epoch());
        inner.agreement.forget_below(last_final);
        if newest == epoch {
            let is_passed = |change: &SetChange| last_final >= change.first_height;
            if let Some(promised) = inner.own.promised.take_if(|change| is_passed(change)) {
                // Its quorum can't come together any more: a quorum voted for a bundle at its height in this epoch.
                let height = promised.first_height;
                warn!(height, "a change of the validators was promised, and not agreed in time");
            }
            let (agreement, promised) = (&inner.agreement, &inner.own.promised);
            let is_late = |change: &SetChange| {
                let promises = agreement.votes(change).map_or(0, |votes| votes.promises.len());
                let near = last_final.saturating_add(PROMISE_AHEAD) >= change.first_height;
                is_passed(change) || (near && promises == 0 && promised.is_none())
            };
            if let Some(approved) = inner.own.approved.take_if(|change| is_late(change)) {
                let height = approved.first_height;
                warn!(height, "a change of the validators was approved by too few in time");
            }
            self.save(inner)?;
        }
        if newest > epoch || !inner.is_member(&self.key.public_key()) {
            return Ok(None);
        }
        let Some(approved) = inner.own.approved.clone() else {
            return Ok(inner.agreement.agreed(inner.history.newest().members.len()));
        };
        self.sign(inner, &approved, Statement::Approval);
        let validators = inner.history.newest().members.len();
        let votes = inner.agreement.votes(&approved);
        let (approvals, promises) =
            votes.map_or((0, 0), |votes| (votes.approvals.len(), votes.promises.len()));
        let may_be_final = inner.certified.values().map(|certified| match certified {
            Certified::At(height) => *height,
            Certified::Bundle(_) => u64::MAX,
        });
        let may_be_final = may_be_final.max();
        // Until the journal is read, this node may have given any vote.
        let is_free =
            !inner.is_replaying && may_be_final.max(Some(last_final)) < Some(approved.first_height);
        let is_in_time =
            promises > 0 || last_final.saturating_add(PROMISE_AHEAD) < approved.first_height;
        if inner.own.promised.is_none()
            && inner.votes
            && approvals >= quorum(validators)
            && is_free
            && is_in_time
        {
            inner.own.promised = Some(approved.clone());
            self.save(inner)?;
            let height = approved.first_height;
            info!(height, "a quorum approves a change of the validators: promised");
        }
        if inner.own.promised.as_ref() == Some(&approved) {
            self.sign(inner, &approved, Statement::Promise);
        }
        Ok(inner.agreement.agreed(validators))
    }

    /// Adds this validator's signature, if it is not there.
    fn sign(&self, inner: &mut Inner, change: &SetChange, statement: Statement) {
        let key = self.key.public_key();
        if inner.agreement.has(&change.id(), statement, &key) {
            return;
        }
        let signature = signing::sign(change, &inner.history.domain, statement, &self.key);
        inner.agreement.add(change, statement, (key, signature));
        self.changed();
    }

    /// Adds a change; returns whether it is new. It is stored before anything follows from it.
    pub(crate) async fn append(&self, document: &[u8]) -> Result<bool, AppendError> {
        let unknown =
            |history: &ChangeHistory| (!history.has_change_of(document)).then(|| history.clone());
        let Some(mut history) = self.with_history(unknown) else { return Ok(false) };
        if !history.append(document)? {
            return Ok(false);
        }
        let epoch = history.newest_epoch();
        self.log.append(epoch, document).await.map_err(AppendError::Log)?;
        let first_height = history.newest().first;
        let validators = history.newest().members.len();
        {
            let mut inner = self.inner.lock();
            inner.history = history;
            inner.agreement.clear();
            inner.own.approved = None;
            self.save_later(&mut inner);
        }
        info!(epoch, first_height, validators, "a change of the validators is agreed");
        self.changed();
        Ok(true)
    }

    /// Agreed changes from this epoch on.
    pub(super) fn documents_from(&self, epoch: u64, most: usize) -> Vec<Bytes> {
        let skipped = usize::try_from(epoch.saturating_sub(1)).unwrap_or(usize::MAX);
        self.with_history(|history| {
            history.documents().iter().skip(skipped).take(most).cloned().collect()
        })
    }

    /// The status that operators see.
    pub(crate) fn status(&self) -> ChangeStatus {
        let inner = self.inner.lock();
        let set = inner.history.set(inner.epoch);
        let validators = set.map(|set| set.members.clone()).unwrap_or_default();
        let next = inner.history.set(inner.epoch + 1);
        let agreed = next
            .and_then(|set| SetChange::new(inner.epoch + 1, set.first, set.members.clone()).ok());
        let proposal = |votes: &Votes| Proposal {
            change: votes.change.clone(),
            approvals: votes.approvals.keys().copied().collect(),
            promises: votes.promises.keys().copied().collect(),
            is_own: inner.own.approved.as_ref() == Some(&votes.change),
        };
        ChangeStatus {
            epoch: inner.epoch,
            first_height: set.map_or(0, |set| set.first),
            quorum: quorum(validators.len()),
            validators,
            agreed,
            proposals: inner.agreement.all().map(proposal).collect(),
        }
    }

    /// The height of a bundle of the journal.
    pub(super) fn resolve(&self, round: u64, height: u64) {
        let mut inner = self.inner.lock();
        if let Some(certified @ Certified::Bundle(_)) = inner.certified.get_mut(&round) {
            *certified = Certified::At(height);
        }
    }
}

impl fmt::Debug for ChangeState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangeState").field("key", &self.key).finish_non_exhaustive()
    }
}
