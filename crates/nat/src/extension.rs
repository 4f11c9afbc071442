//! Atomic transactions in EVM blocks: the extension that `evm` verifies, builds and accepts blocks with.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, OnceLock, Weak};

use alloy_primitives::{Address, Bytes, U256};
use esker_chain::{ChainContext, DropLog};
use esker_evm::chain::Evm;
use esker_evm::executor::{NoHashes, StateOverlay};
use esker_evm::extension::{
    BlockExtension, ChangedAccount, ExtBlock, ExtDataView, ExtError, ExtOutcome, ExtSummary,
    ExtensionAudit,
};
use esker_evm::verify::MAX_ATOMIC_GAS;
use esker_evm_state::state::StateError;
use esker_primitives::NanoNative;
use esker_primitives::ids::{ChainId, Id};
use esker_shared_memory::{Requests, SharedMemoryError};
use esker_storage::{Draft, KvRead};
use serde_json::value::{RawValue, to_raw_value};

use crate::audit::AtomicAudit;
use crate::json::shown;
use crate::log;
use crate::money::Wei;
use crate::pool::{AccountNonce, AtomicPool, used_nonce};
use crate::restore;
use crate::tables::AcceptedTx;
use crate::transfer::{TransferError, add_requests, transfer};
use crate::txs::{AtomicTx, ExtDataForm, UnsignedAtomicTx, decode_ext_data, encode_ext_data};
use crate::verify::VerifyError;
use crate::verify::semantic::{CheckError, Place};

/// Most signed bytes of atomic transactions that the builder puts into a block.
pub const MAX_BUILT_BYTES: usize = 40 * 1024;

/// The C-Chain's extension: its rules, and the pool of what waits.
#[derive(Debug)]
pub struct AtomicExtension {
    context: ChainContext,
    pool: AtomicPool,
    /// The chain, which owns this.
    evm: OnceLock<Weak<Evm>>,
}

impl AtomicExtension {
    /// The extension of a chain.
    pub fn new(context: ChainContext) -> Self {
        let pool = AtomicPool::new(context.native_asset_id, Arc::clone(&context.clock));
        Self { context, pool, evm: OnceLock::new() }
    }

    /// Sets the chain, whose pool is asked for transactions that exports follow; the first call counts.
    pub(crate) fn set_chain(&self, evm: &Arc<Evm>) {
        // A second call is a defect of the wiring that changes nothing.
        let _already = self.evm.set(Arc::downgrade(evm));
    }

    /// What the chain was told about itself.
    pub const fn context(&self) -> &ChainContext {
        &self.context
    }

    /// Transactions that wait for a block.
    pub const fn pool(&self) -> &AtomicPool {
        &self.pool
    }

    fn place<'a>(&'a self, block: &ExtBlock<'a>, shared: &'a dyn KvRead) -> Place<'a> {
        Place {
            context: &self.context,
            phase: block.phase,
            base_fee: block.base_fee,
            time_s: block.time,
            shared,
            undecided: block.undecided,
        }
    }

    /// Writes what transactions leave beside the accounts: shared memory, the index.
    fn write_rows(
        &self,
        number: u64,
        txs: &[AtomicTx],
        rows: &mut Draft<'_>,
    ) -> Result<(), ExtError> {
        let mut requests: BTreeMap<ChainId, Requests> = BTreeMap::new();
        for tx in txs {
            add_requests(tx, &mut requests);
            AcceptedTx::put(rows, self.context.scope, number, tx);
        }
        esker_shared_memory::apply(rows, &self.context.chain_id, &requests).map_err(|error| {
            match error {
                SharedMemoryError::Storage(error) => StateError::from(error).into(),
                SharedMemoryError::NotFound
                | SharedMemoryError::DuplicatePut { .. }
                | SharedMemoryError::DuplicateRemove { .. }
                | SharedMemoryError::Length { .. } => ExtError::Invalid(error.to_string()),
            }
        })
    }
}

/// A block's transactions while they are chosen.
struct Filling {
    batch: Batch,
    taken: Vec<AtomicTx>,
    bytes: usize,
}

impl AtomicExtension {
    /// Takes those of the candidates that the block can hold, as far as there is room. Gives the exports whose
    /// nonces have not come yet.
    fn fill(
        &self,
        block: &ExtBlock<'_>,
        state: &mut StateOverlay<'_>,
        rows: &dyn KvRead,
        candidates: Vec<AtomicTx>,
        filling: &mut Filling,
    ) -> Result<Vec<AtomicTx>, ExtError> {
        let Filling { batch, taken, bytes } = filling;
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
            let Ok(payment) = Payment::of(&tx, &self.context, block.base_fee) else { continue };
            let with_tx = bytes.saturating_add(tx.bytes().len());
            if with_tx > MAX_BUILT_BYTES || batch.gas_with(&payment) > MAX_ATOMIC_GAS {
                break;
            }
            let verified = match self.place(block, rows).verify(&tx) {
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
                // What is in its way here may be abandoned: the block under construction, and those below.
                Err(TransferError::Rule(_)) => {
                    if let Some(reason) = self.refusal_on_accepted(block, &tx)? {
                        self.pool.give_up(&tx.id(), reason);
                    }
                }
            }
        }
        Ok(early)
    }

    /// Why a transaction is not valid on the accepted state of now. `None` if it is, or if what it misses may come.
    fn refusal_on_accepted(
        &self,
        block: &ExtBlock<'_>,
        tx: &AtomicTx,
    ) -> Result<Option<String>, ExtError> {
        let Some(evm) = self.evm.get().and_then(Weak::upgrade) else { return Ok(None) };
        let reader = self.context.store.snapshot().map_err(internal)?;
        let codes = Arc::clone(&evm.params().codes);
        let latest = evm.view(reader.as_ref()).latest_state();
        let mut state = StateOverlay::new(latest, &NoHashes, codes);
        if first_early_nonce(tx, &mut state)?.is_some() {
            return Ok(None);
        }
        let place = Place { undecided: &[], ..self.place(block, reader.as_ref()) };
        let verified = match place.verify(tx) {
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
    fn give_up_unreachable(
        &self,
        block: &ExtBlock<'_>,
        state: &mut StateOverlay<'_>,
        early: &[AtomicTx],
    ) -> Result<(), ExtError> {
        // Undecided blocks may use the nonces between, or give them back.
        if block.has_undecided {
            return Ok(());
        }
        let evm = self.evm.get().and_then(Weak::upgrade);
        for tx in early {
            let Some(nonce) = first_early_nonce(tx, state)? else { continue };
            let is_reachable = nonce.previous().is_none_or(|before| {
                let in_evm = |evm: Arc<Evm>| {
                    evm.pool().get_by_nonce(&before.account, before.nonce).is_some()
                };
                self.pool.is_used(&before) || evm.clone().is_some_and(in_evm)
            });
            if !is_reachable {
                let AccountNonce { account, nonce } = nonce;
                let reason = format!(
                    "{}: nonce {nonce} of {account} does not come, since the transaction before it was dropped",
                    VerifyError::InvalidNonce
                );
                self.pool.give_up(&tx.id(), reason);
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

/// Why a transaction is dropped that breaks a rule.
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

/// The transactions that a block carries.
fn decode(block: &ExtBlock<'_>) -> Result<Vec<AtomicTx>, ExtError> {
    decode_ext_data(block.ext_data, ExtDataForm::Batch)
        .map_err(|error| ExtError::Invalid(error.to_string()))
}

/// The transactions of a block that was executed.
fn decode_executed(ext_data: &Bytes) -> Vec<AtomicTx> {
    // What was executed decodes.
    decode_ext_data(ext_data, ExtDataForm::Batch).unwrap_or_default()
}

/// The nonces that a block leaves.
fn nonces(accounts: &[ChangedAccount]) -> Vec<AccountNonce> {
    let nonce =
        |(account, state): &ChangedAccount| AccountNonce { account: *account, nonce: state.nonce };
    accounts.iter().map(nonce).collect()
}

fn internal(error: esker_storage::StorageError) -> ExtError {
    StateError::from(error).into()
}

impl From<TransferError> for ExtError {
    fn from(error: TransferError) -> Self {
        match error {
            TransferError::Rule(error) => Self::Invalid(error.to_string()),
            TransferError::State(error) => Self::State(error),
        }
    }
}

/// What a block's transactions come to.
#[derive(Debug, Default)]
struct Batch {
    consumed: BTreeSet<Id>,
    outcome: ExtOutcome,
}

/// What a transaction pays: its fee, and above.
struct Payment {
    gas: u64,
    /// What is burned above the fee.
    excess: NanoNative,
}

impl Payment {
    /// `Err` tells in the reference's words why it does not pay its fee.
    fn of(tx: &AtomicTx, context: &ChainContext, base_fee: U256) -> Result<Self, String> {
        if base_fee.is_zero() {
            return Err(format!("cannot calculate tip with base fee {base_fee} <= 0"));
        }
        let fee = tx.fee(base_fee).map_err(|error| error.to_string())?;
        let burned = tx.burned(&context.native_asset_id).map_err(|error| error.to_string())?;
        let excess = NanoNative(burned).checked_sub(fee).ok_or_else(|| {
            format!("insufficient AVAX burned ({burned}) to cover import tx fee ({fee})")
        })?;
        Ok(Self { gas: tx.gas(), excess })
    }
}

impl Batch {
    /// Whether a transaction shares nothing with those before it.
    fn is_disjoint(&self, tx: &AtomicTx) -> bool {
        self.consumed.is_disjoint(tx.conflict_keys())
    }

    fn consume(&mut self, tx: &AtomicTx) {
        self.consumed.extend(tx.conflict_keys());
    }

    fn gas_with(&self, payment: &Payment) -> u64 {
        self.outcome.gas_used.saturating_add(payment.gas)
    }

    fn pay(&mut self, payment: &Payment) {
        self.outcome.gas_used = self.gas_with(payment);
        let contribution = Wei(self.outcome.contribution);
        self.outcome.contribution = contribution.saturating_add(payment.excess.into()).0;
    }
}

impl BlockExtension for AtomicExtension {
    fn parse(&self, block: &ExtBlock<'_>) -> Result<ExtSummary, ExtError> {
        let txs = decode(block)?;
        let gas_used = txs.iter().fold(0u64, |sum, tx| sum.saturating_add(tx.gas()));
        Ok(ExtSummary { transactions: txs.len(), gas_used })
    }

    fn check_inputs(&self, block: &ExtBlock<'_>, parent: &dyn KvRead) -> Result<(), ExtError> {
        let place = self.place(block, parent);
        for tx in decode(block)? {
            let UnsignedAtomicTx::Import(unsigned) = tx.unsigned() else { continue };
            let found = place.exported_to_us(unsigned).map_err(internal)?;
            // What an undecided block has taken is told of later, as what it is.
            if found.is_none() && !place.is_imported_undecided(&tx) {
                return Err(ExtError::Invalid("missing UTXOs: not found".into()));
            }
        }
        Ok(())
    }

    fn apply(
        &self,
        block: &ExtBlock<'_>,
        state: &mut StateOverlay<'_>,
        rows: &mut Draft<'_>,
    ) -> Result<ExtOutcome, ExtError> {
        let txs = decode(block)?;
        let mut batch = Batch::default();
        for tx in &txs {
            match self.place(block, &*rows).verify(tx) {
                Ok(()) => {}
                Err(CheckError::Storage(error)) => return Err(internal(error)),
                Err(CheckError::Rule(error)) => {
                    return Err(ExtError::Invalid(format!(
                        "invalid block due to failed semanatic verify: {error} at height {}",
                        block.number
                    )));
                }
            }
            if !batch.is_disjoint(tx) {
                return Err(ExtError::Invalid(VerifyError::ConflictingInputs.to_string()));
            }
            batch.consume(tx);
        }
        for tx in &txs {
            transfer(tx.unsigned(), state, &self.context.native_asset_id)?;
            let payment =
                Payment::of(tx, &self.context, block.base_fee).map_err(ExtError::Invalid)?;
            batch.pay(&payment);
            if batch.outcome.gas_used > MAX_ATOMIC_GAS {
                return Err(ExtError::Invalid(format!(
                    "atomic gas used ({}) by block ({:#x}), exceeds atomic gas limit ({MAX_ATOMIC_GAS})",
                    batch.outcome.gas_used, block.hash
                )));
            }
        }
        self.write_rows(block.number, &txs, rows)?;
        Ok(batch.outcome)
    }

    fn has_work(&self) -> bool {
        !self.pool.is_empty()
    }

    fn highest_payable_base_fee(&self) -> Option<U256> {
        self.pool.highest_payable_base_fee()
    }

    fn build(
        &self,
        block: &ExtBlock<'_>,
        state: &mut StateOverlay<'_>,
        rows: &mut Draft<'_>,
    ) -> Result<Option<(Bytes, ExtOutcome)>, ExtError> {
        let undecided: Vec<AtomicTx> = block.undecided.iter().flat_map(decode_executed).collect();
        let below: HashSet<Id> = undecided.iter().map(AtomicTx::id).collect();
        let mut batch = Batch::default();
        undecided.iter().for_each(|tx| batch.consume(tx));
        let mut filling = Filling { batch, taken: Vec::new(), bytes: 0 };
        let mut candidates = self.pool.candidates();
        candidates.retain(|tx| !below.contains(&tx.id()));
        // An export whose nonce has not come yet is looked at again once another one has used the nonce before.
        loop {
            let taken = filling.taken.len();
            let early = self.fill(block, state, &*rows, candidates, &mut filling)?;
            if early.is_empty() || filling.taken.len() == taken {
                self.give_up_unreachable(block, state, &early)?;
                break;
            }
            candidates = early;
        }
        let Filling { batch, taken, .. } = filling;
        if taken.is_empty() {
            return Ok(None);
        }
        self.write_rows(block.number, &taken, rows)?;
        Ok(Some((encode_ext_data(&taken).into(), batch.outcome)))
    }

    fn undecided(&self, ext_data: &Bytes) {
        self.pool.issued(decode_executed(ext_data));
    }

    fn before_commit(&self, ext_data: &Bytes, accounts: &[ChangedAccount], accepted_ms: u64) {
        let conflicting = self.pool.conflicting_txs(&decode_executed(ext_data), &nonces(accounts));
        for (id, reason) in conflicting {
            // Unseen until the commit is done: the pool still has the transaction.
            self.pool.drop_log().add(id, reason, accepted_ms);
        }
    }

    fn accepted(&self, number: u64, ext_data: &Bytes, accounts: &[ChangedAccount]) {
        let txs = decode_executed(ext_data);
        for tx in &txs {
            log::accepted(tx, number, &self.context);
        }
        self.pool.accepted(number, &txs, &nonces(accounts));
    }

    fn abandoned(&self, ext_data: &Bytes) {
        self.pool.returned(&decode_executed(ext_data));
    }

    fn waiting_nonces(&self, account: &Address) -> Vec<u64> {
        self.pool.nonces_of(account)
    }

    fn drop_log(&self) -> Option<&DropLog> {
        Some(self.pool.drop_log())
    }

    fn waiting_txs(&self) -> Vec<Bytes> {
        let txs = self.pool.first_spenders();
        txs.iter().map(|tx| Bytes::copy_from_slice(tx.bytes())).collect()
    }

    fn restore_tx(&self, bytes: &[u8]) -> bool {
        restore::restore_tx(self, bytes)
    }

    fn audit(&self) -> Box<dyn ExtensionAudit + '_> {
        Box::new(AtomicAudit(self))
    }
}

impl ExtDataView for AtomicExtension {
    fn transactions(&self, ext_data: &[u8]) -> Option<Box<RawValue>> {
        let txs = decode_ext_data(ext_data, ExtDataForm::Batch).ok()?;
        let shown: Vec<_> = txs.iter().map(|tx| shown(tx, &self.context)).collect();
        Some(to_raw_value(&shown).expect("JSON can be written"))
    }
}
