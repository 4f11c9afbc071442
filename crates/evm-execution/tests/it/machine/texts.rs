//! Error texts of code.

use alloy_primitives::{Address, U256};
use esker_evm_execution::call::{
    BlockOverrides, CallLimits, CallRequest, StateOverrides, call, revert_reason,
};
use esker_evm_execution::executor::Bounds;
use esker_evm_execution::genesis::GenesisAccount;
use esker_evm_execution::rules::Phase;
use esker_primitives::hash::sha256;

use proptest::prelude::*;

use super::{CODE, Lab, push, returning, until};

fn text(code: &[u8]) -> String {
    Lab::new(Phase::Etna, code).call(&[]).message()
}

/// Text of a contract creation.
fn creation(input: Vec<u8>, gas: u64) -> String {
    let request = CallRequest { gas: Some(gas), input: input.into(), ..Default::default() };
    let lab = Lab::new(Phase::Etna, &[]);
    lab.call_with(&request, &BlockOverrides::default(), &CallLimits::default()).message()
}

#[test]
fn machine_errors() {
    let far = [vec![0x60, 1], push(U256::MAX), vec![0x52]].concat();
    for (code, want) in [
        (&[0xfe][..], "invalid opcode: INVALID"),
        (&[0xef], "invalid opcode: opcode 0xef not defined"),
        (&[0x0c], "invalid opcode: opcode 0xc not defined"),
        (&[0x60, 9, 0x56], "invalid jump destination"),
        (&[0x01], "stack underflow (0 <=> 2)"),
        (&[0x60, 1, 0x82], "stack underflow (1 <=> 3)"),
        (&[0x60, 1, 0x91], "stack underflow (1 <=> 3)"),
        (&[0x60, 1, 0x60, 0, 0x60, 0, 0x3e], "return data out of bounds"),
        (&far, "gas uint64 overflow"),
        (&[0x5b, 0x60, 0, 0x56], "out of gas"),
        (&[0x5b, 0x58, 0x60, 0, 0x56], "stack limit reached 1024 (1023)"),
        (&[0x60, 0, 0x60, 0, 0xfd], "execution reverted"),
        (&[0x00], ""),
    ] {
        assert_eq!(text(code), want, "{code:x?}");
    }
}

#[test]
fn writing_in_a_static_call() {
    let writer = Address::repeat_byte(0x3e);
    for code in [
        vec![0x60, 1, 0x60, 1, 0x55],
        [push(super::odd(1)), vec![0x80, 0x55]].concat(),
        vec![0x60, 0, 0x60, 0, 0xa0],
        vec![0x60, 0, 0x60, 0, 0x60, 0, 0xf0],
        vec![0x60, 0, 0xff],
        vec![0x60, 1, 0x60, 1, 0x5d],
    ] {
        // STATICCALL, then the result.
        let mut outer = vec![0x60, 0, 0x60, 0, 0x60, 0, 0x60, 0];
        outer.extend(push(writer.into_word().into()));
        outer.extend([0x61, 0xff, 0xff, 0xfa]);
        let account = |code: Vec<u8>| GenesisAccount { code: code.into(), ..Default::default() };
        let lab = Lab::with(
            until(Phase::Etna),
            [(CODE, account(returning(&outer))), (writer, account(code.clone()))],
        );
        assert_eq!(lab.word(), U256::ZERO, "{code:x?}");
    }
}

#[test]
fn creations() {
    // Returns `length` zero bytes, or one byte 0xef.
    let zeros = |length: u32| [&[0x63][..], &length.to_be_bytes(), &[0x60, 0, 0xf3]].concat();
    assert_eq!(creation(zeros(24_576), 10_000_000), "");
    assert_eq!(creation(zeros(24_577), 10_000_000), "max code size exceeded");
    assert_eq!(creation(zeros(1_000), 60_000), "contract creation code storage out of gas");
    let ef = vec![0x60, 0xef, 0x60, 0, 0x53, 0x60, 1, 0x60, 0, 0xf3];
    assert_eq!(creation(ef, 100_000), "invalid code: must not begin with 0xef");
    assert_eq!(creation(vec![0x5b, 0x60, 0, 0x56], 60_000), "out of gas");
    let lab = Lab::with(
        until(Phase::Etna),
        [(Address::ZERO.create(0), GenesisAccount { nonce: 1, ..Default::default() })],
    );
    let request = CallRequest { gas: Some(100_000), input: vec![0].into(), ..Default::default() };
    let outcome = lab.call_with(&request, &BlockOverrides::default(), &CallLimits::default());
    assert_eq!(outcome.message(), "contract address collision");
    assert_eq!(outcome.gas_used, 100_000);
}

/// Text of a call to a precompiled contract.
fn precompiled(last: u8, input: Vec<u8>, gas: u64) -> String {
    precompiled_with(last, input)(gas)
}

/// Calls a precompiled contract with some gas, and a megabyte of memory.
fn precompiled_with(last: u8, input: Vec<u8>) -> impl Fn(u64) -> String {
    move |gas| {
        let (to, gas, input) = (Some(Address::with_last_byte(last)), Some(gas), input.clone());
        let request = CallRequest { to, gas, input: input.into(), ..Default::default() };
        let bounds = Bounds { memory: Some(1 << 20), ..Bounds::default() };
        let limits = CallLimits { bounds, ..CallLimits::default() };
        let (state, block) = (StateOverrides::default(), BlockOverrides::default());
        let lab = Lab::new(Phase::Etna, &[]);
        lab.with_env(|env| call(env, &request, &state, &block, &limits))
            .map_or_else(|error| error.to_string(), |outcome| outcome.message())
    }
}

#[test]
fn precompiled_contracts() {
    let run = precompiled;
    assert_eq!(run(9, vec![1; 10], 100_000), "invalid input length");
    let mut blake = vec![0; 213];
    blake[212] = 2;
    assert_eq!(run(9, blake, 100_000), "invalid final flag");
    assert_eq!(run(8, vec![0; 100], 200_000), "bad elliptic curve pairing size");
    assert_eq!(run(6, vec![0xff; 128], 100_000), "bn256: coordinate exceeds modulus");
    assert_eq!(run(6, vec![1; 128], 100_000), "bn256: malformed point");
    assert_eq!(run(1, vec![], 22_000), "out of gas");
    assert_eq!(run(10, vec![1; 192], 200_000), "mismatched versioned hash");
    // A commitment that its hash fits, and no proof.
    let opening = |point: U256| {
        let mut hash = sha256(&[0xc0; 48]);
        hash[0] = 1;
        [&hash[..], &point.to_be_bytes::<32>(), &[0; 32], &[0xc0; 48], &[0xc0; 48]].concat()
    };
    let order: U256 =
        "0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001".parse().unwrap();
    let text = "error verifying kzg proof: can't verify opening proof";
    assert_eq!(run(10, opening(order - U256::ONE), 200_000), text);
    let text = "error verifying kzg proof: scalar is not canonical when interpreted as a big integer in big-endian";
    assert_eq!(run(10, opening(order), 200_000), text);
}

#[test]
fn coordinates_of_bn256() {
    let prime: U256 =
        "0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47".parse().unwrap();
    let (equals, exceeds, malformed) = (
        "bn256: coordinate equals modulus",
        "bn256: coordinate exceeds modulus",
        "bn256: malformed point",
    );
    let (zero, one, large) = (U256::ZERO, U256::ONE, prime + U256::ONE);
    for (contract, words, want) in [
        (6, vec![prime], equals),
        (6, vec![zero, prime], equals),
        (6, vec![large, prime], exceeds),
        (6, vec![prime, large], equals),
        (6, vec![zero, zero, zero, prime], equals),
        // The whole first point is read before the second.
        (6, vec![one, one, prime], malformed),
        (6, vec![zero, zero, zero, zero, prime], ""),
        (7, vec![prime], equals),
        (7, vec![U256::MAX, prime, prime], exceeds),
        (7, vec![one, one, prime], malformed),
        (7, vec![zero, zero, prime], ""),
        (8, vec![prime, zero, zero, zero, zero, zero], equals),
        (8, vec![zero, zero, zero, zero, zero, prime], equals),
        (8, vec![zero, zero, large, prime, zero, zero], exceeds),
        (8, vec![zero, zero, one, zero, zero, prime], equals),
        (8, vec![zero, zero, one, zero, zero, zero], malformed),
        (8, vec![one, one, prime, zero, zero, zero], malformed),
        (8, [vec![zero; 6], vec![prime], vec![zero; 5]].concat(), equals),
        (8, vec![], ""),
    ] {
        let input = words.iter().flat_map(U256::to_be_bytes::<32>).collect();
        assert_eq!(precompiled(contract, input, 500_000), want, "{contract} {words:x?}");
    }
    // Missing bytes of an input are zero.
    assert_eq!(precompiled(6, prime.to_be_bytes::<32>()[..31].to_vec(), 500_000), malformed);
    assert_eq!(precompiled(6, vec![0xff; 3], 500_000), exceeds);
}

#[test]
fn lengths_of_modexp() {
    let lengths = |base: U256, exponent: U256, modulus: U256| {
        precompiled_with(
            5,
            [base, exponent, modulus].iter().flat_map(U256::to_be_bytes::<32>).collect(),
        )
    };
    let (zero, one, out_of_gas) = (U256::ZERO, U256::ONE, "out of gas");
    let huge = [
        U256::from(1_u64 << 40),
        U256::from(u64::MAX),
        U256::from(u64::MAX) + U256::ONE,
        U256::from(1) << 61,
        U256::MAX,
    ];
    let limit = "memory limit of 1048576 bytes exceeded";
    for length in huge {
        for (base, exponent, modulus) in [
            (length, zero, zero),
            (zero, zero, length),
            (length, length, length),
            (zero, length, one),
            (one, length, zero),
        ] {
            let run = lengths(base, exponent, modulus);
            let of = format!("{base:#x} {exponent:#x} {modulus:#x}");
            assert_eq!(run(1_000_000), out_of_gas, "{of}");
            // The call also fails without a gas limit if the gas does not fit into 64 bits.
            let is_counted = exponent <= U256::from(1_u64 << 61) && base.max(modulus) <= one;
            let want = if is_counted { limit } else { out_of_gas };
            assert_eq!(run(u64::MAX / 2), want, "{of}");
        }
        // Exponent of an empty base and modulus.
        assert_eq!(lengths(zero, length, zero)(1_000_000), "");
    }
    assert_eq!(lengths(one, one, one)(1_000_000), "");
}

#[test]
fn reasons_of_reverts() {
    let error = |rest: &[u8]| [&[0x08, 0xc3, 0x79, 0xa0], rest].concat();
    let word = |n: u64| U256::from(n).to_be_bytes::<32>();
    let string = |text: &[u8]| {
        let mut data = [word(32), word(text.len() as u64)].concat();
        data.extend_from_slice(text);
        error(&data)
    };
    assert_eq!(revert_reason(&string(b"not today")).as_deref(), Some("not today"));
    assert_eq!(revert_reason(&string(b"")).as_deref(), Some(""));
    assert_eq!(
        revert_reason(&string(b"a\xff\xe2\x82b")).as_deref(),
        Some("a\u{fffd}\u{fffd}\u{fffd}b")
    );
    for bad in [
        error(&[]),
        error(&word(31)),
        error(&[word(32), word(1)].concat()),
        error(&[word(32), U256::MAX.to_be_bytes()].concat()),
        error(&U256::MAX.to_be_bytes::<32>()),
        vec![8, 0xc3, 0x79],
        vec![1, 2, 3, 4, 5],
    ] {
        assert_eq!(revert_reason(&bad), None, "{bad:x?}");
    }
    let panic = |code: U256| {
        revert_reason(&[&[0x4e, 0x48, 0x7b, 0x71][..], &code.to_be_bytes::<32>()].concat())
    };
    assert_eq!(panic(U256::from(0x11)).as_deref(), Some("arithmetic underflow or overflow"));
    assert_eq!(panic(U256::from(0x99)).as_deref(), Some("unknown panic code: 0x99"));
    assert!(panic(U256::MAX).unwrap().starts_with("unknown panic code: 0xffffffff"));
    // A reason follows the text, data without one does not.
    let reverting = |data: &[u8]| {
        let length = u8::try_from(data.len()).unwrap();
        [&[0x60, length, 0x60, 12, 0x60, 0, 0x39, 0x60, length, 0x60, 0, 0xfd], data].concat()
    };
    assert_eq!(text(&reverting(&string(b"no"))), "execution reverted: no");
    assert_eq!(text(&reverting(&[1, 2, 3, 4])), "execution reverted");
}

proptest! {
    /// Anybody can choose the data of a revert and the arguments of the warp precompile.
    #[test]
    fn any_bytes_can_be_read(
        selector in prop_oneof![
            Just([0x08, 0xc3, 0x79, 0xa0]),
            Just([0x4e, 0x48, 0x7b, 0x71]),
            Just([0xee, 0x5b, 0x48, 0xeb]),
            Just([0x6f, 0x82, 0x53, 0x50]),
        ],
        words in proptest::collection::vec((any::<bool>(), 0u64..200, any::<[u8; 32]>()), 0..5),
        tail in proptest::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut data = selector.to_vec();
        for (small, number, word) in words {
            data.extend(if small { U256::from(number).to_be_bytes() } else { word });
        }
        data.extend(tail);
        let _reason = revert_reason(&data);
        let request = CallRequest {
            to: Some(esker_evm_execution::executor::WARP),
            gas: Some(1_000_000),
            input: data.into(),
            ..Default::default()
        };
        let lab = Lab::new(Phase::Durango, &[]);
        lab.call_with(&request, &BlockOverrides::default(), &CallLimits::default());
    }
}
