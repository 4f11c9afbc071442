//! Formats events and writes them to the log file and the terminal.

use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use esker_primitives::is_invisible;
use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer};

use super::files::LogFiles;
use super::levels::{LogLevels, MAIN};
use super::tail::{LogTail, TailLine};
use crate::clock;

/// Field with the primary alias of the event's chain.
const CHAIN: &str = "chain";

/// Set on events that the terminal shows in another form.
const FILE_ONLY: &str = "file_only";

/// Prefix of the node's crates.
const OURS: &str = "esker";

/// The least severe level of other crates. Their warnings are about single connections (h2 has one for each client
/// that resets too many streams), so any client could fill the log with them.
const LIBRARIES: Level = Level::ERROR;

/// Prefix of the consensus library's crates. Their errors are details: its parts report each other's end when a
/// validator stops, and its writes fail while the disk is full. The engine itself logs the events that an operator
/// needs.
const CONSENSUS_LIBRARY: &str = "commonware";

/// The level at which an event is logged.
fn level_of(metadata: &Metadata<'_>) -> Level {
    match metadata.target().starts_with(CONSENSUS_LIBRARY) {
        true => Level::DEBUG,
        false => *metadata.level(),
    }
}

#[derive(Debug)]
pub(super) struct LogLayer {
    levels: LogLevels,
    json: bool,
    colours: bool,
    files: Option<Arc<LogFiles>>,
    tail: Option<Arc<LogTail>>,
}

impl LogLayer {
    pub(super) fn new(
        levels: LogLevels,
        (json, colours): (bool, bool),
        files: Option<Arc<LogFiles>>,
        tail: Option<Arc<LogTail>>,
    ) -> Self {
        Self { levels, json, colours, files, tail }
    }

    fn wants(&self, metadata: &Metadata<'_>) -> bool {
        let known = metadata.target().starts_with(OURS) || *metadata.level() <= LIBRARIES;
        metadata.is_event() && known && self.levels.most_verbose().includes(&level_of(metadata))
    }

    fn write(&self, metadata: &'static Metadata<'static>, line: &Line, at: Duration) {
        let level = level_of(metadata);
        let by_module = self.levels.of_module(metadata.file()).includes(&level);
        let logger = line.chain.as_deref().unwrap_or(MAIN);
        let (logger, levels) = match self.levels.get(logger) {
            Some(levels) => (logger, levels),
            // A chain without a logger.
            None => match self.levels.get(MAIN) {
                Some(levels) => (MAIN, levels),
                None => return,
            },
        };
        let render = |colours| match self.json {
            true => line.json(level, logger, at),
            false => line.text(level, logger, at, colours),
        };
        let is_filed = by_module || levels.file.includes(&level);
        let files = self.files.as_ref().filter(|_| is_filed);
        let is_shown = !line.is_file_only && (by_module || levels.display.includes(&level));
        if files.is_some() || is_shown {
            self.levels.count_line(level);
        }
        // Without a folder of files, the level of files is that of the lines in memory.
        if let Some(tail) = self.tail.as_ref().filter(|_| is_filed || is_shown) {
            tail.push(TailLine {
                number: 0,
                at,
                level,
                logger: logger.to_owned(),
                module: metadata.target(),
                text: line.plain(),
            });
        }
        if let Some(files) = files {
            files.write(logger, render(false).as_bytes(), at);
        }
        if is_shown {
            // If the terminal is closed, it can't show this error either.
            let _lost = std::io::stderr().lock().write_all(render(self.colours).as_bytes());
        }
    }
}

impl<S: Subscriber> Layer<S> for LogLayer {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.wants(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        self.wants(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        let shown = [Level::TRACE, Level::DEBUG, Level::INFO, Level::WARN, Level::ERROR];
        let most_verbose = self.levels.most_verbose();
        Some(
            shown
                .into_iter()
                .find(|level| most_verbose.includes(level))
                .map_or(LevelFilter::OFF, LevelFilter::from_level),
        )
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut line = Line::default();
        event.record(&mut line);
        self.write(event.metadata(), &line, clock::now());
    }
}

/// The content of an event.
#[derive(Default)]
struct Line {
    message: String,
    chain: Option<String>,
    is_file_only: bool,
    fields: Vec<(&'static str, Value)>,
}

impl Line {
    fn add(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("message", Value::String(text)) => self.message = text,
            (CHAIN, Value::String(name)) => self.chain = Some(name),
            (FILE_ONLY, Value::Bool(is_file_only)) => self.is_file_only = is_file_only,
            (name, value) => self.fields.push((name, value)),
        }
    }

    fn text(&self, level: Level, logger: &str, at: Duration, colours: bool) -> String {
        let (dim, colour, reset) = match (colours, level) {
            (false, _) => ("", "", ""),
            (true, Level::ERROR) => ("\x1b[2m", "\x1b[31m", "\x1b[0m"),
            (true, Level::WARN) => ("\x1b[2m", "\x1b[33m", "\x1b[0m"),
            (true, Level::INFO) => ("\x1b[2m", "\x1b[32m", "\x1b[0m"),
            (true, _) => ("\x1b[2m", "\x1b[34m", "\x1b[0m"),
        };
        let time = clock::rfc3339(at);
        let name = level_name(level);
        let mut out = format!("{dim}{time}{reset} {colour}{name:<5}{reset} [{logger}] ");
        self.push_content(&mut out, dim, reset);
        out.push('\n');
        out
    }

    /// The message and its fields on one line, without colours.
    fn plain(&self) -> String {
        let mut out = String::new();
        self.push_content(&mut out, "", "");
        out
    }

    fn push_content(&self, out: &mut String, dim: &str, reset: &str) {
        push_single_line(out, &self.message);
        for (name, value) in &self.fields {
            let text = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let plain = !text.is_empty()
                && text.chars().all(|c| c.is_ascii_graphic() && c != '"' && c != '=');
            // Writing to a String can't fail.
            let _ok = match plain {
                true => write!(out, " {dim}{name}={reset}{text}"),
                false => write!(out, " {dim}{name}={reset}{text:?}"),
            };
        }
    }

    fn json(&self, level: Level, logger: &str, at: Duration) -> String {
        let time = clock::rfc3339(at);
        let mut out = String::from("{");
        let head = [("time", time.as_str()), ("level", level_name(level)), ("logger", logger)];
        for (name, text) in head.into_iter().chain([("message", self.message.as_str())]) {
            push_member(&mut out, name, &text.into());
        }
        for (name, value) in &self.fields {
            if !["time", "level", "logger", "message"].contains(name) {
                push_member(&mut out, name, value);
            }
        }
        out.push_str("}\n");
        out
    }
}

/// Appends a member; keeps the order of an event's fields.
fn push_member(out: &mut String, name: &str, value: &Value) {
    if out.len() > 1 {
        out.push(',');
    }
    // Writing to a String can't fail.
    let _ok = write!(out, "{}:{value}", Value::from(name));
}

/// Keeps an event on one line, whatever text a client sent.
fn push_single_line(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            c if c.is_control() || is_invisible(c) => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
}

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, format!("{value:?}").into());
    }
}

/// The reference's name of the level.
pub(crate) fn level_name(level: Level) -> &'static str {
    match level {
        Level::ERROR => "ERROR",
        Level::WARN => "WARN",
        Level::INFO => "INFO",
        Level::DEBUG => "DEBUG",
        Level::TRACE => "VERBO",
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::OnceLock;

    use esker_settings::logging::{Levels, LogLevel, Rotation};
    use expect_test::expect;
    use tracing::Dispatch;
    use tracing_subscriber::layer::SubscriberExt;

    use super::super::LogFiles;
    use super::super::tail::TailQuery;
    use super::*;

    const QUIET: Levels = Levels { file: LogLevel::Info, display: LogLevel::Off };

    /// While a process has only one dispatcher, tracing uses the calling thread's for all threads: a test in another
    /// thread would silence this one.
    static SECOND: OnceLock<Dispatch> = OnceLock::new();

    fn run(json: bool, events: impl FnOnce(&LogLevels)) -> (String, String) {
        SECOND.get_or_init(|| Dispatch::new(tracing_subscriber::registry()));
        let dir = tempfile::tempdir().unwrap();
        let rotation = Rotation { max_bytes: 1 << 20, max_files: 1, interval: None, max_age: None };
        let levels = LogLevels::new(QUIET, [("X".to_owned(), QUIET)]);
        let files = LogFiles::new(dir.path().into(), rotation);
        let layer = LogLayer::new(levels.clone(), (json, false), Some(files.into()), None);
        let subscriber = tracing_subscriber::registry().with(layer);
        tracing::subscriber::with_default(subscriber, || events(&levels));
        let read = |name: &str| {
            let text = fs::read_to_string(dir.path().join(name)).unwrap_or_default();
            text.lines().map(|line| format!("{}\n", hide_time(line))).collect::<String>()
        };
        (read("main.log"), read("X.log"))
    }

    fn hide_time(line: &str) -> String {
        let at = line.find("20").expect("a line has its time");
        format!("{}TIME{}", &line[..at], &line[at + 24..])
    }

    fn some_events(_: &LogLevels) {
        tracing::info!("ready");
        tracing::info!(chain = "X", height = 7, id = %"2oYM", "accepted");
        tracing::warn!(chain = "unknown", text = "a \"b\"", "odd\nline");
        tracing::debug!(chain = "X", "not shown");
    }

    #[test]
    fn what_ends_the_node_is_in_the_main_file() {
        let error = std::io::Error::other("no room");
        let (main, x) = run(true, |_| super::super::log_fatal(&error));
        expect![[r#"
            {"time":"TIME","level":"ERROR","logger":"main","message":"the node ends because of an error","error":"no room"}
        "#]]
        .assert_eq(&main);
        assert_eq!(x, "");
    }

    #[test]
    fn events_go_to_their_chains_file() {
        let (main, x) = run(false, some_events);
        expect![[r#"
            TIME INFO  [main] ready
            TIME WARN  [main] odd\nline text="a \"b\""
        "#]]
        .assert_eq(&main);
        expect![[r#"
            TIME INFO  [X] accepted height=7 id=2oYM
        "#]]
        .assert_eq(&x);
    }

    #[test]
    fn lines_are_counted_also_where_no_file_takes_them() {
        let metrics = crate::metrics::Metrics::new();
        let (main, _) = run(false, |levels| {
            metrics.watch_log(levels.clone());
            some_events(levels);
        });
        let shown = |level: &str, lines: u64| {
            let line = format!("esker_log_lines_total{{level=\"{level}\"}} {lines}\n");
            assert!(metrics.render().contains(&line), "{line}");
        };
        assert_eq!(main.lines().count(), 2);
        shown("info", 2);
        shown("warn", 1);
        shown("debug", 0);
        shown("verbo", 0);

        // Nothing can be written below a file.
        let file = tempfile::NamedTempFile::new().unwrap();
        let rotation = Rotation { max_bytes: 1 << 20, max_files: 1, max_age: None, interval: None };
        let levels = LogLevels::new(QUIET, []);
        let files = LogFiles::new(file.path().join("logs"), rotation);
        let layer = LogLayer::new(levels.clone(), (false, false), Some(files.into()), None);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            tracing::error!("lost");
            levels.set(MAIN, Some(LogLevel::Off), None);
            tracing::error!("switched off");
        });
        assert_eq!(levels.lines()[0], ("error", 1));
    }

    #[test]
    fn json_lines() {
        let (main, x) = run(true, some_events);
        for line in main.lines().chain(x.lines()) {
            serde_json::from_str::<Value>(line).unwrap();
        }
        expect![[r#"
            {"time":"TIME","level":"INFO","logger":"X","message":"accepted","height":7,"id":"2oYM"}
        "#]]
        .assert_eq(&x);
    }

    #[test]
    fn libraries_log_errors_only() {
        let (main, _) = run(false, |levels| {
            levels.set("main", Some(LogLevel::Verbo), None);
            tracing::warn!(target: "h2::proto::streams", "locally-reset streams reached limit");
            tracing::error!(target: "h2::proto::streams", "broken");
            tracing::warn!(target: "esker_http::connections", "refused");
            tracing::warn!(target: "commonware_p2p::authenticated", "a detail of each connection");
            tracing::error!(target: "commonware_resolver::p2p::engine", "mailbox closed");
        });
        expect![[r#"
            TIME ERROR [main] broken
            TIME WARN  [main] refused
            TIME DEBUG [main] mailbox closed
        "#]]
        .assert_eq(&main);
        // A normal stop must not alert anybody.
        let (main, _) = run(false, |_| {
            tracing::error!(target: "commonware_resolver::p2p::engine", "mailbox closed");
        });
        assert_eq!(main, "");
    }

    #[test]
    fn levels_change_while_running() {
        let (main, x) = run(false, |levels| {
            levels.set("X", Some(LogLevel::Debug), None);
            tracing::debug!(chain = "X", "seen");
            tracing::debug!("main stays quiet");
            levels.set("X", Some(LogLevel::Off), None);
            tracing::error!(chain = "X", "not seen");
        });
        assert_eq!(main, "");
        expect![[r#"
            TIME DEBUG [X] seen
        "#]]
        .assert_eq(&x);
    }

    #[test]
    fn the_newest_lines_are_kept_by_the_levels_of_files_also_without_files() {
        SECOND.get_or_init(|| Dispatch::new(tracing_subscriber::registry()));
        let levels = LogLevels::new(QUIET, [("X".to_owned(), QUIET)]);
        let tail = Arc::new(LogTail::default());
        let layer = LogLayer::new(levels.clone(), (true, true), None, Some(Arc::clone(&tail)));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            some_events(&levels);
            levels.set("X", Some(LogLevel::Debug), None);
            tracing::debug!(chain = "X", "a detail");
            tracing::info!(text = "<b>\u{202e}\u{1b}[2J", "a\u{9b}b\u{202e}");
        });
        let query = TailQuery { level: LogLevel::Verbo, logger: None, after: None, limit: 10 };
        let lines = tail.page(&query).lines;
        let shown = |line: &Arc<TailLine>| {
            format!("{} {} {} {}\n", line.level, line.logger, line.module, line.text)
        };
        expect![[r#"
            INFO main esker_node::logging::layer::tests ready
            INFO X esker_node::logging::layer::tests accepted height=7 id=2oYM
            WARN main esker_node::logging::layer::tests odd\nline text="a \"b\""
            DEBUG X esker_node::logging::layer::tests a detail
            INFO main esker_node::logging::layer::tests a\u{9b}b\u{202e} text="<b>\u{202e}\u{1b}[2J"
        "#]]
        .assert_eq(&lines.iter().map(shown).collect::<String>());
        assert!(levels.lines().iter().all(|(_, lines)| *lines == 0), "none was written");
    }
}
