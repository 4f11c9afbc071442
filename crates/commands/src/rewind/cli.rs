//! The arguments of `esker db rewind`.

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use super::RewindCommand;
use crate::replay::dev_switch;

/// The command; it accepts the flags of `esker node`.
pub(crate) fn command(flags: Vec<Arg>) -> Command {
    let height = Arg::new("to-height")
        .long("to-height")
        .value_name("N")
        .value_parser(value_parser!(u64))
        .help("The bundle that is to be the last one; without it those that can be are listed");
    let yes = Arg::new("yes")
        .long("yes")
        .action(ArgAction::SetTrue)
        .help("Take the bundles back without asking");
    Command::new("rewind")
        .about("Take the last bundles of blocks back")
        .long_about(
            "Take the last bundles of blocks of a node that does not run back, as far as it kept what that takes \
             (rewind-depth). What is taken back is shown first, and a question asked. Transactions of the blocks \
             are gone. Without --to-height nothing is changed.",
        )
        .arg(height)
        .arg(yes)
        .arg(dev_switch())
        .args(flags)
}

/// The parsed command.
pub(crate) fn parse(given: &ArgMatches) -> RewindCommand {
    let to = given.get_one::<u64>("to-height").copied();
    RewindCommand { to, yes: given.get_flag("yes") }
}
