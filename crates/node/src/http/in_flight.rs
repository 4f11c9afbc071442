//! How many requests are in handlers.

use std::sync::Arc;

use prometheus::IntGauge;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bounds the requests in handlers.
#[derive(Clone, Debug)]
pub(super) struct Handlers {
    places: Arc<Semaphore>,
    gauge: IntGauge,
}

/// A request in a handler; ends when dropped.
#[derive(Debug)]
pub(super) struct InFlight {
    _place: OwnedSemaphorePermit,
    gauge: IntGauge,
}

impl Handlers {
    /// At most `most` at once, which `gauge` shows.
    pub(super) fn new(most: usize, gauge: IntGauge) -> Self {
        Self { places: Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS))), gauge }
    }

    /// `None` if there are as many as there may be.
    pub(super) fn try_start(&self) -> Option<InFlight> {
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        Some(self.started(place))
    }

    /// Waits until there may be one more.
    pub(super) async fn start(&self) -> InFlight {
        let place = Arc::clone(&self.places).acquire_owned().await;
        self.started(place.expect("the semaphore is never closed"))
    }

    fn started(&self, place: OwnedSemaphorePermit) -> InFlight {
        self.gauge.inc();
        InFlight { _place: place, gauge: self.gauge.clone() }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.gauge.dec();
    }
}
