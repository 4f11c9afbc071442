//! The newest lines of the log in memory, for `admin.getLogs`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use esker_primitives::sync::Mutex;
use esker_settings::logging::LogLevel;
use tracing::Level;

/// Most lines that are kept.
pub const MAX_LINES: usize = 1000;
/// Most bytes of the texts of all lines that are kept.
const MAX_BYTES: usize = 1024 * 1024;
/// Most bytes of a line's text. A longer one is cut.
const MAX_LINE_BYTES: usize = 4096;
/// What stands for the rest of a text that was cut.
const CUT: &str = "...";

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TailLine {
    /// Grows from line to line. The first one of a process is its time in microseconds since 1970, so numbers of an earlier
    /// process are lower.
    pub number: u64,
    /// Unix time.
    pub at: Duration,
    /// Its level.
    pub level: Level,
    /// The logger: `main`, or the alias of a chain.
    pub logger: String,
    /// The module of the code that logged it: `esker_evm::pool`.
    pub module: &'static str,
    /// The message with its fields, on one line.
    pub text: String,
}

/// The lines that a caller wants.
#[derive(Clone, Debug)]
pub struct TailQuery {
    /// The least severe level.
    pub level: LogLevel,
    /// Only lines of this logger; `None` for all.
    pub logger: Option<String>,
    /// Only lines with a greater number. `None` for the newest ones.
    pub after: Option<u64>,
    /// Most lines.
    pub limit: usize,
}

/// An answer to a query.
#[derive(Clone, Debug)]
pub struct TailPage {
    /// The lines, the oldest first.
    pub lines: Vec<Arc<TailLine>>,
    /// The number after which the next query continues.
    pub next: u64,
    /// Whether lines after the number of the query are not kept any more.
    pub missed: bool,
}

/// The newest lines. A line costs one text and a short lock.
#[derive(Debug, Default)]
pub struct LogTail(Mutex<Ring>);

#[derive(Debug, Default)]
struct Ring {
    lines: VecDeque<Arc<TailLine>>,
    bytes: usize,
    last: u64,
    /// The number of the newest line that was dropped.
    dropped: u64,
}

impl LogTail {
    /// Adds a line; its number is set here. Drops the oldest lines that exceed the bounds.
    pub(super) fn push(&self, mut line: TailLine) {
        cut(&mut line.text);
        let mut ring = self.0.lock();
        let first = u64::try_from(line.at.as_micros()).unwrap_or(u64::MAX);
        line.number = if ring.last == 0 { first } else { ring.last.saturating_add(1) };
        ring.last = line.number;
        ring.bytes += line.text.len();
        ring.lines.push_back(Arc::new(line));
        while ring.lines.len() > MAX_LINES || ring.bytes > MAX_BYTES {
            let Some(oldest) = ring.lines.pop_front() else { break };
            ring.bytes -= oldest.text.len();
            ring.dropped = oldest.number;
        }
    }

    /// The lines after a number, from the oldest on; without a number the newest ones.
    pub fn page(&self, query: &TailQuery) -> TailPage {
        let ring = self.0.lock();
        let after = query.after.unwrap_or(0);
        let wanted = |line: &&Arc<TailLine>| {
            line.number > after
                && query.level.includes(&line.level)
                && query.logger.as_ref().is_none_or(|logger| *logger == line.logger)
        };
        let lines: Vec<_> = match query.after {
            Some(_) => ring.lines.iter().filter(wanted).take(query.limit).cloned().collect(),
            None => {
                let mut lines: Vec<_> =
                    ring.lines.iter().rev().filter(wanted).take(query.limit).cloned().collect();
                lines.reverse();
                lines
            }
        };
        let is_whole = query.after.is_none() || lines.len() < query.limit;
        let last = lines.last().map_or(ring.last, |line| line.number);
        let missed = query.after.is_some_and(|after| after < ring.dropped);
        TailPage { lines, next: if is_whole { ring.last } else { last }, missed }
    }
}

/// Cuts a text to [`MAX_LINE_BYTES`], between two characters.
fn cut(text: &mut String) {
    if text.len() > MAX_LINE_BYTES {
        text.truncate(text.floor_char_boundary(MAX_LINE_BYTES - CUT.len()));
        text.push_str(CUT);
    }
    text.shrink_to_fit();
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: TailQuery =
        TailQuery { level: LogLevel::Verbo, logger: None, after: None, limit: MAX_LINES };

    fn line(level: Level, logger: &str, text: &str) -> TailLine {
        let at = Duration::from_micros(5000);
        TailLine {
            number: 0,
            at,
            level,
            logger: logger.to_owned(),
            module: "esker_node",
            text: text.to_owned(),
        }
    }

    fn texts(page: &TailPage) -> Vec<&str> {
        page.lines.iter().map(|line| line.text.as_str()).collect()
    }

    #[test]
    fn lines_by_level_logger_and_number() {
        let tail = LogTail::default();
        let empty = tail.page(&TailQuery { after: Some(0), ..ALL });
        assert_eq!((empty.lines.len(), empty.next, empty.missed), (0, 0, false));
        for (level, logger, text) in [
            (Level::INFO, "main", "a"),
            (Level::DEBUG, "X", "b"),
            (Level::ERROR, "X", "c"),
            (Level::WARN, "main", "d"),
        ] {
            tail.push(line(level, logger, text));
        }
        let page = |query: &TailQuery| {
            let page = tail.page(query);
            (texts(&page).join(""), page.next, page.missed)
        };
        assert_eq!(page(&ALL), ("abcd".to_owned(), 5003, false));
        let warnings = TailQuery { level: LogLevel::Warn, ..ALL };
        assert_eq!(page(&warnings), ("cd".to_owned(), 5003, false));
        let off = TailQuery { level: LogLevel::Off, ..ALL };
        assert_eq!(page(&off), (String::new(), 5003, false));
        let x = TailQuery { logger: Some("X".to_owned()), ..ALL };
        assert_eq!(page(&x), ("bc".to_owned(), 5003, false));
        // The newest ones, and a page after a number.
        assert_eq!(page(&TailQuery { limit: 2, ..ALL }), ("cd".to_owned(), 5003, false));
        let first = TailQuery { after: Some(5000), limit: 2, ..ALL };
        assert_eq!(page(&first), ("bc".to_owned(), 5002, false));
        assert_eq!(page(&TailQuery { after: Some(5002), ..first }), ("d".to_owned(), 5003, false));
        for last in [5003, u64::MAX] {
            let none = TailQuery { after: Some(last), ..ALL };
            assert_eq!(page(&none), (String::new(), 5003, false), "{last}");
        }
    }

    #[test]
    fn a_reader_learns_that_it_missed_lines() {
        let tail = LogTail::default();
        for number in 0..MAX_LINES + 3 {
            tail.push(line(Level::INFO, "main", &number.to_string()));
        }
        let page = |after| tail.page(&TailQuery { after: Some(after), ..ALL });
        assert_eq!(tail.page(&ALL).lines.len(), MAX_LINES);
        assert_eq!(texts(&page(0))[0], "3");
        // Number 5002 was dropped.
        for (after, missed) in [(0, true), (5001, true), (5002, false), (5010, false)] {
            assert_eq!(page(after).missed, missed, "{after}");
        }
        assert!(!tail.page(&ALL).missed, "who asks for the newest lines misses none");
    }

    #[test]
    fn long_lines_are_cut_and_all_of_them_bounded() {
        let tail = LogTail::default();
        let long = "ä".repeat(100_000);
        for _ in 0..MAX_LINES {
            tail.push(line(Level::INFO, "main", &long));
        }
        let page = tail.page(&ALL);
        let bytes: usize = page.lines.iter().map(|line| line.text.len()).sum();
        assert!((MAX_BYTES - MAX_LINE_BYTES..=MAX_BYTES).contains(&bytes), "{bytes}");
        for line in &page.lines {
            assert!(line.text.ends_with("ä...") && line.text.len() <= MAX_LINE_BYTES);
            assert!(line.text.capacity() <= MAX_LINE_BYTES);
        }
    }
}
