//! Checks the chain's rows against its blocks, and reports what they move between chains.

use esker_chain::audit::{Audit, AuditContext, Exchange, Ledger, Ledgers};
use esker_chain::tables::HistoryStart;
use esker_storage::StorageError;
use esker_storage::audit::{AuditError, Finding, compare_rows, shown};

use super::parts::Platform;
use crate::execute::{check_position, requests_of, write_block};
use crate::state::tables::{BLOCKS, TIP, Tip};
use crate::txs::{Block, Exchange as AtomicExchange};

/// Blocks between two reports of progress.
const STEP: u64 = 64;

impl Audit for Platform {
    fn audit(&self, ctx: &mut AuditContext<'_>) -> Result<Option<Ledgers>, AuditError> {
        let (name, scope) = (self.context.primary_alias(), self.scope());
        let mut amounts = Amounts::new(ctx);
        let mut tip = Tip::default();
        // The comparison of rows reports a damaged row.
        let stored_tip = Tip::read(ctx.stored, scope).unwrap_or_default();
        let last = BLOCKS.last(ctx.stored, scope, &[])?.map_or(0, |(height, _)| height);
        ctx.scratch.fill(|pending| {
            TIP.put(pending, scope, &(), &tip);
            Ok::<_, StorageError>(())
        })?;
        let first = HistoryStart::read(ctx.stored)?.first_block(&self.context.chain_id);
        for height in first.max(1)..=last.max(first) {
            let found = BLOCKS.get(ctx.stored, scope, &height)?;
            let parsed = found.ok_or_else(|| "nothing".to_owned()).and_then(|bytes| {
                let block = Block::parse(&bytes).map_err(|error| error.to_string())?;
                if height > 1 && height == first {
                    tip = before_history(&block, stored_tip);
                }
                check_position(&block, &tip).map_err(|error| error.to_string())?;
                Ok(block)
            });
            let block = match parsed {
                Ok(block) => block,
                Err(reason) => {
                    let place = format!("{name}: block {height}");
                    ctx.log.finding(Finding::new(place, "a block after the last one", reason));
                    return Ok(None);
                }
            };
            ctx.scratch.fill(|pending| {
                write_block(pending, scope, &block, tip);
                Ok::<_, StorageError>(())
            })?;
            tip = Tip::read(ctx.scratch.rows()?.as_ref(), scope)?;
            for moved in block.txs.iter().filter_map(|tx| tx.exchange.as_ref()) {
                amounts.add(moved);
                report(moved, ctx)?;
            }
            if height.is_multiple_of(STEP) {
                ctx.log.progress(&format!("{name}: blocks"), height, Some(last))?;
            }
        }
        let expected = ctx.scratch.rows()?;
        for (prefix, what) in [(TIP.prefix(scope), "tip"), (BLOCKS.prefix(scope), "block")] {
            let place = |key: &[u8]| {
                format!("{name}: {what} {}", shown(key.get(prefix.len()..).unwrap_or_default()))
            };
            compare_rows(ctx.stored, expected.as_ref(), &prefix, &place, ctx.log)?;
        }
        Ok(Some(amounts.into_ledgers()))
    }
}

/// The tip before the first stored block, which names its parent. Blocks without a time keep the time of the tip, so the
/// time is that of the stored tip unless a later block changes it.
fn before_history(first: &Block, stored: Tip) -> Tip {
    Tip { id: first.parent_id, height: first.height.saturating_sub(1), time_s: stored.time_s }
}

fn report(moved: &AtomicExchange, ctx: &mut AuditContext<'_>) -> Result<(), AuditError> {
    let (peer, requests) = requests_of(moved);
    for key in requests.removes {
        (ctx.exchanges)(Exchange::Remove { peer, key })?;
    }
    for element in requests.puts {
        let (key, value, traits) = (element.key, element.value, element.traits);
        (ctx.exchanges)(Exchange::Put { peer, key, value, traits })?;
    }
    Ok(())
}

/// The amounts that P exchanged. What it holds is not known: only the difference is shown, as its genesis or as held.
struct Amounts(Ledgers);

impl Amounts {
    fn new(ctx: &AuditContext<'_>) -> Self {
        Self(ctx.assets.iter().map(|asset| (*asset, Ledger::default())).collect())
    }

    fn add(&mut self, moved: &AtomicExchange) {
        let add = |sum: &mut u128, amount: u64| {
            *sum = sum.saturating_add(u128::from(amount).saturating_mul(Ledger::PER_NANO));
        };
        match moved {
            AtomicExchange::Import { inputs, .. } => {
                for input in inputs {
                    if let Some(ledger) = self.0.get_mut(&input.asset_id) {
                        add(&mut ledger.imported, input.input.amount);
                    }
                }
            }
            AtomicExchange::Export { utxos, .. } => {
                for utxo in utxos {
                    if let Some(ledger) = self.0.get_mut(&utxo.asset_id) {
                        add(
                            &mut ledger.exported,
                            utxo.output.as_transfer().map_or(0, |o| o.amount),
                        );
                    }
                }
            }
        }
    }

    fn into_ledgers(mut self) -> Ledgers {
        for ledger in self.0.values_mut() {
            ledger.genesis = ledger.exported.saturating_sub(ledger.imported);
            ledger.held = ledger.imported.saturating_sub(ledger.exported);
        }
        self.0
    }
}
