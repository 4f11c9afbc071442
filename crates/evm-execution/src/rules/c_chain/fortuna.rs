//! Fortuna: gas limit and price follow a target that blocks vote on (ACP-176;
//! docs/protocol/c-chain-fees.md, "Fortuna").

use alloy_primitives::U256;

use super::etna;
use super::phase::{Phase, PhaseRules};

pub(super) const RULES: PhaseRules = PhaseRules {
    phase: Phase::Fortuna,
    gas_limit: 10_000_000,
    min_base_fee: 1,
    atomic_gas_limit: None,
    ..etna::RULES
};

/// Bytes of the gas state at the beginning of a header's extra data.
pub const STATE_BYTES: usize = 24;

/// Minimum target, gas a second.
pub const MIN_TARGET_PER_S: u64 = 1_000_000;

/// Denominator of the exponent of the target.
const TARGET_CONVERSION: u64 = 1024 * MAX_TARGET_EXCESS_DIFF;

/// Greatest change of the target excess by one block.
pub const MAX_TARGET_EXCESS_DIFF: u64 = 1 << 15;

/// Greatest target excess whose target fits into a u64.
const MAX_TARGET_EXCESS: u64 = 1_024_950_627;

/// Growth of the capacity each second, in targets.
const TARGET_TO_MAX: u64 = 2;

/// Seconds until an empty capacity is full.
const SECONDS_TO_FILL: u64 = 5;

/// Denominator of the exponent of the price, in targets: the price doubles in a minute of full blocks.
const TARGET_TO_PRICE: u64 = 87;

/// Minimum price, wei a gas.
const MIN_PRICE: u64 = 1;

/// Gas state of a block: the gas that may be used now, and the gas used over the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GasState {
    /// Gas that may be used now.
    pub capacity: u64,
    /// Gas used over the target.
    pub excess: u64,
    /// The exponent of the target.
    pub target_excess: u64,
}

impl std::fmt::Display for GasState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{{{{{} {}}} {}}}", self.capacity, self.excess, self.target_excess)
    }
}

/// The used gas exceeds the capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("insufficient capacity: gas used ({used}) exceeds capacity ({capacity})")]
pub struct CapacityError {
    /// Gas used.
    pub used: u64,
    /// Available gas.
    pub capacity: u64,
}

impl GasState {
    /// Reads the state at the beginning of extra data.
    pub fn parse(extra: &[u8]) -> Option<Self> {
        let (bytes, _) = extra.split_first_chunk::<STATE_BYTES>()?;
        let word = |i: usize| {
            u64::from_be_bytes(bytes[i * 8..][..8].try_into().expect("eight of 24 bytes"))
        };
        Some(Self { capacity: word(0), excess: word(1), target_excess: word(2) })
    }

    /// The encoding of the state in a header.
    pub fn to_bytes(self) -> [u8; STATE_BYTES] {
        let mut bytes = [0; STATE_BYTES];
        for (chunk, word) in
            bytes.chunks_exact_mut(8).zip([self.capacity, self.excess, self.target_excess])
        {
            chunk.copy_from_slice(&word.to_be_bytes());
        }
        bytes
    }

    /// The target, gas a second.
    pub fn target(&self) -> u64 {
        fake_exponential(MIN_TARGET_PER_S, self.target_excess, TARGET_CONVERSION)
    }

    /// Highest capacity. It is also the gas limit of a header.
    pub fn max_capacity(&self) -> u64 {
        self.target().saturating_mul(TARGET_TO_MAX * SECONDS_TO_FILL)
    }

    /// The price, wei a gas.
    pub fn price(&self) -> u64 {
        fake_exponential(MIN_PRICE, self.excess, self.target().saturating_mul(TARGET_TO_PRICE))
    }

    /// The state `seconds` later.
    #[must_use]
    pub fn advance_time(self, seconds: u64) -> Self {
        let target = self.target();
        let gained = target.saturating_mul(TARGET_TO_MAX).saturating_mul(seconds);
        Self {
            capacity: self.capacity.saturating_add(gained).min(self.max_capacity()),
            excess: self.excess.saturating_sub(target.saturating_mul(seconds)),
            ..self
        }
    }

    /// The state after the gas of a block. `extra` is the gas of its atomic transactions.
    pub fn consume_gas(self, gas: u64, extra: u64) -> Result<Self, CapacityError> {
        let used = gas.saturating_add(extra);
        let capacity = self
            .capacity
            .checked_sub(used)
            .ok_or(CapacityError { used, capacity: self.capacity })?;
        Ok(Self { capacity, excess: self.excess.saturating_add(used), ..self })
    }

    /// The state after a vote for a target excess, limited to the change by one block. The price and the fill level
    /// stay.
    #[must_use]
    pub fn update_target_excess(self, wanted: u64) -> Self {
        let before = self.target();
        let low = self.target_excess.saturating_sub(MAX_TARGET_EXCESS_DIFF);
        let high = self.target_excess.saturating_add(MAX_TARGET_EXCESS_DIFF);
        let target_excess = wanted.clamp(low, high.min(MAX_TARGET_EXCESS).max(low));
        let mut next = Self { target_excess, ..self };
        let after = next.target();
        let scaled = U256::from(self.excess) * U256::from(after) / U256::from(before);
        next.excess = scaled.saturating_to();
        next.capacity = next.capacity.min(next.max_capacity());
        next
    }
}

/// `factor * e^(numerator / denominator)`, as EIP-4844 approximates it; saturates at `u64::MAX`.
fn fake_exponential(factor: u64, numerator: u64, denominator: u64) -> u64 {
    let (numerator, denominator) = (U256::from(numerator), U256::from(denominator));
    let most = U256::from(u64::MAX).saturating_mul(denominator);
    let mut output = U256::ZERO;
    let mut term = U256::from(factor) * denominator;
    let mut i = U256::from(1);
    while !term.is_zero() {
        output = output.saturating_add(term);
        if output >= most {
            return u64::MAX;
        }
        term = term.saturating_mul(numerator) / denominator / i;
        i += U256::from(1);
    }
    (output / denominator).saturating_to()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_state_has_the_least_target_and_price() {
        let state = GasState::default();
        assert_eq!(state.target(), 1_000_000);
        assert_eq!(state.max_capacity(), 10_000_000);
        assert_eq!(state.price(), 1);
        assert_eq!(state.advance_time(3).capacity, 6_000_000);
        assert_eq!(state.advance_time(3600).capacity, 10_000_000);
        let full = state.advance_time(10);
        let used = full.consume_gas(4_000_000, 11_230).unwrap();
        assert_eq!((used.capacity, used.excess), (5_988_770, 4_011_230));
        assert_eq!(used.advance_time(2).excess, 2_011_230);
        assert!(used.consume_gas(6_000_000, 0).is_err());
        assert_eq!(GasState::parse(&used.to_bytes()), Some(used));
    }

    #[test]
    fn the_target_moves_by_a_bounded_step() {
        let state = GasState::default().update_target_excess(u64::MAX);
        assert_eq!(state.target_excess, MAX_TARGET_EXCESS_DIFF);
        assert_eq!(state.target(), 1_000_977);
        assert_eq!(state.update_target_excess(0).target_excess, 0);
    }

    #[test]
    fn the_price_doubles_in_about_a_minute_of_full_blocks() {
        let a_minute_over = GasState { excess: 20 * 87_000_000, ..GasState::default() };
        let later = GasState { excess: a_minute_over.excess + 60_300_000, ..a_minute_over };
        let (before, after) = (a_minute_over.price(), later.price());
        assert!(after > before * 19 / 10 && after < before * 21 / 10, "{before} {after}");
        assert_eq!(GasState { excess: u64::MAX, ..GasState::default() }.price(), u64::MAX);
    }
}
