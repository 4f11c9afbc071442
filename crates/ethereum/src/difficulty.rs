//! The difficulty of a block with proof of work (EIP-2, EIP-100, EIP-649, EIP-1234, EIP-2384, EIP-3554, EIP-4345,
//! EIP-5133).

use alloy_consensus::Header;
use alloy_primitives::U256;

use crate::forks::{BlockRule, ChainConfig};

/// The least difficulty.
const MINIMUM: U256 = U256::from_limbs([131_072, 0, 0, 0]);

/// A parent's difficulty divided by this is one step.
const STEP_DIVISOR: U256 = U256::from_limbs([2048, 0, 0, 0]);

/// Blocks after which the bomb doubles.
const BOMB_PERIOD: u64 = 100_000;

/// Most steps down.
const MOST_STEPS_DOWN: i64 = 99;

/// Blocks by which each fork delays the bomb, newest first.
const DELAYS: [(BlockRule, u64); 6] = [
    (BlockRule::GrayGlacier, 11_400_000),
    (BlockRule::ArrowGlacier, 10_700_000),
    (BlockRule::London, 9_700_000),
    (BlockRule::MuirGlacier, 9_000_000),
    (BlockRule::Constantinople, 5_000_000),
    (BlockRule::Byzantium, 3_000_000),
];

/// The difficulty of the child at `time`, Unix s.
pub fn child_difficulty(config: &ChainConfig, time: u64, parent: &Header) -> U256 {
    let number = parent.number.saturating_add(1);
    let seconds = time.saturating_sub(parent.timestamp);
    if let Some((_, delay)) = DELAYS.iter().find(|(rule, _)| config.is_active(*rule, number)) {
        let upwards = if parent.ommers_hash_is_empty() { 1 } else { 2 };
        let adjusted = adjust(parent.difficulty, steps(upwards, seconds / 9));
        return adjusted.saturating_add(bomb(number.saturating_sub(*delay)));
    }
    if config.is_active(BlockRule::Homestead, number) {
        let adjusted = adjust(parent.difficulty, steps(1, seconds / 10));
        return adjusted.saturating_add(bomb(number));
    }
    let adjusted = adjust(parent.difficulty, if seconds < 13 { 1 } else { -1 });
    adjusted.saturating_add(bomb(number))
}

/// Steps up, at most 99 down.
fn steps(upwards: i64, periods: u64) -> i64 {
    let periods = i64::try_from(periods).unwrap_or(i64::MAX);
    upwards.saturating_sub(periods).max(-MOST_STEPS_DOWN)
}

/// A difficulty that many steps up or down.
fn adjust(difficulty: U256, steps: i64) -> U256 {
    let change = (difficulty / STEP_DIVISOR).saturating_mul(U256::from(steps.unsigned_abs()));
    let adjusted = if steps < 0 {
        difficulty.saturating_sub(change)
    } else {
        difficulty.saturating_add(change)
    };
    adjusted.max(MINIMUM)
}

/// What the bomb adds at a height, from which its delay has been taken.
fn bomb(number: u64) -> U256 {
    let Some(exponent) = (number / BOMB_PERIOD).checked_sub(2) else { return U256::ZERO };
    match usize::try_from(exponent) {
        Ok(exponent) if exponent < U256::BITS => U256::ONE << exponent,
        _ => U256::MAX,
    }
}

#[cfg(test)]
mod tests {
    use alloy_consensus::constants::EMPTY_OMMER_ROOT_HASH;
    use alloy_primitives::B256;

    use super::*;
    use crate::forks::Fork;

    /// Fork, height, seconds after the parent, whether the parent has ommers, its difficulty, the expected one: from
    /// the public difficulty tests, and the first block of the main network.
    const CASES: &[(Fork, u64, u64, bool, u64, u64)] = &[
        (Fork::Frontier, 1, 1_438_269_988, false, 17_179_869_184, 17_171_480_576),
        (Fork::Frontier, 0x1b_7740, 20, false, 0x1e80_1466_a149_3dd5, 0x1e7c_4464_1476_14ae),
        (Fork::Frontier, 0x1c_fde0, 20, false, 0x0cc2_f55b_c9a5_4a93, 0x0cc1_5cfd_1e2e_15ea),
        (Fork::Homestead, 0x1b_7740, 20, false, 0x5f72_84bf_014f_e59d, 0x5f66_966e_6970_bba1),
        (Fork::Homestead, 0x1c_fde0, 20, false, 0x0f57_dd54_9fb8_0c4f, 0x0f55_f258_f526_154e),
        (Fork::Byzantium, 0x1b_7740, 20, false, 0x7609_543c_2efa_663d, 0x75fa_9311_a774_86f1),
        (Fork::Byzantium, 0x1c_fde0, 20, false, 0x00c1_41bd_1bb2_08da, 0x00c1_2994_e40e_9299),
        (Fork::Constantinople, 0x1b_7740, 20, false, 0x388e_d605_dbb4_2b02, 0x3887_c42b_1af8_b47d),
        (Fork::Constantinople, 0x1c_fde0, 20, false, 0x25a6_7212_4e77_3b1e, 0x25a1_bd44_0c2d_6c37),
        (Fork::MuirGlacier, 0x98_1bb3, 25, false, 0x16eb_ace3_9287_5fbf, 0x16e8_cf6d_f615_0f54),
        (Fork::MuirGlacier, 0x98_2442, 41, true, 0x7847_3856_17f0_8e18, 0x7829_2688_026a_9276),
        (Fork::MuirGlacier, 0x98_270a, 44, false, 0x429d_0df9_de82_2d08, 0x4284_1314_a0ce_bcb9),
        (Fork::ArrowGlacier, 0xd2_28c8, 1, false, 0x0025_09b4_7178_1d98, 0x0025_0e55_b806_4c9b),
        (Fork::ArrowGlacier, 0xd2_28c8, 1, true, 0x0025_09b4_7178_1d98, 0x0025_12f6_ee94_7b9e),
        (Fork::ArrowGlacier, 0xd2_28c8, 19, false, 0x0025_09b4_7178_1d98, 0x0025_0513_4ae9_ee95),
        (Fork::ArrowGlacier, 0xd2_28c8, 19, true, 0x0025_09b4_7178_1d98, 0x0025_09b4_8178_1d98),
    ];

    fn child(fork: Fork, number: u64, seconds: u64, has_ommers: bool, difficulty: U256) -> U256 {
        let parent = Header {
            number: number - 1,
            timestamp: 1000,
            difficulty,
            ommers_hash: if has_ommers { B256::repeat_byte(1) } else { EMPTY_OMMER_ROOT_HASH },
            ..Header::default()
        };
        child_difficulty(&ChainConfig::development(1, fork), 1000 + seconds, &parent)
    }

    #[test]
    fn difficulties_are_those_of_the_public_tests() {
        for (fork, number, seconds, has_ommers, parent, expected) in CASES.iter().copied() {
            let found = child(fork, number, seconds, has_ommers, U256::from(parent));
            assert_eq!(found, U256::from(expected), "{fork:?} {number} {seconds}");
        }
    }

    #[test]
    fn forks_delay_the_bomb() {
        let at = |fork, number| child(fork, number, 10, false, MINIMUM) - MINIMUM;
        for (fork, delay) in [
            (Fork::Byzantium, 3_000_000),
            (Fork::Petersburg, 5_000_000),
            (Fork::Istanbul, 5_000_000),
            (Fork::MuirGlacier, 9_000_000),
            (Fork::Berlin, 9_000_000),
            (Fork::London, 9_700_000),
            (Fork::ArrowGlacier, 10_700_000),
            (Fork::GrayGlacier, 11_400_000),
        ] {
            assert_eq!(at(fork, delay + 199_999), U256::ZERO, "{fork:?}");
            assert_eq!(at(fork, delay + 200_000), U256::ONE, "{fork:?}");
            assert_eq!(at(fork, delay + 300_000), U256::from(2), "{fork:?}");
        }
        assert_eq!(at(Fork::Homestead, u64::MAX), U256::MAX - MINIMUM);
    }

    #[test]
    fn the_difficulty_has_a_minimum() {
        for fork in [Fork::Frontier, Fork::Homestead, Fork::London] {
            assert_eq!(child(fork, 1, u64::MAX - 1000, false, U256::ZERO), MINIMUM);
            assert_eq!(child(fork, 1, u64::MAX - 1000, false, MINIMUM), MINIMUM);
        }
    }
}
