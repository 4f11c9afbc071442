//! The engine of a follower.

mod back;
mod certified;
mod prefetch;
mod progress;
mod source_log;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use esker_chain::{
    AdjustableClock, Bundle, ChainMachine, Engine, EngineError, EngineStatus, FinalizeError, Role,
    Shutdown,
};
use esker_primitives::ChainId;
use esker_primitives::clock::Clock;
use esker_primitives::sync::Mutex;

use self::back::{ReturnWatch, Schedule};
use self::certified::CertifiedGate;
pub use self::certified::{MAX_UNCERTIFIED, MAX_UNCERTIFIED_BYTES};
use self::prefetch::Prefetch;
use self::progress::Progress;
use self::source_log::SourceLog;
use crate::feed::{FeedItem, Source, SourceError};
use crate::forward::PreferredSource;
use crate::status::{FollowStatus, StatusCell};
use crate::validators::{FollowedValidators, update};

/// Most bundles that are passed to the machine at once.
const GROUP_LEN: usize = 256;
/// Bytes of blocks at which a group of bundles is complete.
const GROUP_BYTES: usize = 4 << 20;
/// Longest wait for the time of a bundle that is ahead of the clock, before it is tried again.
const CLOCK_WAIT_MS: u64 = 1000;
/// Wait before a bundle is tried again after a temporary error of the store.
const STORE_WAIT_MS: u64 = 250;

/// Settings of a follower.
#[derive(Clone, Copy, Debug)]
pub struct FollowerConfig {
    /// Wait after the first failure of all sources. It doubles with each further one.
    pub retry_min: Duration,
    /// Longest wait between two rounds over the sources.
    pub retry_max: Duration,
    /// Time for which a source may send bundles without a certificate, if the network has certificates.
    pub certificate_wait: Duration,
    /// Wait before a preferred source is probed again while a lower one is followed. It doubles while none is back.
    pub return_min: Duration,
    /// Longest such wait.
    pub return_max: Duration,
    /// Time for which a preferred source must send the same bundles as the lower one before the follower returns to
    /// it. It is longer than the time that a source may take for a bundle.
    pub return_time: Duration,
}

impl Default for FollowerConfig {
    fn default() -> Self {
        Self {
            retry_min: Duration::from_millis(100),
            retry_max: Duration::from_secs(5),
            certificate_wait: Duration::from_secs(30),
            return_min: Duration::from_secs(1),
            return_max: Duration::from_secs(300),
            return_time: Duration::from_secs(15),
        }
    }
}

/// Takes final bundles from the first source that serves them. It builds none.
///
/// Every bundle is verified by the machine before it is final here. With [`Follower::with_validators`] it must also have
/// a certificate, or a descendant with one, before the machine gets it. A source that fails is left for the next one of
/// the list. A source that contradicts what is final here, or sends an invalid bundle, changes nothing: the follower
/// goes on with other sources, and [`FollowStatus::fault`] says what is wrong.
#[derive(Debug)]
pub struct Follower {
    sources: Vec<Arc<dyn Source>>,
    config: FollowerConfig,
    clock: Arc<dyn Clock>,
    chain_clock: Option<AdjustableClock>,
    validators: Option<Arc<dyn FollowedValidators>>,
    preferred: PreferredSource,
    status: StatusCell,
}

impl Follower {
    /// A follower of these sources, the preferred one first.
    pub fn new(
        sources: Vec<Arc<dyn Source>>,
        config: FollowerConfig,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let status = StatusCell::new(clock.now_ms());
        let preferred = PreferredSource::default();
        Self { sources, config, clock, chain_clock: None, validators: None, preferred, status }
    }

    /// Moves the chains' clock forward to blocks that are ahead of it. A development network needs this, since the
    /// source's clock may have been moved. Without it the follower waits.
    #[must_use]
    pub fn with_chain_clock(self, clock: AdjustableClock) -> Self {
        Self { chain_clock: Some(clock), ..self }
    }

    /// Takes only bundles that these validators have decided, or ancestors of such bundles. The source that is
    /// followed is then the preferred one for transactions.
    #[must_use]
    pub fn with_validators(
        self,
        validators: Arc<dyn FollowedValidators>,
        preferred: PreferredSource,
    ) -> Self {
        Self { validators: Some(validators), preferred, ..self }
    }

    /// Source, heights and lag.
    pub fn follow_status(&self) -> FollowStatus {
        self.status.get(self.clock.now_ms())
    }

    /// Follows one source until it fails, or a preferred one is back.
    async fn follow(
        &self,
        (place, source): (usize, &Arc<dyn Source>),
        machine: &Arc<dyn ChainMachine>,
        (log, schedule): (&mut SourceLog, &Arc<Mutex<Schedule>>),
    ) -> Result<LeaveReason, EngineError> {
        let preferred = self.sources.get(..place).unwrap_or_default();
        let mut watch = ReturnWatch::spawn(preferred, machine, schedule, self.config.return_time);
        let reader_machine = Arc::clone(machine);
        let machine = machine.as_ref();
        let last = machine.last_final();
        let feed = match source.open(last).await {
            Ok(feed) => feed,
            Err(error) => return Ok(LeaveReason::Failed(error)),
        };
        if let Some(validators) = &self.validators
            && let Err(error) = update(validators.as_ref(), source.as_ref()).await
        {
            return Ok(LeaveReason::Failed(error));
        }
        if log.connected() {
            tracing::info!(source = source.name(), height = last.0, "following");
        }
        self.status.connected(source.name(), last.0);
        let mut items = Prefetch::spawn(feed, reader_machine);
        let mut progress = Progress::new(self.clock.now_ms(), last.0);
        let max_wait_ms = u64::try_from(self.config.certificate_wait.as_millis());
        let max_wait_ms = max_wait_ms.unwrap_or(u64::MAX);
        let gate = |validators| CertifiedGate::new(validators, last, max_wait_ms);
        let mut gate = self.validators.clone().map(gate);
        if gate.is_some() {
            self.preferred.set(place);
        }
        loop {
            let received = gate.as_ref().map(CertifiedGate::received);
            let mut group = Group::new(received.unwrap_or(machine.last_final().0));
            let mut item = tokio::select! {
                place = watch.wait() => return Ok(LeaveReason::PreferredBack(place)),
                item = items.next() => item,
            };
            let ended = loop {
                match item {
                    Err(error) => break Some(error),
                    Ok(FeedItem::Remaining(bundles)) => {
                        let received = group.received();
                        let tip = if gate.is_some() { machine.last_final().0 } else { received };
                        let left = received.saturating_sub(tip).saturating_add(bundles);
                        self.status.remaining(tip, left, self.clock.now_ms());
                    }
                    Ok(FeedItem::Bundle { bundle, proof }) => group.push(bundle, proof),
                    Ok(FeedItem::Block { .. }) if gate.is_some() => {
                        let text = "a block without a bundle, which has no certificate";
                        break Some(SourceError::Certificate(text.to_owned()));
                    }
                    Ok(FeedItem::Block { chain, bytes }) => group.push_block(chain, bytes),
                }
                if group.is_full() {
                    break None;
                }
                match items.try_next() {
                    Some(further) => item = further,
                    None => break None,
                }
            };
            let finalized = match &mut gate {
                None => self.finalize(machine, group).await?,
                Some(gate) => {
                    let source = source.as_ref();
                    self.finalize_certified(machine, (gate, source), group.bundles).await?
                }
            };
            if let Some(error) = finalized.err().or(ended) {
                return Ok(LeaveReason::Failed(error));
            }
            progress.note(&self.status, self.clock.now_ms());
        }
    }

    /// Makes those of the bundles final that have a certificate, or a descendant with one. After a refused or overdue
    /// certificate it asks the source for changes of the validators. If there is a new one, it checks the
    /// certificates again.
    async fn finalize_certified(
        &self,
        machine: &dyn ChainMachine,
        (gate, source): (&mut CertifiedGate, &dyn Source),
        mut arrived: Vec<(Bundle, Option<Bytes>)>,
    ) -> Result<Result<(), SourceError>, EngineError> {
        loop {
            let (certified, refused) = gate.pass(std::mem::take(&mut arrived), self.clock.now_ms());
            let mut group = Group::new(machine.last_final().0);
            certified.into_iter().for_each(|(bundle, proof)| group.push(bundle, proof));
            if let Err(error) = self.finalize(machine, group).await? {
                return Ok(Err(error));
            }
            let Some(refused) = refused else { return Ok(Ok(())) };
            let updated = match (&self.validators, &refused) {
                (Some(validators), SourceError::Certificate(_)) => {
                    update(validators.as_ref(), source).await
                }
                _ => Ok(false),
            };
            match updated {
                Ok(true) => {}
                Err(error) if error.is_fault() || matches!(error, SourceError::Storage(_)) => {
                    return Ok(Err(error));
                }
                Ok(false) | Err(_) => return Ok(Err(refused)),
            }
        }
    }

    /// Makes a group of bundles final, in as few writes as their size allows.
    async fn finalize(
        &self,
        machine: &dyn ChainMachine,
        group: Group,
    ) -> Result<Result<(), SourceError>, EngineError> {
        let Some(tip) = group.tip() else { return Ok(Ok(())) };
        let mut has_failed = false;
        loop {
            let outcome = group.finalize(machine).await;
            let (height, _) = machine.last_final();
            let at = height + 1;
            let refused = |reason: String| SourceError::Contradiction(reason);
            match outcome {
                Ok(()) => {
                    self.status.advanced(tip, self.clock.now_ms());
                    return Ok(Ok(()));
                }
                Err(FinalizeError::NotYet { until_ms, .. })
                    if self.chain_clock.as_ref().is_some_and(|clock| clock.now_ms() < until_ms) =>
                {
                    self.chain_clock.iter().for_each(|clock| clock.advance_to(until_ms));
                }
                Err(FinalizeError::NotYet { until_ms, reason }) => {
                    let now_ms = self.clock.now_ms();
                    tracing::warn!(height = at, reason, "waiting: the clocks differ");
                    self.clock.sleep_until(until_ms.min(now_ms + CLOCK_WAIT_MS)).await;
                }
                Err(FinalizeError::Invalid(reason)) => {
                    return Ok(Err(refused(format!("bundle {at} is invalid: {reason}"))));
                }
                Err(FinalizeError::Conflict { id, height }) => {
                    return Ok(Err(refused(format!("another bundle, {id}, at height {height}"))));
                }
                Err(error @ (FinalizeError::OutOfOrder { .. } | FinalizeError::NotLast { .. })) => {
                    return Ok(Err(refused(error.to_string())));
                }
                Err(FinalizeError::Chain(error)) if error.is_temporary() => {
                    if !std::mem::replace(&mut has_failed, true) {
                        tracing::error!(height = at, %error, "a bundle can't be made final; retrying");
                    }
                    self.clock.sleep_until(self.clock.now_ms() + STORE_WAIT_MS).await;
                }
                Err(error @ FinalizeError::Chain(_)) => return Err(error.into()),
            }
        }
    }

    /// Records why a source was left.
    fn left(&self, source: &dyn Source, error: &SourceError, log: &mut SourceLog) {
        let (name, is_fault) = (source.name(), error.is_fault());
        self.status.disconnected(format!("{name}: {error}"), is_fault);
        if !log.lost(&error.to_string(), self.clock.now_ms()) {
            return;
        }
        if is_fault {
            tracing::error!(source = name, %error, "the source can't be followed");
        } else {
            tracing::warn!(source = name, %error, "lost the source; trying the next");
        }
    }
}

/// The reason for leaving a source.
enum LeaveReason {
    Failed(SourceError),
    /// The preferred source of this place is back.
    PreferredBack(usize),
}

/// Consecutive bundles, or blocks of a source without bundles, that become final together.
struct Group {
    bundles: Vec<(Bundle, Option<Bytes>)>,
    /// Each becomes a bundle of its own, after the others.
    blocks: Vec<(ChainId, Bytes)>,
    bytes: usize,
    /// Height of the bundle before the group.
    base: u64,
}

impl Group {
    fn new(base: u64) -> Self {
        Self { bundles: Vec::new(), blocks: Vec::new(), bytes: 0, base }
    }

    fn push(&mut self, bundle: Bundle, proof: Option<Bytes>) {
        self.bytes = self.bytes.saturating_add(bundle.encoded_len());
        self.bundles.push((bundle, proof));
    }

    fn push_block(&mut self, chain: ChainId, block: Bytes) {
        self.bytes = self.bytes.saturating_add(block.len());
        self.blocks.push((chain, block));
    }

    /// Makes the rest of the group final. It may be called again after an error.
    async fn finalize(&self, machine: &dyn ChainMachine) -> Result<(), FinalizeError> {
        if !self.bundles.is_empty() {
            machine.finalize_all(self.bundles.clone()).await?;
        }
        let (height, last) = machine.last_final();
        let bundles = self.bundles.len() as u64;
        let done = height.saturating_sub(self.base.saturating_add(bundles));
        let left = self.blocks.get(usize::try_from(done).unwrap_or(usize::MAX)..);
        match left {
            None | Some([]) => Ok(()),
            Some(blocks) => machine.finalize_blocks(&last, blocks.to_vec()).await,
        }
    }

    fn len(&self) -> usize {
        self.bundles.len() + self.blocks.len()
    }

    /// Height of its last bundle.
    fn tip(&self) -> Option<u64> {
        (self.len() > 0).then(|| self.received())
    }

    /// Height of its last bundle, or of the one before it.
    fn received(&self) -> u64 {
        self.base.saturating_add(self.len() as u64)
    }

    fn is_full(&self) -> bool {
        self.len() >= GROUP_LEN || self.bytes >= GROUP_BYTES
    }
}

#[async_trait]
impl Engine for Follower {
    async fn run(
        self: Arc<Self>,
        machine: Arc<dyn ChainMachine>,
        mut stop: Shutdown,
    ) -> Result<(), EngineError> {
        if self.sources.is_empty() {
            return Err(EngineError::Protocol("no source to follow".to_owned()));
        }
        let mut wait = self.config.retry_min;
        let mut logs = vec![SourceLog::default(); self.sources.len()];
        let schedule = Schedule::new(&self.config);
        let schedule = Arc::new(Mutex::new_named("follow.schedule", schedule));
        let (mut place, mut before) = (0, machine.last_final().0);
        while let (Some(source), Some(log)) = (self.sources.get(place), logs.get_mut(place)) {
            let from = machine.last_final().0;
            let left = tokio::select! {
                followed = self.follow((place, source), &machine, (&mut *log, &schedule)) => followed?,
                () = stop.wait() => return Ok(()),
            };
            if machine.last_final().0 > from {
                log.advanced();
            }
            let now_ms = self.clock.now_ms();
            match left {
                LeaveReason::PreferredBack(preferred) => {
                    tracing::info!(
                        source = source.name(),
                        "leaving the source: a preferred one is back"
                    );
                    schedule.lock().returned(preferred, now_ms);
                    place = preferred;
                    continue;
                }
                LeaveReason::Failed(error) => {
                    schedule.lock().left(place, now_ms);
                    self.left(source.as_ref(), &error, log);
                }
            }
            place += 1;
            if place < self.sources.len() {
                continue;
            }
            wait = match machine.last_final().0 > before {
                true => self.config.retry_min,
                false => (wait * 2).min(self.config.retry_max),
            };
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = stop.wait() => return Ok(()),
            }
            (place, before) = (0, machine.last_final().0);
        }
        Ok(())
    }

    fn status(&self) -> EngineStatus {
        let FollowStatus { source, tip_final, tip_seen, .. } = self.follow_status();
        EngineStatus {
            role: Role::Follower,
            tip_final,
            tip_seen,
            peers: usize::from(source.is_some()),
            // Health checks judge the lag by its age.
            syncing: false,
        }
    }
}
