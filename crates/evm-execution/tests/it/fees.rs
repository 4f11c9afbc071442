//! Base fee and block gas cost against the reference's and the model's figures.

use alloy_primitives::U256;
use esker_evm_execution::rules::window::{Parent, Window, child_fee};
use esker_evm_execution::rules::{
    CChainRules, FeeOverrides, ForkSchedule, HeaderRules, Phase, block_gas_cost,
};
use esker_evm_state::types::Block;
use esker_testkit::vectors::{of_kind, recorded};
use serde_json::Value;

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no number: {value}"))
}

fn window(value: &Value) -> Window {
    let slots: Vec<u64> = value.as_array().unwrap().iter().map(number).collect();
    Window(slots.try_into().unwrap())
}

#[test]
fn block_gas_cost_follows_the_vectors() {
    for (name, input, expected) in of_kind("block_gas_cost") {
        let parent = input["parentBlockGasCost"].as_u64().map(U256::from);
        let (parent_time, time) = (number(&input["parentTime"]), input["time"].as_u64());
        // A time before that of the parent counts as the time of the parent.
        let time = time.unwrap_or(parent_time);
        let cost = block_gas_cost(parent, number(&input["step"]), parent_time, time);
        assert_eq!(cost, number(&expected["blockGasCost"]), "{name}");
    }
}

#[test]
fn base_fee_follows_the_vectors_from_apricot_5_on() {
    let mut checked = 0;
    for (name, input, expected) in of_kind("base_fee") {
        let flags = input["rulesAtParentTime"].to_string();
        if !flags.contains("ap5") || input["parent"]["number"] == 0 {
            continue;
        }
        let phase = if flags.contains("etna") { Phase::Etna } else { Phase::Apricot5 };
        let parent = &input["parent"];
        let ext_gas = parent["extDataGasUsed"].as_u64().unwrap_or_default();
        let terms = Parent {
            window: window(&parent["window"]),
            base_fee: U256::from(number(&parent["baseFee"])),
            gas_used: number(&parent["gasUsed"]) + ext_gas,
        };
        let seconds = number(&input["time"]) - number(&parent["time"]);
        let (got, fee) = child_fee(&phase.rules(), &terms, seconds);
        assert_eq!(got, window(&expected["window"]), "{name}");
        assert_eq!(fee, U256::from(number(&expected["baseFee"])), "{name}");
        checked += 1;
    }
    assert!(checked >= 5, "{checked}");
}

#[test]
fn a_recorded_chain_has_the_terms_that_the_rules_compute() {
    let rules = CChainRules::new(43112, ForkSchedule::LOCAL, FeeOverrides::default());
    let blocks: Vec<_> = recorded("C").iter().map(|b| Block::parse(b).unwrap().header).collect();
    for pair in blocks.windows(2) {
        let (parent, header) = (&pair[0], &pair[1]);
        let terms = rules.child_terms(parent, header.time).unwrap();
        assert_eq!(Some(terms.base_fee), header.base_fee, "block {}", header.number);
        assert_eq!(terms.gas_limit, header.gas_limit);
        assert_eq!(Some(U256::from(terms.block_gas_cost)), header.block_gas_cost);
        let ext_gas = header.ext_data_gas_used.unwrap().to();
        let extra = rules.child_extra(parent, header.time, header.gas_used, ext_gas).unwrap();
        assert_eq!(extra, header.extra, "block {}", header.number);
    }
}

#[test]
fn early_history_is_refused_by_name() {
    let rules = CChainRules::new(43114, ForkSchedule::MAIN, FeeOverrides::default());
    let refused = rules.phase_at(1_600_000_000).unwrap_err().to_string();
    assert!(refused.starts_with("block time 1600000000 is before Apricot 5"), "{refused}");
}
