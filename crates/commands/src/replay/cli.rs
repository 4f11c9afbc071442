//! The arguments of `esker import` and `esker export`.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use super::ReplayCommand;

/// The commands; both accept the flags of `esker node`.
pub(crate) fn commands(flags: impl Fn() -> Vec<Arg>) -> [Command; 2] {
    let of_file = |command, about, file| {
        let parser = value_parser!(PathBuf);
        Command::new(command)
            .about(about)
            .arg(Arg::new("file").value_name("FILE").required(true).value_parser(parser).help(file))
            .args(mode_switches())
            .args(flags())
    };
    [
        of_file(
            "import",
            "Import accepted blocks from a file into a stopped node",
            "A file of `esker export`, with one block per line; - for standard input",
        )
        .long_about(
            "Import accepted blocks from a file into the data folder of a stopped node. Each block is verified like a \
             block of another validator. Blocks that the folder already has are skipped, so an import that was \
             stopped can be continued by running it again.",
        ),
        of_file(
            "export",
            "Export all accepted blocks of a stopped node to a new file",
            "The file to write, with one block per line; - for standard output",
        )
        .arg(
            Arg::new("from")
                .long("from")
                .value_name("HEIGHT")
                .value_parser(value_parser!(u64).range(1..))
                .help("Height of the first bundle to export; by default all blocks are exported"),
        )
        .long_about(
            "Export all accepted blocks of a stopped node to a new file. With --from, the file \
             begins with the blocks of a later bundle, and only a data folder that has all earlier blocks can import \
             it. A folder that joined from a snapshot has no earlier blocks and needs --from.",
        ),
    ]
}

/// The switch `--dev` of commands on a node's data.
pub(crate) fn dev_switch() -> Arg {
    Arg::new("dev")
        .long("dev")
        .action(ArgAction::SetTrue)
        .help("Work on the data of `esker dev`, not of `esker node`")
}

/// The switches `--dev` and `--evm` of commands on a node's data.
pub(crate) fn mode_switches() -> [Arg; 2] {
    let evm = Arg::new("evm")
        .long("evm")
        .action(ArgAction::SetTrue)
        .conflicts_with("dev")
        .help("Work on the data of `esker evm`, not of `esker node`");
    [dev_switch(), evm]
}

/// The parsed command.
pub(crate) fn parse(name: &str, given: &ArgMatches) -> ReplayCommand {
    let file = given.get_one::<PathBuf>("file").cloned().unwrap_or_default();
    match name {
        "import" => ReplayCommand::Import(file),
        _ => ReplayCommand::Export { file, from: given.get_one("from").copied() },
    }
}
