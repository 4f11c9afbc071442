//! `esker hardhat`: the flags of `npx hardhat node` as settings of `esker evm`.

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{ArgMatches, Command, CommandFactory as _, FromArgMatches as _, Parser, ValueEnum};
use esker_settings::config::Flags;

use crate::anvil;

/// The name of the command.
pub(crate) const NAME: &str = "hardhat";

/// What Hardhat's network has, and `esker evm` by default has not.
const DEFAULTS: [(&str, &str); 3] =
    [("accounts", "20"), ("gas-limit", "60000000"), ("interval-in-ms", "true")];

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
    /// The URL of the network to fork: not supported yet
    #[arg(long, value_name = "URL")]
    fork: Option<String>,
    /// The block of the fork: not supported yet
    #[arg(long, value_name = "NUM")]
    fork_block_number: Option<u64>,
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
    if flags.fork.is_some() || flags.fork_block_number.is_some() {
        let text = "--fork: forks of other networks are not supported yet: leave it out";
        return Err(command().error(ErrorKind::InvalidValue, text));
    }
    let HardhatFlags { hostname, port, chain_id, artifacts, .. } = flags;
    let mut set: Flags =
        DEFAULTS.into_iter().map(|(name, value)| (name, value.to_owned())).collect();
    set.extend([("http-host", hostname), ("evm-port", port.to_string())]);
    set.extend(chain_id.map(|id| ("chain-id", id.to_string())));
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
    }

    #[test]
    fn what_it_cannot_do_is_refused() {
        for (args, reason) in [
            (&["--fork", "http://127.0.0.1:1"][..], "--fork: forks of other networks"),
            (&["--fork-block-number", "5"], "--fork: forks of other networks"),
            (&["--chain-type", "op"], "invalid value 'op' for '--chain-type <CHAIN_TYPE>'"),
            (&["test"], "invalid value 'test' for '[TASK]'"),
            (&["--port", "70000"], "70000 is not in 0..=65535"),
        ] {
            let refused = settings(args).unwrap_err();
            assert!(refused.contains(reason), "{args:?}: {refused}");
        }
    }
}
