//! The levels of all loggers, which can be changed while the node runs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use esker_primitives::sync::RwLock;
use esker_settings::logging::{Levels, LogLevel};

use super::modules::{BadModuleRules, ModuleRules};

/// Name of the logger for events without a chain.
pub const MAIN: &str = "main";

/// The levels of lines, by the names that metrics use.
const LINE_LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "verbo"];

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

    /// Sets the source files that log more than their loggers do, in files and on the terminal: `pattern=number`,
    /// separated by commas. Earlier rules are removed.
    pub fn set_modules(&self, rules: &str) -> Result<(), BadModuleRules> {
        let rules = ModuleRules::parse(rules)?;
        self.inner.has_modules.store(rules != ModuleRules::default(), Ordering::Relaxed);
        *self.inner.modules.write() = rules;
        self.refresh();
        Ok(())
    }

    /// The level that the rules of [`Self::set_modules`] add for a source file.
    pub(super) fn of_module(&self, file: Option<&str>) -> LogLevel {
        match file {
            Some(file) if self.inner.has_modules.load(Ordering::Relaxed) => {
                self.inner.modules.read().level_of(file)
            }
            _ => LogLevel::Off,
        }
    }

    /// Number of lines that were logged since the start, by level, whether they could be written or not.
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
