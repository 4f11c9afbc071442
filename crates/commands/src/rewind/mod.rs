//! `esker db rewind`: rewinds the last bundles of a stopped node's data folder (docs/protocol/bundles.md, "Rewinding
//! bundles").

mod cli;
mod plan;

use std::io::{self, Write as _};

use esker_chain::{ChainError, ChainMachine as _, RewindError};
use esker_node::wiring::StartError;
use esker_settings::config::Config;
use esker_settings::exit_code;
use thiserror::Error;
use tokio::runtime::Runtime;

pub(crate) use cli::{command, parse};

use self::plan::Plan;
use crate::offline::{Offline, OfflineError};
use crate::terminal::confirm;

/// The parsed arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RewindCommand {
    /// Height of the new last bundle. `None` lists the possible ones.
    pub to: Option<u64>,
    /// Skips the confirmation.
    pub yes: bool,
}

/// The reason why no bundle was rewound.
#[derive(Debug, Error)]
pub enum RewindCommandError {
    /// The data can't be opened.
    #[error(transparent)]
    Offline(#[from] OfflineError),
    /// The machine refuses, or the store fails.
    #[error(transparent)]
    Rewind(#[from] RewindError),
    /// Confirmation needs a terminal.
    #[error(
        "nothing was changed: there is no terminal for the confirmation. Add --yes to rewind without it"
    )]
    NoTerminal,
    /// The user declined.
    #[error("nothing was changed")]
    Declined,
    /// The terminal, or the output, failed.
    #[error("nothing was changed: {0}")]
    Terminal(io::Error),
    /// The runtime can't be created.
    #[error("can't start: {0}")]
    Runtime(io::Error),
}

impl RewindCommandError {
    /// The exit code of the process.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Offline(error) => error.exit_code(),
            Self::Rewind(RewindError::Chain(ChainError::Corrupted(_))) => exit_code::DAMAGED,
            Self::Rewind(RewindError::Chain(_) | RewindError::NotLast { .. })
            | Self::Declined
            | Self::Terminal(_)
            | Self::Runtime(_) => exit_code::FAILURE,
            Self::Rewind(
                RewindError::SeveralNodes
                | RewindError::AboveLast { .. }
                | RewindError::NoUndoRows { .. }
                | RewindError::BelowUndoRows { .. },
            )
            | Self::NoTerminal => exit_code::CONFIG,
        }
    }
}

impl From<StartError> for RewindCommandError {
    fn from(error: StartError) -> Self {
        OfflineError::from(error).into()
    }
}

impl From<ChainError> for RewindCommandError {
    fn from(error: ChainError) -> Self {
        RewindError::from(error).into()
    }
}

/// Executes the command and returns its output. The question is written to standard error.
///
/// # Errors
/// The command failed; nothing has changed.
pub fn run(command: &RewindCommand, config: &Config) -> Result<String, RewindCommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .map_err(RewindCommandError::Runtime)?;
    if command.to.is_some() && !config.network.validators.is_empty() {
        return Err(RewindError::SeveralNodes.into());
    }
    let node = Offline::open_existing(config)?;
    let done = match command.to {
        None => list(&node, &runtime),
        Some(to) => rewind(&node, &runtime, to, command.yes),
    };
    node.close()?;
    done
}

fn list(node: &Offline, runtime: &Runtime) -> Result<String, RewindCommandError> {
    let lowest = runtime.block_on(node.machine().lowest_rewind())?;
    Ok(Plan::read(node, lowest)?.list())
}

fn rewind(
    node: &Offline,
    runtime: &Runtime,
    to: u64,
    yes: bool,
) -> Result<String, RewindCommandError> {
    let (last, _) = node.machine().last_final();
    let lowest = runtime.block_on(node.machine().lowest_rewind())?;
    match lowest {
        _ if to >= last => {}
        None => return Err(RewindError::NoUndoRows { last }.into()),
        Some(lowest) if to < lowest => {
            return Err(RewindError::BelowUndoRows { height: to, lowest, last }.into());
        }
        Some(_) => {
            let plan = Plan::read(node, Some(to))?.summary();
            if !yes {
                ask(&plan)?;
            }
            runtime.block_on(node.machine().rewind(to))?;
            return Ok(format!("{plan}bundle {to} is the last one now\n"));
        }
    }
    runtime.block_on(node.machine().rewind(to))?;
    Ok(format!("bundle {to} is the last one already\n"))
}

/// Shows the plan and asks for confirmation on the terminal.
fn ask(plan: &str) -> Result<(), RewindCommandError> {
    let mut screen = io::stderr();
    let shown = write!(screen, "{plan}").and_then(|()| screen.flush());
    shown.map_err(RewindCommandError::Terminal)?;
    match confirm("Rewind them? [y/N] ").map_err(RewindCommandError::Terminal)? {
        Some(true) => Ok(()),
        Some(false) => Err(RewindCommandError::Declined),
        None => Err(RewindCommandError::NoTerminal),
    }
}
