//! Settings of the development network: checks, and the network that results from them.

use std::path::Path;

use esker_evm_execution::rules::FeeOverrides;

use super::value::Switch;
use super::{Config, Mode, Settings};
use crate::fixture::{FixtureError, FixtureSource};
use crate::networks::{DEV_START_TIMES, DevError, DevOptions, Network, Preset, dev_network};

impl Config {
    /// Whether browsers that open `/` see the dashboard.
    pub fn has_dashboard(&self) -> bool {
        match self.settings.dashboard {
            Switch::On => true,
            Switch::Off => false,
            Switch::Auto => self.mode.is_development(),
        }
    }
}

/// The name of a setting, and the reason why it is refused.
pub(super) type Fault = (&'static str, String);

/// Refuses settings that only a development node has, or that don't go together.
pub(super) fn check(settings: &Settings, mode: Mode) -> Result<(), Fault> {
    if settings.silent && !mode.is_development() {
        return Err(("silent", "only for esker dev: other commands show no screen".to_owned()));
    }
    if settings.silent && settings.json {
        return Err(("silent", "not with json, which prints a line".to_owned()));
    }
    check_state(settings, mode)?;
    if settings.verbose && !mode.is_development() {
        return Err(("verbose", "only for esker dev: other commands show no screen".to_owned()));
    }
    if settings.verbose && (settings.silent || settings.json) {
        return Err(("verbose", "not with silent or json, which show no screen".to_owned()));
    }
    if settings.no_console && !mode.is_development() {
        let text = "only for esker dev: other commands keep nothing that contracts print";
        return Err(("no-console", text.to_owned()));
    }
    if !settings.artifacts.0.is_empty() && !mode.is_development() {
        let text = "only for esker dev: other commands show no names";
        return Err(("artifacts", text.to_owned()));
    }
    if settings.list_well_known_account && mode != Mode::Dev {
        let text = "only for esker dev: other commands hold no public accounts";
        return Err(("list-well-known-account", text.to_owned()));
    }
    if settings.refuse_failed_sends != Switch::Auto && !mode.is_development() {
        let text = "only for esker dev: others answer sends before the block is there";
        return Err(("refuse-failed-sends", text.to_owned()));
    }
    Ok(())
}

/// The network of the settings: on a development network the one with its accounts and its start, else the loaded
/// one. The fixture's accounts and start apply unless a setting was given; [`FixtureSource::apply`] applies the rest
/// of it. On a fork the start is that of its block, and the chains keep their IDs.
pub(super) fn network(
    settings: &mut Settings,
    loaded: Network,
    is_fork: bool,
    is_given: impl Fn(&str) -> bool,
) -> Result<(Network, Option<FixtureSource>), Fault> {
    if loaded.name != Preset::Dev.name() {
        let only = "only for the development network: use esker dev";
        return match given(settings) {
            Some(name) => Err((name, only.to_owned())),
            None => Ok((loaded, None)),
        };
    }
    check_fees(settings, &loaded)?;
    let Some(path) = &settings.fixture else {
        let usual = options(settings);
        if is_fork {
            check_forked_start(usual.start_time_s)?;
        }
        let start_time_s = usual.start_time_s.filter(|_| !is_fork);
        let network = dev_network(&DevOptions { start_time_s, ..usual });
        let network = network.map_err(|error| (setting_of(&error), error.to_string()))?;
        return Ok((network, None));
    };
    let fixture = FixtureSource::load(path).map_err(fixture_fault)?;
    let network = dev_network(&fixture.options(given_options(settings, is_given)))
        .map_err(|error| (setting_of(&error), error.to_string()))?;
    settings.timestamp = settings.timestamp.or(fixture.timestamp());
    Ok((network, Some(fixture)))
}

/// The options that were given: the others are a fixture's.
pub(super) fn given_options(
    settings: &Settings,
    is_given: impl Fn(&str) -> bool,
) -> DevOptions<'_> {
    let usual = options(settings);
    DevOptions {
        count: usual.count.filter(|_| is_given("accounts")),
        balance: usual.balance.filter(|_| is_given("balance")),
        mnemonic: usual.mnemonic.filter(|_| is_given("mnemonic")),
        path: usual.path.filter(|_| is_given("derivation-path")),
        ..usual
    }
}

/// Files of states are for `esker dev`, and each has one purpose.
fn check_state(settings: &Settings, mode: Mode) -> Result<(), Fault> {
    let given = [
        ("state", settings.state.is_some()),
        ("load-state", settings.load_state.is_some()),
        ("dump-state", settings.dump_state.is_some()),
    ];
    let mut names = given.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name);
    let Some(first) = names.next() else { return check_of_written_state(settings) };
    if !mode.is_development() {
        return Err((first, "only for esker dev".to_owned()));
    }
    if let Some(second) = names.next().filter(|_| first == "state") {
        return Err((first, format!("not with {second}, whose file it names too")));
    }
    if first != "dump-state" && settings.data_dir.is_some() {
        return Err((first, "not with data-dir, where the state is kept anyway".to_owned()));
    }
    check_of_written_state(settings)
}

/// Settings of a file that is written.
fn check_of_written_state(settings: &Settings) -> Result<(), Fault> {
    let is_written = settings.dump_state.is_some() || settings.state.is_some();
    let given = [
        ("state-interval", !settings.state_interval.0.is_zero()),
        ("preserve-historical-states", settings.preserve_historical_states),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given && !is_written) {
        Some((name, _)) => Err((name, "only together with dump-state or state".to_owned())),
        None => Ok(()),
    }
}

/// The error of an invalid fixture.
pub(super) fn fixture_fault(error: FixtureError) -> Fault {
    ("fixture", error.to_string())
}

/// A setting that only a development network has, if one was given.
fn given(settings: &Settings) -> Option<&'static str> {
    let given = [
        ("accounts", settings.accounts.is_some()),
        ("balance", settings.balance.is_some()),
        ("mnemonic", !settings.mnemonic.is_empty()),
        ("derivation-path", !settings.derivation_path.is_empty()),
        ("base-fee", settings.base_fee.is_some()),
        ("gas-price", settings.gas_price.is_some()),
        ("timestamp", settings.timestamp.is_some()),
        ("fixture", settings.fixture.is_some()),
    ];
    given.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name)
}

pub(super) fn options(settings: &Settings) -> DevOptions<'_> {
    DevOptions {
        count: settings.accounts,
        balance: settings.balance,
        mnemonic: Some(settings.mnemonic.as_str()).filter(|text| !text.is_empty()),
        path: Some(settings.derivation_path.as_str()).filter(|text| !text.is_empty()),
        start_time_s: settings.timestamp,
    }
}

pub(super) fn setting_of(error: &DevError) -> &'static str {
    match error {
        DevError::Mnemonic(_) => "mnemonic",
        DevError::Path(_) => "derivation-path",
        DevError::Count => "accounts",
        DevError::Balance { .. } => "balance",
        DevError::StartTime { .. } => "timestamp",
        DevError::Alloc(_) => "alloc",
    }
}

/// Checks the start of a development network that begins on a block, Unix s.
fn check_forked_start(start_time_s: Option<u64>) -> Result<(), Fault> {
    match start_time_s.is_none_or(|start| DEV_START_TIMES.contains(&start)) {
        true => Ok(()),
        false => {
            let error = DevError::StartTime { least: *DEV_START_TIMES.start() };
            Err(("timestamp", error.to_string()))
        }
    }
}

/// With the exact fee rules the base fee varies, so neither it nor a price can be set.
fn check_fees(settings: &Settings, network: &Network) -> Result<(), Fault> {
    let given = [("base-fee", settings.base_fee), ("gas-price", settings.gas_price)];
    let exact = given.into_iter().find(|(_, value)| settings.real_fees && value.is_some());
    if let Some((name, _)) = exact {
        return Err((
            name,
            "not with real-fees, where the base fee follows from the blocks".to_owned(),
        ));
    }
    let (base_fee, gas_price) = (base_fee(settings, network), settings.gas_price);
    match gas_price.filter(|price| *price < base_fee) {
        Some(_) => Err((
            "gas-price",
            format!("expected at least the base fee, {base_fee}: set base-fee too"),
        )),
        None => Ok(()),
    }
}

/// The constant base fee of a development network, wei.
fn base_fee(settings: &Settings, network: &Network) -> u64 {
    let usual = network.evm_parameters().fees().min_base_fee;
    settings.base_fee.or(usual).unwrap_or_default()
}

/// The C-Chain's fees with the settings.
pub(super) fn fees(settings: &Settings, fees: FeeOverrides) -> FeeOverrides {
    FeeOverrides { min_base_fee: settings.base_fee.or(fees.min_base_fee), ..fees }
}

impl Config {
    /// The file with the state to load, and whether it may be missing.
    pub fn state_to_load(&self) -> Option<(&Path, bool)> {
        let Settings { load_state, state, .. } = &self.settings;
        let loaded = load_state.as_deref().map(|path| (path, false));
        loaded.or(state.as_deref().map(|path| (path, true)))
    }

    /// The file to which the state is written at the end.
    pub fn state_to_dump(&self) -> Option<&Path> {
        self.settings.dump_state.as_deref().or(self.settings.state.as_deref())
    }

    /// The least tip in wei that is suggested: the configured one, or the one that makes the suggested gas price of the C-Chain
    /// the configured one.
    pub fn min_suggested_tip(&self) -> Option<u64> {
        let Some(price) = self.settings.gas_price else { return self.settings.suggested_tip };
        if self.mode == Mode::Evm {
            // Its blocks have no base fee.
            return Some(price);
        }
        Some(price.saturating_sub(base_fee(&self.settings, &self.network)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Flags;
    use super::*;

    fn load(mode: Mode, flags: &[(&'static str, &str)]) -> Result<Config, String> {
        let flags: Flags = flags.iter().map(|(name, text)| (*name, (*text).to_owned())).collect();
        let env = [("HOME".to_owned(), "/home/me".to_owned())];
        Config::load(mode, flags, env).map_err(|error| error.to_string())
    }

    fn dev(flags: &[(&'static str, &str)]) -> Result<Config, String> {
        load(Mode::Dev, flags)
    }

    fn fault(flags: &[(&'static str, &str)]) -> String {
        dev(flags).unwrap_err()
    }

    #[test]
    fn the_defaults_are_the_preset() {
        let (usual, preset) = (dev(&[]).unwrap(), Preset::Dev.network());
        assert_eq!(usual.network.chains, preset.chains);
        assert_eq!(usual.network.dev_accounts, preset.dev_accounts);
        assert_eq!(usual.min_suggested_tip(), None);
        // `esker node` may run the network, too.
        let node = load(Mode::Node, &[("network", "dev")]).unwrap();
        assert_eq!(node.network.chains, preset.chains);
        // An empty value in the file or the environment means none.
        let empty = dev(&[("accounts", ""), ("mnemonic", ""), ("derivation-path", "")]).unwrap();
        assert_eq!(empty.network.chains, preset.chains);
    }

    #[test]
    fn accounts_and_start_of_the_settings() {
        let given = [
            ("accounts", "3"),
            ("balance", "5"),
            (
                "mnemonic",
                "legal winner thank year wave sausage worth useful legal winner thank yellow",
            ),
            ("derivation-path", "m/44'/60'/1'/0/"),
            ("timestamp", "1700000000"),
        ];
        for mode in [Mode::Dev, Mode::Node] {
            let network = [("network", "dev")];
            let flags: Vec<_> = given.iter().chain(&network).copied().collect();
            let network = load(mode, &flags).unwrap().network;
            let funded = network.dev_accounts.as_ref().unwrap();
            assert_eq!((funded.accounts.len(), funded.balance), (3, 5));
            assert!(funded.mnemonic.starts_with("legal winner"));
            assert_eq!(funded.path, "m/44'/60'/1'/0");
            assert_eq!(network.start_time_s, 1_700_000_000);
            assert_ne!(network.evm_chain().id, Preset::Dev.network().evm_chain().id);
        }
    }

    #[test]
    fn files_of_states_are_for_one_purpose() {
        let of = |flags: &[(&'static str, &str)]| {
            let config = dev(flags).unwrap();
            let text = |path: &Path| path.to_str().unwrap().to_owned();
            let load = config.state_to_load().map(|(path, may_miss)| (text(path), may_miss));
            (load, config.state_to_dump().map(text))
        };
        let a = || "a".to_owned();
        assert_eq!(of(&[]), (None, None));
        assert_eq!(of(&[("state", "a")]), (Some((a(), true)), Some(a())));
        let both = [("load-state", "a"), ("dump-state", "b")];
        assert_eq!(of(&both), (Some((a(), false)), Some("b".to_owned())));
        for (flags, reason) in [
            (&[("state", "a"), ("dump-state", "a")][..], "state: not with dump-state"),
            (&[("state", "a"), ("load-state", "b")], "state: not with load-state"),
            (&[("load-state", "a"), ("data-dir", "d")], "load-state: not with data-dir"),
            (&[("state", "a"), ("data-dir", "d")], "state: not with data-dir"),
            (
                &[("load-state", "a"), ("state-interval", "5")],
                "state-interval: only together with dump-state or state",
            ),
            (
                &[("preserve-historical-states", "true")],
                "preserve-historical-states: only together with dump-state or state",
            ),
        ] {
            let fault = fault(flags);
            assert!(fault.contains(reason), "{fault}");
        }
        let node = load(Mode::Node, &[("network", "dev"), ("dump-state", "a")]).unwrap_err();
        assert!(node.contains("only for esker dev"), "{node}");
    }

    #[test]
    fn a_fault_names_its_setting() {
        for (name, text, reason) in [
            ("accounts", "0", "expected a whole number from 1 to 1000"),
            ("balance", "30000000", "10 accounts can get at most 29999999 units each"),
            ("mnemonic", "test", "expected 12, 15, 18, 21 or 24 words, found 1"),
            ("derivation-path", "44'", "expected a path such as m/44'/60'/0'/0"),
            ("timestamp", "1607144399", "expected Unix seconds from 1607144400"),
        ] {
            let fault = fault(&[(name, text)]);
            assert!(fault.starts_with(&format!("--{name}: {name}: {reason}")), "{fault}");
        }
        for (name, text) in [("accounts", "ten"), ("balance", "-1"), ("base-fee", "1gwei")] {
            let fault = fault(&[(name, text)]);
            assert!(
                fault.starts_with(&format!("--{name}: {name}: \"{text}\": expected")),
                "{fault}"
            );
        }
    }

    #[test]
    fn base_fee_and_gas_price() {
        let fees = |flags: &[(&'static str, &str)]| {
            let config = dev(flags).unwrap();
            (config.network.evm_parameters().fees().min_base_fee, config.min_suggested_tip())
        };
        assert_eq!(fees(&[]), (Some(1_000_000_000), None));
        assert_eq!(fees(&[("base-fee", "0")]), (Some(0), None));
        let evm = load(Mode::Evm, &[("suggested-tip", "7")]).unwrap();
        assert_eq!(evm.min_suggested_tip(), Some(7));
        assert_eq!(fees(&[("gas-price", "1000000005")]), (Some(1_000_000_000), Some(5)));
        assert_eq!(fees(&[("gas-price", "0"), ("base-fee", "0")]), (Some(0), Some(0)));
        assert_eq!(
            fault(&[("gas-price", "999999999")]),
            "--gas-price: gas-price: expected at least the base fee, 1000000000: set base-fee too"
        );
        for name in ["base-fee", "gas-price"] {
            assert_eq!(
                fault(&[(name, "2000000000"), ("real-fees", "true")]),
                format!(
                    "--{name}: {name}: not with real-fees, where the base fee follows from the blocks"
                )
            );
        }
    }

    #[test]
    fn other_networks_have_none_of_it() {
        for (name, text) in [
            ("accounts", "10"),
            ("balance", "10000"),
            ("mnemonic", "test"),
            ("derivation-path", "m/44'/60'/0'/0"),
            ("base-fee", "1"),
            ("gas-price", "1"),
            ("timestamp", "1700000000"),
        ] {
            assert_eq!(
                load(Mode::Node, &[(name, text)]).unwrap_err(),
                format!("--{name}: {name}: only for the development network: use esker dev")
            );
        }
    }

    #[test]
    fn failed_sends_are_answered_where_blocks_are_made() {
        use esker_evm_rpc::evm::FailedSends;
        for (text, expected) in [
            ("auto", FailedSends::ErrorToHardhat),
            ("true", FailedSends::Error),
            ("false", FailedSends::Hash),
        ] {
            let config = dev(&[("refuse-failed-sends", text)]).unwrap();
            assert_eq!(config.failed_sends(), expected, "{text}");
            let settings = [("network", "dev"), ("refuse-failed-sends", text)];
            let node = load(Mode::Node, &settings).map(|config| config.failed_sends());
            let refusal = "--refuse-failed-sends: refuse-failed-sends: only for esker dev: others answer sends before \
                           the block is there";
            match text {
                "auto" => assert_eq!(node, Ok(FailedSends::Hash)),
                _ => assert_eq!(node, Err(refusal.to_owned())),
            }
        }
    }

    #[test]
    fn a_verbose_node_has_a_screen() {
        assert!(dev(&[("verbose", "true")]).unwrap().settings.verbose);
        for other in ["silent", "json"] {
            assert_eq!(
                fault(&[("verbose", "true"), (other, "true")]),
                "--verbose: verbose: not with silent or json, which show no screen"
            );
        }
        assert_eq!(
            load(Mode::Node, &[("network", "dev"), ("verbose", "true")]).unwrap_err(),
            "--verbose: verbose: only for esker dev: other commands show no screen"
        );
    }

    #[test]
    fn only_a_development_node_keeps_what_contracts_print() {
        assert!(!dev(&[]).unwrap().settings.no_console);
        assert!(dev(&[("no-console", "true")]).unwrap().settings.no_console);
        assert_eq!(
            load(Mode::Node, &[("network", "dev"), ("no-console", "true")]).unwrap_err(),
            "--no-console: no-console: only for esker dev: other commands keep nothing that contracts print"
        );
    }

    #[test]
    fn only_a_development_node_reads_artifacts() {
        assert_eq!(dev(&[]).unwrap().settings.artifacts.0.len(), 0);
        let paths = dev(&[("artifacts", "out,../b c")]).unwrap().settings.artifacts.0;
        assert_eq!(paths, [Path::new("out"), Path::new("../b c")]);
        assert_eq!(
            load(Mode::Node, &[("network", "dev"), ("artifacts", "out")]).unwrap_err(),
            "--artifacts: artifacts: only for esker dev: other commands show no names"
        );
    }

    #[test]
    fn a_silent_node_shows_nothing() {
        assert!(dev(&[("silent", "true")]).unwrap().settings.silent);
        assert_eq!(
            fault(&[("silent", "true"), ("json", "true")]),
            "--silent: silent: not with json, which prints a line"
        );
        assert_eq!(
            load(Mode::Node, &[("network", "dev"), ("silent", "true")]).unwrap_err(),
            "--silent: silent: only for esker dev: other commands show no screen"
        );
    }

    #[test]
    fn only_a_development_node_lists_the_well_known_account() {
        assert!(!dev(&[]).unwrap().settings.list_well_known_account);
        let listed = dev(&[("list-well-known-account", "true")]).unwrap();
        assert!(listed.settings.list_well_known_account);
        assert_eq!(
            load(Mode::Node, &[("network", "dev"), ("list-well-known-account", "true")])
                .unwrap_err(),
            "--list-well-known-account: list-well-known-account: only for esker dev: other commands hold no \
             public accounts"
        );
    }
}
