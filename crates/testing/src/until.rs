//! Waiting for a condition of another process.

use std::time::{Duration, Instant};

/// Time that a condition may take before the test fails; generous, since machines under load are slow.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// Between two questions.
pub(crate) const PAUSE: Duration = Duration::from_millis(5);

/// Asks again and again until there is an answer.
///
/// # Panics
/// When there was none within [`PATIENCE`].
pub fn until<T>(what: &str, ask: impl FnMut() -> Option<T>) -> T {
    until_within(what, PATIENCE, ask)
}

/// Like [`until`], for a condition that takes longer.
///
/// # Panics
/// When there was none within `patience`.
pub fn until_within<T>(what: &str, patience: Duration, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + patience;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(
            Instant::now() < deadline,
            "timed out after {} s: waiting until {what}",
            patience.as_secs_f64()
        );
        std::thread::sleep(PAUSE);
    }
}
