//! Reads that wait for a place.

use std::collections::VecDeque;

use esker_primitives::sync::Mutex;

use super::flights::Flight;

#[derive(Debug, Default)]
pub(super) struct Queue(pub(super) Mutex<QueueState>);

#[derive(Debug, Default)]
pub(super) struct QueueState {
    pub(super) waiting: VecDeque<Flight>,
    /// Requests that are being made.
    pub(super) running: usize,
}

impl QueueState {
    /// The next reads for one request, of so many parts at most, or one read that is larger.
    pub(super) fn take(&mut self, max: usize) -> Vec<Flight> {
        let mut taken: Vec<Flight> = self.waiting.pop_front().into_iter().collect();
        let mut parts = taken.first().map_or(0, |flight| flight.wants.len());
        while let Some(next) = self.waiting.front() {
            parts += next.wants.len();
            if parts > max {
                break;
            }
            taken.extend(self.waiting.pop_front());
        }
        taken
    }
}
