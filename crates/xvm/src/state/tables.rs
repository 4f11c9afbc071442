//! Every table of an asset-VM chain, all in the chain's own scope. Integers in keys and values are big-endian.
//!
//! Shared memory is not among them: it lies between two chains and belongs to `esker_shared_memory`.

use std::ops::ControlFlow;

use esker_chain::commitment::StateTable;
use esker_chain::{DropTables, stored_as_codec};
use esker_primitives::codec::{CodecError, Decode, Encode, Reader, Writer};
use esker_primitives::{AssetId, BlockId, Id, ShortId, TxId};
use esker_storage::{KvRead, Scope, StorageResult, Table};
use esker_utxo::UtxoId;

/// The last accepted block; one row.
pub const TIP: Table<(), Tip> = Table::new(0x01, "tip");

/// The genesis from which the store was made, so that another one is refused; one row.
pub const GENESIS: Table<(), GenesisRecord> = Table::new(0x02, "genesis");

/// Accepted blocks by height, as they travel.
pub const BLOCKS: Table<u64, Vec<u8>> = Table::new(0x03, "block");

/// Heights of accepted blocks by block ID.
pub const BLOCK_HEIGHTS: Table<BlockId, u64> = Table::new(0x04, "block-height");

/// When this node accepted a block, Unix ms, by height. Not part of the state: nodes differ in it.
pub const ACCEPTED_AT: Table<u64, u64> = Table::new(0x05, "accepted-at");

/// Accepted transactions by ID: where their bytes are.
pub const TXS: Table<TxId, TxRecord> = Table::new(0x06, "tx");

/// Unspent outputs by transaction ID and output index, as they travel. Shares its tag with [`TXS`], whose keys are
/// shorter: a transaction's row and those of its outputs lie together, so that accepting it changes one page of the
/// store instead of one for each. [`visit_utxos`] goes over these rows alone.
pub const UTXOS: Table<(TxId, u32), Vec<u8>> = Table::new(0x06, "utxo");

/// Unspent outputs by owner address and UTXO ID (hash of output index and transaction ID). The value holds what a
/// page shows, in a short form (`index_row.rs`), so that a page is one scan.
pub const ADDRESS_UTXOS: Table<(ShortId, Id), Vec<u8>> = Table::new(0x08, "address-utxo");

/// The properties of an asset that verification and descriptions need, by asset ID.
pub const ASSETS: Table<AssetId, AssetRecord> = Table::new(0x09, "asset");

/// Transactions that changed an address's holdings of an asset: address, asset, position from 0 in the order of
/// acceptance.
pub const ADDRESS_TXS: Table<(ShortId, AssetId, u64), TxId> = Table::new(0x0a, "address-tx");

/// Height of the last block that [`ADDRESS_TXS`] covers; one row, absent while the index was never on.
pub const INDEXED: Table<(), u64> = Table::new(0x0b, "indexed-height");

/// The reason why transactions that this node had taken in can't be accepted any more, by transaction ID; and their
/// IDs in the order in which they were rejected.
pub static REJECTED: DropTables =
    DropTables { records: Table::new(0x0c, "rejected"), order: Table::new(0x0d, "rejected-order") };

/// What the chain took over from another network's chain at its beginning; one row.
pub const TAKEN_OVER: Table<(), Vec<u8>> = Table::new(0x0e, "taken-over");

/// The tables that bundles commit to: spending needs UTXOs, and what an asset permits. The rest is in blocks or follows
/// from these.
pub(crate) const STATE: [StateTable; 3] = [
    StateTable::of_chain(UTXOS.tag()).with_key_len(UTXO_KEY_LEN),
    StateTable::of_chain(ASSETS.tag()),
    StateTable::node_wide(esker_shared_memory::ELEMENTS_TAG),
];

/// Bytes of a key of [`UTXOS`].
const UTXO_KEY_LEN: usize = 36;

/// The key of a UTXO in [`UTXOS`].
pub const fn utxo_key(id: &UtxoId) -> (TxId, u32) {
    (id.tx_id, id.output_index)
}

/// Visits the bytes of all unspent outputs, in the order of their keys, until `visit` breaks.
pub fn visit_utxos(
    reader: &dyn KvRead,
    scope: Scope,
    mut visit: impl FnMut(&[u8]) -> ControlFlow<()>,
) -> StorageResult<()> {
    UTXOS.scan(reader, scope, &[], None, |key, value| {
        if key.len() == UTXO_KEY_LEN { visit(value) } else { ControlFlow::Continue(()) }
    })
}

/// The last accepted block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tip {
    /// Its ID.
    pub id: BlockId,
    /// Blocks since genesis.
    pub height: u64,
    /// Its time, Unix seconds.
    pub time_s: u64,
}

/// The genesis from which a chain's store was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GenesisRecord {
    /// ID of the block of height 0.
    pub block_id: BlockId,
    /// sha256 of the genesis bytes.
    pub digest: Id,
}

/// The place of a transaction's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TxRecord {
    /// In the block of that height: offset and length there, without the version prefix.
    InBlock {
        /// Height of the block.
        height: u64,
        /// The position of its bytes in the block's.
        offset: u32,
        /// The length of its bytes.
        len: u32,
    },
    /// Here, version prefix included: a genesis asset, which no block holds.
    Inline(Vec<u8>),
}

/// An asset, as far as verification and descriptions need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssetRecord {
    /// Digits after the decimal point.
    pub denomination: u8,
    /// Bit `i`: the asset has a state for the feature extension of index `i`.
    pub fx_bits: u8,
    /// Full name.
    pub name: String,
    /// Ticker.
    pub symbol: String,
}

stored_as_codec!(Tip, GenesisRecord, TxRecord, AssetRecord);

impl Encode for Tip {
    fn encode(&self, w: &mut Writer) {
        w.id(&self.id);
        w.u64(self.height);
        w.u64(self.time_s);
    }
}

impl Decode for Tip {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self { id: r.id()?, height: r.u64()?, time_s: r.u64()? })
    }
}

impl Encode for GenesisRecord {
    fn encode(&self, w: &mut Writer) {
        w.id(&self.block_id);
        w.id(&self.digest);
    }
}

impl Decode for GenesisRecord {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self { block_id: r.id()?, digest: r.id()? })
    }
}

impl Encode for TxRecord {
    fn encode(&self, w: &mut Writer) {
        match self {
            Self::InBlock { height, offset, len } => {
                w.boolean(false);
                w.u64(*height);
                w.u32(*offset);
                w.u32(*len);
            }
            Self::Inline(bytes) => {
                w.boolean(true);
                w.bytes(bytes);
            }
        }
    }
}

impl Decode for TxRecord {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(if r.boolean()? {
            Self::Inline(r.bytes()?.to_vec())
        } else {
            Self::InBlock { height: r.u64()?, offset: r.u32()?, len: r.u32()? }
        })
    }
}

impl Encode for AssetRecord {
    fn encode(&self, w: &mut Writer) {
        w.u8(self.denomination);
        w.u8(self.fx_bits);
        w.bytes(self.name.as_bytes());
        w.bytes(self.symbol.as_bytes());
    }
}

impl Decode for AssetRecord {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self {
            denomination: r.u8()?,
            fx_bits: r.u8()?,
            name: text(r.bytes()?),
            symbol: text(r.bytes()?),
        })
    }
}

/// Names are any bytes on the wire (a genesis is not checked for UTF-8); as text they are what Go makes of them.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
