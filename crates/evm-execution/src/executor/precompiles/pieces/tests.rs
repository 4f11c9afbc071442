//! Each result is revm's.

use std::cell::Cell;

use alloy_primitives::U256;
use proptest::collection::vec;
use proptest::prelude::*;
use revm::precompile::Precompiles;
use revm::primitives::Address;

use super::*;

/// Gas that pays for everything here.
const GAS: u64 = 1 << 40;

/// A call in a revision whose contracts are `contracts`.
fn call<'i>(
    contracts: &'static Precompiles,
    revision: Revision,
    number: u8,
    input: &'i [u8],
) -> LongCallInput<'i> {
    let precompile = contracts.get(&Address::with_last_byte(number)).unwrap();
    LongCallInput { precompile, revision, input, gas_limit: GAS, reservoir: 0 }
}

/// Runs a call in pieces and at once. Returns the number of stop checks; `None` if the call is not long.
fn questions(number: u8, input: &[u8]) -> Option<usize> {
    asked(&call(Precompiles::cancun(), Revision::Cancun, number, input))
}

fn asked(call: &LongCallInput<'_>) -> Option<usize> {
    let &LongCallInput { precompile, input, .. } = call;
    let asked = Cell::new(0_usize);
    let stop = || {
        asked.set(asked.get() + 1);
        None
    };
    let ran = run(call, &stop)?;
    let whole = precompile.execute(input, GAS, 0).unwrap();
    assert_eq!(ran, Ok(whole.clone()), "{:?} of {}", precompile.id(), hex::encode(input));
    if whole.status.is_success() {
        // The call ends at each stop check.
        for last in [1, asked.get().div_ceil(2), asked.get()] {
            let left = Cell::new(last);
            let stop = || {
                left.set(left.get() - 1);
                (left.get() == 0).then_some(Stop::TimedOut)
            };
            assert_eq!(run(call, &stop), Some(Err(Stop::TimedOut)));
            // Without enough gas the error comes from revm.
            let poor = LongCallInput { gas_limit: whole.gas_used - 1, ..*call };
            assert_eq!(run(&poor, &stop), None);
        }
    }
    Some(asked.get())
}

fn blake2f_input(rounds: u32, rest: &[u8]) -> Vec<u8> {
    [&rounds.to_be_bytes()[..], rest].concat()
}

#[test]
fn blake2f_asks_between_rounds() {
    let rest = |is_last: u8| {
        let mut rest: Vec<u8> = (0..208_u8).map(|at| at.wrapping_mul(37)).collect();
        rest.push(is_last);
        rest
    };
    for is_last in [0, 1] {
        for (rounds, asked) in [
            (0, None),
            (blake2f::ROUNDS - 1, None),
            (blake2f::ROUNDS, Some(1)),
            (blake2f::ROUNDS + 1, Some(2)),
            (blake2f::ROUNDS * 3 + 7, Some(4)),
        ] {
            assert_eq!(questions(9, &blake2f_input(rounds, &rest(is_last))), asked, "{rounds}");
        }
    }
    assert_eq!(questions(9, &blake2f_input(u32::MAX, &rest(2))), None);
    assert_eq!(questions(9, &blake2f_input(u32::MAX, &rest(0)[1..])), None);
}

fn modexp_input(base: &[u8], exponent: &[u8], modulus: &[u8]) -> Vec<u8> {
    let length = |number: &[u8]| U256::from(number.len()).to_be_bytes::<32>();
    [&length(base), &length(exponent), &length(modulus), base, exponent, modulus].concat()
}

#[test]
fn modexp_asks_between_products() {
    let ones = |length: usize| vec![0xff; length];
    // About a million products of 32-bit digits between two stop checks.
    let asked = questions(5, &modexp_input(&ones(1_023), &ones(40), &ones(1_024)));
    assert!(asked.is_some_and(|asked| asked > 30), "{asked:?}");
    // One squaring of 8,000 bytes also runs in pieces.
    let asked = questions(5, &modexp_input(&ones(7_999), &[2], &ones(8_000)));
    assert!(asked.is_some_and(|asked| asked > 6), "{asked:?}");
    // Many small products.
    let asked = questions(5, &modexp_input(&[3], &ones(10_000), &ones(16)));
    assert!(asked.is_some_and(|asked| asked > 10), "{asked:?}");
    assert_eq!(questions(5, &modexp_input(&ones(64), &ones(64), &ones(64))), None, "not long");
}

#[test]
fn modexp_has_the_edges_of_revms() {
    let long = vec![0x5a; 1_000];
    let mut even = long.clone();
    even[999] = 0;
    for modulus in [vec![], vec![0; 1_000], vec![0, 1], even.clone(), long.clone(), vec![0x80]] {
        for base in [vec![], vec![0; 1_000], vec![1], even.clone(), long.clone()] {
            for exponent in [vec![], vec![0; 60], vec![0, 0, 3], vec![0x91; 33], vec![0xa5; 7]] {
                questions(5, &modexp_input(&base, &exponent, &modulus));
            }
        }
    }
    // Missing bytes are zero.
    let whole = modexp_input(&long[1..], &[0xff; 80], &long);
    for cut in [96, 500, 1_090, 1_110, 1_130, 1_137, 2_000] {
        assert!(questions(5, &whole[..cut]).is_some(), "{cut}");
    }
    // The lengths exceed any memory.
    assert_eq!(questions(5, &[0xff; 96]), None);
}

/// The generators, and the first one negated: their pairings cancel out.
const PAIR: &str = "000000000000000000000000000000000000000000000000000000000000000100000000000000000000000000000000000000000000000000000000000000021\
98e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c21800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed\
090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa";
const NEGATED_Y: &str = "30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd45";

fn pairs(count: usize) -> Vec<u8> {
    let pair = hex::decode(PAIR).unwrap();
    let mut negated = pair.clone();
    negated[32..64].copy_from_slice(&hex::decode(NEGATED_Y).unwrap());
    (0..count).flat_map(|at| if at % 2 == 0 { pair.clone() } else { negated.clone() }).collect()
}

#[test]
fn pairings_ask_between_pairs() {
    assert_eq!(questions(8, &pairs(pairing_product::PAIRS)), None);
    for count in [5_usize, 6, 8, 9, 12] {
        let asked = count.div_ceil(pairing_product::PAIRS) + 1;
        assert_eq!(questions(8, &pairs(count)), Some(asked), "{count}");
    }
    assert_eq!(questions(8, &pairs(9)[1..]), None, "no whole pairs");
}

#[test]
fn pairings_of_what_is_no_point_fail_as_revms() {
    for pair in [0, 5] {
        for at in 0..6 {
            // Zero, a number above the prime, another point's.
            for byte in [None, Some(0xff), Some(1)] {
                let mut input = pairs(7);
                let start = pair * 192 + at * 32;
                match byte {
                    None => input[start..start + 32].fill(0),
                    Some(byte) => input[start] = byte,
                }
                assert!(questions(8, &input).is_some());
            }
        }
        for part in [0..64, 64..192, 0..192] {
            let mut input = pairs(7);
            input[pair * 192..][part].fill(0);
            assert!(questions(8, &input).is_some(), "the point at infinity");
        }
    }
}

#[test]
fn prices_are_those_of_the_revision() {
    let numbers = modexp_input(&[0xff; 900], &[0xff; 40], &[0xff; 1_000]);
    let pairs = pairs(7);
    for (contracts, revision) in [
        (Precompiles::byzantium(), Revision::Byzantium),
        (Precompiles::istanbul(), Revision::Istanbul),
        (Precompiles::berlin(), Revision::Berlin),
        (Precompiles::osaka(), Revision::Osaka),
    ] {
        assert!(asked(&call(contracts, revision, 5, &numbers)).is_some(), "{revision:?}");
        assert!(asked(&call(contracts, revision, 8, &pairs)).is_some(), "{revision:?}");
    }
    let long = modexp_input(&[0xff; 900], &[0xff; 1_025], &[0xff; 1_000]);
    assert_eq!(asked(&call(Precompiles::osaka(), Revision::Osaka, 5, &long)), None, "refused");
}

/// The generators of BLS12-381, coordinates of 64 bytes.
const BLS_G1: &str = "\
0000000000000000000000000000000017f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb\
0000000000000000000000000000000008b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1";
const BLS_G2: &str = "\
00000000000000000000000000000000024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8\
0000000000000000000000000000000013e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e\
000000000000000000000000000000000ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c923ac9cc3baca289e193548608b82801\
000000000000000000000000000000000606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab3f370d275cec1da1aaa9075ff05f79be";

/// Calls in Prague with `count` items, of which that at `changed` has another byte at `at`.
fn bls(number: u8, item: &[u8], count: usize, changed: Option<(usize, usize)>) -> Option<usize> {
    let mut input = item.repeat(count);
    if let Some((place, at)) = changed {
        input[place * item.len() + at] ^= 1;
    }
    asked(&call(Precompiles::prague(), Revision::Prague, number, &input))
}

#[test]
fn bls_calls_ask_between_points() {
    let (g1, g2) = (hex::decode(BLS_G1).unwrap(), hex::decode(BLS_G2).unwrap());
    let factor = [0x5a; 32];
    for (number, item) in [(0x0c, [&g1[..], &factor].concat()), (0x0e, [&g2[..], &factor].concat())]
    {
        let points = bls_sum::POINTS;
        assert_eq!(bls(number, &item, points, None), None);
        assert_eq!(bls(number, &item, points + 1, None), Some(2));
        for at in [0, 63, 127, item.len() - 1] {
            for place in [0, points] {
                assert!(bls(number, &item, points + 1, Some((place, at))).is_some());
            }
        }
        let zeros = vec![0; item.len()];
        assert_eq!(bls(number, &zeros, points + 1, None), Some(2));
    }
    let pair = [g1, g2].concat();
    let pairs = pairing_product::PAIRS;
    assert_eq!(bls(0x0f, &pair, pairs, None), None);
    assert_eq!(bls(0x0f, &pair, pairs + 1, None), Some(3));
    for at in (0..pair.len()).step_by(31) {
        assert!(bls(0x0f, &pair, pairs + 1, Some((pairs, at))).is_some());
    }
    assert_eq!(bls(0x0f, &[0; 384], pairs + 1, None), Some(3));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn modexp_is_revms(
        base in vec(any::<u8>(), 0..600),
        exponent in vec(any::<u8>(), 0..60),
        modulus in vec(any::<u8>(), 0..600),
    ) {
        questions(5, &modexp_input(&base, &exponent, &modulus));
    }

    #[test]
    fn blake2f_is_revms(rounds in blake2f::ROUNDS..blake2f::ROUNDS * 2, rest in vec(any::<u8>(), 208), is_last in 0..2_u8) {
        let rest = [&rest[..], &[is_last]].concat();
        questions(9, &blake2f_input(rounds, &rest));
    }
}
