//! Proposing and verifying with the machine.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use commonware_consensus::marshal::ancestry::Ancestry;
use commonware_consensus::simplex::scheme::ed25519::Scheme;
use commonware_consensus::simplex::types::Context;
use commonware_consensus::{Heightable, Viewable};
use commonware_cryptography::{Digested, Digestible, ed25519};
use commonware_runtime::Clock;
use esker_chain::{Bundle, BundleId, ChainError, ChainMachine, ProposeCtx, ProposeError, Verdict};
use esker_validators::{Timings, ValidatorPublicKey};
use futures_util::StreamExt;
use tracing::{debug, warn};

use crate::block::{BundleBlock, MAX_NETWORK_BUNDLE, id_of};
use crate::library;
use crate::log_limit::LogLimit;
use crate::shared::Shared;

/// Delay before a call that may succeed later is repeated.
const RETRY: Duration = Duration::from_millis(100);

/// Longest sleep for a bundle that is ahead of the clock; then the clock is read again.
const MAX_SLEEP_MS: u64 = 1_000;

/// The callbacks by which the library asks for proposals and verdicts. Calls may be cancelled at any await.
#[derive(Clone)]
pub(crate) struct Application {
    machine: Arc<dyn ChainMachine>,
    shared: Arc<Shared>,
    heartbeat_ms: u64,
    /// How far a proposal may be ahead of the time from which it can be valid: what a round lasts.
    patience_ms: u64,
    lines: Arc<LogLimit<Line>>,
}

/// A log line that a dishonest leader, or a store that fails, causes again and again.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Line {
    Refused(ValidatorPublicKey),
    Undecided,
}

impl Application {
    pub(crate) fn new(
        machine: Arc<dyn ChainMachine>,
        shared: Arc<Shared>,
        timings: &Timings,
    ) -> Self {
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let (heartbeat_ms, patience_ms) = (ms(timings.heartbeat), ms(timings.certification));
        Self { machine, shared, heartbeat_ms, patience_ms, lines: Arc::new(LogLimit::new()) }
    }

    /// The bundles of a stream that are not final, newest first.
    async fn undecided(&self, mut ancestry: impl Ancestry<BundleBlock>) -> Vec<Bundle> {
        let mut path = Vec::new();
        while let Some(block) = ancestry.next().await {
            if block.height().get() <= self.machine.last_final().0 {
                break;
            }
            path.push(block.inner().bundle().clone());
        }
        path
    }

    /// After an error of the machine: makes room if it has too many bundles, and waits. Ends the engine if the call
    /// can't succeed later.
    async fn recover(&self, clock: &impl Clock, error: ChainError, round: u64, kept: &[BundleId]) {
        match error {
            ChainError::TooManyUndecided { .. } => {
                for id in self.shared.bundles_before(round, kept) {
                    if let Err(error) = self.machine.abandon(&id).await {
                        debug!(%error, "an old bundle was not dropped");
                    }
                }
                clock.sleep(RETRY).await;
            }
            error if error.is_temporary() => {
                if let Some(omitted) = self.lines.next(&Line::Undecided) {
                    warn!(%error, omitted, "the machine can't decide; trying again");
                }
                clock.sleep(RETRY).await;
            }
            error => {
                self.shared.fail(error.into());
                std::future::pending::<()>().await;
            }
        }
    }

    /// A bundle on the first one of `ancestry`. Waits for work while the parent is young; then the bundle may be
    /// empty. `None`: nothing can be built on this parent.
    async fn propose(
        &self,
        clock: &impl Clock,
        round: u64,
        ancestry: impl Ancestry<BundleBlock>,
    ) -> Option<Bundle> {
        let parent = ancestry.clone().next().await?;
        let parent_id = id_of(&parent.digest());
        let parent = parent.inner().bundle();
        let height = parent.height.checked_add(1)?;
        let wait_until_ms = parent.timestamp_ms.saturating_add(self.heartbeat_ms);
        let mut path = Vec::new();
        loop {
            let at = ProposeCtx { height, parent: parent_id, ancestry: &path, wait_until_ms };
            let proposal = match self.machine.propose(at).await {
                Ok(None) => self.machine.propose_now(at).await.map(Some),
                proposal => proposal,
            };
            match proposal {
                Ok(bundle) => return bundle,
                Err(ProposeError::Parent { verdict: Verdict::ParentMissing, .. }) => {
                    if !path.is_empty() {
                        clock.sleep(RETRY).await;
                    }
                    path = self.undecided(ancestry.clone()).await;
                }
                Err(ProposeError::Parent { verdict: Verdict::NotYet { until_ms, .. }, .. })
                    if !self.is_too_far(clock, until_ms) =>
                {
                    sleep_until(clock, until_ms).await;
                }
                Err(ProposeError::Chain(error)) => {
                    let kept: Vec<_> = path.iter().map(Bundle::id).chain([parent_id]).collect();
                    self.recover(clock, error, round, &kept).await;
                }
                Err(error @ (ProposeError::Parent { .. } | ProposeError::Height { .. })) => {
                    debug!(round, %error, "nothing is proposed");
                    return None;
                }
            }
        }
    }

    /// Whether the first bundle of `ancestry`, the leader's, is valid. Waits while this node can't say.
    async fn verify(
        &self,
        clock: &impl Clock,
        (round, leader): (u64, ValidatorPublicKey),
        mut ancestry: impl Ancestry<BundleBlock>,
    ) -> bool {
        let Some(block) = ancestry.next().await else { return std::future::pending().await };
        let (bundle, id) = (block.inner().bundle(), id_of(&block.digest()));
        self.shared.add_bundle(round, id, bundle.height);
        let mut path = Vec::new();
        loop {
            match self.machine.verify(&path, bundle).await {
                Ok(Verdict::Valid | Verdict::AlreadyFinal) => return true,
                Ok(verdict @ (Verdict::Invalid(_) | Verdict::Abandoned)) => {
                    self.log_refusal(round, leader, (bundle.height, id), &verdict);
                    return false;
                }
                Ok(verdict @ Verdict::NotYet { until_ms, .. })
                    if self.is_too_far(clock, until_ms) =>
                {
                    self.log_refusal(round, leader, (bundle.height, id), &verdict);
                    return false;
                }
                Ok(Verdict::NotYet { until_ms, reason }) => {
                    debug!(round, %id, reason, "a proposal is ahead of the clock");
                    sleep_until(clock, until_ms).await;
                }
                Ok(Verdict::ParentMissing) => {
                    if !path.is_empty() {
                        clock.sleep(RETRY).await;
                    }
                    path = self.undecided(ancestry.clone()).await;
                }
                Err(error) => {
                    let kept: Vec<_> = path.iter().map(Bundle::id).chain([id]).collect();
                    self.recover(clock, error, round, &kept).await;
                }
            }
        }
    }

    /// Whether a round is over before a time. Then it is skipped at once.
    fn is_too_far(&self, clock: &impl Clock, until_ms: u64) -> bool {
        until_ms.saturating_sub(now_ms(clock)) > self.patience_ms
    }

    fn log_refusal(
        &self,
        round: u64,
        leader: ValidatorPublicKey,
        (height, id): (u64, BundleId),
        verdict: &Verdict,
    ) {
        if let Some(omitted) = self.lines.next(&Line::Refused(leader)) {
            warn!(round, %leader, height, %id, %verdict, omitted, "a proposal is refused");
        }
    }
}

fn now_ms(clock: &impl Clock) -> u64 {
    let now = clock.current().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

/// Sleeps until a Unix time in ms, but not long: the clock may be set.
async fn sleep_until(clock: &impl Clock, until_ms: u64) {
    let ms = until_ms.saturating_sub(now_ms(clock)).clamp(1, MAX_SLEEP_MS);
    clock.sleep(Duration::from_millis(ms)).await;
}

impl<E: Clock> commonware_consensus::Application<E> for Application {
    type SigningScheme = Scheme;
    type Context = Context<commonware_cryptography::sha256::Digest, ed25519::PublicKey>;
    type Block = BundleBlock;
    type Input = ();

    async fn propose(
        &mut self,
        (clock, context): (E, Self::Context),
        ancestry: impl Ancestry<BundleBlock>,
        (): (),
    ) -> Option<Digested<BundleBlock>> {
        let round = context.view().get();
        let bundle = Self::propose(self, &clock, round, ancestry).await?;
        if bundle.encoded_len() > MAX_NETWORK_BUNDLE {
            warn!(bytes = bundle.encoded_len(), "a proposal is too large");
            return None;
        }
        let height = bundle.height;
        let block = BundleBlock::new(bundle);
        let digest = block.digest();
        self.shared.add_bundle(round, id_of(&digest), height);
        Some(Digested::precomputed(block, digest))
    }

    async fn verify(
        &mut self,
        (clock, context): (E, Self::Context),
        ancestry: impl Ancestry<BundleBlock>,
    ) -> bool {
        let leader = library::from_library(&context.leader);
        Self::verify(self, &clock, (context.view().get(), leader), ancestry).await
    }
}
