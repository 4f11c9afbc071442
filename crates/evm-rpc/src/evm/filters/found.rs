//! Found logs.

use esker_evm::view::PlacedLog;
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

/// A log, whether its block was removed, and whether it shows the block's time.
#[derive(Debug)]
struct FoundLog {
    placed: PlacedLog,
    removed: bool,
    has_time: bool,
}

impl FoundLog {
    fn reply(&self) -> LogReply<'_> {
        LogReply::placed(&self.placed, self.removed, self.has_time)
    }
}

/// The size of an answer.
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
    pub(super) fn add(
        &mut self,
        block: &SealedBlock,
        receipts: &[Receipt],
        matcher: &LogMatcher,
        has_time: bool,
    ) {
        let logs = PlacedLog::in_block(block, receipts, |log| matcher.matches(log));
        self.0.extend(logs.map(|placed| FoundLog { placed, removed: false, has_time }));
    }

    /// Adds logs of removed blocks.
    pub(super) fn add_removed<'a>(
        &mut self,
        logs: impl Iterator<Item = &'a PlacedLog>,
        has_time: bool,
    ) {
        let removed =
            |placed: &PlacedLog| FoundLog { placed: placed.clone(), removed: true, has_time };
        self.0.extend(logs.map(removed));
    }

    /// Adds other logs after these.
    pub(super) fn append(&mut self, later: Self) {
        self.0.extend(later.0);
    }
}

esker_rpc::schema_as!(FoundLogs, "Logs", Vec<LogReply<'static>>);

impl Serialize for FoundLogs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(FoundLog::reply))
    }
}
