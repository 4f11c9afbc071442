//! Rows of the extension: accepted atomic transactions, and why others were dropped. Tags 0x60 to 0x6f of the chain's
//! scope.

use esker_chain::DropTables;
use esker_primitives::ids::TxId;
use esker_storage::{KvRead, KvWrite, Scope, StorageError, StorageResult, Table, ValueCodec};
use esker_transactions::nat::AtomicTx;

/// Accepted atomic transactions by ID.
pub const TXS: Table<TxId, AcceptedTx> = Table::new(0x60, "atomic transaction");

/// The reason why atomic transactions that the pool had taken were dropped.
pub static DROPPED: DropTables = DropTables {
    records: Table::new(0x61, "dropped atomic transaction"),
    order: Table::new(0x62, "order of dropped atomic transactions"),
};

/// An accepted transaction as it is stored: its height (u64), then its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedTx {
    /// Height of its block.
    pub height: u64,
    /// Its signed bytes, with their version.
    pub bytes: Vec<u8>,
}

impl AcceptedTx {
    /// The transaction that was accepted under an ID, if one was.
    pub fn get(reader: &dyn KvRead, scope: Scope, id: &TxId) -> StorageResult<Option<Self>> {
        TXS.get(reader, scope, id)
    }

    /// Records that the block of a height has a transaction.
    pub(crate) fn put(out: &mut impl KvWrite, scope: Scope, height: u64, tx: &AtomicTx) {
        TXS.put(out, scope, &tx.id(), &Self { height, bytes: tx.bytes().to_vec() });
    }

    /// The transaction.
    pub fn tx(&self) -> StorageResult<AtomicTx> {
        AtomicTx::parse(&self.bytes).map_err(|fault| {
            StorageError::Corrupted(format!("a stored atomic transaction is damaged: {fault}"))
        })
    }
}

impl ValueCodec for AcceptedTx {
    fn encode_value(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.height.to_be_bytes());
        out.extend_from_slice(&self.bytes);
    }

    fn decode_value(bytes: &[u8]) -> Option<Self> {
        let (height, bytes) = bytes.split_first_chunk()?;
        Some(Self { height: u64::from_be_bytes(*height), bytes: bytes.to_vec() })
    }
}
