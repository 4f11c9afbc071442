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
    /// Time of the C-Chain's block 0, Unix seconds.
    pub start_s: u64,
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
mod tests {
    use esker_settings::networks::accounts::well_known;
    use expect_test::expect;

    use super::*;

    fn ready() -> Ready {
        let paths = [
            "/ext/X",
            "/ext/admin",
            "/ext/bc/2eNy1mUFdmaxXNj1eQHUe7Np4gju9sJsEtWQ4MX3ToiNKuADed",
            "/ext/bc/C/rpc",
            "/ext/bc/P",
            "/ext/bc/X",
            "/ext/bc/X/wallet",
            "/ext/bc/avm",
            "/ext/health",
            "/ext/health/liveness",
            "/ext/index/X/block",
            "/ext/index/X/tx",
            "/ext/info",
            "/ext/keystore",
            "/ext/metrics",
            "/ext/vm/avm",
            "/ext/vm/xvm",
        ];
        let chain = |alias: &str, id: &str, runs| (alias.to_owned(), id.to_owned(), runs);
        Ready {
            version: "0.1.0",
            network: "dev".to_owned(),
            network_id: 12345,
            url: "http://127.0.0.1:9650".to_owned(),
            has_dashboard: true,
            http_addr: "127.0.0.1:9650".to_owned(),
            further_addrs: Vec::new(),
            evm_addr: Some("127.0.0.1:8545".to_owned()),
            evm_url: Some("http://127.0.0.1:8545".to_owned()),
            node_id: "NodeID-111111111111111111116DBWJs".to_owned(),
            ready_ms: 31,
            endpoints: endpoints(
                &paths.map(str::to_owned),
                &["X".to_owned(), "C".to_owned(), "P".to_owned()],
            ),
            chains: vec![
                chain("X", "2eNy1mUFdmaxXNj1eQHUe7Np4gju9sJsEtWQ4MX3ToiNKuADed", true),
                chain("C", "2BWjAem9GFUrxT8pAagsjJeLzCZGXKnLZzhRK7pbw4ZjYZ7UkL", true),
            ],
            has_x_chain: true,
            evm_chain_id: 43112,
            hardfork: None,
            native_asset_id: "2fombhL7aGPwj3KH4bfrmJwW6PVnMobf9Y2fn9GwxiAAJyFDbe".to_owned(),
            native_aliases: vec!["NAT".to_owned(), "AVAX".to_owned()],
            dev_accounts: Some(DevAccounts::usual().clone()),
            data_dir: None,
            evm_in_use: None,
            start_s: 1_764_000_000,
            gas_limit: 30_000_000,
            base_fee: 1_000_000_000,
            fork: None,
            taken_over: None,
            fixture: Vec::new(),
            is_verbose: false,
        }
    }

    #[test]
    fn accounts_of_another_mnemonic() {
        let mut ready = ready();
        let mut accounts = DevAccounts::usual().accounts.clone();
        accounts.push(well_known());
        // 24 long words, as many as there can be.
        let mnemonic = ["abstract"; 24].join(" ");
        ready.dev_accounts = Some(DevAccounts {
            mnemonic: mnemonic.clone(),
            path: "m/7".to_owned(),
            balance: 1_234,
            accounts,
        });
        let screen = render(&ready, false);
        assert!(screen.contains("\nAvailable Accounts, 1,234 each\n"), "{screen}");
        assert!(screen.contains("\n(10) 0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC\n"), "{screen}");
        assert!(screen.contains("\nDerivation path:   m/7/N\n"), "{screen}");
        assert!(screen.contains("\nFor development: whoever sees them "), "{screen}");
        assert!(!screen.contains("These keys are public"), "{screen}");
        let words = screen.split_once("Mnemonic:").unwrap().1.split_once("Derivation").unwrap().0;
        assert_eq!(words.split_whitespace().collect::<Vec<_>>().join(" "), mnemonic);
        assert_narrow(&screen);
    }

    /// No line is wider than a terminal.
    fn assert_narrow(screen: &str) {
        for line in screen.lines() {
            assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
        }
    }

    #[test]
    fn the_banner_of_anvil() {
        let mut ready = ready();
        ready.dev_accounts.as_mut().unwrap().accounts.truncate(2);
        let mut more = AnvilBanner { has_gas_limit: true, ipc: None, notes: Vec::new() };
        let banner = anvil_banner(&ready, &more);
        expect![[r#"

                Esker 0.1.0, with the flags and the banner of anvil 1.7.1

            Available Accounts
            ==================

            (0) 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266 (10000.000000000000000000 ETH)
            (1) 0x70997970C51812dc3A010C7d01b50e0d17dc79C8 (10000.000000000000000000 ETH)

            Private Keys
            ==================

            (0) 0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80
            (1) 0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d

            Wallet
            ==================
            Mnemonic:          test test test test test test test test test test test junk
            Derivation path:   m/44'/60'/0'/0/


            Chain ID
            ==================

            43112

            Base Fee
            ==================

            1000000000

            Gas Limit
            ==================

            30000000

            Genesis Timestamp
            ==================

            1764000000

            Genesis Number
            ==================

            0

            Listening on 127.0.0.1:8545
        "#]]
        .assert_eq(&banner);
        (more.has_gas_limit, more.ipc) = (false, Some("a.ipc".into()));
        more.notes.push("--md: none".to_owned());
        let noted = anvil_banner(&ready, &more);
        assert!(noted.contains("\nGas Limit\n==================\n\nDisabled\n"), "{noted}");
        let end = "Flags Without Effect\n==================\n\n--md: none\n\nIPC path: a.ipc\nListening on 127.0.0.1:8545\n";
        assert!(noted.ends_with(end), "{noted}");
    }

    #[test]
    fn the_screen() {
        let screen = render(&ready(), false);
        assert_narrow(&screen);
        expect![[r#"

            Esker 0.1.0  network dev (12345), ready in 31 ms
            Data is removed at the end: --data-dir DIR keeps it
            Dashboard:         http://127.0.0.1:9650/

            EVM, the C-Chain
            ==================
            RPC URL:           http://127.0.0.1:8545
            Websocket:         ws://127.0.0.1:8545
            Chain ID:          43112

            X-Chain
            ==================
            URL:               http://127.0.0.1:9650/ext/bc/X
            Native asset:      NAT or AVAX
            Its ID:            2fombhL7aGPwj3KH4bfrmJwW6PVnMobf9Y2fn9GwxiAAJyFDbe

            Available Accounts, 10,000 each
            ==================
            (0) 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266
            (1) 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
            (2) 0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC
            (3) 0x90F79bf6EB2c4f870365E785982E1f101E93b906
            (4) 0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65
            (5) 0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc
            (6) 0x976EA74026E726554dB657fA54763abd0C3a0aa9
            (7) 0x14dC79964da2C08b23698B3D3cc7Ca32193d9955
            (8) 0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f
            (9) 0xa0Ee7A142d267C1f36714E4a8F75612F20a79720

            Private Keys
            ==================
            These keys are public: anyone can take what they own on other networks.

            (0) 0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80
            (1) 0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d
            (2) 0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a
            (3) 0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6
            (4) 0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a
            (5) 0x8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba
            (6) 0x92db14e403b83dfe3df233f83dfa3a0d7096f21ca9b0d6d6b8d88b2b4ec1564e
            (7) 0x4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356
            (8) 0xdbda1821b80551c9d65939329250298aa3472ba22feea921c0cf5d620ea67b97
            (9) 0x2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6

            Wallet
            ==================
            Mnemonic:          test test test test test test test test test test test junk
            Derivation path:   m/44'/60'/0'/0/N
            Balances are in NAT on each of C (10^18 wei) and X (10^9 units).

            Try: esker accounts
                 esker call evm_chainId
                 esker balance ADDRESS
                 esker dev --verbose

            Listening on 127.0.0.1:8545
        "#]]
        .assert_eq(&screen);
    }

    #[test]
    fn the_whole_screen() {
        let brief = render(&ready(), false);
        let screen = render(&Ready { is_verbose: true, ..ready() }, false);
        assert_narrow(&screen);
        // It begins as the brief one.
        let (same, _) = brief.split_once("\nTry: ").unwrap();
        let (_, more) = screen.split_once(same).unwrap();
        expect![[r#"

            Blocks
            ==================
            Gas limit:         30000000
            Base fee:          1000000000 wei at first
            Began at:          1764000000

            Chains
            ==================
            X-Chain ID:        2eNy1mUFdmaxXNj1eQHUe7Np4gju9sJsEtWQ4MX3ToiNKuADed
            C-Chain ID:        2BWjAem9GFUrxT8pAagsjJeLzCZGXKnLZzhRK7pbw4ZjYZ7UkL
            Node:              NodeID-111111111111111111116DBWJs

            Endpoints
            ==================
            X-Chain:           http://127.0.0.1:9650/ext/bc/X
            X wallet:          http://127.0.0.1:9650/ext/bc/X/wallet
            C-Chain:           http://127.0.0.1:9650/ext/bc/C/rpc
            P-Chain:           http://127.0.0.1:9650/ext/bc/P
            asset VM:          http://127.0.0.1:9650/ext/vm/xvm
            info:              http://127.0.0.1:9650/ext/info
            health:            http://127.0.0.1:9650/ext/health
            metrics:           http://127.0.0.1:9650/ext/metrics
            admin:             http://127.0.0.1:9650/ext/admin
            keystore:          http://127.0.0.1:9650/ext/keystore
            X index:           http://127.0.0.1:9650/ext/index/X/block

            Accounts on the X-Chain
            ==================
            (0) X-local15428vq2uzwhm3taey9sr9x5vm6tk78ew499s5v
            (1) X-local1cjzphr67dug28rw9ueewrqllmxlqe5f0unaxss
            (2) X-local1sj3m3zudqkw4plsvm7p08h9q89lsy4wput6fxp
            (3) X-local1y3fgntsaf2cmylsnu3880g7wp6aj73zu2kkjd4
            (4) X-local1jft4f7x5cajyw6w8vfj9708mx9jfswq0a739vp
            (5) X-local1syp9y2mlfrrjwdaj5ytezh9wuerwuhncjwye9m
            (6) X-local1zyf8ga3p89xmjaxje2ckvtvhjzv7g24s30j6rq
            (7) X-local1mer4xr0wqlq7v8m678vvx4zeyep20v8rhw76tp
            (8) X-local1l5rrv44ufqq97psu2jqx909mdnjapwv0sapt8w
            (9) X-local14flvw0x8fstzly79tacgsulxvkpv858q9nskex

            Private Keys for tools of the X-Chain
            ==================
            (0) PrivateKey-2JmTFo8knhffGK32o8vv4oRd8sA7MYo2xx1j4yhAPxN3JrLgMh
            (1) PrivateKey-gYChgv9KmCAaRH47tkCCm94bZLAxdQAygvZKNRUsaq7KM14hL
            (2) PrivateKey-iMKNGkysaBKiThvdKfzLtPFDvVLcku2E1A2AXQJAroN8exmr5
            (3) PrivateKey-wqhSPTuv3JB9YPixRMp8DYgPPsc3iV2fDT5gXUVn1MZsZZrz2
            (4) PrivateKey-Yf6fhJUE97QgwBkb5ttXE3yR1UFCT3YVjZmfLU7KUVUj5UeA2
            (5) PrivateKey-24KNq4HhQo5BL6xMXYFKyoH33KN7aPUkeF9QDy7sVAmo4m1GXd
            (6) PrivateKey-27gEa9Qudm22UaxCuRY9EGVM88msZo17PyA92qcU1DvUbwW4hv
            (7) PrivateKey-aMXjshukTmhmsn2PdeBXDrU5rhEWB5VCgqr2eJ6ianKWVrQSv
            (8) PrivateKey-2fpphtBdokVfG6uAWP7mFSu3Zsw6ojVQiHrctLpSvT6dPgYc23
            (9) PrivateKey-KjKHSmNQ9bFN3bK2nkG1ecEaasisjKZE1VqEi8crRRJDM8xYP

            Well-known key
            ==================
            0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC
            X-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u
            0x56289e99c94b6912bfc12adc093c9b51124f0dc54ac7a766b2bc5ccf558d8027
            PrivateKey-ewoqjP7PxY4yr3iLTpLisriqt94hdyDFNgchSxGGztUrTXtNN

            Try: esker accounts
                 esker call evm_chainId
                 esker balance ADDRESS

            Listening on 127.0.0.1:8545
        "#]]
        .assert_eq(more);
    }

    /// A chain of the EVM alone.
    fn alone() -> Ready {
        let paths = ["/", "/ext/bc/evm/rpc", "/ext/bc/evm/ws", "/ext/health", "/ext/metrics"];
        let usual = ready();
        Ready {
            network: "evm".to_owned(),
            url: "http://127.0.0.1:8545".to_owned(),
            http_addr: "127.0.0.1:8545".to_owned(),
            endpoints: endpoints(&paths.map(str::to_owned), &["evm".to_owned()]),
            chains: vec![("evm".to_owned(), usual.chains[1].1.clone(), true)],
            has_x_chain: false,
            evm_chain_id: 31337,
            hardfork: Some("Osaka"),
            ..usual
        }
    }

    #[test]
    fn a_chain_that_is_alone_shows_nothing_of_x() {
        for is_verbose in [false, true] {
            let screen = render(&Ready { is_verbose, ..alone() }, false);
            assert_narrow(&screen);
            for text in ["X-", "C-Chain", "NAT", "asset", "info"] {
                assert!(!screen.contains(text), "{text}: {screen}");
            }
            assert!(screen.contains("\nRPC URL:           http://127.0.0.1:8545\n"), "{screen}");
            assert!(screen.contains("\nHardfork:          Osaka\n"), "{screen}");
            assert!(screen.ends_with("\nListening on 127.0.0.1:8545\n"), "{screen}");
        }
        let line: serde_json::Value = serde_json::from_str(&json_line(&alone())).unwrap();
        assert_eq!(line["accounts"][0]["address"], "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
        assert_eq!((line.get("nativeAssetID"), line["accounts"][0].get("xAddress")), (None, None));
    }

    fn forked(is_proven: bool) -> Ready {
        let fork = ForkedBlock {
            url: Some("https://node.example:443/v2/***".to_owned()),
            chain_id: 1,
            number: 23_000_000,
            hash: format!("0x{}", "ab".repeat(32)),
            base_fee: 7,
            is_proven,
        };
        Ready { fork: Some(fork), ..alone() }
    }

    #[test]
    fn a_fork_shows_its_source_and_what_values_rest_on() {
        let screen = render(&forked(true), false);
        let more = &screen[screen.find("\nFork\n").unwrap()..];
        let more = &more[..more.find("\nAvailable").unwrap()];
        expect![[r#"

            Fork
            ==================
            Endpoint:          https://node.example:443/v2/***
            Block number:      23000000
            Block hash:
            0xabababababababababababababababababababababababababababababababab
            Chain ID:          1
            Values:            proved against the state root of the block
        "#]]
        .assert_eq(more);
        let screen = render(&forked(false), false);
        assert!(screen.contains("\nValues:            the source's word, without"), "{screen}");
        let banner = AnvilBanner { has_gas_limit: true, ipc: None, notes: Vec::new() };
        let banner = anvil_banner(&forked(false), &banner);
        let expected = "\nFork\n==================\nEndpoint:       https://node.example:443/v2/***\n\
                        Block number:   23000000\nBlock hash:     0xabab";
        assert!(banner.contains(expected), "{banner}");
        assert!(banner.contains("\nValues:         the source's word"), "{banner}");
        let banner = hardhat_banner(&forked(true));
        assert!(banner.contains("\nBlock number: 23000000\n"), "{banner}");
        let line: serde_json::Value = serde_json::from_str(&json_line(&forked(true))).unwrap();
        assert_eq!(line["fork"]["blockNumber"], 23_000_000);
        assert_eq!(line["fork"]["isProven"], true);
    }

    #[test]
    fn a_fixture_has_its_assets_and_contracts() {
        let asset = ("TSTC".to_owned(), ready().native_asset_id);
        let contract = |n: usize| (format!("contracts[{n}]"), format!("0x{n:040x}"));
        let fixture: Vec<_> = [asset].into_iter().chain((0..30).map(contract)).collect();
        let mut ready = Ready { fixture, ..ready() };
        let screen = render(&ready, false);
        assert_narrow(&screen);
        let (_, shown) = screen.split_once("\nFixture\n==================\n").unwrap();
        let lines: Vec<_> = shown.lines().take(21).collect();
        assert_eq!(
            lines[0],
            "TSTC:              2fombhL7aGPwj3KH4bfrmJwW6PVnMobf9Y2fn9GwxiAAJyFDbe"
        );
        assert_eq!(lines[1], "contracts[0]:      0x0000000000000000000000000000000000000000");
        assert_eq!(lines[20], "11 more: --verbose");
        ready.is_verbose = true;
        assert!(render(&ready, false).contains("\ncontracts[29]:     0x"));
    }

    #[test]
    fn a_port_that_another_program_has() {
        let mut ready = ready();
        ready.evm_addr = None;
        ready.evm_url = None;
        ready.evm_in_use = Some("127.0.0.1:8545".to_owned());
        let screen = render(&ready, false);
        assert_narrow(&screen);
        for text in [
            "\nRPC URL:           http://127.0.0.1:9650/ext/bc/C/rpc\n",
            "\nWebsocket:         ws://127.0.0.1:9650/ext/bc/C/ws\n",
            "\nAnother program has 127.0.0.1:8545: tools that use it don't reach this node.\n",
        ] {
            assert!(screen.contains(text), "{text}: {screen}");
        }
        assert!(screen.ends_with("\n\nListening on 127.0.0.1:9650\n"), "{screen}");
    }

    #[test]
    fn a_chain_that_does_not_run() {
        let mut ready = Ready { is_verbose: true, ..ready() };
        ready.chains[1].2 = false;
        (ready.evm_addr, ready.evm_url) = (None, None);
        ready.endpoints.retain(|(name, _)| name != "C-Chain");
        let screen = render(&ready, false);
        assert!(screen.contains("\nnot served by this version\nChain ID:          43112\n"));
        assert!(screen.contains("ZjYZ7UkL\n                   not served by this version\n"));
    }

    #[test]
    fn with_tls_the_addresses_say_so() {
        let mut ready = ready();
        ready.url = ready.url.replace("http:", "https:");
        ready.evm_url = Some("https://127.0.0.1:8545".to_owned());
        let screen = render(&ready, false);
        assert!(screen.contains("\nWebsocket:         wss://127.0.0.1:8545\n"), "{screen}");
    }

    #[test]
    fn colours_change_no_text() {
        let (plain, colours) = (render(&ready(), false), render(&ready(), true));
        let mut stripped = colours.clone();
        for code in ["\x1b[1m", "\x1b[2m", "\x1b[36m", "\x1b[33m", "\x1b[0m"] {
            stripped = stripped.replace(code, "");
        }
        assert_eq!(stripped, plain);
        assert_ne!(colours, plain);
        // Programs look for the last line as it is.
        assert!(colours.ends_with("\nListening on 127.0.0.1:8545\n"), "{colours}");
    }

    #[test]
    fn the_line_for_programs() {
        let line = json_line(&ready());
        assert_eq!(line.matches('\n').count(), 1);
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["http"], "127.0.0.1:9650");
        assert_eq!(value["evm"], "127.0.0.1:8545");
        assert_eq!(value["evmUrl"], "http://127.0.0.1:8545");
        assert_eq!(value["chains"]["X"], "2eNy1mUFdmaxXNj1eQHUe7Np4gju9sJsEtWQ4MX3ToiNKuADed");
        assert_eq!(value["mnemonic"], DEV_MNEMONIC);
        assert_eq!(value["accounts"].as_array().unwrap().len(), 10);
        let first = json!({
            "xAddress": "X-local15428vq2uzwhm3taey9sr9x5vm6tk78ew499s5v",
            "cAddress": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
            "privateKey": "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
            "xPrivateKey": "PrivateKey-2JmTFo8knhffGK32o8vv4oRd8sA7MYo2xx1j4yhAPxN3JrLgMh",
        });
        assert_eq!(value["accounts"][0], first);
        // Other nodes than `esker dev` have none to show.
        let other: serde_json::Value =
            serde_json::from_str(&json_line(&Ready { dev_accounts: None, ..ready() })).unwrap();
        assert_eq!((other.get("accounts"), other.get("mnemonic")), (None, None));
    }
}
