//! Progress of long work, on one line of the terminal.

use std::fmt;
use std::io::{self, IsTerminal as _, Write};
use std::sync::Arc;

use esker_primitives::clock::Clock;

/// Least time between two changes of the line.
const PAUSE_MS: u64 = 200;

/// A line that is overwritten; no output if standard error is not a terminal.
pub struct Progress {
    out: Option<Box<dyn Write + Send>>,
    clock: Arc<dyn Clock>,
    next_ms: u64,
    is_shown: bool,
}

impl Progress {
    /// Writes to standard error, if that is a terminal.
    pub fn on_terminal(clock: Arc<dyn Clock>) -> Self {
        let out = io::stderr();
        let out = out.is_terminal().then(|| Box::new(out) as Box<dyn Write + Send>);
        Self::to(out, clock)
    }

    fn to(out: Option<Box<dyn Write + Send>>, clock: Arc<dyn Clock>) -> Self {
        let next_ms = clock.now_ms().saturating_add(PAUSE_MS);
        Self { out, clock, next_ms, is_shown: false }
    }

    /// Shows a text, unless the last one is too recent.
    pub fn show(&mut self, text: impl FnOnce() -> String) {
        let Some(out) = &mut self.out else { return };
        let now_ms = self.clock.now_ms();
        // Progress continues after a clock was set back.
        if now_ms < self.next_ms && self.next_ms - now_ms <= PAUSE_MS {
            return;
        }
        self.next_ms = now_ms.saturating_add(PAUSE_MS);
        self.is_shown = true;
        // A closed terminal does not stop the work.
        let _closed = write!(out, "\r\x1b[K{}", text()).and_then(|()| out.flush());
    }

    /// Removes the line, so that another text can be printed.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.is_shown)
            && let Some(out) = &mut self.out
        {
            let _closed = write!(out, "\r\x1b[K").and_then(|()| out.flush());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Progress(on a terminal: {})", self.out.is_some())
    }
}

#[cfg(test)]
mod tests {
    use esker_primitives::sync::Mutex;

    use esker_primitives::clock::ManualClock;

    use super::*;

    #[derive(Clone)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn progress_lines_are_sparse_and_cleared() {
        let (clock, shown) =
            (ManualClock::new(1_000), Shared(Arc::new(Mutex::new_named("shown", Vec::new()))));
        let mut progress = Progress::to(Some(Box::new(shown.clone())), Arc::new(clock.clone()));
        let text = || String::from_utf8(shown.0.lock().clone()).unwrap();
        progress.show(|| "at once".into());
        assert_eq!(text(), "", "short work shows nothing");
        clock.advance(PAUSE_MS);
        progress.show(|| "one".into());
        progress.show(|| "too soon".into());
        assert_eq!(text(), "\r\x1b[Kone");
        clock.set(0);
        progress.show(|| "two".into());
        drop(progress);
        assert_eq!(text(), "\r\x1b[Kone\r\x1b[Ktwo\r\x1b[K");
    }

    #[test]
    fn nothing_without_a_terminal() {
        let clock = ManualClock::new(1_000);
        let mut progress = Progress::to(None, Arc::new(clock.clone()));
        clock.advance(PAUSE_MS);
        progress.show(|| panic!("nobody sees it"));
        progress.clear();
    }
}
