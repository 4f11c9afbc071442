//! The queue of requests for blocks and changes, and the clock after each block.

use std::collections::{HashSet, VecDeque};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use alloy_primitives::{Address, B256};
use esker_artifacts::Registry;
use esker_chain::{AdjustableClock, Impersonations};
use esker_evm_execution::rules::{HeaderTerms, NextHeader, Rules};
use esker_primitives::Clock as _;
use esker_primitives::sync::Mutex;
use tokio::sync::{Notify, oneshot};

use super::ChangeRequest;
use super::error::ControlError;
use super::intervals::{Interval, IntervalTask, mine_at_intervals};
use super::limits::{MAX_BLOCKS, MAX_IMPERSONATED, MAX_REQUESTS, MAX_TIME_S};
use super::record::{MAX_BASE_FEE, MAX_GAS_LIMIT};
use super::settings::ControlSettings;
use crate::printed::PrintedCalls;

/// The content of the next block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// The waiting transactions, if there are any.
    Pool,
    /// No block.
    Nothing,
    /// All waiting transactions, and a control record.
    Mine,
    /// The transactions of [`Controls::only`], and a control record.
    Only,
    /// Only a control record.
    Change,
}

/// The control record of the block under construction.
#[derive(Debug)]
pub(crate) enum RecordPlan {
    /// No record.
    Nothing,
    /// An empty record.
    Block,
    /// An empty record; the chain's extension adds nothing.
    Record,
    /// A record with these changes; the block holds nothing else.
    Changes(Vec<ChangeRequest>),
}

#[derive(Debug)]
enum Work {
    /// The holder of the turn has no request now.
    Idle,
    Mine(Mining),
    Change {
        changes: Vec<ChangeRequest>,
        built: Option<B256>,
        done: DoneSender,
    },
}

/// A request for blocks.
#[derive(Debug)]
struct Mining {
    blocks: u64,
    made: u64,
    interval_s: u64,
    /// The time of the next block, Unix s; `None` for the time of the clock.
    next_s: Option<u64>,
    /// The blocks hold these transactions and no others.
    only: Option<Arc<HashSet<B256>>>,
    /// The last block that was built for the request.
    built: Option<B256>,
    /// No further block is made.
    is_over: bool,
    done: DoneSender,
}

/// Sends the outcome to the client, which may have gone away.
type DoneSender = oneshot::Sender<Result<(), ControlError>>;

#[derive(Debug)]
struct Request {
    id: u64,
    work: Work,
    /// Notified when the request becomes the first one.
    ready: Option<oneshot::Sender<()>>,
    /// The holder of the turn is gone. The request leaves the queue once its current block is accepted.
    is_abandoned: bool,
}

/// The header fields that the block under construction sets, and the hash of the block once it is built.
#[derive(Debug, Default)]
struct BuiltHeader {
    set: HeaderTerms,
    block: Option<B256>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) settings: ControlSettings,
    header: BuiltHeader,
    /// The first request is in progress.
    requests: VecDeque<Request>,
    last_id: u64,
    /// ID of the request for which the last block was planned. The request may be gone before the block is built.
    planned: Option<u64>,
}

impl State {
    /// The work of the request for which the last block was planned.
    fn planned_work(&mut self) -> Option<&mut Work> {
        let id = self.planned?;
        self.request(id).map(|request| &mut request.work)
    }

    fn request(&mut self, id: u64) -> Option<&mut Request> {
        self.requests.iter_mut().find(|request| request.id == id)
    }

    /// Notifies the first request that it is its turn.
    fn begin(&mut self) {
        if let Some(ready) = self.requests.front_mut().and_then(|request| request.ready.take()) {
            let _gone = ready.send(());
        }
    }

    /// Removes the first request if its holder is gone, and begins the next one.
    fn drop_abandoned(&mut self) {
        while self.requests.pop_front_if(|request| request.is_abandoned).is_some() {}
        self.begin();
    }

    /// Ends the work of the first request, which keeps its place.
    fn end_work(&mut self, outcome: Result<(), ControlError>) {
        let Some(request) = self.requests.front_mut() else { return };
        match std::mem::replace(&mut request.work, Work::Idle) {
            Work::Mine(Mining { done, .. }) | Work::Change { done, .. } => {
                let _gone = done.send(outcome);
            }
            Work::Idle => {}
        }
        self.drop_abandoned();
    }

    /// Ends a stopped request for blocks, unless one of its blocks is on its way.
    fn end_stopped(&mut self) {
        if let Some(Request { work: Work::Mine(mining), .. }) = self.requests.front()
            && let Mining { is_over: true, built: None, made, blocks: wanted, .. } = *mining
        {
            self.end_work(Err(ControlError::OutOfTime { made, wanted }));
        }
    }
}

/// The first place in the queue of the controls. Other requests wait until it is dropped.
#[derive(Debug)]
pub struct Turn {
    controls: Arc<Controls>,
    id: u64,
}

impl Turn {
    /// Makes blocks with the waiting transactions. The blocks may be empty. The time of the first block is
    /// `interval_s` seconds later than without the interval, and each further block is `interval_s` seconds later
    /// than the one before, however long it takes to make them. An interval of 0 does not change the clock. Returns
    /// when the blocks are accepted. After `patience` no further block is begun. Dropping the future has the same
    /// effect.
    ///
    /// # Errors
    /// There are too many blocks, a time is too late, `patience` is over, or the node stops.
    pub async fn mine(
        &mut self,
        blocks: u64,
        interval_s: u64,
        patience: Option<Duration>,
    ) -> Result<(), ControlError> {
        if blocks > MAX_BLOCKS {
            return Err(ControlError::Blocks { blocks, most: MAX_BLOCKS });
        }
        let controls = Arc::clone(&self.controls);
        if interval_s > 0 {
            let ahead_s = u128::from(interval_s) * u128::from(blocks);
            controls.check_time(u128::from(controls.clock.now_s()) + ahead_s)?;
        }
        let mut outcome = pin!(self.begin_mining(blocks, interval_s, None));
        let clock = controls.clock.base();
        let end_ms = patience.map_or(u64::MAX, |patience| {
            clock.now_ms().saturating_add(u64::try_from(patience.as_millis()).unwrap_or(u64::MAX))
        });
        tokio::select! {
            outcome = &mut outcome => return outcome,
            () = clock.sleep_until(end_ms), if patience.is_some() => {}
        }
        controls.stop_mining(self.id);
        outcome.await
    }

    /// Makes a block with these waiting transactions and no others.
    ///
    /// # Errors
    /// The node stops.
    pub(crate) async fn mine_only(&mut self, txs: HashSet<B256>) -> Result<(), ControlError> {
        self.begin_mining(1, 0, Some(Arc::new(txs))).await
    }

    fn begin_mining(
        &self,
        blocks: u64,
        interval_s: u64,
        only: Option<Arc<HashSet<B256>>>,
    ) -> impl Future<Output = Result<(), ControlError>> + use<> {
        let (done, outcome) = oneshot::channel();
        if blocks > 0 {
            let (made, next_s, built, is_over) = (0, None, None, false);
            self.controls.clock.advance(interval_s.saturating_mul(1000));
            let mining = Mining { blocks, made, interval_s, next_s, only, built, is_over, done };
            self.ask(Work::Mine(mining));
        } else {
            let _received = done.send(Ok(()));
        }
        async { outcome.await.unwrap_or(Err(ControlError::Stopped)) }
    }

    /// Changes the state in a block. Returns when it is accepted.
    ///
    /// # Errors
    /// A change is not possible, or the node stops.
    pub async fn change(&mut self, changes: Vec<ChangeRequest>) -> Result<(), ControlError> {
        let (done, outcome) = oneshot::channel();
        self.ask(Work::Change { changes, built: None, done });
        outcome.await.unwrap_or(Err(ControlError::Stopped))
    }

    fn ask(&self, work: Work) {
        if let Some(request) = self.controls.state.lock().request(self.id) {
            request.work = work;
        }
        self.controls.work.notify_one();
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = self.controls.state.lock();
        let is_first = state.requests.front().is_some_and(|request| request.id == self.id);
        match state.requests.front_mut().filter(|_| is_first).map(|request| {
            request.is_abandoned = true;
            &mut request.work
        }) {
            // A block may be on its way. It must not come after the blocks of the next request.
            Some(Work::Mine(mining)) => mining.is_over = true,
            Some(Work::Change { .. }) => {}
            Some(Work::Idle) | None => state.requests.retain(|request| request.id != self.id),
        }
        state.begin();
        drop(state);
        self.controls.work.notify_one();
    }
}

/// The controls of one chain.
#[derive(Debug)]
pub struct Controls {
    pub(super) clock: AdjustableClock,
    /// Notifies the machine of work.
    pub(super) work: Arc<Notify>,
    pub(super) state: Mutex<State>,
    next_header: Arc<NextHeader>,
    /// The impersonated addresses of the chains of UTXOs, which snapshots keep, too.
    addresses: Arc<Impersonations>,
    interval: IntervalTask,
    is_logging: AtomicBool,
    printed: PrintedCalls,
    artifacts: Registry,
}

impl Controls {
    /// The controls of a chain with this clock. `work` notifies the machine. Waiting transactions cause blocks.
    pub fn new(clock: AdjustableClock, work: Arc<Notify>) -> Self {
        let settings = ControlSettings { automine: true, ..ControlSettings::default() };
        let header = BuiltHeader::default();
        let state =
            State { settings, header, requests: VecDeque::new(), last_id: 0, planned: None };
        let state = Mutex::new_named("evm.controls", state);
        let (next_header, interval) = (Arc::default(), IntervalTask::default());
        let (is_logging, printed) = (AtomicBool::new(true), PrintedCalls::default());
        let artifacts = Registry::default();
        let addresses = Arc::default();
        Self {
            clock,
            work,
            state,
            next_header,
            addresses,
            interval,
            is_logging,
            printed,
            artifacts,
        }
    }

    /// The same, with the impersonated addresses of the chains of UTXOs.
    #[must_use]
    pub fn with_addresses(self, addresses: Arc<Impersonations>) -> Self {
        Self { addresses, ..self }
    }

    /// Whether the screen shows blocks and failed calls.
    pub fn is_logging(&self) -> bool {
        self.is_logging.load(Ordering::Relaxed)
    }

    /// Sets [`Self::is_logging`].
    pub fn set_logging(&self, is_on: bool) {
        self.is_logging.store(is_on, Ordering::Relaxed);
    }

    /// The calls whose code prints.
    pub fn printed_calls(&self) -> &PrintedCalls {
        &self.printed
    }

    /// The names of what the chain's contracts do.
    pub fn artifacts(&self) -> &Registry {
        &self.artifacts
    }

    /// The header fields that the next block sets. The chain's rules show them.
    pub fn next_header(&self) -> &Arc<NextHeader> {
        &self.next_header
    }

    /// Sets fields of the header of the next block. The gas limit and the coinbase also apply to later blocks. `rules`
    /// are those of the chain.
    ///
    /// # Errors
    /// A value is out of bounds.
    pub fn set_header(
        &self,
        rules: &dyn Rules,
        change: impl FnOnce(&mut HeaderTerms),
    ) -> Result<(), ControlError> {
        let most = rules.max_base_fee().min(MAX_BASE_FEE);
        self.next_header.change(|header| {
            let mut wanted = *header;
            change(&mut wanted);
            if let Some(wei) = wanted.base_fee.filter(|wei| *wei > most) {
                return Err(ControlError::BaseFee { wei, most });
            }
            if let Some(gas) = wanted.gas_limit.filter(|gas| !(1..=MAX_GAS_LIMIT).contains(gas)) {
                return Err(ControlError::GasLimit(gas));
            }
            *header = wanted;
            Ok(())
        })?;
        self.work.notify_one();
        Ok(())
    }

    /// The clock of the node's chains.
    pub fn clock(&self) -> &AdjustableClock {
        &self.clock
    }

    /// Whether a request for blocks or changes is in progress.
    pub fn has_requests(&self) -> bool {
        !self.state.lock().requests.is_empty()
    }

    /// Whether a waiting transaction causes a block.
    pub fn automine(&self) -> bool {
        self.state.lock().settings.automine
    }

    /// Sets [`Self::automine`]. True ends blocks at regular times.
    pub fn set_automine(self: &Arc<Self>, automine: bool) {
        let mut state = self.state.lock();
        state.settings.automine = automine;
        if automine {
            state.settings.interval = None;
            self.interval.end();
        }
        drop(state);
        self.work.notify_one();
    }

    /// Interval of blocks at regular times.
    pub fn interval(&self) -> Option<Interval> {
        self.state.lock().settings.interval
    }

    /// Makes blocks at regular times, which may be empty. `None` ends it. An interval ends [`Self::automine`], unless
    /// blocks are `mixed`. The times of blocks are at least a second apart, also where the interval is shorter.
    ///
    /// # Errors
    /// The interval is too long.
    pub fn set_interval(
        self: &Arc<Self>,
        interval: Option<Interval>,
        mixed: bool,
    ) -> Result<(), ControlError> {
        interval.map_or(Ok(()), Interval::check)?;
        let mut state = self.state.lock();
        state.settings.interval = interval;
        state.settings.automine &= interval.is_none() || mixed;
        self.set_interval_task(interval);
        Ok(())
    }

    /// Makes blocks at regular times of the node's own clock, which controls do not change. `None` ends it.
    fn set_interval_task(self: &Arc<Self>, interval: Option<Interval>) {
        let Some(interval) = interval else { return self.interval.end() };
        let controls = Arc::downgrade(self);
        let mine = move || {
            let controls = controls.upgrade()?;
            Some(async move { controls.mine(1, 0).await })
        };
        self.interval.begin(mine_at_intervals(self.clock.base(), interval, mine));
    }

    /// Lets the node send transactions of an account without its key.
    ///
    /// # Errors
    /// There are too many such accounts.
    pub fn impersonate(&self, account: Address) -> Result<(), ControlError> {
        let impersonated = &mut self.state.lock().settings.impersonated;
        if impersonated.len() >= MAX_IMPERSONATED && !impersonated.contains(&account) {
            return Err(ControlError::TooManyAccounts);
        }
        impersonated.insert(account);
        Ok(())
    }

    /// Ends [`Self::impersonate`]; false if the account is not impersonated.
    pub fn stop_impersonating(&self, account: &Address) -> bool {
        self.state.lock().settings.impersonated.remove(account)
    }

    /// Whether the node sends transactions of all accounts.
    pub fn set_auto_impersonation(&self, is_on: bool) {
        self.state.lock().settings.impersonates_all = is_on;
    }

    /// The accounts that are impersonated one by one, in the order of their bytes.
    pub fn impersonated(&self) -> Vec<Address> {
        let mut accounts: Vec<_> =
            self.state.lock().settings.impersonated.iter().copied().collect();
        accounts.sort_unstable();
        accounts
    }

    /// Whether the node sends transactions of the account without its key.
    pub fn impersonates(&self, account: &Address) -> bool {
        let settings = &self.state.lock().settings;
        settings.impersonates_all || settings.impersonated.contains(account)
    }

    pub(super) fn settings(&self) -> ControlSettings {
        let settings = self.state.lock().settings.clone();
        let addresses = self.addresses.all();
        ControlSettings { header: self.next_header.get(), addresses, ..settings }
    }

    pub(super) fn set_next_header(&self, next: HeaderTerms) {
        self.next_header.change(|header| *header = next);
    }

    pub(super) fn restore(self: &Arc<Self>, settings: ControlSettings) {
        self.next_header.change(|header| *header = settings.header);
        self.addresses.replace(settings.addresses.clone());
        let mut state = self.state.lock();
        if state.settings.interval != settings.interval {
            self.set_interval_task(settings.interval);
        }
        state.settings = settings;
    }

    /// Stops a request for blocks: no further block is begun for it.
    fn stop_mining(&self, id: u64) {
        if let Some(Request { work: Work::Mine(mining), .. }) = self.state.lock().request(id) {
            mining.is_over = true;
        }
        self.work.notify_one();
    }

    /// Waits for all earlier requests, and holds back all later ones.
    ///
    /// # Errors
    /// Too many requests wait, or the node stops.
    pub async fn turn(self: &Arc<Self>) -> Result<Turn, ControlError> {
        let (ready, begins) = oneshot::channel();
        let turn = {
            let mut state = self.state.lock();
            if state.requests.len() >= MAX_REQUESTS {
                return Err(ControlError::TooMany);
            }
            state.last_id += 1;
            let id = state.last_id;
            state.requests.push_back(Request {
                id,
                work: Work::Idle,
                ready: Some(ready),
                is_abandoned: false,
            });
            state.begin();
            Turn { controls: Arc::clone(self), id }
        };
        begins.await.map_err(|_| ControlError::Stopped)?;
        Ok(turn)
    }

    /// Makes blocks at their turn; see [`Turn::mine`].
    ///
    /// # Errors
    /// As [`Turn::mine`].
    pub async fn mine(self: &Arc<Self>, blocks: u64, interval_s: u64) -> Result<(), ControlError> {
        self.turn().await?.mine(blocks, interval_s, None).await
    }

    /// Changes the state at its turn; see [`Turn::change`].
    ///
    /// # Errors
    /// As [`Turn::change`].
    pub async fn change(self: &Arc<Self>, changes: Vec<ChangeRequest>) -> Result<(), ControlError> {
        self.turn().await?.change(changes).await
    }

    /// Whether a waiting transaction causes a block now: no request waits.
    pub(crate) fn mines_at_once(&self) -> bool {
        let state = self.state.lock();
        state.requests.is_empty() && state.settings.automine
    }

    /// The content of the next block.
    pub(crate) fn plan(&self) -> Plan {
        let mut state = self.state.lock();
        // A block that was built for the request and is not accepted yet will never be accepted.
        state.drop_abandoned();
        state.end_stopped();
        state.planned = state.requests.front().map(|request| request.id);
        let plan = match state.requests.front().map(|request| &request.work) {
            Some(Work::Mine(Mining { only: None, .. })) => Plan::Mine,
            Some(Work::Mine(Mining { only: Some(_), .. })) => Plan::Only,
            Some(Work::Change { .. }) => Plan::Change,
            None if state.settings.automine => Plan::Pool,
            Some(Work::Idle) | None => Plan::Nothing,
        };
        let next = self.next_header.get();
        // Header fields of the next block wait for a block with transactions or a requested block.
        let set = if plan == Plan::Change { next.lasting() } else { next };
        state.header = BuiltHeader { set, block: None };
        plan
    }

    /// The transactions of the planned block, if it holds no others ([`Plan::Only`]).
    pub(crate) fn only(&self) -> Option<Arc<HashSet<B256>>> {
        match self.state.lock().planned_work() {
            Some(Work::Mine(mining)) => mining.only.clone(),
            Some(Work::Change { .. } | Work::Idle) | None => None,
        }
    }

    /// The time of the block under construction, Unix s; `None` for the time of the clock.
    pub(crate) fn planned_time_s(&self) -> Option<u64> {
        match self.state.lock().planned_work() {
            Some(Work::Mine(mining)) => mining.next_s,
            Some(Work::Change { .. } | Work::Idle) | None => None,
        }
    }

    /// The header fields that the block under construction sets.
    pub(crate) fn built_header(&self) -> HeaderTerms {
        self.state.lock().header.set
    }

    /// Records the block that was built by the last plan.
    pub(crate) fn record_sealed(&self, hash: B256) {
        self.state.lock().header.block = Some(hash);
    }

    /// The control record of the block under construction.
    pub(crate) fn record_plan(&self) -> RecordPlan {
        match self.state.lock().planned_work() {
            None | Some(Work::Idle) => RecordPlan::Nothing,
            Some(Work::Mine(Mining { only: None, .. })) => RecordPlan::Block,
            Some(Work::Mine(Mining { only: Some(_), .. })) => RecordPlan::Record,
            Some(Work::Change { changes, .. }) => RecordPlan::Changes(changes.clone()),
        }
    }

    /// Records that the block was built for the planned request.
    pub(crate) fn record_built(&self, hash: B256) {
        match self.state.lock().planned_work() {
            Some(Work::Mine(Mining { built, .. }) | Work::Change { built, .. }) => {
                *built = Some(hash);
            }
            Some(Work::Idle) | None => {}
        }
    }

    /// Refuses the request for which the last block was planned.
    pub(crate) fn refuse(&self, reason: String) {
        let mut state = self.state.lock();
        if state.planned == state.requests.front().map(|request| request.id) {
            state.end_work(Err(ControlError::Refused(reason)));
        }
        drop(state);
        self.work.notify_one();
    }

    /// Called when a block is accepted and not shown yet. The header fields that were set for it apply to no other
    /// block. They do not affect the fee of a transaction that is sent once the block is shown.
    pub(crate) fn header_used(&self, hash: B256) {
        let state = self.state.lock();
        if state.header.block == Some(hash) {
            let done = state.header.set;
            self.next_header.change(|next| {
                next.base_fee = next.base_fee.filter(|wei| done.base_fee != Some(*wei));
                next.random = next.random.filter(|random| done.random != Some(*random));
                next.beacon_root = next.beacon_root.filter(|root| done.beacon_root != Some(*root));
            });
        }
    }

    /// Called when a block with this time (Unix s) was accepted.
    pub(crate) fn accepted(&self, hash: B256, time_s: u64) {
        let mut state = self.state.lock();
        let keeps_distance = state.settings.timestamp_interval_s.is_some();
        match state.settings.timestamp_interval_s {
            Some(interval_s) => {
                let next_s = time_s.saturating_add(interval_s).min(MAX_TIME_S);
                self.clock.stop_at(next_s.saturating_mul(1000));
            }
            None => {
                if let Some(stopped_ms) = self.clock.stopped_ms() {
                    self.clock.set(stopped_ms);
                }
            }
        }
        match state.requests.front_mut().map(|request| &mut request.work) {
            Some(Work::Mine(mining)) if mining.built == Some(hash) => {
                (mining.built, mining.made) = (None, mining.made + 1);
                if mining.made == mining.blocks {
                    state.end_work(Ok(()));
                } else {
                    match mining.interval_s {
                        0 => {}
                        // The clock stands still. It will have advanced this far when it runs on.
                        seconds if keeps_distance => self.clock.advance(seconds * 1000),
                        seconds => {
                            let next_s = time_s.saturating_add(seconds).min(MAX_TIME_S);
                            mining.next_s = Some(next_s);
                            self.clock.set(next_s * 1000);
                        }
                    }
                    state.end_stopped();
                }
            }
            Some(Work::Change { built, .. }) if *built == Some(hash) => state.end_work(Ok(())),
            Some(Work::Mine(_) | Work::Change { .. } | Work::Idle) | None => return,
        }
        self.work.notify_one();
    }
}
