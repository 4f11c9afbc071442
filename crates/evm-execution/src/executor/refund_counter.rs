//! The parts of geth's refund counter that are not in the running frame, for tracers.

/// The parts of the counter that are not in the running frame.
#[derive(Clone, Debug, Default)]
pub(super) struct RefundCounter {
    /// Refund for authorizations of accounts that existed.
    authorizations: i64,
    /// For each frame that waits for a call, outermost first: the counter with its refund, without those further in.
    waiting: Vec<i64>,
}

impl RefundCounter {
    /// Begins a transaction.
    pub(super) fn begin(&mut self, authorizations: u64) {
        self.authorizations = i64::try_from(authorizations).unwrap_or(i64::MAX);
        self.waiting.clear();
    }

    /// Called before the frame with this index runs.
    pub(super) fn frame_runs(&mut self, index: usize) {
        self.waiting.truncate(index);
    }

    /// Called after the running frame has called.
    pub(super) fn frame_calls(&mut self, refunded: i64) {
        self.waiting.push(self.outside() + refunded);
    }

    /// The counter without the running frame.
    pub(super) fn outside(&self) -> i64 {
        self.waiting.last().copied().unwrap_or(self.authorizations)
    }
}
