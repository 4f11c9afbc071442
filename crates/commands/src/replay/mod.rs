//! `esker export` and `esker import`: the accepted blocks of all chains as lines of JSON, for the data folder of a
//! stopped node.
//!
//! A file starts after genesis and has the blocks in order of acceptance ([`lines`]). An import passes them to the
//! machine like an engine with another validator's blocks: each is verified fully.

mod cli;
mod error;
mod export;
mod import;
pub mod lines;
mod read_ahead;

use std::path::PathBuf;

use esker_settings::config::Config;

pub(crate) use cli::{commands, dev_switch, mode_switches, parse};
pub use error::ReplayError;

/// The parsed arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayCommand {
    /// Import the blocks of a file.
    Import(PathBuf),
    /// Export the accepted blocks to a new file.
    Export {
        /// The file.
        file: PathBuf,
        /// Height of the first bundle; `None`: all blocks.
        from: Option<u64>,
    },
}

/// The file name for standard input or output.
const STANDARD: &str = "-";

/// Executes the command and returns its output.
///
/// # Errors
/// An import keeps the blocks before the error; an export leaves no file.
pub fn run(command: &ReplayCommand, config: &Config) -> Result<String, ReplayError> {
    match command {
        ReplayCommand::Import(file) => import::run(file, config),
        ReplayCommand::Export { file, from } => export::run(file, *from, config),
    }
}
