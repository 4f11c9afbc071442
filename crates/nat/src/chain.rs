//! The chain as services see it: what they submit, and what they ask about atomic transactions.

use std::sync::Arc;

use alloy_primitives::U256;
use esker_chain::ChainContext;
use esker_evm::chain::Evm;
use esker_evm::executor::{NoHashes, StateOverlay};
use esker_evm::rules::FeeRuleError;
use esker_evm::state::StateError;
use esker_evm::verify::MAX_ATOMIC_GAS;
use esker_primitives::ids::TxId;
use esker_storage::{StorageError, StorageResult};

use crate::extension::{AtomicExtension, MAX_BUILT_BYTES};
use crate::pool::{AtomicPool, PoolError, PoolStatus};
use crate::tables::AcceptedTx;
use crate::transfer::{TransferError, transfer};
use crate::txs::AtomicTx;
use crate::verify::VerifyError;
use crate::verify::semantic::{CheckError, Place};

/// Why a transaction was not taken. What `Display` shows is what clients of the reference see.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    /// Longer than what a block may carry.
    #[error("tx size ({0}) exceeds total atomic txs size target ({MAX_BUILT_BYTES})")]
    TooLong(usize),
    /// More gas than a block may use.
    #[error("tx gas usage ({0}) exceeds atomic gas limit ({MAX_ATOMIC_GAS})")]
    TooMuchGas(u64),
    /// It is invalid on the last accepted state.
    #[error(transparent)]
    Invalid(#[from] VerifyError),
    /// The pool refused it.
    #[error(transparent)]
    Pool(#[from] PoolError),
    /// The fees of the next block can't be told.
    #[error(transparent)]
    Fees(#[from] FeeRuleError),
    /// State can't be read.
    #[error(transparent)]
    State(#[from] StateError),
}

impl From<StorageError> for SubmitError {
    fn from(error: StorageError) -> Self {
        StateError::from(error).into()
    }
}

/// Where a transaction is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AtomicStatus {
    /// In the accepted block of this height.
    Accepted(u64),
    /// Waits for a block, or is in one that is being decided on.
    Processing,
    /// Given up, for this reason.
    Dropped(String),
}

/// The C-Chain and its atomic transactions.
#[derive(Clone, Debug)]
pub struct Nat {
    evm: Arc<Evm>,
    extension: Arc<AtomicExtension>,
}

impl Nat {
    /// The chain `evm`, which was made with `extension`.
    pub const fn new(evm: Arc<Evm>, extension: Arc<AtomicExtension>) -> Self {
        Self { evm, extension }
    }

    /// The chain.
    pub const fn evm(&self) -> &Arc<Evm> {
        &self.evm
    }

    /// What the chain was told about itself: names, clock, store.
    pub fn context(&self) -> &ChainContext {
        self.extension.context()
    }

    /// Transactions that wait for a block.
    pub fn pool(&self) -> &AtomicPool {
        self.extension.pool()
    }

    /// Wei a gas, in a block that would be made now.
    pub fn next_base_fee(&self) -> Result<U256, FeeRuleError> {
        let head = self.evm.head();
        let time = self.context().clock.now_s().max(head.header.time);
        Ok(self.evm.params().rules.child_terms(&head.header, time)?.base_fee)
    }

    /// Verifies a transaction on the last accepted state and takes it into the pool; a block that can hold it is
    /// asked for. One that is known already is left as it is. Recovers signatures, so call it off the async
    /// threads.
    pub fn submit(&self, tx: AtomicTx) -> Result<TxId, SubmitError> {
        let id = tx.id();
        if !self.pool().contains(&id) {
            self.verify(&tx)?;
            self.pool().add(tx)?;
        }
        self.context().work.notify_one();
        Ok(id)
    }

    /// Whether a transaction is valid on the last accepted state: by the rules of its last block, at the base fee
    /// of one that would be made now.
    pub fn verify(&self, tx: &AtomicTx) -> Result<(), SubmitError> {
        if tx.bytes().len() > MAX_BUILT_BYTES {
            return Err(SubmitError::TooLong(tx.bytes().len()));
        }
        if tx.gas() > MAX_ATOMIC_GAS {
            return Err(SubmitError::TooMuchGas(tx.gas()));
        }
        let reader = self.context().store.snapshot()?;
        let phase = self.evm.params().rules.phase_at(self.evm.head().header.time)?;
        let place = Place {
            context: self.context(),
            phase: &phase,
            base_fee: self.next_base_fee()?,
            time_s: self.context().clock.now_s(),
            shared: reader.as_ref(),
            undecided: &[],
        };
        place.verify(tx).map_err(|error| match error {
            CheckError::Rule(error) => SubmitError::Invalid(error),
            CheckError::Storage(error) => error.into(),
        })?;
        let view = self.evm.view(reader.as_ref()).latest_state();
        let mut state = StateOverlay::new(view, &NoHashes, Arc::clone(&self.evm.params().codes));
        transfer(tx.unsigned(), &mut state, &self.context().native_asset_id).map_err(|error| {
            match error {
                TransferError::Rule(error) => error.into(),
                TransferError::State(error) => error.into(),
            }
        })
    }

    /// A transaction that is accepted, waits or was given up lately, and where it is.
    pub fn find(&self, id: &TxId) -> StorageResult<Option<(AtomicTx, AtomicStatus)>> {
        // In this order: what leaves the pool as accepted is in the store by then.
        let pooled = self.pool().get(id);
        let reader = self.context().store.snapshot()?;
        if let Some(accepted) = AcceptedTx::get(reader.as_ref(), self.context().scope, id)? {
            let status = match accepted.height <= self.evm.head().header.number {
                true => AtomicStatus::Accepted(accepted.height),
                // Its commit is in the store a moment before the chain follows.
                false => AtomicStatus::Processing,
            };
            return Ok(Some((accepted.tx()?, status)));
        }
        Ok(pooled.map(|(tx, status)| match status {
            PoolStatus::Pending | PoolStatus::Issued => (tx, AtomicStatus::Processing),
            PoolStatus::Dropped(reason) => (tx, AtomicStatus::Dropped(reason)),
        }))
    }
}
