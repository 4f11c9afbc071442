//! Logging: one logger a chain and `main`, each with its file and its levels.
//!
//! An event that carries the field `chain` goes to that chain's logger, every other to `main`. Files are
//! `<data folder>/logs/<logger>.log`, rotated by size; the terminal is standard error, so that standard
//! output stays free for the screen and for `--json`. Levels can be changed while the node runs
//! ([`LogLevels`]), for each logger and apart for file and terminal.

mod files;
mod layer;
mod levels;

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use tracing_subscriber::layer::SubscriberExt;

pub use files::Rotation;
pub use levels::{Levels, LogLevel, LogLevels, MAIN, UnknownLevel};

use files::LogFiles;
use layer::LogLayer;

/// How lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Text; on a terminal with colours.
    Auto,
    /// Text without colours.
    Plain,
    /// Text with colours wherever it goes to the terminal stream.
    Colors,
    /// One JSON object a line.
    Json,
}

/// The configuration of logging.
#[derive(Clone, Debug)]
pub struct LogConfig {
    /// Form of the lines.
    pub format: LogFormat,
    /// Levels of `main`.
    pub main: Levels,
    /// Loggers of the chains: primary alias and levels.
    pub chains: Vec<(String, Levels)>,
    /// Folder of the files; without one nothing is written to disk.
    pub folder: Option<PathBuf>,
    /// When files are rotated and how many are kept.
    pub rotation: Rotation,
}

/// Checks that the files can be written, so that a node does not run for months without a log.
///
/// # Errors
/// The folder or file that can't be written, and what the system said.
pub fn check_files(config: &LogConfig) -> Result<(), (PathBuf, io::Error)> {
    let Some(folder) = &config.folder else { return Ok(()) };
    let chains = config.chains.iter().map(|(name, _)| name.as_str());
    files::check(folder, std::iter::once(MAIN).chain(chains))
}

/// Begins to log, for the whole process. Where a process logs already (several nodes in one test) the
/// levels returned govern nothing.
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

/// A panic is a log line with its place: nobody reads standard error of a node that runs unattended.
fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let text = panic.payload_as_str().unwrap_or("no text");
        let thread = std::thread::current();
        tracing::error!(thread = thread.name(), place, "panic: {text}");
    }));
}
