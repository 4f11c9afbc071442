//! Decides which events of a connection to a source are logged.

/// Least time between two warnings about one source, ms.
const WARN_INTERVAL_MS: u64 = 60_000;

/// The log lines about one source.
#[derive(Clone, Debug, Default)]
pub(super) struct SourceLog {
    /// Whether the last line says that the source is followed.
    is_followed: bool,
    /// The error of the last warning, unless the source has served a good bundle since.
    error: Option<String>,
    /// Time of the last warning, Unix ms.
    warned_ms: Option<u64>,
}

impl SourceLog {
    /// The source is connected. Returns whether to log that.
    pub(super) fn connected(&mut self) -> bool {
        !std::mem::replace(&mut self.is_followed, true)
    }

    /// Bundles of the source became final.
    pub(super) fn advanced(&mut self) {
        self.error = None;
    }

    /// The connection ended, or could not be made. Returns whether to log the error: if it is new, once in
    /// [`WARN_INTERVAL_MS`].
    pub(super) fn lost(&mut self, error: &str, now_ms: u64) -> bool {
        let is_new = self.error.as_deref() != Some(error);
        let is_due = self
            .warned_ms
            .is_none_or(|at| now_ms < at || now_ms.saturating_sub(at) >= WARN_INTERVAL_MS);
        if is_new && is_due {
            let (error, warned_ms) = (Some(error.to_owned()), Some(now_ms));
            *self = Self { is_followed: false, error, warned_ms };
        }
        is_new && is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATER: u64 = WARN_INTERVAL_MS;

    #[test]
    fn an_error_is_logged_once() {
        let mut log = SourceLog::default();
        assert!(log.lost("refused", 0));
        assert!(!log.lost("refused", 5000));
        assert!(!log.lost("refused", LATER));
        // A source that connects and fails again in the same way: one line for the connection.
        assert!(log.connected());
        assert!(!log.lost("refused", LATER));
        assert!(!log.connected());
    }

    #[test]
    fn other_errors_are_logged_at_most_once_a_minute() {
        let mut log = SourceLog::default();
        assert!(log.lost("refused", 0));
        assert!(!log.lost("cut", 1));
        assert!(log.lost("cut", LATER));
        assert!(!log.lost("refused", LATER + 1));
        // The clock was set back.
        assert!(log.lost("refused", 5));
    }

    #[test]
    fn a_source_that_served_bundles_is_missed_again() {
        let mut log = SourceLog::default();
        assert!(log.connected());
        assert!(log.lost("cut", 0));
        assert!(log.connected());
        log.advanced();
        assert!(!log.lost("cut", 10));
        assert!(!log.connected());
        assert!(log.lost("cut", LATER));
        assert!(log.connected());
    }
}
