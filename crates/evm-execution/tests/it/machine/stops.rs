//! Code makes stop checks often enough, whatever it spends its gas on. The tests count checks, not time.

use std::cell::Cell;

use alloy_primitives::U256;
use esker_evm_execution::call::{
    BlockOverrides, CallError, CallLimits, CallRequest, StateOverrides, call,
};
use esker_evm_execution::executor::{Bounds, Stop};
use esker_evm_execution::rules::Phase;
use esker_evm_execution::trace::{
    BufferOutput, StructLogConfig, StructLogger, TraceError, Tracer, trace_call,
};

use super::{CODE, Lab, push};

/// Gas that calls get here.
const GAS: u64 = 10_000_000;
/// Work between two stop checks, as gas.
const WORK: u64 = 100_000;
/// Bytes of code without loops.
const UNROLLED: usize = 20_000;
const MIB: u64 = 1 << 20;

/// A kind of work.
struct Kind {
    name: &'static str,
    /// Code that runs once before the work.
    before: Vec<u8>,
    /// Code of the work, which is repeated.
    body: Vec<u8>,
    /// Most gas of a step without stop checks.
    step: u64,
}

fn kind(name: &'static str, body: Vec<u8>, step: u64) -> Kind {
    Kind { name, before: Vec::new(), body, step }
}

/// Pushes operands, the last one on top, and runs an instruction.
fn op(operands: &[u64], instruction: u8) -> Vec<u8> {
    let mut code: Vec<u8> = operands.iter().flat_map(|word| push(U256::from(*word))).collect();
    code.push(instruction);
    code
}

fn popped(mut code: Vec<u8>) -> Vec<u8> {
    code.push(0x50);
    code
}

/// Writes a word to memory.
fn store(at: u64, word: U256) -> Vec<u8> {
    [push(word), push(U256::from(at)), vec![0x52]].concat()
}

/// Calls a precompiled contract with so many bytes of memory and all gas.
fn precompiled(number: u64, input: u64) -> Vec<u8> {
    let arguments = op(&[0, 0, input, 0, number], 0x5a);
    popped([arguments, vec![0xfa]].concat())
}

fn instructions() -> Vec<Kind> {
    let words = |bytes: u64| bytes.div_ceil(32);
    vec![
        kind("KECCAK256", popped(op(&[MIB, 0], 0x20)), 6 * words(MIB)),
        kind("CALLDATACOPY", op(&[MIB, 0, 0], 0x37), 3 * words(MIB)),
        kind("CODECOPY", op(&[MIB, 0, 0], 0x39), 3 * words(MIB)),
        kind("EXTCODECOPY", op(&[MIB, 0, 0, 1], 0x3c), 3 * words(MIB)),
        kind("MCOPY", op(&[MIB, 0, 0], 0x5e), 3 * words(MIB)),
        kind("LOG0", op(&[1 << 17, 0], 0xa0), 8 << 17),
        // (2^256 - 1) to the power of itself.
        kind("EXP", popped(vec![0x60, 0, 0x19, 0x80, 0x0a]), 2_000),
        // The slot with the number of the remaining gas: another slot each time.
        kind("SLOAD", popped(vec![0x5a, 0x54]), 3_000),
        kind("SSTORE", vec![0x60, 1, 0x5a, 0x55], 23_000),
        kind("BALANCE", popped(vec![0x5a, 0x31]), 3_000),
        kind("EXTCODEHASH", popped(vec![0x5a, 0x3f]), 3_000),
        kind("CREATE", popped(op(&[40_000, 0, 0], 0xf0)), 60_000),
        kind("CREATE2", popped([vec![0x5a], op(&[40_000, 0, 0], 0xf5)].concat()), 60_000),
        kind("CALL", popped(vec![0x5f, 0x5f, 0x5f, 0x5f, 0x5f, 0x5a, 0x5a, 0xf1]), 3_000),
    ]
}

fn precompiles() -> Vec<Kind> {
    let modexp = |base: u64, exponent: u64, modulus: u64| {
        let lengths = [base, exponent, modulus].into_iter().zip([0, 32, 64]);
        let mut code: Vec<u8> =
            lengths.flat_map(|(length, at)| store(at, U256::from(length))).collect();
        for at in (96..96 + base + exponent + modulus).step_by(32) {
            code.extend(store(at, U256::MAX));
        }
        code
    };
    let with = |before: Vec<u8>, of: Kind| Kind { before, ..of };
    vec![
        kind("ecrecover", precompiled(1, 128), 4_000),
        kind("sha256", precompiled(2, MIB), 14 * MIB / 32),
        kind("ripemd160", precompiled(3, 1 << 17), (130 << 17) / 32),
        kind("identity", precompiled(4, MIB), 4 * MIB / 32),
        with(modexp(255, 256, 256), kind("modexp", precompiled(5, 96 + 3 * 256), WORK)),
        with(modexp(31, 1_024, 32), kind("modexp, long exponent", precompiled(5, 2_000), WORK)),
        kind("bn254 add", precompiled(6, 128), 1_000),
        kind("bn254 mul", precompiled(7, 96), 7_000),
        kind("bn254 pairing", precompiled(8, 192), 80_000),
        kind("bn254 pairings", precompiled(8, 40 * 192), 4 * 34_000 + 45_000),
        with(store(0, U256::from(5_000_000) << 224), kind("blake2f", precompiled(9, 213), WORK)),
        kind("one that fails with all gas", precompiled(10, 10), GAS),
    ]
}

/// Calls `run` with a stop check that stops at the `last` check. Returns the number of checks and the outcome.
fn counted<T>(last: usize, run: impl FnOnce(&CallLimits<'_>) -> T) -> (usize, T) {
    let asked = Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        (asked.get() >= last).then_some(Stop::TimedOut)
    };
    let bounds = Bounds { stop: Some(&stop), ..Bounds::default() };
    let ended = run(&CallLimits { gas_cap: GAS, bounds, ..CallLimits::default() });
    (asked.get(), ended)
}

/// As [`counted`] for a call of code. The outcome is the used gas.
fn asked(code: &[u8], last: usize) -> (usize, Result<u64, CallError>) {
    let lab = Lab::new(Phase::Etna, code);
    let request = CallRequest { to: Some(CODE), ..CallRequest::default() };
    let (state, block) = (StateOverrides::default(), BlockOverrides::default());
    counted(last, |limits| {
        let ended = lab.with_env(|env| call(env, &request, &state, &block, limits));
        ended.map(|outcome| outcome.gas_used)
    })
}

/// Checks that a loop of this kind, and the same code without a loop, make enough stop checks and stop when told to.
fn check(kind: &Kind) {
    let looped = {
        let mut code = kind.before.clone();
        let start = code.len() as u64;
        code.push(0x5b);
        code.extend(&kind.body);
        code.extend(op(&[start], 0x56));
        code
    };
    let unrolled = [&kind.before[..], &kind.body.repeat(UNROLLED / kind.body.len())].concat();
    for (form, code) in [("a loop", looped), ("unrolled", unrolled)] {
        let (times, gas) = asked(&code, usize::MAX);
        let gas = gas.unwrap_or_else(|error| panic!("{}, {form}: {error}", kind.name));
        // Memory is paid for at once.
        let memory = 3 * (MIB / 32) + (MIB / 32).pow(2) / 512;
        let least = gas.saturating_sub(memory + 2 * kind.step) / (WORK + kind.step);
        assert!(times as u64 >= least, "{}, {form}: {times} < {least}", kind.name);
        if times == 0 {
            assert!(gas <= WORK && form == "unrolled", "{}, {form}: {gas} gas", kind.name);
            continue;
        }
        // It ends at the check that stops it.
        for last in [1, times.div_ceil(2), times] {
            let (at, ended) = asked(&code, last);
            assert!(matches!(ended, Err(CallError::TimedOut(_))), "{}, {form}", kind.name);
            assert_eq!(at, last, "{}, {form}", kind.name);
        }
    }
}

#[test]
fn long_instructions_are_asked_whether_to_stop() {
    instructions().iter().for_each(check);
}

#[test]
fn long_precompiled_contracts_are_asked_whether_to_stop() {
    precompiles().iter().for_each(check);
}

#[test]
fn tracers_are_asked_whether_to_stop() {
    // 10,000 instructions of 3 and 2 gas without a jump.
    let lab = Lab::new(Phase::Etna, &[&[0x5f][..], &[0x80, 0x50].repeat(5_000)].concat());
    let request = CallRequest { to: Some(CODE), ..CallRequest::default() };
    let (state, block) = (StateOverrides::default(), BlockOverrides::default());
    let traced = |tracer: Box<dyn Tracer>, last: usize| {
        let mut out = BufferOutput::new(1 << 30);
        counted(last, |limits| {
            lab.with_env(|env| trace_call(env, &request, &state, &block, limits, tracer, &mut out))
        })
    };
    for enable_memory in [false, true] {
        let config = StructLogConfig { enable_memory, ..StructLogConfig::default() };
        let new = || Box::new(StructLogger::new(config));
        let (times, ended) = traced(new(), usize::MAX);
        assert!(ended.is_ok_and(|end| end.error.is_none()));
        assert!(times >= 10, "{times} questions in 10,000 steps");
        for last in [1, times] {
            let (at, ended) = traced(new(), last);
            assert!(matches!(ended, Err(TraceError::Stopped(Stop::TimedOut))), "{ended:?}");
            assert_eq!(at, last);
        }
    }
}
