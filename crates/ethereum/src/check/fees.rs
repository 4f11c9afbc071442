//! Gas limit and base fee (EIP-1559).

use alloy_consensus::Header;
use alloy_eips::eip1559::{
    DEFAULT_BASE_FEE_MAX_CHANGE_DENOMINATOR, DEFAULT_ELASTICITY_MULTIPLIER, GAS_LIMIT_BOUND_DIVISOR,
};

use super::error::HeaderError;
use crate::forks::{BlockRule, ChainConfig};

pub use alloy_eips::eip1559::INITIAL_BASE_FEE;

/// The least gas limit.
const MIN_GAS_LIMIT: u64 = 5000;

/// The base fee of the child of a block, wei; `None` before London.
pub fn child_base_fee(config: &ChainConfig, parent: &Header) -> Option<u64> {
    let is_london = |number| config.is_active(BlockRule::London, number);
    if !is_london(parent.number.saturating_add(1)) {
        return None;
    }
    match parent.base_fee_per_gas {
        Some(base_fee) if is_london(parent.number) => Some(next_base_fee(parent, base_fee)),
        _ => Some(INITIAL_BASE_FEE),
    }
}

fn next_base_fee(parent: &Header, base_fee: u64) -> u64 {
    let target = parent.gas_limit / DEFAULT_ELASTICITY_MULTIPLIER;
    if target == 0 || parent.gas_used == target {
        return base_fee;
    }
    let distance = u128::from(parent.gas_used.abs_diff(target));
    let change = u128::from(base_fee) * distance / u128::from(target);
    let change = change / u128::from(DEFAULT_BASE_FEE_MAX_CHANGE_DENOMINATOR);
    let change = u64::try_from(change).unwrap_or(u64::MAX);
    if parent.gas_used > target {
        base_fee.saturating_add(change.max(1))
    } else {
        base_fee.saturating_sub(change)
    }
}

/// The gas limit of a child that does not move: twice the parent's in the first block of London.
pub fn unchanged_gas_limit(config: &ChainConfig, parent: &Header) -> u64 {
    let is_london = |number| config.is_active(BlockRule::London, number);
    if is_london(parent.number.saturating_add(1)) && !is_london(parent.number) {
        return parent.gas_limit.saturating_mul(DEFAULT_ELASTICITY_MULTIPLIER);
    }
    parent.gas_limit
}

/// The gas limit of a child that moves as far as it may from `limit` towards `target`.
pub fn moved_gas_limit(limit: u64, target: u64) -> u64 {
    let most = (limit / GAS_LIMIT_BOUND_DIVISOR).saturating_sub(1);
    target.clamp(limit.saturating_sub(most), limit.saturating_add(most))
}

/// Checks the gas limit and the base fee. If the base fee was set, the gas limit is any.
pub(super) fn check_fees(
    config: &ChainConfig,
    header: &Header,
    parent: &Header,
    set_base_fee: Option<u64>,
) -> Result<(), HeaderError> {
    let follows = child_base_fee(config, parent);
    if let (None, Some(have)) = (follows, header.base_fee_per_gas) {
        return Err(HeaderError::EarlyBaseFee(have));
    }
    let want = follows.map(|follows| set_base_fee.unwrap_or(follows));
    if set_base_fee.is_none() {
        check_gas_limit(unchanged_gas_limit(config, parent), header.gas_limit)?;
    }
    match (want, header.base_fee_per_gas) {
        (Some(_), None) => Err(HeaderError::NoBaseFee),
        (Some(want), Some(have)) if want != have => Err(HeaderError::BaseFee {
            have,
            want,
            parent_base_fee: parent.base_fee_per_gas,
            parent_gas_used: parent.gas_used,
        }),
        _ => Ok(()),
    }
}

fn check_gas_limit(parent: u64, have: u64) -> Result<(), HeaderError> {
    let bound = parent / GAS_LIMIT_BOUND_DIVISOR;
    if parent.abs_diff(have) >= bound {
        // The reference subtracts without a check.
        return Err(HeaderError::GasLimit { have, parent, most: bound.wrapping_sub(1) });
    }
    if have < MIN_GAS_LIMIT {
        return Err(HeaderError::LowGasLimit);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forks::Fork;

    fn london() -> ChainConfig {
        ChainConfig::development(1, Fork::London)
    }

    fn parent(gas_limit: u64, gas_used: u64, base_fee: u64) -> Header {
        Header {
            number: 5,
            gas_limit,
            gas_used,
            base_fee_per_gas: Some(base_fee),
            ..Header::default()
        }
    }

    /// The values of go-ethereum's tests.
    #[test]
    fn base_fees_are_known() {
        for (base_fee, limit, used, expected) in [
            (INITIAL_BASE_FEE, 20_000_000, 10_000_000, INITIAL_BASE_FEE),
            (INITIAL_BASE_FEE, 20_000_000, 9_000_000, 987_500_000),
            (INITIAL_BASE_FEE, 20_000_000, 11_000_000, 1_012_500_000),
            (7, 20_000_000, 20_000_000, 8),
            (7, 20_000_000, 0, 7),
            (0, 20_000_000, 20_000_000, 1),
            (u64::MAX, 20_000_000, 20_000_000, u64::MAX),
            (5, 1, 1, 5),
        ] {
            let found = child_base_fee(&london(), &parent(limit, used, base_fee));
            assert_eq!(found, Some(expected), "{base_fee} {used}");
        }
    }

    #[test]
    fn the_first_block_of_london_doubles_the_gas_limit() {
        let config = ChainConfig::development(1, Fork::Berlin).with_block(BlockRule::London, 6);
        let before = Header { base_fee_per_gas: None, ..parent(10_000_000, 0, 0) };
        assert_eq!(child_base_fee(&config, &before), Some(INITIAL_BASE_FEE));
        let header = |gas_limit| Header {
            number: 6,
            gas_limit,
            base_fee_per_gas: Some(INITIAL_BASE_FEE),
            ..Header::default()
        };
        assert_eq!(check_fees(&config, &header(20_000_000), &before, None), Ok(()));
        let error = check_fees(&config, &header(10_000_000), &before, None).unwrap_err();
        let text = "invalid gas limit: have 10000000, want 20000000 +-= 19530";
        assert_eq!(error.to_string(), text);
        assert_eq!(child_base_fee(&config, &Header { number: 4, ..before.clone() }), None);
        assert_eq!(unchanged_gas_limit(&config, &before), 20_000_000);
    }

    #[test]
    fn gas_limits_move_slowly() {
        for (target, expected) in [(0, 999_025), (1_000_010, 1_000_010), (u64::MAX, 1_000_975)] {
            let moved = moved_gas_limit(1_000_000, target);
            assert_eq!((moved, check_gas_limit(1_000_000, moved)), (expected, Ok(())));
        }
        assert_eq!(moved_gas_limit(5, 9), 5);
        for (have, expected) in [
            (1_000_000, Ok(())),
            (1_000_975, Ok(())),
            (999_025, Ok(())),
            (1_000_976, Err("invalid gas limit: have 1000976, want 1000000 +-= 975")),
            (999_024, Err("invalid gas limit: have 999024, want 1000000 +-= 975")),
        ] {
            let found = check_gas_limit(1_000_000, have).map_err(|error| error.to_string());
            assert_eq!(found, expected.map_err(str::to_owned));
        }
        assert_eq!(
            check_gas_limit(5003, 4999),
            Err(HeaderError::GasLimit { have: 4999, parent: 5003, most: 3 })
        );
        assert_eq!(check_gas_limit(5002, 4999), Err(HeaderError::LowGasLimit));
        assert!(
            check_gas_limit(1000, 1000)
                .unwrap_err()
                .to_string()
                .ends_with("+-= 18446744073709551615")
        );
    }
}
