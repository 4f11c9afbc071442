//! The clock of the chains under the controls. Callers that change it wait for their turn ([`Controls::turn`]), so
//! that it does not change between the blocks of an earlier request.

use esker_primitives::Clock as _;

use super::{ControlError, Controls, MAX_TIME_S};

impl Controls {
    /// Moves the clock forward, from `last_s` if it is not there yet. That is the time of the last block of any chain of the
    /// node: blocks in quick succession are ahead of the clock where each needs a later second. Returns how far the clock
    /// is ahead of the node's own, s.
    ///
    /// # Errors
    /// The time is too late.
    pub fn increase_time(&self, seconds: u64, last_s: u64) -> Result<i64, ControlError> {
        let from_s = self.clock.now_s().max(last_s);
        self.check_time(u128::from(from_s) + u128::from(seconds))?;
        self.clock.advance_to(last_s.saturating_mul(1000));
        self.clock.advance(seconds.saturating_mul(1000));
        Ok(self.offset_s())
    }

    /// Sets the clock, which continues from there. `last_s` is the time of the last block of any chain of the node.
    ///
    /// # Errors
    /// The time is too late, or before `last_s`.
    pub fn set_time(&self, time_s: u64, last_s: u64) -> Result<(), ControlError> {
        self.check_between(time_s, last_s)?;
        self.clock.set(time_s.saturating_mul(1000));
        self.work.notify_one();
        Ok(())
    }

    /// Stops the clock at the time of the next block. After that block the clock continues from there.
    ///
    /// # Errors
    /// As [`Self::set_time`].
    pub fn set_next_time(&self, time_s: u64, last_s: u64) -> Result<(), ControlError> {
        self.check_between(time_s, last_s)?;
        self.clock.stop_at(time_s.saturating_mul(1000));
        self.work.notify_one();
        Ok(())
    }

    /// Makes each block, from the next one on, this much later than its parent. The parent of the next block has the
    /// time `parent_s`.
    ///
    /// # Errors
    /// The next block's time would be too late or before `last_s`.
    pub fn set_timestamp_interval(
        &self,
        interval_s: u64,
        parent_s: u64,
        last_s: u64,
    ) -> Result<(), ControlError> {
        let next_s = u128::from(parent_s) + u128::from(interval_s);
        self.check_time(next_s)?;
        let mut state = self.state.lock();
        state.settings.timestamp_interval_s = Some(interval_s);
        let next_s = parent_s.saturating_add(interval_s).max(last_s);
        self.clock.stop_at(next_s.saturating_mul(1000));
        Ok(())
    }

    /// Ends [`Self::set_timestamp_interval`]; false if there was no interval.
    pub fn remove_timestamp_interval(&self, last_s: u64) -> bool {
        let mut state = self.state.lock();
        let had = state.settings.timestamp_interval_s.take().is_some();
        if had {
            self.clock.run();
            self.clock.advance_to(last_s.saturating_mul(1000));
            self.work.notify_one();
        }
        had
    }

    /// Replaces the distance of [`Self::set_timestamp_interval`]; without one, accepted blocks do not set the clock back. The
    /// clock stays. Returns the previous one.
    pub(super) fn replace_timestamp_interval(&self, interval_s: Option<u64>) -> Option<u64> {
        std::mem::replace(&mut self.state.lock().settings.timestamp_interval_s, interval_s)
    }

    fn offset_s(&self) -> i64 {
        i64::try_from(self.clock.offset_ms() / 1000).unwrap_or(i64::MAX)
    }

    pub(super) fn check_time(&self, time_s: u128) -> Result<(), ControlError> {
        match time_s > u128::from(MAX_TIME_S) {
            true => Err(ControlError::TimeTooLate(time_s)),
            false => Ok(()),
        }
    }

    fn check_between(&self, time_s: u64, last_s: u64) -> Result<(), ControlError> {
        self.check_time(time_s.into())?;
        match time_s < last_s {
            true => Err(ControlError::TimeBefore { time: time_s, last: last_s }),
            false => Ok(()),
        }
    }
}
