//! The computed cost of an instruction must equal the gas that it takes.

use esker_evm_execution::call::{BlockOverrides, CallLimits, CallRequest};
use esker_evm_execution::executor::VmError;
use esker_evm_execution::rules::{Phase, Revision};
use esker_evm_execution::trace::{StructLogConfig, StructLogger};
use proptest::prelude::*;
use serde_json::Value;

use super::trace;
use crate::machine::{ALICE, CODE, Lab};

const TX_GAS: u64 = 21_000;

/// An instruction with its operand.
fn instruction() -> impl Strategy<Value = Vec<u8>> {
    let small = prop::sample::select(vec![0_u8, 1, 2, 31, 32, 33, 64, 255]);
    let pushes = prop_oneof![
        6 => small.prop_map(|value| vec![0x60, value]),
        1 => any::<u16>().prop_map(|value| [&[0x61], &value.to_be_bytes()[..]].concat()),
        1 => any::<[u8; 9]>().prop_map(|value| [&[0x68], &value[..]].concat()),
        1 => Just([&[0x73], ALICE.as_slice()].concat()),
        1 => Just([&[0x73], CODE.as_slice()].concat()),
    ];
    // There are no jumps: those of random code have no destination.
    let others = (0_u8..=0xff).prop_filter("jumps", |op| !matches!(op, 0x56 | 0x57 | 0x60..=0x7f));
    let heavy = prop::sample::select(vec![
        0x0a, 0x1e, 0x20, 0x31, 0x37, 0x39, 0x3b, 0x3c, 0x3e, 0x3f, 0x51, 0x52, 0x53, 0x54, 0x55,
        0x5c, 0x5d, 0x5e, 0xa0, 0xa1, 0xa4, 0xf0, 0xf1, 0xf2, 0xf4, 0xf5, 0xfa,
    ]);
    prop_oneof![
        8 => pushes,
        3 => heavy.prop_map(|op| vec![op]),
        1 => others.prop_map(|op| vec![op]),
    ]
}

fn number(step: &Value, name: &str) -> u64 {
    step[name].as_u64().unwrap_or_else(|| panic!("{name} in {step}"))
}

/// Checks the gas from an instruction to the next one of the same frame, except for instructions that begin a frame.
fn check(lab: &Lab, gas: u64) {
    let request = CallRequest { to: Some(CODE), gas: Some(gas), ..Default::default() };
    let plain = lab.call_with(&request, &BlockOverrides::default(), &CallLimits::default());
    let shown = trace(lab, &request, Box::new(StructLogger::new(StructLogConfig::default())));
    assert_eq!(number(&shown, "gas"), plain.gas_used);
    assert_eq!(shown["failed"], plain.error.is_some());
    let steps = shown["structLogs"].as_array().unwrap();
    for pair in steps.windows(2) {
        let (step, next) = (&pair[0], &pair[1]);
        let op = step["op"].as_str().unwrap();
        let begins_frame = op.contains("CALL") && op != "CALLER" || op.starts_with("CREATE");
        let is_next = step["depth"] == next["depth"] && (!begins_frame || op.contains("CALLDATA"));
        let is_next = is_next || step["depth"] == next["depth"] && op == "CALLVALUE";
        if is_next && step.get("error").is_none() {
            let left = number(step, "gas") - number(step, "gasCost");
            assert_eq!(left, number(next, "gas"), "after {step}: {next}");
        }
        if step["depth"] == next["depth"] && begins_frame {
            assert!(number(next, "gas") >= number(step, "gas") - number(step, "gasCost"), "{step}");
        }
    }
    let Some(last) = steps.last().filter(|last| last["depth"] == 1) else { return };
    let used = gas - TX_GAS - number(last, "gas") + number(last, "gasCost");
    match &plain.error {
        None | Some(VmError::Reverted) => assert_eq!(plain.gas_used, TX_GAS + used, "{last}"),
        Some(error) => {
            // Errors that end the frame before the instruction runs are shown with it.
            let is_shown = matches!(
                error,
                VmError::OutOfGas
                    | VmError::GasOverflow
                    | VmError::StackUnderflow { .. }
                    | VmError::StackOverflow { .. }
            );
            let text = last.get("error").and_then(Value::as_str).map(str::to_owned);
            assert_eq!(text, is_shown.then(|| error.to_string()), "{last}");
        }
    }
}

#[test]
fn the_refund_counter_is_shown() {
    // Sets a slot, clears it, and reads it.
    let code = [0x60, 1, 0x60, 0, 0x55, 0x60, 0, 0x60, 0, 0x55, 0x60, 0, 0x54];
    for (revision, refunds, want) in [
        (Revision::Berlin, true, Some(19_900)),
        (Revision::Istanbul, true, Some(19_200)),
        (Revision::Constantinople, true, Some(19_800)),
        (Revision::Petersburg, true, Some(15_000)),
        (Revision::Frontier, true, Some(15_000)),
        (Revision::Osaka, true, Some(19_900)),
        (Revision::Osaka, false, None),
    ] {
        let lab = Lab::of_revision(revision, refunds, &code);
        let request = CallRequest { to: Some(CODE), gas: Some(100_000), ..Default::default() };
        let shown = trace(&lab, &request, Box::new(StructLogger::new(StructLogConfig::default())));
        let steps = shown["structLogs"].as_array().unwrap();
        let refunds: Vec<_> = steps.iter().map(|step| step["refund"].as_u64()).collect();
        let before = [None; 5];
        assert_eq!(refunds, [&before[..], &[want; 4]].concat(), "{revision:?}");
        // The refund is at most half of the gas, since London a fifth.
        let most = if revision >= Revision::London { 5 } else { 2 };
        let spent = TX_GAS + steps.iter().map(|step| number(step, "gasCost")).sum::<u64>();
        let refunded = want.unwrap_or(0).min(spent / most);
        assert_eq!(number(&shown, "gas"), spent - refunded, "{revision:?}");
    }
}

/// An instruction has taken its operands from the stack when it asks for the gas that depends on them.
#[test]
fn storage_that_gas_cannot_pay_is_out_of_gas_in_each_revision() {
    let code = [0x60, 1, 0x60, 0, 0x55];
    for revision in Revision::ALL {
        check(&Lab::of_revision(revision, false, &code), TX_GAS + 6 + 190);
        check(&Lab::of_revision(revision, false, &code), TX_GAS + 6 + 3_000);
    }
}

proptest! {
    #[test]
    fn an_instruction_takes_what_it_is_said_to_cost(
        code in prop::collection::vec(instruction(), 1..40),
        gas in prop_oneof![TX_GAS..TX_GAS + 3_000, TX_GAS..TX_GAS + 150_000],
        phase in prop::sample::select(vec![Phase::Apricot5, Phase::Durango, Phase::Etna]),
    ) {
        check(&Lab::new(phase, &code.concat()), gas);
    }

    #[test]
    fn costs_are_right_in_each_revision(
        code in prop::collection::vec(instruction(), 1..40),
        gas in prop_oneof![TX_GAS..TX_GAS + 3_000, TX_GAS..TX_GAS + 150_000],
        revision in prop::sample::select(Revision::ALL.to_vec()),
    ) {
        check(&Lab::of_revision(revision, false, &code.concat()), gas);
    }
}
