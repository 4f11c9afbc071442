//! Atomic transactions in EVM blocks: the extension that `evm` verifies, builds and accepts blocks with.

use std::collections::{BTreeMap, HashSet};
use std::sync::Weak;

use alloy_primitives::{Address, Bytes, U256};
use esker_chain::commitment::StateTable;
use esker_chain::{DropLog, PoolFigures, TxReport};
use esker_evm::control::split_record;
use esker_evm::extension::{
    BlockExtension, ChangedAccount, ExtBlock, ExtDataView, ExtError, ExtensionAudit,
};
use esker_evm_execution::executor::{ExtOutcome, StateOverlay};
use esker_evm_execution::rules::{ExtSummary, MAX_ATOMIC_GAS};
use esker_evm_state::state::StateError;
use esker_primitives::ids::{ChainId, Id};
use esker_shared_memory::{ELEMENTS_TAG, Requests, SharedMemoryError};
use esker_storage::{KvRead, PendingWrites, WriteSet};
use esker_transactions::nat::{
    AtomicTx, ExtDataForm, UnsignedAtomicTx, decode_ext_data, encode_ext_data,
};
use serde_json::value::{RawValue, to_raw_value};

use super::audit::AtomicAudit;
use super::batch::{Batch, Payment};
use super::block::{decode, decode_executed, internal, nonces, phase_of, verify_context};
use super::build::Builder;
use super::journal::restore_tx;
use super::log;
use super::parts::AtomicExtension;
use crate::execute::{add_requests, transfer};
use crate::json::tx_json;
use crate::state::tables::AcceptedTx;
use crate::verify::VerifyError;
use crate::verify::semantic::CheckError;

impl AtomicExtension {
    /// Writes what transactions leave beside the accounts: shared memory, the index.
    fn write_rows(
        &self,
        number: u64,
        txs: &[AtomicTx],
        rows: &mut PendingWrites<'_>,
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

impl BlockExtension for AtomicExtension {
    fn parse(&self, block: &ExtBlock<'_>) -> Result<ExtSummary, ExtError> {
        let txs = decode(block)?;
        let gas_used = txs.iter().fold(0u64, |sum, tx| sum.saturating_add(tx.gas()));
        Ok(ExtSummary { transactions: txs.len(), gas_used })
    }

    fn check_inputs(&self, block: &ExtBlock<'_>, parent: &dyn KvRead) -> Result<(), ExtError> {
        let phase = phase_of(&self.rules, block)?;
        let verify_context = verify_context(&self.context, &phase, block, parent);
        for tx in decode(block)? {
            let UnsignedAtomicTx::Import(unsigned) = tx.unsigned() else { continue };
            let found = verify_context.exported_to_us(unsigned).map_err(internal)?;
            // A UTXO that an undecided block consumes is reported later, as a conflict.
            if found.is_none() && !verify_context.is_imported_undecided(&tx) {
                return Err(ExtError::Invalid("missing UTXOs: not found".into()));
            }
        }
        Ok(())
    }

    fn apply(
        &self,
        block: &ExtBlock<'_>,
        state: &mut StateOverlay<'_>,
        rows: &mut PendingWrites<'_>,
    ) -> Result<ExtOutcome, ExtError> {
        let txs = decode(block)?;
        let phase = phase_of(&self.rules, block)?;
        let mut batch = Batch::default();
        for tx in &txs {
            match verify_context(&self.context, &phase, block, &*rows).verify(tx) {
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
            let payment = Payment::of_tx(tx, &self.context, block.base_fee)
                .map_err(|error| ExtError::Invalid(error.to_string()))?;
            batch.pay(&payment);
            let gas_used = batch.outcome.gas_used;
            if let Some(limit) = phase.atomic_gas_limit
                && gas_used > limit
            {
                return Err(ExtError::Invalid(format!(
                    "atomic gas used ({gas_used}) by block ({:#x}), exceeds atomic gas limit ({limit})",
                    block.hash
                )));
            }
        }
        self.write_rows(block.number, &txs, rows)?;
        Ok(batch.outcome)
    }

    fn state_tables(&self) -> Vec<StateTable> {
        vec![StateTable::node_wide(ELEMENTS_TAG)]
    }

    fn restore_block(&self, block: &ExtBlock<'_>, out: &mut WriteSet) -> Result<(), ExtError> {
        for tx in decode(block)? {
            AcceptedTx::put(out, self.context.scope, block.number, &tx);
        }
        Ok(())
    }

    fn has_work(&self) -> bool {
        !self.pool.is_empty()
    }

    fn max_tx_gas(&self) -> u64 {
        MAX_ATOMIC_GAS
    }

    fn highest_payable_base_fee(&self) -> Option<U256> {
        self.pool.highest_payable_base_fee()
    }

    fn build(
        &self,
        block: &ExtBlock<'_>,
        max_gas: u64,
        state: &mut StateOverlay<'_>,
        rows: &mut PendingWrites<'_>,
    ) -> Result<Option<(Bytes, ExtOutcome)>, ExtError> {
        let evm = self.evm.get().and_then(Weak::upgrade);
        let phase = phase_of(&self.rules, block)?;
        let builder = Builder { context: &self.context, phase: &phase, pool: &self.pool, evm };
        let (taken, outcome) = builder.choose(block, max_gas, state, &*rows)?;
        if taken.is_empty() {
            return Ok(None);
        }
        self.write_rows(block.number, &taken, rows)?;
        Ok(Some((encode_ext_data(&taken).into(), outcome)))
    }

    fn not_built(&self) {
        self.pool.put_back_all();
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

    fn rewound(&self, number: u64) {
        self.pool.rewound(number);
    }

    fn reports(&self, ext_data: &Bytes) -> Vec<TxReport> {
        let txs = decode_executed(ext_data);
        let reports = txs.iter().map(|tx| TxReport {
            id: tx.id().to_string(),
            kind: Some(match tx.unsigned() {
                UnsignedAtomicTx::Import(_) => "import",
                UnsignedAtomicTx::Export(_) => "export",
            }),
            ..TxReport::default()
        });
        reports.collect()
    }

    fn abandoned(&self, ext_data: &Bytes) {
        self.pool.returned(&decode_executed(ext_data));
    }

    fn holds(&self, tx: &Id) -> bool {
        self.pool.contains(tx)
    }

    fn pool_figures(&self) -> Option<(u64, PoolFigures)> {
        Some((self.pool.len() as u64, self.pool.figures()))
    }

    fn waiting_nonces(&self, account: &Address) -> Vec<u64> {
        self.pool.nonces_of(account)
    }

    fn drop_log(&self) -> Option<&DropLog> {
        Some(self.pool.drop_log())
    }

    fn waiting_txs(&self) -> Vec<Bytes> {
        // Of two that consume the same, one of an undecided block, the one that was here before comes first. The other
        // one is refused then when they are read back, and has a record.
        let mut txs = self.pool.candidates();
        let first: HashSet<_> = self.pool.first_spenders().iter().map(AtomicTx::id).collect();
        txs.sort_by_key(|tx| !first.contains(&tx.id()));
        txs.iter().map(|tx| Bytes::copy_from_slice(tx.bytes())).collect()
    }

    fn drop_waiting_txs(&self) {
        for tx in self.pool.candidates() {
            self.pool.drop_invalid(&tx.id(), "it was removed from the pool on request".to_owned());
        }
    }

    fn restore_tx(&self, bytes: &[u8]) -> bool {
        restore_tx(&self.context, &self.pool, bytes)
    }

    fn audit(&self) -> Box<dyn ExtensionAudit + '_> {
        Box::new(AtomicAudit(&self.context))
    }
}

impl ExtDataView for AtomicExtension {
    fn transactions(&self, ext_data: &[u8]) -> Option<Box<RawValue>> {
        let (_, ext_data) = split_record(ext_data).ok()?;
        let txs = decode_ext_data(ext_data, ExtDataForm::Batch).ok()?;
        let shown: Vec<_> = txs.iter().map(|tx| tx_json(tx, &self.context)).collect();
        Some(to_raw_value(&shown).expect("JSON can be written"))
    }
}
