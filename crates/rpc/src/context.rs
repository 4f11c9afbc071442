//! What surrounds one call: the client's presence and the pool for long work.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Calls of blocking handlers that run at once over one [`BlockingPool`], unless told otherwise.
pub const DEFAULT_BLOCKING_CALLS: usize = 16;

/// What a handler may ask about its call besides the arguments.
#[derive(Debug, Clone, Default)]
pub struct CallContext {
    cancelled: Arc<AtomicBool>,
}

impl CallContext {
    /// A call whose client is there.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether nobody waits for the answer any more. Long work asks between its steps and stops.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Tells the handler that nobody waits; a reply is still taken when it comes.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }
}

/// Cancels the call when dropped before [`CancelOnDrop::disarm`].
pub(crate) struct CancelOnDrop(Option<CallContext>);

impl CancelOnDrop {
    pub(crate) fn new(context: &CallContext) -> Self {
        Self(Some(context.clone()))
    }

    pub(crate) fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(context) = &self.0 {
            context.cancel();
        }
    }
}

/// Bounds how many blocking handlers run at once; calls above that wait their turn.
///
/// Cloning shares the bound. Work that was started keeps its place until it really ends, also when
/// its caller has gone.
#[derive(Debug, Clone)]
pub struct BlockingPool(Arc<Semaphore>);

impl BlockingPool {
    /// A pool of `calls` places, at least one.
    #[must_use]
    pub fn new(calls: usize) -> Self {
        Self(Arc::new(Semaphore::new(calls.clamp(1, Semaphore::MAX_PERMITS))))
    }

    /// Waits for a place.
    pub(crate) async fn place(&self) -> OwnedSemaphorePermit {
        Arc::clone(&self.0).acquire_owned().await.expect("the semaphore is never closed")
    }
}

impl Default for BlockingPool {
    fn default() -> Self {
        Self::new(DEFAULT_BLOCKING_CALLS)
    }
}
