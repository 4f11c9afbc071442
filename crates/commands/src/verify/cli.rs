//! The arguments of `esker db`.

use clap::{Arg, Command};

use crate::replay::dev_switch;
use crate::rewind;

/// The command; it takes the flags of `esker node`.
pub(crate) fn command(flags: impl Fn() -> Vec<Arg>) -> Command {
    let verify = Command::new("verify")
        .about("Look at all that the data folder holds, and tell what is wrong")
        .long_about(
            "Look at all that the data folder of a node that does not run holds: blocks, state, indexes, shared \
             memory, and the supply of the native asset. What is wrong is printed, a line each; the exit code is 1 \
             then. Nothing is changed.",
        )
        .arg(dev_switch())
        .args(flags());
    Command::new("db")
        .about("Work on the data of a node that does not run")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(verify)
        .subcommand(rewind::command(flags()))
}
