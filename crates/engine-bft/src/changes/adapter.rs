//! Epochs and their validators for the library, and the promise.

use std::fmt;
use std::sync::Arc;

use commonware_actor::Feedback;
use commonware_consensus::marshal::core::Mailbox;
use commonware_consensus::marshal::standard::Standard;
use commonware_consensus::simplex::Plan;
use commonware_consensus::simplex::scheme::ed25519::Scheme;
use commonware_consensus::simplex::types::Context;
use commonware_consensus::types::{Epoch, EpochInfo, Epocher, Height, Round};
use commonware_consensus::{Automaton, CertifiableAutomaton, Handoff, Heightable as _, Relay};
use commonware_cryptography::certificate::{Provider, Scoped};
use commonware_cryptography::ed25519::PublicKey;
use commonware_runtime::{Metrics, Spawner};
use commonware_utils::channel::oneshot;

use super::ChangeState;
use crate::block::{BundleBlock, Digest, id_of};
use crate::shared::Shared;

/// The epochs as they are agreed, or as this node votes.
#[derive(Clone, Debug)]
pub(crate) struct Epochs {
    state: Arc<ChangeState>,
    for_votes: bool,
}

impl Epochs {
    /// For delivery: what is agreed.
    pub(crate) fn agreed(state: Arc<ChangeState>) -> Self {
        Self { state, for_votes: false }
    }

    /// For votes: a promise ends the epoch too.
    pub(crate) fn of_votes(state: Arc<ChangeState>) -> Self {
        Self { state, for_votes: true }
    }

    fn bounds(&self, epoch: u64) -> Option<(u64, u64)> {
        let bounds = |history: &super::ChangeHistory| {
            Some((history.set(epoch)?.first, history.last(epoch)?))
        };
        let (first, last) = self.state.with_history(bounds)?;
        let promised = match self.for_votes && epoch == self.state.epoch() {
            true => self.state.limit(epoch).map(|limit| limit.saturating_sub(1)),
            false => None,
        };
        Some((first, promised.unwrap_or(last)))
    }
}

impl Epocher for Epochs {
    fn containing(&self, height: Height) -> Option<EpochInfo> {
        let epoch = self.state.with_history(|history| history.epoch_of(height.get()));
        let (first, last) = self.bounds(epoch)?;
        let info = EpochInfo::new(Epoch::new(epoch), height, Height::new(first), Height::new(last));
        // Above a promise that is not agreed no epoch is known.
        (height.get() <= last).then_some(info)
    }

    fn first(&self, epoch: Epoch) -> Option<Height> {
        self.bounds(epoch.get()).map(|(first, _)| Height::new(first))
    }

    fn last(&self, epoch: Epoch) -> Option<Height> {
        self.bounds(epoch.get()).map(|(_, last)| Height::new(last))
    }
}

/// Checks the votes of each epoch, and signs those of one.
#[derive(Clone)]
pub(crate) struct Schemes {
    state: Arc<ChangeState>,
    epoch: u64,
    own: Arc<Scheme>,
}

impl Schemes {
    pub(crate) fn new(state: Arc<ChangeState>, epoch: u64, own: Scheme) -> Self {
        Self { state, epoch, own: Arc::new(own) }
    }
}

impl Provider for Schemes {
    type Scope = Epoch;
    type Scheme = Scheme;

    fn scoped(&self, epoch: Epoch) -> Option<Scoped<Scheme>> {
        if epoch.get() == self.epoch {
            return Some(Scoped::scheme(Arc::clone(&self.own)));
        }
        let verifier = |history: &super::ChangeHistory| {
            history.set(epoch.get()).map(|set| Arc::clone(&set.verifier))
        };
        self.state.with_history(verifier).map(Scoped::scheme)
    }
}

/// Keeps the promise: no vote makes a bundle final that the next validators decide.
pub(crate) struct Guarded<E, A> {
    context: Arc<E>,
    inner: A,
    marshal: Mailbox<Scheme, Standard<BundleBlock>>,
    shared: Arc<Shared>,
    state: Arc<ChangeState>,
}

impl<E, A: Clone> Clone for Guarded<E, A> {
    fn clone(&self) -> Self {
        Self {
            context: Arc::clone(&self.context),
            inner: self.inner.clone(),
            marshal: self.marshal.clone(),
            shared: Arc::clone(&self.shared),
            state: Arc::clone(&self.state),
        }
    }
}

impl<E, A> fmt::Debug for Guarded<E, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Guarded")
    }
}

impl<E, A> Guarded<E, A> {
    pub(crate) fn new(
        context: E,
        inner: A,
        marshal: Mailbox<Scheme, Standard<BundleBlock>>,
        shared: Arc<Shared>,
        state: Arc<ChangeState>,
    ) -> Self {
        Self { context: Arc::new(context), inner, marshal, shared, state }
    }
}

impl<E, A> Automaton for Guarded<E, A>
where
    E: Spawner + Metrics,
    A: Automaton<Digest = Digest, Context = Context<Digest, PublicKey>> + Sync,
{
    type Context = A::Context;
    type Digest = Digest;

    async fn propose(&mut self, context: Self::Context) -> oneshot::Receiver<Digest> {
        self.state.set_replayed();
        self.inner.propose(context).await
    }

    async fn verify(&mut self, context: Self::Context, payload: Digest) -> oneshot::Receiver<bool> {
        self.state.set_replayed();
        self.inner.verify(context, payload).await
    }
}

impl<E, A> CertifiableAutomaton for Guarded<E, A>
where
    E: Spawner + Metrics,
    A: CertifiableAutomaton<Digest = Digest, Context = Context<Digest, PublicKey>> + Sync,
{
    async fn prepare(&mut self, context: Self::Context) -> oneshot::Receiver<Handoff<Digest>> {
        self.state.set_replayed();
        self.inner.prepare(context).await
    }

    async fn certify(&mut self, round: Round, payload: Digest) -> oneshot::Receiver<bool> {
        self.state.set_replayed();
        let certified = self.inner.certify(round, payload).await;
        let (mut sender, receiver) = oneshot::channel();
        let (marshal, state) = (self.marshal.clone(), Arc::clone(&self.state));
        let view = round.view().get();
        let known = self.shared.height(view, &id_of(&payload));
        self.context.child("certify").spawn(move |_| async move {
            let verdict = tokio::select! {
                biased;
                () = sender.closed() => return,
                verdict = certified => verdict,
            };
            let Ok(mut verdict) = verdict else { return };
            if verdict {
                let height = match known {
                    Some(height) => Some(height),
                    None => marshal.get_block(&payload).await.map(|block| block.height().get()),
                };
                // Without the height nothing is said about it, as when the engine stops.
                let Some(height) = height else { return };
                verdict = state.certify(view, height);
            }
            let _gone = sender.send(verdict);
        });
        receiver
    }
}

impl<E, A> Relay for Guarded<E, A>
where
    E: Send + Sync + 'static,
    A: Relay<Digest = Digest, PublicKey = PublicKey, Plan = Plan<PublicKey>> + Sync,
{
    type Digest = Digest;
    type PublicKey = PublicKey;
    type Plan = Plan<PublicKey>;

    fn broadcast(&mut self, payload: Digest, plan: Self::Plan) -> Feedback {
        self.inner.broadcast(payload, plan)
    }
}
