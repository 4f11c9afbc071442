//! The filters that clients made.

use std::collections::HashMap;
use std::sync::Arc;

use esker_evm::pool::PooledTx;
use esker_evm::view::ChainPosition;
use esker_primitives::ClientAddress;
use esker_primitives::sync::Mutex;
use esker_rpc::RpcError;
use esker_rpc::positional::RpcId;
use tokio::sync::broadcast;

use super::FilterConfig;
use crate::wire::LogFilter;

/// Code of a request beyond a limit, as node providers use it.
const LIMIT_EXCEEDED: i64 = -32005;

/// Interval between two sweeps for idle filters, ms.
const SWEEP_MS: u64 = 1_000;

/// The receiver of a filter for transactions, shared by concurrent requests.
pub(super) type SharedReceiver = Arc<Mutex<TransactionReceiver>>;

/// Transactions that became executable, as the pool sends them.
#[derive(Debug)]
pub(super) struct TransactionReceiver {
    pub(super) events: broadcast::Receiver<PooledTx>,
    /// How many the pool forgot before the next one; not reported yet.
    pub(super) missed: u64,
}

/// The items that a filter returns.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// Hashes of accepted blocks.
    Blocks(Progress),
    /// Logs of accepted blocks.
    Logs(Arc<LogFilter>, Progress),
    /// Transactions, whole or their hashes.
    Transactions { full: bool, receiver: SharedReceiver },
}

/// How far a filter has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// The last height that it returned, and the number of rewinds by then.
    pub(super) last_returned: ChainPosition,
    /// A request reads the heights after it.
    pub(super) is_busy: bool,
}

impl Kind {
    pub(super) const fn blocks(last_returned: ChainPosition) -> Self {
        Self::Blocks(Progress { last_returned, is_busy: false })
    }

    pub(super) fn logs(filter: LogFilter, last_returned: ChainPosition) -> Self {
        Self::Logs(Arc::new(filter), Progress { last_returned, is_busy: false })
    }

    pub(super) fn transactions(full: bool, events: broadcast::Receiver<PooledTx>) -> Self {
        let receiver = Mutex::new_named("evm.filter", TransactionReceiver { events, missed: 0 });
        Self::Transactions { full, receiver: Arc::new(receiver) }
    }

    fn progress(&mut self) -> Option<&mut Progress> {
        match self {
            Self::Blocks(progress) | Self::Logs(_, progress) => Some(progress),
            Self::Transactions { .. } => None,
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Logs(filter, _) => filter.logs.bytes(),
            Self::Blocks(_) | Self::Transactions { .. } => 0,
        }
    }
}

#[derive(Debug)]
struct Filter {
    kind: Kind,
    client: ClientAddress,
    used_ms: u64,
}

impl Filter {
    fn is_idle(&self, now_ms: u64, config: &FilterConfig) -> bool {
        now_ms.saturating_sub(self.used_ms) >= config.idle_ms
    }
}

/// The filters.
#[derive(Debug, Default)]
pub(super) struct InstalledFilters(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    filters: HashMap<RpcId, Filter>,
    all: FilterUsage,
    /// The usage of each client that has filters.
    of_clients: HashMap<ClientAddress, FilterUsage>,
    swept_ms: u64,
}

/// The number of filters, and the bytes of their addresses and topics.
#[derive(Clone, Copy, Debug, Default)]
struct FilterUsage {
    filters: usize,
    bytes: usize,
}

impl FilterUsage {
    fn with(self, kind: &Kind) -> Self {
        Self { filters: self.filters + 1, bytes: self.bytes.saturating_add(kind.bytes()) }
    }

    fn without(self, kind: &Kind) -> Self {
        Self { filters: self.filters - 1, bytes: self.bytes - kind.bytes() }
    }

    /// The exceeded limit, if one is.
    fn excess(self, most: Self) -> Option<String> {
        if self.filters > most.filters {
            Some(format!("{} filters", most.filters))
        } else if self.bytes > most.bytes {
            Some(format!("filters with {} bytes of addresses and topics", most.bytes))
        } else {
            None
        }
    }
}

impl Table {
    fn remove(&mut self, id: &RpcId) -> Option<Filter> {
        let filter = self.filters.remove(id)?;
        self.all = self.all.without(&filter.kind);
        let of_client = self.of_clients.get(&filter.client).copied().unwrap_or_default();
        match of_client.without(&filter.kind) {
            FilterUsage { filters: 0, .. } => self.of_clients.remove(&filter.client),
            left => self.of_clients.insert(filter.client, left),
        };
        Some(filter)
    }

    fn sweep(&mut self, now_ms: u64, config: &FilterConfig) {
        if now_ms.abs_diff(self.swept_ms) < SWEEP_MS {
            return;
        }
        self.swept_ms = now_ms;
        let idle = self.filters.iter().filter(|(_, filter)| filter.is_idle(now_ms, config));
        let idle: Vec<_> = idle.map(|(id, _)| id.clone()).collect();
        idle.iter().for_each(|id| drop(self.remove(id)));
    }

    /// The filter of a request; renews its time.
    fn used(&mut self, id: &RpcId, now_ms: u64, config: &FilterConfig) -> Option<&mut Filter> {
        if self.filters.get(id)?.is_idle(now_ms, config) {
            self.remove(id);
            return None;
        }
        let filter = self.filters.get_mut(id)?;
        filter.used_ms = now_ms;
        Some(filter)
    }
}

impl InstalledFilters {
    /// Adds a filter within the limits of all and of its client. Calls within the process have no limit of their own.
    pub(super) fn add(
        &self,
        id: RpcId,
        kind: Kind,
        client: ClientAddress,
        now_ms: u64,
        config: &FilterConfig,
    ) -> Result<(), RpcError> {
        let mut table = self.0.lock();
        table.sweep(now_ms, config);
        let all = table.all.with(&kind);
        let of_client = table.of_clients.get(&client).copied().unwrap_or_default().with(&kind);
        let most = FilterUsage { filters: config.max_filters, bytes: config.max_criteria_bytes };
        let most_of_client = FilterUsage {
            filters: config.max_client_filters,
            bytes: config.max_client_criteria_bytes,
        };
        let excess = match of_client.excess(most_of_client) {
            Some(excess) if client != ClientAddress::IN_PROCESS => {
                Some(format!("{excess} of one client"))
            }
            Some(_) | None => all.excess(most),
        };
        if let Some(excess) = excess {
            let text = format!(
                "too many filters: the node keeps {excess}, each until it is uninstalled or not asked for {} s",
                config.idle_ms / 1000
            );
            return Err(RpcError::with_code(LIMIT_EXCEEDED, text));
        }
        table.all = all;
        table.of_clients.insert(client, of_client);
        table.filters.insert(id, Filter { kind, client, used_ms: now_ms });
        Ok(())
    }

    /// Filters that are not idle, by kind, for metrics. The list of kinds is constant.
    pub(super) fn counts(&self, now_ms: u64, config: &FilterConfig) -> Vec<(&'static str, u64)> {
        let mut counts = [("blocks", 0), ("logs", 0), ("transactions", 0)];
        let table = self.0.lock();
        for filter in table.filters.values().filter(|filter| !filter.is_idle(now_ms, config)) {
            let kind = match filter.kind {
                Kind::Blocks(_) => 0,
                Kind::Logs(..) => 1,
                Kind::Transactions { .. } => 2,
            };
            counts[kind].1 += 1;
        }
        counts.to_vec()
    }

    /// Removes a filter; false: there is no such one.
    pub(super) fn remove(&self, id: &RpcId, now_ms: u64, config: &FilterConfig) -> bool {
        let removed = self.0.lock().remove(id);
        removed.is_some_and(|filter| !filter.is_idle(now_ms, config))
    }

    /// The kind of a filter, and its progress.
    pub(super) fn get(&self, id: &RpcId, now_ms: u64, config: &FilterConfig) -> Option<Kind> {
        self.0.lock().used(id, now_ms, config).map(|filter| filter.kind.clone())
    }

    /// Like [`Self::get`]; of several concurrent requests for changes, one gets them. The others see
    /// [`Progress::is_busy`] and claim nothing.
    pub(super) fn claim(
        &self,
        id: &RpcId,
        now_ms: u64,
        config: &FilterConfig,
    ) -> Option<(Kind, ChangesClaim<'_>)> {
        let mut table = self.0.lock();
        let filter = table.used(id, now_ms, config)?;
        let kind = filter.kind.clone();
        let is_mine = filter
            .kind
            .progress()
            .is_some_and(|progress| !std::mem::replace(&mut progress.is_busy, true));
        Some((
            kind,
            ChangesClaim { installed: self, id: is_mine.then(|| id.clone()), last_returned: None },
        ))
    }
}

/// The right to return what follows a filter's progress; it ends when dropped.
pub(super) struct ChangesClaim<'a> {
    installed: &'a InstalledFilters,
    /// `None`: another request holds it.
    id: Option<RpcId>,
    last_returned: Option<ChainPosition>,
}

impl ChangesClaim<'_> {
    /// Everything up to this height is returned, of the chain at that position.
    pub(super) fn advance_to(&mut self, height: u64, position: &ChainPosition) {
        self.last_returned = Some(ChainPosition { height, ..*position });
    }
}

impl Drop for ChangesClaim<'_> {
    fn drop(&mut self) {
        let Some(id) = &self.id else { return };
        let mut table = self.installed.0.lock();
        let filter = table.filters.get_mut(id);
        if let Some(progress) = filter.and_then(|filter| filter.kind.progress()) {
            progress.is_busy = false;
            progress.last_returned = self.last_returned.unwrap_or(progress.last_returned);
        }
    }
}
