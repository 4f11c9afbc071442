//! The rules of a development network whose C-Chain begins on a block of another C-Chain.

use esker_evm_execution::genesis::GenesisConfig;
use esker_evm_execution::rules::{
    CChainRules, ChainConfig, FeeOverrides, ForkSchedule, INITIALLY_ACTIVE, Phase,
};
use esker_evm_state::types::Header;
use esker_fork::Fork;
use esker_settings::config::ForkedRules;
use esker_settings::networks::{EvmRules, Preset};
use serde_json::{Value, json};

use super::choice::fault;
use super::rules_origin::{Origin, damaged, said};
use crate::wiring::error::StartError;

/// The known networks, whose blocks have exact fees.
const KNOWN: [Preset; 2] = [Preset::Main, Preset::Test];

/// Those of a known network by the chain ID, else those that the source publishes, else those of the development network,
/// else those of a network that began with Fortuna, as AvalancheGo's local one: the first ones to which the block's header
/// fits. `kept` are those of a file.
///
/// # Errors
/// The header fits to none of them; the source can't be asked.
pub(super) async fn choose(
    fork: &Fork,
    kept: Option<&str>,
) -> Result<(CChainRules, Origin), StartError> {
    let pin = fork.pin();
    let (chain_id, header) = (pin.chain_id, &pin.header);
    if !fork.has_source() {
        let rules = kept.and_then(|json| read(chain_id, json)).ok_or_else(damaged)?;
        return Ok((rules, Origin::File));
    }
    let known = known(chain_id).map(|schedule| rules(chain_id, schedule));
    if let Some(known) = known.clone().filter(|known| fits(known, header)) {
        return Ok((known, Origin::ChainId(chain_id)));
    }
    let published = said(fork, "eth_getChainConfig").await?;
    let published = published.and_then(|config| published_rules(chain_id, &config));
    if let Some(published) = published.clone().filter(|published| fits(published, header)) {
        return Ok((published, Origin::ChainConfig));
    }
    let development = rules(chain_id, ForkSchedule::LOCAL);
    let fortuna = rules(chain_id, with_fortuna());
    match development.check_form(header) {
        Ok(()) => Ok((development, Origin::Development)),
        Err(_) if known.is_none() && published.is_none() && fits(&fortuna, header) => {
            Ok((fortuna, Origin::HeaderForm))
        }
        // The best founded rules say why.
        Err(error) => {
            let best = known.or(published).map(|rules| rules.check_form(header));
            let error = best.and_then(Result::err).unwrap_or(error);
            let (number, url) = (header.number, fork.url().unwrap_or_default());
            Err(fault("fork-url", format!("block {number} of {url} can't be forked: {error}")))
        }
    }
}

/// Rules with the fees of the network; only the start times matter here.
fn rules(chain_id: u64, schedule: ForkSchedule) -> CChainRules {
    CChainRules::new(chain_id, schedule, FeeOverrides::default())
}

fn fits(rules: &CChainRules, header: &Header) -> bool {
    rules.check_form(header).is_ok()
}

/// Every known phase from the beginning.
fn with_fortuna() -> ForkSchedule {
    let mut schedule = ForkSchedule::LOCAL;
    schedule.phases[Phase::Fortuna as usize] = INITIALLY_ACTIVE;
    schedule
}

/// The start times of a known network.
fn known(chain_id: u64) -> Option<ForkSchedule> {
    KNOWN.into_iter().find_map(|preset| {
        let network = preset.network();
        let parameters = network.evm_parameters();
        match parameters.rules {
            EvmRules::CChain { schedule, .. } if parameters.chain_id == chain_id => Some(schedule),
            EvmRules::CChain { .. } | EvmRules::Ethereum(_) => None,
        }
    })
}

/// What a source publishes, if it names the times from which on the rules are known.
fn published_rules(chain_id: u64, config: &Value) -> Option<CChainRules> {
    let config = json!({ "config": config }).to_string();
    let read = GenesisConfig::parse(config.as_bytes()).ok()?;
    let is_named = |phase: Phase| read.phases[phase as usize].is_some();
    let schedule = read.schedule().ok()?;
    [Phase::Apricot5, Phase::Etna].into_iter().all(is_named).then(|| rules(chain_id, schedule))
}

/// Reads a record.
pub(super) fn read(chain_id: u64, record: &str) -> Option<CChainRules> {
    let config = GenesisConfig::parse(record.as_bytes()).ok()?;
    Some(rules(chain_id, config.schedule().ok()?))
}

/// Writes a record, in the form of a genesis.
pub(super) fn write(chain_id: u64, schedule: &ForkSchedule) -> String {
    json!({ "config": ChainConfig::new(chain_id, schedule) }).to_string()
}

/// For the settings: the fees are exact on the known networks.
pub(super) fn forked(rules: &CChainRules) -> ForkedRules {
    let schedule = *rules.schedule();
    let has_real_fees = [ForkSchedule::MAIN, ForkSchedule::TEST].contains(&schedule);
    ForkedRules::CChain { schedule, has_real_fees }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_keep_all_times() {
        for (chain_id, schedule) in [
            (43_114, ForkSchedule::MAIN),
            (43_113, ForkSchedule::TEST),
            (43_112, ForkSchedule::LOCAL),
        ] {
            let rules = read(chain_id, &write(chain_id, &schedule)).unwrap();
            assert_eq!(*rules.schedule(), schedule);
            assert_eq!(known(chain_id), Some(schedule).filter(|_| chain_id != 43_112));
            let ForkedRules::CChain { has_real_fees, .. } = forked(&rules) else { panic!() };
            assert_eq!(has_real_fees, chain_id != 43_112);
        }
        assert!(read(1, "").is_none());
    }

    #[test]
    fn a_source_names_the_times_or_says_nothing() {
        let main = serde_json::to_value(ChainConfig::new(7, &ForkSchedule::MAIN)).unwrap();
        let published = published_rules(7, &main).unwrap();
        assert_eq!(*published.schedule(), ForkSchedule::MAIN);
        let wrong_order = json!({"apricotPhase5BlockTimestamp": 5, "etnaTimestamp": 4});
        for other in [json!(null), json!({}), json!([1]), json!({"etnaTimestamp": 4}), wrong_order]
        {
            assert!(published_rules(7, &other).is_none(), "{other}");
        }
    }
}
