//! Checks the chain's rows against its blocks: all rows are derived again, by the code that writes them when a block
//! is accepted, and compared one by one. Signatures and rules are not checked again: an import of the blocks does
//! that.

mod adopted;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use esker_chain::audit::{Audit, AuditContext, Exchange, Ledger, Ledgers};
use esker_chain::tables::HistoryStart;
use esker_primitives::{AssetId, Id};
use esker_storage::audit::{AuditError, Finding, compare_rows, shown};
use esker_storage::{KvRead, KvWrite, PendingWrites, Scope, StorageError, WriteSet};
use esker_transactions::xvm::{Block, Operation, Tx, UnsignedTx};
use esker_utxo::{FxOperation, Utxo};

use super::open;
use super::parts::Xvm;
use crate::execute::{
    add_holdings, add_utxo, asset_record, exported_element, remove_utxo, write_block,
};
use crate::state::ChainState;
use crate::state::index::Rows;
use crate::state::raw::RawUtxo;
use crate::state::tables::{
    ACCEPTED_AT, ADDRESS_TXS, ADDRESS_UTXOS, ASSETS, BLOCK_HEIGHTS, BLOCKS, GENESIS, INDEXED,
    REJECTED, TAKEN_OVER, TIP, TXS, visit_utxos,
};
use crate::verify::semantic::EXEMPT;

/// Blocks between two reports of progress.
const STEP: u64 = 64;

const TX_OF_ADDRESS: &str = "transaction of an address";

impl Audit for Xvm {
    fn audit(&self, ctx: &mut AuditContext<'_>) -> Result<Option<Ledgers>, AuditError> {
        let history = HistoryStart::read(ctx.stored)?;
        let mut audit = XvmAudit {
            xvm: self,
            name: self.context().primary_alias(),
            ledgers: ctx.assets.iter().map(|asset| (*asset, Ledger::default())).collect(),
            indexed: None,
            is_joined: history.bundle > 0,
            first_block: history.first_block(&self.context().chain_id),
        };
        audit.derive_genesis(ctx)?;
        if !audit.derive_blocks(ctx)? {
            return Ok(None);
        }
        if audit.is_joined {
            audit.adopt_state(ctx)?;
        }
        audit.compare(ctx)?;
        audit.check_times(ctx)?;
        REJECTED.audit(&audit.place("rejected"), audit.scope(), ctx)?;
        audit.count_held(ctx)?;
        Ok(Some(audit.ledgers))
    }
}

struct XvmAudit<'a> {
    xvm: &'a Xvm,
    name: String,
    ledgers: Ledgers,
    /// Height up to which the index of addresses has its rows.
    indexed: Option<u64>,
    /// The node joined from a snapshot: the state then is taken as it is.
    is_joined: bool,
    /// Height of the first stored block besides genesis, if some are missing.
    first_block: u64,
}

/// The amounts of an asset that a transaction moves, in the asset's smallest unit.
#[derive(Default)]
struct Movement {
    consumed: u128,
    imported: u128,
    minted: u128,
    produced: u128,
    exported: u128,
}

/// By asset.
#[derive(Default)]
struct Movements(BTreeMap<AssetId, Movement>);

impl Movements {
    fn add(&mut self, amount: Option<(AssetId, u128)>, part: fn(&mut Movement) -> &mut u128) {
        if let Some((asset, amount)) = amount {
            let sum = part(self.0.entry(asset).or_default());
            *sum = sum.saturating_add(amount);
        }
    }
}

impl XvmAudit<'_> {
    fn scope(&self) -> Scope {
        self.xvm.scope()
    }

    fn place(&self, what: impl std::fmt::Display) -> String {
        format!("{}: {what}", self.name)
    }

    /// The smallest units of an asset in an output, if the asset is one of those that are counted.
    fn amount_in(&self, utxo: &Utxo) -> Option<(AssetId, u128)> {
        let amount = utxo.output.as_transfer().map(|out| u128::from(out.amount))?;
        self.ledgers.contains_key(&utxo.asset_id).then_some((utxo.asset_id, amount))
    }

    fn derive_genesis(&mut self, ctx: &mut AuditContext<'_>) -> Result<(), AuditError> {
        let mut rows = WriteSet::new();
        if let Err(error) = open::write_genesis(self.xvm, &mut rows) {
            return Err(StorageError::Backend(error.to_string()).into());
        }
        INDEXED.delete(&mut rows, self.scope(), &());
        if self.is_joined {
            // They may have been consumed since.
            self.xvm.genesis_utxos().for_each(|utxo| {
                remove_utxo(&mut rows, self.scope(), &utxo.utxo_id.input_id(), &utxo);
            });
        }
        ctx.scratch.fill(|pending| {
            put_all(pending, &rows);
            Ok::<_, StorageError>(())
        })?;
        let rows = ctx.scratch.rows()?;
        for (asset, amount) in self.amounts_of_set(rows.as_ref())? {
            self.ledgers.entry(asset).or_default().genesis = amount;
        }
        let stored = INDEXED.get(ctx.stored, self.scope(), &());
        let stored = stored.map(|indexed| indexed.filter(|_| !self.is_joined));
        self.indexed = stored.unwrap_or_else(|error| {
            ctx.log.finding(Finding::new(self.place("address index"), "a height", error));
            None
        });
        Ok(())
    }

    /// Goes over the blocks in order; false if a block is unusable, so that later rows cannot be derived.
    fn derive_blocks(&mut self, ctx: &mut AuditContext<'_>) -> Result<bool, AuditError> {
        let last = BLOCKS.last(ctx.stored, self.scope(), &[])?.map_or(0, |(height, _)| height);
        let last = last.max(self.first_block);
        let mut parent = ChainState::new(ctx.scratch.rows()?.as_ref(), self.scope()).tip()?.id;
        for height in self.first_block.max(1)..=last {
            let place = self.place(format!("block {height}"));
            let found = BLOCKS.get(ctx.stored, self.scope(), &height)?;
            let block = match found.as_deref().map(Block::parse) {
                Some(Ok(block)) => block,
                Some(Err(error)) => {
                    ctx.log.finding(Finding::new(place, "a block", error));
                    return Ok(false);
                }
                None => {
                    ctx.log.finding(Finding::new(place, "a block", "nothing"));
                    return Ok(false);
                }
            };
            if height > 1 && height == self.first_block {
                // The block before it is not stored.
                parent = block.parent_id();
            }
            if block.parent_id() != parent || block.height() != height {
                let position = |id: &Id, height| format!("height {height} after block {id}");
                let found = position(&block.parent_id(), block.height());
                ctx.log.finding(Finding::new(place, position(&parent, height), found));
                return Ok(false);
            }
            parent = block.id();
            self.derive_block(&block, ctx)?;
            if height.is_multiple_of(STEP) {
                ctx.log.progress(&self.place("blocks"), height, Some(last))?;
            }
        }
        Ok(true)
    }

    fn derive_block(
        &mut self,
        block: &Block,
        ctx: &mut AuditContext<'_>,
    ) -> Result<(), AuditError> {
        let scratch = ctx.scratch.clone();
        scratch.fill(|pending| {
            for tx in block.txs() {
                self.derive_tx(tx, block.height(), pending, ctx)?;
            }
            Ok::<_, AuditError>(write_block(pending, self.scope(), block)?)
        })
    }

    /// Derives the rows that a transaction writes.
    fn derive_tx(
        &mut self,
        tx: &Tx,
        height: u64,
        pending: &mut PendingWrites<'_>,
        ctx: &mut AuditContext<'_>,
    ) -> Result<(), AuditError> {
        let scope = self.scope();
        let place = self.place(format!("block {height}: transaction {}", tx.id()));
        let mut moved = Movements::default();
        let mut touched = BTreeSet::new();
        for utxo_id in tx.unsigned().local_utxo_ids() {
            let id = utxo_id.input_id();
            match ChainState::new(&*pending, scope).utxo(&utxo_id)? {
                Some(utxo) => {
                    add_holdings(&mut touched, &utxo);
                    moved.add(self.amount_in(&utxo), |moved| &mut moved.consumed);
                    remove_utxo(pending, scope, &id, &utxo);
                }
                None if tx.id() == EXEMPT => {}
                None if self.is_joined => {
                    if ChainState::new(ctx.stored, scope).utxo_bytes(&utxo_id)?.is_some() {
                        let found = "one that is there";
                        ctx.log.finding(Finding::new(&place, format!("UTXO {id} consumed"), found));
                    }
                }
                None => ctx.log.finding(Finding::new(&place, format!("UTXO {id}"), "nothing")),
            }
        }
        for utxo in tx.produced_utxos() {
            add_holdings(&mut touched, &utxo);
            moved.add(self.amount_in(&utxo), |moved| &mut moved.produced);
            add_utxo(pending, scope, &self.xvm.params().fee_asset_id, &utxo);
        }
        match tx.unsigned() {
            UnsignedTx::CreateAsset(asset) => {
                ASSETS.put(pending, scope, &tx.id(), &asset_record(asset));
                for utxo in tx.produced_utxos().filter(|utxo| utxo.asset_id == tx.id()) {
                    moved.add(self.amount_in(&utxo), |moved| &mut moved.minted);
                }
            }
            UnsignedTx::Import(import) => {
                for input in tx.unsigned().imported_inputs() {
                    if self.ledgers.contains_key(&input.asset_id) {
                        let imported = (input.asset_id, u128::from(input.input.amount));
                        moved.add(Some(imported), |moved| &mut moved.imported);
                    }
                    let key = input.utxo_id.input_id().as_bytes().to_vec();
                    (ctx.exchanges)(Exchange::Remove { peer: import.source_chain, key })?;
                }
            }
            UnsignedTx::Export(export) => {
                for utxo in tx.exported_utxos() {
                    moved.add(self.amount_in(&utxo), |moved| &mut moved.exported);
                    let element = exported_element(&utxo);
                    (ctx.exchanges)(Exchange::Put {
                        peer: export.destination_chain,
                        key: element.key,
                        value: element.value,
                        traits: element.traits,
                    })?;
                }
            }
            UnsignedTx::Operation(tx) => {
                for Operation { asset_id, op, .. } in &tx.operations {
                    if let FxOperation::SecpMint(mint) = op
                        && self.ledgers.contains_key(asset_id)
                    {
                        let minted = (*asset_id, u128::from(mint.transfer_output.amount));
                        moved.add(Some(minted), |moved| &mut moved.minted);
                    }
                }
            }
            UnsignedTx::Base(_) => {}
        }
        if self.indexed.is_some_and(|indexed| height <= indexed) {
            let mut rows = WriteSet::new();
            let mut index = Rows::new(&*pending, scope);
            for (address, asset) in touched {
                index.add(&mut rows, address, asset, tx.id())?;
            }
            put_all(pending, &rows);
        }
        self.count(moved, &place, ctx);
        Ok(())
    }

    /// Adds to the ledgers. What a transaction consumes and does not produce is burnt.
    fn count(&mut self, moved: Movements, place: &str, ctx: &mut AuditContext<'_>) {
        let native = self.xvm.context().native_asset_id;
        for (asset, moved) in moved.0 {
            let Movement { consumed, imported, minted, produced, exported } = moved;
            let taken = consumed.saturating_add(imported).saturating_add(minted);
            let left = produced.saturating_add(exported);
            // After a join from a snapshot it is not known what a consumed UTXO held.
            if taken < left && !self.is_joined {
                let expected = match asset == native {
                    true => format!("at most {taken} nano-units of the native asset"),
                    false => format!("at most {taken} units of asset {asset}"),
                };
                ctx.log.finding(Finding::new(place, expected, format!("{left} produced")));
            }
            let add = |sum: &mut u128, units: u128| {
                *sum = sum.saturating_add(units.saturating_mul(Ledger::PER_NANO));
            };
            let ledger = self.ledgers.entry(asset).or_default();
            add(&mut ledger.minted, minted);
            add(&mut ledger.imported, imported);
            add(&mut ledger.exported, exported);
            add(&mut ledger.burnt, taken.saturating_sub(left));
        }
    }

    /// Every table that follows from the blocks.
    fn compare(&self, ctx: &mut AuditContext<'_>) -> Result<(), AuditError> {
        let expected = ctx.scratch.rows()?;
        let scope = self.scope();
        let tables = [
            (TIP.prefix(scope), "last block"),
            (GENESIS.prefix(scope), "genesis"),
            (TAKEN_OVER.prefix(scope), "record of what was taken over"),
            (BLOCKS.prefix(scope), "block"),
            (BLOCK_HEIGHTS.prefix(scope), "height of block"),
            (TXS.prefix(scope), "transaction or UTXO"),
            (ADDRESS_UTXOS.prefix(scope), "UTXO of an address"),
            (ASSETS.prefix(scope), "asset"),
            (ADDRESS_TXS.prefix(scope), TX_OF_ADDRESS),
        ];
        for (prefix, what) in tables {
            if self.is_joined && what == TX_OF_ADDRESS {
                // It depends on what earlier transactions produced.
                continue;
            }
            let name = |key: &[u8]| {
                let key = key.strip_prefix(&prefix).unwrap_or(key);
                self.place(format!("{what} {}", row_name(what, key)))
            };
            compare_rows(ctx.stored, expected.as_ref(), &prefix, &name, ctx.log)?;
        }
        let tip = ChainState::new(expected.as_ref(), scope).tip()?.height;
        if let Some(indexed) = self.indexed.filter(|indexed| *indexed > tip) {
            let place = self.place("address index");
            ctx.log.finding(Finding::new(place, format!("a height up to {tip}"), indexed));
        }
        Ok(())
    }

    /// Times of acceptance are this node's own; each block but the first has one.
    fn check_times(&self, ctx: &mut AuditContext<'_>) -> Result<(), AuditError> {
        let tip = ChainState::new(ctx.scratch.rows()?.as_ref(), self.scope()).tip()?.height;
        // Blocks of a snapshot were never accepted here: the times begin with the first block after them.
        let is_joined = self.is_joined;
        let mut next = if is_joined { 0 } else { 1u64 };
        let mut wrong = Vec::new();
        ACCEPTED_AT.scan(ctx.stored, self.scope(), &[], None, |key, value| {
            match ACCEPTED_AT.entry(key, value) {
                Ok((height, _)) if is_joined && next == 0 && height >= self.first_block => {
                    next = height.saturating_add(1);
                }
                Ok((height, _)) if height == next => next = next.saturating_add(1),
                Ok((height, _)) => wrong.push((height.min(next), "one for each block".to_owned())),
                Err(error) => wrong.push((next, error.to_string())),
            }
            if wrong.is_empty() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        if wrong.is_empty() && next != tip.saturating_add(1) && !(is_joined && next == 0) {
            wrong.push((next, "nothing".to_owned()));
        }
        for (height, found) in wrong {
            let place = self.place(format!("time of acceptance of block {height}"));
            ctx.log.finding(Finding::new(place, "a time", found));
        }
        Ok(())
    }

    fn count_held(&mut self, ctx: &mut AuditContext<'_>) -> Result<(), AuditError> {
        for (asset, amount) in self.amounts_of_set(ctx.stored)? {
            self.ledgers.entry(asset).or_default().held = amount;
        }
        Ok(())
    }

    /// The counted assets in all UTXOs that a reader shows.
    fn amounts_of_set(&self, reader: &dyn KvRead) -> Result<BTreeMap<AssetId, u128>, AuditError> {
        let mut held = BTreeMap::<AssetId, u128>::new();
        visit_utxos(reader, self.scope(), |bytes| {
            // The comparison of rows reports a damaged row.
            if let Some(utxo) = RawUtxo::new(bytes)
                && self.ledgers.contains_key(&utxo.asset_id())
            {
                let sum = held.entry(utxo.asset_id()).or_default();
                let amount = u128::from(utxo.amount().unwrap_or(0));
                *sum = sum.saturating_add(amount.saturating_mul(Ledger::PER_NANO));
            }
            ControlFlow::Continue(())
        })?;
        Ok(held)
    }
}

fn put_all(out: &mut impl KvWrite, rows: &WriteSet) {
    for (key, value) in rows.iter() {
        match value {
            Some(value) => out.put(key, value),
            None => out.delete(key),
        }
    }
}

/// The key of a row, as it is known elsewhere.
fn row_name(what: &str, key: &[u8]) -> String {
    match (what, <[u8; 8]>::try_from(key), <[u8; 32]>::try_from(key)) {
        ("block", Ok(height), _) => u64::from_be_bytes(height).to_string(),
        (_, _, Ok(id)) => Id::new(id).to_string(),
        _ => match key.split_first_chunk() {
            Some((id, index)) if index.len() == 4 => {
                let index = index.try_into().map_or(0, u32::from_be_bytes);
                format!("{}:{index}", Id::new(*id))
            }
            _ if key.is_empty() => String::new(),
            _ => shown(key),
        },
    }
}
