//! The arguments of `esker db rewind`.

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use super::RewindCommand;
use crate::replay::mode_switches;

/// The command; it accepts the flags of `esker node`.
pub(crate) fn command(flags: Vec<Arg>) -> Command {
    let height = Arg::new("to-height")
        .long("to-height")
        .value_name("N")
        .value_parser(value_parser!(u64))
        .help("Height of the bundle that becomes the last one; without it the possible heights are listed");
    let yes = Arg::new("yes").long("yes").action(ArgAction::SetTrue).help("Skip the confirmation");
    Command::new("rewind")
        .about("Rewind the last bundles of blocks of a stopped node")
        .long_about(
            "Rewind the last bundles of blocks of a stopped node, as far as it kept undo data (rewind-depth). The \
             bundles are shown first and must be confirmed. Transactions of their blocks are lost. Without \
             --to-height nothing is changed.",
        )
        .arg(height)
        .arg(yes)
        .args(mode_switches())
        .args(flags)
}

/// The parsed command.
pub(crate) fn parse(given: &ArgMatches) -> RewindCommand {
    let to = given.get_one::<u64>("to-height").copied();
    RewindCommand { to, yes: given.get_flag("yes") }
}
