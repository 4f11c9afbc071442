//! The number of requests in handlers.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::metrics::HttpMetrics;

/// Limits the requests in handlers.
#[derive(Clone, Debug)]
pub(super) struct Handlers {
    places: Arc<Semaphore>,
    metrics: Arc<dyn HttpMetrics>,
}

/// A request in a handler; ends when dropped.
#[derive(Debug)]
pub(super) struct InFlight {
    _place: OwnedSemaphorePermit,
    metrics: Arc<dyn HttpMetrics>,
}

impl Handlers {
    /// At most `most` at a time; `metrics` reports the number.
    pub(super) fn new(most: usize, metrics: Arc<dyn HttpMetrics>) -> Self {
        Self { places: Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS))), metrics }
    }

    /// `None` at the limit.
    pub(super) fn try_start(&self) -> Option<InFlight> {
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        Some(self.started(place))
    }

    /// Waits while the limit is reached.
    pub(super) async fn start(&self) -> InFlight {
        let place = Arc::clone(&self.places).acquire_owned().await;
        self.started(place.expect("the semaphore is never closed"))
    }

    fn started(&self, place: OwnedSemaphorePermit) -> InFlight {
        self.metrics.in_flight(1);
        InFlight { _place: place, metrics: Arc::clone(&self.metrics) }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.metrics.in_flight(-1);
    }
}
