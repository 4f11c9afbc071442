//! The arguments of `esker db`.

use clap::{Arg, Command};

use crate::replay::dev_switch;
use crate::rewind;

/// The command; it accepts the flags of `esker node`.
pub(crate) fn command(flags: impl Fn() -> Vec<Arg>) -> Command {
    let verify = Command::new("verify")
        .about("Check all that the data folder holds, and print what is wrong")
        .long_about(
            "Check all that the data folder of a stopped node holds: blocks, state, indexes, shared memory, and the \
             supply of the native asset. Each finding is printed as one line; the exit code is 1 \
             then. Nothing is changed.",
        )
        .arg(dev_switch())
        .args(flags());
    Command::new("db")
        .about("Work on the data of a stopped node")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(verify)
        .subcommand(rewind::command(flags()))
}
