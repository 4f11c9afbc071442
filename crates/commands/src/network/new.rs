//! `esker network new`: network file, keys and configurations of a network of several validators.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use esker_node::Environment;
use esker_primitives::Randomness;
use esker_settings::config::ENGINE_FOLDER;
use esker_settings::networks::Preset;
use esker_validators::{ValidatorAddress, journal};
use serde_json::{Value, json};

use super::{
    CONFIG_FILE, DATA_FOLDER, KEY_FILE, NETWORK_FILE, NewNetworkError, NodeKind, NodeName,
    absolute, failed, make_key, quoted, write_new,
};

/// The parsed arguments of `esker network new`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewNetwork {
    /// The number of validators.
    pub validators: u16,
    /// The number of followers among their peers.
    pub followers: u16,
    /// The folder to make.
    pub out: PathBuf,
    /// HTTP port of the first validator, or of each node where the validators have addresses.
    pub base_port: u16,
    /// The address of each validator for its peers, as `host:port`. None: all nodes are on this machine, with a port
    /// each.
    pub addresses: Vec<String>,
}

/// A node to make.
struct NewNode {
    name: NodeName,
    http_port: u16,
    /// Its address for its peers. None for a follower: nobody connects to it.
    address: Option<String>,
}

/// Executes the command and returns its output.
///
/// # Errors
/// The ports do not fit, an address is none, or the folder exists or can't be written. Files that were written before
/// stay.
pub fn new(command: &NewNetwork) -> Result<String, NewNetworkError> {
    make(command, &Environment::system().randomness)
}

fn make(command: &NewNetwork, randomness: &Randomness) -> Result<String, NewNetworkError> {
    let described = described(command);
    let nodes = if command.addresses.is_empty() {
        nodes_of_this_machine(command, &described)?
    } else {
        nodes_of_machines(command)?
    };
    let out = absolute(&command.out)?;
    fs::create_dir(&out).map_err(failed(&out))?;
    let network_file = out.join(NETWORK_FILE);
    let (mut members, mut named) = (Vec::new(), Vec::new());
    let mut output = format!("network of {described}: {}\n", network_file.display());
    for NewNode { name, http_port, address } in nodes {
        let folder = name.folder(&out);
        fs::create_dir(&folder).map_err(failed(&folder))?;
        let public_key = make_key(&folder, randomness)?;
        let config = folder.join(CONFIG_FILE);
        let text = configuration(name, &described, &network_file, &folder, http_port);
        write_new(&config, 0o644, &text).map_err(failed(&config))?;
        // A String takes every line.
        let _written = writeln!(
            output,
            "{name}: esker node --config {}  (http://127.0.0.1:{http_port})",
            config.display()
        );
        let Some(address) = address else {
            named.push(json!({ "publicKey": public_key.to_string() }));
            continue;
        };
        members.push(json!({ "publicKey": public_key.to_string(), "address": address }));
        let votes = folder.join(DATA_FOLDER).join(ENGINE_FOLDER);
        journal::begin(&votes, &public_key).map_err(failed(&votes))?;
    }
    let text = format!("{:#}\n", network(&members, &named));
    write_new(&network_file, 0o644, &text).map_err(failed(&network_file))?;
    let _written = if command.addresses.is_empty() {
        writeln!(output, "all of them: esker network run {}", out.display())
    } else {
        writeln!(
            output,
            "each on its machine: take {NETWORK_FILE} and the node's folder there, and set the paths in its {CONFIG_FILE}"
        )
    };
    Ok(output)
}

/// The nodes in words.
fn described(command: &NewNetwork) -> String {
    match command.followers {
        0 => format!("{} validators", command.validators),
        followers => format!("{} validators and {followers} followers", command.validators),
    }
}

/// All names, validators first.
fn names(command: &NewNetwork) -> impl Iterator<Item = NodeName> {
    let of = |kind, count| (1..=count).map(move |number| NodeName { kind, number });
    of(NodeKind::Validator, command.validators).chain(of(NodeKind::Follower, command.followers))
}

/// Validators have two ports each from the first on, for HTTP and for their peers, and followers one.
fn nodes_of_this_machine(
    command: &NewNetwork,
    described: &str,
) -> Result<Vec<NewNode>, NewNetworkError> {
    let NewNetwork { validators, followers, base_port, .. } = *command;
    let needed = 2 * u32::from(validators) + u32::from(followers);
    if u32::from(base_port) + needed > u32::from(u16::MAX) + 1 {
        let nodes = described.to_owned();
        return Err(NewNetworkError::Ports { base_port, nodes, needed });
    }
    let mut ports = base_port..=u16::MAX;
    let mut port = || ports.next().unwrap_or(u16::MAX);
    let node = |name: NodeName| NewNode {
        name,
        http_port: port(),
        address: (name.kind == NodeKind::Validator).then(|| format!("127.0.0.1:{}", port())),
    };
    Ok(names(command).map(node).collect())
}

/// Each node has a machine of its own, and so the same port for HTTP.
fn nodes_of_machines(command: &NewNetwork) -> Result<Vec<NewNode>, NewNetworkError> {
    let NewNetwork { validators, base_port: http_port, ref addresses, .. } = *command;
    if addresses.len() != usize::from(validators) {
        return Err(NewNetworkError::Addresses { given: addresses.len(), validators });
    }
    let mut known = HashSet::new();
    for address in addresses {
        let address: ValidatorAddress = address.parse().map_err(NewNetworkError::Address)?;
        if address.port() == http_port {
            return Err(NewNetworkError::AddressPort(address));
        }
        if !known.insert(address.to_string()) {
            return Err(NewNetworkError::AddressTwice(address));
        }
    }
    let mut addresses = addresses.iter().cloned();
    let node = |name| NewNode { name, http_port, address: addresses.next() };
    Ok(names(command).map(node).collect())
}

/// The network file: chains and accounts of the local network, whose blocks may follow each other at once.
pub(super) fn network(members: &[Value], followers: &[Value]) -> Value {
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU8, Ordering};

    use esker_validators::ValidatorKey;

    use super::*;

    fn local(out: &Path, validators: u16, base_port: u16) -> Result<String, NewNetworkError> {
        new_with(&NewNetwork {
            validators,
            followers: 0,
            out: out.to_owned(),
            base_port,
            addresses: Vec::new(),
        })
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
        let output = local(&out, 4, 9_000).unwrap();
        assert_eq!(output.lines().count(), 6, "{output}");
        let file = out.join(NETWORK_FILE);
        let network = esker_settings::networks::load(file.to_str().unwrap()).unwrap();
        let local = Preset::Local.network();
        let ids = |network: &esker_settings::networks::Network| {
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
        let command = NewNetwork {
            validators: 1,
            followers: 2,
            out: out.clone(),
            base_port: 9_000,
            addresses: Vec::new(),
        };
        let output = new_with(&command).unwrap();
        assert!(output.contains("\nfollower 2: esker node --config "), "{output}");
        let file = out.join(NETWORK_FILE);
        let network = esker_settings::networks::load(file.to_str().unwrap()).unwrap();
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
        let error = local(folder.path(), 1, 9_000).unwrap_err();
        assert!(matches!(error, NewNetworkError::Write { .. }), "{error}");
        let error = local(&folder.path().join("a"), 4, 65_529).unwrap_err();
        assert_eq!(
            error.to_string(),
            "--base-port 65529: 4 validators need 8 ports from there, up to 65535"
        );
        assert!(local(&folder.path().join("b"), 4, 65_528).is_ok());
    }

    #[test]
    fn validators_on_machines_of_their_own_have_the_given_addresses() {
        let folder = tempfile::tempdir().unwrap();
        let command = |name: &str, addresses: &[&str]| NewNetwork {
            validators: 2,
            followers: 1,
            out: folder.path().join(name),
            base_port: 9_650,
            addresses: addresses.iter().map(|&address| address.to_owned()).collect(),
        };
        let output = new_with(&command("net", &["one:9651", "10.0.0.2:9651"])).unwrap();
        assert!(output.lines().last().unwrap().starts_with("each on its machine"), "{output}");
        let file = folder.path().join("net").join(NETWORK_FILE);
        let network = esker_settings::networks::load(file.to_str().unwrap()).unwrap();
        let addresses: Vec<String> =
            network.validators.members.iter().map(|(_, address)| address.to_string()).collect();
        assert_eq!(addresses, ["one:9651", "10.0.0.2:9651"]);
        for name in ["validator-1", "validator-2", "follower-1"] {
            let config = folder.path().join("net").join(name).join(CONFIG_FILE);
            let config = fs::read_to_string(config).unwrap();
            assert!(config.contains("\nhttp-port = 9650\n"), "{config}");
        }
        for (addresses, expected) in [
            (
                &["one:9651"][..],
                "--address: 1 addresses for 2 validators; give each its own, or none for a network on this machine",
            ),
            (&["one:9651", "one:9651"], "--address one:9651: two validators have it"),
            (&["one:9651", "two:9650"], "--address two:9650: --base-port has that port for HTTP"),
            (
                &["one:9651", "two"],
                "--address: `two` is no address: HOST:PORT is needed, with a port above 0",
            ),
        ] {
            let error = new_with(&command("none", addresses)).unwrap_err();
            assert_eq!(error.to_string(), expected);
            assert!(!folder.path().join("none").exists());
        }
    }
}
