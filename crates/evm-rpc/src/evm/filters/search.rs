//! Finding logs, block by block, within the bounds of an answer.

use std::ops::RangeInclusive;

use esker_evm_state::logs::LogQuery;
use esker_rpc::{CallContext, RpcError};
use serde::Serialize;

use super::found::{FoundLogs, Size, size_of};
use super::{Filters, range};
use crate::error::read_error;
use crate::wire::{AnyOf, LogFilter, LogMatcher, Uint64};

/// Parts of a range that are looked through before a search goes to the blocking pool.
const TRY_PARTS: usize = 8;
/// Values that a query may name to be tried in place.
const TRY_VALUES: usize = 32;

/// Code of a query beyond a limit; node providers use it so.
const LIMIT_EXCEEDED: i64 = -32005;

/// Bounds of one search.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) max_logs: usize,
    pub(super) max_bytes: usize,
    pub(super) max_ms: u64,
    /// When it began, Unix ms.
    pub(super) started_ms: u64,
}

/// The outcome of a search.
#[derive(Debug)]
pub(super) struct SearchOutcome {
    pub(super) logs: FoundLogs,
    /// The position at which it ended early, if it did.
    pub(super) stopped: Option<StoppedSearch>,
}

/// A search that stopped before the end of its range.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoppedSearch {
    /// The first height that was not searched. The height before it is in the range.
    pub(super) at: u64,
    why: ExceededLimit,
}

#[derive(Clone, Copy, Debug)]
enum ExceededLimit {
    Logs(usize),
    Bytes(usize),
    Ms(u64),
}

/// The `data` of a query beyond a limit: a range within the limit.
#[derive(Serialize)]
struct SuggestedRange {
    from: Uint64,
    to: Uint64,
    limit: u64,
}

impl StoppedSearch {
    /// The error of a query that begins at this height.
    fn error(self, from: u64) -> RpcError {
        let (limit, what) = match self.why {
            ExceededLimit::Logs(limit) => {
                (limit as u64, format!("returned more than {limit} results"))
            }
            ExceededLimit::Bytes(limit) => {
                (limit as u64, format!("returned more than {limit} bytes"))
            }
            ExceededLimit::Ms(limit) => (limit, format!("took longer than {limit} ms")),
        };
        let to = self.at - 1;
        let text = format!("query {what}. Try with this block range [{from:#x}, {to:#x}].");
        let advice = SuggestedRange { from: Uint64(from), to: Uint64(to), limit };
        RpcError::with_code(LIMIT_EXCEEDED, text).with_data(&advice)
    }
}

/// The query for the index of blooms.
fn query_of(matcher: &LogMatcher) -> LogQuery {
    let query = LogQuery::any().one_of(matcher.addresses().values());
    matcher.topics().iter().map(AnyOf::values).fold(query, LogQuery::one_of)
}

impl Filters {
    /// The logs that a filter means, or why they can't be returned.
    pub(super) fn logs(
        &self,
        filter: &LogFilter,
        context: &CallContext,
    ) -> Result<FoundLogs, RpcError> {
        let range = range::heights(&self.reads, &filter.blocks, self.config.max_blocks)?;
        let Some(range) = range else { return Ok(FoundLogs::default()) };
        let from = *range.start();
        let found = self.search(&filter.logs, range, context)?;
        match found.stopped {
            None => Ok(found.logs),
            Some(stopped) => Err(stopped.error(from)),
        }
    }

    /// Like [`Self::logs`], if it is soon found that there are none.
    pub(super) fn try_logs(&self, filter: &LogFilter) -> Option<Result<FoundLogs, RpcError>> {
        if filter.logs.values() > TRY_VALUES {
            return None;
        }
        let range = match range::heights(&self.reads, &filter.blocks, self.config.max_blocks) {
            Ok(Some(range)) => range,
            Ok(None) => return Some(Ok(FoundLogs::default())),
            Err(error) => return Some(Err(error)),
        };
        let (query, to) = (query_of(&filter.logs), *range.end());
        let mut next = Some(*range.start());
        for _ in 0..TRY_PARTS {
            let Some(from) = next else { return Some(Ok(FoundLogs::default())) };
            let part = self.reads.chain.blocks_with_logs(&query, from, to).ok()?;
            if !part.heights.is_empty() {
                return None;
            }
            next = part.next;
        }
        None
    }

    /// The logs of a range of heights, none of which is above the head. It ends early, between two blocks, at the
    /// bounds of an answer; one block always fits.
    pub(super) fn search(
        &self,
        matcher: &LogMatcher,
        range: RangeInclusive<u64>,
        context: &CallContext,
    ) -> Result<SearchOutcome, RpcError> {
        let (bounds, query) = (self.bounds(), query_of(matcher));
        let (first, last) = range.into_inner();
        let (mut logs, mut size) = (FoundLogs::default(), Size::default());
        let mut next = Some(first);
        let pause = |at| {
            if context.is_cancelled() {
                return Err(RpcError::new("the client has gone"));
            }
            let is_late = at > first && self.is_over_time(&bounds);
            Ok(is_late.then_some(StoppedSearch { at, why: ExceededLimit::Ms(bounds.max_ms) }))
        };
        while let Some(from) = next {
            if let stopped @ Some(_) = pause(from)? {
                return Ok(SearchOutcome { logs, stopped });
            }
            let part = self.reads.chain.blocks_with_logs(&query, from, last).map_err(read_error)?;
            for at in part.heights {
                if let stopped @ Some(_) = pause(at)? {
                    return Ok(SearchOutcome { logs, stopped });
                }
                let receipts = self.reads.chain.receipts_at(at).map_err(read_error)?;
                let more = size_of(&receipts, matcher);
                if more.logs == 0 {
                    continue;
                }
                size = size.and(more);
                if let Some(why) = bounds.exceeded_limit(size)
                    && !logs.is_empty()
                {
                    return Ok(SearchOutcome { logs, stopped: Some(StoppedSearch { at, why }) });
                }
                let block = self.reads.chain.block_at(at).map_err(read_error)?;
                let missing = || self.reads.chain.missing(format!("block {at}"));
                let block = block.ok_or_else(|| read_error(missing()))?;
                let receipts = self.reads.chain.receipts_of(at, block.hash).map_err(read_error)?;
                let has_time = self.reads.chain.rules().has_log_timestamps();
                logs.add(&block, &receipts, matcher, has_time);
            }
            next = part.next;
        }
        Ok(SearchOutcome { logs, stopped: None })
    }

    fn is_over_time(&self, bounds: &Bounds) -> bool {
        self.clock.now_ms().saturating_sub(bounds.started_ms) >= bounds.max_ms
    }
}

impl Bounds {
    fn exceeded_limit(&self, size: Size) -> Option<ExceededLimit> {
        if size.logs > self.max_logs {
            return Some(ExceededLimit::Logs(self.max_logs));
        }
        (size.bytes > self.max_bytes).then_some(ExceededLimit::Bytes(self.max_bytes))
    }
}
