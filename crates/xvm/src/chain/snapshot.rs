//! The chain in a snapshot of the state: its last block, assets and unspent outputs.

use esker_chain::snapshot::{
    ChainSnapshot, PartRestore, PartSnapshot, RestoreError, SnapshotBlock, SnapshotTable,
};
use esker_primitives::codec::{Decode as _, Encode as _};
use esker_primitives::{AssetId, BlockId};
use esker_storage::{KeyCodec as _, KvRead, Scope, ValueCodec as _, WriteSet};
use esker_transactions::xvm::Block;
use esker_utxo::Utxo;

use super::parts::Xvm;
use crate::execute::{list_utxo, write_block};
use crate::state::tables::{
    ASSETS, AssetRecord, BLOCK_HEIGHTS, BLOCKS, GENESIS, INDEXED, TXS, UTXOS, utxo_key,
};

/// Bytes of a transaction's key, and of an asset's.
const ID_LEN: usize = 32;
/// Bytes of an unspent output's key.
const UTXO_LEN: usize = 36;
/// Most bytes of a row: no transaction is larger.
const MAX_ROW: usize = 1 << 20;

impl PartSnapshot for Xvm {
    fn tables(&self) -> Vec<SnapshotTable> {
        vec![
            SnapshotTable::new(ASSETS.tag(), ASSETS.name(), ID_LEN, MAX_ROW),
            SnapshotTable::new(UTXOS.tag(), UTXOS.name(), UTXO_LEN, MAX_ROW),
        ]
    }

    fn restore(&self) -> Box<dyn PartRestore + '_> {
        let (scope, fee_asset_id) = (self.scope(), self.params().fee_asset_id);
        Box::new(Restore { scope, fee_asset_id, is_indexed: self.index.is_on() })
    }
}

impl ChainSnapshot for Xvm {
    fn keeps_genesis_row(&self, key: &[u8]) -> bool {
        let Some((tag, rest)) = key.split_first() else { return false };
        [GENESIS.tag(), BLOCKS.tag(), BLOCK_HEIGHTS.tag()].contains(tag)
            || *tag == TXS.tag() && rest.len() == ID_LEN
    }
}

struct Restore {
    scope: Scope,
    fee_asset_id: AssetId,
    is_indexed: bool,
}

impl PartRestore for Restore {
    fn block(
        &mut self,
        block: SnapshotBlock<'_>,
        out: &mut WriteSet,
    ) -> Result<BlockId, RestoreError> {
        if !block.extra.is_empty() {
            return Err(RestoreError::invalid("bytes beside it"));
        }
        let parsed = Block::parse(block.bytes).map_err(|e| RestoreError::invalid(e.to_string()))?;
        if parsed.id() != block.id || parsed.height() != block.height {
            return Err(RestoreError::invalid(format!("it is block {}", parsed.id())));
        }
        write_block(out, self.scope, &parsed)?;
        if self.is_indexed {
            // The index begins after it.
            INDEXED.put(out, self.scope, &(), &block.height);
        }
        Ok(parsed.parent_id())
    }

    fn row(
        &mut self,
        tag: u8,
        (key, value): (&[u8], &[u8]),
        _: &dyn KvRead,
        out: &mut WriteSet,
    ) -> Result<(), RestoreError> {
        if tag == UTXOS.tag() { self.utxo(key, value, out) } else { asset(value) }
    }
}

impl Restore {
    /// Writes the output, and what lists it.
    fn utxo(&self, key: &[u8], value: &[u8], out: &mut WriteSet) -> Result<(), RestoreError> {
        let bad = || RestoreError::invalid("an unspent output that does not decode");
        let utxo = Utxo::from_versioned_bytes(value, MAX_ROW).map_err(|_| bad())?;
        let mut named = Vec::with_capacity(UTXO_LEN);
        utxo_key(&utxo.utxo_id).encode_key(&mut named);
        if named != key || utxo.to_versioned_bytes() != value {
            return Err(bad());
        }
        list_utxo(out, self.scope, &self.fee_asset_id, &utxo, value);
        Ok(())
    }
}

fn asset(value: &[u8]) -> Result<(), RestoreError> {
    let mut encoded = Vec::with_capacity(value.len());
    if let Some(record) = AssetRecord::decode_value(value) {
        record.encode_value(&mut encoded);
    }
    match encoded == value && !value.is_empty() {
        true => Ok(()),
        false => Err(RestoreError::invalid("an asset that does not decode")),
    }
}
