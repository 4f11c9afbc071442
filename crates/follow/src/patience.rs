//! The time that a source may take. Only requested data counts, not any bytes that arrive.

use std::time::Duration;

/// The time that this node has waited for data of a source. Time in which it does not read does not count.
#[derive(Debug)]
pub(crate) struct Patience {
    limit: Duration,
    /// Bytes a second that extend the limit.
    rate: u64,
    waited: Duration,
    bytes: u64,
}

impl Patience {
    /// Allows `limit`, plus the time that the bytes received so far take at `rate` bytes a second.
    pub(crate) fn new(limit: Duration, rate: u64) -> Self {
        Self { limit, rate: rate.max(1), waited: Duration::ZERO, bytes: 0 }
    }

    /// The data has arrived, or is not needed any more.
    pub(crate) fn reset(&mut self) {
        (self.waited, self.bytes) = (Duration::ZERO, 0);
    }

    /// The bytes that arrived belong to another record.
    pub(crate) fn forget_bytes(&mut self) {
        self.bytes = 0;
    }

    /// The node has waited, and a part of the data has arrived.
    pub(crate) fn add(&mut self, waited: Duration, bytes: usize) {
        self.waited = self.waited.saturating_add(waited);
        self.bytes = self.bytes.saturating_add(bytes as u64);
    }

    /// This many requested bytes have arrived. They give back the time that they take at the rate.
    pub(crate) fn credit(&mut self, bytes: usize) {
        let ms = (bytes as u64).saturating_mul(1000) / self.rate;
        self.waited = self.waited.saturating_sub(Duration::from_millis(ms));
    }

    /// The remaining time.
    pub(crate) fn left(&self) -> Duration {
        let ms = self.bytes.saturating_mul(1000) / self.rate;
        let allowed = self.limit.saturating_add(Duration::from_millis(ms));
        allowed.saturating_sub(self.waited)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    fn left_s(patience: &Patience) -> u64 {
        patience.left().as_secs()
    }

    #[test]
    fn it_ends_unless_what_is_waited_for_arrives_fast_enough() {
        let mut patience = Patience::new(LIMIT, 1000);
        // One byte in five seconds.
        patience.add(Duration::from_secs(5), 1);
        assert_eq!(left_s(&patience), 5);
        patience.add(Duration::from_secs(5), 1);
        assert_eq!(left_s(&patience), 0);
        // A long record, at the rate and above it.
        patience.reset();
        for _ in 0..100 {
            patience.add(Duration::from_secs(5), 5000);
            assert_eq!(left_s(&patience), 10);
        }
        patience.forget_bytes();
        assert_eq!(left_s(&patience), 0);
    }

    #[test]
    fn what_comes_makes_up_for_the_time_before_it_and_for_none_after() {
        let mut patience = Patience::new(LIMIT, 1000);
        patience.credit(1_000_000);
        patience.add(Duration::from_secs(8), 0);
        assert_eq!(left_s(&patience), 2);
        patience.credit(3000);
        assert_eq!(left_s(&patience), 5);
        patience.credit(100_000);
        assert_eq!(left_s(&patience), 10);
        patience.add(Duration::from_secs(11), 0);
        assert_eq!(left_s(&patience), 0);
    }
}
