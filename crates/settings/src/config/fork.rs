//! Chains that begin on a block of another node: checks of the settings, and what follows from the block.

use std::sync::Arc;
use std::time::Duration;

use esker_ethereum::forks::ChainConfig;
use esker_evm_execution::rules::ForkSchedule;

use super::dev::Fault;
use super::value::Switch;
use super::{Config, ConfigError, Settings};
use crate::networks::{EvmRules, Network};

/// A block of another chain on which the chain begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkBlock {
    /// The other chain's ID.
    pub chain_id: u64,
    /// Time of the block, Unix s.
    pub time_s: u64,
    /// Gas limit of the block.
    pub gas_limit: u64,
    /// Base fee of the block, wei; 0 if it has none.
    pub base_fee: u64,
    /// The rules of the chain.
    pub rules: ForkedRules,
}

/// The rules of a chain that begins on a block of another node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForkedRules {
    /// Ethereum's; `None`: those of `hardfork`.
    Ethereum(Option<Arc<ChainConfig>>),
    /// The C-Chain's.
    CChain {
        /// Start times of the phases.
        schedule: ForkSchedule,
        /// Whether its fees are the exact ones unless the user says something else. Else the base fee and the gas limit stay
        /// those of the block.
        has_real_fees: bool,
    },
}

impl ForkedRules {
    /// Ethereum's, if they are not those of `hardfork`.
    pub fn ethereum(&self) -> Option<&ChainConfig> {
        match self {
            Self::Ethereum(config) => config.as_deref(),
            Self::CChain { .. } => None,
        }
    }

    /// Sets the start times of the phases of a network's C-Chain.
    pub(super) fn apply(&self, network: &mut Network) {
        let Self::CChain { schedule: of_source, .. } = self else { return };
        if let EvmRules::CChain { schedule, .. } = &mut network.evm_parameters_mut().rules {
            *schedule = *of_source;
        }
    }
}

impl Config {
    /// The configuration of a chain that begins on a block of another node.
    ///
    /// # Errors
    /// The settings don't go together with this block.
    pub fn on_fork(self, block: &ForkBlock) -> Result<Self, ConfigError> {
        let mut layers = self.layers;
        let of_rules = matches!(block.rules, ForkedRules::CChain { has_real_fees: true, .. });
        let has_real_fees = match layers.is_given(REAL_FEES) {
            true => self.settings.real_fees,
            false => of_rules,
        };
        let mut values =
            vec![("chain-id", block.chain_id.to_string()), ("timestamp", block.time_s.to_string())];
        match has_real_fees {
            true => values.push((REAL_FEES, true.to_string())),
            false => values.extend([
                ("gas-limit", block.gas_limit.to_string()),
                ("base-fee", block.base_fee.to_string()),
            ]),
        }
        layers.set_fork(values);
        layers.fork_rules = Some(block.rules.clone());
        let (data_dir, fork_cache) = (self.data_dir, self.fork_cache);
        let config = Self { data_dir, fork_cache, ..Self::of_layers(self.mode, layers, None)? };
        // A kept folder may be a fork's without a setting that says so.
        let checked = check_of_fork(&config.settings, "the folder of a fork");
        checked.map_err(|(name, reason)| config.layers.value_error(name, reason))?;
        Ok(config)
    }
}

/// The default of `fork-timeout`.
const USUAL_TIMEOUT: Duration = Duration::from_secs(20);
/// The longest `fork-timeout`.
pub const MAX_TIMEOUT: Duration = Duration::from_secs(600);
/// The default of `fork-backoff`.
const USUAL_BACKOFF: Duration = Duration::from_millis(250);
/// The longest `fork-backoff`.
pub const MAX_BACKOFF: Duration = Duration::from_secs(60);

/// The setting of exact fees.
const REAL_FEES: &str = "real-fees";

/// Refuses a fork of a node that is not for development.
pub(super) fn check_absent(settings: &Settings) -> Result<(), Fault> {
    let given = [
        ("fork-url", !settings.fork_url.0.is_empty()),
        ("fork-from", settings.fork_from.is_some()),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        Some((name, _)) => Err((name, "only for esker dev and esker evm".to_owned())),
        None => Ok(()),
    }
}

/// Refuses settings that don't go together with a fork, or only with one.
pub(super) fn check(settings: &Settings) -> Result<(), Fault> {
    let is_of_source = !settings.fork_url.0.is_empty();
    match (&settings.fork_from, is_of_source) {
        (Some(_), true) => {
            return Err((
                "fork-from",
                "not with fork-url: the file takes the place of the source".to_owned(),
            ));
        }
        (Some(_), false) => check_of_fork(settings, "fork-from")?,
        (None, true) => check_of_fork(settings, "fork-url")?,
        (None, false) => {}
    }
    check_times(settings)?;
    let of_source = [
        ("fork-block", settings.fork_block != "latest"),
        ("fork-proofs", settings.fork_proofs != Switch::Auto),
    ];
    let of_any = [
        ("fork-header", !settings.fork_header.0.is_empty()),
        ("fork-rate", settings.fork_rate > 0),
        ("fork-timeout", settings.fork_timeout.0 != USUAL_TIMEOUT),
        ("fork-backoff", settings.fork_backoff.0 != USUAL_BACKOFF),
    ];
    let is_of_x = !settings.fork_x.is_empty();
    let is_given = |(_, is_given): &(&str, bool)| *is_given && !is_of_source;
    if let Some((name, _)) = of_any.into_iter().find(|given| is_given(given) && !is_of_x) {
        return Err((name, "only together with fork-url or fork-x".to_owned()));
    }
    match of_source.into_iter().find(is_given) {
        Some((name, _)) => Err((name, "only together with fork-url".to_owned())),
        None if settings.fork_keep_balances && !is_of_source && settings.fork_from.is_none() => {
            Err(("fork-keep-balances", "only together with fork-url or fork-from".to_owned()))
        }
        None => Ok(()),
    }
}

/// Refuses times that a request to the source can't have.
fn check_times(settings: &Settings) -> Result<(), Fault> {
    let times = [
        ("fork-timeout", settings.fork_timeout.0, MAX_TIMEOUT),
        ("fork-backoff", settings.fork_backoff.0, MAX_BACKOFF),
    ];
    match times.into_iter().find(|(_, time, most)| time.is_zero() || time > most) {
        Some((name, _, most)) => {
            Err((name, format!("expected a time above 0 and of at most {} s", most.as_secs())))
        }
        None => Ok(()),
    }
}

/// Refuses settings that a fork has not; `by` is what makes the chain one.
fn check_of_fork(settings: &Settings, by: &str) -> Result<(), Fault> {
    let of_block = [
        ("genesis", settings.genesis.is_some()),
        ("import", settings.import.is_some()),
        ("fixture", settings.fixture.is_some()),
        ("alloc", settings.alloc.is_some()),
        ("follow", !settings.follow.0.is_empty()),
        ("load-state", settings.load_state.is_some()),
        ("state", settings.state.is_some()),
        ("dump-state", settings.dump_state.is_some()),
        ("number", settings.number > 0),
    ];
    if let Some((name, _)) = of_block.into_iter().find(|(_, is_given)| *is_given) {
        return Err((name, format!("not with {by}: the state is that of the source")));
    }
    if settings.api_sync_enabled {
        let reason = "a follower can't verify the chain's blocks, since it has nothing of the source's state";
        return Err(("api-sync-enabled", format!("not with {by}: {reason}")));
    }
    // The undo rows of its blocks say which values are no longer those of the source.
    match settings.state_window {
        Some(_) => Err(("state-window", format!("not with {by}: a fork keeps all its states"))),
        None => Ok(()),
    }
}
