//! The screen that `esker dev` shows when it is ready, and the same data as one line of JSON.

use std::fmt::Write as _;
use std::fs::{OpenOptions, Permissions};
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};

use esker_node::config::{Config, Mode};
use esker_node::networks::accounts::{Account, WELL_KNOWN_KEY, well_known};
use esker_node::networks::{DEV_MNEMONIC, DevAccounts, P_ALIASES};
use esker_node::wiring::{RunningNode, StartError};
use serde_json::json;

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
    /// The bound address.
    pub http_addr: String,
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
    /// EVM chain ID of the C-Chain.
    pub evm_chain_id: u64,
    /// ID of the native asset.
    pub native_asset_id: String,
    /// Its aliases.
    pub native_aliases: Vec<String>,
    /// The accounts of `esker dev`, with their keys.
    pub dev_accounts: Option<DevAccounts>,
    /// The data folder; `None` if it is temporary.
    pub data_dir: Option<String>,
}

impl Ready {
    /// The data of this node.
    pub fn of(node: &RunningNode) -> Self {
        let config = node.config();
        let network = &config.network;
        let runs = |id| node.chains().iter().any(|chain| chain.vm().context().chain_id == id);
        let aliases: Vec<_> = network.chains.iter().map(|spec| spec.primary_alias()).collect();
        let mut shown = aliases.clone();
        shown.push(P_ALIASES[0].to_owned());
        let url = |bound| format!("{}://{}", node.http_scheme(), reachable_address(bound));
        Self {
            version: env!("CARGO_PKG_VERSION"),
            network: network.name.clone(),
            network_id: network.id,
            url: url(node.http_addr()),
            http_addr: node.http_addr().to_string(),
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
            evm_chain_id: network.c_parameters().chain_id,
            native_asset_id: network.native_asset_id.to_string(),
            native_aliases: config.settings.native_aliases.0.clone(),
            dev_accounts: network.dev_accounts.clone().filter(|_| config.mode == Mode::Dev),
            data_dir: config.data_dir.as_ref().map(|path| path.display().to_string()),
        }
    }

    /// Writes the ready file, if it is configured, atomically.
    pub fn write_file(&self, config: &Config) -> Result<(), StartError> {
        let Some(path) = &config.settings.ready_file else { return Ok(()) };
        let fault = |error| StartError::Write { path: path.clone(), error };
        let mut unfinished = path.as_os_str().to_owned();
        unfinished.push(".new");
        let has_secrets =
            self.dev_accounts.as_ref().is_some_and(|dev| dev.mnemonic != DEV_MNEMONIC);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        if has_secrets {
            options.mode(0o600);
        }
        let mut file = options.open(&unfinished).map_err(fault)?;
        if has_secrets {
            // Also where the file was left behind by a start that was killed.
            file.set_permissions(Permissions::from_mode(0o600)).map_err(fault)?;
        }
        file.write_all(json_line(self).as_bytes()).map_err(fault)?;
        std::fs::rename(&unfinished, path).map_err(fault)
    }
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
        "evm": ready.evm_addr,
        "evmUrl": ready.evm_url,
        "chains": chains,
        "nativeAssetID": ready.native_asset_id,
        "dataDir": ready.data_dir,
    });
    if let Some(dev) = &ready.dev_accounts {
        line["mnemonic"] = json!(dev.mnemonic);
        line["accounts"] = dev.accounts.iter().map(account_json).collect();
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

/// Escape sequences, or empty texts.
struct Style {
    bold: &'static str,
    dim: &'static str,
    link: &'static str,
    warn: &'static str,
    off: &'static str,
}

/// A short request to the C-Chain.
const CHAIN_ID: &str = r#"{"jsonrpc":"2.0","id":1,"method":"evm_chainId"}"#;

const PLAIN: Style = Style { bold: "", dim: "", link: "", warn: "", off: "" };
const COLOURS: Style =
    Style { bold: "\x1b[1m", dim: "\x1b[2m", link: "\x1b[36m", warn: "\x1b[33m", off: "\x1b[0m" };

/// The screen of `esker dev`, under 40 lines of text unless more accounts are wanted.
pub fn render(ready: &Ready, colours: bool) -> String {
    let s = if colours { COLOURS } else { PLAIN };
    let mut out = String::new();
    // Writing to a String can't fail.
    let _ok = write_screen(&mut out, ready, &s);
    out
}

fn write_screen(out: &mut String, ready: &Ready, s: &Style) -> std::fmt::Result {
    let Style { bold, dim, off, .. } = s;
    let kept = match &ready.data_dir {
        Some(path) => format!("data in {path}"),
        None => "data removed at exit".to_owned(),
    };
    writeln!(
        out,
        "{bold}Esker {}{off}  network {} ({}), ready in {} ms, {kept}\n",
        ready.version, ready.network, ready.network_id, ready.ready_ms
    )?;
    write_endpoints(out, ready, s)?;
    writeln!(out)?;
    for (alias, id, running) in &ready.chains {
        let note = if *running { "" } else { "  (not served by this version)" };
        writeln!(out, "  {:<12} {id}{dim}{note}{off}", format!("{alias}-Chain ID"))?;
    }
    writeln!(out, "  {:<12} {}", "EVM chain ID", ready.evm_chain_id)?;
    let aliases = ready.native_aliases.join(" or ");
    writeln!(out, "  {:<12} {}  {dim}{aliases}{off}\n", "Native asset", ready.native_asset_id)?;
    if let Some(funded) = &ready.dev_accounts {
        let coin = ready.native_aliases.first().map_or("native units", String::as_str);
        write_accounts(out, funded, coin, s)?;
    }
    writeln!(
        out,
        "{bold}Try{off}: curl -H 'Content-Type: application/json' {}/ext/bc/X \\",
        ready.url
    )?;
    let body =
        r#"{"jsonrpc":"2.0","id":1,"method":"xvm.getAssetDescription","params":{"assetID":"NAT"}}"#;
    writeln!(out, "  -d '{body}'")?;
    let Some((_, rpc)) = ready.endpoints.iter().find(|(_, path)| path.ends_with("/C/rpc")) else {
        return Ok(());
    };
    writeln!(
        out,
        "     curl -H 'Content-Type: application/json' {}{rpc} -d '{CHAIN_ID}'",
        ready.url
    )
}

/// The endpoints, two on a line.
fn write_endpoints(out: &mut String, ready: &Ready, s: &Style) -> std::fmt::Result {
    let Style { link, off, .. } = s;
    let paths =
        ready.endpoints.iter().map(|(name, path)| (name.as_str(), ready.url.clone() + path));
    let endpoints: Vec<_> =
        paths.chain(ready.evm_url.iter().map(|url| ("EVM RPC", url.clone()))).collect();
    let width = endpoints.iter().step_by(2).map(|(_, url)| url.len()).max().unwrap_or_default();
    for pair in endpoints.chunks(2) {
        match pair {
            [(name, url), (second, second_url)] => writeln!(
                out,
                "  {name:<12} {link}{url:<width$}{off}  {second:<12} {link}{second_url}{off}"
            )?,
            _ => pair
                .iter()
                .try_for_each(|(name, url)| writeln!(out, "  {name:<12} {link}{url}{off}"))?,
        }
    }
    Ok(())
}

fn write_accounts(
    out: &mut String,
    funded: &DevAccounts,
    coin: &str,
    s: &Style,
) -> std::fmt::Result {
    let Style { bold, dim, warn, off, .. } = s;
    let DevAccounts { mnemonic, path, balance, accounts } = funded;
    writeln!(out, "{bold}Accounts{off}, {} each: {mnemonic}", group_digits(*balance))?;
    writeln!(
        out,
        "  {dim}{path}/N: on X, on C, private key; balances in {coin}, which is 10^9 units on X and 10^18 wei on C{off}"
    )?;
    let width = accounts.len().saturating_sub(1).to_string().len();
    for (index, account) in accounts.iter().enumerate() {
        writeln!(out, "  {index:<width$}  {}", account_line(account))?;
    }
    writeln!(out, "{bold}Well-known key{off}: {WELL_KNOWN_KEY}")?;
    writeln!(out, "  {:<width$}  {}", "", account_line(&well_known()))?;
    write_import_keys(out, accounts, width, s)?;
    let warning = if mnemonic == DEV_MNEMONIC {
        "These keys are public: anyone can take what they own on other networks."
    } else {
        "These keys are for development: whoever sees them can take what they own on other networks."
    };
    writeln!(out, "{warn}{warning}{off}\n")
}

/// The accounts' keys in the form of the X-Chain's tools, two on a line.
fn write_import_keys(
    out: &mut String,
    accounts: &[Account],
    width: usize,
    s: &Style,
) -> std::fmt::Result {
    let Style { dim, off, .. } = s;
    writeln!(out, "  {dim}N: the same private keys as X-Chain tools take them{off}")?;
    let keys = accounts.iter().enumerate();
    let keys: Vec<_> = keys
        .map(|(index, account)| format!("{index:<width$}  {}", account.key().to_text()))
        .collect();
    let column = keys.iter().step_by(2).map(String::len).max().unwrap_or_default();
    for pair in keys.chunks(2) {
        let line = pair.iter().fold(String::new(), |line, key| format!("{line}  {key:<column$}"));
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// The account's addresses and key, on one line.
fn account_line(account: &Account) -> String {
    let (x, c, key) = (account.local_address(), account.c_address(), account.key_hex());
    format!("X-{x}  {c}  0x{key}")
}

/// Groups digits by thousands: `10,000`.
fn group_digits(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
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
            http_addr: "127.0.0.1:9650".to_owned(),
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
            evm_chain_id: 43112,
            native_asset_id: "2fombhL7aGPwj3KH4bfrmJwW6PVnMobf9Y2fn9GwxiAAJyFDbe".to_owned(),
            native_aliases: vec!["NAT".to_owned(), "AVAX".to_owned()],
            dev_accounts: Some(DevAccounts::usual().clone()),
            data_dir: None,
        }
    }

    #[test]
    fn accounts_of_another_mnemonic() {
        let mut ready = ready();
        let mut accounts = DevAccounts::usual().accounts.clone();
        accounts.push(well_known());
        let (mnemonic, path) = ("some words".to_owned(), "m/7".to_owned());
        ready.dev_accounts = Some(DevAccounts { mnemonic, path, balance: 1_234, accounts });
        let screen = render(&ready, false);
        let begin = screen.find("Accounts").unwrap();
        let lines: Vec<_> =
            screen[begin..].lines().map(|line| &line[..line.len().min(24)]).collect();
        assert_eq!(lines[0], "Accounts, 1,234 each: so");
        assert_eq!(lines[1], "  m/7/N: on X, on C, pri");
        assert_eq!(lines[2], "  0   X-local15428vq2uzw");
        assert_eq!(lines[12], "  10  X-local18jma8ppw3n");
        assert_eq!(lines[14], "      X-local18jma8ppw3n");
        assert!(screen.contains("These keys are for development: "), "{screen}");
        assert!(!screen.contains("These keys are public"), "{screen}");
    }

    #[test]
    fn the_screen() {
        let screen = render(&ready(), false);
        assert!(screen.lines().count() < 40, "{} lines", screen.lines().count());
        expect![[r#"
            Esker 0.1.0  network dev (12345), ready in 31 ms, data removed at exit

              X-Chain      http://127.0.0.1:9650/ext/bc/X           X wallet     http://127.0.0.1:9650/ext/bc/X/wallet
              C-Chain      http://127.0.0.1:9650/ext/bc/C/rpc       P-Chain      http://127.0.0.1:9650/ext/bc/P
              asset VM     http://127.0.0.1:9650/ext/vm/xvm         info         http://127.0.0.1:9650/ext/info
              health       http://127.0.0.1:9650/ext/health         metrics      http://127.0.0.1:9650/ext/metrics
              admin        http://127.0.0.1:9650/ext/admin          keystore     http://127.0.0.1:9650/ext/keystore
              X index      http://127.0.0.1:9650/ext/index/X/block  EVM RPC      http://127.0.0.1:8545

              X-Chain ID   2eNy1mUFdmaxXNj1eQHUe7Np4gju9sJsEtWQ4MX3ToiNKuADed
              C-Chain ID   2BWjAem9GFUrxT8pAagsjJeLzCZGXKnLZzhRK7pbw4ZjYZ7UkL
              EVM chain ID 43112
              Native asset 2fombhL7aGPwj3KH4bfrmJwW6PVnMobf9Y2fn9GwxiAAJyFDbe  NAT or AVAX

            Accounts, 10,000 each: test test test test test test test test test test test junk
              m/44'/60'/0'/0/N: on X, on C, private key; balances in NAT, which is 10^9 units on X and 10^18 wei on C
              0  X-local15428vq2uzwhm3taey9sr9x5vm6tk78ew499s5v  0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266  0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80
              1  X-local1cjzphr67dug28rw9ueewrqllmxlqe5f0unaxss  0x70997970C51812dc3A010C7d01b50e0d17dc79C8  0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d
              2  X-local1sj3m3zudqkw4plsvm7p08h9q89lsy4wput6fxp  0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC  0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a
              3  X-local1y3fgntsaf2cmylsnu3880g7wp6aj73zu2kkjd4  0x90F79bf6EB2c4f870365E785982E1f101E93b906  0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6
              4  X-local1jft4f7x5cajyw6w8vfj9708mx9jfswq0a739vp  0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65  0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a
              5  X-local1syp9y2mlfrrjwdaj5ytezh9wuerwuhncjwye9m  0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc  0x8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba
              6  X-local1zyf8ga3p89xmjaxje2ckvtvhjzv7g24s30j6rq  0x976EA74026E726554dB657fA54763abd0C3a0aa9  0x92db14e403b83dfe3df233f83dfa3a0d7096f21ca9b0d6d6b8d88b2b4ec1564e
              7  X-local1mer4xr0wqlq7v8m678vvx4zeyep20v8rhw76tp  0x14dC79964da2C08b23698B3D3cc7Ca32193d9955  0x4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356
              8  X-local1l5rrv44ufqq97psu2jqx909mdnjapwv0sapt8w  0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f  0xdbda1821b80551c9d65939329250298aa3472ba22feea921c0cf5d620ea67b97
              9  X-local14flvw0x8fstzly79tacgsulxvkpv858q9nskex  0xa0Ee7A142d267C1f36714E4a8F75612F20a79720  0x2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6
            Well-known key: PrivateKey-ewoqjP7PxY4yr3iLTpLisriqt94hdyDFNgchSxGGztUrTXtNN
                 X-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u  0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC  0x56289e99c94b6912bfc12adc093c9b51124f0dc54ac7a766b2bc5ccf558d8027
              N: the same private keys as X-Chain tools take them
              0  PrivateKey-2JmTFo8knhffGK32o8vv4oRd8sA7MYo2xx1j4yhAPxN3JrLgMh  1  PrivateKey-gYChgv9KmCAaRH47tkCCm94bZLAxdQAygvZKNRUsaq7KM14hL
              2  PrivateKey-iMKNGkysaBKiThvdKfzLtPFDvVLcku2E1A2AXQJAroN8exmr5   3  PrivateKey-wqhSPTuv3JB9YPixRMp8DYgPPsc3iV2fDT5gXUVn1MZsZZrz2
              4  PrivateKey-Yf6fhJUE97QgwBkb5ttXE3yR1UFCT3YVjZmfLU7KUVUj5UeA2   5  PrivateKey-24KNq4HhQo5BL6xMXYFKyoH33KN7aPUkeF9QDy7sVAmo4m1GXd
              6  PrivateKey-27gEa9Qudm22UaxCuRY9EGVM88msZo17PyA92qcU1DvUbwW4hv  7  PrivateKey-aMXjshukTmhmsn2PdeBXDrU5rhEWB5VCgqr2eJ6ianKWVrQSv
              8  PrivateKey-2fpphtBdokVfG6uAWP7mFSu3Zsw6ojVQiHrctLpSvT6dPgYc23  9  PrivateKey-KjKHSmNQ9bFN3bK2nkG1ecEaasisjKZE1VqEi8crRRJDM8xYP
            These keys are public: anyone can take what they own on other networks.

            Try: curl -H 'Content-Type: application/json' http://127.0.0.1:9650/ext/bc/X \
              -d '{"jsonrpc":"2.0","id":1,"method":"xvm.getAssetDescription","params":{"assetID":"NAT"}}'
                 curl -H 'Content-Type: application/json' http://127.0.0.1:9650/ext/bc/C/rpc -d '{"jsonrpc":"2.0","id":1,"method":"evm_chainId"}'
        "#]]
        .assert_eq(&screen);
    }

    #[test]
    fn a_chain_that_does_not_run() {
        let mut ready = ready();
        ready.chains[1].2 = false;
        ready.endpoints.retain(|(name, _)| name != "C-Chain");
        let screen = render(&ready, false);
        assert!(screen.contains("ZjYZ7UkL  (not served by this version)\n"), "{screen}");
        assert!(!screen.contains(CHAIN_ID), "{screen}");
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
