//! The arguments of `esker fork`.

use std::path::PathBuf;

use alloy_primitives::B256;
use clap::{Arg, ArgMatches, Command, ValueHint, value_parser};

use super::{ForkCommand, PackCommand, VerifyCommand};

/// The command.
pub(crate) fn command() -> Command {
    let data_dir = Arg::new("data-dir")
        .long("data-dir")
        .value_name("PATH")
        .required(true)
        .value_parser(value_parser!(PathBuf))
        .value_hint(ValueHint::DirPath)
        .help("The data folder of the fork, whose node may be running");
    let pack = Command::new("pack")
        .about("Write what a fork has read into one file, with its proofs")
        .long_about(
            "Write everything that a fork has read from its source into one file, with its proofs. `esker evm --fork-from FILE`, \
             or `esker dev` for a C-Chain, runs on it without a network.",
        )
        .arg(file("The file to write, in place of an older one"))
        .arg(data_dir)
        .arg(block_hash("The block, if the folder has several"));
    let verify = Command::new("verify")
        .about("Check a file of `esker fork pack`")
        .long_about(
            "Check a file of `esker fork pack`: the hash of the block's header, and each value against its state root. What \
             only the source vouches for is counted. The exit code is 1 if a record is damaged or not proved.",
        )
        .arg(file("The file to check"))
        .arg(block_hash("The block that the file is to be of"));
    Command::new("fork")
        .about("Write or check the file of a fork")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(pack)
        .subcommand(verify)
}

fn file(help: &'static str) -> Arg {
    Arg::new("file")
        .value_name("FILE")
        .required(true)
        .value_parser(value_parser!(PathBuf))
        .value_hint(ValueHint::FilePath)
        .help(help)
}

fn block_hash(help: &'static str) -> Arg {
    Arg::new("block-hash")
        .long("block-hash")
        .value_name("HASH")
        .value_parser(value_parser!(B256))
        .help(help)
}

/// The parsed command.
pub(crate) fn parse(given: &ArgMatches) -> ForkCommand {
    let path =
        |given: &ArgMatches, name| given.get_one::<PathBuf>(name).cloned().unwrap_or_default();
    let hash = |given: &ArgMatches| given.get_one::<B256>("block-hash").copied();
    if let Some(given) = given.subcommand_matches("pack") {
        let (file, data_dir) = (path(given, "file"), path(given, "data-dir"));
        return ForkCommand::Pack(PackCommand { file, data_dir, block_hash: hash(given) });
    }
    let given = given.subcommand_matches("verify").unwrap_or(given);
    ForkCommand::Verify(VerifyCommand { file: path(given, "file"), block_hash: hash(given) })
}
