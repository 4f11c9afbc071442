//! Changes since a filter's last request.

use std::sync::Arc;

use esker_evm::view::{ChainPosition, PlacedLog};
use esker_rpc::positional::RpcId;
use esker_rpc::{CallContext, RpcError};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::sync::broadcast::error::TryRecvError;

use super::Filters;
use super::found::FoundLogs;
use super::installed::{ChangesClaim, Kind, Progress, SharedReceiver};
use crate::error::read_error;
use crate::wire::{Hash, LogBlocks, LogFilter, TransactionReply};

/// Most blocks in one reply; the rest follows in the next.
const MAX_HASHES: u64 = 10_000;

/// Blocks that are returned without going to the blocking pool.
const FEW_BLOCKS: u64 = 16;

/// Transactions that are returned without going there.
const FEW_TRANSACTIONS: usize = 256;

/// Most bytes of transactions in one reply, give or take a transaction; the rest follows in the next.
const MAX_TRANSACTION_BYTES: usize = 4_000_000;

/// The error that a filter returns once if the removed logs are not known.
const REMOVED_ARE_LOST: &str = "blocks were taken back, and their logs are too many or were not asked for in time; ask again for those that \
                                came after them";

/// The changes since a position.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Changes {
    Hashes(Vec<Hash>),
    Transactions(Vec<TransactionReply>),
    Logs(FoundLogs),
}

fn not_found() -> RpcError {
    RpcError::new("filter not found")
}

impl Filters {
    /// The criteria of a filter for logs.
    pub(super) fn log_filter(&self, id: &RpcId) -> Result<Arc<LogFilter>, RpcError> {
        match self.installed.get(id, self.clock.now_ms(), &self.config) {
            Some(Kind::Logs(filter, _)) => Ok(filter),
            Some(Kind::Blocks(_) | Kind::Transactions { .. }) | None => Err(not_found()),
        }
    }

    /// Whether the changes are quick to read.
    pub(super) fn are_changes_few(&self, id: &RpcId) -> bool {
        let now = self.position();
        let behind = |progress: Progress| {
            now.height.saturating_sub(self.last_returned(&progress.last_returned, &now))
        };
        match self.installed.get(id, self.clock.now_ms(), &self.config) {
            Some(Kind::Blocks(progress)) => behind(progress) <= FEW_BLOCKS,
            Some(Kind::Logs(_, progress)) => {
                behind(progress) == 0 && progress.last_returned.rewinds == now.rewinds
            }
            Some(Kind::Transactions { receiver, .. }) => {
                receiver.lock().events.len() <= FEW_TRANSACTIONS
            }
            None => true,
        }
    }

    /// The changes since the last request. Each change is returned once. If there are more than a reply holds, the
    /// rest stays for the next reply. Changes that can't be read stay, too.
    pub(super) fn changes(&self, id: &RpcId, context: &CallContext) -> Result<Changes, RpcError> {
        let claim = self.installed.claim(id, self.clock.now_ms(), &self.config);
        let (kind, mut claim) = claim.ok_or_else(not_found)?;
        let mut now = self.position();
        loop {
            let changes = self.changes_at(&kind, &now, &mut claim, context);
            let before = std::mem::replace(&mut now, self.position());
            // A rewind may have removed the blocks meanwhile.
            if changes.is_ok() || before.rewinds == now.rewinds {
                return changes;
            }
        }
    }

    /// The changes up to a position.
    fn changes_at(
        &self,
        kind: &Kind,
        now: &ChainPosition,
        claim: &mut ChangesClaim<'_>,
        context: &CallContext,
    ) -> Result<Changes, RpcError> {
        let height = now.height;
        match kind {
            Kind::Transactions { full, receiver } => self.transactions(*full, receiver),
            Kind::Blocks(Progress { is_busy: true, .. }) => Ok(Changes::Hashes(Vec::new())),
            Kind::Logs(_, Progress { is_busy: true, .. }) => {
                Ok(Changes::Logs(FoundLogs::default()))
            }
            Kind::Blocks(Progress { last_returned, .. }) => {
                let last_returned = self.last_returned(last_returned, now);
                let last = height.min(last_returned.saturating_add(MAX_HASHES));
                let hashes = self.hashes(last_returned.saturating_add(1), last, context)?;
                claim.advance_to(last.max(last_returned), now);
                Ok(Changes::Hashes(hashes))
            }
            Kind::Logs(filter, Progress { last_returned: before, .. }) => {
                let last_returned = self.last_returned(before, now);
                // A filter reports only removals of blocks that it has returned.
                let removed = match last_returned < before.height {
                    true => self.removed(filter, before, now),
                    false => Some(FoundLogs::default()),
                };
                let Some(mut logs) = removed else {
                    claim.advance_to(last_returned, now);
                    return Err(RpcError::new(REMOVED_ARE_LOST));
                };
                let (from, to) = watched(filter, last_returned.saturating_add(1), height);
                if from > to {
                    claim.advance_to(height.max(last_returned), now);
                    return Ok(Changes::Logs(logs));
                }
                let found = self.search(&filter.logs, from..=to, context)?;
                claim.advance_to(found.stopped.map_or(height, |stopped| stopped.at - 1), now);
                logs.append(found.logs);
                Ok(Changes::Logs(logs))
            }
        }
    }

    /// The logs that a filter returned and whose blocks were removed since; `None` if they are not kept.
    fn removed(
        &self,
        filter: &LogFilter,
        before: &ChainPosition,
        now: &ChainPosition,
    ) -> Option<FoundLogs> {
        let mut found = FoundLogs::default();
        let mut returned = before.height;
        for removed in self.reads.chain.removed_since(before, now)? {
            if returned <= removed.height {
                continue;
            }
            let logs = removed.logs.as_ref()?.iter();
            let is_meant = |placed: &&PlacedLog| {
                placed.block_number <= returned
                    && filter.watches(placed.block_number)
                    && filter.logs.matches(&placed.log)
            };
            found.add_removed(logs.filter(is_meant), self.reads.chain.rules().has_log_timestamps());
            returned = returned.min(removed.height);
        }
        Some(found)
    }

    /// Transactions that became executable, as far as the pool remembers them. If it has forgotten some, one reply is an
    /// error that says so, so that the others are not taken for all.
    fn transactions(&self, full: bool, receiver: &SharedReceiver) -> Result<Changes, RpcError> {
        let mut receiver = receiver.lock();
        let (mut transactions, mut bytes) = (Vec::new(), 0);
        while receiver.missed == 0 && bytes < MAX_TRANSACTION_BYTES {
            match receiver.events.try_recv() {
                Ok(tx) => {
                    bytes += if full { tx.size() } else { 0 };
                    transactions.push(tx);
                }
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
                Err(TryRecvError::Lagged(missed)) => receiver.missed = missed,
            }
        }
        if transactions.is_empty() && receiver.missed > 0 {
            let missed = std::mem::take(&mut receiver.missed);
            return Err(RpcError::new(format!(
                "{missed} pending transactions were not asked for in time and are lost; ask again for those that \
                 came after them"
            )));
        }
        Ok(if full {
            let pooled = |tx| TransactionReply::pooled(self.reads.dialect(), tx);
            Changes::Transactions(transactions.into_iter().map(pooled).collect())
        } else {
            Changes::Hashes(transactions.iter().map(|tx| Hash(*tx.tx().tx_hash())).collect())
        })
    }

    fn hashes(&self, from: u64, to: u64, context: &CallContext) -> Result<Vec<Hash>, RpcError> {
        let mut hashes = Vec::new();
        for height in from..=to {
            if context.is_cancelled() {
                return Err(RpcError::new("the client has gone"));
            }
            let header = self.reads.chain.header_at(height).map_err(read_error)?;
            let missing = || self.reads.chain.missing(format!("block {height}"));
            hashes.push(Hash(header.ok_or_else(|| read_error(missing()))?.hash));
        }
        Ok(hashes)
    }
}

/// The part of new heights that a filter watches.
fn watched(filter: &LogFilter, from: u64, to: u64) -> (u64, u64) {
    let LogBlocks::Range { from: first, to: last } = filter.blocks else { return (from, to) };
    (from.max(first.fixed().unwrap_or(from)), to.min(last.fixed().unwrap_or(to)))
}
