//! Sums of amounts.

/// The reason why amounts can't be added up. Texts are the reference's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    /// A sum exceeds 64 bits.
    #[error("overflow")]
    Overflow,
    /// More is produced than consumed.
    #[error("underflow")]
    Underflow,
}

/// The sum.
pub(super) fn sum(amounts: impl Iterator<Item = u64>) -> Result<u64, AmountError> {
    amounts
        .into_iter()
        .try_fold(0u64, |total, amount| total.checked_add(amount))
        .ok_or(AmountError::Overflow)
}
