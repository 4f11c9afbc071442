//! `esker user`: the keystore's users from the command line, over the data folder of a node that does not run.
//!
//! Passwords come from the terminal, without being shown, or from a file; never from an argument, which others on
//! the machine could read.

mod cli;
mod error;
mod password;
mod run;

use std::path::PathBuf;

pub(crate) use cli::{FLAGS, command, parse};
pub use error::UserError;
pub use run::run;

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserCommand {
    /// A new user without keys.
    Create(Login),
    /// All names.
    List,
    /// A user into a file.
    Export(Login, PathBuf),
    /// A user out of a file.
    Import(Login, PathBuf),
    /// A user and its keys are to go.
    Delete(Login),
}

/// A user, and where its password comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// The user's name.
    pub name: String,
    /// A file that holds the password; asked for on the terminal without one.
    pub password_file: Option<PathBuf>,
}
