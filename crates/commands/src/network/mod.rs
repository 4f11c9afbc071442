//! `esker network`: makes and runs a network of several validators on one machine, for trying it out and as an example, and
//! changes the validators of a running network.

mod cli;
mod member;
mod new;
mod new_validator;
mod ports;
mod rotate;
mod run;

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use esker_primitives::Randomness;
use esker_settings::exit_code;
use esker_settings::networks::NetworkError;
use esker_validators::{AddressError, ValidatorAddress, ValidatorKey, ValidatorPublicKey};
use serde_json::Value;
use thiserror::Error;

pub(crate) use cli::{command, parse};
pub use member::{MEMBER_ARGUMENT, stop_with_input};
pub use new::{NewNetwork, new};
pub use new_validator::{NewValidator, new_validator};
pub use rotate::{RotateCommand, RotateError, rotate};
pub use run::{RunNetworkError, run_network};

/// Name of the network file in the folder.
const NETWORK_FILE: &str = "network.json";

/// Name of a node's key file in its folder.
const KEY_FILE: &str = "key";

/// Name of a node's configuration file.
const CONFIG_FILE: &str = "config.toml";

/// Most validators of a network, and most followers.
const MAX_VALIDATORS: u16 = 100;

/// Name of a node's data folder.
const DATA_FOLDER: &str = "data";

/// The parsed subcommand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetworkCommand {
    /// Make a network.
    New(NewNetwork),
    /// Run the validators of the network in this folder.
    Run(PathBuf),
    /// Approve a change of the validators.
    Rotate(RotateCommand),
    /// Make the folder of a validator that joins a network.
    NewValidator(NewValidator),
}

/// The reason why there is no network.
#[derive(Debug, Error)]
pub enum NewNetworkError {
    /// The ports do not fit.
    #[error("--base-port {base_port}: {nodes} need {needed} ports from there, up to 65535")]
    Ports {
        /// As given.
        base_port: u16,
        /// The number of nodes, with their kind.
        nodes: String,
        /// Two for each validator, one for each follower.
        needed: u32,
    },
    /// There is not one address for each validator.
    #[error(
        "--address: {given} addresses for {validators} validators; give each its own, or none for a network on this machine"
    )]
    Addresses {
        /// The given number.
        given: usize,
        /// The number of validators.
        validators: u16,
    },
    /// Two validators have the same address.
    #[error("--address {0}: two validators have it")]
    AddressTwice(ValidatorAddress),
    /// A validator's peers would connect to its port for HTTP.
    #[error("--address {0}: --base-port has that port for HTTP")]
    AddressPort(ValidatorAddress),
    /// A file can't be written.
    #[error("can't write {}: {error}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The path can't be in a configuration file.
    #[error("--out {}: the path must be UTF-8", .0.display())]
    Path(PathBuf),
    /// The network file can't be read.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The network has no validators that another one could join.
    #[error("--network {}: it has no validators", .0.display())]
    NoValidators(PathBuf),
    /// The address is none.
    #[error("--address: {0}")]
    Address(AddressError),
}

impl NewNetworkError {
    /// The exit code of the process.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Ports { .. }
            | Self::Addresses { .. }
            | Self::AddressTwice(_)
            | Self::AddressPort(_)
            | Self::Path(_)
            | Self::Network(_)
            | Self::NoValidators(_)
            | Self::Address(_) => exit_code::CONFIG,
            Self::Write { error, .. } => exit_code::of_io(error),
        }
    }
}

/// Makes the file with a new key in a node's folder. Returns its public key.
fn make_key(folder: &Path, randomness: &Randomness) -> Result<ValidatorPublicKey, NewNetworkError> {
    let mut secret = [0; ValidatorKey::LEN];
    randomness(&mut secret);
    let key = folder.join(KEY_FILE);
    write_new(&key, 0o600, &format!("{}\n", hex::encode(secret))).map_err(failed(&key))?;
    Ok(ValidatorKey::from_bytes(&secret).public_key())
}

/// The absolute form of a path, which can be in a configuration file.
fn absolute(path: &Path) -> Result<PathBuf, NewNetworkError> {
    let absolute = std::path::absolute(path).map_err(failed(path))?;
    match absolute.to_str() {
        Some(_) => Ok(absolute),
        None => Err(NewNetworkError::Path(absolute)),
    }
}

/// A path as TOML: texts of JSON are texts of TOML.
fn quoted(path: &Path) -> String {
    Value::from(path.to_string_lossy()).to_string()
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> NewNetworkError {
    let path = path.to_owned();
    move |error| NewNetworkError::Write { path, error }
}

/// The role of a node in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NodeKind {
    Validator,
    Follower,
}

/// A node of the network, by its number of its kind, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeName {
    kind: NodeKind,
    number: u16,
}

impl NodeName {
    /// Its folder in that of the network.
    fn folder(self, network: &Path) -> PathBuf {
        network.join(format!("{}-{}", self.kind.text(), self.number))
    }

    /// The prefix of its lines.
    fn prefix(self) -> String {
        match self.kind {
            NodeKind::Validator => self.number.to_string(),
            NodeKind::Follower => format!("f{}", self.number),
        }
    }
}

impl NodeKind {
    const fn text(self) -> &'static str {
        match self {
            Self::Validator => "validator",
            Self::Follower => "follower",
        }
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.text(), self.number)
    }
}

fn write_new(path: &Path, mode: u32, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
