//! `esker anvil`, and the program under the name `anvil`: anvil's flags as settings of `esker evm`.
//!
//! `flags` has the flags that have an effect, `settings` their translation, `further` the others, `notes` what is said of
//! those. `output` writes the file of `--config-out`; `crate::screen` has the banner.

mod error;
mod flags;
mod further;
mod init;
mod mnemonic;
mod notes;
mod output;
mod settings;

use std::ffi::OsStr;
use std::path::Path;

use clap::error::ErrorKind;
use clap::{ArgMatches, Command, CommandFactory as _, FromArgMatches as _};
use esker_settings::config::Flags;

use self::flags::AnvilFlags;
pub(crate) use self::flags::NAME;
pub use self::output::AnvilOutput;
pub(crate) use self::settings::{SUGGESTED_TIP, insert_artifacts};

/// A parsed command line of anvil.
#[derive(Debug)]
pub struct AnvilCommand {
    /// The settings of the node.
    pub flags: Flags,
    /// What is written when the node is ready.
    pub output: AnvilOutput,
}

/// Whether the program was started under anvil's name.
pub(crate) fn is_program(argument: &OsStr) -> bool {
    Path::new(argument).file_name().is_some_and(|name| name == NAME)
}

/// The command with its flags.
pub(crate) fn command() -> Command {
    AnvilFlags::command().args(further::arguments())
}

/// The parsed command.
pub(crate) fn parse(given: &ArgMatches) -> Result<AnvilCommand, clap::Error> {
    let refused = |text: String| command().error(ErrorKind::InvalidValue, text);
    notes::check(given).map_err(refused)?;
    let flags = AnvilFlags::from_arg_matches(given)?;
    let set = settings::of(&flags).map_err(|error| refused(error.to_string()))?;
    let notes = notes::of(given, &flags);
    Ok(AnvilCommand { flags: set, output: AnvilOutput::new(&flags, notes) })
}

#[cfg(test)]
mod tests;
