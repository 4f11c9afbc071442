//! The screens that `esker dev`, `esker evm`, `esker anvil` and `esker hardhat` show when they are ready, and the same data as one line of JSON.

mod anvil;
mod hardhat;
mod text;

use std::fs::{OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use esker_node::wiring::{RunningNode, StartError};
use esker_node::{ForkedBlock, TakenOver};
use esker_settings::config::Config;
use esker_settings::networks::accounts::Account;
use esker_settings::networks::{DEV_MNEMONIC, DevAccounts, P_ALIASES};
use serde_json::json;

pub(crate) use self::anvil::{AnvilBanner, anvil_banner};
pub(crate) use self::hardhat::hardhat_banner;
pub use self::text::render;

/// The data of a running node that is shown.
#[derive(Clone, Debug)]
pub struct Ready {
    /// Version of the software.
    pub version: &'static str,
    /// Name of the network.
    pub network: String,
    /// ID of the network.
    pub network_id: u32,
    /// `http://127.0.0.1:9650`; `https` with TLS.
    pub url: String,
    /// Whether browsers that open it see the dashboard.
    pub has_dashboard: bool,
    /// The bound address.
    pub http_addr: String,
    /// The bound addresses of further hosts.
    pub further_addrs: Vec<String>,
    /// The bound address of the listener that serves the C-Chain's JSON-RPC at `/`, if enabled.
    pub evm_addr: Option<String>,
    /// `http://127.0.0.1:8545`.
    pub evm_url: Option<String>,
    /// This node's ID.
    pub node_id: String,
    /// Time from the start to the first answer.
    pub ready_ms: u128,
    /// Paths with their descriptions, in the order of the screen.
    pub endpoints: Vec<(String, String)>,
    /// Primary alias and ID of each chain of the network, and whether this node runs it.
    pub chains: Vec<(String, String, bool)>,
    /// Whether the network has an X-Chain; else its only chain is one of the EVM.
    pub has_x_chain: bool,
    /// EVM chain ID of the EVM chain.
    pub evm_chain_id: u64,
    /// The fork of a development network with Ethereum's rules.
    pub hardfork: Option<&'static str>,
    /// ID of the native asset.
    pub native_asset_id: String,
    /// Its aliases.
    pub native_aliases: Vec<String>,
    /// The accounts of `esker dev`, with their keys.
    pub dev_accounts: Option<DevAccounts>,
    /// The data folder; `None` if it is temporary.
    pub data_dir: Option<String>,
    /// The address where the C-Chain's JSON-RPC would be by default, if another program has it.
    pub evm_in_use: Option<String>,
    /// Time of the EVM chain's genesis block, Unix seconds.
    pub start_s: u64,
    /// Number of that block; not 0 only under `esker evm` and its like.
    pub genesis_number: u64,
    /// Gas limit of the C-Chain's blocks.
    pub gas_limit: u64,
    /// Base fee of the C-Chain's first block, or of the one on which it began, wei.
    pub base_fee: u64,
    /// The block of another node on which the EVM chain began.
    pub fork: Option<ForkedBlock>,
    /// What the X-Chain took over from another network.
    pub taken_over: Option<TakenOver>,
    /// Symbols and IDs of the fixture's assets, members and addresses of its contracts.
    pub fixture: Vec<(String, String)>,
    /// Show everything.
    pub is_verbose: bool,
}

impl Ready {
    /// The data of this node.
    pub fn from_node(node: &RunningNode) -> Self {
        let config = node.config();
        let network = &config.network;
        let fork = node.forked_block();
        let runs = |id| node.chains().iter().any(|chain| chain.vm().context().chain_id == id);
        let aliases: Vec<_> = network.chains.iter().map(|spec| spec.primary_alias()).collect();
        let mut shown = aliases.clone();
        shown.extend(network.x_chain().map(|_| P_ALIASES[0].to_owned()));
        let url = |bound| format!("{}://{}", node.http_scheme(), reachable_address(bound));
        Self {
            version: env!("CARGO_PKG_VERSION"),
            network: network.name.clone(),
            network_id: network.id,
            url: url(node.http_addr()),
            has_dashboard: config.has_dashboard(),
            http_addr: node.http_addr().to_string(),
            further_addrs: node.further_addrs().iter().map(ToString::to_string).collect(),
            evm_addr: node.evm_addr().map(|bound| bound.to_string()),
            evm_url: node.evm_addr().map(url),
            node_id: node.node_id().to_string(),
            ready_ms: node.ready_after().as_millis(),
            endpoints: endpoints(&node.routes().paths(), &shown),
            chains: network
                .chains
                .iter()
                .zip(aliases)
                .map(|(spec, alias)| (alias, spec.id.to_string(), runs(spec.id)))
                .collect(),
            has_x_chain: network.x_chain().is_some(),
            evm_chain_id: network.evm_parameters().chain_id,
            hardfork: network.hardfork().filter(|_| network.is_development()),
            native_asset_id: network.native_asset_id.to_string(),
            native_aliases: config.settings.native_aliases.0.clone(),
            dev_accounts: network.dev_accounts.clone().filter(|_| config.mode.is_development()),
            data_dir: config.data_dir.as_ref().map(|path| path.display().to_string()),
            evm_in_use: node.evm_in_use().map(str::to_owned),
            start_s: network.start_time_s,
            genesis_number: network.evm_parameters().genesis_number,
            gas_limit: network.gas_limit_at(network.start_time_s),
            base_fee: fork
                .as_ref()
                .map_or_else(|| network.initial_base_fee(), |fork| fork.base_fee),
            fork,
            taken_over: node.taken_over(),
            fixture: network.fixture.as_ref().map(|fixture| fixture.names()).unwrap_or_default(),
            is_verbose: config.settings.verbose,
        }
    }

    /// URL and websocket of the C-Chain's JSON-RPC.
    fn evm_rpc(&self) -> Option<(String, String)> {
        let websocket = |url: &str| url.replacen("http", "ws", 1);
        if let Some(url) = &self.evm_url {
            return Some((url.clone(), websocket(url)));
        }
        let (_, path) = self.endpoints.iter().find(|(_, path)| path.ends_with("/C/rpc"))?;
        let rpc = format!("{}{path}", self.url);
        let ws = websocket(rpc.strip_suffix("/rpc").unwrap_or(&rpc)) + "/ws";
        Some((rpc, ws))
    }

    /// URL of a path, if it is served.
    fn endpoint(&self, path: &str) -> Option<String> {
        let is_served = self.endpoints.iter().any(|(_, served)| served == path);
        is_served.then(|| format!("{}{path}", self.url))
    }

    /// URL of the dashboard, if it is served.
    fn dashboard(&self) -> Option<String> {
        self.has_dashboard.then(|| format!("{}/", self.url))
    }

    /// The bound addresses that development tools use, separated by commas.
    fn listening(&self) -> String {
        let first = self.evm_addr.as_ref().unwrap_or(&self.http_addr);
        let all: Vec<_> =
            [first].into_iter().chain(&self.further_addrs).map(String::as_str).collect();
        all.join(", ")
    }

    /// Writes the ready file, if it is configured, atomically.
    pub fn write_file(&self, config: &Config) -> Result<(), StartError> {
        let Some(path) = &config.settings.ready_file else { return Ok(()) };
        write_with_keys(path, json_line(self).as_bytes(), self.has_secrets())
            .map_err(|error| StartError::Write { path: path.clone(), error })
    }

    /// Whether its keys are not the public ones.
    pub(crate) fn has_secrets(&self) -> bool {
        self.dev_accounts.as_ref().is_some_and(|dev| dev.mnemonic != DEV_MNEMONIC)
    }
}

/// Writes a file atomically. Only its owner can read one with secrets.
pub(crate) fn write_with_keys(path: &Path, bytes: &[u8], has_secrets: bool) -> io::Result<()> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".new");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    if has_secrets {
        options.mode(0o600);
    }
    let mut file = options.open(&unfinished)?;
    if has_secrets {
        // Also where the file was left behind by a start that was killed.
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    file.write_all(bytes)?;
    std::fs::rename(&unfinished, path)
}

/// The address for clients on this machine.
fn reachable_address(bound: SocketAddr) -> SocketAddr {
    use std::net::{Ipv4Addr, Ipv6Addr};
    match bound.ip() {
        ip if !ip.is_unspecified() => bound,
        ip if ip.is_ipv4() => (Ipv4Addr::LOCALHOST, bound.port()).into(),
        // A socket on all IPv6 addresses accepts IPv4 too if the system allows it; `localhost` works for both.
        _ => (Ipv6Addr::LOCALHOST, bound.port()).into(),
    }
}

/// One line of JSON, its end included.
pub fn json_line(ready: &Ready) -> String {
    let chains: serde_json::Map<_, _> =
        ready.chains.iter().map(|(alias, id, _)| (alias.clone(), json!(id))).collect();
    let mut line = json!({
        "version": ready.version,
        "pid": std::process::id(),
        "network": ready.network,
        "networkID": ready.network_id,
        "nodeID": ready.node_id,
        "http": ready.http_addr,
        "url": ready.url,
        "dashboard": ready.dashboard(),
        "evm": ready.evm_addr,
        "evmUrl": ready.evm_url,
        "chains": chains,
        "dataDir": ready.data_dir,
    });
    if !ready.further_addrs.is_empty() {
        line["furtherHttp"] = json!(ready.further_addrs);
    }
    if ready.has_x_chain {
        line["nativeAssetID"] = json!(ready.native_asset_id);
    }
    if let Some(fork) = &ready.fork {
        line["fork"] = json!({
            "url": fork.url,
            "chainId": fork.chain_id,
            "blockNumber": fork.number,
            "blockHash": fork.hash,
            "isProven": fork.is_proven,
        });
    }
    if let Some(taken) = &ready.taken_over {
        line["forkX"] = json!(taken);
    }
    if let Some(dev) = &ready.dev_accounts {
        line["mnemonic"] = json!(dev.mnemonic);
        let account = if ready.has_x_chain { account_json } else { evm_account_json };
        line["accounts"] = dev.accounts.iter().map(account).collect();
    }
    format!("{line}\n")
}

/// Addresses and key of an account, in the forms of both chains' tools.
fn account_json(account: &Account) -> serde_json::Value {
    json!({
        "xAddress": format!("X-{}", account.local_address()),
        "cAddress": account.c_address().to_string(),
        "privateKey": format!("0x{}", account.key_hex()),
        "xPrivateKey": account.key().to_text(),
    })
}

/// The same where there is no X-Chain.
fn evm_account_json(account: &Account) -> serde_json::Value {
    json!({
        "address": account.c_address().to_string(),
        "privateKey": format!("0x{}", account.key_hex()),
    })
}

/// Names and values of a forked block.
pub(crate) fn fork_lines(fork: &ForkedBlock) -> [(&'static str, String); 5] {
    let values = match fork.is_proven {
        true => "proved against the state root of the block",
        false => "the source's word, without proofs",
    };
    [
        ("Endpoint", fork.url.clone().unwrap_or_else(|| "none, from a file".to_owned())),
        ("Block number", fork.number.to_string()),
        ("Block hash", fork.hash.clone()),
        ("Chain ID", fork.chain_id.to_string()),
        ("Values", values.to_owned()),
    ]
}

/// The paths that the screen shows: under primary aliases, without health's sub-paths, and with the asset VM's
/// endpoint under its first name only.
pub fn endpoints(paths: &[String], primary_aliases: &[String]) -> Vec<(String, String)> {
    let mut shown = Vec::new();
    for alias in primary_aliases {
        let base = format!("/ext/bc/{alias}");
        for path in paths {
            match path.strip_prefix(&base) {
                // The EVM's endpoint has a suffix.
                Some("" | "/rpc") => shown.push((format!("{alias}-Chain"), path.clone())),
                Some(rest) if rest.starts_with('/') => {
                    shown.push((format!("{alias} {}", &rest[1..]), path.clone()));
                }
                _ => {}
            }
        }
    }
    let of_node = [
        ("/ext/vm/xvm", "asset VM"),
        ("/ext/info", "info"),
        ("/ext/health", "health"),
        ("/ext/metrics", "metrics"),
        ("/ext/admin", "admin"),
        ("/ext/keystore", "keystore"),
    ];
    for (path, name) in of_node {
        if paths.iter().any(|known| known == path) {
            shown.push((name.to_owned(), path.to_owned()));
        }
    }
    // The P-Chain has no index.
    let indexed = primary_aliases.iter().filter(|alias| *alias != "P");
    shown.extend(indexed.filter_map(|alias| {
        let path = format!("/ext/index/{alias}/block");
        paths.contains(&path).then(|| (format!("{alias} index"), path))
    }));
    shown
}

#[cfg(test)]
mod tests;
