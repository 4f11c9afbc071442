//! `esker hardhat`: the flags of `npx hardhat node` as settings of `esker evm`.

use std::path::PathBuf;

use clap::{ArgMatches, Command, CommandFactory as _, FromArgMatches as _, Parser, ValueEnum};
use esker_settings::config::Flags;

use crate::anvil;

/// The name of the command.
pub(crate) const NAME: &str = "hardhat";

/// What Hardhat's network has, and `esker evm` by default has not.
const DEFAULTS: [(&str, &str); 6] = [
    ("accounts", "20"),
    ("gas-limit", "60000000"),
    ("interval-in-ms", "true"),
    ("hardhat-answers", "true"),
    ("refuse-failed-sends", "true"),
    ("suggested-tip", anvil::SUGGESTED_TIP),
];

/// The ID of a forked chain, too.
const CHAIN_ID: &str = "31337";

/// Start a chain of the EVM for development, with the flags and the banner of `npx hardhat node`
///
/// The chain is that of `esker evm`. docs/from-anvil.md says what differs.
#[derive(Clone, Debug, Parser)]
#[command(name = NAME)]
struct HardhatFlags {
    /// The task of Hardhat
    #[arg(value_parser = ["node"])]
    task: Option<String>,
    /// The host to which to bind to for new connections
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    hostname: String,
    /// The port on which to listen for new connections
    #[arg(long, value_name = "NUM", default_value_t = 8545)]
    port: u16,
    /// The chain ID [default: 31337]
    #[arg(long, value_name = "NUM")]
    chain_id: Option<u64>,
    /// The type of the chain
    #[arg(long, default_value = "l1")]
    chain_type: ChainType,
    /// Folder of artifacts, for the names of contracts, functions, events and errors (Esker's own; may be repeated)
    #[arg(long, value_name = "PATH")]
    artifacts: Vec<PathBuf>,
    /// The URL of the network to fork
    #[arg(long, value_name = "URL")]
    fork: Option<String>,
    /// The block of the fork
    #[arg(long, value_name = "NUM", requires = "fork")]
    fork_block_number: Option<u64>,
    /// Begin on the block of a file of `esker fork pack`, without a network (Esker's own)
    #[arg(long, value_name = "FILE", conflicts_with = "fork")]
    fork_from: Option<PathBuf>,
}

/// Types of chains that Hardhat 3 knows and that have Ethereum's rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ChainType {
    L1,
    Generic,
}

/// The command with its flags.
pub(crate) fn command() -> Command {
    HardhatFlags::command()
}

/// The settings of the node.
pub(crate) fn parse(given: &ArgMatches) -> Result<Flags, clap::Error> {
    let flags = HardhatFlags::from_arg_matches(given)?;
    let HardhatFlags {
        hostname,
        port,
        chain_id,
        artifacts,
        fork,
        fork_block_number,
        fork_from,
        ..
    } = flags;
    let mut set: Flags =
        DEFAULTS.into_iter().map(|(name, value)| (name, value.to_owned())).collect();
    set.extend([("http-host", hostname), ("evm-port", port.to_string())]);
    set.extend(chain_id.map(|id| ("chain-id", id.to_string())));
    if let Some(url) = fork {
        // Hardhat's chain keeps its own ID.
        set.entry("chain-id").or_insert_with(|| CHAIN_ID.to_owned());
        set.insert("fork-url", url);
    }
    if let Some(path) = fork_from {
        set.entry("chain-id").or_insert_with(|| CHAIN_ID.to_owned());
        set.insert("fork-from", path.display().to_string());
    }
    set.extend(fork_block_number.map(|number| ("fork-block", number.to_string())));
    anvil::insert_artifacts(&mut set, &artifacts);
    Ok(set)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(args: &[&str]) -> Result<Flags, String> {
        let given = command().try_get_matches_from([&[NAME], args].concat());
        given.and_then(|given| parse(&given)).map_err(|error| error.to_string())
    }

    #[test]
    fn flags_are_settings() {
        let usual = settings(&[]).unwrap();
        assert_eq!(usual, settings(&["node"]).unwrap());
        assert_eq!(
            (usual["evm-port"].as_str(), usual["http-host"].as_str()),
            ("8545", "127.0.0.1")
        );
        assert_eq!(usual.get("chain-id"), None);
        let given = settings(&[
            "node",
            "--port",
            "0",
            "--hostname",
            "0.0.0.0",
            "--chain-id",
            "7",
            "--chain-type",
            "generic",
        ]);
        let given = given.unwrap();
        assert_eq!((given["evm-port"].as_str(), given["http-host"].as_str()), ("0", "0.0.0.0"));
        assert_eq!((given["chain-id"].as_str(), given["accounts"].as_str()), ("7", "20"));
        let url = "http://127.0.0.1:1";
        let fork = settings(&["--fork", url, "--fork-block-number", "5"]).unwrap();
        assert_eq!((fork["fork-url"].as_str(), fork["fork-block"].as_str()), (url, "5"));
        assert_eq!(fork["chain-id"], CHAIN_ID);
    }

    #[test]
    fn what_it_cannot_do_is_refused() {
        for (args, reason) in [
            (&["--fork-block-number", "5"][..], "required arguments were not provided"),
            (&["--chain-type", "op"], "invalid value 'op' for '--chain-type <CHAIN_TYPE>'"),
            (&["test"], "invalid value 'test' for '[TASK]'"),
            (&["--port", "70000"], "70000 is not in 0..=65535"),
        ] {
            let refused = settings(args).unwrap_err();
            assert!(refused.contains(reason), "{args:?}: {refused}");
        }
    }
}
