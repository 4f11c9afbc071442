//! An accepted block with the UTXOs that it changed.

use std::sync::OnceLock;

use bytes::Bytes;
use esker_chain::ExecutedBlock;
use esker_primitives::{AssetId, BlockId, ShortId, TxId};
use esker_transactions::xvm::{Tx, UnsignedTx};
use esker_utxo::fx::Signers;
use esker_utxo::{Output, Utxo, UtxoId};

use crate::execute::BlockPayload;

/// Memory of an event with all its texts, in units of the block's own bytes.
const BYTES_PER_BLOCK_BYTE: usize = 12;
/// Memory that every event takes besides.
const BYTES_PER_EVENT: usize = 1024;

/// An accepted block, or one that a rewind removed.
#[derive(Debug)]
pub(crate) struct BlockEvent {
    pub(crate) id: BlockId,
    pub(crate) parent_id: BlockId,
    pub(crate) height: u64,
    /// Unix s.
    pub(crate) time_s: u64,
    pub(crate) bytes: Bytes,
    /// A rewind removed the block.
    pub(crate) is_removed: bool,
    /// At height 0 those that created the assets of the genesis, which are not in the block.
    pub(crate) txs: Vec<TxEvent>,
    /// The texts of the block itself, each made once: by encoding.
    pub(crate) texts: [OnceLock<Bytes>; 4],
    /// IDs of the transactions in the block.
    pub(crate) tx_ids: Vec<TxId>,
}

/// An accepted transaction with what it changed.
#[derive(Debug)]
pub(crate) struct TxEvent {
    pub(crate) tx: Tx,
    /// The UTXOs that it consumed, imported, created and exported, in this order.
    pub(crate) changes: Vec<UtxoChange>,
    /// Its texts, each made once: by encoding.
    pub(crate) texts: [OnceLock<Bytes>; 4],
}

/// The kind of change of a UTXO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    /// It joined this chain's set.
    Created,
    /// It left this chain's set.
    Consumed,
    /// It joined the shared memory with another chain.
    Exported,
    /// It left the shared memory with another chain.
    Imported,
}

/// A UTXO that a transaction changed.
#[derive(Debug)]
pub(crate) struct UtxoChange {
    pub(crate) kind: ChangeKind,
    pub(crate) utxo_id: UtxoId,
    pub(crate) asset_id: AssetId,
    pub(crate) holding: Holding,
    pub(crate) text: OnceLock<Bytes>,
}

/// The content of the UTXO, as far as this chain knows.
#[derive(Debug)]
pub(crate) enum Holding {
    /// All of it.
    Output(Output),
    /// The output is another chain's, or of a transaction that this node does not have.
    Signed {
        /// In the asset's smallest unit; unknown of an operation's.
        amount: Option<u64>,
        /// The owners that signed.
        signers: Vec<ShortId>,
    },
}

impl UtxoChange {
    fn new(kind: ChangeKind, utxo: Utxo) -> Self {
        let Utxo { utxo_id, asset_id, output } = utxo;
        Self { kind, utxo_id, asset_id, holding: Holding::Output(output), text: OnceLock::new() }
    }

    /// The owners, as far as they are known.
    pub(crate) fn addresses(&self) -> &[ShortId] {
        match &self.holding {
            Holding::Output(output) => &output.owners().addresses,
            Holding::Signed { signers, .. } => signers,
        }
    }
}

impl TxEvent {
    /// `spent`: the outputs of this chain that it consumed, as far as they are known, in the order of its inputs and
    /// operations.
    pub(super) fn new(tx: Tx, spent: Vec<Utxo>) -> Self {
        let mut changes = consumed(&tx, spent);
        changes.extend(tx.produced_utxos().map(|utxo| UtxoChange::new(ChangeKind::Created, utxo)));
        changes.extend(tx.exported_utxos().map(|utxo| UtxoChange::new(ChangeKind::Exported, utxo)));
        Self { tx, changes, texts: Default::default() }
    }
}

/// The UTXOs that a transaction consumed, here and in shared memory.
fn consumed(tx: &Tx, spent: Vec<Utxo>) -> Vec<UtxoChange> {
    let unsigned = tx.unsigned();
    let mut spent = spent.into_iter().peekable();
    let mut change = |kind, utxo_id: UtxoId, asset_id, amount, slot| match spent
        .next_if(|utxo| kind == ChangeKind::Consumed && utxo.utxo_id == utxo_id)
    {
        Some(utxo) => UtxoChange::new(kind, utxo),
        None => {
            let holding = Holding::Signed { amount, signers: signers(tx, slot) };
            UtxoChange { kind, utxo_id, asset_id, holding, text: OnceLock::new() }
        }
    };
    let mut slots = 0_usize..;
    let mut changes = Vec::new();
    let inputs = unsigned.base().inputs.iter().map(|input| (ChangeKind::Consumed, input));
    let imports = unsigned.imported_inputs().iter().map(|input| (ChangeKind::Imported, input));
    for ((kind, input), slot) in inputs.zip(&mut slots) {
        let amount = Some(input.input.amount);
        changes.push(change(kind, input.utxo_id, input.asset_id, amount, slot));
    }
    for (operation, slot) in unsigned.operations().iter().zip(&mut slots) {
        for utxo_id in &operation.utxo_ids {
            let kind = ChangeKind::Consumed;
            changes.push(change(kind, *utxo_id, operation.asset_id, None, slot));
        }
    }
    for ((kind, input), slot) in imports.zip(&mut slots) {
        let amount = Some(input.input.amount);
        changes.push(change(kind, input.utxo_id, input.asset_id, amount, slot));
    }
    changes
}

/// The addresses that signed in a slot, in ascending order.
fn signers(tx: &Tx, slot: usize) -> Vec<ShortId> {
    let signatures = tx.credentials().get(slot).map_or(0, |slot| slot.signatures().len());
    let mut signers: Vec<_> =
        (0..signatures).filter_map(|index| tx.signer(slot, index).ok()).collect();
    signers.sort_unstable();
    signers.dedup();
    signers
}

impl BlockEvent {
    /// The event of a block that this node executed.
    pub(crate) fn executed(block: &ExecutedBlock, payload: &BlockPayload) -> Self {
        let txs = payload.txs.iter().zip(&payload.spent);
        Self {
            id: block.id,
            parent_id: block.parent_id,
            height: block.height,
            time_s: block.timestamp_ms / 1000,
            bytes: block.bytes.clone(),
            is_removed: false,
            txs: txs.map(|(tx, spent)| TxEvent::new(tx.clone(), spent.clone())).collect(),
            texts: Default::default(),
            tx_ids: payload.txs.iter().map(Tx::id).collect(),
        }
    }

    /// The number of changes of all its transactions.
    pub(crate) fn changes(&self) -> usize {
        self.txs.iter().fold(0, |sum: usize, tx| sum.saturating_add(tx.changes.len()))
    }

    /// A change by its place among those of all its transactions.
    pub(crate) fn change(&self, at: usize) -> Option<(&TxEvent, &UtxoChange)> {
        let mut before = 0_usize;
        for tx in &self.txs {
            let change = at.checked_sub(before).and_then(|at| tx.changes.get(at));
            if let Some(change) = change {
                return Some((tx, change));
            }
            before = before.saturating_add(tx.changes.len());
        }
        None
    }

    /// Memory that this takes with all its texts, bytes, about.
    pub(crate) fn memory(&self) -> usize {
        let txs = self.txs.iter().map(|event| event.tx.bytes().len());
        txs.fold(BYTES_PER_EVENT, |sum, bytes| {
            sum.saturating_add(bytes.saturating_mul(BYTES_PER_BLOCK_BYTE))
        })
    }
}

/// The other chain of an import or export.
pub(crate) fn peer(tx: &UnsignedTx) -> Option<&esker_primitives::ChainId> {
    match tx {
        UnsignedTx::Import(tx) => Some(&tx.source_chain),
        UnsignedTx::Export(tx) => Some(&tx.destination_chain),
        UnsignedTx::Base(_) | UnsignedTx::CreateAsset(_) | UnsignedTx::Operation(_) => None,
    }
}
