//! `esker export` and `esker import`: the accepted blocks of all chains as lines of JSON, over the data folder of a
//! node that does not run.
//!
//! A file begins after genesis and holds the blocks in the order in which they were accepted ([`lines`]). An import
//! brings them to the machine as an engine does with the blocks of another validator: each is verified fully.

mod cli;
mod error;
mod export;
mod import;
pub mod lines;

use std::path::PathBuf;

use esker_node::config::Config;

pub(crate) use cli::{commands, dev_switch, parse};
pub use error::ReplayError;

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayCommand {
    /// Take the blocks of a file.
    Import(PathBuf),
    /// Write the accepted blocks to a new file.
    Export(PathBuf),
}

/// The name that stands for standard input or output.
const STANDARD: &str = "-";

/// Does it, and gives what is to be printed.
///
/// # Errors
/// An import keeps what it took before; an export leaves no file.
pub fn run(command: &ReplayCommand, config: &Config) -> Result<String, ReplayError> {
    match command {
        ReplayCommand::Import(file) => import::run(file, config),
        ReplayCommand::Export(file) => export::run(file, config),
    }
}
