//! The extension of a development network: it puts a control record before the ext data of another extension.

use std::sync::Arc;

use alloy_primitives::{Address, Bytes, U256};
use esker_chain::audit::AuditContext;
use esker_chain::commitment::StateTable;
use esker_chain::{DropLog, PoolFigures, TxReport};
use esker_evm_execution::executor::{ExtOutcome, StateOverlay};
use esker_evm_execution::rules::{ExtSummary, HeaderTerms, Rules};
use esker_primitives::Id;
use esker_storage::audit::{AuditError, Finding};
use esker_storage::{KvRead, PendingWrites, WriteSet};

use super::{ControlRecord, Controls, RecordError, RecordPlan, split_record};
use crate::extension::{
    BlockExtension, ChangedAccount, ExtBlock, ExtError, ExtTransfers, ExtensionAudit,
};

/// An extension that puts control records before the ext data of another one.
#[derive(Debug)]
pub struct ControlExtension {
    inner: Arc<dyn BlockExtension>,
    rules: Arc<dyn Rules>,
    /// `None` if the node builds no blocks with control records; it still accepts them.
    controls: Option<Arc<Controls>>,
}

impl ControlExtension {
    /// Wraps the extension of a chain with these rules.
    pub fn new(
        inner: Arc<dyn BlockExtension>,
        rules: Arc<dyn Rules>,
        controls: Option<Arc<Controls>>,
    ) -> Self {
        Self { inner, rules, controls }
    }

    /// Calls `f` with the record of a block, and the block as the other extension sees it.
    fn with_inner<R>(
        &self,
        block: &ExtBlock<'_>,
        work: impl FnOnce(Option<ControlRecord>, &ExtBlock<'_>) -> R,
    ) -> Result<R, RecordError> {
        let (record, rest) = split_record(block.ext_data)?;
        let record = record.map(ControlRecord::decode).transpose()?;
        let undecided: Vec<_> = block.undecided.iter().map(rest_of).collect();
        Ok(work(record, &ExtBlock { ext_data: rest, undecided: &undecided, ..*block }))
    }
}

/// The ext data after the record of an executed block.
fn rest_of(ext_data: &Bytes) -> Bytes {
    match split_record(ext_data) {
        Ok((Some(_), rest)) => ext_data.slice_ref(rest),
        Ok((None, _)) | Err(_) => ext_data.clone(),
    }
}

impl From<RecordError> for ExtError {
    fn from(error: RecordError) -> Self {
        Self::Invalid(error.to_string())
    }
}

/// Counts as if the tips paid for the block: a block with a record may be made at any time.
fn with_record(outcome: ExtOutcome) -> ExtOutcome {
    ExtOutcome { contribution: U256::MAX, ..outcome }
}

impl BlockExtension for ControlExtension {
    fn parse(&self, block: &ExtBlock<'_>) -> Result<ExtSummary, ExtError> {
        self.with_inner(block, |record, inner| {
            let summary = self.inner.parse(inner)?;
            // A record counts as a transaction, so that a block with only a record is not refused as empty.
            let transactions = summary.transactions + usize::from(record.is_some());
            Ok(ExtSummary { transactions, ..summary })
        })?
    }

    fn check_inputs(&self, block: &ExtBlock<'_>, parent: &dyn KvRead) -> Result<(), ExtError> {
        self.with_inner(block, |_, inner| self.inner.check_inputs(inner, parent))?
    }

    fn apply(
        &self,
        block: &ExtBlock<'_>,
        state: &mut StateOverlay<'_>,
        rows: &mut PendingWrites<'_>,
    ) -> Result<ExtOutcome, ExtError> {
        self.with_inner(block, |record, inner| {
            let outcome = self.inner.apply(inner, state, rows)?;
            let Some(record) = record else { return Ok(outcome) };
            record.apply(&*self.rules, state)?;
            Ok(with_record(outcome))
        })?
    }

    fn state_tables(&self) -> Vec<StateTable> {
        self.inner.state_tables()
    }

    fn restore_block(&self, block: &ExtBlock<'_>, out: &mut WriteSet) -> Result<(), ExtError> {
        self.with_inner(block, |_, inner| self.inner.restore_block(inner, out))?
    }

    fn has_work(&self) -> bool {
        self.inner.has_work()
    }

    fn max_tx_gas(&self) -> u64 {
        self.inner.max_tx_gas()
    }

    fn highest_payable_base_fee(&self) -> Option<U256> {
        self.inner.highest_payable_base_fee()
    }

    fn build(
        &self,
        block: &ExtBlock<'_>,
        max_gas: u64,
        state: &mut StateOverlay<'_>,
        rows: &mut PendingWrites<'_>,
    ) -> Result<Option<(Bytes, ExtOutcome)>, ExtError> {
        let plan =
            self.controls.as_ref().map_or(RecordPlan::Nothing, |controls| controls.record_plan());
        let mut record =
            ControlRecord { header: self.next_header_terms(), ..ControlRecord::default() };
        let (rest, outcome) = match plan {
            RecordPlan::Nothing => {
                let build = |_, inner: &ExtBlock<'_>| self.inner.build(inner, max_gas, state, rows);
                return self.with_inner(block, build)?;
            }
            RecordPlan::Block => {
                let build = |_, inner: &ExtBlock<'_>| self.inner.build(inner, max_gas, state, rows);
                self.with_inner(block, build)??.unwrap_or_default()
            }
            RecordPlan::Record => Default::default(),
            RecordPlan::Changes(changes) => {
                for request in changes {
                    let change = request.resolve(state)?;
                    change.apply(&*self.rules, state)?;
                    record.changes.push(change);
                }
                Default::default()
            }
        };
        Ok(Some((record.prefix_to(&rest)?, with_record(outcome))))
    }

    fn header_terms(&self, ext_data: &[u8]) -> Result<HeaderTerms, ExtError> {
        let record = split_record(ext_data)?.0.map(ControlRecord::decode).transpose()?;
        Ok(record.map(|record| record.header).unwrap_or_default())
    }

    fn next_header_terms(&self) -> HeaderTerms {
        self.controls.as_ref().map_or_else(HeaderTerms::default, |controls| controls.built_header())
    }

    fn with_header(&self, ext_data: Bytes) -> Result<Bytes, ExtError> {
        let header = self.next_header_terms();
        if header == HeaderTerms::default() || split_record(&ext_data)?.0.is_some() {
            return Ok(ext_data);
        }
        Ok(ControlRecord { header, ..ControlRecord::default() }.prefix_to(&ext_data)?)
    }

    fn not_built(&self) {
        self.inner.not_built();
    }

    fn undecided(&self, ext_data: &Bytes) {
        self.inner.undecided(&rest_of(ext_data));
    }

    fn before_commit(&self, ext_data: &Bytes, accounts: &[ChangedAccount], accepted_ms: u64) {
        self.inner.before_commit(&rest_of(ext_data), accounts, accepted_ms);
    }

    fn accepted(&self, number: u64, ext_data: &Bytes, accounts: &[ChangedAccount]) {
        self.inner.accepted(number, &rest_of(ext_data), accounts);
    }

    fn rewound(&self, number: u64) {
        self.inner.rewound(number);
    }

    fn reports(&self, ext_data: &Bytes) -> Vec<TxReport> {
        self.inner.reports(&rest_of(ext_data))
    }

    fn abandoned(&self, ext_data: &Bytes) {
        self.inner.abandoned(&rest_of(ext_data));
    }

    fn holds(&self, tx: &Id) -> bool {
        self.inner.holds(tx)
    }

    fn pool_figures(&self) -> Option<(u64, PoolFigures)> {
        self.inner.pool_figures()
    }

    fn waiting_nonces(&self, account: &Address) -> Vec<u64> {
        self.inner.waiting_nonces(account)
    }

    fn drop_log(&self) -> Option<&DropLog> {
        self.inner.drop_log()
    }

    fn waiting_txs(&self) -> Vec<Bytes> {
        self.inner.waiting_txs()
    }

    fn restore_tx(&self, tx: &[u8]) -> bool {
        self.inner.restore_tx(tx)
    }

    fn drop_waiting_txs(&self) {
        self.inner.drop_waiting_txs();
    }

    fn audit(&self) -> Box<dyn ExtensionAudit + '_> {
        Box::new(ControlAudit { extension: self, inner: self.inner.audit() })
    }
}

struct ControlAudit<'a> {
    extension: &'a ControlExtension,
    inner: Box<dyn ExtensionAudit + 'a>,
}

impl ExtensionAudit for ControlAudit<'_> {
    fn block(
        &mut self,
        block: &ExtBlock<'_>,
        ctx: &mut AuditContext<'_>,
    ) -> Result<ExtTransfers, AuditError> {
        let inner = &mut self.inner;
        let moved = self.extension.with_inner(block, |record, rest| {
            let moved = inner.block(rest, ctx)?;
            let Some(record) = record else { return Ok(moved) };
            Ok(ExtTransfers { set: record.supply_change(), ..moved })
        });
        match moved {
            Ok(moved) => moved,
            Err(error) => {
                let place = format!("ext data of block {} {}", block.number, block.hash);
                ctx.log.finding(Finding::new(place, "a control record", error));
                Ok(ExtTransfers::default())
            }
        }
    }

    fn finish(&mut self, ctx: &mut AuditContext<'_>) -> Result<(), AuditError> {
        self.inner.finish(ctx)
    }
}
