//! Sends that are answered when their block is there, on a development node that makes blocks at once.
//!
//! A send waits here once its transaction is in a pool. It ends when the transaction has left the pool, which is after
//! its block's commit; when a build that began later makes no block, so that the transaction can't get into one now;
//! or after [`MAX_BLOCK_WAIT`]; or when the node stops. The reply is the same in each case. Waiting holds no thread.
//!
//! A client that sends without pause over many connections does not look at its transactions yet, and would wait for each
//! block with all of them. So many sends at once take of a credit that lasts for a burst; without credit they are
//! answered as elsewhere, and while such a burst leaves transactions in the pool after each block, no send waits. Blocks
//! gather its transactions for a moment, since one for each few would cost more than the transactions.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use esker_primitives::Id;
use esker_primitives::sync::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, timeout, timeout_at};

/// Longest time that a send waits for its block.
pub const MAX_BLOCK_WAIT: Duration = Duration::from_secs(2);

/// Time that a send waits before it asks for a build. The one that left its transaction out may have begun before the
/// wait.
const RETRY_DELAY: Duration = Duration::from_millis(50);

/// Sends of a chain that may always wait at a time.
const FREE_WAITS: usize = 4;

/// Sends that may wait besides in a burst.
const MAX_CREDIT: u64 = 256;

/// Time until there is credit for one more.
const CREDIT_INTERVAL: Duration = Duration::from_millis(20);

/// In a burst the next block is made this much later than the last one at the earliest: the transactions that come
/// meanwhile share its cost.
const GATHER_TIME: Duration = Duration::from_millis(50);

/// A block has at least so many transactions of a burst.
const MIN_BURST: usize = 8;

/// A burst is over this long after its last block.
const BURST_TIME: Duration = Duration::from_secs(1);

/// Sends of all chains of a node that may wait at a time. Further ones are answered without a wait.
pub const MAX_BLOCK_WAITS: usize = 512;

/// The sends of one chain that wait.
#[derive(Debug)]
pub struct BlockWaits {
    /// Shared by the node's chains.
    places: Arc<Semaphore>,
    /// Asks for a build.
    work: Arc<Notify>,
    waiting: Mutex<WaitState>,
}

#[derive(Debug, Default)]
struct WaitState {
    /// Builds that have begun.
    builds: u64,
    next_key: u64,
    sends: BTreeMap<u64, PendingSend>,
    credit: Credit,
    /// The last block, if it was of a burst.
    burst: Option<Instant>,
}

impl WaitState {
    /// Whether a client sends without pause: the last block held transactions for which no send waited, and left some.
    fn is_burst(&self, now: Instant) -> bool {
        self.burst.is_some_and(|last_block| now < last_block + BURST_TIME)
    }
}

/// Number of sends that may wait beside others.
#[derive(Debug)]
struct Credit {
    left: u64,
    since: Instant,
}

impl Default for Credit {
    fn default() -> Self {
        Self { left: MAX_CREDIT, since: Instant::now() }
    }
}

impl Credit {
    /// Takes credit for one; false if there is none.
    fn take(&mut self, now: Instant) -> bool {
        let earned =
            now.saturating_duration_since(self.since).as_millis() / CREDIT_INTERVAL.as_millis();
        if earned > 0 {
            let earned = u64::try_from(earned).unwrap_or(u64::MAX);
            self.left = self.left.saturating_add(earned).min(MAX_CREDIT);
            self.since = now;
        }
        let has_credit = self.left > 0;
        self.left = self.left.saturating_sub(1);
        has_credit
    }
}

#[derive(Debug)]
struct PendingSend {
    tx: Id,
    /// Builds that had begun before it waited.
    builds: u64,
    done: oneshot::Sender<()>,
    _place: OwnedSemaphorePermit,
}

/// A send that waits, until this is dropped.
#[derive(Debug)]
pub struct BlockWait {
    waits: Arc<BlockWaits>,
    key: u64,
    done: oneshot::Receiver<()>,
    until: Instant,
}

impl BlockWaits {
    /// None yet. `places`: as many may wait, together with those of other chains. `work` wakes the machine.
    pub fn new(places: Arc<Semaphore>, work: Arc<Notify>) -> Arc<Self> {
        let waiting = Mutex::new_named("chain.block-waits", WaitState::default());
        Arc::new(Self { places, work, waiting })
    }

    /// Sends that wait now.
    pub fn len(&self) -> usize {
        self.waiting.lock().sends.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Lets the send of a transaction wait that is in its pool; `None`: it is not, any more, or too many sends wait.
    /// `is_waiting` says whether the transaction can get into the next block.
    pub fn begin(self: &Arc<Self>, tx: Id, is_waiting: impl Fn() -> bool) -> Option<BlockWait> {
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        let (sender, done) = oneshot::channel();
        let now = Instant::now();
        let key = {
            let mut waiting = self.waiting.lock();
            let is_free = waiting.sends.len() < FREE_WAITS;
            if waiting.is_burst(now) || (!is_free && !waiting.credit.take(now)) {
                return None;
            }
            let key = waiting.next_key;
            waiting.next_key += 1;
            let builds = waiting.builds;
            waiting.sends.insert(key, PendingSend { tx, builds, done: sender, _place: place });
            key
        };
        let until = now + MAX_BLOCK_WAIT;
        let wait = BlockWait { waits: Arc::clone(self), key, done, until };
        // Only now: a block that was accepted before this was not told of the send, nor was a stop.
        (is_waiting() && !self.places.is_closed()).then_some(wait)
    }

    /// The node stops: ends all waits, and lets no send wait any more, on any chain of the node. So the replies are written
    /// before connections are closed.
    pub fn stop(&self) {
        self.places.close();
        let _ended = self.end(|_| true);
    }

    /// A build begins; returns its number.
    pub fn build_begins(&self) -> u64 {
        let mut waiting = self.waiting.lock();
        waiting.builds += 1;
        waiting.builds
    }

    /// A build made no block: what was in the pools when it began has to wait for something else.
    pub fn nothing_built(&self, build: u64) {
        let _ended = self.end(|send| send.builds < build);
    }

    /// Until when the next block gathers transactions, in a burst.
    pub fn gathers_until(&self) -> Option<Instant> {
        let until = self.waiting.lock().burst? + GATHER_TIME;
        (Instant::now() < until).then_some(until)
    }

    /// The pools have followed a block of so many transactions. Ends the waits for those that have left them. `has_more`:
    /// others wait for the next block.
    pub fn settle(&self, txs: usize, has_more: bool, is_in_pool: impl Fn(&Id) -> bool) {
        let waited_for = self.end(|send| !is_in_pool(&send.tx));
        let is_burst = has_more && txs >= waited_for + MIN_BURST;
        self.waiting.lock().burst = is_burst.then(Instant::now);
    }

    /// Ends waits, and returns how many.
    fn end(&self, is_over: impl Fn(&PendingSend) -> bool) -> usize {
        let over: Vec<_> = {
            let mut waiting = self.waiting.lock();
            if waiting.sends.is_empty() {
                return 0;
            }
            waiting.sends.extract_if(.., |_, send| is_over(send)).collect()
        };
        let count = over.len();
        for (_, send) in over {
            // Its client may have left.
            let _gone = send.done.send(());
        }
        count
    }
}

impl BlockWait {
    /// Returns when the wait is over.
    pub async fn over(mut self) {
        if timeout(RETRY_DELAY, &mut self.done).await.is_ok() {
            return;
        }
        self.waits.work.notify_one();
        // Whether the block came, or the time ran out, the reply is the same.
        let _in_time = timeout_at(self.until, &mut self.done).await;
    }
}

impl Drop for BlockWait {
    fn drop(&mut self) {
        let left = self.waits.waiting.lock().sends.remove(&self.key);
        drop(left);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn waits(places: usize) -> Arc<BlockWaits> {
        BlockWaits::new(Arc::new(Semaphore::new(places)), Arc::default())
    }

    fn id(byte: u8) -> Id {
        Id::new([byte; 32])
    }

    fn is_over(wait: BlockWait) -> bool {
        wait.over().now_or_never().is_some()
    }

    #[tokio::test]
    async fn a_send_waits_until_its_transaction_has_left_the_pool() {
        let waits = waits(8);
        let [a, b] = [1, 2].map(|byte| waits.begin(id(byte), || true).unwrap());
        waits.settle(1, false, |_| true);
        assert_eq!(waits.len(), 2);
        waits.settle(1, false, |tx| *tx == id(2));
        assert!(is_over(a) && !is_over(b));
        assert!(waits.is_empty());
        // It had left before the wait began.
        assert!(waits.begin(id(1), || false).is_none());
        assert!(waits.is_empty());
    }

    #[tokio::test]
    async fn only_a_later_build_without_a_block_ends_a_wait() {
        let waits = waits(8);
        let running = waits.build_begins();
        let wait = waits.begin(id(1), || true).unwrap();
        waits.nothing_built(running);
        assert_eq!(waits.len(), 1);
        waits.nothing_built(waits.build_begins());
        assert!(is_over(wait));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_has_an_end() {
        let begun = Instant::now();
        let wait = waits(8).begin(id(1), || true).unwrap();
        wait.over().await;
        assert_eq!(begun.elapsed(), MAX_BLOCK_WAIT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_send_that_a_build_has_left_out_asks_for_another() {
        let work = Arc::new(Notify::new());
        let waits = BlockWaits::new(Arc::new(Semaphore::new(1)), Arc::clone(&work));
        // This build saw the pool before the wait began.
        let running = waits.build_begins();
        let wait = waits.begin(id(1), || true).unwrap();
        waits.nothing_built(running);
        let build = async {
            work.notified().await;
            waits.nothing_built(waits.build_begins());
        };
        let begun = Instant::now();
        tokio::join!(wait.over(), build);
        assert_eq!(begun.elapsed(), RETRY_DELAY);
    }

    #[tokio::test]
    async fn a_stop_ends_all_waits() {
        let places = Arc::new(Semaphore::new(8));
        let [x, c] = [0, 1].map(|_| BlockWaits::new(Arc::clone(&places), Arc::default()));
        let [on_x, on_c] = [&x, &c].map(|waits| waits.begin(id(1), || true).unwrap());
        // A send that has its place already meets the stop.
        let stopped = || {
            x.stop();
            true
        };
        assert!(x.begin(id(2), stopped).is_none() && is_over(on_x));
        assert!(c.begin(id(2), || true).is_none());
        c.stop();
        assert!(is_over(on_c) && x.is_empty() && c.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn sends_without_pause_use_up_their_credit() {
        let waits = waits(usize::try_from(2 * MAX_CREDIT).unwrap());
        let begin = || waits.begin(id(1), || true);
        let burst = FREE_WAITS as u64 + MAX_CREDIT;
        let first: Vec<_> = (0..burst).map(|_| begin().unwrap()).collect();
        assert!(begin().is_none());
        tokio::time::advance(2 * CREDIT_INTERVAL).await;
        let later = [begin().unwrap(), begin().unwrap()];
        assert!(begin().is_none());
        drop((first, later));
        // One after the other, and a few at once, always wait.
        for _ in 0..10 {
            let few: Vec<_> = (0..FREE_WAITS).map(|_| begin().unwrap()).collect();
            assert!(begin().is_none());
            drop(few);
        }
        tokio::time::advance(Duration::from_secs(3600)).await;
        let again: Vec<_> = (0..burst).map_while(|_| begin()).collect();
        assert_eq!((again.len() as u64, begin().is_none()), (burst, true));
    }

    #[tokio::test(start_paused = true)]
    async fn in_a_burst_blocks_gather_transactions_and_no_send_waits() {
        let waits = waits(8);
        let begin = || waits.begin(id(1), || true);
        let _waiting = [begin().unwrap(), begin().unwrap()];
        waits.settle(MIN_BURST + 1, true, |_| false);
        assert_eq!(waits.gathers_until(), None, "two of them were waited for");
        let _waiting = begin().unwrap();
        waits.settle(MIN_BURST + 1, true, |_| false);
        assert_eq!(waits.gathers_until(), Some(Instant::now() + GATHER_TIME));
        assert!(begin().is_none());
        tokio::time::advance(GATHER_TIME).await;
        assert!(waits.gathers_until().is_none() && begin().is_none(), "the block is being made");
        waits.settle(MIN_BURST, false, |_| false);
        assert!(waits.gathers_until().is_none() && begin().is_some(), "the pool is empty");
        waits.settle(MIN_BURST, true, |_| false);
        waits.settle(1, true, |_| false);
        assert!(waits.gathers_until().is_none() && begin().is_some(), "others wait for long");
        waits.settle(MIN_BURST, true, |_| false);
        tokio::time::advance(BURST_TIME).await;
        assert!(begin().is_some());
    }

    #[tokio::test]
    async fn so_many_wait_on_all_chains() {
        let places = Arc::new(Semaphore::new(2));
        let (x, c) = (
            BlockWaits::new(Arc::clone(&places), Arc::default()),
            BlockWaits::new(places, Arc::default()),
        );
        let first = x.begin(id(1), || true).unwrap();
        let second = c.begin(id(1), || true).unwrap();
        assert!(x.begin(id(2), || true).is_none() && c.begin(id(2), || true).is_none());
        // Whose client leaves gives its place to another.
        drop(first);
        let third = c.begin(id(3), || true).unwrap();
        c.settle(1, false, |tx| *tx == id(3));
        assert!(is_over(second) && !is_over(third));
        assert!(x.begin(id(4), || true).is_some() && x.is_empty() && c.is_empty());
    }
}
