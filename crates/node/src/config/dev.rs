//! Settings of the development network: checks, and the network that they make.

use esker_evm::rules::FeeOverrides;

use super::{Config, Mode, Settings};
use crate::networks::{DevError, DevOptions, Network, Preset, dev_network};

/// The name of a setting, and why it can't be had.
type Fault = (&'static str, String);

/// The network of the settings: of a development network the one with its accounts and its start, else the loaded one.
pub(super) fn network(settings: &Settings, mode: Mode, loaded: Network) -> Result<Network, Fault> {
    if settings.silent && mode != Mode::Dev {
        return Err(("silent", "only for esker dev: other commands show no screen".to_owned()));
    }
    if settings.silent && settings.json {
        return Err(("silent", "not with json, which prints a line".to_owned()));
    }
    if loaded.name != Preset::Dev.name() {
        let only = "only for the development network: use esker dev";
        return match given(settings) {
            Some(name) => Err((name, only.to_owned())),
            None => Ok(loaded),
        };
    }
    check_fees(settings, &loaded)?;
    dev_network(&options(settings)).map_err(|error| (setting_of(&error), error.to_string()))
}

/// A setting that only the development network has, if one was given.
fn given(settings: &Settings) -> Option<&'static str> {
    let given = [
        ("accounts", settings.accounts.is_some()),
        ("balance", settings.balance.is_some()),
        ("mnemonic", !settings.mnemonic.is_empty()),
        ("derivation-path", !settings.derivation_path.is_empty()),
        ("base-fee", settings.base_fee.is_some()),
        ("gas-price", settings.gas_price.is_some()),
        ("timestamp", settings.timestamp.is_some()),
    ];
    given.into_iter().find(|(_, is_given)| *is_given).map(|(name, _)| name)
}

fn options(settings: &Settings) -> DevOptions<'_> {
    DevOptions {
        count: settings.accounts,
        balance: settings.balance,
        mnemonic: Some(settings.mnemonic.as_str()).filter(|text| !text.is_empty()),
        path: Some(settings.derivation_path.as_str()).filter(|text| !text.is_empty()),
        start_time_s: settings.timestamp,
    }
}

fn setting_of(error: &DevError) -> &'static str {
    match error {
        DevError::Mnemonic(_) => "mnemonic",
        DevError::Path(_) => "derivation-path",
        DevError::Count => "accounts",
        DevError::Balance { .. } => "balance",
        DevError::StartTime => "timestamp",
    }
}

/// With the exact fee rules the base fee varies, so that neither it nor a price can be set.
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
    let usual = network.c_parameters().fees.min_base_fee;
    settings.base_fee.or(usual).unwrap_or_default()
}

/// The C-Chain's fees with the settings.
pub(super) fn fees(settings: &Settings, fees: FeeOverrides) -> FeeOverrides {
    FeeOverrides { min_base_fee: settings.base_fee.or(fees.min_base_fee), ..fees }
}

impl Config {
    /// Tip in wei that makes the suggested gas price of the C-Chain the configured one.
    pub fn min_suggested_tip(&self) -> Option<u64> {
        let price = self.settings.gas_price?;
        Some(price.saturating_sub(base_fee(&self.settings, &self.network)))
    }
}
