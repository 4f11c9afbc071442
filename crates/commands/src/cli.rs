//! The command line, built from the node's table of settings.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint};
use esker_primitives::excerpt;
use esker_settings::config::keys::{ALONE_SECTION, KEYS, Key};
use esker_settings::config::{Flags, Mode};

use crate::anvil;
use crate::backup::{self, BackupCommand};
use crate::fork::{self, ForkCommand};
use crate::hardhat;
use crate::network::{self, NetworkCommand};
use crate::online::{self, OnlineCommand};
use crate::replay::{self, ReplayCommand};
use crate::rewind::{self, RewindCommand};
use crate::state_test::{self, StateTestCommand};
use crate::status::{self, StatusCommand};
use crate::tools::{ToolCommand, ToolOutput};
use crate::users::{self, UserCommand};
use crate::verify;

/// Short names of flags.
const SHORT_NAMES: [(&str, &str); 1] = [("follow-snapshot", "snapshot")];

/// A parsed command line.
#[derive(Debug)]
pub enum Invocation {
    /// Run a node.
    Run(Mode, Flags),
    /// Run a chain of the EVM with the flags and the banner of another tool.
    Tool(ToolCommand),
    /// Print the configuration that such a node would have.
    ShowConfig(Mode, Flags),
    /// Manage the keystore users of a stopped node.
    User(Mode, UserCommand, Flags),
    /// Import or export the blocks of a stopped node.
    Replay(Mode, ReplayCommand, Flags),
    /// Copy the data of a running or stopped node.
    Backup(Mode, BackupCommand, Flags),
    /// Verify all data of a stopped node.
    Verify(Mode, Flags),
    /// Show the status of a running node.
    Status(StatusCommand),
    /// Make or run a network of several validators.
    Network(NetworkCommand),
    /// Work with a running node as its user.
    Online(OnlineCommand),
    /// Rewind the last bundles of a stopped node.
    Rewind(Mode, RewindCommand, Flags),
    /// Run state tests.
    StateTest(StateTestCommand),
    /// Write or check the file of a fork.
    Fork(ForkCommand),
}

impl Invocation {
    /// The mode and the flags that the configuration is loaded with; the other commands need none.
    pub fn configuration(&self) -> (Mode, &Flags) {
        static NONE: Flags = Flags::new();
        match self {
            Self::Status(_)
            | Self::Network(_)
            | Self::Online(_)
            | Self::StateTest(_)
            | Self::Fork(_) => (Mode::Node, &NONE),
            Self::Tool(command) => (Mode::Evm, &command.flags),
            Self::Run(mode, flags)
            | Self::ShowConfig(mode, flags)
            | Self::Replay(mode, _, flags)
            | Self::Rewind(mode, _, flags)
            | Self::Backup(mode, _, flags)
            | Self::User(mode, _, flags)
            | Self::Verify(mode, flags) => (*mode, flags),
        }
    }
}

/// Parses arguments, starting with the program's name: a program with the name `anvil` is the command of that name. `version` is what `--version` prints after the name. An error is
/// a usage error or a request for help or version: clap prints it and has its exit code.
pub fn parse(
    args: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    version: &'static str,
) -> Result<Invocation, clap::Error> {
    let args: Vec<OsString> = args.into_iter().map(Into::into).collect();
    if args.first().is_some_and(|program| anvil::is_program(program)) {
        let command = anvil::parse(&anvil::command().try_get_matches_from(args)?)?;
        return Ok(Invocation::Tool(command.into()));
    }
    let matches = command().version(version).try_get_matches_from(args).map_err(|error| {
        if error.context().any(|(kind, value)| is_misleading(&error, kind, value)) {
            without_misleading(&error)
        } else {
            error
        }
    })?;
    match matches.subcommand() {
        Some(("dev", given)) => Ok(Invocation::Run(Mode::Dev, dev_flags(given)?)),
        Some(("evm", given)) => match state_test::parse(given) {
            Some(command) => Ok(Invocation::StateTest(command)),
            None => Ok(Invocation::Run(Mode::Evm, dev_flags(given)?)),
        },
        Some((anvil::NAME, given)) => Ok(Invocation::Tool(anvil::parse(given)?.into())),
        Some((hardhat::NAME, given)) => {
            let (flags, output) = (hardhat::parse(given)?, ToolOutput::Hardhat);
            Ok(Invocation::Tool(ToolCommand { flags, output }))
        }
        Some(("node", given)) => Ok(Invocation::Run(Mode::Node, flags(given))),
        Some(("config", config)) => {
            let given = config.subcommand_matches("show").unwrap_or(config);
            Ok(Invocation::ShowConfig(mode(given), dev_flags(given)?))
        }
        Some(("user", given)) => {
            let (command, given) = users::parse(given);
            Ok(Invocation::User(mode(given), command, flags(given)))
        }
        Some((name @ ("import" | "export"), given)) => {
            Ok(Invocation::Replay(mode(given), replay::parse(name, given), flags(given)))
        }
        Some(("backup", given)) => {
            Ok(Invocation::Backup(mode(given), backup::parse(given), flags(given)))
        }
        Some(("fork", given)) => Ok(Invocation::Fork(fork::parse(given))),
        Some(("network", given)) => Ok(Invocation::Network(network::parse(given))),
        Some(("status", given)) => Ok(Invocation::Status(status::parse(given))),
        Some((name, given)) if online::is_command(name) => {
            Ok(Invocation::Online(online::parse(name, given)))
        }
        Some(("db", db)) => {
            if let Some(given) = db.subcommand_matches("rewind") {
                return Ok(Invocation::Rewind(mode(given), rewind::parse(given), flags(given)));
            }
            let given = db.subcommand_matches("verify").unwrap_or(db);
            Ok(Invocation::Verify(mode(given), flags(given)))
        }
        // clap requires one of the commands above.
        _ => Err(command().error(clap::error::ErrorKind::MissingSubcommand, "no command given")),
    }
}

/// Whether a part of a usage error suggests a name that has little to do with the one that was given: the library takes
/// any that begins alike or has many of its letters.
fn is_misleading(error: &clap::Error, kind: ContextKind, value: &ContextValue) -> bool {
    let given = match kind {
        ContextKind::SuggestedArg => error.get(ContextKind::InvalidArg),
        ContextKind::SuggestedSubcommand => error.get(ContextKind::InvalidSubcommand),
        ContextKind::SuggestedValue => error.get(ContextKind::InvalidValue),
        _ => None,
    };
    let Some(ContextValue::String(given)) = given else { return false };
    match value {
        ContextValue::String(suggested) => !is_close(given, suggested),
        ContextValue::Strings(suggested) => !suggested.iter().any(|one| is_close(given, one)),
        _ => false,
    }
}

/// Whether one name may be the other one misspelled.
fn is_close(given: &str, known: &str) -> bool {
    let normal = |name: &str| name.replace(['-', '_'], "").to_ascii_lowercase();
    let (given, known) = (normal(given), normal(known));
    let most = 1 + known.len() / 3;
    given.len().abs_diff(known.len()) <= most && strsim::osa_distance(&given, &known) <= most
}

/// The error without the parts that mislead.
fn without_misleading(error: &clap::Error) -> clap::Error {
    let mut plain = clap::Error::new(error.kind()).with_cmd(&command());
    for (kind, value) in error.context() {
        if !is_misleading(error, kind, value) {
            plain.insert(kind, value.clone());
        }
    }
    plain
}

/// The mode of a command with the switches `--dev` and `--evm`.
fn mode(given: &ArgMatches) -> Mode {
    // The commands for users have no `--evm`.
    let is_evm = given.try_get_one("evm").ok().flatten().copied().unwrap_or(false);
    match (given.get_flag("dev"), is_evm) {
        (true, _) => Mode::Dev,
        (false, true) => Mode::Evm,
        (false, false) => Mode::Node,
    }
}

/// Settings that `esker evm` has not: those of other chains, of users, and of networks of several nodes.
const NOT_OF_EVM: [&str; 22] = [
    "network",
    "network-id",
    "native-aliases",
    "http-port",
    "public",
    "api-keystore-enabled",
    "allow-keystore-on-public-address",
    "api-key-methods-enabled",
    "keystore-hashes-at-once",
    "keystore-hash-queue",
    "keystore-hash-wait",
    "index-transactions",
    "validator-key",
    "peer-key",
    "validator-key-is-new",
    "validator-listen",
    "validator-changes",
    "real-fees",
    "gas-price",
    "list-well-known-account",
    "follow-snapshot",
    "rewind-depth",
];

/// Whether `esker dev` and `esker node` have a setting.
fn is_of_networks(key: &Key) -> bool {
    key.section != ALONE_SECTION
}

/// The commands with their flags and help texts.
pub fn command() -> Command {
    let dev = Command::new("dev")
        .about("Start a development network in one process")
        .long_about(
            "Start a development network in one process: its own network with funded accounts, ready in \
             milliseconds. Without --data-dir the data is in a temporary folder, which is removed at the end.",
        )
        .args(
            KEYS.iter()
                .filter(|key| key.name != "network" && is_of_networks(key))
                .flat_map(dev_arguments),
        );
    let evm = Command::new("evm")
        .about("Start one chain of the EVM alone, with Ethereum's rules")
        .long_about(
            "Start one chain of the EVM alone, with Ethereum's rules: for development with funded accounts, ready in \
             milliseconds, or the chain of a genesis file (docs/ethereum.md). Without --data-dir the data is in a temporary \
             folder, which is removed at the end.",
        )
        .args(KEYS.iter().filter(|key| !NOT_OF_EVM.contains(&key.name)).flat_map(dev_arguments))
        .subcommand_negates_reqs(true)
        .args_conflicts_with_subcommands(true)
        .subcommand(state_test::command());
    let node = Command::new("node")
        .about("Run a node of a network")
        .long_about(
            "Run a node of a network: local, test, main, dev, or one described by a file (docs/networks.md).",
        )
        .args(KEYS.iter().filter(|key| is_of_networks(key)).map(argument));
    let show = Command::new("show")
        .about("Print each setting with its value and origin")
        .arg(
            Arg::new("dev")
                .long("dev")
                .action(ArgAction::SetTrue)
                .help("Show what `esker dev` would use, not `esker node`"),
        )
        .arg(
            Arg::new("evm")
                .long("evm")
                .action(ArgAction::SetTrue)
                .conflicts_with("dev")
                .help("Show what `esker evm` would use, not `esker node`"),
        )
        .args(KEYS.iter().flat_map(dev_arguments));
    let config = Command::new("config")
        .about("Show the configuration")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(show);
    Command::new("esker")
        .version(env!("CARGO_PKG_VERSION"))
        .about("A blockchain node: X-Chain assets and C-Chain EVM behind JSON-RPC")
        .after_help(
            "Every flag is also an environment variable (--http-port: ESKER_HTTP_PORT) and a key of the \
             configuration file (http-port). A flag overrides a variable, and a variable overrides the file.\n\n\
             Exit codes: 0 ok, 1 failure while running, 2 usage or configuration, 3 damaged data, 4 port in \
             use.",
        )
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(dev)
        .subcommand(evm)
        .subcommand(anvil::command())
        .subcommand(hardhat::command())
        .subcommand(node)
        .subcommand(config)
        .subcommand(status::command())
        .subcommands(online::commands())
        .subcommand(network::command())
        .subcommand(fork::command())
        .subcommand(backup::command(KEYS.iter().map(argument).collect()))
        .subcommand(verify::command(|| KEYS.iter().map(argument).collect()))
        .subcommands(replay::commands(|| KEYS.iter().map(argument).collect()))
        .subcommand(users::command(
            KEYS.iter().filter(|key| users::FLAGS.contains(&key.name)).map(argument),
        ))
}

fn argument(key: &Key) -> Arg {
    let arg = Arg::new(key.name).long(key.name).help(help(key)).help_heading(key.section);
    let arg = match SHORT_NAMES.iter().find(|(name, _)| *name == key.name) {
        Some((_, short)) => arg.visible_alias(*short),
        None => arg,
    };
    if key.is_switch {
        // `--flag`, `--flag=false`; never `--flag false`, which would consume the next argument.
        arg.num_args(0..=1).require_equals(true).default_missing_value("true").value_name("BOOL")
    } else {
        let is_path = matches!(key.kind, "path" | "paths separated by commas");
        let hint = if is_path { ValueHint::AnyPath } else { ValueHint::Unknown };
        let action = if key.is_repeatable { ArgAction::Append } else { ArgAction::Set };
        arg.value_name(value_name(key)).value_hint(hint).action(action)
    }
}

/// The argument with its short form and its further names, which are arguments of their own: clap says of two names of
/// one argument only that it was given twice.
fn dev_arguments(key: &'static Key) -> Vec<Arg> {
    let mut first = argument(key).short(key.dev_short());
    let further: Vec<_> = key.dev_aliases().collect();
    if !further.is_empty() {
        first = first.help(format!("{} [also: --{}]", help(key), further.join(", --")));
    }
    let hidden = |name: &&'static str| argument(key).id(*name).long(*name).hide(true);
    let mut arguments: Vec<_> = further.iter().map(hidden).collect();
    arguments.insert(0, first);
    arguments
}

fn value_name(key: &Key) -> &'static str {
    match key.kind {
        "path" | "paths separated by commas" => "PATH",
        "text" | "texts, one a line" => "TEXT",
        "whole number" | "whole number from 1" => "N",
        "names separated by commas" | "words separated by spaces" => "LIST",
        "time such as 30s, 2m or 500ms" => "TIME",
        _ => "VALUE",
    }
}

fn help(key: &Key) -> String {
    let mut text = key.text();
    let default = match (key.default, key.dev_default) {
        ("", "") => return text,
        ("", dev) => format!(" [default: none; dev: {dev}]"),
        (node, dev) if node == dev => format!(" [default: {node}]"),
        (node, dev) => format!(" [default: {node}; dev: {dev}]"),
    };
    text.push_str(&default);
    text
}

fn flags(matches: &ArgMatches) -> Flags {
    KEYS.iter().filter_map(|key| Some((key.name, all_text(matches, key)?))).collect()
}

/// The text of a setting's flag, of one that may be given several times all its texts.
fn all_text(matches: &ArgMatches, key: &Key) -> Option<String> {
    if !key.is_repeatable {
        return text(matches, key.name).cloned();
    }
    let given = matches.try_get_many::<String>(key.name).ok().flatten()?;
    let given: Vec<_> = given.map(String::as_str).collect();
    Some(given.join(&key.separator.to_string()))
}

/// The text of a flag that was given. A command may lack a flag of the table.
fn text<'a>(matches: &'a ArgMatches, name: &str) -> Option<&'a String> {
    matches.try_get_one(name).ok().flatten()
}

/// The flags, some of them under further names.
fn dev_flags(matches: &ArgMatches) -> Result<Flags, clap::Error> {
    let mut flags = flags(matches);
    for key in KEYS {
        let mut known = text(matches, key.name).map(|text| (key.name, text));
        for alias in key.dev_aliases() {
            let Some(value) = text(matches, alias) else { continue };
            match known {
                Some((name, other)) if other != value => {
                    let (other, value) = (excerpt(other), excerpt(value));
                    let conflict = format!(
                        "--{name} {other} and --{alias} {value} are the same setting: give one of them"
                    );
                    let kind = clap::error::ErrorKind::ArgumentConflict;
                    return Err(command().error(kind, conflict));
                }
                _ => known = Some((alias, value)),
            }
            flags.insert(key.name, value.clone());
        }
    }
    Ok(flags)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_args(
        args: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    ) -> Result<Invocation, clap::Error> {
        parse(args, "1.2.3 (abc)")
    }

    fn run(args: &[&str]) -> Result<(Mode, Flags), String> {
        let invocation =
            parse_args(std::iter::once(&"esker").chain(args)).map_err(|e| e.to_string())?;
        let (mode, flags) = invocation.configuration();
        Ok((mode, flags.clone()))
    }

    #[test]
    fn the_commands_are_consistent() {
        command().debug_assert();
    }

    #[test]
    fn flags_as_the_reference_writes_them() {
        let (mode, flags) = run(&[
            "node",
            "--network-id=12345",
            "--http-port",
            "0",
            "--api-admin-enabled",
            "--index-transactions=false",
            "--http-allowed-hosts=a,b",
        ])
        .unwrap();
        assert_eq!(mode, Mode::Node);
        let given: Vec<_> = flags.iter().map(|(name, text)| (*name, text.as_str())).collect();
        assert_eq!(
            given,
            [
                ("api-admin-enabled", "true"),
                ("http-allowed-hosts", "a,b"),
                ("http-port", "0"),
                ("index-transactions", "false"),
                ("network-id", "12345"),
            ]
        );
        assert_eq!(run(&["config", "show", "--dev", "--json"]).unwrap().0, Mode::Dev);
    }

    #[test]
    fn folders_of_artifacts_may_be_several() {
        let (_, flags) = run(&["dev", "--artifacts", "out", "--artifacts", "a,b"]).unwrap();
        assert_eq!(flags["artifacts"], "out,a,b");
        assert_eq!(run(&["dev"]).unwrap().1.get("artifacts"), None);
        assert!(run(&["dev", "--gas-limit", "1", "--gas-limit", "2"]).is_err());
        let tools: [&[&str]; 3] = [&["evm"], &["anvil"], &["hardhat", "node"]];
        for tool in tools {
            let args = [tool, &["--artifacts", "out", "--artifacts", "b"]].concat();
            assert_eq!(run(&args).unwrap().1["artifacts"], "out,b", "{tool:?}");
        }
    }

    #[test]
    fn flags_as_other_development_nodes_have_them() {
        let given = |args: &[&str]| run(&[&["dev"], args].concat()).map(|(_, flags)| flags);
        let one = |name: &'static str, text: &str| Flags::from([(name, text.to_owned())]);
        for (args, name, text) in [
            (&["--port", "1"][..], "evm-port", "1"),
            (&["-p", "1"], "evm-port", "1"),
            (&["--evm-port", "1", "--port=1"], "evm-port", "1"),
            (&["--host", "::1"], "http-host", "::1"),
            (&["-a", "3"], "accounts", "3"),
            (&["-m", "some words"], "mnemonic", "some words"),
            (&["--block-base-fee-per-gas", "0"], "base-fee", "0"),
            (&["--allow-origin", "*"], "http-allowed-origins", "*"),
            (&["--quiet"], "silent", "true"),
            (&["-q"], "silent", "true"),
        ] {
            assert_eq!(given(args), Ok(one(name, text)), "{args:?}");
        }
        for (args, texts) in [
            (&["--port", "1", "--evm-port", "2"][..], ["--evm-port 2", "--port 1"]),
            (&["-p", "1", "--port", "2"], ["--evm-port 1", "--port 2"]),
            (&["--silent", "--quiet=false"], ["--silent true", "--quiet false"]),
        ] {
            let error = given(args).unwrap_err();
            assert!(texts.iter().all(|text| error.contains(text)), "{error}");
        }
        let (mode, flags) = run(&["config", "show", "--dev", "--port", "1"]).unwrap();
        assert_eq!((mode, flags), (Mode::Dev, one("evm-port", "1")));
        // `esker node` has the settings by their own names alone.
        for args in [["node", "--port", "1"], ["node", "-p", "1"], ["node", "-a", "1"]] {
            assert_eq!(parse_args(["esker"].iter().chain(&args)).unwrap_err().exit_code(), 2);
        }
        for args in [["dev", "--port"], ["dev", "-a"]] {
            assert_eq!(parse_args(["esker"].iter().chain(&args)).unwrap_err().exit_code(), 2);
        }
        let twice = ["esker", "dev", "--port", "1", "--evm-port", "2"];
        assert_eq!(parse_args(twice).unwrap_err().exit_code(), 2);
    }

    #[test]
    fn the_chain_that_is_alone_has_settings_of_its_own() {
        let (mode, flags) =
            run(&["evm", "-p", "1", "--genesis", "g.json", "--import", "c.rlp", "--no-build"])
                .unwrap();
        assert_eq!(mode, Mode::Evm);
        let given: Vec<_> = flags.iter().map(|(name, text)| (*name, text.as_str())).collect();
        assert_eq!(
            given,
            [("evm-port", "1"), ("genesis", "g.json"), ("import", "c.rlp"), ("no-build", "true")]
        );
        for command in ["dev", "node"] {
            for flag in ["--genesis=g", "--import=c", "--no-build", "--hardfork=osaka"] {
                assert!(run(&[command, flag]).is_err(), "{command} {flag}");
            }
        }
        for name in NOT_OF_EVM {
            assert!(KEYS.iter().any(|key| key.name == name), "{name}");
        }
        let parsed = parse_args(["esker", "evm", "state-test", "a.json", "b"]).unwrap();
        assert!(matches!(parsed, Invocation::StateTest(_)), "{parsed:?}");
    }

    #[test]
    fn commands_on_a_folder_take_dev() {
        for command in [
            &["user", "list"][..],
            &["import", "f"],
            &["export", "f"],
            &["backup", "f"],
            &["db", "verify"],
            &["db", "rewind"],
        ] {
            assert_eq!(run(command).unwrap().0, Mode::Node, "{command:?}");
            assert_eq!(run(&[command, &["--dev"]].concat()).unwrap().0, Mode::Dev, "{command:?}");
            if command[0] == "user" {
                continue;
            }
            assert_eq!(run(&[command, &["--evm"]].concat()).unwrap().0, Mode::Evm, "{command:?}");
            assert!(run(&[command, &["--evm", "--dev"]].concat()).is_err(), "{command:?}");
        }
        assert_eq!(run(&["user", "--dev", "list"]).unwrap().0, Mode::Dev);
        assert!(run(&["user", "list", "--dev=no"]).is_err());
    }

    #[test]
    fn usage_errors_have_code_2_and_a_hint() {
        let error = parse_args(["esker", "node", "--htpp-port", "1"]).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("--http-port"), "{error}");
        for (args, near) in [
            (["esker", "dev", "--acounts"], Some("'--accounts'")),
            (["esker", "dev", "--block_time"], Some("'--block-time'")),
            (["esker", "dev", "--auto-impersonates-me"], None),
            (["esker", "dev", "--stores"], None),
            (["esker", "dev", "--hardfork"], None),
            (["esker", "evm", "--hard-fork"], Some("'--hardfork'")),
            (["esker", "evm", "--real-fees"], None),
            (["esker", "transfer", "--gas-limit"], None),
        ] {
            let error = parse_args(args).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            let text = error.to_string();
            assert!(text.contains(args[2]) && text.contains("Usage: "), "{text}");
            match near {
                Some(near) => assert!(text.contains(near), "{text}"),
                None => assert!(!text.contains("similar"), "{text}"),
            }
        }
        for args in [&["esker"][..], &["esker", "nod"], &["esker", "dev", "--network", "main"]] {
            assert_eq!(parse_args(args).unwrap_err().exit_code(), 2, "{args:?}");
        }
        for args in [["esker", "--version"], ["esker", "--help"]] {
            assert_eq!(parse_args(args).unwrap_err().exit_code(), 0, "{args:?}");
        }
        let version = parse_args(["esker", "--version"]).unwrap_err().to_string();
        assert_eq!(version, "esker 1.2.3 (abc)\n");
    }
}
