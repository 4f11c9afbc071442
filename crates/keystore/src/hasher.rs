//! Runs costly hashes, a few at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::KeystoreError;

/// How many password hashes the node computes at once, and how long others wait.
#[derive(Clone, Copy, Debug)]
pub struct HashLimits {
    /// Hashes under way at once; each takes 64 MiB and a core for some 60 ms.
    pub at_once: usize,
    /// Calls that may wait for their turn; more are refused at once.
    pub queue: usize,
    /// How long a call waits before it is refused.
    pub max_wait: Duration,
}

impl Default for HashLimits {
    fn default() -> Self {
        Self { at_once: 2, queue: 128, max_wait: Duration::from_secs(20) }
    }
}

/// Larger limits mean the same as this one.
const MAX_PERMITS: usize = 1 << 20;

/// Limits how many hashes run and wait.
#[derive(Debug)]
pub struct Hasher {
    at_once: usize,
    turns: Arc<Semaphore>,
    /// How many may run and wait together.
    places: usize,
    queue_slots: Arc<Semaphore>,
    max_wait: Duration,
    refused: AtomicU64,
}

/// Figures of a [`Hasher`], for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HashFigures {
    /// Hashes under way.
    pub running: usize,
    /// Calls that wait for their turn.
    pub waiting: usize,
    /// Calls that were refused since the start.
    pub refused: u64,
}

impl Hasher {
    /// Under these limits.
    pub fn new(limits: HashLimits) -> Self {
        let at_once = limits.at_once.clamp(1, MAX_PERMITS);
        let places = at_once + limits.queue.min(MAX_PERMITS);
        Self {
            at_once,
            turns: Arc::new(Semaphore::new(at_once)),
            places,
            queue_slots: Arc::new(Semaphore::new(places)),
            max_wait: limits.max_wait,
            refused: AtomicU64::new(0),
        }
    }

    /// What runs and waits now.
    pub fn figures(&self) -> HashFigures {
        let running = self.at_once.saturating_sub(self.turns.available_permits());
        let taken = self.places.saturating_sub(self.queue_slots.available_permits());
        HashFigures {
            running,
            waiting: taken.saturating_sub(running),
            refused: self.refused.load(Ordering::Relaxed),
        }
    }

    /// Runs a hash on the blocking pool when its turn comes. One that has begun keeps its turn to its end, whether
    /// or not anybody waits for it.
    ///
    /// # Errors
    /// [`KeystoreError::Busy`] if too many wait, or the turn does not come in time.
    pub async fn run<T: Send + 'static>(
        &self,
        hash: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, KeystoreError> {
        let place = Arc::clone(&self.queue_slots).try_acquire_owned();
        let place = place.map_err(|_| self.busy())?;
        let turn = Arc::clone(&self.turns).acquire_owned();
        let Ok(Ok(turn)) = tokio::time::timeout(self.max_wait, turn).await else {
            return Err(self.busy());
        };
        let hash = move || {
            let _held = (place, turn);
            hash()
        };
        tokio::task::spawn_blocking(hash).await.map_err(|_| KeystoreError::Busy)
    }

    fn busy(&self) -> KeystoreError {
        self.refused.fetch_add(1, Ordering::Relaxed);
        KeystoreError::Busy
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn a_full_queue_refuses_hashes() {
        let limits = HashLimits { at_once: 1, queue: 1, max_wait: Duration::from_secs(20) };
        let hasher = Hasher::new(limits);
        let (release, hold) = std::sync::mpsc::channel::<()>();
        let first = hasher.run(move || hold.recv().is_ok());
        let second = hasher.run(|| true);
        let third = async {
            assert_eq!(hasher.figures(), HashFigures { running: 1, waiting: 1, refused: 0 });
            let refused = hasher.run(|| true).await;
            release.send(()).unwrap();
            refused
        };
        let (first, second, third) = tokio::join!(first, second, third);
        assert!(first.unwrap() && second.unwrap());
        assert!(matches!(third, Err(KeystoreError::Busy)));
        assert_eq!(hasher.figures(), HashFigures { running: 0, waiting: 0, refused: 1 });
    }

    #[tokio::test]
    async fn an_abandoned_hash_runs_to_its_end() {
        let limits = HashLimits { at_once: 1, queue: 1, max_wait: Duration::from_secs(20) };
        let hasher = Hasher::new(limits);
        let (release, hold) = std::sync::mpsc::channel::<()>();
        let left = hasher.run(move || hold.recv().is_ok()).now_or_never();
        assert!(left.is_none(), "it has begun");
        let mut second = Box::pin(hasher.run(|| true));
        assert!((&mut second).now_or_never().is_none());
        assert_eq!(hasher.turns.available_permits(), 0);
        assert!(matches!(hasher.run(|| true).await, Err(KeystoreError::Busy)));
        release.send(()).unwrap();
        assert!(second.await.unwrap());
    }

    #[tokio::test]
    async fn extreme_limits_work() {
        for (at_once, queue) in [(0, 0), (usize::MAX, usize::MAX)] {
            let limits = HashLimits { at_once, queue, max_wait: Duration::from_secs(20) };
            assert!(Hasher::new(limits).run(|| true).await.unwrap());
        }
    }

    #[tokio::test]
    async fn waits_time_out() {
        let limits = HashLimits { at_once: 1, queue: 1, max_wait: Duration::ZERO };
        let hasher = Hasher::new(limits);
        let _turn = hasher.turns.acquire().await.unwrap();
        assert!(matches!(hasher.run(|| true).await, Err(KeystoreError::Busy)));
        assert_eq!(hasher.figures(), HashFigures { running: 1, waiting: 0, refused: 1 });
    }
}
