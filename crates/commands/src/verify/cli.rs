//! The arguments of `esker db`.

use clap::{Arg, Command};

use crate::replay::mode_switches;
use crate::rewind;

/// The command; it accepts the flags of `esker node`.
pub(crate) fn command(flags: impl Fn() -> Vec<Arg>) -> Command {
    let verify = Command::new("verify")
        .about("Check all data of a stopped node, and print the errors")
        .long_about(
            "Check all data in the folder of a stopped node: blocks, state, indexes, shared memory, and the supply \
             of the native asset. Each error is printed on one line, and the exit code is then 1. Nothing is \
             changed.",
        )
        .args(mode_switches())
        .args(flags());
    Command::new("db")
        .about("Check or rewind the data of a stopped node")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(verify)
        .subcommand(rewind::command(flags()))
}
