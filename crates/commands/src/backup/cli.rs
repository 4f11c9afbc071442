//! The arguments of `esker backup`.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, ValueHint, value_parser};

use super::BackupCommand;
use crate::node_url::{self, NodeUrl};
use crate::replay::mode_switches;

/// The command; it accepts the flags of `esker node`.
pub(crate) fn command(flags: Vec<Arg>) -> Command {
    let to = Arg::new("to")
        .value_name("FOLDER")
        .required(true)
        .value_parser(value_parser!(PathBuf))
        .value_hint(ValueHint::DirPath)
        .help("The folder to write; it must not exist");
    let url = Arg::new("url")
        .long("url")
        .value_name("URL")
        .help("A running node with its admin API, which then writes the folder [example: http://127.0.0.1:9650]");
    let rate = Arg::new("bytes-per-second")
        .long("bytes-per-second")
        .value_name("N")
        .value_parser(value_parser!(u64))
        .default_value("0")
        .help("Maximum number of bytes copied per second; 0: no limit");
    Command::new("backup")
        .about("Copy the data of a node into a new folder")
        .long_about(
            "Copy the data of a node into a new folder: blocks, state, users, the node's identity and its key files. \
             With --url, a running node writes a consistent copy and keeps running. Without it, the data folder of \
             a stopped node is copied. A node started with --data-dir FOLDER continues from the copy.",
        )
        .arg(to)
        .arg(url)
        .arg(node_url::ca_file().requires("url"))
        .arg(rate)
        .args(mode_switches())
        .args(flags)
}

/// The parsed command.
pub(crate) fn parse(given: &ArgMatches) -> BackupCommand {
    BackupCommand {
        to: given.get_one::<PathBuf>("to").cloned().unwrap_or_default(),
        node: given.contains_id("url").then(|| NodeUrl::parse(given)),
        bytes_per_second: given.get_one::<u64>("bytes-per-second").copied().unwrap_or(0),
    }
}
