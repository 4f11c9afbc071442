//! Events, with the texts of their notifications.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use alloy_primitives::{B256, Log};
use bytes::Bytes;
use esker_evm::chain::AcceptedBlock;
use esker_evm::pool::PooledTx;
use esker_evm::printed::PrintedCall;
use esker_evm::view::{BlockAccepted, BlocksRemoved, ChainPosition};
use esker_evm_execution::console::ConsoleCalls;
use esker_evm_execution::executor::TxConsole;
use esker_evm_execution::rules::{Dialect, Rules};
use esker_evm_state::types::{Receipt, SealedHeader, Transaction};
use serde::Serialize;

use super::kind::{Kind, Source};
use crate::wire::{
    ConsolePlace, ConsoleReply, Hash, LogReply, NewHead, ReceiptForm, ReceiptParts, ReceiptRef,
    TransactionReply, Uint64,
};

/// A block is reported in this order: the head, logs, transactions, receipts, printed texts.
pub(super) const SECTIONS: usize = 5;

/// The section of logs, those of removed blocks too.
const LOGS: usize = 1;

/// The section of transactions, those of the pool too.
const TRANSACTIONS: usize = 2;

/// The section of printed texts, those of calls too.
const PRINTED: usize = 4;

/// Bytes of the texts of a head, a log, a transaction and a receipt, their data and topics apart, and of their own
/// forms.
const HEAD_BYTES: usize = 4096;
const LOG_BYTES: usize = 800;
const TX_BYTES: usize = 1200;
const RECEIPT_BYTES: usize = 1400;

/// Bytes of what one execution printed, and most bytes of its text for a byte of call data: four arguments may be the
/// same bytes of control characters.
const PRINTED_BYTES: usize = 800;
const PRINTED_BYTES_OF_BYTE: usize = 24;

/// Something that subscribers are notified of.
#[derive(Debug)]
pub(super) enum Event {
    Block(BlockEvent),
    Removed(RemovedEvent),
    /// An event of the pool: [`Source::Pending`] or [`Source::Dropped`].
    Pool(Source, Vec<PoolTx>, Dialect),
    /// A call whose code printed.
    Printed(PrintedCall, Text),
}

/// An accepted block.
#[derive(Debug)]
pub(super) struct BlockEvent {
    block: Arc<AcceptedBlock>,
    /// The number of rewinds before.
    rewinds: u64,
    form: ReceiptForm,
    head: Text,
    /// In the order of the block.
    logs: Vec<BlockLog>,
    txs: Vec<TxTexts>,
    /// All receipts as one list.
    receipts: Text,
    /// One for each transaction that printed.
    printed: Vec<Text>,
    /// Transactions by hash with their places, and the logs before theirs.
    places: OnceLock<BTreeMap<B256, (usize, usize)>>,
    /// See [`Event::bytes`].
    bytes: usize,
}

/// Accepted blocks were removed.
#[derive(Debug)]
pub(super) struct RemovedEvent {
    removed: Arc<BlocksRemoved>,
    /// Whether logs show the time of their block.
    has_time: bool,
    /// One for each of its logs.
    texts: Vec<Text>,
}

/// A transaction that can run now, or that the pool dropped.
#[derive(Debug)]
pub(super) struct PoolTx {
    tx: PooledTx,
    texts: TxTexts,
}

/// The outcome of matching an item with a subscription.
#[derive(Debug)]
pub(super) enum Item {
    /// The text of the notification.
    Text(Bytes),
    /// The item does not match the subscription.
    Skipped,
    /// There is no such item, nor any after it.
    End,
}

/// Serialized on first use.
type Text = OnceLock<Bytes>;

#[derive(Debug)]
struct BlockLog {
    /// Its transaction's place in the block, and its own in the receipt.
    at: (usize, usize),
    text: Text,
}

#[derive(Debug, Default)]
struct TxTexts {
    hash: Text,
    full: Text,
}

impl Event {
    pub(super) fn block(accepted: BlockAccepted, rules: &dyn Rules) -> Self {
        let BlockAccepted { block, rewinds } = accepted;
        let form = ReceiptForm::new(rules, &block.block.header);
        let places = block
            .receipts
            .iter()
            .enumerate()
            .flat_map(|(tx, receipt)| (0..receipt.logs.len()).map(move |log| (tx, log)));
        let logs: Vec<_> = places.map(|at| BlockLog { at, text: Text::new() }).collect();
        let txs: Vec<_> = block.block.transactions.iter().map(|_| TxTexts::default()).collect();
        let data = block.receipts.iter().flat_map(|receipt| &receipt.logs);
        // A log is reported by itself and in its receipt.
        let bytes = HEAD_BYTES
            + 4 * block.bytes.len()
            + 5 * data.map(|log| log.data.data.len()).sum::<usize>()
            + 2 * LOG_BYTES * logs.len()
            + (TX_BYTES + RECEIPT_BYTES) * txs.len()
            + block.printed.iter().map(|tx| printed_bytes(&tx.console)).sum::<usize>();
        let printed = block.printed.iter().map(|_| Text::new()).collect();
        Self::Block(BlockEvent {
            block,
            rewinds,
            form,
            head: Text::new(),
            logs,
            txs,
            receipts: Text::new(),
            printed,
            places: OnceLock::new(),
            bytes,
        })
    }

    /// Removed blocks; `has_time`: their logs show the time of their block.
    pub(super) fn removed(removed: Arc<BlocksRemoved>, has_time: bool) -> Self {
        let texts = removed.logs.iter().flatten().map(|_| Text::new()).collect();
        Self::Removed(RemovedEvent { removed, has_time, texts })
    }

    pub(super) fn pool(source: Source, txs: Vec<PooledTx>, dialect: Dialect) -> Self {
        let item = |tx| PoolTx { tx, texts: TxTexts::default() };
        Self::Pool(source, txs.into_iter().map(item).collect(), dialect)
    }

    pub(super) fn printed(call: PrintedCall) -> Self {
        Self::Printed(call, Text::new())
    }

    pub(super) fn source(&self) -> Source {
        match self {
            Self::Printed(..) => Source::Printed,
            Self::Block(_) => Source::Blocks,
            Self::Removed(_) => Source::RemovedLogs,
            Self::Pool(source, ..) => *source,
        }
    }

    /// Memory that this takes with all its texts, bytes, about.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Block(event) => event.bytes,
            Self::Removed(event) => event.bytes(),
            Self::Printed(call, _) => printed_bytes(&call.console),
            Self::Pool(_, txs, _) => txs.iter().map(|tx| TX_BYTES + 4 * tx.tx.size()).sum(),
        }
    }

    /// One item of a section for a subscription that was made at `since`.
    pub(super) fn item(
        &self,
        section: usize,
        item: usize,
        kind: &Kind,
        since: &ChainPosition,
    ) -> Item {
        match self {
            Self::Block(event) if event.is_after(since) => event.item(section, item, kind),
            Self::Removed(event) if section == LOGS && event.removed.rewinds > since.rewinds => {
                event.item(item, kind)
            }
            Self::Printed(call, text) if section == PRINTED && item == 0 => match kind {
                Kind::Console => Item::Text(call_text(call, text)),
                _ => Item::End,
            },
            Self::Block(_) | Self::Removed(_) | Self::Printed(..) => Item::End,
            Self::Pool(source, txs, dialect) => match (kind, txs.get(item)) {
                (
                    Kind::PendingTransactions { full } | Kind::DroppedTransactions { full },
                    Some(PoolTx { tx, texts }),
                ) if section == TRANSACTIONS && kind.wants(*source) => {
                    Item::Text(texts.text(*full, *dialect, || tx.clone()))
                }
                _ => Item::End,
            },
        }
    }
}

impl BlockEvent {
    /// After a rewind, other blocks of the same heights follow.
    fn is_after(&self, since: &ChainPosition) -> bool {
        (self.rewinds, self.number()) > (since.rewinds, since.height)
    }

    fn number(&self) -> u64 {
        self.block.block.header.number
    }

    fn item(&self, section: usize, item: usize, kind: &Kind) -> Item {
        match (section, kind) {
            (0, Kind::NewHeads) if item == 0 => Item::Text(self.head()),
            (LOGS, Kind::Logs(filter)) if filter.watches(self.number()) => {
                let Some(place) = self.logs.get(item) else { return Item::End };
                match self.log(place).filter(|log| filter.matches(log)) {
                    Some(log) => Item::Text(self.log_text(item, place, log)),
                    None => Item::Skipped,
                }
            }
            // As in the reference it is reported as if it had no block.
            (TRANSACTIONS, Kind::AcceptedTransactions { full }) => {
                let tx = self.block.block.transactions.get(item);
                match (self.txs.get(item), tx, self.block.receipts.get(item)) {
                    (Some(texts), Some(tx), Some(receipt)) => {
                        let pooled = || PooledTx::new(tx.clone(), receipt.from, 0, 0);
                        Item::Text(texts.text(*full, self.form.dialect, pooled))
                    }
                    _ => Item::End,
                }
            }
            (3, Kind::TransactionReceipts(wanted)) if item == 0 => {
                let receipts = match wanted {
                    None => self.all_receipts(),
                    Some(hashes) => self.receipts_of(hashes),
                };
                receipts.map_or(Item::End, Item::Text)
            }
            (PRINTED, Kind::Console) => {
                match (self.block.printed.get(item), self.printed.get(item)) {
                    (Some(tx), Some(text)) => Item::Text(self.printed_text(tx, text)),
                    _ => Item::End,
                }
            }
            _ => Item::End,
        }
    }

    /// The places of the transactions, by their hashes, with the number of logs before each.
    fn places(&self) -> &BTreeMap<B256, (usize, usize)> {
        self.places.get_or_init(|| {
            let mut first_log = 0;
            let sent = self.block.block.transactions.iter().zip(&self.block.receipts);
            let place = |(index, (tx, receipt)): (usize, (&Transaction, &Receipt))| {
                let place = (*tx.tx_hash(), (index, first_log));
                first_log += receipt.logs.len();
                place
            };
            sent.enumerate().map(place).collect()
        })
    }

    fn receipts(&self, mut places: Vec<(usize, usize)>) -> Option<Bytes> {
        places.sort_unstable();
        let receipt = |(index, first_log): (usize, usize)| {
            let AcceptedBlock { block, hash, receipts, .. } = &*self.block;
            let (form, hash, parts) = (self.form, Some(*hash), ReceiptParts::Standard);
            ReceiptRef { form, block, hash, receipts, index, first_log, parts }
        };
        let receipts: Vec<_> = places.into_iter().map(receipt).collect();
        (!receipts.is_empty()).then(|| json(&receipts))
    }

    /// Nothing of a block without transactions.
    fn all_receipts(&self) -> Option<Bytes> {
        if self.places().is_empty() {
            return None;
        }
        let all = || self.receipts(self.places().values().copied().collect()).unwrap_or_default();
        Some(self.receipts.get_or_init(all).clone())
    }

    /// Nothing where none of the transactions is in the block. The text is this subscription's own.
    fn receipts_of(&self, transactions: &BTreeSet<B256>) -> Option<Bytes> {
        let places = transactions.iter().filter_map(|hash| self.places().get(hash).copied());
        self.receipts(places.collect())
    }

    fn printed_text(&self, tx: &TxConsole, text: &Text) -> Bytes {
        let AcceptedBlock { block, hash, .. } = &*self.block;
        let transaction = block.transactions.get(tx.index);
        let place = || ConsolePlace {
            transaction_hash: Hash(transaction.map(|tx| *tx.tx_hash()).unwrap_or_default()),
            block_hash: Hash(*hash),
            block_number: Uint64(self.number()),
        };
        text.get_or_init(|| json(&ConsoleReply::of_transaction(place(), &tx.console))).clone()
    }

    fn head(&self) -> Bytes {
        let AcceptedBlock { block, hash, .. } = &*self.block;
        let new_head = || NewHead {
            header: Arc::new(SealedHeader { header: block.header.clone(), hash: *hash }),
            dialect: self.form.dialect,
        };
        self.head.get_or_init(|| json(&new_head())).clone()
    }

    fn log(&self, log: &BlockLog) -> Option<&Log> {
        let (tx, place) = log.at;
        self.block.receipts.get(tx)?.logs.get(place)
    }

    fn log_text(&self, log_index: usize, place: &BlockLog, log: &Log) -> Bytes {
        let (transaction_index, _) = place.at;
        let tx = self.block.block.transactions.get(transaction_index);
        let has_time = self.form.has_log_timestamps;
        let reply = || LogReply {
            log,
            block_number: self.number(),
            block_hash: Some(self.block.hash),
            block_time: has_time.then_some(self.block.block.header.time),
            transaction_hash: tx.map(|tx| *tx.tx_hash()).unwrap_or_default(),
            transaction_index,
            log_index,
            removed: false,
        };
        place.text.get_or_init(|| json(&reply())).clone()
    }
}

impl RemovedEvent {
    fn bytes(&self) -> usize {
        let logs = self.removed.logs.iter().flatten();
        logs.map(|placed| LOG_BYTES + 3 * placed.log.data.data.len()).sum()
    }

    fn item(&self, item: usize, kind: &Kind) -> Item {
        let Kind::Logs(filter) = kind else { return Item::End };
        let placed = self.removed.logs.as_ref().and_then(|logs| logs.get(item));
        let (Some(placed), Some(text)) = (placed, self.texts.get(item)) else { return Item::End };
        if !filter.watches(placed.block_number) || !filter.matches(&placed.log) {
            return Item::Skipped;
        }
        Item::Text(
            text.get_or_init(|| json(&LogReply::placed(placed, true, self.has_time))).clone(),
        )
    }
}

impl TxTexts {
    fn text(&self, full: bool, dialect: Dialect, tx: impl FnOnce() -> PooledTx) -> Bytes {
        let text = if full { &self.full } else { &self.hash };
        text.get_or_init(|| {
            let tx = tx();
            match full {
                true => json(&TransactionReply::pooled(dialect, tx)),
                false => json(&Hash(tx.hash())),
            }
        })
        .clone()
    }
}

fn printed_bytes(console: &ConsoleCalls) -> usize {
    PRINTED_BYTES + PRINTED_BYTES_OF_BYTE * console.bytes()
}

fn call_text(call: &PrintedCall, text: &Text) -> Bytes {
    text.get_or_init(|| json(&ConsoleReply::of_call(call.method, &call.console))).clone()
}

fn json(value: &impl Serialize) -> Bytes {
    esker_go_json::to_go_vec(value).expect("these forms are made of texts and lists").into()
}
