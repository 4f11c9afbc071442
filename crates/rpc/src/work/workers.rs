//! The threads, and which of the jobs they run.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use esker_primitives::sync::{Condvar, Mutex, MutexGuard};
use rustix::process::Pid;

use super::levels::{BUDGETS, FIRST, LEVELS, LOWEST_START, NICE, SHORT, quantum};
use super::queue::{Job, Progress, Queue};
use super::run_state::{RunState, Scheduler};
use super::{Lane, usage};

/// Time that a thread waits for work before it ends. Short, so that its memory goes back to the system.
const IDLE: Duration = Duration::from_secs(2);
/// How often the manager looks for jobs that hold a place for too long while others wait.
const RELIEF_TICK: Duration = Duration::from_millis(20);
/// A job is late after this multiple of what its level allows.
const LATE: u32 = 3;
/// A job that has run for longer than its level allows is checked again after this time, while no other waits.
const ASK_AGAIN: Duration = Duration::from_millis(2);
/// Least threads of [`SHORT`]: short work may wait for a lock.
const MIN_SHORT: usize = 4;
/// Least threads of any other level.
const MIN_WORKERS: usize = 2;
/// Most threads of any level.
const MAX_WORKERS: usize = 16;

/// The threads of one server. Dropping it ends those that have nothing to do.
#[derive(Debug)]
pub(super) struct Workers(Arc<Shared>);

struct Shared {
    /// Threads of each level that work at once.
    sizes: [usize; LEVELS],
    /// Jobs that may wait: short ones, and others.
    queue: usize,
    started: Instant,
    state: Mutex<State>,
    /// Wakes idle threads of a level.
    wake: [Condvar; LEVELS],
    /// Wakes the thread that starts the others.
    wake_manager: Condvar,
    waiting: AtomicUsize,
    refused: AtomicU64,
}

#[derive(Default)]
struct State {
    levels: [Level; LEVELS],
    /// Jobs that got a place so far.
    turns: u64,
    has_manager: bool,
    /// The manager sleeps until it is woken.
    is_manager_idle: bool,
    is_closed: bool,
}

#[derive(Default)]
struct Level {
    waiting: Queue,
    /// The runs that take a place here. More than there are places only where some do not end in time.
    running: Vec<Arc<RunState>>,
    /// Jobs that were chosen, for threads that are to take them. Their places are taken already.
    chosen: Vec<Job>,
    /// Threads that wait for a job.
    idle: usize,
    /// Threads that are being started.
    starting: usize,
}

impl Level {
    fn places_taken(&self) -> usize {
        self.running.len() + self.chosen.len()
    }

    /// Of those that may give up their place the run of the address with the most places, if it has at least so many; of
    /// several the one that began last. So the others of the address come to their end.
    fn with_most_places(&self, level: usize, least: usize) -> Option<&Arc<RunState>> {
        let may_yield = self.running.iter().filter(|run_state| run_state.can_restart);
        let of_enough = may_yield.filter(|run_state| run_state.client.places(level) >= least);
        of_enough.max_by_key(|run_state| (run_state.client.places(level), run_state.begun))
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("sizes", &self.sizes).finish_non_exhaustive()
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.0.state.lock().is_closed = true;
        self.0.wake_manager.notify_all();
        self.0.wake.iter().for_each(|wake| {
            wake.notify_all();
        });
    }
}

impl Workers {
    pub(super) fn new(processors: usize, queue: usize) -> Self {
        let workers = processors.clamp(MIN_WORKERS, MAX_WORKERS);
        let mut sizes = [workers; LEVELS];
        sizes[SHORT] = (2 * workers).max(MIN_SHORT);
        Self(Arc::new(Shared {
            sizes,
            queue: queue.max(1),
            started: Instant::now(),
            state: Mutex::new_named("rpc.work", State::default()),
            wake: Default::default(),
            wake_manager: Condvar::new(),
            waiting: AtomicUsize::new(0),
            refused: AtomicU64::new(0),
        }))
    }

    /// Jobs that wait, that run, and that were refused.
    pub(super) fn counts(&self) -> (usize, usize, u64) {
        let state = self.0.state.lock();
        let sum = |count: fn(&Level) -> usize| state.levels.iter().map(count).sum();
        let waiting = sum(|level| level.waiting.len());
        (waiting, sum(Level::places_taken), self.0.refused.load(Ordering::Relaxed))
    }

    /// A client reads again: its jobs may run.
    pub(super) fn recheck_blocked(&self) {
        if self.0.waiting.load(Ordering::Relaxed) > 0 {
            self.0.dispatch_all(&mut self.0.state.lock(), None);
        }
    }

    /// Jobs may have been cancelled.
    pub(super) fn drop_cancelled(&self) {
        if self.0.waiting.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut state = self.0.state.lock();
        state.levels.iter_mut().for_each(|level| level.waiting.drop_cancelled());
        self.0.count_waiting(&state);
    }

    /// Queues a job; one that is refused is dropped.
    pub(super) fn submit(&self, job: Job) {
        self.0.submit(job);
    }
}

impl Shared {
    fn period(&self) -> u64 {
        usage::period(self.started.elapsed())
    }

    /// The rank of a job that arrives now.
    fn rank_us(&self, job: &Job) -> u64 {
        let now = self.started.elapsed();
        usage::micros(now + job.client.rank_delay(job.lane, usage::period(now)))
    }

    fn submit(self: &Arc<Self>, mut job: Job) {
        let level = match job.lane {
            Lane::Short => SHORT,
            Lane::Long => job.client.share().level().max(FIRST),
        };
        let mut state = self.state.lock();
        self.start_manager(&mut state);
        job.rank_us = self.rank_us(&job);
        state.levels[level].waiting.push(job);
        self.dispatch(&mut state, level, false);
        let refused = self.refuse(&mut state, level);
        self.count_waiting(&state);
        drop(state);
        drop(refused);
    }

    /// Takes out a job, if too many wait: of the address with the most of them, and of its client with the most, the one
    /// that comes last.
    fn refuse(&self, state: &mut State, level: usize) -> Option<Job> {
        let levels = if level == SHORT { SHORT..FIRST } else { FIRST..LEVELS };
        let group = &mut state.levels[levels];
        let waiting =
            |group: &[Level]| group.iter().map(|level| level.waiting.len()).sum::<usize>();
        if waiting(group) <= self.queue {
            return None;
        }
        group.iter_mut().for_each(|level| level.waiting.drop_cancelled());
        if waiting(group) <= self.queue {
            return None;
        }
        self.refused.fetch_add(1, Ordering::Relaxed);
        let (mut of_address, mut of_client) = (HashMap::new(), HashMap::new());
        for job in group.iter().flat_map(|level| level.waiting.jobs()) {
            *of_address.entry(job.client.address_key()).or_insert(0_usize) += 1;
            *of_client.entry(job.client.share_key()).or_insert(0_usize) += 1;
        }
        let jobs = group.iter_mut().flat_map(|level| {
            let rank = |job: &Job| {
                let at_address = of_address.get(&job.client.address_key()).copied();
                (at_address, of_client.get(&job.client.share_key()).copied(), job.rank_us)
            };
            let last = level.waiting.jobs().enumerate().max_by_key(|(_, job)| rank(job));
            last.map(|(at, job)| (rank(job), at)).map(|(rank, at)| (rank, at, level))
        });
        let (_, at, level) = jobs.max_by_key(|(rank, _, _)| *rank)?;
        Some(level.waiting.take(at))
    }

    fn count_waiting(&self, state: &State) {
        let waiting = state.levels.iter().map(|level| level.waiting.len()).sum();
        self.waiting.store(waiting, Ordering::Relaxed);
    }

    /// `own`: the level of the thread that asks, if it takes a job itself next.
    fn dispatch_all(&self, state: &mut State, own: Option<usize>) {
        for level in SHORT..LEVELS {
            self.dispatch(state, level, own == Some(level));
        }
        self.count_waiting(state);
    }

    /// Gives jobs of a level to threads, as long as there is room for them; the first one to the calling thread, if it
    /// `takes_one`.
    fn dispatch(&self, state: &mut State, level: usize, takes_one: bool) {
        let at = &mut state.levels[level];
        let mut needs_thread = false;
        while !at.waiting.is_empty() && at.places_taken() < self.sizes[level] {
            let Some(job) = at.waiting.next(level) else { break };
            job.client.share().running.fetch_add(1, Ordering::Relaxed);
            state.turns += 1;
            job.client.take_turn(level, state.turns);
            at.chosen.push(job);
            let for_others = at.chosen.len() - usize::from(takes_one);
            if for_others > at.idle {
                needs_thread = true;
            } else if for_others > 0 {
                self.wake[level].notify_one();
            }
        }
        self.ask_to_yield(&state.levels[level], level);
        // While anything waits, the manager looks by itself.
        if needs_thread || (state.is_manager_idle && !state.levels[level].waiting.is_empty()) {
            self.wake_manager.notify_one();
        }
    }

    /// Asks a run to give up its place, if an address waits that has fewer places, also with this one more. One at a time.
    fn ask_to_yield(&self, at: &Level, level: usize) {
        if at.waiting.is_empty() || at.places_taken() < self.sizes[level] {
            return;
        }
        let is_asked = at.running.iter().any(|run_state| run_state.is_asked_to_yield());
        let Some(fewest) = at.waiting.fewest_places(level).filter(|_| !is_asked) else { return };
        if let Some(run_state) = at.with_most_places(level, fewest + 2)
            && let Some(quantum) = quantum(level)
        {
            run_state.ask_to_yield(quantum);
        }
    }

    /// Begins a chosen job.
    fn begin(self: &Arc<Self>, at: &mut Level, level: usize, thread: Option<Pid>) -> Option<Run> {
        // In the order in which they were chosen; there are a few at most.
        let job = (!at.chosen.is_empty()).then(|| at.chosen.remove(0))?;
        let of_job = (job.client.clone(), job.can_restart);
        let scheduler: Arc<dyn Scheduler> = Arc::<Self>::clone(self);
        let run_state = RunState::new(scheduler, of_job, (level, BUDGETS[level]), thread);
        let run_state = Arc::new(run_state);
        at.running.push(Arc::clone(&run_state));
        Some(Run { job, run_state })
    }

    /// Ends a run: counts what it took, and chooses what comes next. Gives the level that its thread is of now.
    fn ended(self: &Arc<Self>, run: Run, progress: Progress) -> usize {
        let Run { mut job, run_state } = run;
        let took = run_state.time_worked();
        let share = job.client.share();
        let mut state = self.state.lock();
        let level = run_state.level();
        state.levels[level].running.retain(|other| !Arc::ptr_eq(other, &run_state));
        share.running.fetch_sub(1, Ordering::Relaxed);
        job.client.leave_place(level);
        job.client.add_time(job.lane, took, self.period());
        let mut refused = None;
        if progress == Progress::Longer {
            job.lane = Lane::Long;
            job.rank_us = self.rank_us(&job);
            let level = job.client.share().level().max(FIRST);
            state.levels[level].waiting.push(job);
            refused = self.refuse(&mut state, level);
        } else if job.lane == Lane::Long {
            let fits = |level: &usize| BUDGETS[*level].is_some_and(|budget| took < budget);
            share.set_level((FIRST..LOWEST_START).find(fits).unwrap_or(LOWEST_START));
            if progress == Progress::Again {
                let has_yielded = run_state.has_yielded();
                job.rank_us = self.rank_us(&job);
                let next = if has_yielded { level } else { (level + 1).min(LEVELS - 1) };
                state.levels[next].waiting.push(job);
            }
        }
        self.dispatch_all(&mut state, Some(level));
        drop(state);
        drop(refused);
        level
    }

    /// A run was asked to give its place to another address: it goes on at the next level if there is room, and otherwise
    /// must end, once it has run for its time.
    fn must_yield(&self, state: &mut State, run_state: &RunState) -> bool {
        let level = run_state.level();
        let quantum = quantum(level).unwrap_or_default();
        let left = quantum.saturating_sub(run_state.time_worked());
        if !left.is_zero() {
            run_state.set_due(Some(run_state.begun.elapsed() + left.max(ASK_AGAIN)));
            return false;
        }
        let places = run_state.client.places(level);
        let fewest = state.levels[level].waiting.fewest_places(level);
        if fewest.is_none_or(|fewest| fewest + 2 > places) {
            // Nobody waits any more.
            run_state.keep_place(BUDGETS[level]);
            return false;
        }
        if level + 1 < LEVELS && state.levels[level + 1].places_taken() < self.sizes[level + 1] {
            self.move_down(state, run_state);
            return false;
        }
        run_state.set_yielded();
        true
    }

    /// Lets a run go on at the next level, so that another takes its place.
    fn move_down(&self, state: &mut State, run_state: &RunState) {
        let level = run_state.level();
        let running = &mut state.levels[level].running;
        let Some(at) = running.iter().position(|other| std::ptr::eq(&**other, run_state)) else {
            return;
        };
        let run_state = running.swap_remove(at);
        run_state.set_level(level + 1);
        run_state.keep_place(BUDGETS[level + 1]);
        run_state.client.leave_place(level);
        run_state.client.take_place(level + 1);
        lower_priority(run_state.thread, level + 1);
        state.levels[level + 1].running.push(run_state);
        self.dispatch(state, level, false);
    }

    /// Moves late runs down while others wait: work that cannot be ended or does not check. At most as many as the level
    /// has places, so that the number of threads stays bounded.
    fn move_down_late(&self, state: &mut State) {
        for (level, budget) in BUDGETS.iter().enumerate().take(LEVELS - 1).skip(FIRST) {
            let Some(budget) = *budget else { continue };
            while state.levels[level].waiting.has_next()
                && state.levels[level].places_taken() >= self.sizes[level]
                && state.levels[level + 1].places_taken() < 2 * self.sizes[level + 1]
            {
                let running = &state.levels[level].running;
                let late =
                    running.iter().find(|run_state| run_state.begun.elapsed() > LATE * budget);
                let Some(run_state) = late.cloned() else { break };
                self.move_down(state, &run_state);
            }
        }
    }

    /// The thread that starts the others: threads inherit the priority of the one that starts them, which must not
    /// be a lowered one.
    fn start_manager(self: &Arc<Self>, state: &mut State) {
        if state.has_manager || state.is_closed {
            return;
        }
        let weak = Arc::downgrade(self);
        let thread = std::thread::Builder::new().name("esker-work".to_owned());
        state.has_manager = thread.spawn(move || manage(&weak)).is_ok();
    }

    /// Starts threads for chosen jobs that no idle one takes.
    fn start_threads(self: &Arc<Self>, state: &mut State) {
        for level in SHORT..LEVELS {
            loop {
                let at = &mut state.levels[level];
                if at.chosen.len() <= at.idle + at.starting {
                    break;
                }
                at.starting += 1;
                let shared = Arc::clone(self);
                let thread = std::thread::Builder::new().name(format!("esker-work-{level}"));
                if thread.spawn(move || shared.work(level)).is_err() {
                    tracing::error!("cannot start a thread");
                    at.starting -= 1;
                    // No thread takes the job: dropping it reports an error to its caller.
                    if let Some(job) = at.chosen.pop() {
                        job.client.share().running.fetch_sub(1, Ordering::Relaxed);
                        job.client.leave_place(level);
                    }
                }
            }
        }
    }

    /// The loop of a thread.
    fn work(self: Arc<Self>, mut level: usize) {
        lower_priority(None, level);
        let thread = Some(rustix::thread::gettid());
        let mut is_new = true;
        while let Some(mut run) = self.wait(level, thread, std::mem::take(&mut is_new)) {
            let progress = (run.job.task)(&run.run_state);
            level = self.ended(run, progress);
        }
    }

    /// Waits for a job of a level.
    fn wait(self: &Arc<Self>, level: usize, thread: Option<Pid>, is_new: bool) -> Option<Run> {
        let mut state = self.state.lock();
        if is_new {
            state.levels[level].starting -= 1;
        }
        let deadline = Instant::now() + IDLE;
        loop {
            let at = &mut state.levels[level];
            if let Some(run) = self.begin(at, level, thread) {
                return Some(run);
            }
            // Threads come down from other levels; as many wait as have places, since each keeps memory of its own.
            if state.is_closed || state.levels[level].idle >= self.sizes[level] {
                return None;
            }
            state.levels[level].idle += 1;
            let is_late = self.wake[level].wait_until(&mut state, deadline).timed_out();
            state.levels[level].idle -= 1;
            if is_late && state.levels[level].chosen.is_empty() {
                return None;
            }
        }
    }
}

impl Scheduler for Shared {
    /// A run has taken longer than its level allows. It goes on at the next one if there is room, or if nobody
    /// waits for its place; otherwise it must end.
    fn must_end(&self, run_state: &RunState) -> bool {
        let mut state = self.state.lock();
        let level = run_state.level();
        if run_state.is_asked_to_yield() {
            return self.must_yield(&mut state, run_state);
        }
        let (Some(budget), true) = (BUDGETS[level], level + 1 < LEVELS) else {
            run_state.set_due(None);
            return false;
        };
        let left = budget.saturating_sub(run_state.time_worked());
        if !left.is_zero() || !state.levels[level].waiting.has_next() {
            run_state.set_due(Some(run_state.begun.elapsed() + left.max(ASK_AGAIN)));
            return false;
        }
        if state.levels[level + 1].places_taken() < self.sizes[level + 1] {
            self.move_down(&mut state, run_state);
            return false;
        }
        run_state.set_due(Some(run_state.begun.elapsed() + ASK_AGAIN));
        run_state.can_restart
    }
}

/// A job and its run.
struct Run {
    job: Job,
    run_state: Arc<RunState>,
}

fn manage(weak: &Weak<Shared>) {
    while let Some(shared) = weak.upgrade() {
        let mut state = shared.state.lock();
        if state.is_closed {
            return;
        }
        shared.start_threads(&mut state);
        shared.move_down_late(&mut state);
        shared.start_threads(&mut state);
        wait_for_news(&shared, &mut state);
    }
}

fn wait_for_news(shared: &Shared, state: &mut MutexGuard<'_, State>) {
    if state.levels.iter().any(|level| !level.waiting.is_empty()) {
        shared.wake_manager.wait_for(state, RELIEF_TICK);
    } else {
        state.is_manager_idle = true;
        shared.wake_manager.wait(state);
        state.is_manager_idle = false;
    }
}

/// Lowers the priority of a thread, by default this one, below those with more urgent work. Where the system refuses,
/// all threads are equal.
fn lower_priority(thread: Option<Pid>, level: usize) {
    // Elsewhere it would be the priority of the whole process.
    if cfg!(target_os = "linux") && NICE[level] > 0 {
        let _ = rustix::process::setpriority_process(thread, NICE[level]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::{Client, Work, WorkConfig};

    #[test]
    fn the_last_of_too_many_jobs_is_refused() {
        let work = Work::new(WorkConfig { queue: 3, ..WorkConfig::default() });
        let client = work.client(None);
        let shared = &work.workers().0;
        let mut state = shared.state.lock();
        let mut add = |level: usize, rank_us| {
            let is_cancelled = Arc::default();
            let (client, task) = (client.clone(), Box::new(|_: &_| Progress::Done));
            let lane = Lane::Long;
            let can_restart = false;
            let job = Job { client, lane, can_restart, is_cancelled, rank_us, task };
            let cancel = Arc::clone(&job.is_cancelled);
            state.levels[level].waiting.push(job);
            (cancel, shared.refuse(&mut state, FIRST).map(|job| job.rank_us))
        };
        let (cancel, none) = add(FIRST, 10);
        assert_eq!(none, None);
        assert_eq!(add(LOWEST_START, 20).1, None);
        assert_eq!(add(FIRST, 30).1, None);
        assert_eq!(add(FIRST, 15).1, Some(30), "not the one that came last of all");
        assert_eq!(add(FIRST, 40).1, Some(40));
        assert_eq!(add(FIRST, 11).1, Some(20));
        cancel.store(true, Ordering::Relaxed);
        assert_eq!(add(FIRST, 50).1, None, "what nobody waits for makes room first");
        drop(state);
        assert_eq!(work.stats().refused, 3);
    }

    #[test]
    fn the_address_with_the_most_jobs_is_refused() {
        let work = Work::new(WorkConfig { queue: 3, ..WorkConfig::default() });
        let [a, b] =
            ["127.0.0.1", "127.0.0.2"].map(|address| work.client(Some(address.parse().unwrap())));
        let shared = &work.workers().0;
        let mut state = shared.state.lock();
        let mut add = |client: &Client, rank_us| {
            let (client, task) = (client.clone(), Box::new(|_: &_| Progress::Done));
            let (lane, can_restart, is_cancelled) = (Lane::Long, false, Arc::default());
            let job = Job { client, lane, can_restart, is_cancelled, rank_us, task };
            state.levels[FIRST].waiting.push(job);
            shared.refuse(&mut state, FIRST).map(|job| (job.client == b, job.rank_us))
        };
        (1..4).for_each(|rank| assert_eq!(add(&a, rank), None));
        assert_eq!(add(&b, 100), Some((false, 3)), "not the newcomer");
        assert_eq!(add(&b, 200), Some((true, 200)), "two each: the one that comes last");
        assert_eq!(add(&a, 4), Some((false, 4)));
    }

    #[test]
    fn the_client_with_the_most_jobs_of_an_address_is_refused() {
        let work = Work::new(WorkConfig { queue: 3, ..WorkConfig::default() });
        let [a, b] = [(); 2].map(|()| work.client(Some("127.0.0.1".parse().unwrap())));
        let shared = &work.workers().0;
        let mut state = shared.state.lock();
        let mut add = |client: &Client, level: usize, rank_us| {
            let job = Job { rank_us, ..waiting(client, false) };
            state.levels[level].waiting.push(job);
            shared.refuse(&mut state, FIRST).map(|job| (job.client == b, job.rank_us))
        };
        (1..4).for_each(|rank| assert_eq!(add(&a, LOWEST_START, rank), None));
        assert_eq!(add(&b, FIRST, 100), Some((false, 3)), "not the one with a single job");
        assert_eq!(add(&b, FIRST, 200), Some((true, 200)), "two each: the one that comes last");
        assert_eq!(add(&a, FIRST, 4), Some((false, 4)));
    }

    /// A server whose jobs are begun by hand.
    fn by_hand() -> (Work, [Client; 3]) {
        let work = Work::new(WorkConfig { processors: 2, ..WorkConfig::default() });
        let clients = ["127.0.0.1", "127.0.0.2", "127.0.0.3"]
            .map(|address| work.client(Some(address.parse().unwrap())));
        (work, clients)
    }

    fn waiting(client: &Client, can_restart: bool) -> Job {
        let (client, task) = (client.clone(), Box::new(|_: &_| Progress::Done));
        let (lane, rank_us, is_cancelled) = (Lane::Long, 0, Arc::default());
        Job { client, lane, can_restart, is_cancelled, rank_us, task }
    }

    fn begin(shared: &Arc<Shared>, level: usize, job: Job) -> Option<Run> {
        let mut state = shared.state.lock();
        state.levels[level].waiting.push(job);
        shared.dispatch(&mut state, level, false);
        shared.begin(&mut state.levels[level], level, None)
    }

    #[test]
    fn an_address_with_more_places_gives_one_to_another() {
        let (work, [a, b, c]) = by_hand();
        let shared = &work.workers().0;
        for level in FIRST + 1..LEVELS {
            let [first, second] =
                [(); 2].map(|()| begin(shared, level, waiting(&a, true)).unwrap());
            assert!(begin(shared, level, waiting(&a, true)).is_none(), "no place is free");
            let asked = || [&first, &second].map(|run| run.run_state.is_asked_to_yield());
            assert_eq!(asked(), [false, false], "its own jobs wait for each other");
            assert!(begin(shared, level, waiting(&b, true)).is_none());
            assert_eq!(asked(), [false, true], "the one that began last");
            // As if its time had come.
            second.run_state.set_yielded();
            assert_eq!(shared.ended(second, Progress::Again), level);
            let mut state = shared.state.lock();
            let run = shared.begin(&mut state.levels[level], level, None).unwrap();
            assert_eq!(run.job.client, b);
            assert_eq!(state.levels[level].waiting.len(), 2, "what gave its place waits here");
            drop(state);
            assert!(begin(shared, level, waiting(&c, true)).is_none());
            assert!(!first.run_state.is_asked_to_yield(), "each has one place");
            shared.ended(run, Progress::Done);
            let mut state = shared.state.lock();
            let run = shared.begin(&mut state.levels[level], level, None).unwrap();
            assert_eq!(run.job.client, c);
            state.levels[level].waiting = Queue::default();
            drop(state);
            shared.ended(first, Progress::Done);
            shared.ended(run, Progress::Done);
            assert_eq!([&a, &b, &c].map(|client| client.places(level)), [0; 3]);
        }
    }

    #[test]
    fn work_that_runs_once_keeps_its_place() {
        let (work, [a, b, _]) = by_hand();
        let shared = &work.workers().0;
        let level = LEVELS - 1;
        let runs = [(); 2].map(|()| begin(shared, level, waiting(&a, false)).unwrap());
        assert!(begin(shared, level, waiting(&b, true)).is_none());
        assert!(runs.iter().all(|run| !run.run_state.is_asked_to_yield()));
        assert!(runs.iter().all(|run| !run.run_state.restart_later()));
    }
}
