//! Three price options.

use alloy_primitives::U256;

/// Settings of the offers. The defaults are the reference's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriceOptionsConfig {
    /// The slow offer's tip, percent of the normal one.
    pub slow_percent: u64,
    /// The fast offer's tip, percent of the suggested one.
    pub fast_percent: u64,
    /// Highest tip of the slow and the normal offer, wei.
    pub max_tip: U256,
}

impl Default for PriceOptionsConfig {
    fn default() -> Self {
        let max_tip = U256::from(20_000_000_000_u64);
        Self { slow_percent: 95, fast_percent: 105, max_tip }
    }
}

/// One offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriceOption {
    /// Most wei a gas above the base fee.
    pub tip: U256,
    /// Most wei a gas.
    pub fee_cap: U256,
}

/// Three price options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriceOptions {
    /// The slow offer.
    pub slow: PriceOption,
    /// The normal offer.
    pub normal: PriceOption,
    /// The fast offer.
    pub fast: PriceOption,
}

/// Offers around a suggested tip. Each of them leaves room for the base fee (wei) to double.
pub fn price_options(base_fee: U256, tip: U256, config: &PriceOptionsConfig) -> PriceOptions {
    let percent =
        |value: U256, percent: u64| value.saturating_mul(U256::from(percent)) / U256::from(100);
    let option = |tip: U256| {
        let fee_cap = base_fee.saturating_mul(U256::from(2)).saturating_add(tip);
        PriceOption { tip, fee_cap }
    };
    let normal = tip.min(config.max_tip);
    let slow = percent(normal, config.slow_percent).max(U256::from(1));
    // The fast tip follows the suggested tip and is not capped.
    let fast = percent(tip, config.fast_percent);
    PriceOptions { slow: option(slow), normal: option(normal), fast: option(fast) }
}
