//! Runs costly hashes, a few at a time, with an equal share for each client.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use esker_primitives::ClientAddress;
use esker_primitives::sync::Mutex;
use tokio::sync::oneshot;

use crate::error::KeystoreError;

/// Limits of concurrent password hashes, and of the wait for them.
#[derive(Clone, Copy, Debug)]
pub struct HashLimits {
    /// Most concurrent hashes. Each takes 64 MiB and a core for some 60 ms.
    pub at_once: usize,
    /// Calls that may wait for their turn. Above it a call is refused: the newest of the client that has the most.
    pub queue: usize,
    /// Time that a call waits before it is refused.
    pub max_wait: Duration,
}

impl Default for HashLimits {
    fn default() -> Self {
        Self { at_once: 2, queue: 128, max_wait: Duration::from_secs(20) }
    }
}

/// Limits how many hashes run and wait. Clients take turns, so that one with many calls delays another by no more than
/// the hashes that run.
#[derive(Debug)]
pub struct Hasher {
    turns: Arc<Turns>,
    max_wait: Duration,
    refused: AtomicU64,
}

/// Figures of a [`Hasher`], for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HashFigures {
    /// Running hashes.
    pub running: usize,
    /// Calls that wait for their turn.
    pub waiting: usize,
    /// Calls that were refused since the start.
    pub refused: u64,
}

impl Hasher {
    /// Creates a hasher with these limits.
    pub fn new(limits: HashLimits) -> Self {
        let turns = Turns {
            at_once: limits.at_once.max(1),
            max_waiting: limits.queue,
            state: Mutex::new_named("keystore.hashes", State::default()),
        };
        Self { turns: Arc::new(turns), max_wait: limits.max_wait, refused: AtomicU64::new(0) }
    }

    /// The present figures.
    pub fn figures(&self) -> HashFigures {
        let state = self.turns.state.lock();
        HashFigures {
            running: state.running,
            waiting: state.waiting,
            refused: self.refused.load(Ordering::Relaxed),
        }
    }

    /// Runs a client's hash on the blocking pool when its turn comes. One that has begun keeps its turn to its end,
    /// whether or not anybody waits for it.
    ///
    /// # Errors
    /// [`KeystoreError::Busy`] if too many wait, or the turn does not come in time.
    pub async fn run<T: Send + 'static>(
        &self,
        client: ClientAddress,
        hash: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, KeystoreError> {
        let turn = match self.turns.request(client) {
            Admission::Granted(turn) => turn,
            Admission::Refused => return Err(self.busy()),
            Admission::Waiting(waiter) => {
                let turn = tokio::time::timeout(self.max_wait, waiter.turn()).await;
                turn.ok().flatten().ok_or_else(|| self.busy())?
            }
        };
        let hash = move || {
            let _held = turn;
            hash()
        };
        tokio::task::spawn_blocking(hash).await.map_err(|_| KeystoreError::Busy)
    }

    fn busy(&self) -> KeystoreError {
        self.refused.fetch_add(1, Ordering::Relaxed);
        KeystoreError::Busy
    }
}

/// Running and waiting calls.
#[derive(Debug)]
struct Turns {
    at_once: usize,
    max_waiting: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    running: usize,
    waiting: usize,
    last_number: u64,
    /// Clients with calls that wait, each once. The first has the next turn, and then goes to the end.
    clients: VecDeque<ClientQueue>,
}

/// Waiting calls of one client, the oldest first; never empty.
#[derive(Debug)]
struct ClientQueue {
    client: ClientAddress,
    calls: VecDeque<Call>,
}

#[derive(Debug)]
struct Call {
    number: u64,
    /// Dropped without a value if the call is refused.
    granted: oneshot::Sender<()>,
}

enum Admission {
    Granted(Turn),
    Waiting(Waiter),
    Refused,
}

impl Turns {
    fn request(self: &Arc<Self>, client: ClientAddress) -> Admission {
        let mut state = self.state.lock();
        // While calls wait, all turns are taken.
        if state.running < self.at_once {
            state.running += 1;
            return Admission::Granted(Turn(Arc::clone(self)));
        }
        if state.waiting >= self.max_waiting && !state.make_room(client) {
            return Admission::Refused;
        }
        let (granted, turn) = oneshot::channel();
        let number = state.add(client, granted);
        Admission::Waiting(Waiter { turns: Arc::clone(self), client, number, turn })
    }

    /// Gives a turn that ended to the next call.
    fn pass_on(&self) {
        let mut state = self.state.lock();
        while let Some(call) = state.take_next() {
            if call.granted.send(()).is_ok() {
                return;
            }
        }
        state.running -= 1;
    }
}

impl State {
    fn add(&mut self, client: ClientAddress, granted: oneshot::Sender<()>) -> u64 {
        self.last_number += 1;
        self.waiting += 1;
        let call = Call { number: self.last_number, granted };
        match self.clients.iter_mut().find(|queue| queue.client == client) {
            Some(queue) => queue.calls.push_back(call),
            None => self.clients.push_back(ClientQueue { client, calls: VecDeque::from([call]) }),
        }
        self.last_number
    }

    fn take_next(&mut self) -> Option<Call> {
        let mut queue = self.clients.pop_front()?;
        let call = queue.calls.pop_front()?;
        self.waiting -= 1;
        if !queue.calls.is_empty() {
            self.clients.push_back(queue);
        }
        Some(call)
    }

    /// Refuses the newest call of the client that has the most, if this one then has no more than it.
    fn make_room(&mut self, client: ClientAddress) -> bool {
        let own = self.clients.iter().find(|queue| queue.client == client);
        let own = own.map_or(0, |queue| queue.calls.len());
        let most = self.clients.iter_mut().max_by_key(|queue| queue.calls.len());
        match most {
            // It keeps at least one call.
            Some(queue) if queue.calls.len() > own + 1 => {
                self.waiting -= 1;
                queue.calls.pop_back().is_some()
            }
            Some(_) | None => false,
        }
    }

    /// Whether the call was waiting.
    fn remove(&mut self, client: ClientAddress, number: u64) -> bool {
        let Some(at) = self.clients.iter().position(|queue| queue.client == client) else {
            return false;
        };
        let calls = &mut self.clients[at].calls;
        let Some(place) = calls.iter().position(|call| call.number == number) else { return false };
        calls.remove(place);
        if calls.is_empty() {
            self.clients.remove(at);
        }
        self.waiting -= 1;
        true
    }
}

/// The permit to run one hash.
#[derive(Debug)]
struct Turn(Arc<Turns>);

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.pass_on();
    }
}

/// A waiting call. When dropped, it leaves the queue, and passes on a turn that it got and did not use.
#[derive(Debug)]
struct Waiter {
    turns: Arc<Turns>,
    client: ClientAddress,
    number: u64,
    turn: oneshot::Receiver<()>,
}

impl Waiter {
    /// Waits; `None` if the call is refused.
    async fn turn(mut self) -> Option<Turn> {
        (&mut self.turn).await.ok()?;
        Some(Turn(Arc::clone(&self.turns)))
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let was_waiting = self.turns.state.lock().remove(self.client, self.number);
        // The channel is empty after the turn was taken.
        if !was_waiting && self.turn.try_recv().is_ok() {
            self.turns.pass_on();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::pin::Pin;
    use std::sync::mpsc;

    use futures_util::FutureExt as _;

    use super::*;

    const WAIT: Duration = Duration::from_secs(20);

    fn client(n: u8) -> ClientAddress {
        ClientAddress::from_peer(Some(Ipv4Addr::new(192, 0, 2, n).into()))
    }

    fn hasher(at_once: usize, queue: usize) -> Arc<Hasher> {
        Arc::new(Hasher::new(HashLimits { at_once, queue, max_wait: WAIT }))
    }

    /// Takes a turn with a hash that ends when the sender is dropped.
    fn occupy(hasher: &Arc<Hasher>, client: ClientAddress) -> mpsc::Sender<()> {
        let (release, hold) = mpsc::channel::<()>();
        let begun = hasher.run(client, move || hold.recv().is_err()).now_or_never();
        assert!(begun.is_none(), "it has begun");
        release
    }

    type RunningCall = Pin<Box<dyn Future<Output = Result<(), KeystoreError>>>>;

    /// A call that has asked for its turn, and notes its name when it runs.
    fn ask(
        hasher: &Arc<Hasher>,
        client: ClientAddress,
        name: String,
        log: &Arc<Mutex<Vec<String>>>,
    ) -> RunningCall {
        let (hasher, log) = (Arc::clone(hasher), Arc::clone(log));
        let run = async move { hasher.run(client, move || log.lock().push(name)).await };
        let mut run: RunningCall = Box::pin(run);
        if let Some(outcome) = (&mut run).now_or_never() {
            return Box::pin(std::future::ready(outcome));
        }
        run
    }

    fn is_busy(outcome: Result<(), KeystoreError>) -> bool {
        matches!(outcome, Err(KeystoreError::Busy))
    }

    #[tokio::test]
    async fn clients_take_turns() {
        let hasher = hasher(1, 128);
        let held = occupy(&hasher, client(1));
        let log = Arc::default();
        let mut calls = Vec::new();
        for n in 0..3 {
            calls.push(ask(&hasher, client(1), format!("many {n}"), &log));
        }
        calls.push(ask(&hasher, client(2), "one".to_owned(), &log));
        for n in 0..2 {
            calls.push(ask(&hasher, client(3), format!("two {n}"), &log));
        }
        drop(held);
        for outcome in futures_util::future::join_all(calls).await {
            outcome.unwrap();
        }
        let order = ["many 0", "one", "two 0", "many 1", "two 1", "many 2"];
        assert_eq!(*log.lock(), order);
        assert_eq!(hasher.figures(), HashFigures::default());
    }

    #[tokio::test]
    async fn a_full_queue_has_room_for_a_client_that_has_less_in_it() {
        let hasher = hasher(1, 4);
        let held = occupy(&hasher, client(1));
        let log = Arc::default();
        let mut many: Vec<_> =
            (0..4).map(|n| ask(&hasher, client(1), format!("many {n}"), &log)).collect();
        // Its own calls refuse each other in the order of arrival.
        assert!(is_busy(ask(&hasher, client(1), "late".to_owned(), &log).await));
        let others: Vec<_> =
            (0..2).map(|n| ask(&hasher, client(2), format!("other {n}"), &log)).collect();
        for call in many.split_off(2) {
            assert!(is_busy(call.await), "the newest made room");
        }
        // Both have two waiting calls, so neither makes room for the other.
        assert!(is_busy(ask(&hasher, client(2), "late".to_owned(), &log).await));
        assert_eq!(hasher.figures(), HashFigures { running: 1, waiting: 4, refused: 4 });
        let third = ask(&hasher, client(3), "third".to_owned(), &log);
        assert_eq!(hasher.figures().waiting, 4);
        drop(held);
        let calls = [third].into_iter().chain(many).chain(others);
        let outcomes = futures_util::future::join_all(calls).await;
        assert_eq!(outcomes.into_iter().filter(|outcome| outcome.is_err()).count(), 1);
        assert_eq!(log.lock().len(), 4);
        assert!(log.lock().contains(&"third".to_owned()));
        assert_eq!(hasher.figures(), HashFigures { running: 0, waiting: 0, refused: 5 });
    }

    #[tokio::test]
    async fn an_abandoned_hash_runs_to_its_end() {
        let hasher = hasher(1, 1);
        let held = occupy(&hasher, client(1));
        let mut second = Box::pin(hasher.run(client(1), || true));
        assert!((&mut second).now_or_never().is_none());
        assert!(matches!(hasher.run(client(1), || true).await, Err(KeystoreError::Busy)));
        assert_eq!(hasher.figures(), HashFigures { running: 1, waiting: 1, refused: 1 });
        drop(held);
        assert!(second.await.unwrap());
    }

    #[tokio::test]
    async fn a_call_that_is_given_up_leaves_the_queue() {
        let hasher = hasher(1, 2);
        let Admission::Granted(turn) = hasher.turns.request(client(1)) else {
            panic!("nothing runs yet");
        };
        let wait = || {
            let mut call = Box::pin(hasher.run(client(1), || true));
            assert!((&mut call).now_or_never().is_none());
            call
        };
        drop(wait());
        assert_eq!(hasher.figures(), HashFigures { running: 1, waiting: 0, refused: 0 });
        // One that is given up when its turn has come, and has not begun.
        let (given_up, next) = (wait(), wait());
        drop(turn);
        assert_eq!(hasher.figures(), HashFigures { running: 1, waiting: 1, refused: 0 });
        drop(given_up);
        assert_eq!(hasher.figures(), HashFigures { running: 1, waiting: 0, refused: 0 });
        assert!(next.await.unwrap());
        assert_eq!(hasher.figures(), HashFigures::default());
    }

    #[tokio::test]
    async fn extreme_limits_work() {
        for (at_once, queue) in [(0, 0), (usize::MAX, usize::MAX)] {
            assert!(hasher(at_once, queue).run(client(1), || true).await.unwrap());
        }
        let hasher = hasher(1, 0);
        let held = occupy(&hasher, client(1));
        assert!(matches!(hasher.run(client(2), || true).await, Err(KeystoreError::Busy)));
        drop(held);
    }

    #[tokio::test]
    async fn waits_time_out() {
        let limits = HashLimits { at_once: 1, queue: 1, max_wait: Duration::ZERO };
        let hasher = Arc::new(Hasher::new(limits));
        let held = occupy(&hasher, client(1));
        assert!(matches!(hasher.run(client(1), || true).await, Err(KeystoreError::Busy)));
        assert_eq!(hasher.figures(), HashFigures { running: 1, waiting: 0, refused: 1 });
        drop(held);
    }
}
