//! Checks that a transaction consumes as much of each asset as it produces.

use std::collections::BTreeMap;

use esker_primitives::ids::AssetId;

/// The reason why the amounts of a transaction do not balance. Texts are the reference's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlowError {
    /// A sum of amounts of one asset exceeds 64 bits.
    #[error("overflow")]
    Overflow,
    /// The transaction produces more of an asset than it consumes.
    #[error("insufficient funds")]
    InsufficientFunds,
}

/// Sums by asset.
#[derive(Clone, Debug, Default)]
pub struct FlowChecker {
    sums: BTreeMap<AssetId, Sums>,
    /// Reported only after all amounts were added, as in the reference.
    overflow: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    produced: u64,
    consumed: u64,
}

impl FlowChecker {
    /// Adds an amount that is produced, or burned as the fee.
    pub fn produce(&mut self, asset_id: AssetId, amount: u64) {
        let sums = self.sums.entry(asset_id).or_default();
        match sums.produced.checked_add(amount) {
            Some(sum) => sums.produced = sum,
            None => self.overflow = true,
        }
    }

    /// Adds an amount that is consumed.
    pub fn consume(&mut self, asset_id: AssetId, amount: u64) {
        let sums = self.sums.entry(asset_id).or_default();
        match sums.consumed.checked_add(amount) {
            Some(sum) => sums.consumed = sum,
            None => self.overflow = true,
        }
    }

    /// Verifies that of each asset as much is consumed as is produced.
    pub fn verify(&self) -> Result<(), FlowError> {
        if self.overflow {
            Err(FlowError::Overflow)
        } else if self.sums.values().any(|sums| sums.produced > sums.consumed) {
            Err(FlowError::InsufficientFunds)
        } else {
            Ok(())
        }
    }
}
