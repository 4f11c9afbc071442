//! Blocks, receipts, and the rows that locate them.

use std::ops::ControlFlow;

use alloy_primitives::{B256, Bloom, U256};
use esker_chain::ChainVm as _;
use esker_chain::audit::AuditContext;
use esker_chain::tables::HistoryStart;
use esker_evm_execution::executor::sender_of;
use esker_evm_execution::rules::BlockPoint;
use esker_evm_state::blocks::tables::{
    BLOCKS, DESTROYED, HEIGHTS, LOCATIONS, Location, RECEIPTS, TIP, TOTAL_DIFFICULTIES,
};
use esker_evm_state::logs::tables::{LOG_ROWS, LOG_SECTIONS};
use esker_evm_state::logs::{SECTION, write_section};
use esker_evm_state::state::StoredSum;
use esker_evm_state::types::{Block, Header, Receipt, block_bloom, receipts_root};
use esker_storage::audit::{AuditError, compare_rows, shown};
use esker_storage::{PendingWrites, StorageError};

use super::{Auditing, add, add_wide};
use crate::chain::{ChainReadError, ChainView};
use crate::extension::{ExtBlock, ExtensionAudit};
use crate::total_difficulty;

/// Blocks between two reports of progress.
const STEP: u64 = 64;

/// The state of a walk over the blocks.
struct Walk<'a> {
    extension: Box<dyn ExtensionAudit + 'a>,
    parent: Option<(Header, B256)>,
    /// The sum of the difficulties up to the parent; `None` if it is not known.
    total_difficulty: Option<U256>,
    /// The blooms since the last complete section.
    blooms: Vec<(u64, Bloom)>,
    sections: u64,
    /// The first block of the index of addresses.
    address_start: Option<u64>,
}

impl Auditing<'_> {
    /// Checks all blocks, and then the rows that follow from them.
    pub(super) fn audit_blocks(&mut self, ctx: &mut AuditContext<'_>) -> Result<(), AuditError> {
        let evm = self.evm;
        let scope = self.scope();
        let view = ChainView::new(ctx.stored, scope, evm.params().rules.as_ref());
        let last = BLOCKS.last(ctx.stored, scope, &[])?.map_or(0, |(height, _)| height);
        let mut walk = Walk {
            extension: evm.extension().audit(),
            parent: None,
            total_difficulty: Some(U256::ZERO),
            blooms: Vec::new(),
            sections: 0,
            address_start: self.address_start(ctx)?,
        };
        let first = HistoryStart::read(ctx.stored)?.first_block(&evm.context().chain_id);
        self.audit_gap(first, ctx)?;
        for height in std::iter::once(0).chain(first.max(1)..=last.max(first)) {
            let is_genesis = height == evm.genesis_number();
            if height > 0 && height == first && (height > 1 || is_genesis) {
                // There is no block before this one, or it is not stored.
                walk.parent = None;
                walk.total_difficulty = None;
            }
            let block = match view.block(height) {
                Ok(Some(block)) => block,
                Err(ChainReadError::Storage(error)) => return Err(error.into()),
                Ok(None) => {
                    self.wrong(ctx, format!("block {height}"), "a block", "nothing");
                    return Ok(());
                }
                Err(error) => {
                    self.wrong(ctx, format!("block {height}"), "a block", error);
                    return Ok(());
                }
            };
            if !self.audit_block(&block, height, &mut walk, ctx)? {
                // The blocks above do not follow from this one.
                return Ok(());
            }
            if height.is_multiple_of(STEP) {
                ctx.log.progress(&self.place("blocks"), height, Some(last))?;
            }
        }
        if walk.sections > 0 {
            let scratch = ctx.scratch.clone();
            scratch.fill(|pending| {
                LOG_SECTIONS.put(pending, scope, &(), &walk.sections);
                Ok::<_, StorageError>(())
            })?;
        }
        walk.extension.finish(ctx)?;
        self.compare(ctx)?;
        let Some((header, hash)) = walk.parent else { return Ok(()) };
        self.audit_tip(&header, hash, ctx)?;
        self.audit_address_rows(header.number, ctx)?;
        self.tip = Some(header);
        Ok(())
    }

    /// Checks that a store which joined from a snapshot has no rows of blocks between genesis and the first stored
    /// block.
    fn audit_gap(&self, first: u64, ctx: &mut AuditContext<'_>) -> Result<(), AuditError> {
        if first <= 1 {
            return Ok(());
        }
        let (stored, scope) = (ctx.stored, self.scope());
        let from = 1u64.to_be_bytes();
        let mut stray = Vec::new();
        for (prefix, what) in [
            (BLOCKS.prefix(scope), "block"),
            (RECEIPTS.prefix(scope), "receipts of block"),
            (DESTROYED.prefix(scope), "destroyed of block"),
            (TOTAL_DIFFICULTIES.prefix(scope), "total difficulty of block"),
        ] {
            let from = [&prefix[..], &from].concat();
            stored.scan(&prefix, Some(&from), &mut |key, _| {
                let height = key.get(prefix.len()..).and_then(|key| key.try_into().ok());
                let height = height.map_or(u64::MAX, u64::from_be_bytes);
                if height < first {
                    stray.push(format!("{what} {height}"));
                }
                ControlFlow::Break(())
            })?;
        }
        for what in stray {
            self.wrong(ctx, what, "nothing", "a row before the start of the history");
        }
        Ok(())
    }

    /// Returns false if the blocks above can't be checked.
    fn audit_block(
        &mut self,
        block: &Block,
        height: u64,
        walk: &mut Walk<'_>,
        ctx: &mut AuditContext<'_>,
    ) -> Result<bool, AuditError> {
        let rules = &self.evm.params().rules;
        let header = &block.header;
        let hash = rules.block_hash(header);
        let place = format!("block {height}");
        let follows = match &walk.parent {
            Some((_, parent)) => header.parent_hash == *parent && header.number == height,
            None if height == self.evm.genesis_number() => hash == self.genesis_hash(ctx)?,
            None => header.number == height,
        };
        if !follows {
            let expected = match &walk.parent {
                Some((_, parent)) => format!("block {height} after {parent}"),
                None if height > 0 => format!("block {height}"),
                None => "the block of the genesis".to_owned(),
            };
            let found = format!("block {} after {}", header.number, header.parent_hash);
            self.wrong(ctx, place, expected, found);
            return Ok(false);
        }
        if height > self.evm.genesis_number() {
            self.audit_body(block, ctx);
            let in_index = walk.address_start.is_some_and(|start| height >= start);
            self.audit_receipts(block, in_index, ctx)?;
            rules.execution_rules(&BlockPoint::of(header)).map_err(rules_error)?;
            let ext = ExtBlock {
                number: height,
                time: header.time,
                base_fee: header.base_fee.unwrap_or_default(),
                hash,
                ext_data: &block.ext_data,
                undecided: &[],
                has_undecided: false,
            };
            let moved = walk.extension.block(&ext, ctx)?;
            self.set.add(&moved.set);
            for (sum, wei) in [
                (&mut self.ledger.imported, moved.imported),
                (&mut self.ledger.exported, moved.exported),
                (&mut self.ledger.burnt, moved.burnt),
            ] {
                *sum = sum.saturating_add(wei);
            }
            let supply = rules.supply(block);
            add(&mut self.ledger.minted, supply.created);
            add_wide(&mut self.lost, supply.burnt);
            if let Some(StoredSum(wei)) = DESTROYED.get(ctx.stored, self.scope(), &height)? {
                self.lost = self.lost.saturating_add(wei);
            }
        }
        if !header.bloom.is_zero() {
            walk.blooms.push((height, header.bloom));
        }
        let total = self.total_difficulty(header, walk, ctx)?;
        let scratch = ctx.scratch.clone();
        scratch.fill(|pending| {
            self.derive(block, hash, pending);
            if walk.address_start.is_some_and(|start| height >= start) {
                self.count_transactions(block, pending);
            }
            if let Some(total) = total {
                total_difficulty::put(pending, self.scope(), height, total);
            }
            if height % SECTION == SECTION - 1 {
                let blooms = std::mem::take(&mut walk.blooms);
                write_section(self.scope(), height / SECTION, &blooms, pending);
                walk.sections = height / SECTION + 1;
            }
            Ok::<_, StorageError>(())
        })?;
        walk.parent = Some((header.clone(), hash));
        Ok(true)
    }

    /// The sum of difficulties that the row of a block must have; `None` if it must have no row. One that an older
    /// version stored has none.
    fn total_difficulty(
        &self,
        header: &Header,
        walk: &mut Walk<'_>,
        ctx: &AuditContext<'_>,
    ) -> Result<Option<U256>, AuditError> {
        let rules = self.evm.params().rules.as_ref();
        if !total_difficulty::is_stored(rules, header) {
            return Ok(None);
        }
        let row = match total_difficulty::row(ctx.stored, self.scope(), header.number) {
            // The comparison of the rows reports it.
            Err(error) if error.is_corruption() => Some(U256::ZERO),
            row => row?,
        };
        let before = walk.total_difficulty;
        let expected = before.map(|before| before.saturating_add(header.difficulty)).or(row);
        walk.total_difficulty = expected;
        Ok(expected.filter(|_| row.is_some()))
    }

    fn genesis_hash(&self, ctx: &AuditContext<'_>) -> Result<B256, AuditError> {
        let rules = self.evm.params().rules.as_ref();
        let mut nowhere = PendingWrites::new(ctx.stored);
        let block = self
            .evm
            .genesis_definition()
            .map_err(|error| StorageError::Backend(error.to_string()))?
            .build(rules, self.scope(), Default::default(), &mut nowhere)
            .map_err(|error| StorageError::Backend(error.to_string()))?;
        Ok(rules.block_hash(&block.header))
    }

    /// Adds the rows that follow from a block.
    fn derive(&self, block: &Block, hash: B256, pending: &mut PendingWrites<'_>) {
        let (scope, height) = (self.scope(), block.header.number);
        HEIGHTS.put(pending, scope, &hash.0, &height);
        for (index, tx) in (0u32..).zip(&block.transactions) {
            LOCATIONS.put(pending, scope, &tx.tx_hash().0, &Location { height, index });
        }
    }

    /// Checks the roots and hashes in the header against the rest of the block.
    fn audit_body(&self, block: &Block, ctx: &mut AuditContext<'_>) {
        let (header, place) = (&block.header, format!("block {}", block.header.number));
        let root = block.transactions_root();
        if root != header.transactions_root {
            self.wrong(ctx, format!("{place}: transactions"), header.transactions_root, root);
        }
        let ext = self.evm.params().rules.ext_data_hash(&block.ext_data);
        if ext != header.ext_data_hash {
            self.wrong(ctx, format!("{place}: ext data"), header.ext_data_hash, ext);
        }
    }

    fn audit_receipts(
        &self,
        block: &Block,
        in_index: bool,
        ctx: &mut AuditContext<'_>,
    ) -> Result<(), AuditError> {
        let (header, height) = (&block.header, block.header.number);
        let place = format!("receipts of block {height}");
        let stored = match RECEIPTS.get(ctx.stored, self.scope(), &height) {
            Ok(stored) => stored,
            Err(error) if error.is_corruption() => {
                self.wrong(ctx, place, "receipts", error);
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        if stored.is_some() == block.transactions.is_empty() {
            let text = |there: bool| if there { "receipts" } else { "nothing" };
            let found = text(stored.is_some());
            self.wrong(ctx, place, text(!block.transactions.is_empty()), found);
            return Ok(());
        }
        let receipts = stored.map(|stored| stored.0).unwrap_or_default();
        let root = receipts_root(&receipts);
        if root != header.receipts_root {
            self.wrong(ctx, format!("{place}: root"), header.receipts_root, root);
        }
        let bloom = block_bloom(&receipts);
        if bloom != header.bloom {
            let (want, got) = (shown(header.bloom.as_slice()), shown(bloom.as_slice()));
            self.wrong(ctx, format!("{place}: bloom"), want, got);
        }
        for (receipt, tx) in receipts.iter().zip(&block.transactions) {
            let Ok(sender) = sender_of(tx, &*self.evm.params().rules) else {
                let what = format!("block {height}: sender of transaction {}", tx.tx_hash());
                self.wrong(ctx, what, "an address", "no signature");
                continue;
            };
            use alloy_consensus::Transaction as _;
            let made = tx.to().is_none().then(|| sender.create(tx.nonce()));
            let Receipt { from, contract_address, tx_type, .. } = receipt;
            if (*from, *contract_address, *tx_type) != (sender, made, tx.tx_type() as u8) {
                let text = |from, made| format!("sender {from}, contract {made:?}");
                let what = format!("{place}: of transaction {}", tx.tx_hash());
                self.wrong(ctx, what, text(sender, made), text(*from, *contract_address));
            }
        }
        if in_index { self.audit_named_addresses(block, &receipts, ctx) } else { Ok(()) }
    }

    fn compare(&self, ctx: &mut AuditContext<'_>) -> Result<(), AuditError> {
        let expected = ctx.scratch.rows()?;
        let scope = self.scope();
        for (prefix, what) in [
            (HEIGHTS.prefix(scope), "height of block"),
            (LOCATIONS.prefix(scope), "place of transaction"),
            (LOG_ROWS.prefix(scope), "index of logs, row"),
            (LOG_SECTIONS.prefix(scope), "index of logs, sections"),
            (TOTAL_DIFFICULTIES.prefix(scope), "total difficulty of block"),
        ] {
            let name = |key: &[u8]| {
                let key = key.strip_prefix(&prefix).unwrap_or(key);
                let key = if key.is_empty() { String::new() } else { format!(" {}", shown(key)) };
                self.place(format!("{what}{key}"))
            };
            compare_rows(ctx.stored, expected.as_ref(), &prefix, &name, ctx.log)?;
        }
        Ok(())
    }

    fn audit_tip(
        &self,
        header: &Header,
        hash: B256,
        ctx: &mut AuditContext<'_>,
    ) -> Result<(), AuditError> {
        let scope = self.scope();
        let text = |height: u64, hash: &B256| format!("block {height} {hash}");
        let expected = text(header.number, &hash);
        match TIP.get(ctx.stored, scope, &()) {
            Ok(Some(tip)) if tip.height == header.number && tip.hash == hash => {
                if tip.oldest_state > tip.height {
                    let expected = format!("a height up to {}", tip.height);
                    self.wrong(ctx, "oldest state", expected, tip.oldest_state);
                }
            }
            Ok(Some(tip)) => self.wrong(ctx, "last block", expected, text(tip.height, &tip.hash)),
            Ok(None) => self.wrong(ctx, "last block", expected, "nothing"),
            Err(error) => self.wrong(ctx, "last block", expected, error),
        }
        for (table, last) in [
            ("receipts", RECEIPTS.last(ctx.stored, scope, &[]).map(|row| row.map(|row| row.0))),
            ("destroyed", DESTROYED.last(ctx.stored, scope, &[]).map(|row| row.map(|row| row.0))),
        ] {
            // An unreadable row was reported before.
            if let Ok(Some(above)) = last
                && above > header.number
            {
                self.wrong(ctx, format!("{table} of block {above}"), "nothing", "a row");
            }
        }
        Ok(())
    }
}

/// The error of rules without a phase for an accepted block: the configuration belongs to another chain.
fn rules_error(error: impl std::fmt::Display) -> AuditError {
    StorageError::Backend(error.to_string()).into()
}
