//! The profile of a public node.

use expect_test::expect;

use super::*;

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
    let chain = config.chain(&config.network.evm_chain().id);
    assert_eq!((chain.batch_request_limit, chain.api_max_blocks_per_request), (40, 2048));
    assert!(!chain.ws_http_methods_enabled && !config.settings.api_key_methods_enabled);
    let shown = show::render(&config);
    let line = ["chains.C.batch-request-limit", "40", "public"];
    assert!(shown.lines().any(|shown| shown.split_whitespace().eq(line)), "{shown}");

    let usual = load(&NOTHING).unwrap();
    assert_eq!(usual.http().rate_limit, None);
    let chain = usual.chain(&usual.network.evm_chain().id);
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
    // Without the profile each setting can be set by itself.
    let file = "[chains.C]\nbatch-request-limit = 40\nws-http-methods-enabled = false\n";
    let config = load(&Given { file, flags: &[("api-key-methods-enabled", "false")], ..NOTHING });
    let config = config.unwrap();
    let chain = config.chain(&config.network.evm_chain().id);
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
