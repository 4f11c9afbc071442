//! Queues that run one call of a user at a time.

use std::collections::HashMap;
use std::sync::Arc;

use esker_primitives::sync::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::KeystoreError;

/// Calls of one user that wait or run; more are refused at once.
pub const MAX_CALLS_PER_USER: usize = 1024;

/// Queues by user name: methods that build transactions for a user run one after another, in the order of arrival.
///
/// There is an entry only while a call of the user waits or runs, so the connections bound their number.
#[derive(Debug)]
pub struct UserQueues {
    queues: Arc<Mutex<HashMap<String, Queue>>>,
    max_calls: usize,
}

#[derive(Debug)]
struct Queue {
    semaphore: Arc<Semaphore>,
    calls: usize,
}

/// The permit to run a call; the user's next call runs when it is dropped.
#[derive(Debug)]
pub struct UserPermit {
    // Dropped in this order: the entry of the user goes last.
    _permit: OwnedSemaphorePermit,
    _entry: QueueEntry,
}

/// A call that waits or runs.
#[derive(Debug)]
struct QueueEntry {
    queues: Arc<Mutex<HashMap<String, Queue>>>,
    user: String,
}

impl Default for UserQueues {
    fn default() -> Self {
        Self::new(MAX_CALLS_PER_USER)
    }
}

impl UserQueues {
    /// Queues for `max_calls` calls of each user, at least one.
    #[must_use]
    pub fn new(max_calls: usize) -> Self {
        let queues = Arc::new(Mutex::new_named("keystore.user_queues", HashMap::new()));
        Self { queues, max_calls: max_calls.max(1) }
    }

    /// Waits until no earlier call of the user runs.
    ///
    /// # Errors
    /// [`KeystoreError::TooManyCalls`] if the user's queue is full.
    pub async fn acquire(&self, user: &str) -> Result<UserPermit, KeystoreError> {
        let (semaphore, entry) = self.enter(user)?;
        // The semaphore is fair, and is never closed.
        let permit = semaphore.acquire_owned().await.map_err(|_| KeystoreError::Busy)?;
        Ok(UserPermit { _permit: permit, _entry: entry })
    }

    fn enter(&self, user: &str) -> Result<(Arc<Semaphore>, QueueEntry), KeystoreError> {
        let mut queues = self.queues.lock();
        let queue = queues
            .entry(user.to_owned())
            .or_insert_with(|| Queue { semaphore: Arc::new(Semaphore::new(1)), calls: 0 });
        if queue.calls >= self.max_calls {
            let (name, max) = (user.to_owned(), self.max_calls);
            return Err(KeystoreError::TooManyCalls { name, max });
        }
        queue.calls += 1;
        let entry = QueueEntry { queues: Arc::clone(&self.queues), user: user.to_owned() };
        Ok((Arc::clone(&queue.semaphore), entry))
    }
}

impl Drop for QueueEntry {
    fn drop(&mut self) {
        let mut queues = self.queues.lock();
        if let Some(queue) = queues.get_mut(&self.user) {
            queue.calls -= 1;
            if queue.calls == 0 {
                queues.remove(&self.user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn calls_of_a_user_run_in_the_order_of_arrival() {
        let user_queues = UserQueues::default();
        let first = user_queues.acquire("alice").await.unwrap();
        let mut second = Box::pin(user_queues.acquire("alice"));
        let mut third = Box::pin(user_queues.acquire("alice"));
        assert!((&mut second).now_or_never().is_none());
        assert!((&mut third).now_or_never().is_none());
        // Another user does not wait.
        assert!(user_queues.acquire("bob").now_or_never().unwrap().is_ok());
        drop(first);
        assert!((&mut third).now_or_never().is_none(), "the second call comes first");
        let second = second.now_or_never().unwrap().unwrap();
        // A call whose client has left holds up nobody.
        drop(third);
        drop(second);
        assert!(user_queues.acquire("alice").now_or_never().unwrap().is_ok());
        assert!(user_queues.queues.lock().is_empty());
    }

    #[tokio::test]
    async fn a_full_queue_refuses() {
        let user_queues = UserQueues::new(2);
        let first = user_queues.acquire("alice").await.unwrap();
        let mut second = Box::pin(user_queues.acquire("alice"));
        assert!((&mut second).now_or_never().is_none());
        let refused = user_queues.acquire("alice").await.unwrap_err().to_string();
        assert_eq!(refused, "too many calls of user \"alice\" are waiting: at most 2 at a time");
        assert!(user_queues.acquire("bob").await.is_ok());
        drop(first);
        drop(second);
        assert!(user_queues.acquire("alice").await.is_ok());
    }
}
