//! The layers of the configuration and their precedence.

use std::fmt;
use std::path::PathBuf;

use esker_evm_execution::rules::FeeOverrides;
use esker_primitives::{ChainId, excerpt, network, read_input};

use super::error::{ConfigError, Origin};
use super::file::{self, ChainTable, ConfiguredValue, FileLayer, Values};
use super::flags::{Flags, Mode};
use super::fork::ForkedRules;
use super::keys::{
    self, CHAIN_KEYS, CONFIG, ChainSettings, ENV_PREFIX, EVM_SECTION, KEYS, Key, OTHER_VARIABLES,
    Settings, XVM_SECTION,
};
use super::nearest;
use super::profile::{self, ProfileRow, Scope};
use super::value_error::ValueError;
use crate::networks::{
    self, AddChainError, C_CHAIN_ONLY, ChainDeclaration, ChainSpec, CoinDeclaration, DeclaredFees,
    EvmParameters, Fees, GAS_LIMITS, MAX_FILE_BYTES, Network, Preset, RulesName, UnknownRules,
    UnknownVm, Vm, file as network_file,
};

const NETWORK: &str = "network";
/// Value of that setting under `esker evm`.
const EVM_NETWORK: &str = networks::EVM_NETWORK;
const PUBLIC: &str = "public";
const NETWORK_ID: &str = "network-id";

/// A setting with its effective value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedSetting {
    /// Its name; `chains.NAME.key` for a chain's setting.
    pub name: String,
    /// Text of the value.
    pub text: String,
    /// Its origin.
    pub origin: Origin,
    /// Text of the value that applies if nothing sets it.
    pub default: String,
}

/// The values that apply if the user has set none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Defaults {
    pub(super) mode: Mode,
    pub(super) is_public: bool,
}

impl Defaults {
    fn node_value(self, key: &Key) -> ConfiguredValue {
        self.value(key, Scope::Node)
    }

    fn chain_value(self, key: &Key) -> ConfiguredValue {
        self.value(key, Scope::EvmChains)
    }

    fn value(self, key: &Key, scope: Scope) -> ConfiguredValue {
        let row = profile::row(scope, key.name).filter(|_| self.is_public);
        let (text, origin) = match (row, self.mode) {
            (Some(row), _) => (row.value, Origin::Public),
            (None, Mode::Evm) if key.name == NETWORK => (EVM_NETWORK, Origin::Default),
            (None, Mode::Dev | Mode::Evm) => (key.dev_default, Origin::Default),
            (None, Mode::Node) => (key.default, Origin::Default),
        };
        ConfiguredValue { text: text.to_owned(), origin }
    }
}

/// The user's values, by layer.
#[derive(Clone, Debug)]
pub(super) struct Layers {
    mode: Mode,
    flags: Values,
    env: Values,
    pub(super) file: FileLayer,
    /// Values of the block on which the chain begins.
    fork: Values,
    /// The rules of that block's chain.
    pub(super) fork_rules: Option<ForkedRules>,
    /// Values of a reset, which come before the user's.
    reset: Values,
    pub(super) warnings: Vec<String>,
}

impl Layers {
    /// The values of flags and environment, without a file.
    pub(super) fn new(
        mode: Mode,
        flags: Flags,
        env: &[(String, String)],
    ) -> Result<Self, ConfigError> {
        let mut layers = Self {
            mode,
            flags: Values::new(),
            env: Values::new(),
            file: FileLayer::default(),
            fork: Values::new(),
            fork_rules: None,
            reset: Values::new(),
            warnings: Vec::new(),
        };
        for key in KEYS {
            if let Some(text) = flags.get(key.name) {
                let given = checked(key, text, Origin::Flag(key.name))?;
                layers.flags.insert(key.name, given);
            }
        }
        for (name, text) in env.iter().filter(|(name, _)| name.starts_with(ENV_PREFIX)) {
            match KEYS.iter().find(|key| key.env() == *name) {
                Some(key) => {
                    let given = checked(key, text, Origin::Env(name.clone()))?;
                    layers.env.insert(key.name, given);
                }
                None if OTHER_VARIABLES.contains(&name.as_str()) => {}
                // It is no error, since other programs may use the prefix.
                None => {
                    let known: Vec<_> = KEYS.iter().map(Key::env).collect();
                    let hint = nearest::hint(name, known.iter().map(String::as_str));
                    layers
                        .warnings
                        .push(format!("environment variable {name}: unknown setting{hint}"));
                }
            }
        }
        Ok(layers)
    }

    /// Reads the configuration file, if flags or environment name one.
    pub(super) fn read_file(&mut self) -> Result<(), ConfigError> {
        let given = self.flags.get(CONFIG).or_else(|| self.env.get(CONFIG));
        let Some(path) = given.filter(|given| !given.text.is_empty()) else { return Ok(()) };
        let path = PathBuf::from(&path.text);
        let fault = |reason| ConfigError::Read { path: path.clone(), reason };
        let bytes =
            read_input(&path, file::MAX_FILE_BYTES).map_err(|error| fault(error.to_string()))?;
        let text = String::from_utf8(bytes).map_err(|error| fault(error.to_string()))?;
        self.file = file::parse(&text, &path)?;
        Ok(())
    }

    /// Sets the values of the block on which the chain begins. The user's own come first.
    pub(super) fn set_fork(&mut self, values: impl IntoIterator<Item = (&'static str, String)>) {
        let value = |text| ConfiguredValue { text, origin: Origin::Fork };
        self.fork = values.into_iter().map(|(name, text)| (name, value(text))).collect();
    }

    /// Sets the values of a reset to another chain, in place of those of an earlier reset and of a block.
    pub(super) fn set_reset(&mut self, values: impl IntoIterator<Item = (&'static str, String)>) {
        let value = |text| ConfiguredValue { text, origin: Origin::Reset };
        self.reset = values.into_iter().map(|(name, text)| (name, value(text))).collect();
        (self.fork, self.fork_rules) = (Values::new(), None);
    }

    /// The user's value, or that of a reset.
    fn find(&self, name: &str) -> Option<&ConfiguredValue> {
        let layers = [&self.reset, &self.flags, &self.env, &self.file.values, &self.fork];
        layers.into_iter().find_map(|layer| layer.get(name))
    }

    /// The effective value.
    fn given(&self, key: &Key) -> ConfiguredValue {
        let by_number = || match (key.name, self.mode) {
            (NETWORK, Mode::Node) => network_of_id(self.find(NETWORK_ID)?.clone()),
            _ => None,
        };
        let found = self.find(key.name).cloned();
        found.or_else(by_number).unwrap_or_else(|| self.defaults().node_value(key))
    }

    /// Whether the user set a value, so that the default does not apply.
    pub(super) fn is_given(&self, name: &str) -> bool {
        self.find(name).is_some_and(|value| !value.text.is_empty())
    }

    /// The values that apply if the user has set none.
    pub(super) fn defaults(&self) -> Defaults {
        let is_public = self.find(PUBLIC).is_some_and(|given| given.text == "true");
        Defaults { mode: self.mode, is_public }
    }

    /// Refuses values that serve APIs or methods that a public node withholds.
    pub(super) fn check_public(&self) -> Result<(), ConfigError> {
        let Some(public) = self.find(PUBLIC).filter(|_| self.defaults().is_public) else {
            return Ok(());
        };
        if self.mode.is_development() {
            return Err(ConfigError::Conflict(format!(
                "{}: {} can't be public: it signs for anyone and serves all APIs; use esker node --public",
                public.origin,
                self.mode.command()
            )));
        }
        for row in profile::PUBLIC {
            let Some(is_withheld) = row.is_withheld else { continue };
            let mut values = self.values_of(row).into_iter();
            if let Some((key, given)) = values.find(|(_, given)| is_withheld(&given.text)) {
                let reason = format!(
                    "a public node ({}) does not serve that: leave out {} or public",
                    public.origin, row.key
                );
                return Err(ConfigError::Value { origin: given.origin.clone(), key, reason });
            }
        }
        Ok(())
    }

    /// The user's values of a row's setting, with the full name of each.
    fn values_of(&self, row: &ProfileRow) -> Vec<(String, &ConfiguredValue)> {
        match row.scope {
            Scope::Node => {
                self.find(row.key).map(|given| (row.key.to_owned(), given)).into_iter().collect()
            }
            Scope::EvmChains => {
                let tables = self.file.chains.iter();
                let given = tables.filter_map(|(name, table)| {
                    Some((format!("chains.{name}.{}", row.key), table.values.get(row.key)?))
                });
                given.collect()
            }
        }
    }

    pub(super) fn settings(&self) -> Result<Settings, ConfigError> {
        let text = |name| {
            let key = KEYS.iter().find(|key| key.name == name);
            key.map(|key| self.given(key).text).unwrap_or_default()
        };
        Settings::from_texts(text)
            .map_err(|(name, error)| self.value_error(name, error.to_string()))
    }

    /// An error for an invalid value of a setting.
    pub(super) fn value_error(&self, name: &str, reason: String) -> ConfigError {
        let key = KEYS.iter().find(|key| key.name == name);
        let origin = key.map_or(Origin::Default, |key| self.given(key).origin);
        ConfigError::Value { origin, key: name.to_owned(), reason }
    }

    /// All settings in the order of the documentation, then those of chains in the file, then those that the profile sets
    /// for chains.
    pub(super) fn values(&self, network: &Network) -> Vec<ResolvedSetting> {
        let defaults = self.defaults();
        let node = KEYS.iter().map(|key| {
            let ConfiguredValue { text, origin } = self.given(key);
            let default = defaults.node_value(key).text;
            ResolvedSetting { name: key.name.to_owned(), text, origin, default }
        });
        let chains = self.file.chains.iter().flat_map(|(chain, table)| {
            CHAIN_KEYS.iter().filter_map(move |key| {
                let ConfiguredValue { text, origin } = table.values.get(key.name)?.clone();
                let (name, default) =
                    (format!("chains.{chain}.{}", key.name), defaults.chain_value(key).text);
                Some(ResolvedSetting { name, text, origin, default })
            })
        });
        node.chain(chains).chain(self.profile_values(network)).collect()
    }

    fn profile_values(&self, network: &Network) -> Vec<ResolvedSetting> {
        let defaults = self.defaults();
        let rows = || profile::PUBLIC.iter().filter(|row| row.scope == Scope::EvmChains);
        let mut values = Vec::new();
        let evm_chains = network.chains.iter().filter(|spec| spec.parameters.evm().is_some());
        for spec in evm_chains.filter(|_| defaults.is_public) {
            let mut tables = self.file.chains.iter();
            let table = tables
                .find(|(name, _)| network.chain(name).is_some_and(|named| named.id == spec.id));
            let chain = table.map_or_else(|| spec.primary_alias(), |(name, _)| name.clone());
            let is_set = |key| table.is_some_and(|(_, table)| table.values.contains_key(key));
            values.extend(rows().filter(|row| !is_set(row.key)).map(|row| ResolvedSetting {
                name: format!("chains.{chain}.{}", row.key),
                text: row.value.to_owned(),
                origin: Origin::Public,
                default: row.value.to_owned(),
            }));
        }
        values
    }
}

/// The network of a `network-id` without a `network`, as in the reference.
fn network_of_id(id: ConfiguredValue) -> Option<ConfiguredValue> {
    let preset =
        Preset::ALL.into_iter().find(|preset| Some(preset.id()) == network::id(&id.text))?;
    Some(ConfiguredValue { text: preset.name().to_owned(), origin: id.origin })
}

fn checked(key: &Key, text: &str, origin: Origin) -> Result<ConfiguredValue, ConfigError> {
    match (key.check)(text) {
        Ok(text) => Ok(ConfiguredValue { text, origin }),
        Err(reason) => {
            let mut reason = format!("\"{}\": {reason}", excerpt(text));
            if let Origin::Env(name) = &origin
                && let Some(service) = kubernetes_service(name, text)
            {
                reason.push_str(&format!(
                    "; Kubernetes sets this variable for its service \"{service}\": give the service another name, or set \
                     enableServiceLinks: false in the pod"
                ));
            }
            Err(ConfigError::Value { origin, key: key.name.to_owned(), reason })
        }
    }
}

/// The name of the Kubernetes service that a variable describes. In the pods beside a service `esker-http`,
/// Kubernetes sets `ESKER_HTTP_PORT=tcp://10.0.0.1:9650`.
fn kubernetes_service(variable: &str, text: &str) -> Option<String> {
    let is_address = ["tcp://", "udp://", "sctp://"].iter().any(|scheme| text.starts_with(scheme));
    let service = variable.strip_suffix("_PORT").filter(|_| is_address)?;
    Some(service.to_ascii_lowercase().replace('_', "-"))
}

/// Settings of a chain that the file does not mention.
pub(super) fn default_chain_settings(defaults: Defaults) -> ChainSettings {
    chain_settings_of(&Values::new(), defaults).expect("the defaults are values")
}

/// Settings of a chain's table.
pub(super) fn chain_settings(
    table: &ChainTable,
    defaults: Defaults,
) -> Result<ChainSettings, ConfigError> {
    chain_settings_of(&table.values, defaults).map_err(|(name, error)| {
        let given = table.values.get(name);
        let origin = given.map_or_else(|| table.origin.clone(), |given| given.origin.clone());
        ConfigError::Value { origin, key: name.to_owned(), reason: error.to_string() }
    })
}

fn chain_settings_of(
    values: &Values,
    defaults: Defaults,
) -> Result<ChainSettings, (&'static str, ValueError)> {
    ChainSettings::from_texts(|name| match values.get(name) {
        Some(given) => given.text.clone(),
        None => {
            let key = CHAIN_KEYS.iter().find(|key| key.name == name);
            key.map(|key| defaults.chain_value(key).text).unwrap_or_default()
        }
    })
}

/// Settings of a table by which it declares its chain.
pub(super) const DECLARING: [&str; 11] = [
    "genesis",
    "rules",
    "aliases",
    "tx-fee",
    "create-asset-tx-fee",
    "asset",
    "peers",
    "gas-limit",
    "target-gas",
    "min-base-fee",
    "block-gas-cost-step",
];

/// The virtual machine whose chains alone have this setting; `None`: every chain.
fn vm_of(key: &Key) -> Option<Vm> {
    match (key.section, key.name) {
        (XVM_SECTION, _) | (_, "tx-fee" | "create-asset-tx-fee") => Some(Vm::Xvm),
        (EVM_SECTION, _)
        | (
            _,
            "rules"
            | "asset"
            | "peers"
            | "gas-limit"
            | "target-gas"
            | "min-base-fee"
            | "block-gas-cost-step",
        ) => Some(Vm::Evm),
        _ => None,
    }
}

/// The user's name of a virtual machine.
const fn spoken(vm: Vm) -> &'static str {
    match vm {
        Vm::Xvm => "asset VM",
        Vm::Evm => "EVM",
    }
}

/// Refuses settings that have no effect on a chain of this virtual machine.
pub(super) fn check_vm(name: &str, table: &ChainTable, vm: Vm) -> Result<(), ConfigError> {
    for (key, given) in &table.values {
        let other = keys::find(CHAIN_KEYS, key).and_then(vm_of).filter(|needed| *needed != vm);
        if let Some(other) = other {
            let (other, vm) = (spoken(other), spoken(vm));
            return Err(ConfigError::Value {
                origin: given.origin.clone(),
                key: format!("chains.{name}.{key}"),
                reason: format!("for chains of the {other}; this is a chain of the {vm}"),
            });
        }
    }
    Ok(())
}

/// Adds the chain that a table declares to the network. Returns its ID, and its coin, whose peers may be chains that
/// other tables declare.
pub(super) fn declare_chain(
    name: &str,
    table: &ChainTable,
    network: &mut Network,
    defaults: Defaults,
) -> Result<(ChainId, CoinDeclaration), ConfigError> {
    let settings = chain_settings(table, defaults)?;
    let fault = |key: &str, reason: String| {
        let given = table.values.get(key);
        let origin = given.map_or_else(|| table.origin.clone(), |given| given.origin.clone());
        ConfigError::Value { origin, key: format!("chains.{name}.{key}"), reason }
    };
    let vm: Vm = settings.vm.parse().map_err(|error: UnknownVm| fault("vm", error.to_string()))?;
    check_vm(name, table, vm)?;
    let path = settings
        .genesis
        .as_ref()
        .ok_or_else(|| fault("genesis", "a declared chain needs its genesis file".to_owned()))?;
    let invalid =
        |reason: &dyn fmt::Display| fault("genesis", format!("{}: {reason}", path.display()));
    let bytes = read_input(path, MAX_FILE_BYTES).map_err(|error| invalid(&error))?;
    let genesis = match vm {
        Vm::Xvm => {
            network_file::xvm_genesis_bytes(network.id, &bytes).map_err(|error| invalid(&error))?
        }
        Vm::Evm => bytes,
    };
    let rules = settings.rules.parse();
    let rules = rules.map_err(|error: UnknownRules| fault("rules", error.to_string()))?;
    let fees = match (vm, rules) {
        (Vm::Evm, RulesName::Ethereum) => DeclaredFees::Ethereum,
        (Vm::Evm, RulesName::CChain) | (Vm::Xvm, _) => {
            declared_fees(vm, &settings, network).map_err(|(key, reason)| fault(key, reason))?
        }
    };
    let coin = CoinDeclaration {
        asset: Some(settings.asset).filter(|asset| !asset.is_empty()),
        peers: settings.peers.0,
    };
    let (name, aliases) = (name.to_owned(), settings.aliases.0);
    let added = network.add_chain(ChainDeclaration { name: name.clone(), aliases, genesis, fees });
    match added {
        Ok(chain) => Ok((chain.id, coin)),
        Err(error) => Err(chain_error(&name, table, &error)),
    }
}

/// Settings that only a chain with the C-Chain's rules has.
const OF_C_CHAIN_RULES: [&str; 5] =
    ["gas-limit", "target-gas", "min-base-fee", "block-gas-cost-step", "atomic-transactions"];

/// Refuses settings that have no effect under a chain's rules.
pub(super) fn check_rules(
    name: &str,
    table: &ChainTable,
    chain: &ChainSpec,
) -> Result<(), ConfigError> {
    if chain.parameters.evm().is_none_or(EvmParameters::has_atomic_transactions) {
        return Ok(());
    }
    let mut given =
        OF_C_CHAIN_RULES.into_iter().filter_map(|key| Some((key, table.values.get(key)?)));
    match given.next() {
        Some((key, given)) => Err(ConfigError::Value {
            origin: given.origin.clone(),
            key: format!("chains.{name}.{key}"),
            reason: C_CHAIN_ONLY.to_owned(),
        }),
        None => Ok(()),
    }
}

/// The error of a table whose chain can't be part of the network.
pub(super) fn chain_error(name: &str, table: &ChainTable, error: &AddChainError) -> ConfigError {
    ConfigError::Value {
        origin: table.origin.clone(),
        key: format!("chains.{name}"),
        reason: error.to_string(),
    }
}

fn declared_fees(
    vm: Vm,
    settings: &ChainSettings,
    network: &Network,
) -> Result<DeclaredFees, (&'static str, String)> {
    if vm == Vm::Xvm {
        let usual = network.x_fees();
        return Ok(DeclaredFees::Xvm(Fees {
            tx_fee: settings.tx_fee.unwrap_or(usual.tx_fee),
            create_asset_tx_fee: settings.create_asset_tx_fee.unwrap_or(usual.create_asset_tx_fee),
        }));
    }
    if settings.gas_limit.is_some_and(|limit| !GAS_LIMITS.contains(&limit)) {
        let (least, most) = (GAS_LIMITS.start(), GAS_LIMITS.end());
        return Err(("gas-limit", format!("expected a whole number from {least} to {most}")));
    }
    if settings.target_gas == Some(0) {
        return Err(("target-gas", "expected at least 1".to_owned()));
    }
    let usual = network.evm_parameters().fees();
    Ok(DeclaredFees::Evm(FeeOverrides {
        gas_limit: settings.gas_limit.or(usual.gas_limit),
        target_gas: settings.target_gas.or(usual.target_gas),
        min_base_fee: settings.min_base_fee.or(usual.min_base_fee),
        block_gas_cost_step: settings.block_gas_cost_step.or(usual.block_gas_cost_step),
    }))
}
