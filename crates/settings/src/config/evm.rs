//! Settings of the C-Chain: checks and derived values.

use esker_evm_execution::executor::EVM_CHAIN_IDS;
use esker_evm_execution::rules::FeeOverrides;
use esker_primitives::network::{MAIN_ID, TEST_ID};

use super::{Config, Mode, Origin, Settings, dev};
use crate::networks::{GAS_LIMITS, Network, Preset};

/// Longest text of `web3_clientVersion`, in bytes.
const MAX_CLIENT_VERSION: usize = 256;

/// The version in `web3_clientVersion`.
const CLIENT_VERSION: &str = concat!("esker/v", env!("CARGO_PKG_VERSION"));

/// Refuses invalid settings of a network: returns the setting's name and the reason.
pub(super) fn check(settings: &Settings, network: &Network) -> Result<(), (&'static str, String)> {
    let is_public = matches!(network.id, MAIN_ID | TEST_ID);
    let given =
        [("chain-id", settings.chain_id.is_some()), ("gas-limit", settings.gas_limit.is_some())];
    if let Some((name, _)) = given.into_iter().find(|(_, is_given)| *is_given && is_public) {
        return Err((
            name,
            format!("network {} has its own, which can't be changed", network.name),
        ));
    }
    check_values(settings)
}

/// Refuses values out of bounds.
pub(super) fn check_values(settings: &Settings) -> Result<(), (&'static str, String)> {
    if settings.chain_id.is_some_and(|id| !EVM_CHAIN_IDS.contains(&id)) {
        let (least, most) = (EVM_CHAIN_IDS.start(), EVM_CHAIN_IDS.end());
        return Err(("chain-id", format!("expected a whole number from {least} to {most}")));
    }
    if settings.client_version.len() > MAX_CLIENT_VERSION {
        return Err(("client-version", format!("expected at most {MAX_CLIENT_VERSION} bytes")));
    }
    if settings.gas_limit.is_some_and(|limit| !GAS_LIMITS.contains(&limit)) {
        let (least, most) = (GAS_LIMITS.start(), GAS_LIMITS.end());
        return Err(("gas-limit", format!("expected a whole number from {least} to {most}")));
    }
    Ok(())
}

/// Overrides the C-Chain's parameters with the settings: its chain ID, the gas limit of blocks, and on the
/// development network exact fees.
pub(super) fn apply(settings: &Settings, network: &mut Network) {
    let is_exact = settings.real_fees && network.name == Preset::Dev.name();
    let parameters = network.evm_parameters_mut();
    parameters.chain_id = settings.chain_id.unwrap_or(parameters.chain_id);
    let usual = if is_exact { FeeOverrides::default() } else { parameters.fees() };
    let mut fees = dev::fees(settings, usual);
    fees.gas_limit = settings.gas_limit.or(fees.gas_limit);
    parameters.set_fees(fees);
}

impl Config {
    /// The reply of `web3_clientVersion`. On a development node it starts with a name that tools recognize
    /// (docs/decisions.md, "Tools made for anvil").
    pub fn client_version(&self) -> String {
        let has_controls = self.network.has_controls && self.mode.is_development();
        match self.settings.client_version.as_str() {
            "" if has_controls => format!("anvil/{CLIENT_VERSION}"),
            "" => CLIENT_VERSION.to_owned(),
            given => given.to_owned(),
        }
    }

    /// Whether the user set the port of the C-Chain's JSON-RPC. `esker dev` starts without its default port if that
    /// is in use.
    pub fn is_evm_port_set(&self) -> bool {
        self.is_set("evm-port")
    }

    /// Whether HTTP may use another port if its own is in use: under `esker dev`, if only the port of the C-Chain's
    /// JSON-RPC is set.
    pub fn moves_http_port(&self) -> bool {
        self.mode == Mode::Dev && self.is_evm_port_set() && !self.is_set("http-port")
    }

    /// The port of HTTP, and the name of its flag. Under `esker evm` all is at the port of the chain's JSON-RPC.
    pub fn listen_port(&self) -> (u16, &'static str) {
        match (self.mode, self.settings.evm_port) {
            (Mode::Evm, Some(port)) => (port, "port"),
            (Mode::Evm | Mode::Dev | Mode::Node, _) => (self.settings.http_port, "http-port"),
        }
    }

    fn is_set(&self, name: &str) -> bool {
        let value = self.values.iter().find(|value| value.name == name);
        value.is_some_and(|value| !matches!(value.origin, Origin::Default))
    }
}
