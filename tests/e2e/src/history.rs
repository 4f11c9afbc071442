//! Makes a data folder like that of a node that joined from a snapshot: the blocks before the snapshot are not
//! stored.

use std::ops::ControlFlow;
use std::path::Path;

use anyhow::{Context as _, Result};
use esker_chain::tables::{BUNDLES, HISTORY_START, HistoryStart, POSITION, UNDO};
use esker_evm_state::blocks::tables::{self as c, Tip};
use esker_evm_state::logs::tables::{LOG_ROWS, LOG_SECTIONS};
use esker_evm_state::state::tables as state;
use esker_primitives::ChainId;
use esker_storage::meta::{self, OpenOptions};
use esker_storage::{KvRead, KvStore as _, Scope, Table, ValueCodec, WriteSet};
use esker_xvm::state::tables as x;
use esker_xvm::state::tables::TxRecord;

/// The content of a joined folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joined {
    /// Height of the last bundle, which is that of the snapshot.
    pub bundle: u64,
    /// Height of the X-Chain's last block, which is the first one stored here.
    pub x_block: u64,
    /// Height of the C-Chain's last block.
    pub c_block: u64,
    /// Height of the C-Chain's first block.
    pub first_c_block: u64,
}

/// Turns the folder of a stopped node of the local network into one that joined from a snapshot of its last bundle,
/// with this many blocks of the C-Chain.
pub fn forget_history(folder: &Path, c_blocks: u64) -> Result<Joined> {
    let store = meta::open_dir(folder, &OpenOptions::TEST)?;
    let reader = store.snapshot()?;
    let reader = reader.as_ref();
    let last = POSITION.get(reader, Scope::NODE, &())?.context("no last bundle")?.height;
    let genesis = BUNDLES.get(reader, Scope::NODE, &0)?.context("no first bundle")?;
    let [(x_chain, _), (c_chain, _)] = genesis.blocks[..] else {
        anyhow::bail!("the network has other chains than X and C");
    };
    let scope_of = |chain: &ChainId| meta::scope(&store, chain);
    let (x_scope, c_scope) = (scope_of(&x_chain)?, scope_of(&c_chain)?);
    let x_block = x::TIP.get(reader, x_scope, &())?.context("X has no tip")?.height;
    let tip = c::TIP.get(reader, c_scope, &())?.context("C has no tip")?;
    let first_c_block = tip.height.saturating_sub(c_blocks - 1).max(1);
    let mut rows = Rows { reader, gone: WriteSet::new() };
    let is_gone = |height: u64, first: u64| (1..first).contains(&height);

    rows.remove(&BUNDLES, Scope::NODE, |height, _| is_gone(*height, last))?;
    rows.remove(&UNDO, Scope::NODE, |_, _| true)?;
    rows.remove(&x::BLOCKS, x_scope, |height, _| is_gone(*height, x_block))?;
    rows.remove(&x::BLOCK_HEIGHTS, x_scope, |_, height| is_gone(*height, x_block))?;
    rows.remove(&x::ACCEPTED_AT, x_scope, |_, _| true)?;
    rows.remove(&x::TXS, x_scope, |_, record| match record {
        TxRecord::InBlock { height, .. } => is_gone(*height, x_block),
        TxRecord::Inline(_) => false,
    })?;
    rows.remove(&x::ADDRESS_TXS, x_scope, |_, _| true)?;
    rows.remove(&x::INDEXED, x_scope, |(), _| true)?;
    rows.remove(&c::BLOCKS, c_scope, |height, _| is_gone(*height, first_c_block))?;
    rows.remove(&c::RECEIPTS, c_scope, |height, _| is_gone(*height, first_c_block))?;
    rows.remove(&c::DESTROYED, c_scope, |height, _| is_gone(*height, first_c_block))?;
    rows.remove(&c::HEIGHTS, c_scope, |_, height| is_gone(*height, first_c_block))?;
    rows.remove(&c::LOCATIONS, c_scope, |_, at| is_gone(at.height, first_c_block))?;
    rows.remove(&LOG_ROWS, c_scope, |_, _| true)?;
    rows.remove(&LOG_SECTIONS, c_scope, |(), _| true)?;
    rows.remove(&esker_nat::state::tables::TXS, c_scope, |_, tx| {
        is_gone(tx.height, first_c_block)
    })?;
    rows.remove(&state::ACCOUNT_UNDO, c_scope, |_, _| true)?;
    rows.remove(&state::SLOT_UNDO, c_scope, |_, _| true)?;
    rows.remove(&state::NODE_UNDO, c_scope, |_, _| true)?;
    rows.remove(&state::STORAGE_NODE_UNDO, c_scope, |_, _| true)?;
    rows.remove(&state::UNDO_KEYS, c_scope, |_, _| true)?;
    for (tables, scope) in [
        (&x::REJECTED, x_scope),
        (&esker_evm::pool::DROPPED, c_scope),
        (&esker_nat::state::tables::DROPPED, c_scope),
    ] {
        rows.remove_all(&tables.records.prefix(scope))?;
        rows.remove_all(&tables.order.prefix(scope))?;
    }
    let mut set = rows.gone;
    c::TIP.put(&mut set, c_scope, &(), &Tip { oldest_state: tip.height, ..tip });
    let blocks = vec![(x_chain, x_block), (c_chain, first_c_block)];
    HISTORY_START.put(&mut set, Scope::NODE, &(), &HistoryStart { bundle: last, blocks });
    store.write(&set)?;
    Ok(Joined { bundle: last, x_block, c_block: tip.height, first_c_block })
}

struct Rows<'a> {
    reader: &'a dyn KvRead,
    gone: WriteSet,
}

impl Rows<'_> {
    /// Removes all rows of a table.
    fn remove_all(&mut self, prefix: &[u8]) -> Result<()> {
        let gone = &mut self.gone;
        self.reader.scan(prefix, None, &mut |key, _| {
            gone.delete(key);
            ControlFlow::Continue(())
        })?;
        Ok(())
    }

    /// Removes the rows of a table for which `is_gone` returns true.
    fn remove<K: esker_storage::KeyCodec, V: ValueCodec>(
        &mut self,
        table: &Table<K, V>,
        scope: Scope,
        is_gone: impl Fn(&K, &V) -> bool,
    ) -> Result<()> {
        let gone = &mut self.gone;
        table.scan(self.reader, scope, &[], None, |key, value| {
            // Rows of another kind share a tag with some tables.
            if let Ok((key, value)) = table.entry(key, value)
                && is_gone(&key, &value)
            {
                table.delete(gone, scope, &key);
            }
            ControlFlow::Continue(())
        })?;
        Ok(())
    }
}
