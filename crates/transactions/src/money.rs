//! The native asset's two units: billionths on the asset chains, wei in the EVM. They are converted here alone.

use alloy_primitives::U256;
use esker_primitives::amount::NanoNative;

/// Wei a billionth of the native asset.
pub const WEI_PER_NANO: u64 = 1_000_000_000;

/// An amount of the native asset in the EVM's unit, 10^-18.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wei(pub U256);

impl Wei {
    /// Nothing.
    pub const ZERO: Self = Self(U256::ZERO);

    /// Whole billionths, rounded down; as many as the other unit can hold.
    pub fn whole_nanos(self) -> NanoNative {
        let nanos = self.0.checked_div(U256::from(WEI_PER_NANO)).unwrap_or_default();
        NanoNative(nanos.saturating_to())
    }

    /// Whole billionths, rounded up; `None` if the other unit can't hold them.
    pub fn nanos_rounded_up(self) -> Option<NanoNative> {
        u64::try_from(self.0.div_ceil(U256::from(WEI_PER_NANO))).ok().map(NanoNative)
    }

    /// The sum; the largest amount if it is greater.
    #[must_use]
    pub fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl From<NanoNative> for Wei {
    fn from(nanos: NanoNative) -> Self {
        // 64 bits times 30 bits.
        Self(U256::from(u128::from(nanos.0).saturating_mul(u128::from(WEI_PER_NANO))))
    }
}
