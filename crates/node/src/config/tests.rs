use std::fs;
use std::time::Duration;

use esker_evm::rules::FeeOverrides;
use esker_http::CertificateFiles;
use expect_test::{Expect, expect};

use super::*;
use crate::logging::LogLevel;
use crate::networks::Fees;

struct Given<'a> {
    mode: Mode,
    flags: &'a [(&'static str, &'a str)],
    env: &'a [(&'a str, &'a str)],
    file: &'a str,
}

const NOTHING: Given<'static> =
    Given { mode: Mode::Node, flags: &[], env: &[("HOME", "/home/me")], file: "" };

/// Loads a real file; messages call it `esker.toml`.
fn load(given: &Given<'_>) -> Result<Config, String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("esker.toml");
    fs::write(&path, given.file).unwrap();
    fs::write(dir.path().join("second.json"), SECOND).unwrap();
    for (file, chain_id) in [("third.json", 43_301), ("fourth.json", 43_302)] {
        let genesis = format!(
            r#"{{"config":{{"chainId":{chain_id}}},"gasLimit":"0x1","difficulty":"0x0","alloc":{{}}}}"#
        );
        fs::write(dir.path().join(file), genesis).unwrap();
    }
    let mut flags: Flags = given.flags.iter().map(|(k, v)| (*k, (*v).to_owned())).collect();
    if !given.file.is_empty() {
        flags.insert("config", path.display().to_string());
    }
    let env = given.env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    let place = format!("{}/", dir.path().display());
    Config::load(given.mode, flags, env).map_err(|error| error.to_string().replace(&place, ""))
}

const SECOND: &str = r#"{"coin": {"name": "Coin", "initialState": {"fixedCap": [
    {"amount": 7, "address": "local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u"}]}}}"#;

fn check_error(given: &Given<'_>, expected: Expect) {
    expected.assert_eq(&load(given).unwrap_err());
}

fn value(config: &Config, name: &str) -> (String, String) {
    let value = config.values.iter().find(|value| value.name == name).unwrap();
    let origin = value.origin.to_string();
    let origin = origin.rsplit_once('/').map_or(origin.clone(), |(_, file)| file.to_owned());
    (value.text.clone(), origin)
}

#[test]
fn a_flag_wins_over_a_variable_a_variable_over_the_file_the_file_over_the_default() {
    let file = "http-port = 1\nhttp-host = 'file'\nhttp-allowed-hosts = ['file']\n";
    let env = [("ESKER_HTTP_PORT", "2"), ("ESKER_HTTP_HOST", "env"), ("HOME", "/home/me")];
    let given = Given { file, env: &env, flags: &[("http-port", "3")], ..NOTHING };
    let config = load(&given).unwrap();
    for (name, text, origin) in [
        ("http-port", "3", "--http-port"),
        ("http-host", "env", "ESKER_HTTP_HOST"),
        ("http-allowed-hosts", "file", "esker.toml:3"),
        ("http-allowed-origins", "*", "default"),
    ] {
        assert_eq!(value(&config, name), (text.to_owned(), origin.to_owned()), "{name}");
    }
    assert_eq!(config.settings.http_port, 3);
    assert_eq!(config.http().allowed_hosts, ["file"]);
}

#[test]
fn the_modes_have_their_own_defaults() {
    let node = load(&NOTHING).unwrap();
    assert_eq!(node.network.name, "local");
    assert_eq!(node.data_dir.as_deref(), Some(Path::new("/home/me/.esker/local")));
    assert_eq!(node.settings.log_display_level, LogLevel::Info);
    assert_eq!(node.log().folder.as_deref(), Some(Path::new("/home/me/.esker/local/logs")));
    let dev = load(&Given { mode: Mode::Dev, ..NOTHING }).unwrap();
    assert_eq!(dev.network.name, "dev");
    assert_eq!((dev.data_dir.as_deref(), dev.log().folder), (None, None));
    assert_eq!(dev.settings.log_display_level, LogLevel::Warn);
}

#[test]
fn the_defaults_of_the_http_limits_are_the_servers() {
    let http = format!("{:?}", load(&NOTHING).unwrap().http());
    assert_eq!(http, format!("{:?}", HttpConfig::default()));
}

#[test]
fn keystore_is_on_by_default_only_on_private_loopback_nodes() {
    let enabled = |network: &str, flags: &[(&'static str, &str)]| {
        let flags: Vec<_> = flags.iter().copied().chain([("network", network)]).collect();
        load(&Given { flags: &flags, ..NOTHING }).unwrap().keystore_enabled()
    };
    assert!(enabled("local", &[]));
    assert!(!enabled("main", &[]));
    assert!(!enabled("test", &[]));
    assert!(!enabled("local", &[("http-host", "0.0.0.0")]));
    assert!(!enabled("local", &[("http-host", "")]));
    assert!(enabled("local", &[("http-host", "[::1]")]));
    assert!(!enabled("local", &[("public", "true")]));
    assert!(!enabled("local", &[("public", "true"), ("api-keystore-enabled", "auto")]));
    assert!(enabled("main", &[("api-keystore-enabled", "true")]));
    assert!(!enabled("local", &[("api-keystore-enabled", "false")]));
    let dev = load(&Given { mode: Mode::Dev, ..NOTHING }).unwrap();
    assert!(dev.keystore_enabled());
}

#[test]
fn why_the_keystore_is_off() {
    let off = |flags: &[(&'static str, &str)]| {
        load(&Given { flags, ..NOTHING }).unwrap().keystore_off().unwrap_or_default()
    };
    assert_eq!(off(&[]), "");
    expect!["api-keystore-enabled is false"].assert_eq(&off(&[("api-keystore-enabled", "false")]));
    expect!["the node is public"].assert_eq(&off(&[("public", "true")]));
    expect![
        "users' keys do not belong on a node of network main; set api-keystore-enabled to true to serve it anyway"
    ]
    .assert_eq(&off(&[("network", "main")]));
    expect!["others can reach 10.0.0.1; set api-keystore-enabled to true to serve it anyway"]
        .assert_eq(&off(&[("http-host", "10.0.0.1")]));
}

#[test]
fn public_nodes_of_real_networks_refuse_the_keystore() {
    let on = ("api-keystore-enabled", "true");
    let (anywhere, allowed) = (("http-host", ""), ("allow-keystore-on-public-address", "true"));
    for place in [("network", "main"), ("network", "test")] {
        let refused = load(&Given { flags: &[on, anywhere, place], ..NOTHING }).unwrap_err();
        assert!(refused.contains("others can reach every address of this machine"), "{refused}");
        assert!(refused.contains("set allow-keystore-on-public-address"), "{refused}");
        load(&Given { flags: &[on, place], ..NOTHING }).unwrap();
        load(&Given { flags: &[anywhere, place], ..NOTHING }).unwrap();
        let flags = [on, anywhere, place, allowed];
        let config = load(&Given { flags: &flags, ..NOTHING }).unwrap();
        assert!(config.keystore_enabled() && config.warnings.len() == 1, "{:?}", config.warnings);
    }
    // On a custom network it is a warning.
    let config = load(&Given { flags: &[on, anywhere], ..NOTHING }).unwrap();
    assert!(config.keystore_enabled() && config.warnings.len() == 1, "{:?}", config.warnings);
}

const PUBLIC: (&str, &str) = ("public", "true");

/// The value and the origin of each setting of the profile, as `config show` has them.
fn profile_values(config: &Config, names: impl Fn(&str) -> String) -> Vec<(String, String)> {
    profile::PUBLIC.iter().map(|row| value(config, &names(row.key))).collect()
}

#[test]
fn a_public_node_has_the_settings_of_the_profile() {
    let config = load(&Given { flags: &[PUBLIC], ..NOTHING }).unwrap();
    let name = |key: &str| match profile::row(profile::Scope::Node, key) {
        Some(_) => key.to_owned(),
        None => format!("chains.C.{key}"),
    };
    for (shown, row) in profile_values(&config, name).into_iter().zip(profile::PUBLIC) {
        assert_eq!(shown, (row.value.to_owned(), "public".to_owned()), "{}", row.key);
    }
    let limit = config.http().rate_limit.unwrap();
    assert_eq!((limit.units_per_second.get(), limit.burst.get()), (200, 2000));
    let chain = config.chain(&config.network.c_chain().id);
    assert_eq!((chain.batch_request_limit, chain.api_max_blocks_per_request), (40, 2048));
    assert!(!chain.ws_http_methods_enabled && !config.settings.api_key_methods_enabled);
    let shown = show::render(&config);
    let line = ["chains.C.batch-request-limit", "40", "public"];
    assert!(shown.lines().any(|shown| shown.split_whitespace().eq(line)), "{shown}");

    let usual = load(&NOTHING).unwrap();
    assert_eq!(usual.http().rate_limit, None);
    let chain = usual.chain(&usual.network.c_chain().id);
    assert_eq!((chain.batch_request_limit, chain.api_max_blocks_per_request), (1000, 0));
    assert!(chain.ws_http_methods_enabled && usual.settings.api_key_methods_enabled);
    assert!(!show::render(&usual).contains("batch-request-limit"));
}

#[test]
fn a_public_node_without_names_and_proxies_is_warned() {
    let warnings = |flags: &[(&'static str, &str)]| {
        let flags: Vec<_> = [PUBLIC].iter().chain(flags).copied().collect();
        load(&Given { flags: &flags, ..NOTHING }).unwrap().warnings.join("; ")
    };
    let (hosts, anywhere) = (("http-allowed-hosts", "api.example"), ("http-host", "0.0.0.0"));
    let (proxies, header) =
        (("http-trusted-proxies", "127.0.0.1"), ("http-client-address-header", "X-Real-IP"));
    let (of_hosts, of_proxies) = (
        "public: requests that call the node by a name get status 403: list its names in http-allowed-hosts",
        "public: clients behind a proxy share one limit of rates: set http-trusted-proxies and \
         http-client-address-header",
    );
    assert_eq!(warnings(&[]), format!("{of_hosts}; {of_proxies}"));
    assert_eq!(warnings(&[hosts]), of_proxies);
    assert_eq!(warnings(&[proxies, header]), of_hosts);
    assert_eq!(warnings(&[anywhere]), of_hosts);
    assert_eq!(warnings(&[hosts, anywhere]), "");
    assert!(load(&NOTHING).unwrap().warnings.is_empty());
}

#[test]
fn what_the_user_sets_wins_over_the_profile() {
    let file = "public = true\nhttp-rate-limit = 7\n[chains.C]\nbatch-request-limit = 3\n\
        eth-apis = ['eth', 'web3']\n[chains.Third]\nvm = 'evm'\ngenesis = 'third.json'\n";
    let config =
        load(&Given { file, env: &[("ESKER_HTTP_RATE_BURST", "9"), ("HOME", "/")], ..NOTHING });
    let config = config.unwrap();
    let limit = config.http().rate_limit.unwrap();
    assert_eq!((limit.units_per_second.get(), limit.burst.get()), (7, 9));
    for (name, text, origin) in [
        ("http-rate-limit", "7", "esker.toml:2"),
        ("chains.C.batch-request-limit", "3", "esker.toml:4"),
        ("chains.C.eth-apis", "eth,web3", "esker.toml:5"),
        ("chains.C.api-max-blocks-per-request", "2048", "public"),
        ("chains.Third.batch-request-limit", "40", "public"),
    ] {
        assert_eq!(value(&config, name), (text.to_owned(), origin.to_owned()), "{name}");
    }
    let third = config.chain(&config.network.chain("Third").unwrap().id);
    assert_eq!(third.batch_request_limit, 40);
    // Without the profile each setting can be set alone.
    let file = "[chains.C]\nbatch-request-limit = 40\nws-http-methods-enabled = false\n";
    let config = load(&Given { file, flags: &[("api-key-methods-enabled", "false")], ..NOTHING });
    let config = config.unwrap();
    let chain = config.chain(&config.network.c_chain().id);
    assert_eq!((chain.batch_request_limit, chain.ws_http_methods_enabled), (40, false));
    assert!(!config.settings.api_key_methods_enabled);
}

#[test]
fn a_public_node_refuses_what_it_withholds() {
    for key in ["api-admin-enabled", "api-keystore-enabled", "api-key-methods-enabled"] {
        let refused = load(&Given { flags: &[PUBLIC, (key, "true")], ..NOTHING }).unwrap_err();
        let expected = format!(
            "--{key}: {key}: a public node (--public) does not serve that: leave out {key} or public"
        );
        assert_eq!(refused, expected);
        load(&Given { flags: &[PUBLIC, (key, "false")], ..NOTHING }).unwrap();
        load(&Given { flags: &[("public", "false"), (key, "true")], ..NOTHING }).unwrap();
    }
    let env = [("ESKER_PUBLIC", "true"), ("HOME", "/")];
    for line in [
        "admin-api-enabled = true",
        "coreth-admin-api-enabled = true",
        "eth-apis = 'eth,debug-tracer'",
        "eth-apis = ['internal-personal']",
        "eth-apis = 'internal-tx-pool'",
        "eth-apis = 'private-admin'",
        "eth-apis = 'debug-handler'",
        "eth-apis = 'debug'",
        "eth-apis = 'internal-debug'",
        "eth-apis = 'debug-file-tracer'",
    ] {
        let refused = load(&Given { env: &env, file: &format!("[chains.C]\n{line}"), ..NOTHING });
        let key = if line.contains("eth-apis") { "eth-apis" } else { "admin-api-enabled" };
        let expected = format!(
            "esker.toml:2: chains.C.{key}: a public node (ESKER_PUBLIC) does not serve that: leave out {key} or public"
        );
        assert_eq!(refused.unwrap_err(), expected, "{line}");
    }
    check_error(
        &Given { mode: Mode::Dev, flags: &[PUBLIC], ..NOTHING },
        expect![
            "--public: esker dev can't be public: it signs for anyone and serves all APIs; use esker node --public"
        ],
    );
    load(&Given { mode: Mode::Dev, flags: &[("public", "false")], ..NOTHING }).unwrap();
}

#[test]
fn proxies_and_their_header_are_set_together() {
    let load = |flags: &[(&'static str, &str)]| load(&Given { flags, ..NOTHING });
    let (header, proxies) = ("http-client-address-header", "http-trusted-proxies");
    let set = load(&[(header, "x-real-ip"), (proxies, "127.0.0.1, ::1,10.0.0.0/8")]).unwrap();
    let set = set.http().client_address.unwrap();
    assert_eq!((set.name.as_str(), set.proxies.len()), ("x-real-ip", 3));
    assert_eq!(load(&[]).unwrap().http().client_address, None);
    for (flags, expected) in [
        (
            &[(header, "X-Real-IP")][..],
            expect![
                "--http-client-address-header: http-client-address-header: only proxies that http-trusted-proxies names are believed: set it too"
            ],
        ),
        (
            &[(proxies, "10.0.0.1")],
            expect![
                "--http-trusted-proxies: http-trusted-proxies: http-client-address-header has to name the header that they send, such as X-Forwarded-For"
            ],
        ),
        (
            &[(header, "Forwarded"), (proxies, "10.0.0.1")],
            expect![
                "--http-client-address-header: http-client-address-header: Forwarded is not read: let the proxy send X-Forwarded-For or X-Real-IP"
            ],
        ),
        (
            &[(header, "not a name"), (proxies, "10.0.0.1")],
            expect![
                "--http-client-address-header: http-client-address-header: expected the name of a header, such as X-Forwarded-For"
            ],
        ),
        (
            &[(header, "X-Real-IP"), (proxies, "10.0.0.1,::/0")],
            expect![
                "--http-trusted-proxies: http-trusted-proxies: a range of all addresses would let every client invent its own"
            ],
        ),
        (
            &[(proxies, "proxy.example")],
            expect![[
                r#"--http-trusted-proxies: http-trusted-proxies: "proxy.example": expected IP addresses or ranges such as 10.0.0.0/8, not "proxy.example""#
            ]],
        ),
    ] {
        expected.assert_eq(&load(flags).unwrap_err());
    }
}

#[test]
fn settings_that_do_not_go_together() {
    check_error(
        &Given { flags: &[("network-id", "1"), ("network", "local")], ..NOTHING },
        expect![[r#"network-id is 1, but network "local" has number 12345: set network to main"#]],
    );
    check_error(
        &Given { mode: Mode::Dev, flags: &[("network-id", "1")], ..NOTHING },
        expect![[r#"network-id is 1, but network "dev" has number 12345: set network to main"#]],
    );
    check_error(
        &Given { flags: &[("network-id", "7")], ..NOTHING },
        expect![[
            r#"network-id is 7, but network "local" has number 12345: set network to the file that describes it"#
        ]],
    );
    check_error(
        &Given { mode: Mode::Dev, file: "network = 'main'", ..NOTHING },
        expect![[r#"esker dev runs the development network: for network "main" use esker node"#]],
    );
    check_error(
        &Given { env: &[], ..NOTHING },
        expect!["there is no home folder to keep data in: set data-dir"],
    );
    check_error(
        &Given { flags: &[("network", "nowhere.json")], ..NOTHING },
        expect!["can't read network file nowhere.json: No such file or directory (os error 2)"],
    );
    check_error(
        &Given { flags: &[("config", "nowhere.toml")], ..NOTHING },
        expect!["can't read nowhere.toml: No such file or directory (os error 2)"],
    );
}

#[test]
fn a_networks_number_alone_chooses_it() {
    for (id, name) in [("1", "main"), ("fuji", "test"), ("testnet", "test"), ("12345", "local")] {
        let config = load(&Given { flags: &[("network-id", id)], ..NOTHING }).unwrap();
        assert_eq!(config.network.name, name);
        let shown = (name.to_owned(), "--network-id".to_owned());
        assert_eq!(value(&config, "network"), shown);
    }
}

#[test]
fn bad_values_name_their_origin() {
    check_error(
        &Given { flags: &[("http-port", "x")], ..NOTHING },
        expect![[r#"--http-port: http-port: "x": expected a whole number from 0 to 65535"#]],
    );
    check_error(
        &Given { env: &[("ESKER_LOG_LEVEL", "loud")], ..NOTHING },
        expect![[
            r#"ESKER_LOG_LEVEL: log-level: "loud": expected off, fatal, error, warn, info, trace, debug or verbo"#
        ]],
    );
    check_error(
        &Given { file: "\nhttp-head-limit = 10", ..NOTHING },
        expect!["esker.toml:2: http-head-limit: expected at least 8192"],
    );
    check_error(
        &Given { file: "[chains.banana]\nlog-level = 'info'", ..NOTHING },
        expect![[r#"esker.toml:1: unknown chain "banana""#]],
    );
    check_error(
        &Given { file: "[chains.x]\n", ..NOTHING },
        expect![[r#"esker.toml:1: unknown chain "x", did you mean "X"?"#]],
    );
    check_error(
        &Given { file: "[chains.X]\n[chains.avm]\n", ..NOTHING },
        expect!["esker.toml:2: chains.avm: the chain has another table already"],
    );
}

#[test]
fn an_unknown_variable_is_a_warning() {
    let env = [
        ("ESKER_HTPP_PORT", "1"),
        ("ESKER_GIT_COMMIT", "0123"),
        ("ESKER_COMMIT_DATE", "2026-01-01"),
        ("OTHER", "1"),
        ("HOME", "/home/me"),
    ];
    let config = load(&Given { env: &env, ..NOTHING }).unwrap();
    assert_eq!(
        config.warnings,
        [
            "environment variable ESKER_HTPP_PORT: unknown setting, did you mean \"ESKER_HTTP_PORT\"?"
        ]
    );
}

#[test]
fn tables_of_chains() {
    let file = "index-transactions = false\n[chains.X]\nindex-transactions = true\nlog-level = 'debug'\n\
        [chains.Second]\nvm = 'xvm'\ngenesis = 'second.json'\naliases = 'Y'\ntx-fee = 3\n";
    let config = load(&Given { file, ..NOTHING }).unwrap();
    let (x, second) = (config.network.x_chain(), config.network.chain("Y").unwrap());
    assert_eq!(second.name, "Second");
    assert_eq!(
        *second.parameters.xvm().unwrap(),
        Fees { tx_fee: 3, create_asset_tx_fee: 1_000_000 }
    );
    assert!(config.index_transactions(&x.id));
    assert!(!config.index_transactions(&second.id));
    let levels = config.log().chains;
    let names: Vec<_> = levels.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["P", "X", "C", "Y"]);
    assert_eq!(levels[1].1, Levels { file: LogLevel::Debug, display: LogLevel::Info });
    assert_eq!(levels[3].1, Levels { file: LogLevel::Info, display: LogLevel::Info });
    check_error(
        &Given { file: "[chains.Second]\nvm = 'xvm'", ..NOTHING },
        expect!["esker.toml:1: chains.Second.genesis: a declared chain needs its genesis file"],
    );
    check_error(
        &Given { file: "[chains.Second]\nvm = 'wasm'\ngenesis = 'second.json'", ..NOTHING },
        expect![[
            r#"esker.toml:2: chains.Second.vm: unknown virtual machine "wasm", expected xvm or evm"#
        ]],
    );
    check_error(
        &Given {
            file: "[chains.Second]\nvm = 'xvm'\ngenesis = 'second.json'\naliases = 'X'",
            ..NOTHING
        },
        expect![[
            r#"esker.toml:1: chains.Second: chain "Second": "X" is the name or alias of another chain"#
        ]],
    );
}

#[test]
fn tables_of_evm_chains() {
    let head = "[chains.Third]\nvm = 'evm'\ngenesis = 'third.json'\n";
    let file = format!(
        "{head}aliases = 'E'\nasset = 'X:AVAX'\npeers = 'X,Fourth'\ngas-limit = 9000000\nrpc-gas-cap = 7\n\
         [chains.Fourth]\nvm = 'evm'\ngenesis = 'fourth.json'\nasset = 'X:AVAX'\n"
    );
    let config = load(&Given { mode: Mode::Dev, file: &file, ..NOTHING }).unwrap();
    let (third, c) = (config.network.chain("E").unwrap(), config.network.c_parameters());
    let parameters = third.parameters.evm().unwrap();
    assert_eq!((parameters.chain_id, parameters.fees.gas_limit), (43_301, Some(9_000_000)));
    assert_eq!(parameters.fees.min_base_fee, c.fees.min_base_fee);
    assert_eq!(config.chain(&third.id).rpc_gas_cap, 7);
    let fourth = config.network.chain("Fourth").unwrap();
    assert_eq!(config.network.peers_of(fourth), [third.id]);
    let refused = |rest: &str, expected| {
        check_error(
            &Given { mode: Mode::Dev, file: &format!("{head}{rest}"), ..NOTHING },
            expected,
        );
    };
    refused(
        "tx-fee = 1",
        expect![
            "esker.toml:4: chains.Third.tx-fee: for chains of the asset VM; this is a chain of the EVM"
        ],
    );
    refused(
        "gas-limit = 1",
        expect![
            "esker.toml:4: chains.Third.gas-limit: expected a whole number from 21000 to 9223372036854775807"
        ],
    );
    refused(
        "target-gas = 0",
        expect!["esker.toml:4: chains.Third.target-gas: expected at least 1"],
    );
    refused(
        "peers = 'X'",
        expect![[
            r#"esker.toml:1: chains.Third: chain "Third": peers: the asset that is exchanged with them is missing"#
        ]],
    );
    refused(
        "[chains.Fourth]\nvm = 'evm'\ngenesis = 'third.json'",
        expect![[
            r#"esker.toml:1: chains.Third: chain "Third": EVM chain ID 43301 is that of chain "Fourth" already: a transaction that is signed for one would be valid on the other"#
        ]],
    );
    refused(
        "[chains.C]\ngas-limit = 9000000",
        expect!["esker.toml:5: chains.C.gas-limit: only for a table that declares its chain (vm)"],
    );
    check_error(
        &Given { flags: &[("chain-id", "43301")], mode: Mode::Dev, file: head, ..NOTHING },
        expect![[
            r#"esker.toml:1: chains.Third: chain "Third": EVM chain ID 43301 is that of chain "C-Chain" already: a transaction that is signed for one would be valid on the other"#
        ]],
    );
}

#[test]
fn rotation_of_logs() {
    let rotation = |flags: &[(&'static str, &str)]| {
        let flags = flags.iter().map(|(name, value)| (*name, (*value).to_owned()));
        Config::load(Mode::Dev, Flags::from_iter(flags), []).unwrap().log().rotation
    };
    let default = Rotation { max_bytes: 8 << 20, max_files: 7, interval: None, max_age: None };
    assert_eq!(rotation(&[]), default);
    const DAY: Duration = Duration::from_secs(24 * 3600);
    let age = Some(DAY * 30);
    assert_eq!(
        rotation(&[
            ("log-rotater-max-size", "1"),
            ("log-rotater-max-files", "2"),
            ("log-rotater-max-age", "30"),
            ("log-rotater-interval", "24h"),
        ]),
        Rotation { max_bytes: 1 << 20, max_files: 2, interval: Some(DAY), max_age: age }
    );
}

#[test]
fn a_chain_takes_the_settings_of_its_virtual_machine_only() {
    let asset_vm = "index-transactions = true";
    let evm = "rpc-gas-cap = 7\n";
    let second = "[chains.Second]\nvm = 'xvm'\ngenesis = 'second.json'\n";
    let third = "[chains.Third]\nvm = 'evm'\ngenesis = 'third.json'\n";
    for (head, setting, is_taken) in [
        ("[chains.X]\n", asset_vm, true),
        ("[chains.X]\n", evm, false),
        ("[chains.C]\n", evm, true),
        ("[chains.C]\n", asset_vm, false),
        (second, asset_vm, true),
        (second, evm, false),
        (second, "peers = 'X'", false),
        (third, evm, true),
        (third, asset_vm, false),
        ("[chains.X]\n", "log-level = 'info'", true),
        ("[chains.C]\n", "log-level = 'info'", true),
    ] {
        let loaded = load(&Given { file: &format!("{head}{setting}"), ..NOTHING });
        assert_eq!(loaded.is_ok(), is_taken, "{head}{setting}: {:?}", loaded.err());
    }
    check_error(
        &Given { file: "[chains.X]\nlog-level = 'info'\nrpc-gas-cap = 7", ..NOTHING },
        expect![
            "esker.toml:3: chains.X.rpc-gas-cap: for chains of the EVM; this is a chain of the asset VM"
        ],
    );
    check_error(
        &Given { file: "[chains.C]\nindex-transactions = true", ..NOTHING },
        expect![
            "esker.toml:2: chains.C.index-transactions: for chains of the asset VM; this is a chain of the EVM"
        ],
    );
}

#[test]
fn log_levels_are_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("esker.toml");
    fs::write(&path, "log-level = 'info'").unwrap();
    let flags = Flags::from([
        ("config", path.display().to_string()),
        ("log-display-level", "error".to_owned()),
    ]);
    let config = Config::load(Mode::Dev, flags, []).unwrap();
    fs::write(
        &path,
        "log-level = 'warn'\nlog-display-level = 'info'\n[chains.X]\nlog-level = 'off'",
    )
    .unwrap();
    let log = config.reload_log().unwrap();
    assert_eq!(log.main, Levels { file: LogLevel::Warn, display: LogLevel::Error });
    assert_eq!(log.chains[1], ("X".to_owned(), Levels { file: LogLevel::Off, ..log.main }));
    fs::write(&path, "log-level = 'loud'").unwrap();
    assert!(config.reload_log().is_err());
}

#[test]
fn shown_with_origins() {
    let given = Given {
        mode: Mode::Dev,
        flags: &[("http-port", "0")],
        env: &[("ESKER_INDEX_ENABLED", "true")],
        file: "[chains.X]\nlog-level = 'warn'",
    };
    let shown = show::render(&load(&given).unwrap());
    let line = |name: &str| {
        let line = shown.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line("http-port"), "http-port 0 flag --http-port");
    assert_eq!(line("index-enabled"), "index-enabled true env ESKER_INDEX_ENABLED");
    assert_eq!(line("data-dir"), "data-dir (temporary) default");
    assert_eq!(line("api-keystore-enabled"), "api-keystore-enabled auto (true) default");
    assert!(line("chains.X.log-level").starts_with("chains.X.log-level warn file "));
}

#[test]
fn settings_of_the_c_chain() {
    let dev = load(&Given { mode: Mode::Dev, ..NOTHING }).unwrap();
    assert_eq!(dev.settings.evm_port, Some(8545));
    assert!(!dev.is_evm_port_set());
    assert_eq!(dev.network.c_parameters(), Preset::Dev.network().c_parameters());
    assert_eq!(dev.network.c_parameters().fees.block_gas_cost_step, Some(0));
    let flags = [
        ("real-fees", "true"),
        ("gas-limit", "30000000"),
        ("chain-id", "31337"),
        ("block-time", "2s"),
        ("evm-port", "0"),
    ];
    let exact = load(&Given { mode: Mode::Dev, flags: &flags, ..NOTHING }).unwrap();
    let only_gas = FeeOverrides { gas_limit: Some(30_000_000), ..FeeOverrides::default() };
    assert_eq!(exact.network.c_parameters().fees, only_gas);
    assert_eq!(exact.network.c_parameters().chain_id, 31337);
    assert_eq!(exact.settings.block_time.0, Duration::from_secs(2));
    for given in [
        Given { flags: &[("block-time", "1")], ..NOTHING },
        Given { file: "block-time = 1\n", ..NOTHING },
        Given { file: "block-time = '1'\n", ..NOTHING },
    ] {
        assert_eq!(load(&given).unwrap().settings.block_time.0, Duration::from_secs(1));
    }
    assert_eq!((exact.settings.evm_port, exact.is_evm_port_set()), (Some(0), true));
    let file = "evm-port = ''\n";
    let none = load(&Given { mode: Mode::Dev, file, ..NOTHING }).unwrap();
    assert_eq!(none.settings.evm_port, None);

    let node = load(&NOTHING).unwrap();
    assert_eq!(node.settings.evm_port, None);
    assert_eq!(node.network.c_parameters().fees, FeeOverrides::default());
    check_error(
        &Given { flags: &[("network", "main"), ("chain-id", "7")], ..NOTHING },
        expect!["--chain-id: chain-id: network main has its own, which can't be changed"],
    );
    check_error(
        &Given { file: "network = 'test'\ngas-limit = 30000000\n", ..NOTHING },
        expect!["esker.toml:2: gas-limit: network test has its own, which can't be changed"],
    );
    check_error(
        &Given { flags: &[("chain-id", "0")], ..NOTHING },
        expect!["--chain-id: chain-id: expected a whole number from 1 to 9223372036854775771"],
    );
    check_error(
        &Given { flags: &[("gas-limit", "20999")], ..NOTHING },
        expect![
            "--gas-limit: gas-limit: expected a whole number from 21000 to 9223372036854775807"
        ],
    );
    check_error(
        &Given { flags: &[("block-time", "2x")], ..NOTHING },
        expect![[r#"--block-time: block-time: "2x": expected a time such as 30s, 2m or 500ms"#]],
    );
}

#[test]
fn unused_reference_settings_are_accepted_with_a_warning() {
    let file = file::parse(
        "[chains.C]\ncommit-interval = 4096\nsnapshot-cache = 256\nrpc-gas-cap = 7\n",
        std::path::Path::new("esker.toml"),
    )
    .unwrap();
    assert_eq!(
        super::ignored_settings(&file).unwrap(),
        "settings without effect in this node, ignored: C.commit-interval, C.snapshot-cache"
    );
    assert!(file.chains["C"].values.contains_key("rpc-gas-cap"));
}

#[test]
fn client_version_of_a_development_node() {
    let version = |mode, flags| {
        let given = Given { mode, flags, ..NOTHING };
        load(&given).unwrap().client_version()
    };
    let own = concat!("esker/v", env!("CARGO_PKG_VERSION"));
    assert_eq!(version(Mode::Node, &[]), own);
    assert_eq!(version(Mode::Dev, &[]), format!("anvil/{own}"));
    // The development network does not imply a development node.
    assert_eq!(version(Mode::Node, &[("network", "dev")]), own);
    for mode in [Mode::Node, Mode::Dev] {
        assert_eq!(version(mode, &[("client-version", "HardhatNetwork/2")]), "HardhatNetwork/2");
    }
    let long = "x".repeat(257);
    check_error(
        &Given { flags: &[("client-version", &long)], ..NOTHING },
        expect!["--client-version: client-version: expected at most 256 bytes"],
    );
}

#[test]
fn tls_needs_both_files() {
    fn files(flags: &[(&'static str, &str)]) -> Option<CertificateFiles> {
        load(&Given { flags, ..NOTHING }).unwrap().tls_files()
    }
    let (cert, key) = (("http-tls-cert-file", "c.pem"), ("http-tls-key-file", "k.pem"));
    let (on, off) = (("http-tls-enabled", "true"), ("http-tls-enabled", "false"));
    let both = CertificateFiles { certificate: "c.pem".into(), key: "k.pem".into() };
    assert_eq!(files(&[cert, key]), Some(both.clone()));
    assert_eq!(files(&[cert, key, on]), Some(both));
    for plain in [&[][..], &[off], &[cert, key, off], &[cert, off]] {
        assert_eq!(files(plain), None, "{plain:?}");
    }
    for (flags, expected) in [
        (
            &[cert][..],
            "http-tls-key-file is missing: set both http-tls-cert-file and http-tls-key-file, or neither",
        ),
        (
            &[key],
            "http-tls-cert-file is missing: set both http-tls-cert-file and http-tls-key-file, or neither",
        ),
        (&[cert, on], "http-tls-enabled is true, and http-tls-key-file is missing"),
        (&[key, on], "http-tls-enabled is true, and http-tls-cert-file is missing"),
        (
            &[on],
            "http-tls-enabled is true, and http-tls-cert-file and http-tls-key-file are missing",
        ),
    ] {
        assert_eq!(load(&Given { flags, ..NOTHING }).unwrap_err(), expected);
    }
}
