//! Counts what calls take beside their replies: arguments, overlays, tries, and results that are being made.
//!
//! A call with long arguments waits for its share before they are decoded, and gives it back when it ends. A run that
//! needs more asks for more on the way ([`super::RunMemory`]).

use std::sync::atomic::Ordering;
use std::time::Duration;

use esker_primitives::sync::Mutex;
use tokio::sync::oneshot;

use super::Client;
use super::error::CallMemoryError;

/// Bytes that calls take at once, unless configured otherwise.
pub const DEFAULT_CALL_MEMORY: usize = 256 * 1024 * 1024;
/// Bytes that the calls of one client take, unless configured otherwise.
pub const DEFAULT_CLIENT_CALL_MEMORY: usize = 128 * 1024 * 1024;

/// Arguments up to this length, in bytes of text, wait for nothing.
pub(crate) const SMALL_TEXT: usize = 16 * 1024;
/// Decoded arguments up to this size, in bytes, are not counted.
pub(crate) const SMALL_ARGUMENTS: usize = 64 * 1024;
/// The bytes that a run may take beyond its share: most calls take less and are not counted at all.
pub(super) const FREE_FOR_RUN: usize = 2 * 1024 * 1024;
/// The memory of arguments is estimated as this multiple of their text.
const ESTIMATE_FACTOR: usize = 16;
/// Time that a call waits for memory.
const MAX_WAIT: Duration = Duration::from_secs(20);

/// The bytes that the calls of a server take.
#[derive(Debug)]
pub(super) struct CallMemory {
    limit: usize,
    client_limit: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    used: usize,
    /// In the order of arrival.
    waiting: Vec<Waiter>,
}

#[derive(Debug)]
struct Waiter {
    client: Client,
    bytes: usize,
    sender: oneshot::Sender<CallReservation>,
}

/// Bytes that a call may take, until this is dropped.
#[derive(Debug)]
pub(crate) struct CallReservation {
    client: Client,
    bytes: usize,
}

/// The expected memory of arguments, by the length of their text.
pub(crate) fn estimate(text_bytes: usize, client: &Client) -> usize {
    let limit = client.work().call_memory().client_limit;
    // Text that is longer is decoded within the limit, or is refused for what it really takes.
    text_bytes.saturating_mul(ESTIMATE_FACTOR).min(limit)
}

impl CallMemory {
    /// `client_limit` is that of the calls of one address.
    pub(super) fn new(limit: usize, client_limit: usize) -> Self {
        let client_limit = client_limit.min(limit);
        Self { limit, client_limit, state: Mutex::new_named("rpc.calls", State::default()) }
    }

    /// Bytes in use.
    pub(super) fn used(&self) -> usize {
        self.state.lock().used
    }

    pub(super) fn full(&self) -> CallMemoryError {
        CallMemoryError::Full { client: self.client_limit, all: self.limit }
    }

    /// The reason why work that has so many bytes gets no more: its client's other calls, or those of others, have
    /// them; or it has nearly all that its client may have, besides the arguments that it came from.
    pub(super) fn refusal(&self, client: &Client, bytes: usize) -> CallMemoryError {
        let of_others = self.used().saturating_sub(client.calls().bytes());
        let beside = client.calls().bytes().saturating_sub(bytes);
        let has_room = of_others.saturating_add(self.client_limit) <= self.limit;
        match has_room && beside <= self.client_limit / 8 {
            true => CallMemoryError::TooLarge(self.client_limit),
            false => self.full(),
        }
    }

    /// Waits for so many bytes. Those who have the least come first, and of these who came first.
    pub(super) async fn acquire(
        &self,
        client: &Client,
        bytes: usize,
    ) -> Result<CallReservation, CallMemoryError> {
        if bytes > self.client_limit {
            return Err(CallMemoryError::TooLarge(self.client_limit));
        }
        let (sender, receiver) = oneshot::channel();
        let waiter = Waiter { client: client.clone(), bytes, sender };
        self.change(|state| state.waiting.push(waiter));
        match tokio::time::timeout(MAX_WAIT, receiver).await {
            Ok(Ok(reservation)) => Ok(reservation),
            Ok(Err(_)) | Err(_) => Err(self.full()),
        }
    }

    /// Takes more bytes for a run, if there are any; the run goes before those who wait.
    fn try_grow(&self, client: &Client, more: usize) -> bool {
        let mut state = self.state.lock();
        let of_address = client.calls();
        let fits = of_address.bytes().saturating_add(more) <= self.client_limit
            && state.used.saturating_add(more) <= self.limit;
        if fits {
            state.used += more;
            of_address.0.fetch_add(more, Ordering::Relaxed);
        }
        fits
    }

    fn release(&self, client: &Client, bytes: usize) {
        self.change(|state| {
            state.used -= bytes;
            client.calls().0.fetch_sub(bytes, Ordering::Relaxed);
        });
    }

    /// Changes the state, and gives what is free to those who wait.
    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut granted = Vec::new();
        {
            let mut state = self.state.lock();
            change(&mut state);
            state.waiting.retain(|waiter| !waiter.sender.is_closed());
            while let Some(waiter) = state.next(self.limit, self.client_limit) {
                state.used += waiter.bytes;
                waiter.client.calls().0.fetch_add(waiter.bytes, Ordering::Relaxed);
                granted.push(waiter);
            }
        }
        for Waiter { client, bytes, sender } in granted {
            // One who has left meanwhile gives it back.
            let _ = sender.send(CallReservation { client, bytes });
        }
    }
}

impl State {
    /// Takes out who comes next, if there is room. One whose own limit is reached does not hold up others.
    fn next(&mut self, limit: usize, client_limit: usize) -> Option<Waiter> {
        let has_room = |waiter: &Waiter| {
            waiter.client.calls().bytes().saturating_add(waiter.bytes) <= client_limit
        };
        let can_have = self.waiting.iter().enumerate().filter(|(_, waiter)| has_room(waiter));
        let (at, first) = can_have.min_by_key(|(_, waiter)| waiter.client.calls().bytes())?;
        let fits = self.used.saturating_add(first.bytes) <= limit;
        fits.then(|| self.waiting.remove(at))
    }
}

impl CallReservation {
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Of a client that has reserved nothing.
    pub(super) fn empty(client: &Client) -> Self {
        Self { client: client.clone(), bytes: 0 }
    }

    /// Gives back all but so many bytes.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        let spare = self.bytes.saturating_sub(bytes);
        self.bytes -= spare;
        // Dropping it releases the bytes.
        drop(Self { client: self.client.clone(), bytes: spare });
    }

    /// Takes so many bytes more, if there are any.
    pub(super) fn try_grow(&mut self, more: usize) -> bool {
        let fits = self.client.work().call_memory().try_grow(&self.client, more);
        if fits {
            self.bytes += more;
        }
        fits
    }
}

impl Drop for CallReservation {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.client.work().call_memory().release(&self.client, self.bytes);
        }
    }
}

impl Client {
    /// Waits for memory of a call.
    ///
    /// # Errors
    /// There is too little for it, or other calls have it for too long.
    pub(crate) async fn acquire_call_memory(
        &self,
        bytes: usize,
    ) -> Result<CallReservation, CallMemoryError> {
        self.work().call_memory().acquire(self, bytes).await
    }

    /// The bytes that a call requests next after this many were too few.
    ///
    /// # Errors
    /// A client may not have more.
    pub(crate) fn call_memory_beyond(&self, bytes: usize) -> Result<usize, CallMemoryError> {
        let limit = self.work().call_memory().client_limit;
        if bytes >= limit {
            return Err(CallMemoryError::TooLarge(limit));
        }
        Ok(bytes.max(FREE_FOR_RUN).saturating_mul(2).min(limit))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use futures_util::future::BoxFuture;

    use super::*;
    use crate::work::{Work, WorkConfig};

    fn work() -> Work {
        Work::new(WorkConfig { call_memory: 100, client_call_memory: 60, ..WorkConfig::default() })
    }

    fn client(work: &Work, last: u8) -> Client {
        work.client(Some([192, 0, 2, last].into()))
    }

    type Acquired = Result<CallReservation, CallMemoryError>;

    fn acquire(client: &Client, bytes: usize) -> BoxFuture<'static, Acquired> {
        let client = client.clone();
        async move { client.acquire_call_memory(bytes).await }.boxed()
    }

    fn now(waiting: &mut BoxFuture<'static, Acquired>) -> Option<CallReservation> {
        waiting.now_or_never().map(|acquired| acquired.expect("there is room"))
    }

    #[tokio::test(start_paused = true)]
    async fn one_client_leaves_room_for_others() {
        let work = work();
        let (greedy, honest) = (client(&work, 1), client(&work, 2));
        // Another connection of the same address.
        let greedy_too = client(&work, 1);
        let first = now(&mut acquire(&greedy, 60)).unwrap();
        let mut second = acquire(&greedy_too, 1);
        assert!(now(&mut second).is_none());
        let small = now(&mut acquire(&honest, 40)).unwrap();
        assert_eq!(work.stats().call_bytes, 100);
        drop(small);
        assert!(now(&mut second).is_none(), "it is not its client's");
        drop(first);
        assert!(now(&mut second).is_some());
        assert_eq!(work.stats().call_bytes, 0);
        assert_eq!(greedy.calls().bytes(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_the_least_comes_first() {
        let work = work();
        let [a, b, c] = [1, 2, 3].map(|last| client(&work, last));
        let held = [now(&mut acquire(&a, 40)).unwrap(), now(&mut acquire(&b, 50)).unwrap()];
        let mut of_a = acquire(&a, 20);
        let mut of_c = acquire(&c, 20);
        assert!(now(&mut of_a).is_none() && now(&mut of_c).is_none());
        let [of_a_held, of_b_held] = held;
        drop(of_b_held);
        let got = now(&mut of_c).unwrap();
        assert_eq!(got.bytes(), 20);
        assert!(now(&mut of_a).is_some(), "there is room for both");
        drop((of_a_held, got));
        assert_eq!(work.stats().call_bytes, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_ends_with_an_error_that_names_the_limits() {
        let work = work();
        let client = client(&work, 1);
        let too_large = acquire(&client, 61).await.unwrap_err();
        assert_eq!(too_large, CallMemoryError::TooLarge(60));
        let held = acquire(&client, 60).await.unwrap();
        let full = acquire(&client, 1).await.unwrap_err();
        assert_eq!(full, CallMemoryError::Full { client: 60, all: 100 });
        // One that waits no longer is given nothing.
        let mut left = acquire(&client, 1);
        assert!(now(&mut left).is_none());
        drop(left);
        drop(held);
        assert_eq!(work.stats().call_bytes, 0);
    }

    #[test]
    fn what_grows_stays_within_the_limits() {
        let work = work();
        let [a, b] = [1, 2].map(|last| client(&work, last));
        let mut of_a = CallReservation::empty(&a);
        assert!(of_a.try_grow(60) && !of_a.try_grow(1));
        let mut of_b = CallReservation::empty(&b);
        assert!(of_b.try_grow(40) && !of_b.try_grow(1), "all together");
        of_a.shrink_to(70);
        assert_eq!(of_a.bytes(), 60);
        of_a.shrink_to(35);
        assert!(of_b.try_grow(20) && !of_b.try_grow(6));
        assert_eq!((of_a.bytes(), of_b.bytes(), work.stats().call_bytes), (35, 60, 95));
    }
}
