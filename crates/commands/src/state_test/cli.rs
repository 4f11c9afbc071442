//! The arguments of `esker evm state-test`.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, ValueHint, value_parser};

use super::StateTestCommand;

const NAME: &str = "state-test";

/// The command, one of `esker evm`.
pub(crate) fn command() -> Command {
    let files = Arg::new("files")
        .value_name("FILE")
        .required(true)
        .num_args(1..)
        .value_parser(value_parser!(PathBuf))
        .value_hint(ValueHint::AnyPath)
        .help("Files of state tests, and folders, whose files *.json are run");
    Command::new(NAME)
        .about("Run Ethereum's state tests")
        .long_about(
            "Run Ethereum's state tests in their public form. Each case that fails is printed on one line; the last line \
             has the numbers of those that passed and failed. The exit code is 1 if any failed.",
        )
        .arg(files)
}

/// The parsed command, if it was given to `esker evm`.
pub(crate) fn parse(evm: &ArgMatches) -> Option<StateTestCommand> {
    let given = evm.subcommand_matches(NAME)?;
    let files = given.get_many::<PathBuf>("files").unwrap_or_default().cloned();
    Some(StateTestCommand { files: files.collect() })
}
