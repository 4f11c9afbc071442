//! Typed reads of the chain's state, over a snapshot, an overlay or pending writes.

use bytes::Bytes;
use esker_primitives::codec::Decode;
use esker_primitives::{AssetId, BlockId, TxId};
use esker_storage::{KvRead, Scope, StorageError, StorageResult};
use esker_transactions::xvm::Tx;
use esker_utxo::{Utxo, UtxoId};

use super::tables::{
    ASSETS, AssetRecord, BLOCK_HEIGHTS, BLOCKS, TIP, TXS, Tip, TxRecord, UTXOS, utxo_key,
};

/// The state that a reader shows.
#[derive(Clone, Copy)]
pub struct ChainState<'a> {
    reader: &'a dyn KvRead,
    scope: Scope,
}

impl std::fmt::Debug for ChainState<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChainState").field("scope", &self.scope).finish_non_exhaustive()
    }
}

impl<'a> ChainState<'a> {
    /// The chain of that scope, as `reader` shows it.
    pub fn new(reader: &'a dyn KvRead, scope: Scope) -> Self {
        Self { reader, scope }
    }

    /// The reader.
    pub fn reader(&self) -> &'a dyn KvRead {
        self.reader
    }

    /// Where the chain's rows lie.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// The last block; an error if the chain has no genesis here.
    pub fn tip(&self) -> StorageResult<Tip> {
        TIP.get(self.reader, self.scope, &())?
            .ok_or_else(|| StorageError::Corrupted("the chain has no last block".into()))
    }

    /// An unspent output.
    pub fn utxo(&self, id: &UtxoId) -> StorageResult<Option<Utxo>> {
        let parsed = UTXOS.get_with(self.reader, self.scope, &utxo_key(id), |bytes| {
            Utxo::from_versioned_bytes(bytes, bytes.len())
        })?;
        match parsed {
            None => Ok(None),
            Some(Ok(utxo)) => Ok(Some(utxo)),
            Some(Err(error)) => Err(StorageError::Corrupted(format!("{id:?}: {error}"))),
        }
    }

    /// Bytes of an unspent output, version prefix included.
    pub fn utxo_bytes(&self, id: &UtxoId) -> StorageResult<Option<Vec<u8>>> {
        UTXOS.get(self.reader, self.scope, &utxo_key(id))
    }

    /// An asset.
    pub fn asset(&self, id: &AssetId) -> StorageResult<Option<AssetRecord>> {
        ASSETS.get(self.reader, self.scope, id)
    }

    /// Whether a transaction was accepted.
    pub fn has_tx(&self, id: &TxId) -> StorageResult<bool> {
        TXS.contains(self.reader, self.scope, id)
    }

    /// Bytes of an accepted transaction, version prefix included; genesis assets too.
    pub fn tx_bytes(&self, id: &TxId) -> StorageResult<Option<Vec<u8>>> {
        let Some(record) = TXS.get(self.reader, self.scope, id)? else { return Ok(None) };
        let (height, offset, len) = match record {
            TxRecord::Inline(bytes) => return Ok(Some(bytes)),
            TxRecord::InBlock { height, offset, len } => (height, offset, len),
        };
        let slice = BLOCKS.get_with(self.reader, self.scope, &height, |block| {
            let from = usize::try_from(offset).ok()?;
            let to = from.checked_add(usize::try_from(len).ok()?)?;
            // Within a block transactions have no version prefix.
            Some([&[0, 0], block.get(from..to)?].concat())
        })?;
        match slice.flatten() {
            Some(bytes) => Ok(Some(bytes)),
            None => Err(StorageError::Corrupted(format!(
                "transaction {id} is not where it should be in block {height}"
            ))),
        }
    }

    /// An accepted transaction.
    pub fn tx(&self, id: &TxId) -> StorageResult<Option<Tx>> {
        let Some(bytes) = self.tx_bytes(id)? else { return Ok(None) };
        Tx::parse_stored(&bytes)
            .map(Some)
            .map_err(|error| StorageError::Corrupted(format!("transaction {id}: {error}")))
    }

    /// Height of an accepted block.
    pub fn block_height(&self, id: &BlockId) -> StorageResult<Option<u64>> {
        BLOCK_HEIGHTS.get(self.reader, self.scope, id)
    }

    /// Bytes of the accepted block at a height.
    pub fn block(&self, height: u64) -> StorageResult<Option<Bytes>> {
        Ok(BLOCKS.get(self.reader, self.scope, &height)?.map(Bytes::from))
    }
}
