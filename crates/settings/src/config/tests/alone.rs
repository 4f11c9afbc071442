//! `esker evm`.

use std::sync::Arc;

use alloy_primitives::U256;
use esker_ethereum::forks::{ChainConfig, Fork};
use expect_test::expect;

use super::*;
use crate::config::{ForkBlock, ForkedRules};
use crate::networks::EvmRules;

const ALONE: Given<'static> = Given { mode: Mode::Evm, ..NOTHING };

#[test]
fn the_chain_that_is_alone() {
    let config = load(&ALONE).unwrap();
    let network = &config.network;
    assert_eq!((network.chains.len(), network.x_chain()), (1, None));
    assert_eq!(network.evm_chain().aliases, ["evm"]);
    assert_eq!((network.evm_parameters().chain_id, network.hardfork()), (31_337, Some("Osaka")));
    assert!(matches!(network.evm_parameters().rules, EvmRules::Ethereum(_)));
    assert_eq!((network.gas_limit_at(0), network.initial_base_fee()), (30_000_000, 1_000_000_000));
    assert_eq!(config.listen_port(), (8545, "port"));
    assert_eq!((config.data_dir.as_ref(), network.has_controls), (None, true));
    let funded = network.dev_accounts.as_ref().unwrap();
    assert_eq!((funded.accounts.len(), funded.balance), (10, 10_000));
    let wei = network.evm_parameters().genesis_wei(&network.evm_chain().genesis);
    assert_eq!(wei, U256::from(100_000_u64) * U256::from(10_u64.pow(18)));
    assert_eq!(network.evm_parameters().genesis_wei(b"{}"), U256::ZERO);
    assert_eq!(value(&config, "network").0, "evm");
    // It has no log of a chain that it has not.
    let levels = config.log().chains;
    assert_eq!(levels.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["evm"]);
    config.reload_log().unwrap();
}

#[test]
fn its_settings_make_its_genesis() {
    let flags = [
        ("hardfork", "tangerineWhistle"),
        ("chain-id", "5"),
        ("accounts", "2"),
        ("balance", "1000000000"),
        ("gas-limit", "9000000"),
        ("no-build", "true"),
    ];
    let config = load(&Given { flags: &flags, ..ALONE }).unwrap();
    let network = &config.network;
    assert_eq!(network.hardfork(), Some("TangerineWhistle"));
    assert_eq!((network.evm_parameters().chain_id, network.gas_limit_at(0)), (5, 9_000_000));
    assert!(!network.has_controls);
    let usual = load(&ALONE).unwrap();
    assert_ne!(network.evm_chain().id, usual.network.evm_chain().id);
    assert_eq!(network.fingerprint(), usual.network.fingerprint());
    let values = network.evm_chain().parameters.values();
    assert!(values.contains(&("rules".into(), "ethereum".to_owned())), "{values:?}");
    assert!(values.contains(&("eip150Block".into(), "0".to_owned())), "{values:?}");
}

#[test]
fn limits_are_parameters_of_the_chain() {
    let flags = [
        ("code-size-limit", "100000"),
        ("no-tx-gas-limit", "true"),
        ("timestamp", "0"),
        ("memory-limit", "7"),
    ];
    let config = load(&Given { flags: &flags, ..ALONE }).unwrap();
    let EvmRules::Ethereum(rules) = &config.network.evm_parameters().rules else {
        panic!("Ethereum's")
    };
    assert_eq!((rules.limits.code_size, rules.limits.lifts_tx_gas), (Some(100_000), true));
    let values = config.network.evm_chain().parameters.values();
    assert!(values.contains(&("code-size-limit".into(), "100000".to_owned())), "{values:?}");
    assert!(values.contains(&("no-tx-gas-limit".into(), "true".to_owned())), "{values:?}");
    assert!(values.contains(&("memory-limit".into(), "7".to_owned())), "{values:?}");
    let usual = load(&ALONE).unwrap().network.evm_chain().parameters.values();
    assert!(usual.iter().all(|(name, _)| !name.ends_with("-limit")), "{usual:?}");
}

#[test]
fn a_gas_price_is_suggested_before_london() {
    for base_fee in [&[][..], &[("base-fee", "3")]] {
        let flags = [&[("hardfork", "berlin"), ("gas-price", "5")][..], base_fee].concat();
        let config = load(&Given { flags: &flags, ..ALONE }).unwrap();
        assert_eq!(config.min_suggested_tip(), Some(5));
    }
    assert_eq!(load(&ALONE).unwrap().min_suggested_tip(), None);
}

#[test]
fn the_deployer_can_be_left_out() {
    let alloc = |flags: &[(&'static str, &str)]| {
        let config = load(&Given { flags, ..ALONE }).unwrap();
        let genesis: serde_json::Value =
            serde_json::from_slice(&config.network.evm_chain().genesis).unwrap();
        let alloc = genesis["alloc"].as_object().unwrap().keys().cloned();
        alloc.collect::<std::collections::BTreeSet<_>>()
    };
    let (usual, without) = (alloc(&[]), alloc(&[("no-create2-deployer", "true")]));
    let left_out: Vec<_> = usual.difference(&without).collect();
    assert_eq!(left_out, ["4e59b44847b379578588920cA78FbF26c0B4956C"]);
    assert!(without.is_subset(&usual));
}

#[test]
fn accounts_of_a_file_are_added() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("genesis.json");
    let path = file.to_str().unwrap();
    let given = [("alloc", path), ("accounts", "2")];
    let alloc = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let config = load(&Given { flags: &given, ..ALONE })?;
        let genesis = &config.network.evm_chain().genesis;
        let genesis = esker_ethereum::genesis::Genesis::parse(genesis).unwrap();
        Ok::<_, String>(genesis.fields.alloc)
    };
    let first = "f39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
    let text =
        format!(r#"{{"alloc":{{"0x{first}":{{"balance":"7"}},"0x01":{{"balance":"0x5"}}}}}}"#);
    let text = text.replace("0x01", "0x0000000000000000000000000000000000000001");
    let added = alloc(&text).unwrap();
    let balance = |address: &str| {
        added[&address.parse::<alloy_primitives::Address>().unwrap()].balance.to_string()
    };
    assert_eq!(balance(first), "7");
    assert_eq!(balance("0000000000000000000000000000000000000001"), "5");
    assert_eq!(balance("70997970C51812dc3A010C7d01b50e0d17dc79C8"), "10000000000000000000000");
    for (text, reason) in [
        ("{}", "expected an object with the accounts in its member alloc"),
        ("[", "EOF while parsing"),
        (r#"{"alloc":{"0x12":{"balance":"1"}}}"#, "--alloc: alloc: "),
    ] {
        let refused = alloc(text).unwrap_err();
        assert!(refused.contains(reason), "{refused}");
    }
}

#[test]
fn what_does_not_go_together_is_refused() {
    let refused = |flags: &[(&'static str, &str)], expected| {
        check_error(&Given { flags, ..ALONE }, expected);
    };
    refused(
        &[("real-fees", "true")],
        expect![
            "--real-fees: real-fees: not under esker evm, which runs one chain of Ethereum's rules"
        ],
    );
    refused(
        &[("gas-price", "5")],
        expect![
            "--gas-price: gas-price: only with a hardfork before london: others have a base fee"
        ],
    );
    refused(
        &[("genesis", "g.json"), ("no-create2-deployer", "true")],
        expect!["--no-create2-deployer: no-create2-deployer: not with genesis, which says it"],
    );
    refused(
        &[("genesis", "g.json"), ("hardfork", "osaka")],
        expect!["--hardfork: hardfork: not with genesis, which says it"],
    );
    refused(
        &[("genesis", "g.json"), ("accounts", "3")],
        expect!["--accounts: accounts: not with genesis, which has its own accounts"],
    );
    refused(
        &[("no-build", "true"), ("load-state", "s.json")],
        expect!["--load-state: load-state: not with no-build: it takes blocks"],
    );
    refused(
        &[("follow", "http://a:1")],
        expect!["--follow: follow: under esker evm only together with no-build"],
    );
    refused(
        &[("network", "dev")],
        expect!["--network: network: esker evm has its own: for another network use esker node"],
    );
    refused(
        &[("anvil-answers", "true"), ("hardhat-answers", "true")],
        expect![
            "--hardhat-answers: hardhat-answers: not with anvil-answers: answers are those of one tool"
        ],
    );
    refused(
        &[("no-mining", "true"), ("mine-interval", "1")],
        expect!["--mine-interval: mine-interval: not with no-mining"],
    );
    refused(
        &[("mixed-mining", "true")],
        expect!["--mixed-mining: mixed-mining: only together with mine-interval"],
    );
    refused(
        &[("mine-interval", "8785h")],
        expect!["--mine-interval: mine-interval: expected at most 31622400 s"],
    );
    refused(
        &[("no-build", "true"), ("auto-impersonate", "true")],
        expect![
            "--auto-impersonate: auto-impersonate: not with no-build: the chain has no controls"
        ],
    );
    refused(
        &[("genesis", "g.json"), ("alloc", "a.json")],
        expect!["--alloc: alloc: not with genesis, which says it"],
    );
    let unknown = load(&Given { flags: &[("hardfork", "lisbon")], ..ALONE }).unwrap_err();
    assert!(
        unknown.starts_with("--hardfork: hardfork: unknown hardfork \"lisbon\"; known: "),
        "{unknown}"
    );
    let later = load(&Given { flags: &[("hardfork", "amsterdam")], ..ALONE }).unwrap_err();
    assert!(
        later.starts_with("--hardfork: hardfork: hardfork \"amsterdam\" is not supported; known: "),
        "{later}"
    );
    check_error(
        &Given { file: "[chains.Third]\nvm = 'evm'\ngenesis = 'third.json'", ..ALONE },
        expect!["esker.toml:1: chains.Third: esker evm runs one chain: use esker node"],
    );
    for mode in [Mode::Node, Mode::Dev] {
        check_error(
            &Given { mode, flags: &[("no-build", "true")], ..NOTHING },
            expect!["--no-build: no-build: only for esker evm"],
        );
    }
}

#[test]
fn a_table_declares_a_chain_with_ethereums_rules() {
    let head =
        "[chains.Third]\nvm = 'evm'\nrules = 'ethereum'\ngenesis = 'third.json'\naliases = 'ETH'\n";
    let config = load(&Given { file: head, ..NOTHING }).unwrap();
    let chain = config.network.chain("ETH").unwrap();
    let parameters = chain.parameters.evm().unwrap();
    assert!(!parameters.has_atomic_transactions() && parameters.is_archive_by_default());
    assert_eq!(config.network.peers_of(chain), []);
    for (rest, text) in [
        ("gas-limit = 9000000", "chains.Third.gas-limit: for chains with the C-Chain's rules"),
        (
            "atomic-transactions = true",
            "chains.Third.atomic-transactions: for chains with the C-Chain's rules",
        ),
        ("asset = 'X:AVAX'", "asset: a chain with Ethereum's rules has a coin of its own"),
        ("peers = 'X'", "peers: a chain with Ethereum's rules has a coin of its own"),
    ] {
        let refused = load(&Given { file: &format!("{head}{rest}"), ..NOTHING }).unwrap_err();
        assert!(refused.contains(text), "{refused}");
    }
    check_error(
        &Given { file: &head.replace("ethereum", "mine"), ..NOTHING },
        expect![[
            r#"esker.toml:3: chains.Third.rules: unknown rules "mine", expected c-chain or ethereum"#
        ]],
    );
}

#[test]
fn forks_share_a_cache_of_the_user() {
    fn folder(flags: &[(&'static str, &str)], env: &[(&str, &str)]) -> Option<std::path::PathBuf> {
        load(&Given { flags, env, ..ALONE }).unwrap().fork_cache
    }
    let home = [("HOME", "/home/me")];
    let path = |text: &str| Some(std::path::PathBuf::from(text));
    assert_eq!(folder(&[], &home), path("/home/me/.cache/esker/forks"));
    assert_eq!(folder(&[], &[home[0], ("XDG_CACHE_HOME", "/c")]), path("/c/esker/forks"));
    assert_eq!(folder(&[("fork-cache", "/mine")], &home), path("/mine"));
    assert_eq!(folder(&[("fork-cache", "off")], &home), None);
    assert_eq!(folder(&[], &[]), None);
}

#[test]
fn a_fork_has_the_state_of_its_source() {
    const URL: (&str, &str) = ("fork-url", "http://127.0.0.1:1");
    for (flags, text) in [
        (&[URL, ("state-window", "3")][..], "state-window: not with fork-url: a fork keeps all"),
        (&[URL, ("genesis", "g.json")], "genesis: not with fork-url"),
        (&[URL, ("dump-state", "s.json")], "dump-state: not with fork-url"),
        (&[URL, ("fork-from", "f.pack")], "fork-from: not with fork-url"),
        (&[("fork-from", "f.pack"), ("state-window", "3")], "state-window: not with fork-from"),
        (
            &[("fork-from", "f.pack"), ("fork-block", "3")],
            "fork-block: only together with fork-url",
        ),
        (&[("fork-keep-balances", "true")], "fork-keep-balances: only together with fork-url or"),
        (&[("fork-block", "3")], "fork-block: only together with fork-url"),
        (&[("fork-proofs", "true")], "fork-proofs: only together with fork-url"),
    ] {
        let error = load(&Given { flags, ..ALONE }).unwrap_err();
        assert!(error.contains(text), "{flags:?}: {error}");
    }
    let node = load(&Given { flags: &[URL], ..NOTHING }).unwrap_err();
    assert!(node.ends_with("fork-url: only for esker dev and esker evm"), "{node}");
    let config = load(&Given { flags: &[URL, ("chain-id", "7")], ..ALONE }).unwrap();
    let rules = Arc::new(ChainConfig::development(5, Fork::London));
    let (time_s, gas_limit) = (4_000, 9_000_000);
    let rules = ForkedRules::Ethereum(Some(rules));
    let block = ForkBlock { chain_id: 5, time_s, gas_limit, base_fee: 3, rules };
    let network = config.clone().on_fork(&block).unwrap();
    assert_eq!(network.network.hardfork(), Some("London"));
    let network =
        config.on_fork(&ForkBlock { rules: ForkedRules::Ethereum(None), ..block }).unwrap();
    assert_eq!(network.network.hardfork(), Some("Osaka"));
    assert_eq!(network.network.evm_parameters().chain_id, 7, "the user's comes first");
    assert_eq!(network.network.start_time_s, 4_000);
    assert_eq!(network.settings.gas_limit, Some(9_000_000));
}

#[test]
fn a_reset_changes_the_fork_alone() {
    const URL: (&str, &str) = ("fork-url", "http://127.0.0.1:1");
    let flags = &[URL, ("fork-header", "A: b"), ("fork-block", "7"), ("fork-rate", "3")];
    let config = load(&Given { flags, ..ALONE }).unwrap();
    let shown = |config: &Config| {
        let Settings { fork_url, fork_block, fork_header, fork_rate, .. } = &config.settings;
        (fork_url.0.join(","), fork_block.clone(), fork_header.0.join("\n"), *fork_rate)
    };
    let of = |url: &str, block: &str, header: &str, rate| {
        (url.to_owned(), block.to_owned(), header.to_owned(), rate)
    };
    let same = config.reset_to(Some((None, Some(5)))).unwrap();
    assert_eq!(shown(&same), of(URL.1, "5", "A: b", 3));
    let newest = same.reset_to(Some((Some(URL.1), None))).unwrap();
    assert_eq!(shown(&newest), of(URL.1, "latest", "A: b", 3));
    // A header is for the node for which it was given.
    let other = newest.reset_to(Some((Some("http://127.0.0.9:1"), Some(5)))).unwrap();
    assert_eq!(shown(&other), of("http://127.0.0.9:1", "5", "", 3));
    let several = [("fork-url", "http://127.0.0.1:1, http://127.0.0.2:1"), ("fork-header", "A: b")];
    let several = load(&Given { flags: &several, ..ALONE }).unwrap();
    for (urls, header) in [
        ("http://127.0.0.2:1", "A: b"),
        ("http://127.0.0.2:1,http://127.0.0.1:1", "A: b"),
        ("http://127.0.0.2:1,http://127.0.0.9:1", ""),
    ] {
        let reset = several.reset_to(Some((Some(urls), None))).unwrap();
        assert_eq!(shown(&reset), of(urls, "latest", header, 0));
    }
    let none = other.reset_to(None).unwrap();
    assert_eq!(shown(&none), of("", "latest", "", 0));
    let again = none.reset_to(Some((Some(URL.1), None))).unwrap();
    assert_eq!(shown(&again), of(URL.1, "latest", "", 3));
    let of_file = load(&Given { flags: &[("fork-from", "f.pack")], ..ALONE }).unwrap();
    for target in [None, Some((Some(URL.1), None))] {
        assert_eq!(of_file.reset_to(target).unwrap().settings.fork_from, None, "{target:?}");
    }
    let config = load(&Given { flags: &[("dump-state", "s.json")], ..ALONE }).unwrap();
    let error = config.reset_to(Some((Some(URL.1), None))).unwrap_err().to_string();
    assert!(error.contains("dump-state: not with fork-url"), "{error}");
}
