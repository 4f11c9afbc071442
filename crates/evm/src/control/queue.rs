//! What clients ask for: blocks and changes, one after the other, and how the clock goes on after each block.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use alloy_primitives::{Address, B256, U256};
use esker_chain::AdjustableClock;
use esker_primitives::Clock as _;
use esker_primitives::sync::Mutex;
use thiserror::Error;
use tokio::sync::{Notify, oneshot};

use super::WantedChange;
use super::intervals::IntervalTask;
use super::record::{MAX_BASE_FEE, MAX_GAS_LIMIT};
use super::saved::ControlSettings;
use crate::rules::{HeaderTerms, NextHeader};

/// Most blocks of one request.
pub const MAX_BLOCKS: u64 = 100_000;

/// Latest time that the clock can be set to, Unix s: a year before the last time of a bundle.
pub const MAX_TIME_S: u64 = 253_370_764_800;

/// Longest interval of blocks at regular times, s: a year.
pub const MAX_INTERVAL_S: u64 = 366 * 24 * 3600;

/// Requests that may wait.
const MAX_REQUESTS: usize = 1024;

/// Accounts that are impersonated one by one.
const MAX_IMPERSONATED: usize = 10_000;

/// Why a control was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ControlError {
    /// Too many blocks.
    #[error("cannot mine {0} blocks at once: at most {MAX_BLOCKS}")]
    Blocks(u64),
    /// A time before that of the last block.
    #[error("timestamp {time} is lower than previous block's timestamp {last}")]
    TimeBefore {
        /// Unix s.
        time: u64,
        /// Of the last block of any chain of the node, Unix s.
        last: u64,
    },
    /// A time that no block can have.
    #[error("timestamp {0} is too late: at most {MAX_TIME_S}")]
    TimeTooLate(u128),
    /// Blocks too rarely.
    #[error("an interval of {0} s is too long: at most {MAX_INTERVAL_S}")]
    Interval(u64),
    /// A base fee that no transaction can pay.
    #[error("a base fee of {0} wei is too high: at most {MAX_BASE_FEE}")]
    BaseFee(U256),
    /// A gas limit out of bounds.
    #[error("cannot set a gas limit of {0}: 1 to {MAX_GAS_LIMIT}")]
    GasLimit(u64),
    /// Too many requests.
    #[error("too many requests wait for a block: at most {MAX_REQUESTS}")]
    TooMany,
    /// Too many accounts.
    #[error("too many accounts are impersonated: at most {MAX_IMPERSONATED}")]
    TooManyAccounts,
    /// The change is not possible.
    #[error("{0}")]
    Refused(String),
    /// Others follow the blocks of this node, which a control could take back.
    #[error("a node that others can follow has no controls: start it without api-sync-enabled")]
    Followed,
    /// The node stops.
    #[error("the node stops")]
    Stopped,
}

/// What the next block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Waiting transactions, if there are any.
    Pool,
    /// No block is built now.
    Nothing,
    /// Waiting transactions, and a control record.
    Mine,
    /// A control record alone.
    Change,
}

/// What the control record of a block has to do.
#[derive(Debug)]
pub(crate) enum Wanted {
    /// The block needs no record.
    Nothing,
    /// An empty record.
    Block,
    /// These changes, and the block holds nothing else.
    Changes(Vec<WantedChange>),
}

#[derive(Debug)]
enum Work {
    Mine { blocks_left: u64, interval_s: u64 },
    Change(Vec<WantedChange>),
}

#[derive(Debug)]
struct Request {
    work: Work,
    /// The last block that was built for it.
    built: Option<B256>,
    done: oneshot::Sender<Result<(), ControlError>>,
}

/// What a block that is being built sets of its header, and the block once it is built.
#[derive(Debug, Default)]
struct BuiltHeader {
    set: HeaderTerms,
    block: Option<B256>,
}

#[derive(Debug)]
struct State {
    settings: ControlSettings,
    header: BuiltHeader,
    requests: VecDeque<Request>,
}

/// The controls of one chain.
#[derive(Debug)]
pub struct Controls {
    clock: AdjustableClock,
    /// Wakes the machine.
    work: Arc<Notify>,
    state: Mutex<State>,
    next_header: Arc<NextHeader>,
    interval: IntervalTask,
    is_logging: AtomicBool,
}

impl Controls {
    /// Controls of a chain with this clock and this notification of new work. Transactions make blocks by themselves.
    pub fn new(clock: AdjustableClock, work: Arc<Notify>) -> Self {
        let settings = ControlSettings { automine: true, ..ControlSettings::default() };
        let header = BuiltHeader::default();
        let state = State { settings, header, requests: VecDeque::new() };
        let state = Mutex::new_named("evm.controls", state);
        let (next_header, interval) = (Arc::default(), IntervalTask::default());
        let is_logging = AtomicBool::new(true);
        Self { clock, work, state, next_header, interval, is_logging }
    }

    /// Whether the screen shows blocks and failed calls.
    pub fn is_logging(&self) -> bool {
        self.is_logging.load(Ordering::Relaxed)
    }

    /// Sets [`Self::is_logging`].
    pub fn set_logging(&self, is_on: bool) {
        self.is_logging.store(is_on, Ordering::Relaxed);
    }

    /// What the next block sets of its header, which the chain's rules show.
    pub fn next_header(&self) -> &Arc<NextHeader> {
        &self.next_header
    }

    /// Sets members of the header of the next block. The gas limit and the coinbase stay for those after it.
    ///
    /// # Errors
    /// A value is out of bounds.
    pub fn set_header(&self, change: impl FnOnce(&mut HeaderTerms)) -> Result<(), ControlError> {
        self.next_header.change(|header| {
            let mut wanted = *header;
            change(&mut wanted);
            if let Some(wei) = wanted.base_fee.filter(|wei| *wei > MAX_BASE_FEE) {
                return Err(ControlError::BaseFee(wei));
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

    /// Whether a waiting transaction causes a block by itself.
    pub fn automine(&self) -> bool {
        self.state.lock().settings.automine
    }

    /// Sets [`Self::automine`]. With automatic blocks there are none at regular times.
    pub fn set_automine(self: &Arc<Self>, automine: bool) {
        let mut state = self.state.lock();
        state.settings.automine = automine;
        if automine {
            state.settings.interval_s = None;
            self.interval.set(None, self);
        }
        drop(state);
        self.work.notify_one();
    }

    /// How often blocks are made at regular times, s.
    pub fn interval_s(&self) -> Option<u64> {
        self.state.lock().settings.interval_s
    }

    /// Makes a block every so many seconds, also an empty one, and none in between; `None` ends it.
    ///
    /// # Errors
    /// The interval is too long.
    pub fn set_interval(self: &Arc<Self>, interval_s: Option<u64>) -> Result<(), ControlError> {
        if let Some(seconds) = interval_s.filter(|seconds| *seconds > MAX_INTERVAL_S) {
            return Err(ControlError::Interval(seconds));
        }
        let mut state = self.state.lock();
        state.settings.interval_s = interval_s;
        state.settings.automine &= interval_s.is_none();
        self.interval.set(interval_s, self);
        Ok(())
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

    /// Ends [`Self::impersonate`].
    pub fn stop_impersonating(&self, account: &Address) {
        self.state.lock().settings.impersonated.remove(account);
    }

    /// Whether the node sends transactions of all accounts.
    pub fn set_auto_impersonation(&self, is_on: bool) {
        self.state.lock().settings.impersonates_all = is_on;
    }

    /// Whether the node sends transactions of the account without its key.
    pub fn impersonates(&self, account: &Address) -> bool {
        let settings = &self.state.lock().settings;
        settings.impersonates_all || settings.impersonated.contains(account)
    }

    /// Makes blocks with what waits in the pool, also empty ones, `interval_s` seconds apart. Returns when they are
    /// accepted.
    ///
    /// # Errors
    /// Too many blocks, a time that is too late, or the node stops.
    pub async fn mine(&self, blocks: u64, interval_s: u64) -> Result<(), ControlError> {
        if blocks > MAX_BLOCKS {
            return Err(ControlError::Blocks(blocks));
        }
        if blocks == 0 {
            return Ok(());
        }
        self.check_time(
            u128::from(self.clock.now_s()) + u128::from(interval_s) * u128::from(blocks),
        )?;
        self.request(Work::Mine { blocks_left: blocks, interval_s }).await
    }

    /// Changes the state in a block. Returns when it is accepted.
    ///
    /// # Errors
    /// A change is not possible, or the node stops.
    pub async fn change(&self, changes: Vec<WantedChange>) -> Result<(), ControlError> {
        self.request(Work::Change(changes)).await
    }

    /// Moves the clock forward. Returns how far it is ahead of the node's, s.
    ///
    /// # Errors
    /// The time is too late.
    pub fn increase_time(&self, seconds: u64) -> Result<i64, ControlError> {
        self.check_time(u128::from(self.clock.now_s()) + u128::from(seconds))?;
        self.clock.advance(seconds.saturating_mul(1000));
        Ok(self.offset_s())
    }

    /// Sets the clock, which runs on from there. `last_s` is the time of the last block of any chain of the node.
    ///
    /// # Errors
    /// The time is too late, or before `last_s`.
    pub fn set_time(&self, time_s: u64, last_s: u64) -> Result<(), ControlError> {
        self.check_between(time_s, last_s)?;
        self.clock.set(time_s.saturating_mul(1000));
        self.work.notify_one();
        Ok(())
    }

    /// Stops the clock at the time of the next block, after which it runs on from there.
    ///
    /// # Errors
    /// As [`Self::set_time`].
    pub fn set_next_time(&self, time_s: u64, last_s: u64) -> Result<(), ControlError> {
        self.check_between(time_s, last_s)?;
        self.clock.stop_at(time_s.saturating_mul(1000));
        self.work.notify_one();
        Ok(())
    }

    /// From the next block on, whose parent has the time `parent_s`, each block is this much later than its parent.
    ///
    /// # Errors
    /// The next block's time would be too late or before `last_s`.
    pub fn set_timestamp_interval(
        &self,
        interval_s: u64,
        parent_s: u64,
        last_s: u64,
    ) -> Result<(), ControlError> {
        let next_s = u128::from(parent_s) + u128::from(interval_s);
        self.check_time(next_s)?;
        let mut state = self.state.lock();
        state.settings.timestamp_interval_s = Some(interval_s);
        let next_s = parent_s.saturating_add(interval_s).max(last_s);
        self.clock.stop_at(next_s.saturating_mul(1000));
        Ok(())
    }

    /// Ends [`Self::set_timestamp_interval`]; false if there was no interval.
    pub fn remove_timestamp_interval(&self, last_s: u64) -> bool {
        let mut state = self.state.lock();
        let had = state.settings.timestamp_interval_s.take().is_some();
        if had {
            self.clock.run();
            self.clock.advance_to(last_s.saturating_mul(1000));
            self.work.notify_one();
        }
        had
    }

    pub(super) fn settings(&self) -> ControlSettings {
        let settings = self.state.lock().settings.clone();
        ControlSettings { header: self.next_header.get(), ..settings }
    }

    pub(super) fn restore(self: &Arc<Self>, settings: ControlSettings) {
        self.next_header.change(|header| *header = settings.header);
        let mut state = self.state.lock();
        if state.settings.interval_s != settings.interval_s {
            self.interval.set(settings.interval_s, self);
        }
        state.settings = settings;
    }

    fn offset_s(&self) -> i64 {
        i64::try_from(self.clock.offset_ms() / 1000).unwrap_or(i64::MAX)
    }

    fn check_time(&self, time_s: u128) -> Result<(), ControlError> {
        match time_s > u128::from(MAX_TIME_S) {
            true => Err(ControlError::TimeTooLate(time_s)),
            false => Ok(()),
        }
    }

    fn check_between(&self, time_s: u64, last_s: u64) -> Result<(), ControlError> {
        self.check_time(time_s.into())?;
        match time_s < last_s {
            true => Err(ControlError::TimeBefore { time: time_s, last: last_s }),
            false => Ok(()),
        }
    }

    async fn request(&self, work: Work) -> Result<(), ControlError> {
        let (done, outcome) = oneshot::channel();
        {
            let mut state = self.state.lock();
            if state.requests.len() >= MAX_REQUESTS {
                return Err(ControlError::TooMany);
            }
            state.requests.push_back(Request { work, built: None, done });
            if state.requests.len() == 1 {
                self.begin(&state);
            }
        }
        self.work.notify_one();
        outcome.await.unwrap_or(Err(ControlError::Stopped))
    }

    /// Moves the clock for the next block of the first request.
    fn begin(&self, state: &State) {
        if let Some(Request { work: Work::Mine { interval_s: 1.., .. }, .. }) =
            state.requests.front()
        {
            self.advance_by_interval(state);
        }
    }

    fn advance_by_interval(&self, state: &State) {
        if let Some(Request { work: Work::Mine { interval_s, .. }, .. }) = state.requests.front() {
            self.clock.advance(interval_s.saturating_mul(1000));
        }
    }

    /// What the next block holds.
    pub(crate) fn plan(&self) -> Plan {
        let mut state = self.state.lock();
        let plan = match state.requests.front() {
            Some(Request { work: Work::Mine { .. }, .. }) => Plan::Mine,
            Some(Request { work: Work::Change(_), .. }) => Plan::Change,
            None if state.settings.automine => Plan::Pool,
            None => Plan::Nothing,
        };
        let next = self.next_header.get();
        // What is set for the next block waits for one with transactions, or one on request.
        let set = if plan == Plan::Change { next.lasting() } else { next };
        state.header = BuiltHeader { set, block: None };
        plan
    }

    /// What the block under construction sets of its header.
    pub(crate) fn built_header(&self) -> HeaderTerms {
        self.state.lock().header.set
    }

    /// A block was built as planned last.
    pub(crate) fn sealed(&self, hash: B256) {
        self.state.lock().header.block = Some(hash);
    }

    /// What the block under construction has to change.
    pub(crate) fn wanted(&self) -> Wanted {
        match self.state.lock().requests.front().map(|request| &request.work) {
            None => Wanted::Nothing,
            Some(Work::Mine { .. }) => Wanted::Block,
            Some(Work::Change(changes)) => Wanted::Changes(changes.clone()),
        }
    }

    /// The block was built for the first request.
    pub(crate) fn built(&self, hash: B256) {
        if let Some(request) = self.state.lock().requests.front_mut() {
            request.built = Some(hash);
        }
    }

    /// The first request can't be fulfilled.
    pub(crate) fn refuse(&self, reason: String) {
        let mut state = self.state.lock();
        if let Some(request) = state.requests.pop_front() {
            // The caller may have gone away.
            let _gone = request.done.send(Err(ControlError::Refused(reason)));
        }
        self.begin(&state);
        self.work.notify_one();
    }

    /// A block was accepted, with this time (Unix s).
    pub(crate) fn accepted(&self, hash: B256, time_s: u64) {
        let mut state = self.state.lock();
        if state.header.block == Some(hash) {
            let done = state.header.set;
            self.next_header.change(|next| {
                next.base_fee = next.base_fee.filter(|wei| done.base_fee != Some(*wei));
                next.random = next.random.filter(|random| done.random != Some(*random));
            });
        }
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
        let Some(request) = state.requests.front_mut() else { return };
        if request.built != Some(hash) {
            return;
        }
        if let Work::Mine { blocks_left: left @ 2.., .. } = &mut request.work {
            *left -= 1;
            request.built = None;
            self.advance_by_interval(&state);
        } else if let Some(request) = state.requests.pop_front() {
            let _gone = request.done.send(Ok(()));
            self.begin(&state);
        }
        self.work.notify_one();
    }
}
