//! The totals of a block's transactions, and the payment of each.

use std::collections::BTreeSet;

use alloy_primitives::U256;
use esker_chain::ChainContext;
use esker_evm_execution::executor::ExtOutcome;
use esker_primitives::NanoNative;
use esker_primitives::ids::Id;
use esker_transactions::money::Wei;
use esker_transactions::nat::{AmountError, AtomicTx, FeeError};
use thiserror::Error;

/// The totals of a block's transactions.
#[derive(Debug, Default)]
pub(super) struct Batch {
    consumed: BTreeSet<Id>,
    pub(super) outcome: ExtOutcome,
}

/// The reason why a transaction does not pay its fee, in the reference's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(super) enum PaymentError {
    /// The fee exceeds 64 bits.
    #[error(transparent)]
    Fee(#[from] FeeError),
    /// The burned amount can't be added up.
    #[error(transparent)]
    Burned(#[from] AmountError),
    /// Less is burned than the fee.
    #[error("insufficient AVAX burned ({burned}) to cover import tx fee ({fee})")]
    Insufficient { burned: u64, fee: NanoNative },
}

/// The payment of a transaction: its fee, and the excess.
pub(super) struct Payment {
    gas: u64,
    /// The amount that is burned above the fee.
    excess: NanoNative,
}

impl Payment {
    /// The payment of a transaction in a block with this base fee.
    pub(super) fn of_tx(
        tx: &AtomicTx,
        context: &ChainContext,
        base_fee: U256,
    ) -> Result<Self, PaymentError> {
        let fee = tx.fee(base_fee)?;
        let burned = tx.burned(&context.native_asset_id)?;
        let excess = NanoNative(burned).checked_sub(fee);
        let excess = excess.ok_or(PaymentError::Insufficient { burned, fee })?;
        Ok(Self { gas: tx.gas(), excess })
    }
}

impl Batch {
    /// Whether a transaction shares nothing with those before it.
    pub(super) fn is_disjoint(&self, tx: &AtomicTx) -> bool {
        self.consumed.is_disjoint(tx.conflict_keys())
    }

    pub(super) fn consume(&mut self, tx: &AtomicTx) {
        self.consumed.extend(tx.conflict_keys());
    }

    pub(super) fn gas_with(&self, payment: &Payment) -> u64 {
        self.outcome.gas_used.saturating_add(payment.gas)
    }

    pub(super) fn pay(&mut self, payment: &Payment) {
        self.outcome.gas_used = self.gas_with(payment);
        let contribution = Wei(self.outcome.contribution);
        self.outcome.contribution = contribution.saturating_add(payment.excess.into()).0;
    }
}
