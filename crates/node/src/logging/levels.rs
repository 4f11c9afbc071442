//! Log levels, which can be changed while the node runs.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use esker_primitives::sync::RwLock;
use thiserror::Error;

use super::modules::{BadModuleRules, ModuleRules};

/// Name of the logger for events without a chain.
pub const MAIN: &str = "main";

/// The levels that lines have, as metrics name them.
const LINE_LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "verbo"];

/// Log levels, with the reference's names. This node has no events of levels `FATAL` and `TRACE`, so these are
/// equivalent to `ERROR` and `INFO`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum LogLevel {
    /// Nothing.
    Off,
    /// Failures that end the node.
    Fatal,
    /// Failures.
    Error,
    /// Events that need an operator's attention.
    Warn,
    /// Events of interest to an operator.
    Info,
    /// The same as `Info`.
    Trace,
    /// Details for finding faults.
    Debug,
    /// Everything.
    Verbo,
}

impl LogLevel {
    /// All levels, from quiet to verbose.
    pub const ALL: [Self; 8] = [
        Self::Off,
        Self::Fatal,
        Self::Error,
        Self::Warn,
        Self::Info,
        Self::Trace,
        Self::Debug,
        Self::Verbo,
    ];

    /// The name in capitals, as in the admin API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "OFF",
            Self::Fatal => "FATAL",
            Self::Error => "ERROR",
            Self::Warn => "WARN",
            Self::Info => "INFO",
            Self::Trace => "TRACE",
            Self::Debug => "DEBUG",
            Self::Verbo => "VERBO",
        }
    }

    /// Whether a logger of this level logs the event.
    pub fn includes(self, level: &tracing::Level) -> bool {
        let least = match *level {
            tracing::Level::ERROR => Self::Fatal,
            tracing::Level::WARN => Self::Warn,
            tracing::Level::INFO => Self::Info,
            tracing::Level::DEBUG => Self::Debug,
            tracing::Level::TRACE => Self::Verbo,
        };
        self >= least
    }

    const fn from_u8(n: u8) -> Self {
        Self::ALL[n as usize & 7]
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An unknown level name.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("unknown log level: {0}")]
pub struct UnknownLevel(pub String);

impl FromStr for LogLevel {
    type Err = UnknownLevel;

    /// Accepts any letter case.
    fn from_str(text: &str) -> Result<Self, UnknownLevel> {
        Self::ALL
            .into_iter()
            .find(|level| level.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| UnknownLevel(text.to_owned()))
    }
}

/// Levels of one logger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels {
    /// Level of its file.
    pub file: LogLevel,
    /// Level of the terminal.
    pub display: LogLevel,
}

impl Levels {
    /// The more verbose of the two.
    pub fn most_verbose(self) -> LogLevel {
        self.file.max(self.display)
    }
}

/// One logger's levels, which every event reads without a lock.
#[derive(Debug)]
pub(super) struct LevelCell {
    file: AtomicU8,
    display: AtomicU8,
}

impl LevelCell {
    fn new(levels: Levels) -> Self {
        Self {
            file: AtomicU8::new(levels.file as u8),
            display: AtomicU8::new(levels.display as u8),
        }
    }

    pub(super) fn get(&self) -> Levels {
        Levels {
            file: LogLevel::from_u8(self.file.load(Ordering::Relaxed)),
            display: LogLevel::from_u8(self.display.load(Ordering::Relaxed)),
        }
    }

    fn set(&self, levels: Levels) {
        self.file.store(levels.file as u8, Ordering::Relaxed);
        self.display.store(levels.display as u8, Ordering::Relaxed);
    }
}

/// The levels of all loggers: `main` and one per chain, named by the chain's primary alias. Cheap to clone; all
/// clones share the levels.
#[derive(Clone, Debug)]
pub struct LogLevels {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    cells: RwLock<BTreeMap<String, Arc<LevelCell>>>,
    /// The most verbose level of all loggers. Events above it are dropped before their fields are formatted.
    most_verbose: AtomicU8,
    modules: RwLock<ModuleRules>,
    has_modules: AtomicBool,
    /// Lines by level, in the order of [`LINE_LEVELS`].
    lines: [AtomicU64; LINE_LEVELS.len()],
}

impl LogLevels {
    /// Loggers with their initial levels; always includes `main`.
    pub fn new(main: Levels, chains: impl IntoIterator<Item = (String, Levels)>) -> Self {
        let mut cells: BTreeMap<_, _> =
            chains.into_iter().map(|(name, l)| (name, Arc::new(LevelCell::new(l)))).collect();
        cells.insert(MAIN.to_owned(), Arc::new(LevelCell::new(main)));
        let levels = Self {
            inner: Arc::new(Inner {
                cells: RwLock::new(cells),
                most_verbose: AtomicU8::new(0),
                modules: RwLock::new(ModuleRules::default()),
                has_modules: AtomicBool::new(false),
                lines: Default::default(),
            }),
        };
        levels.refresh();
        levels
    }

    /// Names of the loggers, ascending.
    pub fn names(&self) -> Vec<String> {
        self.inner.cells.read().keys().cloned().collect()
    }

    /// Levels of one logger.
    pub fn get(&self, name: &str) -> Option<Levels> {
        self.cell(name).map(|cell| cell.get())
    }

    /// Levels of all loggers, ascending by name.
    pub fn all(&self) -> Vec<(String, Levels)> {
        self.inner.cells.read().iter().map(|(name, cell)| (name.clone(), cell.get())).collect()
    }

    /// Changes a logger's levels at once; `None` keeps a level. Returns the new levels, or `None` for an unknown
    /// logger.
    pub fn set(
        &self,
        name: &str,
        file: Option<LogLevel>,
        display: Option<LogLevel>,
    ) -> Option<Levels> {
        let cell = self.cell(name)?;
        let old = cell.get();
        let new =
            Levels { file: file.unwrap_or(old.file), display: display.unwrap_or(old.display) };
        cell.set(new);
        self.refresh();
        Some(new)
    }

    /// Sets which source files log more than their loggers do, in files and on the terminal: `pattern=number`, separated
    /// by commas. Earlier rules are gone.
    pub fn set_modules(&self, rules: &str) -> Result<(), BadModuleRules> {
        let rules = ModuleRules::parse(rules)?;
        self.inner.has_modules.store(rules != ModuleRules::default(), Ordering::Relaxed);
        *self.inner.modules.write() = rules;
        self.refresh();
        Ok(())
    }

    /// What the rules of [`Self::set_modules`] add for a source file.
    pub(super) fn of_module(&self, file: Option<&str>) -> LogLevel {
        match file {
            Some(file) if self.inner.has_modules.load(Ordering::Relaxed) => {
                self.inner.modules.read().level_of(file)
            }
            _ => LogLevel::Off,
        }
    }

    /// How many lines were logged since the start, by level, whether or not they could be written.
    pub fn lines(&self) -> [(&'static str, u64); LINE_LEVELS.len()] {
        let mut lines = LINE_LEVELS.map(|level| (level, 0));
        for ((_, shown), count) in lines.iter_mut().zip(&self.inner.lines) {
            *shown = count.load(Ordering::Relaxed);
        }
        lines
    }

    /// Counts a line.
    pub(super) fn count_line(&self, level: tracing::Level) {
        let place = match level {
            tracing::Level::ERROR => 0,
            tracing::Level::WARN => 1,
            tracing::Level::INFO => 2,
            tracing::Level::DEBUG => 3,
            tracing::Level::TRACE => 4,
        };
        self.inner.lines[place].fetch_add(1, Ordering::Relaxed);
    }

    /// The most verbose level of all loggers.
    pub fn most_verbose(&self) -> LogLevel {
        LogLevel::from_u8(self.inner.most_verbose.load(Ordering::Relaxed))
    }

    pub(super) fn cell(&self, name: &str) -> Option<Arc<LevelCell>> {
        self.inner.cells.read().get(name).cloned()
    }

    fn refresh(&self) {
        let most_verbose = self
            .inner
            .cells
            .read()
            .values()
            .map(|cell| cell.get().most_verbose())
            .max()
            .unwrap_or(LogLevel::Off)
            .max(self.inner.modules.read().most_verbose());
        self.inner.most_verbose.store(most_verbose as u8, Ordering::Relaxed);
        // Call sites cache whether an event is logged.
        tracing::callsite::rebuild_interest_cache();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: Levels = Levels { file: LogLevel::Info, display: LogLevel::Warn };

    #[test]
    fn names_in_any_case() {
        for level in LogLevel::ALL {
            assert_eq!(level.name().to_lowercase().parse(), Ok(level));
            assert_eq!(LogLevel::from_u8(level as u8), level);
        }
        assert_eq!("loud".parse::<LogLevel>().unwrap_err().to_string(), "unknown log level: loud");
    }

    #[test]
    fn each_level_shows_the_quieter_ones() {
        assert!(!LogLevel::Off.includes(&tracing::Level::ERROR));
        assert!(LogLevel::Fatal.includes(&tracing::Level::ERROR));
        assert!(!LogLevel::Trace.includes(&tracing::Level::DEBUG));
        assert!(LogLevel::Debug.includes(&tracing::Level::DEBUG));
        assert!(!LogLevel::Debug.includes(&tracing::Level::TRACE));
        assert!(LogLevel::Verbo.includes(&tracing::Level::TRACE));
    }

    #[test]
    fn set_while_running() {
        let levels = LogLevels::new(INFO, [("X".to_owned(), INFO)]);
        assert_eq!(levels.names(), ["X", "main"]);
        assert_eq!(levels.most_verbose(), LogLevel::Info);
        let same = levels.clone();
        assert_eq!(
            levels.set("X", Some(LogLevel::Verbo), None),
            Some(Levels { file: LogLevel::Verbo, display: LogLevel::Warn })
        );
        assert_eq!(same.get("X"), levels.get("X"));
        assert_eq!(same.most_verbose(), LogLevel::Verbo);
        assert_eq!(same.get("main"), Some(INFO));
        assert_eq!(levels.set("Y", None, None), None);
    }
}
