//! The arguments of `esker network`.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, ValueHint, value_parser};

use super::{MAX_VALIDATORS, NetworkCommand, NewNetwork};

/// The command.
pub(crate) fn command() -> Command {
    let validators = Arg::new("validators")
        .long("validators")
        .value_name("N")
        .required(true)
        .value_parser(value_parser!(u16).range(1..=i64::from(MAX_VALIDATORS)))
        .help("How many nodes decide together; 4 tolerate the loss of one, 7 of two");
    let followers = Arg::new("followers")
        .long("followers")
        .value_name("N")
        .default_value("0")
        .value_parser(value_parser!(u16).range(0..=i64::from(MAX_VALIDATORS)))
        .help("How many further nodes take what they decide, and pass transactions on to them");
    let out = Arg::new("out")
        .long("out")
        .value_name("DIR")
        .required(true)
        .value_hint(ValueHint::DirPath)
        .value_parser(value_parser!(PathBuf))
        .help("Folder to make; it must not exist");
    let base_port = Arg::new("base-port")
        .long("base-port")
        .value_name("PORT")
        .default_value("9650")
        .value_parser(value_parser!(u16).range(1..))
        .help("First port: each validator has one for HTTP and the next for its peers, each follower one for HTTP");
    let new = Command::new("new")
        .about("Make a network of several validators on this machine")
        .long_about(
            "Make a network of several validators on this machine: its network file, and for each validator and follower a \
             folder with its key and its configuration. Accounts and chains are those of the local network, whose key is public.",
        )
        .arg(validators)
        .arg(followers)
        .arg(out)
        .arg(base_port);
    let folder = Arg::new("folder")
        .value_name("DIR")
        .required(true)
        .value_hint(ValueHint::DirPath)
        .value_parser(value_parser!(PathBuf))
        .help("Folder that `esker network new` made");
    let run = Command::new("run")
        .about("Run all validators and followers of a network on this machine, until Ctrl-C")
        .long_about(
            "Run all validators and followers of a network on this machine, to try it out: a process each, with their output \
             together, each line with the validator's number, or `f` and the follower's, before it. Ctrl-C stops all of them.",
        )
        .arg(folder);
    Command::new("network")
        .about("Make and run networks of several validators")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(new)
        .subcommand(run)
}

/// The parsed command.
pub(crate) fn parse(given: &ArgMatches) -> NetworkCommand {
    if let Some(given) = given.subcommand_matches("run") {
        return NetworkCommand::Run(given.get_one("folder").cloned().unwrap_or_default());
    }
    let given = given.subcommand_matches("new").unwrap_or(given);
    NetworkCommand::New(NewNetwork {
        validators: given.get_one("validators").copied().unwrap_or(1),
        followers: given.get_one("followers").copied().unwrap_or(0),
        out: given.get_one("out").cloned().unwrap_or_default(),
        base_port: given.get_one("base-port").copied().unwrap_or(1),
    })
}
