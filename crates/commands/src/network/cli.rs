//! The arguments of `esker network`.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint, value_parser};

use super::{MAX_VALIDATORS, NetworkCommand, NewNetwork, NewValidator, RotateCommand};
use crate::node_url::{self, NodeUrl};

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
    let base_port = port(
        "base-port",
        "First port: each validator has one for HTTP and the next for its peers, each follower one for HTTP",
    );
    let addresses = Arg::new("address")
        .long("address")
        .value_name("HOST:PORT")
        .action(ArgAction::Append)
        .help("Where a validator's peers reach it, once for each validator, if they run on several machines")
        .long_help(
            "Where a validator's peers reach it, with an IP address or a name: once for each validator, if they run on \
             several machines. Each node then has --base-port for HTTP.",
        );
    let new = Command::new("new")
        .about("Make a network of several validators")
        .long_about(
            "Make a network of several validators, on this machine unless they have addresses: its network file, and for each validator and follower a \
             folder with its key and its configuration. Accounts and chains are those of the local network, whose key is public.",
        )
        .arg(validators)
        .arg(followers)
        .arg(new_folder())
        .arg(base_port)
        .arg(addresses);
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
        .subcommand(rotate())
        .subcommand(new_validator())
}

fn new_folder() -> Arg {
    Arg::new("out")
        .long("out")
        .value_name("DIR")
        .required(true)
        .value_hint(ValueHint::DirPath)
        .value_parser(value_parser!(PathBuf))
        .help("Folder to make; it must not exist")
}

fn port(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .value_name("PORT")
        .default_value("9650")
        .value_parser(value_parser!(u16).range(1..))
        .help(help)
}

fn network_file(help: &'static str) -> Arg {
    Arg::new("network")
        .long("network")
        .value_name("FILE")
        .required(true)
        .value_hint(ValueHint::FilePath)
        .value_parser(value_parser!(PathBuf))
        .help(help)
}

fn rotate() -> Command {
    let height = Arg::new("at-height")
        .long("at-height")
        .value_name("BUNDLE")
        .required(true)
        .value_parser(value_parser!(u64).range(1..))
        .help("First bundle that the new validators decide; the same for all operators");
    let url = Arg::new("url")
        .long("url")
        .value_name("URL")
        .default_value("http://127.0.0.1:9650")
        .help("Your running validator, with its admin API");
    let out = Arg::new("out")
        .long("out")
        .value_name("CHANGES")
        .value_hint(ValueHint::FilePath)
        .value_parser(value_parser!(PathBuf))
        .help("Write the agreed changes to this file, which a new validator needs (validator-changes)");
    Command::new("rotate")
        .about("Approve a change of the validators")
        .long_about(
            "Approve a change of the validators, as the operator of one of them: from a bundle on, those of another network \
             file decide. The operators of a quorum run the same command, each against their own validator; then the change is \
             agreed, and all take it at that bundle. Run again, it shows who is missing (docs/validators.md).",
        )
        .arg(network_file("Network file of this network with the new validators"))
        .arg(height)
        .arg(url)
        .arg(node_url::ca_file())
        .arg(out)
}

fn new_validator() -> Command {
    let address = Arg::new("address")
        .long("address")
        .value_name("HOST:PORT")
        .required(true)
        .help("Where the other validators will reach it");
    let http_port = port("http-port", "Port for HTTP");
    Command::new("new-validator")
        .about("Make the folder of a validator that joins a network")
        .long_about(
            "Make the folder of a validator that joins a network: its key and its configuration. Prints its entry for the network \
             file that the operators approve with `esker network rotate`.",
        )
        .arg(network_file("Network file of the running network, as its validators have it"))
        .arg(address)
        .arg(new_folder())
        .arg(http_port)
}

/// The parsed command.
pub(crate) fn parse(given: &ArgMatches) -> NetworkCommand {
    if let Some(given) = given.subcommand_matches("run") {
        return NetworkCommand::Run(given.get_one("folder").cloned().unwrap_or_default());
    }
    if let Some(given) = given.subcommand_matches("rotate") {
        return NetworkCommand::Rotate(RotateCommand {
            network: given.get_one("network").cloned().unwrap_or_default(),
            height: given.get_one("at-height").copied().unwrap_or_default(),
            node: NodeUrl::parse(given),
            out: given.get_one("out").cloned(),
        });
    }
    if let Some(given) = given.subcommand_matches("new-validator") {
        return NetworkCommand::NewValidator(NewValidator {
            network: given.get_one("network").cloned().unwrap_or_default(),
            address: given.get_one::<String>("address").cloned().unwrap_or_default(),
            out: given.get_one("out").cloned().unwrap_or_default(),
            http_port: given.get_one("http-port").copied().unwrap_or(1),
        });
    }
    let given = given.subcommand_matches("new").unwrap_or(given);
    NetworkCommand::New(NewNetwork {
        validators: given.get_one("validators").copied().unwrap_or(1),
        followers: given.get_one("followers").copied().unwrap_or(0),
        out: given.get_one("out").cloned().unwrap_or_default(),
        base_port: given.get_one("base-port").copied().unwrap_or(1),
        addresses: given.get_many("address").unwrap_or_default().cloned().collect(),
    })
}
