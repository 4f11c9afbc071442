//! Keeping what transactions, calls and estimates print.

use std::cell::RefCell;

use alloy_primitives::Address;
use esker_evm_execution::call::{
    BlockOverrides, CallLimits, CallRequest, StateOverrides, call, estimate_gas,
};
use esker_evm_execution::console::{CONSOLE, ConsoleCalls, Signature};
use esker_evm_execution::genesis::GenesisAccount;
use esker_evm_execution::rules::Phase;

use crate::machine::{CODE, Lab, legacy, until};

/// Prints its call data and reverts; [`CODE`] prints them twice.
const REVERTS: Address = Address::repeat_byte(0x1e);

/// Makes a STATICCALL of the console with the call data.
const PRINT: &str = "365f5f375f5f365fCONSOLE5afa50";

fn code(text: &str) -> GenesisAccount {
    let console = format!("73{}", hex::encode(CONSOLE));
    let code = hex::decode(text.replace(' ', "").replace("CONSOLE", &console)).unwrap();
    GenesisAccount { code: code.into(), ..Default::default() }
}

fn lab() -> Lab {
    let accounts = [(CODE, code(&PRINT.repeat(2))), (REVERTS, code(&format!("{PRINT}5f5ffd")))];
    Lab::with(until(Phase::Etna), accounts)
}

/// Call data of `log(string)`.
fn log(text: &str) -> Vec<u8> {
    let signature = Signature::all().find(|one| one.text == "log(string)").unwrap();
    let word = |number: usize| {
        let mut word = vec![0; 32];
        word[31] = u8::try_from(number).unwrap();
        word
    };
    let mut padded = text.as_bytes().to_vec();
    padded.resize(32, 0);
    [signature.selector().to_vec(), word(32), word(text.len()), padded].concat()
}

fn texts(console: &ConsoleCalls) -> Vec<String> {
    assert_eq!(console.left_out(), 0);
    console.texts().collect()
}

#[test]
fn a_block_keeps_what_its_transactions_print() {
    let mut lab = lab();
    let txs = [
        legacy(0, Some(CODE), &log("a"), 0),
        legacy(1, Some(Address::repeat_byte(9)), &log("nothing"), 0),
        legacy(2, Some(REVERTS), &log("b"), 0),
        legacy(3, Some(CONSOLE), &log("c"), 0),
    ];
    let silent = lab.execute_block(&txs);
    assert_eq!(silent.printed, []);
    lab.params.keeps_console = true;
    let output = lab.execute_block(&txs);
    let printed: Vec<_> = output.printed.iter().map(|tx| (tx.index, texts(&tx.console))).collect();
    let text = |text: &str| text.to_owned();
    let want = [(0, vec![text("a"), text("a")]), (2, vec![text("b")]), (3, vec![text("c")])];
    assert_eq!(printed, want);
    // Nothing else differs.
    assert_eq!((output.receipts, output.gas_used), (silent.receipts, silent.gas_used));
}

#[test]
fn a_call_keeps_what_it_prints() {
    let lab = lab();
    let run = |to, input: Vec<u8>, console| {
        let request = CallRequest { to: Some(to), input: input.into(), ..Default::default() };
        let limits = CallLimits { gas_cap: 1_000_000, console, ..Default::default() };
        let (state, block) = (StateOverrides::default(), BlockOverrides::default());
        lab.with_env(|env| call(env, &request, &state, &block, &limits).unwrap())
    };
    let console = RefCell::default();
    let outcome = run(CODE, log("a"), Some(&console));
    assert_eq!(texts(&console.borrow()), ["a", "a"]);
    assert_eq!(outcome, run(CODE, log("a"), None));
    let outcome = run(REVERTS, log("b"), Some(&console));
    assert!(outcome.has_reverted());
    assert_eq!(texts(&console.borrow()), ["b"]);
    run(REVERTS, vec![1], Some(&console));
    assert_eq!(texts(&console.borrow()), ["0x01 (1 bytes, shorter than a selector)"]);
    // More calls than are kept: a loop until the gas is gone.
    let endless = Lab::with(until(Phase::Etna), [(CODE, code(&format!("5b{PRINT}5f56")))]);
    let request = CallRequest { to: Some(CODE), input: log("x").into(), ..Default::default() };
    let limits = CallLimits { gas_cap: 3_000_000, console: Some(&console), ..Default::default() };
    let (state, block) = (StateOverrides::default(), BlockOverrides::default());
    endless.with_env(|env| call(env, &request, &state, &block, &limits).unwrap());
    let kept = console.borrow();
    assert!(kept.texts().count() < 1001 && kept.bytes() <= 64 << 10 && kept.left_out() > 1000);
}

/// Of the many runs of an estimate, one counts: the last one that succeeded, or the one that failed.
#[test]
fn an_estimate_keeps_what_one_run_prints() {
    // Prints the gas that is left, and reverts if it is less than 50,000 then.
    let gas = "63f82c50f160e01b5f52 5a600452 5f5f60245fCONSOLE5afa50 61c3505a10 603457 00 5b5f5ffd";
    let console = RefCell::default();
    let estimate = |text: &str| {
        let lab = Lab::with(until(Phase::Etna), [(CODE, code(text))]);
        let request = CallRequest { to: Some(CODE), ..Default::default() };
        let limits =
            CallLimits { gas_cap: 10_000_000, console: Some(&console), ..Default::default() };
        lab.with_env(|env| estimate_gas(env, &request, &StateOverrides::default(), &limits))
    };
    let estimated = estimate(gas).unwrap();
    let printed = texts(&console.borrow());
    assert_eq!(printed.len(), 1, "{printed:?}");
    let left: u64 = printed[0].parse().unwrap();
    assert!(left > 50_000 && left < estimated, "{left} of {estimated}");
    // It reverts with any gas.
    estimate(&format!("{PRINT}5f5ffd")).unwrap_err();
    assert_eq!(texts(&console.borrow()).len(), 1);
}
