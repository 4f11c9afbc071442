//! Logs that were found.

use alloy_primitives::{B256, Log};
use esker_evm_state::types::{Receipt, SealedBlock};
use serde::{Serialize, Serializer};

use crate::wire::{LogMatcher, LogReply};

/// Bytes of a log's reply beside its topics and data, about.
const FRAME_BYTES: usize = 420;
/// Bytes of a topic in a reply.
const TOPIC_BYTES: usize = 69;

/// Logs in the order in which they were written. They are kept without the rest of their blocks.
#[derive(Debug, Default)]
pub(super) struct FoundLogs(Vec<FoundLog>);

/// A log, and where it was written.
#[derive(Debug)]
struct FoundLog {
    log: Log,
    block_number: u64,
    block_hash: B256,
    transaction_hash: B256,
    transaction_index: usize,
    log_index: usize,
}

/// How much an answer is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Size {
    pub(super) logs: usize,
    /// About.
    pub(super) bytes: usize,
}

impl Size {
    pub(super) fn and(self, other: Self) -> Self {
        Self { logs: self.logs + other.logs, bytes: self.bytes + other.bytes }
    }
}

/// How much a block adds to an answer; nothing if none of its logs is meant.
pub(super) fn size_of(receipts: &[Receipt], matcher: &LogMatcher) -> Size {
    let logs = receipts.iter().flat_map(|receipt| &receipt.logs).filter(|log| matcher.matches(log));
    logs.fold(Size::default(), |size, log| {
        let bytes = FRAME_BYTES + TOPIC_BYTES * log.topics().len() + 2 * log.data.data.len();
        size.and(Size { logs: 1, bytes })
    })
}

impl FoundLogs {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the logs of a block that are meant.
    pub(super) fn add(&mut self, block: &SealedBlock, receipts: &[Receipt], matcher: &LogMatcher) {
        let mut log_index = 0;
        let with_hashes = block.block.transactions.iter().zip(receipts).enumerate();
        for (transaction_index, (tx, receipt)) in with_hashes {
            for log in &receipt.logs {
                if matcher.matches(log) {
                    self.0.push(FoundLog {
                        log: log.clone(),
                        block_number: block.block.header.number,
                        block_hash: block.hash,
                        transaction_hash: *tx.tx_hash(),
                        transaction_index,
                        log_index,
                    });
                }
                log_index += 1;
            }
        }
    }
}

esker_rpc::schema_as!(FoundLogs, "Logs", Vec<LogReply<'static>>);

impl Serialize for FoundLogs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|found| LogReply {
            log: &found.log,
            block_number: found.block_number,
            block_hash: Some(found.block_hash),
            transaction_hash: found.transaction_hash,
            transaction_index: found.transaction_index,
            log_index: found.log_index,
        }))
    }
}
