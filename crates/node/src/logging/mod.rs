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
mod tail;

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;

use esker_settings::logging::{LogConfig, LogFormat};
use tracing_subscriber::layer::SubscriberExt;

pub use levels::{LogLevels, MAIN};
pub use modules::{BadModuleRules, level_of_number};
pub use tail::{LogTail, MAX_LINES, TailLine, TailPage, TailQuery};

use files::LogFiles;
use layer::LogLayer;

pub(crate) use layer::level_name;

/// Checks that the files can be written. Otherwise a node could run for months without a log.
///
/// # Errors
/// The folder or file that can't be written, and the system's error.
pub fn check_files(config: &LogConfig) -> Result<(), (PathBuf, io::Error)> {
    let Some(folder) = &config.folder else { return Ok(()) };
    let chains = config.chains.iter().map(|(name, _)| name.as_str());
    files::check(folder, std::iter::once(MAIN).chain(chains))
}

/// The log files of a node.
#[derive(Clone, Debug, Default)]
pub struct OpenLogFiles(Option<Arc<LogFiles>>);

impl OpenLogFiles {
    /// Closes the files. The next line of each opens the file that has the name by then. This is another file if a
    /// program such as logrotate has renamed the first.
    pub fn reopen(&self) {
        if let Some(files) = &self.0 {
            files.reopen();
        }
    }
}

/// What a node controls and shows of its log.
#[derive(Clone, Debug)]
pub struct Logs {
    /// The levels of the loggers.
    pub levels: LogLevels,
    /// The files.
    pub files: OpenLogFiles,
    /// The newest lines, if they are kept in memory.
    pub tail: Option<Arc<LogTail>>,
}

/// Starts logging for the whole process. If the process logs already (several nodes in one test), the returned values
/// have no effect.
pub fn install(config: &LogConfig) -> Logs {
    let levels = LogLevels::new(config.main, config.chains.iter().cloned());
    let colours = match config.format {
        LogFormat::Auto => std::io::stderr().is_terminal(),
        LogFormat::Colors => true,
        LogFormat::Plain | LogFormat::Json => false,
    };
    let files =
        config.folder.clone().map(|folder| Arc::new(LogFiles::new(folder, config.rotation)));
    let tail = config.keeps_tail.then(Arc::default);
    let logs =
        Logs { levels: levels.clone(), files: OpenLogFiles(files.clone()), tail: tail.clone() };
    let form = (config.format == LogFormat::Json, colours);
    let layer = LogLayer::new(levels, form, files, tail);
    let subscriber = tracing_subscriber::registry().with(layer);
    if tracing::subscriber::set_global_default(subscriber).is_ok() {
        log_panics();
    }
    logs
}

/// Logs an error that ends the node, before the process exits. It goes to the file only, since the process itself
/// prints it on the terminal. It has no effect before [`install`].
pub fn log_fatal(error: &dyn std::error::Error) {
    tracing::error!(file_only = true, %error, "the node ends because of an error");
}

/// Logs panics with their location: the standard error of an unattended node is not read.
fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let text = panic.payload_as_str().unwrap_or("no text");
        let thread = std::thread::current();
        if is_in_consensus_library(&place) {
            // The engine logs the consequence: it waits for the disk, or ends the node with an error.
            tracing::info!(thread = thread.name(), place, "consensus was interrupted: {text}");
            return;
        }
        tracing::error!(thread = thread.name(), place, "panic: {text}");
    }));
}

/// Whether a source file belongs to the consensus library, which panics if it can't write.
fn is_in_consensus_library(place: &str) -> bool {
    place.split(['/', '\\']).any(|part| part.starts_with("commonware-"))
}

#[cfg(test)]
mod tests {
    use super::is_in_consensus_library;

    #[test]
    fn panics_of_the_consensus_library_are_known_by_their_file() {
        for (place, is_its) in [
            ("/src/commonware-consensus-2026.10.0/src/voter.rs:328:14", true),
            ("C:\\src\\commonware-storage-1.0.0\\src\\lib.rs:1:1", true),
            ("crates/engine-bft/src/engine.rs:7:1", false),
            ("", false),
        ] {
            assert_eq!(is_in_consensus_library(place), is_its, "{place}");
        }
    }
}
