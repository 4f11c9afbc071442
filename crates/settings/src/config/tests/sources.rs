//! The origins of values, and their faults.

use expect_test::expect;

use super::*;
use crate::logging::LogLevel;

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
        ("ESKER_PRIVATE_KEY", "secret"),
        ("ESKER_BIN", "bin/esker"),
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
fn unused_reference_settings_are_accepted_with_a_warning() {
    let file = file::parse(
        "[chains.C]\ncommit-interval = 4096\nsnapshot-cache = 256\nrpc-gas-cap = 7\n",
        Path::new("esker.toml"),
    )
    .unwrap();
    assert_eq!(
        ignored_settings(&file).unwrap(),
        "settings without effect in this node, ignored: C.commit-interval, C.snapshot-cache"
    );
    assert!(file.chains["C"].values.contains_key("rpc-gas-cap"));
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

/// Kubernetes sets such variables in the pods beside a service `esker-http`.
#[test]
fn a_variable_of_a_kubernetes_service_is_named_as_such() {
    let error = |name: &str, text: &str| {
        let env = [(name, text), ("HOME", "/home/me")];
        load(&Given { env: &env, ..NOTHING }).unwrap_err().to_string()
    };
    expect![[r#"ESKER_HTTP_PORT: http-port: "tcp://10.96.0.7:9650": expected a whole number from 0 to 65535; Kubernetes sets this variable for its service "esker-http": give the service another name, or set enableServiceLinks: false in the pod"#]]
        .assert_eq(&error("ESKER_HTTP_PORT", "tcp://10.96.0.7:9650"));
    let evm = error("ESKER_EVM_PORT", "udp://[fd00::1]:53");
    assert!(evm.contains("service \"esker-evm\""), "{evm}");
    for (name, text) in [("ESKER_HTTP_PORT", "http"), ("ESKER_HTTP_MAX_CONNECTIONS", "tcp://1")] {
        let other = error(name, text);
        assert!(!other.contains("Kubernetes"), "{other}");
    }
}
