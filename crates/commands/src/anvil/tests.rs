//! Command lines of anvil.

use esker_settings::config::Mode;

use super::*;
use crate::cli::{self, Invocation};
use crate::tools::ToolCommand;

fn invoke(args: &[&str]) -> Result<ToolCommand, String> {
    match cli::parse(args, "1.2.3").map_err(|error| error.to_string())? {
        Invocation::Tool(command) => Ok(command),
        other => Err(format!("{other:?}")),
    }
}

fn anvil(args: &[&str]) -> Result<ToolCommand, String> {
    invoke(&[&["anvil"], args].concat())
}

/// The settings that the flags change.
fn changed(args: &[&str]) -> Vec<(&'static str, String)> {
    let usual = anvil(&[]).unwrap().flags;
    let given = anvil(args).unwrap().flags;
    let may_end = ["no-tx-gas-limit", "suggested-tip"];
    assert!(usual.keys().all(|name| given.contains_key(name) || may_end.contains(name)));
    given.into_iter().filter(|(name, text)| usual.get(name) != Some(text)).collect()
}

#[test]
fn the_command_is_consistent() {
    command().debug_assert();
}

#[test]
fn the_name_of_the_program_is_enough() {
    for start in [&["anvil"][..], &["/usr/local/bin/anvil"], &["esker", "anvil"]] {
        let parsed = cli::parse([start, &["-p", "1"]].concat(), "1.2.3").unwrap();
        let (mode, flags) = parsed.configuration();
        assert_eq!((mode, flags["evm-port"].as_str()), (Mode::Evm, "1"), "{start:?}");
    }
    assert!(invoke(&["anvils", "-p", "1"]).is_err());
    let version = cli::parse(["anvil", "--version"], "1.2.3").unwrap_err();
    assert_eq!(version.exit_code(), 0);
    let expected = concat!("anvil Version: 1.7.1+esker.", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(version.to_string(), expected);
}

#[test]
fn the_defaults_are_those_of_anvil() {
    let flags = anvil(&[]).unwrap().flags;
    let given: Vec<_> = flags.iter().map(|(name, text)| (*name, text.as_str())).collect();
    assert_eq!(
        given,
        [
            ("accounts", "10"),
            ("anvil-answers", "true"),
            ("balance", "10000"),
            ("evm-port", "8545"),
            ("http-allowed-origins", "*"),
            ("http-host", "127.0.0.1"),
            ("no-tx-gas-limit", "true"),
            ("refuse-low-fees", "true"),
            ("slots-in-an-epoch", "32"),
            ("suggested-tip", "1000000000"),
        ]
    );
}

#[test]
fn a_least_tip_is_suggested_where_blocks_have_a_base_fee() {
    for (args, tip) in [
        (&[][..], Some("1000000000")),
        (&["--disable-min-priority-fee"], None),
        (&["--no-priority-fee"], None),
        (&["--hardfork", "berlin"], None),
    ] {
        let flags = anvil(args).unwrap().flags;
        assert_eq!(flags.get("suggested-tip").map(String::as_str), tip, "{args:?}");
    }
}

#[test]
fn flags_are_settings() {
    for (args, name, text) in [
        (&["--port", "0"][..], "evm-port", "0"),
        (&["-a", "2"], "accounts", "2"),
        (&["--balance", "5"], "balance", "5"),
        (&["-m", "some words"], "mnemonic", "some words"),
        (&["--derivation-path", "m/1/"], "derivation-path", "m/1/"),
        (&["--hardfork", "cancun"], "hardfork", "cancun"),
        (&["--chain-id", "5"], "chain-id", "5"),
        (&["--chain", "5"], "chain-id", "5"),
        (&["--timestamp", "7"], "timestamp", "7"),
        (&["--number", "7"], "number", "7"),
        (&["-b", "2"], "mine-interval", "2000ms"),
        (&["--blockTime", "0.5"], "mine-interval", "500ms"),
        (&["--no-mine"], "no-mining", "true"),
        (&["--order", "fifo"], "order-by-arrival", "true"),
        (&["--auto-unlock"], "auto-impersonate", "true"),
        (&["--slots-in-an-epoch", "2"], "slots-in-an-epoch", "2"),
        (&["--no-create2"], "no-create2-deployer", "true"),
        (&["--no-request-size-limit"], "http-body-limit", "268435456"),
        (&["--memory-limit", "1000"], "memory-limit", "1000"),
        (&["--threads", "3"], "threads", "3"),
        (&["-j", "0"], "threads", "0"),
        (&["--jobs", "2"], "threads", "2"),
        (&["--print-traces"], "print-traces", "true"),
        (&["--max-transactions", "3"], "max-block-transactions", "3"),
        (&["--disable-pool-balance-checks"], "no-pool-balance-checks", "true"),
        (&["--cache-path", "c"], "temporary-folder", "c"),
        (&["--host", "127.0.0.1,::1"], "http-further-hosts", "::1"),
        (&["--host", "127.0.0.1", "--host", "127.0.0.2"], "http-further-hosts", "127.0.0.2"),
        (&["--artifacts", "a,b", "--artifacts", "c"], "artifacts", r"a\,b,c"),
        (&["--prune-history"], "state-window", "0"),
        (&["--prune-history", "3"], "state-window", "3"),
        (&["--max-persisted-states", "3"], "state-window", "503"),
        (&["--dump-state", "d"], "dump-state", "d"),
        (&["--gas-limit", "9"], "gas-limit", "9"),
        (&["--disable-block-gas-limit"], "gas-limit", "9223372036854775807"),
        (&["--base-fee", "0"], "base-fee", "0"),
        (&["--code-size-limit", "9"], "code-size-limit", "9"),
        (&["--disable-code-size-limit"], "code-size-limit", "18446744073709551615"),
        (&["--host", "::1"], "http-host", "::1"),
        (&["--allow-origin", "http://a"], "http-allowed-origins", "http://a"),
        (&["--no-cors"], "http-allowed-origins", ""),
        (&["--ipcpath", "a.ipc"], "ipc", "a.ipc"),
        (&["-q"], "silent", "true"),
        (&["--silent"], "silent", "true"),
        (&["--disable-console-log"], "no-console", "true"),
        (&["--no-console"], "no-console", "true"),
    ] {
        assert_eq!(changed(args), [(name, text.to_owned())], "{args:?}");
    }
    for args in [
        &["--hardfork", "latest"][..],
        &["--steps-tracing"],
        &["--order", "FEES"],
        &["--json"],
        &["-vvv"],
        &["--gas-price", "5"],
    ] {
        assert!(changed(args).is_empty(), "{args:?}");
    }
    for (args, price) in [(&["--gas-price", "5"][..], "5"), (&[], "1875000000")] {
        let given = changed(&[&["--hardfork", "berlin"], args].concat());
        let set = |name, text: &str| (name, text.to_owned());
        assert_eq!(given, [set("gas-price", price), set("hardfork", "berlin")]);
    }
    let usual = std::env::temp_dir().join("anvil.ipc");
    assert_eq!(changed(&["--ipc"]), [("ipc", usual.to_str().unwrap().to_owned())]);
    let capped = anvil(&["--enable-tx-gas-limit"]).unwrap().flags;
    assert!(!capped.contains_key("no-tx-gas-limit"));
    let seeded = changed(&["--mnemonic-seed-unsafe", "5"]);
    assert!(seeded[0].1.starts_with("key exile year "), "{seeded:?}");
    assert_eq!(changed(&["--mnemonic-random"])[0].1.split(' ').count(), 12);
    let state = changed(&["--state", "s", "-s", "3"]);
    assert_eq!(state, [("state", "s".to_owned()), ("state-interval", "3".to_owned())]);
    let preserved = changed(&["--dump-state", "s", "--preserve-historical-states"]);
    let is_on = ("preserve-historical-states", "true".to_owned());
    assert_eq!(preserved, [("dump-state", "s".to_owned()), is_on]);
    // Nothing is written.
    assert!(changed(&["--preserve-historical-states"]).is_empty());
}

#[test]
fn members_of_the_init_file_are_settings_too() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_str().unwrap();
    let text = r#"{"config":{"chainId":77},"timestamp":"0x5","baseFeePerGas":"0x7","alloc":{}}"#;
    std::fs::write(path, text).unwrap();
    let set = |name, text: &str| (name, text.to_owned());
    let timestamp = set("timestamp", "5");
    assert_eq!(
        changed(&["--init", path, "--chain-id", "9"]),
        [set("alloc", path), set("base-fee", "7"), set("chain-id", "9"), timestamp]
    );
    std::fs::write(path, "{").unwrap();
    let refused = anvil(&["--init", path]).unwrap_err();
    assert!(refused.contains("EOF while parsing"), "{refused}");
}

#[test]
fn flags_that_contradict_each_other_are_refused_as_by_anvil() {
    for (args, text) in [
        (
            &["--block-time", "1", "--no-mining"][..],
            "'--block-time <SECONDS>' cannot be used with '--no-mining'",
        ),
        (&["--mixed-mining"], "required arguments were not provided:\n  --block-time <SECONDS>"),
        (
            &["-m", "a", "--mnemonic-random"],
            "'--mnemonic <MNEMONIC>' cannot be used with '--mnemonic-random",
        ),
        (&["--mnemonic-random", "13"], "--mnemonic-random: expected 12, 15, 18, 21 or 24 words"),
        (
            &["--code-size-limit", "1", "--disable-code-size-limit"],
            "cannot be used with '--disable-code-size-limit'",
        ),
        (
            &["--disable-block-gas-limit", "--gas-limit", "5"],
            "'--disable-block-gas-limit' cannot be used with '--gas-limit",
        ),
        (&["--state", "a", "--dump-state", "b"], "cannot be used with '--dump-state <PATH>'"),
        (&["--load-state", "no/such"], "failed to read from \"no/such\": No such file"),
        (&["--init", "no/such"], "failed to read from \"no/such\": No such file"),
        (&["--allow-origin", "x", "--no-cors"], "cannot be used with '--no-cors'"),
        (&["--json", "--quiet"], "cannot be used with '--quiet'"),
        (
            &["--max-persisted-states", "5", "--prune-history"],
            "cannot be used with '--prune-history",
        ),
        (&["--block-time", "0"], "Duration must be greater than 0"),
        (&["--block-time", "1s"], "invalid float literal"),
        (&["--accounts", "x"], "invalid value 'x' for '--accounts <NUM>'"),
        (&["--order", "foo"], "invalid value 'foo' for '--order <ORDER>'"),
        (&["--host", "localhost"], "invalid value 'localhost' for '--host <IP_ADDR>'"),
        (&["--host", "127.0.0.1,x"], "invalid value 'x' for '--host <IP_ADDR>'"),
        (&["--timeout", "1"], "required arguments were not provided:\n  --fork-url <URL>"),
        (&["--max-transactions", "-1"], "unexpected argument '-1' found"),
        (&["--port", "1", "--port", "2"], "cannot be used multiple times"),
        (&["--network", "optimism"], "invalid value 'optimism' for '--network"),
        (&["--bogus"], "unexpected argument '--bogus' found"),
        (&["bogus"], "unexpected argument 'bogus' found"),
    ] {
        let refused = anvil(args).unwrap_err();
        assert!(refused.contains(text), "{args:?}: {refused}");
        let code = cli::parse([&["anvil"], args].concat(), "1").unwrap_err().exit_code();
        assert_eq!(code, 2, "{args:?}");
    }
}

#[test]
fn forks_are_settings() {
    let url = "http://127.0.0.1:1";
    let args = ["-f", url, "--fork-block-number", "-5", "--retries", "3"];
    let set = anvil(&args).unwrap().flags;
    let texts = ["fork-url", "fork-block", "fork-retries"].map(|name| set[name].as_str());
    assert_eq!(texts, [url, "-5", "3"]);
    assert_eq!((set.get("fork-rate"), set.get("chain-id")), (None, None));
    let set = anvil(&["-f", url, "--prune-history"]).unwrap().flags;
    assert_eq!(set.get("state-window"), None);
    let set = anvil(&["--rpc-url=http://127.0.0.1:1@7", "--cups", "330"]).unwrap().flags;
    let texts = ["fork-url", "fork-block", "fork-rate"].map(|name| set[name].as_str());
    assert_eq!(texts, [url, "7", "20"]);
    let of = |args: &[&str]| anvil(&[&["-f", url, "--fork-block-number", "3"], args].concat());
    for (args, name, text) in [
        (&["--timeout", "1500"][..], "fork-timeout", "1500ms"),
        (&["--timeout", "0"], "fork-timeout", "1ms"),
        (&["--timeout", "18446744073709551615"], "fork-timeout", "600000ms"),
        (&["--fork-retry-backoff", "7"], "fork-backoff", "7ms"),
        (&["--fork-retry-backoff", "18446744073709551615"], "fork-backoff", "60000ms"),
        (&["--no-storage-caching"], "fork-cache", "off"),
        (&["--fork-chain-id", "77"], "chain-id", "77"),
        (&["--fork-chain-id", "77", "--chain-id", "88"], "chain-id", "88"),
    ] {
        assert_eq!(of(args).unwrap().flags[name], text, "{args:?}");
    }
    for (args, text) in [
        (&["-f", url, "--fork-chain-id", "7"][..], "--fork-block-number <BLOCK>"),
        (&["--no-storage-caching"], "--fork-url <URL>"),
        (&["--fork-block-number", "5"][..], "required arguments were not provided"),
        (&["--retries", "3"], "required arguments were not provided"),
        (&["-f", url, "--fork-transaction-hash", "0x1"], "begins after a whole block"),
    ] {
        let refused = anvil(args).unwrap_err();
        assert!(refused.contains(text), "{args:?}: {refused}");
    }
}

#[test]
fn other_families_are_refused() {
    for args in [["--optimism"], ["--celo"], ["--tempo"]] {
        let refused = anvil(&args).unwrap_err();
        assert!(refused.contains("chains have Ethereum's rules"), "{refused}");
    }
}

#[test]
fn flags_without_effect_have_a_line() {
    let notes = |args: &[&str]| {
        let given = command().get_matches_from([&["anvil"], args].concat());
        let flags = AnvilFlags::from_arg_matches(&given).unwrap();
        notes::of(&given, &flags)
    };
    let none =
        ["--steps-tracing", "--disable-min-priority-fee", "--gas-price", "0", "--number", "0"];
    assert_eq!(notes(&none), [""; 0]);
    assert_eq!(
        notes(&["--md", "--transaction-block-keeper", "3", "-vvv", "--number", "5", "-b", "1.5"]),
        ["--transaction-block-keeper: all blocks are kept"]
    );
    assert_eq!(
        notes(&[
            "--fork-url",
            "http://127.0.0.1:1",
            "--number",
            "5",
            "--max-persisted-states",
            "3"
        ]),
        [
            "--number: the blocks of a fork follow those of its source",
            "--max-persisted-states: a fork keeps all its states"
        ]
    );
    // Each of them once.
    for flag in further::FURTHER {
        let further::Effect::Nothing(why) = flag.effect else { continue };
        assert!(!why.is_empty() && !why.ends_with('.'), "{}", flag.name);
    }
}
