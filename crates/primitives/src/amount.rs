//! Amounts of the native asset.

use std::fmt;

/// An amount of the native asset in the smallest unit of the X-Chain, a billionth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NanoNative(pub u64);

impl NanoNative {
    /// The amount 0.
    pub const ZERO: Self = Self(0);
    /// One unit of the native asset.
    pub const ONE: Self = Self(1_000_000_000);

    /// Returns `None` above the largest amount.
    #[must_use]
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(sum) => Some(Self(sum)),
            None => None,
        }
    }

    /// Returns `None` below zero.
    #[must_use]
    pub const fn checked_sub(self, other: Self) -> Option<Self> {
        match self.0.checked_sub(other.0) {
            Some(rest) => Some(Self(rest)),
            None => None,
        }
    }

    /// Returns `None` above the largest amount.
    #[must_use]
    pub const fn checked_mul(self, factor: u64) -> Option<Self> {
        match self.0.checked_mul(factor) {
            Some(product) => Some(Self(product)),
            None => None,
        }
    }
}

impl fmt::Display for NanoNative {
    /// The number of billionths in decimal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<u64> for NanoNative {
    fn from(nano: u64) -> Self {
        Self(nano)
    }
}
