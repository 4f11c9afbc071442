//! The arguments of `esker network`.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, ValueHint, value_parser};

use super::NewNetwork;

/// Most validators of a network.
const MAX_VALIDATORS: i64 = 100;

/// The command.
pub(crate) fn command() -> Command {
    let validators = Arg::new("validators")
        .long("validators")
        .value_name("N")
        .required(true)
        .value_parser(value_parser!(u16).range(1..=MAX_VALIDATORS))
        .help("How many nodes decide together; 4 tolerate the loss of one, 7 of two");
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
        .help("First port: each validator has one for HTTP and the next for its peers");
    let new = Command::new("new")
        .about("Make a network of several validators on this machine")
        .long_about(
            "Make a network of several validators on this machine: its network file, and for each validator a folder with \
             its key and its configuration. Accounts and chains are those of the local network, whose key is public.",
        )
        .arg(validators)
        .arg(out)
        .arg(base_port);
    Command::new("network")
        .about("Make networks of several validators")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(new)
}

/// The parsed command.
pub(crate) fn parse(given: &ArgMatches) -> NewNetwork {
    let given = given.subcommand_matches("new").unwrap_or(given);
    NewNetwork {
        validators: given.get_one("validators").copied().unwrap_or(1),
        out: given.get_one("out").cloned().unwrap_or_default(),
        base_port: given.get_one("base-port").copied().unwrap_or(1),
    }
}
