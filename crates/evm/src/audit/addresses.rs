//! The index of addresses. Which accounts code called shows only when it runs, so rows are not derived again: each
//! account that a block names must be in the index, and each row must name transactions that are there.

use std::ops::ControlFlow;

use alloy_consensus::Transaction as _;
use alloy_primitives::Address;
use esker_chain::audit::AuditContext;
use esker_evm_execution::executor::WARP;
use esker_evm_state::addresses::TxPlaces;
use esker_evm_state::addresses::tables::{ADDRESS_START, ADDRESS_TXS};
use esker_evm_state::types::{Block, Receipt};
use esker_storage::audit::{AuditError, shown};
use esker_storage::{PendingWrites, Table};

use super::Auditing;

/// The number of a block's transactions, by its height: only in the scratch store, for blocks that have any.
const COUNTS: Table<u64, u32> = Table::new(0xfb, "transactions of block");
/// Rows of the index that are looked at before a report of progress.
const CHUNK: u64 = 4096;

impl Auditing<'_> {
    /// The first block that the index has, if it has any.
    pub(super) fn address_start(&self, ctx: &AuditContext<'_>) -> Result<Option<u64>, AuditError> {
        match ADDRESS_START.get(ctx.stored, self.scope(), &()) {
            // The check of the rows reports it.
            Err(error) if error.is_corruption() => Ok(None),
            start => Ok(start?),
        }
    }

    /// Keeps the number of transactions for [`Self::audit_address_rows`].
    pub(super) fn count_transactions(&self, block: &Block, pending: &mut PendingWrites<'_>) {
        let count = u32::try_from(block.transactions.len()).unwrap_or(u32::MAX);
        if count > 0 {
            COUNTS.put(pending, self.scope(), &block.header.number, &count);
        }
    }

    /// Checks that the index has the accounts that a block of it names: senders, recipients, created contracts, and
    /// contracts with events.
    pub(super) fn audit_named_addresses(
        &self,
        block: &Block,
        receipts: &[Receipt],
        ctx: &mut AuditContext<'_>,
    ) -> Result<(), AuditError> {
        let (scope, height) = (self.scope(), block.header.number);
        for (place, (tx, receipt)) in (0..).zip(block.transactions.iter().zip(receipts)) {
            // A call of the warp contract does not count, although it has an event.
            let events = receipt.logs.iter().map(|log| log.address).filter(|at| *at != WARP);
            let own = [Some(receipt.from), tx.to(), receipt.contract_address];
            let mut named: Vec<Address> = own.into_iter().flatten().chain(events).collect();
            named.sort_unstable();
            named.dedup();
            for address in named {
                let key = (address.into_array(), height);
                let row = match ADDRESS_TXS.get(ctx.stored, scope, &key) {
                    Err(error) if error.is_corruption() => None,
                    row => row?,
                };
                if row.is_none_or(|TxPlaces(places)| places.binary_search(&place).is_err()) {
                    let what = format!("index of address {address} at block {height}");
                    self.wrong(ctx, what, format!("transaction {place}"), "none");
                }
            }
        }
        Ok(())
    }

    /// Checks that each row of the index names transactions of an accepted block. Rows before the start are left from
    /// an earlier time at which the index was on; nothing reads them.
    pub(super) fn audit_address_rows(
        &self,
        last: u64,
        ctx: &mut AuditContext<'_>,
    ) -> Result<(), AuditError> {
        let start = match ADDRESS_START.get(ctx.stored, self.scope(), &()) {
            Ok(start) => start.unwrap_or(u64::MAX),
            Err(error) if error.is_corruption() => {
                self.wrong(ctx, "start of the index of addresses", "a height", error);
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let counts = ctx.scratch.rows()?;
        let (scope, mut from, mut done) = (self.scope(), Some(Vec::new()), 0);
        while let Some(begin) = from.take() {
            let mut rows = Vec::new();
            ADDRESS_TXS.scan(ctx.stored, scope, &[], Some(&begin), |key, value| {
                if rows.len() as u64 == CHUNK {
                    from = Some(key.to_vec());
                    return ControlFlow::Break(());
                }
                rows.push((key.to_vec(), value.to_vec()));
                ControlFlow::Continue(())
            })?;
            done += rows.len() as u64;
            for (key, value) in rows {
                let name = format!("index of addresses, row {}", shown(&key));
                let Ok(((_, height), TxPlaces(places))) = ADDRESS_TXS.entry(&key, &value) else {
                    self.wrong(ctx, name, "places of transactions", shown(&value));
                    continue;
                };
                let newest = places.last().copied().unwrap_or_default();
                let count = match height < start {
                    true => continue,
                    false if height > last => 0,
                    false => COUNTS.get(counts.as_ref(), scope, &height)?.unwrap_or(0),
                };
                if newest >= count {
                    self.wrong(ctx, name, format!("fewer than {count}"), format!("place {newest}"));
                }
            }
            ctx.log.progress(&self.place("index of addresses"), done, None)?;
        }
        Ok(())
    }
}
