//! `esker network`: makes and runs a network of several validators on one machine, for trying it out and as an example, and
//! changes the validators of a running network.

mod cli;
mod member;
mod new_validator;
mod rotate;
mod run;

use std::fmt::{self, Write as _};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use esker_engine_bft::{AddressError, ValidatorKey, ValidatorPublicKey, begin_journal};
use esker_node::Environment;
use esker_node::config::ENGINE_FOLDER;
use esker_node::networks::{NetworkError, Preset};
use esker_node::wiring::exit_code;
use esker_primitives::Randomness;
use serde_json::{Value, json};
use thiserror::Error;

pub(crate) use cli::{command, parse};
pub use member::{MEMBER_ARGUMENT, stop_with_input};
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

/// The parsed arguments of `esker network new`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewNetwork {
    /// How many validators.
    pub validators: u16,
    /// How many followers among their peers.
    pub followers: u16,
    /// The folder to make.
    pub out: PathBuf,
    /// HTTP port of the first validator.
    pub base_port: u16,
}

/// Why there is no network.
#[derive(Debug, Error)]
pub enum NewNetworkError {
    /// The ports do not fit.
    #[error("--base-port {base_port}: {nodes} need {needed} ports from there, up to 65535")]
    Ports {
        /// As given.
        base_port: u16,
        /// How many of which kind.
        nodes: String,
        /// Two for each validator, one for each follower.
        needed: u32,
    },
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
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Ports { .. }
            | Self::Path(_)
            | Self::Network(_)
            | Self::NoValidators(_)
            | Self::Address(_) => exit_code::CONFIG,
            Self::Write { .. } => exit_code::FAILURE,
        }
    }
}

/// Executes the command and returns its output.
///
/// # Errors
/// The folder exists or can't be written. Files that were written before stay.
pub fn run(command: &NewNetwork) -> Result<String, NewNetworkError> {
    make(command, &Environment::system().randomness)
}

fn make(command: &NewNetwork, randomness: &Randomness) -> Result<String, NewNetworkError> {
    let NewNetwork { validators, followers, base_port, .. } = *command;
    let nodes = match followers {
        0 => format!("{validators} validators"),
        _ => format!("{validators} validators and {followers} followers"),
    };
    let needed = 2 * u32::from(validators) + u32::from(followers);
    if u32::from(base_port) + needed > u32::from(u16::MAX) + 1 {
        return Err(NewNetworkError::Ports { base_port, nodes, needed });
    }
    let out = absolute(&command.out)?;
    fs::create_dir(&out).map_err(failed(&out))?;
    let network_file = out.join(NETWORK_FILE);
    let (mut members, mut named) = (Vec::new(), Vec::new());
    let mut output = format!("network of {nodes}: {}\n", network_file.display());
    let all = (1..=validators).map(|number| NodeName { kind: NodeKind::Validator, number });
    let all =
        all.chain((1..=followers).map(|number| NodeName { kind: NodeKind::Follower, number }));
    let mut http_port = base_port;
    for name in all {
        let folder = name.folder(&out);
        fs::create_dir(&folder).map_err(failed(&folder))?;
        let public_key = make_key(&folder, randomness)?;
        let config = folder.join(CONFIG_FILE);
        let text = configuration(name, &nodes, &network_file, &folder, http_port);
        write_new(&config, 0o644, &text).map_err(failed(&config))?;
        // A String takes every line.
        let _written = writeln!(
            output,
            "{name}: esker node --config {}  (http://127.0.0.1:{http_port})",
            config.display()
        );
        match name.kind {
            NodeKind::Validator => {
                members.push(json!({
                    "publicKey": public_key.to_string(),
                    "address": format!("127.0.0.1:{}", http_port + 1),
                }));
                let votes = folder.join(DATA_FOLDER).join(ENGINE_FOLDER);
                begin_journal(&votes, &public_key).map_err(failed(&votes))?;
                http_port = http_port.saturating_add(2);
            }
            NodeKind::Follower => {
                named.push(json!({ "publicKey": public_key.to_string() }));
                http_port = http_port.saturating_add(1);
            }
        }
    }
    let text = format!("{:#}\n", network(&members, &named));
    write_new(&network_file, 0o644, &text).map_err(failed(&network_file))?;
    let _written = writeln!(output, "all of them: esker network run {}", out.display());
    Ok(output)
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

/// What a node of the network does.
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

    /// What its lines begin with.
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

/// The network file: chains and accounts of the local network, whose blocks may follow each other at once.
fn network(members: &[Value], followers: &[Value]) -> Value {
    const FUNDED_ETH: &str = "0xb3d82b1367d362de99ab59a658165aff520cbd4d";
    let local = Preset::Local.network();
    let c = local.chains.get(1).map(|chain| String::from_utf8_lossy(&chain.genesis).into_owned());
    let allocation = |address: &str, amount: u64| {
        json!({
            "ethAddr": FUNDED_ETH, "avaxAddr": address, "initialAmount": amount, "unlockSchedule": [],
        })
    };
    // Without it a block costs more the sooner it follows, as on the public networks: two seconds apart are free.
    let mut section = json!({ "validators": members, "evm": { "blockGasCostStep": 0 } });
    if !followers.is_empty() {
        section["followers"] = followers.into();
    }
    json!({
        "networkID": local.id,
        "startTime": local.start_time_s,
        "allocations": [
            allocation("X-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u", 300_000_000_000_000_000),
            allocation("X-local1ur873jhz9qnaqv5qthk5sn3e8nj3e0kmggalnu", 10_000_000_000_000_000),
        ],
        "cChainGenesis": c,
        "esker": section,
    })
}

fn configuration(
    name: NodeName,
    nodes: &str,
    network: &Path,
    folder: &Path,
    http_port: u16,
) -> String {
    let setting = match name.kind {
        NodeKind::Validator => "validator-key",
        NodeKind::Follower => "peer-key",
    };
    format!(
        "# The {name} of {nodes}, made by `esker network new`.\nnetwork = {}\ndata-dir = {}\n\
         {setting} = {}\nhttp-port = {http_port}\n",
        quoted(network),
        quoted(&folder.join(DATA_FOLDER)),
        quoted(&folder.join(KEY_FILE)),
    )
}

fn write_new(path: &Path, mode: u32, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::*;

    fn new(out: &Path, validators: u16, base_port: u16) -> Result<String, NewNetworkError> {
        new_with(&NewNetwork { validators, followers: 0, out: out.to_owned(), base_port })
    }

    fn new_with(command: &NewNetwork) -> Result<String, NewNetworkError> {
        let next = AtomicU8::new(1);
        let randomness: Randomness =
            Arc::new(move |bytes: &mut [u8]| bytes.fill(next.fetch_add(1, Ordering::SeqCst)));
        make(command, &randomness)
    }

    #[test]
    fn the_network_file_can_be_loaded_and_has_the_keys() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("net");
        let output = new(&out, 4, 9_000).unwrap();
        assert_eq!(output.lines().count(), 6, "{output}");
        let file = out.join(NETWORK_FILE);
        let network = esker_node::networks::load(file.to_str().unwrap()).unwrap();
        let local = Preset::Local.network();
        let ids = |network: &esker_node::networks::Network| {
            network.chains.iter().map(|chain| chain.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(&network), ids(&local), "the chains of the local network");
        assert_eq!(network.validators.members.len(), 4);
        for (number, (public_key, address)) in (1_u16..).zip(&network.validators.members) {
            let text = fs::read_to_string(out.join(format!("validator-{number}/key"))).unwrap();
            let key: ValidatorKey = text.parse().unwrap();
            assert_eq!(key.public_key(), *public_key);
            assert_eq!(address.port(), 9_000 + 2 * (number - 1) + 1);
        }
        let mode = fs::metadata(out.join("validator-1/key")).unwrap();
        assert_eq!(std::os::unix::fs::MetadataExt::mode(&mode) & 0o777, 0o600);
    }

    #[test]
    fn followers_have_keys_that_the_network_file_names() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("net");
        let command =
            NewNetwork { validators: 1, followers: 2, out: out.clone(), base_port: 9_000 };
        let output = new_with(&command).unwrap();
        assert!(output.contains("\nfollower 2: esker node --config "), "{output}");
        let file = out.join(NETWORK_FILE);
        let network = esker_node::networks::load(file.to_str().unwrap()).unwrap();
        assert_eq!(network.validators.followers.len(), 2);
        for (number, named) in (1..=2).zip(&network.validators.followers) {
            let text = fs::read_to_string(out.join(format!("follower-{number}/key"))).unwrap();
            assert_eq!(text.parse::<ValidatorKey>().unwrap().public_key(), *named);
            let config = fs::read_to_string(out.join(format!("follower-{number}/config.toml")));
            let config = config.unwrap();
            assert!(config.contains("\npeer-key = "), "{config}");
            assert!(config.contains(&format!("\nhttp-port = {}\n", 9_001 + number)), "{config}");
        }
        let command = NewNetwork { out: folder.path().join("a"), base_port: 65_533, ..command };
        assert_eq!(
            new_with(&command).unwrap_err().to_string(),
            "--base-port 65533: 1 validators and 2 followers need 4 ports from there, up to 65535"
        );
    }

    #[test]
    fn an_existing_folder_and_ports_beyond_the_last_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let error = new(folder.path(), 1, 9_000).unwrap_err();
        assert!(matches!(error, NewNetworkError::Write { .. }), "{error}");
        let error = new(&folder.path().join("a"), 4, 65_529).unwrap_err();
        assert_eq!(
            error.to_string(),
            "--base-port 65529: 4 validators need 8 ports from there, up to 65535"
        );
        assert!(new(&folder.path().join("b"), 4, 65_528).is_ok());
    }
}
