//! Logs, and filters that are polled for changes: the service `eth-filter`
//! (docs/protocol/c-chain-rpc.md, "Filters").
//!
//! - [`range`](self): the blocks of a query; `search`: their logs, within limits.
//! - `installed`: the filters of clients. A filter for blocks or logs stores no events: it has the last height that
//!   it returned, and reads later blocks from the store when it is polled. After a rewind it continues above the
//!   older head. A filter for transactions reads from a buffer that the pool keeps for all receivers.

mod changes;
mod found;
mod installed;
mod on_fork;
mod range;
mod search;

use std::fmt;
use std::sync::Arc;

use esker_evm::view::{ChainEvents, ChainPosition};
use esker_primitives::ClientAddress;
use esker_primitives::Randomness;
use esker_primitives::clock::Clock;
use esker_rpc::handler::{quick, quick_or_restartable, waits_with_address};
use esker_rpc::positional::RpcId;
use esker_rpc::{CallContext, RpcError, Service, cost};

use self::changes::Changes;
use self::found::FoundLogs;
use self::installed::{InstalledFilters, Kind};
use self::search::Bounds;
use super::table::table;
use crate::apis::{Api, Apis};
use crate::reads::ReadApi;
use crate::wire::{BlockNumber, LogBlocks, LogFilter};

/// Bounds of filters and of answers with logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterConfig {
    /// Most blocks of a query (`api-max-blocks-per-request`); 0: no limit.
    pub max_blocks: u64,
    /// Most logs of an answer. Those of one block are never parted.
    pub max_logs: usize,
    /// Most bytes of an answer, about. Logs of one block are never parted.
    pub max_bytes: usize,
    /// Longest time that a search takes, ms.
    pub max_search_ms: u64,
    /// Filters at once.
    pub max_filters: usize,
    /// Filters of one client at once.
    pub max_client_filters: usize,
    /// Addresses and topics of all filters together, bytes.
    pub max_criteria_bytes: usize,
    /// Addresses and topics of the filters of one client, bytes.
    pub max_client_criteria_bytes: usize,
    /// Time that an unused filter lives, ms.
    pub idle_ms: u64,
}

impl Default for FilterConfig {
    fn default() -> Self {
        Self {
            max_blocks: 0,
            max_logs: 10_000,
            max_bytes: 25_000_000,
            max_search_ms: 10_000,
            max_filters: 10_000,
            max_client_filters: 2_500,
            max_criteria_bytes: 32 * 1024 * 1024,
            max_client_criteria_bytes: 8 * 1024 * 1024,
            idle_ms: 5 * 60 * 1000,
        }
    }
}

/// The parts that methods about logs and filters use.
pub struct Filters {
    reads: Arc<ReadApi>,
    events: Arc<dyn ChainEvents>,
    clock: Arc<dyn Clock>,
    randomness: Randomness,
    config: FilterConfig,
    installed: InstalledFilters,
}

impl fmt::Debug for Filters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filters").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Filters {
    /// No filters yet, over a chain. IDs of filters are made with `randomness`.
    pub fn new(
        reads: Arc<ReadApi>,
        events: Arc<dyn ChainEvents>,
        clock: Arc<dyn Clock>,
        randomness: Randomness,
        config: FilterConfig,
    ) -> Arc<Self> {
        let installed = InstalledFilters::default();
        Arc::new(Self { reads, events, clock, randomness, config, installed })
    }

    /// Filters in use by kind, for metrics. Looks at each of them.
    pub fn counts(&self) -> Vec<(&'static str, u64)> {
        self.installed.counts(self.clock.now_ms(), &self.config)
    }

    fn bounds(&self) -> Bounds {
        Bounds {
            max_logs: self.config.max_logs,
            max_bytes: self.config.max_bytes,
            max_ms: self.config.max_search_ms,
            started_ms: self.clock.now_ms(),
        }
    }

    /// Checks the order of the ends of a query. An inverted range has no logs for anvil and Hardhat's node.
    fn check_order(&self, blocks: &LogBlocks) -> Result<(), RpcError> {
        if self.reads.stands_for_tool() { Ok(()) } else { range::check_order(blocks) }
    }

    /// Whether the filter does not exist, and that is answered with `null`, as by Hardhat's node.
    fn is_null(&self, id: &RpcId) -> bool {
        self.reads.config.hardhat_answers
            && self.installed.get(id, self.clock.now_ms(), &self.config).is_none()
    }

    fn position(&self) -> ChainPosition {
        self.reads.chain.position()
    }

    /// The position of a new filter for logs. The first changes of one that begins with an earlier block have its logs, too,
    /// as with anvil.
    fn position_before(&self, filter: &LogFilter) -> ChainPosition {
        let now = self.position();
        let first = match filter.blocks {
            LogBlocks::Range { from: BlockNumber::Number(first), .. } => first,
            LogBlocks::Range { from: BlockNumber::Earliest, .. } => {
                self.reads.chain.genesis_number()
            }
            LogBlocks::Range { .. } | LogBlocks::Hash(_) => return now,
        };
        if !self.reads.config.anvil_answers {
            return now;
        }
        // A forked chain has no logs of its source at hand.
        let first = self.reads.first_own_block(first);
        ChainPosition { height: now.height.min(first.saturating_sub(1)), ..now }
    }

    /// The last height that a filter returned and that is still there.
    fn last_returned(&self, last_returned: &ChainPosition, now: &ChainPosition) -> u64 {
        let lowest = self.reads.chain.lowest_since(last_returned, now);
        lowest.map_or(last_returned.height, |lowest| last_returned.height.min(lowest))
    }

    fn install(&self, kind: Kind, client: ClientAddress) -> Result<RpcId, RpcError> {
        let id = RpcId::random(&self.randomness);
        self.installed.add(id.clone(), kind, client, self.clock.now_ms(), &self.config)?;
        Ok(id)
    }
}

/// The methods of `eth-filter`, if it is served.
pub fn filter_methods(filters: &Arc<Filters>, apis: &Apis) -> Service {
    if !apis.has(Api::EthFilter) {
        return Service::default();
    }
    table::<Filters>()
        .on_list("newPendingTransactionFilter", waits_with_address(new_pending_transaction_filter))
        .params(&["full"])
        .cost(cost::LARGE_READ)
        .on_list("newBlockFilter", waits_with_address(new_block_filter))
        .cost(cost::LARGE_READ)
        .on_list("newFilter", waits_with_address(new_filter))
        .params(&["filter"])
        .cost(cost::LARGE_READ)
        .on_list("uninstallFilter", quick(uninstall_filter))
        .params(&["id"])
        .on_list("getFilterChanges", quick_or_restartable(try_filter_changes, get_filter_changes))
        .returns::<Changes>()
        .params(&["id"])
        .cost(cost::CALL)
        .on_list("getFilterLogs", quick_or_restartable(try_filter_logs, get_filter_logs))
        .returns::<FoundLogs>()
        .params(&["id"])
        .cost(cost::SEARCH)
        .on_list("getLogs", quick_or_restartable(try_logs, get_logs))
        .params(&["filter"])
        .cost(cost::SEARCH)
        .bind(Arc::clone(filters))
}

async fn new_pending_transaction_filter(
    filters: Arc<Filters>,
    (full,): (Option<bool>,),
    client: ClientAddress,
) -> Result<RpcId, RpcError> {
    let kind = Kind::transactions(full.unwrap_or(false), filters.events.pending_transactions());
    filters.install(kind, client)
}

async fn new_block_filter(
    filters: Arc<Filters>,
    (): (),
    client: ClientAddress,
) -> Result<RpcId, RpcError> {
    let mut position = filters.position();
    // Hardhat's begins with the last block.
    if filters.reads.config.hardhat_answers {
        position.height = position.height.saturating_sub(1);
    }
    filters.install(Kind::blocks(position), client)
}

async fn new_filter(
    filters: Arc<Filters>,
    (filter,): (LogFilter,),
    client: ClientAddress,
) -> Result<RpcId, RpcError> {
    if !filters.reads.stands_for_tool() {
        filter.check_watch()?;
    }
    let position = filters.position_before(&filter);
    filters.install(Kind::logs(filter, position), client)
}

fn uninstall_filter(filters: &Filters, (id,): (RpcId,)) -> Result<bool, RpcError> {
    Ok(filters.installed.remove(&id, filters.clock.now_ms(), &filters.config))
}

/// The changes, if that takes but a moment.
fn try_filter_changes(
    filters: &Filters,
    (id,): &(RpcId,),
) -> Option<Result<Option<Changes>, RpcError>> {
    if filters.is_null(id) {
        return Some(Ok(None));
    }
    filters.are_changes_few(id).then(|| filters.changes(id, &CallContext::new()).map(Some))
}

fn get_filter_changes(
    filters: &Filters,
    (id,): (RpcId,),
    context: &CallContext,
) -> Result<Option<Changes>, RpcError> {
    filters.changes(&id, context).map(Some)
}

/// The logs, if there are none and that is soon found.
fn try_filter_logs(
    filters: &Filters,
    (id,): &(RpcId,),
) -> Option<Result<Option<FoundLogs>, RpcError>> {
    match filters.log_filter(id) {
        Ok(filter) => filters.try_logs(&filter).map(|found| found.map(Some)),
        Err(_) if filters.is_null(id) => Some(Ok(None)),
        Err(error) => Some(Err(error)),
    }
}

fn get_filter_logs(
    filters: &Filters,
    (id,): (RpcId,),
    context: &CallContext,
) -> Result<Option<FoundLogs>, RpcError> {
    let filter = filters.log_filter(&id)?;
    filters.logs(&filter, context).map(Some)
}

/// The logs, if there are none and that is soon found.
fn try_logs(filters: &Filters, (filter,): &(LogFilter,)) -> Option<Result<FoundLogs, RpcError>> {
    match filter.logs.check_topics().and_then(|()| filters.check_order(&filter.blocks)) {
        Ok(()) => filters.try_logs(filter),
        Err(error) => Some(Err(error)),
    }
}

fn get_logs(
    filters: &Filters,
    (filter,): (LogFilter,),
    context: &CallContext,
) -> Result<FoundLogs, RpcError> {
    filters.logs(&filter, context)
}
