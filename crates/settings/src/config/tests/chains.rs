//! Tables of chains, and the C-Chain's settings.

use std::time::Duration;

use esker_evm_execution::rules::FeeOverrides;
use expect_test::expect;

use super::*;
use crate::logging::LogLevel;
use crate::networks::Fees;

#[test]
fn tables_of_chains() {
    let file = "index-transactions = false\n[chains.X]\nindex-transactions = true\nlog-level = 'debug'\n\
        [chains.Second]\nvm = 'xvm'\ngenesis = 'second.json'\naliases = 'Y'\ntx-fee = 3\n";
    let config = load(&Given { file, ..NOTHING }).unwrap();
    let (x, second) = (config.network.x_chain().unwrap(), config.network.chain("Y").unwrap());
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
    let (third, c) = (config.network.chain("E").unwrap(), config.network.evm_parameters());
    let parameters = third.parameters.evm().unwrap();
    assert_eq!((parameters.chain_id, parameters.fees().gas_limit), (43_301, Some(9_000_000)));
    assert_eq!(parameters.fees().min_base_fee, c.fees().min_base_fee);
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
fn settings_of_the_c_chain() {
    let dev = load(&Given { mode: Mode::Dev, ..NOTHING }).unwrap();
    assert_eq!(dev.settings.evm_port, Some(8545));
    assert!(!dev.is_evm_port_set());
    assert_eq!(dev.network.evm_parameters(), Preset::Dev.network().evm_parameters());
    assert_eq!(dev.network.evm_parameters().fees().block_gas_cost_step, Some(0));
    let flags = [
        ("real-fees", "true"),
        ("gas-limit", "30000000"),
        ("chain-id", "31337"),
        ("block-time", "2s"),
        ("evm-port", "0"),
    ];
    let exact = load(&Given { mode: Mode::Dev, flags: &flags, ..NOTHING }).unwrap();
    let only_gas = FeeOverrides { gas_limit: Some(30_000_000), ..FeeOverrides::default() };
    assert_eq!(exact.network.evm_parameters().fees(), only_gas);
    assert_eq!(exact.network.evm_parameters().chain_id, 31337);
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
    assert_eq!(node.network.evm_parameters().fees(), FeeOverrides::default());
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
