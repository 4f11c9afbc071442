//! Development networks whose C-Chain begins on a block of another one.

use esker_evm_execution::rules::{FeeOverrides, ForkSchedule};

use super::*;
use crate::config::{ForkBlock, ForkedRules};
use crate::networks::{EvmRules, Preset};

const DEV: Given<'static> = Given { mode: Mode::Dev, ..NOTHING };
const URL: (&str, &str) = ("fork-url", "http://127.0.0.1:1/ext/bc/C/rpc");
const GWEI: u64 = 1_000_000_000;

fn block(schedule: ForkSchedule, has_real_fees: bool) -> ForkBlock {
    ForkBlock {
        chain_id: 43_114,
        time_s: 1_740_000_000,
        gas_limit: 15_000_000,
        base_fee: 25 * GWEI,
        rules: ForkedRules::CChain { schedule, has_real_fees },
    }
}

fn forked(flags: &[(&'static str, &str)], block: &ForkBlock) -> Result<Config, String> {
    let config = load(&Given { flags: &[&[URL], flags].concat(), ..DEV }).unwrap();
    config.on_fork(block).map_err(|error| error.to_string())
}

/// The start times and the fees of the C-Chain.
fn rules(config: &Config) -> (ForkSchedule, FeeOverrides) {
    match config.network.evm_parameters().rules {
        EvmRules::CChain { schedule, fees } => (schedule, fees),
        EvmRules::Ethereum(_) => panic!("the C-Chain's"),
    }
}

#[test]
fn fees_are_exact_or_those_of_the_block() {
    let (main, local) = (block(ForkSchedule::MAIN, true), block(ForkSchedule::LOCAL, false));
    let exact = FeeOverrides::default();
    let constant = FeeOverrides {
        gas_limit: Some(15_000_000),
        target_gas: Some(u64::MAX),
        min_base_fee: Some(25 * GWEI),
        block_gas_cost_step: Some(0),
    };
    for (flags, block, fees) in [
        (&[][..], &main, exact),
        (&[("real-fees", "false")], &main, constant),
        (&[("gas-limit", "9000000")], &main, FeeOverrides { gas_limit: Some(9_000_000), ..exact }),
        (&[], &local, constant),
        (&[("real-fees", "true")], &local, exact),
        (&[("base-fee", "7")], &local, FeeOverrides { min_base_fee: Some(7), ..constant }),
    ] {
        let config = forked(flags, block).unwrap();
        let ForkedRules::CChain { schedule, .. } = block.rules else { unreachable!() };
        assert_eq!(rules(&config), (schedule, fees), "{flags:?}");
        assert_eq!(config.network.evm_parameters().chain_id, 43_114);
    }
    let error = forked(&[("base-fee", "7")], &main).unwrap_err();
    assert!(error.contains("base-fee: not with real-fees"), "{error}");
    let error = forked(&[("gas-price", "2000000000")], &local).unwrap_err();
    assert!(error.contains("expected at least the base fee, 25000000000"), "{error}");
}

#[test]
fn the_other_chains_keep_their_ids_and_the_clock_begins_at_the_block() {
    let preset = Preset::Dev.network();
    let config = forked(&[], &block(ForkSchedule::MAIN, true)).unwrap();
    let ids = |network: &crate::networks::Network| {
        network.chains.iter().map(|chain| chain.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(&config.network), ids(&preset));
    assert_eq!(config.network.x_chain(), preset.x_chain());
    assert_eq!(config.settings.timestamp, Some(1_740_000_000));
    let config = forked(&[("chain-id", "7")], &block(ForkSchedule::MAIN, true)).unwrap();
    assert_eq!(config.network.evm_parameters().chain_id, 7, "the user's comes first");
    let old = ForkBlock { time_s: 1_600_000_000, ..block(ForkSchedule::LOCAL, false) };
    let error = forked(&[], &old).unwrap_err();
    assert!(error.contains("timestamp: expected Unix seconds from 1607144400"), "{error}");
}

#[test]
fn settings_that_a_fork_has_not() {
    for (flags, text) in [
        (&[URL, ("fixture", "f.json")][..], "fixture: not with fork-url"),
        (&[URL, ("load-state", "s.json")], "load-state: not with fork-url"),
        (&[URL, ("dump-state", "s.json")], "dump-state: not with fork-url"),
        (&[URL, ("follow", "http://127.0.0.1:2")], "follow: not with fork-url"),
        (&[URL, ("api-sync-enabled", "true")], "api-sync-enabled: not with fork-url: a follower"),
        (&[URL, ("fork-from", "f.pack")], "fork-from: not with fork-url"),
        (&[URL, ("hardfork", "osaka")], "hardfork: only for esker evm"),
        (&[("fork-block", "3")], "fork-block: only together with fork-url"),
        (&[("fork-keep-balances", "true")], "fork-keep-balances: only together with fork-url or"),
    ] {
        let error = load(&Given { flags, ..DEV }).unwrap_err();
        assert!(error.contains(text), "{flags:?}: {error}");
    }
    for flag in [URL, ("fork-from", "f.pack")] {
        let flags = &[flag, ("network", "dev")];
        let error = load(&Given { flags, ..NOTHING }).unwrap_err();
        assert!(error.contains("only for esker dev and esker evm"), "{error}");
    }
}
