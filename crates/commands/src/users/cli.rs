//! The arguments of `esker user`.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, value_parser};

use super::{Login, UserCommand};
use crate::replay::dev_switch;

/// Settings of the node that determine its data folder.
pub(crate) const FLAGS: &[&str] = &["network", "network-id", "data-dir", "config"];

/// The command, with the node's flags of [`FLAGS`].
pub(crate) fn command(flags: impl Iterator<Item = Arg>) -> Command {
    let name = || Arg::new("name").value_name("NAME").required(true).help("The user's name");
    let file = |help| {
        let parser = value_parser!(PathBuf);
        Arg::new("file").value_name("FILE").required(true).value_parser(parser).help(help)
    };
    let password = || {
        Arg::new("password-file")
            .long("password-file")
            .value_name("PATH")
            .value_parser(value_parser!(PathBuf))
            .help("File that contains the password; a line break at its end is ignored [default: ask on the terminal]")
    };
    let of_user = |command, about| Command::new(command).about(about).arg(name()).arg(password());
    Command::new("user")
        .about("Manage the keystore's users of a stopped node")
        .long_about(
            "Manage the keystore's users in the data folder of a stopped node. For a running node, use its API at \
             /ext/keystore.",
        )
        .subcommand_required(true)
        .arg_required_else_help(true)
        .arg(dev_switch().global(true))
        .args(flags.map(|flag| flag.global(true)))
        .subcommand(of_user(
            "create",
            "Create a user: the password has 8 characters or more, upper and lower case, a digit and a symbol",
        ))
        .subcommand(Command::new("list").about("Print the names of all users, one per line"))
        .subcommand(
            of_user("export", "Write a user to a new file; its keys stay encrypted with the password")
                .arg(file("The file to write")),
        )
        .subcommand(
            of_user("import", "Create a user from an exported file, under any name")
                .arg(file("A file of `esker user export`, or the `user` in a reply of keystore.exportUser")),
        )
        .subcommand(of_user("delete", "Delete a user and its keys"))
}

/// The parsed command, and the matches with the node's flags.
pub(crate) fn parse(matches: &ArgMatches) -> (UserCommand, &ArgMatches) {
    let (command, given) = matches.subcommand().expect("clap requires a command");
    let login = || Login {
        name: given.get_one::<String>("name").cloned().unwrap_or_default(),
        password_file: given.get_one::<PathBuf>("password-file").cloned(),
    };
    let file = || given.get_one::<PathBuf>("file").cloned().unwrap_or_default();
    let command = match command {
        "create" => UserCommand::Create(login()),
        "export" => UserCommand::Export(login(), file()),
        "import" => UserCommand::Import(login(), file()),
        "delete" => UserCommand::Delete(login()),
        _ => UserCommand::List,
    };
    (command, given)
}
