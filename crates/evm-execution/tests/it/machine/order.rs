//! The order in which instructions fail: stack, constant gas, memory beyond 64 bits, the rest of the gas, and then
//! the operation.

use alloy_primitives::U256;
use esker_evm_execution::call::{BlockOverrides, CallLimits, CallRequest, StateOverrides, call};
use esker_evm_execution::executor::Bounds;
use esker_evm_execution::rules::Phase;

use super::{CODE, Lab, push};

const PLENTY: u64 = 1_000_000;
const INTRINSIC: u64 = 21_000;
const OVERFLOW: &str = "gas uint64 overflow";
const OUT_OF_GAS: &str = "out of gas";

/// The number of items that each instruction of Cancun takes from the stack.
const INPUTS: [(std::ops::RangeInclusive<u8>, usize); 42] = [
    (0x00..=0x00, 0),
    (0x01..=0x07, 2),
    (0x08..=0x09, 3),
    (0x0a..=0x0b, 2),
    (0x10..=0x14, 2),
    (0x15..=0x15, 1),
    (0x16..=0x18, 2),
    (0x19..=0x19, 1),
    (0x1a..=0x1d, 2),
    (0x20..=0x20, 2),
    (0x30..=0x30, 0),
    (0x31..=0x31, 1),
    (0x32..=0x34, 0),
    (0x35..=0x35, 1),
    (0x36..=0x36, 0),
    (0x37..=0x37, 3),
    (0x38..=0x38, 0),
    (0x39..=0x39, 3),
    (0x3a..=0x3a, 0),
    (0x3b..=0x3b, 1),
    (0x3c..=0x3c, 4),
    (0x3d..=0x3d, 0),
    (0x3e..=0x3e, 3),
    (0x3f..=0x40, 1),
    (0x41..=0x48, 0),
    (0x49..=0x49, 1),
    (0x4a..=0x4a, 0),
    (0x50..=0x51, 1),
    (0x52..=0x53, 2),
    (0x54..=0x54, 1),
    (0x55..=0x55, 2),
    (0x56..=0x56, 1),
    (0x57..=0x57, 2),
    (0x58..=0x5b, 0),
    (0x5c..=0x5c, 1),
    (0x5d..=0x5d, 2),
    (0x5e..=0x5e, 3),
    (0x5f..=0x7f, 0),
    (0xf0..=0xf0, 3),
    (0xf1..=0xf2, 7),
    (0xf3..=0xf3, 2),
    (0xfd..=0xfd, 2),
];

/// As [`INPUTS`], for all instructions.
fn inputs(opcode: u8) -> Option<usize> {
    let listed = INPUTS.iter().find(|(opcodes, _)| opcodes.contains(&opcode));
    listed.map(|(_, inputs)| *inputs).or(match opcode {
        0x80..=0x8f => Some(usize::from(opcode) - 0x7f),
        0x90..=0x9f => Some(usize::from(opcode) - 0x8e),
        0xa0..=0xa4 => Some(usize::from(opcode) - 0xa0 + 2),
        0xf4 | 0xfa => Some(6),
        0xf5 => Some(4),
        0xff => Some(1),
        _ => None,
    })
}

/// The error text of code with this gas.
fn end_in(phase: Phase, code: &[u8], gas: u64) -> String {
    let (to, gas) = (Some(CODE), Some(INTRINSIC + gas));
    let request = CallRequest { to, gas, ..Default::default() };
    let limits = CallLimits::default();
    Lab::new(phase, code).call_with(&request, &BlockOverrides::default(), &limits).message()
}

fn end(code: &[u8], gas: u64) -> String {
    end_in(Phase::Etna, code, gas)
}

/// Code that runs an instruction on these items, the first on top.
fn on(opcode: u8, items: &[U256]) -> Vec<u8> {
    let mut code: Vec<u8> = items.iter().rev().flat_map(|item| push(*item)).collect();
    code.push(opcode);
    code
}

#[test]
fn the_stack_comes_first() {
    for opcode in 0..=u8::MAX {
        let Some(needed) = inputs(opcode) else { continue };
        for have in 0..needed {
            let want = format!("stack underflow ({have} <=> {needed})");
            // Zeros; values for which no memory and no gas suffices; and less than the constant gas.
            let zeros = on(opcode, &vec![U256::ZERO; have]);
            let large = on(opcode, &vec![U256::MAX; have]);
            for (code, gas) in [(&zeros, PLENTY), (&large, PLENTY), (&zeros, 3 * have as u64)] {
                assert_eq!(end(code, gas), want, "{opcode:#x} with {gas} gas");
            }
        }
    }
    // PUSH1 0x10, GASLIMIT, DELEGATECALL.
    assert_eq!(end(&[0x60, 0x10, 0x45, 0xf4], PLENTY), "stack underflow (2 <=> 6)");
    // A full stack: PUSH0 1,024 times, at 2 gas.
    let full = vec![0x5f; 1024];
    for opcode in [0x5f, 0x30, 0x58, 0x80, 0x8f] {
        let code = [full.as_slice(), &[opcode]].concat();
        let want = format!("stack limit reached 1024 ({})", 1023);
        assert_eq!(end(&code, PLENTY), want, "{opcode:#x}");
        assert_eq!(end(&code, 2048), want, "{opcode:#x} without gas");
    }
}

#[test]
fn what_is_no_instruction_needs_no_gas() {
    for opcode in (0..=u8::MAX).filter(|opcode| inputs(*opcode).is_none()) {
        let want = match opcode {
            0xfe => "invalid opcode: INVALID".into(),
            _ => format!("invalid opcode: opcode {opcode:#x} not defined"),
        };
        for gas in [0, PLENTY] {
            assert_eq!(end(&[opcode], gas), want);
        }
    }
    for (phase, opcodes) in
        [(Phase::Cortina, &[0x5f][..]), (Phase::Durango, &[0x49, 0x4a, 0x5c, 0x5d, 0x5e])]
    {
        for opcode in opcodes {
            for gas in [0, PLENTY] {
                let text = end_in(phase, &[*opcode], gas);
                assert!(text.starts_with("invalid opcode: "), "{opcode:#x} with {gas} gas: {text}");
            }
        }
    }
}

/// An instruction that uses memory.
struct MemoryUse {
    opcode: u8,
    items: usize,
    /// Position of the offset.
    offset: usize,
    /// Position of the length, or the length itself.
    length: Result<usize, u64>,
    constant_gas: u64,
}

const fn uses(
    opcode: u8,
    items: usize,
    offset: usize,
    length: Result<usize, u64>,
    constant_gas: u64,
) -> MemoryUse {
    MemoryUse { opcode, items, offset, length, constant_gas }
}

/// Every instruction that uses memory. Instructions with two ranges occur twice.
const MEMORY_USES: [MemoryUse; 27] = [
    uses(0x20, 2, 0, Ok(1), 30),
    uses(0x37, 3, 0, Ok(2), 3),
    uses(0x39, 3, 0, Ok(2), 3),
    uses(0x3c, 4, 1, Ok(3), 100),
    uses(0x3e, 3, 0, Ok(2), 3),
    uses(0x51, 1, 0, Err(32), 3),
    uses(0x52, 2, 0, Err(32), 3),
    uses(0x53, 2, 0, Err(1), 3),
    uses(0x5e, 3, 0, Ok(2), 3),
    uses(0x5e, 3, 1, Ok(2), 3),
    uses(0xa0, 2, 0, Ok(1), 0),
    uses(0xa1, 3, 0, Ok(1), 0),
    uses(0xa2, 4, 0, Ok(1), 0),
    uses(0xa3, 5, 0, Ok(1), 0),
    uses(0xa4, 6, 0, Ok(1), 0),
    uses(0xf0, 3, 1, Ok(2), 32_000),
    uses(0xf1, 7, 3, Ok(4), 100),
    uses(0xf1, 7, 5, Ok(6), 100),
    uses(0xf2, 7, 3, Ok(4), 100),
    uses(0xf2, 7, 5, Ok(6), 100),
    uses(0xf3, 2, 0, Ok(1), 0),
    uses(0xf4, 6, 2, Ok(3), 100),
    uses(0xf4, 6, 4, Ok(5), 100),
    uses(0xf5, 4, 1, Ok(2), 32_000),
    uses(0xfa, 6, 2, Ok(3), 100),
    uses(0xfa, 6, 4, Ok(5), 100),
    uses(0xfd, 2, 0, Ok(1), 0),
];

impl MemoryUse {
    fn code(&self, offset: U256, length: U256) -> Vec<u8> {
        let mut items = vec![U256::ZERO; self.items];
        items[self.offset] = offset;
        if let Ok(place) = self.length {
            items[place] = length;
        }
        on(self.opcode, &items)
    }

    /// Gas of the items, and the constant gas.
    fn least_gas(&self) -> u64 {
        3 * self.items as u64 + self.constant_gas
    }
}

#[test]
fn memory_that_is_not_counted_comes_before_the_gas_for_it() {
    let max = U256::from(u64::MAX);
    for used in &MEMORY_USES {
        let opcode = used.opcode;
        let check = |offset: U256, length: U256, want: &str| {
            let text = end(&used.code(offset, length), PLENTY);
            assert_eq!(text, want, "{opcode:#x} at {offset:#x}, {length:#x} bytes");
        };
        let length = U256::from(used.length.map_or_else(|fixed| fixed, |_| 32));
        // The last end of memory that fits in words of 32 bytes, and the one after it.
        let last = max - U256::from(31) - length;
        check(last, length, OUT_OF_GAS);
        check(last + U256::ONE, length, OVERFLOW);
        for offset in [max, max + U256::ONE, U256::MAX] {
            check(offset, length, OVERFLOW);
        }
        for offset in [U256::from(1) << 33, U256::from(1) << 37, U256::from(1) << 60] {
            check(offset, length, OUT_OF_GAS);
        }
        if used.length.is_ok() {
            for length in [max + U256::ONE, U256::MAX] {
                check(U256::ZERO, length, OVERFLOW);
            }
            check(U256::ONE, max, OVERFLOW);
            check(U256::ZERO, U256::from(1) << 40, OUT_OF_GAS);
            // The gas does not pay for the length alone.
            check(max, U256::from(1) << 40, OVERFLOW);
        }
        // The constant gas is checked before.
        let least = used.least_gas();
        if used.constant_gas > 0 {
            let text = end(&used.code(U256::MAX, length), least - 1);
            assert_eq!(text, OUT_OF_GAS, "{opcode:#x} without its constant gas");
        }
        assert_eq!(end(&used.code(U256::MAX, length), least), OVERFLOW, "{opcode:#x}");
        assert_eq!(end(&used.code(U256::ZERO, length), least), OUT_OF_GAS, "{opcode:#x}");
    }
}

#[test]
fn offsets_of_empty_ranges_are_ignored() {
    for used in MEMORY_USES.iter().filter(|used| used.length.is_ok()) {
        let text = end(&used.code(U256::MAX, U256::ZERO), PLENTY);
        let want = if used.opcode == 0xfd { "execution reverted" } else { "" };
        assert_eq!(text, want, "{:#x}", used.opcode);
    }
}

#[test]
fn gas_beside_the_constant_part_is_no_fault_of_the_stack() {
    let far = U256::from(0xfa_u64) << 64;
    for (opcode, items, gas) in [
        // An exponent of 32 bytes; cold accounts and slots; too little gas for a write.
        (0x0a, vec![U256::from(2), U256::MAX], 10),
        (0x31, vec![far], 100),
        (0x3b, vec![far], 100),
        (0x3c, vec![far, U256::ZERO, U256::ZERO, U256::ZERO], 100),
        (0x3f, vec![far], 100),
        (0x54, vec![far], 100),
        (0x55, vec![far, U256::ONE], 2_300),
        (0x55, vec![far, U256::ONE], 10_000),
        (0xa4, vec![U256::ZERO; 6], 1_874),
        (0xf1, [vec![U256::ZERO, far], vec![U256::ZERO; 5]].concat(), 100),
        (0xf2, [vec![U256::ZERO, far], vec![U256::ZERO; 5]].concat(), 100),
        (0xf4, [vec![U256::ZERO, far], vec![U256::ZERO; 4]].concat(), 100),
        (0xfa, [vec![U256::ZERO, far], vec![U256::ZERO; 4]].concat(), 100),
        (0xff, vec![far], 5_000),
    ] {
        let pushed = 3 * items.len() as u64;
        assert_eq!(end(&on(opcode, &items), pushed + gas), OUT_OF_GAS, "{opcode:#x}");
    }
    // Init code that is too long is a lack of gas.
    for (opcode, items) in [(0xf0, 3), (0xf5, 4)] {
        let mut items = vec![U256::ZERO; items];
        items[2] = U256::from(49_153);
        assert_eq!(end(&on(opcode, &items), PLENTY), OUT_OF_GAS, "{opcode:#x}");
    }
}

#[test]
fn gas_comes_before_returned_data() {
    let copy = |offset: U256, length: U256| on(0x3e, &[U256::ZERO, offset, length]);
    let outside = "return data out of bounds";
    for (offset, length) in
        [(U256::ZERO, U256::ONE), (U256::ONE, U256::ZERO), (U256::MAX, U256::ZERO)]
    {
        assert_eq!(end(&copy(offset, length), PLENTY), outside);
    }
    // Three items, the constant gas, a word of memory, a word copied.
    let word = copy(U256::MAX, U256::from(32));
    assert_eq!(end(&word, 9 + 3 + 5), OUT_OF_GAS);
    assert_eq!(end(&word, 9 + 3 + 6), outside);
    assert_eq!(end(&copy(U256::ZERO, U256::from(1) << 40), PLENTY), OUT_OF_GAS);
}

#[test]
fn out_of_gas_comes_before_the_memory_limit() {
    let bounds = Bounds { memory: Some(1 << 16), ..Bounds::default() };
    let run = |code: &[u8], gas: u64| {
        let request = CallRequest { to: Some(CODE), gas: Some(gas), ..Default::default() };
        let limits = CallLimits { bounds, ..Default::default() };
        let (state, block) = (StateOverrides::default(), BlockOverrides::default());
        let lab = Lab::new(Phase::Etna, code);
        lab.with_env(|env| call(env, &request, &state, &block, &limits))
            .map_or_else(|error| error.to_string(), |outcome| outcome.message())
    };
    let limit = "memory limit of 65536 bytes exceeded";
    for used in &MEMORY_USES {
        let length = U256::from(used.length.map_or_else(|fixed| fixed, |_| 32));
        let (opcode, code) = (used.opcode, used.code(U256::from(1 << 20), length));
        // Some 2 million gas for a megabyte.
        assert_eq!(run(&code, 1_000_000), OUT_OF_GAS, "{opcode:#x}");
        let want = if opcode == 0x3e { "return data out of bounds" } else { limit };
        assert_eq!(run(&code, 10_000_000), want, "{opcode:#x}");
        let beyond = used.code(U256::from(1_u64 << 38), length);
        assert_eq!(run(&beyond, u64::MAX / 2), OUT_OF_GAS, "{opcode:#x}: 32 bits of words");
        assert_eq!(run(&used.code(U256::MAX, length), u64::MAX / 2), OVERFLOW, "{opcode:#x}");
    }
}
