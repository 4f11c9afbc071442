//! The extension's part of an audit: what accepted blocks moved between chains, and the index of atomic
//! transactions.

use std::collections::BTreeMap;

use esker_chain::ChainContext;
use esker_chain::audit::{AuditContext, Exchange, Ledger};
use esker_evm::extension::{ExtBlock, ExtTransfers, ExtensionAudit};
use esker_primitives::ids::{ChainId, Id};
use esker_shared_memory::Requests;
use esker_storage::StorageError;
use esker_storage::audit::{AuditError, Finding, compare_rows};
use esker_transactions::nat::{AtomicTx, ExtDataForm, UnsignedAtomicTx, decode_ext_data};

use crate::execute::add_requests;
use crate::state::tables::{AcceptedTx, DROPPED, TXS};

/// Goes along with the blocks.
#[derive(Debug)]
pub(crate) struct AtomicAudit<'a>(pub(crate) &'a ChainContext);

impl AtomicAudit<'_> {
    fn place(&self, what: impl std::fmt::Display) -> String {
        format!("{}: {what}", self.0.primary_alias())
    }

    /// Adds the amounts of the native asset that a transaction moves.
    fn moved(&self, tx: &AtomicTx, number: u64, ctx: &mut AuditContext<'_>) -> ExtTransfers {
        let native = self.0.native_asset_id;
        let nanos = |amounts: &mut dyn Iterator<Item = u64>| {
            let sum = amounts.map(u128::from).fold(0, u128::saturating_add);
            sum.saturating_mul(Ledger::PER_NANO)
        };
        let mut moved = ExtTransfers::default();
        match tx.unsigned() {
            UnsignedAtomicTx::Import(tx) => {
                let inputs = tx.imported_inputs.iter().filter(|input| input.asset_id == native);
                moved.imported = nanos(&mut inputs.map(|input| input.input.amount));
            }
            UnsignedAtomicTx::Export(tx) => {
                let outputs = tx.exported_outputs.iter().filter(|out| out.asset_id == native);
                moved.exported = nanos(&mut outputs.map(|out| out.output.amount));
            }
        }
        match tx.burned(&native) {
            Ok(burned) => moved.burnt = u128::from(burned).saturating_mul(Ledger::PER_NANO),
            Err(error) => {
                let what = format!("block {number}: atomic transaction {}", tx.id());
                let expected = "no more of the native asset out than in";
                ctx.log.finding(Finding::new(self.place(what), expected, error));
            }
        }
        moved
    }
}

impl ExtensionAudit for AtomicAudit<'_> {
    fn block(
        &mut self,
        block: &ExtBlock<'_>,
        ctx: &mut AuditContext<'_>,
    ) -> Result<ExtTransfers, AuditError> {
        let txs = match decode_ext_data(block.ext_data, ExtDataForm::Batch) {
            Ok(txs) => txs,
            Err(error) => {
                let place = self.place(format!("ext data of block {}", block.number));
                ctx.log.finding(Finding::new(place, "atomic transactions", error));
                return Ok(ExtTransfers::default());
            }
        };
        if txs.is_empty() {
            return Ok(ExtTransfers::default());
        }
        let mut requests: BTreeMap<ChainId, Requests> = BTreeMap::new();
        let mut sum = ExtTransfers::default();
        for tx in &txs {
            add_requests(tx, &mut requests);
            let moved = self.moved(tx, block.number, ctx);
            sum.imported = sum.imported.saturating_add(moved.imported);
            sum.exported = sum.exported.saturating_add(moved.exported);
            sum.burnt = sum.burnt.saturating_add(moved.burnt);
        }
        ctx.scratch.clone().fill(|pending| {
            for tx in &txs {
                AcceptedTx::put(pending, self.0.scope, block.number, tx);
            }
            Ok::<_, StorageError>(())
        })?;
        for (peer, Requests { puts, removes }) in requests {
            for key in removes {
                (ctx.exchanges)(Exchange::Remove { peer, key })?;
            }
            for element in puts {
                let (key, value, traits) = (element.key, element.value, element.traits);
                (ctx.exchanges)(Exchange::Put { peer, key, value, traits })?;
            }
        }
        Ok(sum)
    }

    fn finish(&mut self, ctx: &mut AuditContext<'_>) -> Result<(), AuditError> {
        DROPPED.audit(&self.place("dropped atomic"), self.0.scope, ctx)?;
        let prefix = TXS.prefix(self.0.scope);
        let name = |key: &[u8]| {
            let id = key.strip_prefix(&prefix).and_then(|id| id.try_into().ok()).map(Id::new);
            self.place(format!("atomic transaction {}", id.unwrap_or_default()))
        };
        let expected = ctx.scratch.rows()?;
        compare_rows(ctx.stored, expected.as_ref(), &prefix, &name, ctx.log)
    }
}
