//! Logging: one logger per chain and `main`, each with its file and its levels.
//!
//! An event with the field `chain` goes to that chain's logger, every other event to `main`. Files are `<data
//! folder>/logs/<logger>.log`, rotated by size; old ones are removed. The terminal is standard error, because standard
//! output has the screen or the output of `--json`. Levels can be changed while the node runs ([`LogLevels`]), for each
//! logger, and separately for file and terminal.

mod files;
mod layer;
mod levels;
mod modules;

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use tracing_subscriber::layer::SubscriberExt;

pub use files::Rotation;
pub use levels::{Levels, LogLevel, LogLevels, MAIN, UnknownLevel};
pub use modules::{BadModuleRules, level_of_number};

use files::LogFiles;
use layer::LogLayer;

/// The format of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Text, with colours on a terminal.
    Auto,
    /// Text without colours.
    Plain,
    /// Text with colours, also without a terminal.
    Colors,
    /// One JSON object per line.
    Json,
}

/// The configuration of logging.
#[derive(Clone, Debug)]
pub struct LogConfig {
    /// Format of the lines.
    pub format: LogFormat,
    /// Levels of `main`.
    pub main: Levels,
    /// Loggers of the chains: primary alias and levels.
    pub chains: Vec<(String, Levels)>,
    /// Folder of the files; `None` disables them.
    pub folder: Option<PathBuf>,
    /// When files are rotated and how many are kept.
    pub rotation: Rotation,
}

/// Checks that the files can be written. Otherwise a node could run for months without a log.
///
/// # Errors
/// The folder or file that can't be written, and the system's error.
pub fn check_files(config: &LogConfig) -> Result<(), (PathBuf, io::Error)> {
    let Some(folder) = &config.folder else { return Ok(()) };
    let chains = config.chains.iter().map(|(name, _)| name.as_str());
    files::check(folder, std::iter::once(MAIN).chain(chains))
}

/// Starts logging for the whole process. If the process logs already (several nodes in one test), the returned levels
/// have no effect.
pub fn install(config: &LogConfig) -> LogLevels {
    let levels = LogLevels::new(config.main, config.chains.iter().cloned());
    let colours = match config.format {
        LogFormat::Auto => std::io::stderr().is_terminal(),
        LogFormat::Colors => true,
        LogFormat::Plain | LogFormat::Json => false,
    };
    let files = config.folder.clone().map(|folder| LogFiles::new(folder, config.rotation));
    let layer = LogLayer::new(levels.clone(), config.format == LogFormat::Json, colours, files);
    let subscriber = tracing_subscriber::registry().with(layer);
    if tracing::subscriber::set_global_default(subscriber).is_ok() {
        log_panics();
    }
    levels
}

/// Logs an error that ends the node, before the process exits; only in the file, because the process itself says so on
/// the terminal. Without effect before [`install`].
pub fn log_fatal(error: &dyn std::error::Error) {
    tracing::error!(file_only = true, %error, "the node ends because of an error");
}

/// Logs panics with their location: the standard error of an unattended node is not read.
fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let text = panic.payload_as_str().unwrap_or("no text");
        let thread = std::thread::current();
        tracing::error!(thread = thread.name(), place, "panic: {text}");
    }));
}
