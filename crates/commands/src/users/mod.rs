//! `esker user`: manages the keystore users of a stopped node.
//!
//! Passwords are read from the terminal, without echo, or from a file; never from an argument, which other users of
//! the machine could read.

mod cli;
mod error;
mod password;
mod run;

use std::path::PathBuf;

pub(crate) use cli::{FLAGS, command, parse};
pub use error::UserError;
pub use run::run;

/// The parsed command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserCommand {
    /// Create a user without keys.
    Create(Login),
    /// List all names.
    List,
    /// Export a user to a file.
    Export(Login, PathBuf),
    /// Import a user from a file.
    Import(Login, PathBuf),
    /// Delete a user and its keys.
    Delete(Login),
}

/// A user, and the source of its password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// The user's name.
    pub name: String,
    /// A file with the password; without one, the terminal prompts for it.
    pub password_file: Option<PathBuf>,
}
