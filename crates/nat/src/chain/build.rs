//! Choosing the transactions of a block from the pool.

use std::collections::HashSet;
use std::sync::Arc;

use esker_chain::ChainContext;
use esker_evm::chain::Evm;
use esker_evm::extension::{ExtBlock, ExtError};
use esker_evm_execution::executor::{ExtOutcome, NoHashes, StateOverlay};
use esker_evm_execution::rules::PhaseRules;
use esker_evm_state::state::StateError;
use esker_primitives::ids::Id;
use esker_storage::KvRead;
use esker_transactions::nat::{AccountNonce, AtomicTx};

use super::batch::{Batch, Payment};
use super::block::{decode_executed, internal, verify_context};
use crate::execute::{TransferError, transfer};
use crate::pool::{AtomicPool, used_nonce};
use crate::verify::VerifyError;
use crate::verify::semantic::{CheckError, VerifyContext};

/// Most signed bytes of atomic transactions that the builder puts into a block.
pub const MAX_BUILT_BYTES: usize = 40 * 1024;

/// A block's transactions while they are chosen.
struct TxSelection {
    batch: Batch,
    taken: Vec<AtomicTx>,
    bytes: usize,
    /// Most gas of all.
    max_gas: u64,
}

/// Chooses the transactions of a block.
pub(super) struct Builder<'a> {
    pub(super) context: &'a ChainContext,
    /// The rules of the block.
    pub(super) phase: &'a PhaseRules,
    pub(super) pool: &'a AtomicPool,
    /// The chain, where it is there already.
    pub(super) evm: Option<Arc<Evm>>,
}

impl Builder<'_> {
    /// Takes from the pool what a block can hold, of at most `max_gas`, and does it to `state`. What an earlier call took
    /// for a block that came to nothing is put back.
    pub(super) fn choose(
        &self,
        block: &ExtBlock<'_>,
        max_gas: u64,
        state: &mut StateOverlay<'_>,
        rows: &dyn KvRead,
    ) -> Result<(Vec<AtomicTx>, ExtOutcome), ExtError> {
        let undecided: Vec<AtomicTx> = block.undecided.iter().flat_map(decode_executed).collect();
        let below: HashSet<Id> = undecided.iter().map(AtomicTx::id).collect();
        let mut batch = Batch::default();
        undecided.iter().for_each(|tx| batch.consume(tx));
        self.pool.put_back_all();
        let mut selection = TxSelection { batch, taken: Vec::new(), bytes: 0, max_gas };
        let mut candidates = self.pool.candidates();
        candidates.retain(|tx| !below.contains(&tx.id()));
        // An export whose nonce has not come yet is looked at again once another one has used the nonce before.
        loop {
            let taken = selection.taken.len();
            let early = self.fill(block, state, rows, candidates, &mut selection)?;
            if early.is_empty() || selection.taken.len() == taken {
                self.drop_unreachable(block, state, &early)?;
                break;
            }
            candidates = early;
        }
        let TxSelection { batch, taken, .. } = selection;
        Ok((taken, batch.outcome))
    }

    /// Takes those of the candidates that the block can hold, as far as there is room. Gives the exports whose
    /// nonces have not come yet.
    fn fill(
        &self,
        block: &ExtBlock<'_>,
        state: &mut StateOverlay<'_>,
        rows: &dyn KvRead,
        candidates: Vec<AtomicTx>,
        selection: &mut TxSelection,
    ) -> Result<Vec<AtomicTx>, ExtError> {
        let TxSelection { batch, taken, bytes, max_gas } = selection;
        let mut early = Vec::new();
        for tx in candidates {
            // One that consumes what another takes is given up when that one is accepted.
            if !batch.is_disjoint(&tx) {
                continue;
            }
            if first_early_nonce(&tx, state)?.is_some() {
                early.push(tx);
                continue;
            }
            // One that does not pay the base fee as it is waits for a lower one.
            let Ok(payment) = Payment::of_tx(&tx, self.context, block.base_fee) else { continue };
            let with_tx = bytes.saturating_add(tx.bytes().len());
            if with_tx > MAX_BUILT_BYTES || batch.gas_with(&payment) > *max_gas {
                break;
            }
            // Another one may have taken its place meanwhile.
            if !self.pool.take(&tx.id()) {
                continue;
            }
            let verified = match verify_context(self.context, self.phase, block, rows).verify(&tx) {
                Ok(()) => transfer(tx.unsigned(), state, &self.context.native_asset_id),
                Err(CheckError::Storage(error)) => return Err(internal(error)),
                Err(CheckError::Rule(error)) => Err(error.into()),
            };
            match verified {
                Ok(()) => {
                    *bytes = with_tx;
                    batch.consume(&tx);
                    batch.pay(&payment);
                    taken.push(tx);
                }
                Err(TransferError::State(error)) => return Err(error.into()),
                // The block that is in its way may be abandoned: the one under construction, or one below.
                Err(TransferError::Rule(_)) => {
                    self.pool.put_back(&tx.id());
                    if let Some(reason) = self.refusal_on_accepted(block, &tx)? {
                        self.pool.drop_invalid(&tx.id(), reason);
                    }
                }
            }
        }
        Ok(early)
    }

    /// The reason why a transaction is not valid on the accepted state of now. `None` if it is, or if what it misses
    /// may come.
    fn refusal_on_accepted(
        &self,
        block: &ExtBlock<'_>,
        tx: &AtomicTx,
    ) -> Result<Option<String>, ExtError> {
        let Some(evm) = &self.evm else { return Ok(None) };
        let reader = self.context.store.snapshot().map_err(internal)?;
        let codes = Arc::clone(&evm.params().machine.codes);
        let latest = evm.view(reader.as_ref()).latest_state();
        let mut state = StateOverlay::new(latest, &NoHashes, codes);
        if first_early_nonce(tx, &mut state)?.is_some() {
            return Ok(None);
        }
        let verify_context = VerifyContext {
            undecided: &[],
            ..verify_context(self.context, self.phase, block, reader.as_ref())
        };
        let verified = match verify_context.verify(tx) {
            Ok(()) => transfer(tx.unsigned(), &mut state, &self.context.native_asset_id),
            Err(CheckError::Storage(error)) => return Err(internal(error)),
            Err(CheckError::Rule(error)) => Err(error.into()),
        };
        match verified {
            Ok(()) => Ok(None),
            Err(TransferError::State(error)) => Err(error.into()),
            Err(TransferError::Rule(VerifyError::UtxosNotFound(_))) if block.has_undecided => {
                Ok(None)
            }
            Err(TransferError::Rule(error)) => Ok(Some(drop_reason(tx, &error, &mut state)?)),
        }
    }

    /// Gives up exports whose nonces can't come, because nothing waits that uses the nonce before.
    fn drop_unreachable(
        &self,
        block: &ExtBlock<'_>,
        state: &mut StateOverlay<'_>,
        early: &[AtomicTx],
    ) -> Result<(), ExtError> {
        // Undecided blocks may use the nonces between, or give them back.
        if block.has_undecided {
            return Ok(());
        }
        for tx in early {
            let Some(nonce) = first_early_nonce(tx, state)? else { continue };
            let is_reachable = nonce.previous().is_none_or(|before| {
                let in_evm = |evm: &Arc<Evm>| {
                    evm.pool().get_by_nonce(&before.account, before.nonce).is_some()
                };
                self.pool.is_used(&before) || self.evm.as_ref().is_some_and(in_evm)
            });
            if !is_reachable {
                let AccountNonce { account, nonce } = nonce;
                let reason = format!(
                    "{}: nonce {nonce} of {account} does not come, since the transaction before it was dropped",
                    VerifyError::InvalidNonce
                );
                self.pool.drop_invalid(&tx.id(), reason);
            }
        }
        Ok(())
    }
}

/// The first nonce of an export that its account has not reached.
fn first_early_nonce(
    tx: &AtomicTx,
    state: &mut StateOverlay<'_>,
) -> Result<Option<AccountNonce>, StateError> {
    for nonce in tx.unsigned().account_nonces() {
        if nonce.nonce > state.nonce(nonce.account)? {
            return Ok(Some(nonce));
        }
    }
    Ok(None)
}

/// The reason why a transaction is dropped that breaks a rule.
fn drop_reason(
    tx: &AtomicTx,
    error: &VerifyError,
    state: &mut StateOverlay<'_>,
) -> Result<String, StateError> {
    if *error == VerifyError::InvalidNonce {
        for AccountNonce { account, nonce } in tx.unsigned().account_nonces() {
            if nonce < state.nonce(account)? {
                return Ok(used_nonce(&account, nonce));
            }
        }
    }
    Ok(error.to_string())
}
