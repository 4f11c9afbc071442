//! The open connections: the phase of each and its start, so that slow ones are closed.
//!
//! A connection stores its phase in one atomic word. One task checks all connections a few times a second. A request
//! thus costs a few nanoseconds; separate timers would cost it a lock each. Each stream of a connection of HTTP/2 has
//! a phase of its own.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::task::Waker;
use std::time::{Duration, Instant};

use esker_primitives::sync::Mutex;
use esker_rpc::work::{Client, MemoryRelief, Work};
use futures_util::task::AtomicWaker;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;

use super::config::{HttpConfig, SMALL_BODY};
use super::descriptors;
use super::metrics::{CloseReason, HttpMetrics};
use super::phase::{BUSY_GRACE_MS, Phase};

/// Time that a closing connection still reads from its client, so that the client gets the reply and not a reset.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// Interval of the checks while the timeouts are long.
const SLOWEST_TICK: Duration = Duration::from_millis(500);
const FASTEST_TICK: Duration = Duration::from_millis(5);
/// Least time between two warnings about the connection limit.
const WARNING_INTERVAL_MS: u64 = 60_000;
/// Interval at which a new connection checks for room.
const ROOM_TICK: Duration = Duration::from_millis(100);

/// The share of connections that may be websockets: they are long-lived, and requests need the rest.
const SOCKET_SHARE: (usize, usize) = (3, 4);

/// Most streams of a connection that are served at a time: as many as calls of a websocket.
const MAX_SERVED: usize = 16;

/// Mask of the phase in the stored word.
const PHASES: u64 = 0xff;

/// One open connection, or one stream of a connection of HTTP/2.
#[derive(Debug)]
pub(super) struct Connection {
    /// Start of the phase in milliseconds of [`Connections::now`]; the phase in the lowest byte.
    phase_and_start: AtomicU64,
    /// The client may still be sending bytes that the node ignores.
    unread: AtomicBool,
    task: OnceLock<AbortHandle>,
    /// The task that owns it after an upgrade.
    upgraded: OnceLock<AbortHandle>,
    /// Wakes a task that ends by itself when the server stops.
    at_stop: AtomicWaker,
    all: Arc<Connections>,
    number: u64,
    client: Client,
    /// The streams of a connection of HTTP/2.
    streams: OnceLock<Streams>,
    is_stream: bool,
}

impl Connection {
    fn new(all: &Arc<Connections>, number: u64, client: Client, is_stream: bool) -> Arc<Self> {
        let connection = Self {
            phase_and_start: AtomicU64::new(0),
            unread: AtomicBool::new(false),
            task: OnceLock::new(),
            upgraded: OnceLock::new(),
            at_stop: AtomicWaker::new(),
            all: Arc::clone(all),
            number,
            client,
            streams: OnceLock::new(),
            is_stream,
        };
        connection.enter(Phase::Head);
        Arc::new(connection)
    }

    /// A stream of this connection, which shares what its client may have.
    pub(super) fn new_stream(&self) -> Arc<Self> {
        Self::new(&self.all, self.number, self.client.clone(), true)
    }

    /// Whether it is a stream of HTTP/2.
    pub(super) fn is_stream(&self) -> bool {
        self.is_stream
    }

    /// Makes it a connection of HTTP/2.
    pub(super) fn multiplex(&self) {
        // Set once, after the handshake.
        let _ = self.streams.set(Streams::new());
    }

    /// Its streams, if it is a connection of HTTP/2.
    pub(super) fn streams(&self) -> Option<&Streams> {
        self.streams.get()
    }

    /// Waits until the client has read the replies before: a pipelined request does. Streams have their own limit.
    pub(super) async fn wait_for_turn(&self) {
        if !self.is_stream {
            self.client.written().await;
        }
    }

    /// Bodies up to this size, in bytes, are not counted: a connection may have many streams.
    pub(super) fn uncounted_body(&self) -> usize {
        if self.is_stream { 0 } else { SMALL_BODY }
    }

    /// Milliseconds of the server's clock, as of the last check.
    pub(super) fn now(&self) -> u64 {
        self.all.now()
    }

    /// Its share of the threads and of the reply memory.
    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    pub(super) fn enter(&self, phase: Phase) {
        let word = (self.all.now() << 8) | phase as u64;
        self.phase_and_start.store(word, Ordering::Relaxed);
    }

    /// Whether a part of the request's body may be unread.
    pub(super) fn has_unread(&self) -> bool {
        self.unread.load(Ordering::Relaxed)
    }

    /// Notes whether it may be.
    pub(super) fn set_unread(&self, unread: bool) {
        self.unread.store(unread, Ordering::Relaxed);
    }

    pub(super) fn set_task(&self, task: AbortHandle) {
        // Set once, right after the task was spawned.
        let _ = self.task.set(task);
    }

    pub(super) fn set_upgraded(&self, task: AbortHandle) {
        // A connection is upgraded once.
        let _ = self.upgraded.set(task);
    }

    /// A permit for one more websocket, if one is left.
    pub(super) fn reserve_socket(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.all.sockets).try_acquire_owned().ok()
    }

    /// Wakes this task when the server begins to stop.
    pub(super) fn wake_on_stop(&self, waker: &Waker) {
        self.at_stop.register(waker);
    }

    /// Whether the server is stopping.
    pub(super) fn is_stopping(&self) -> bool {
        self.all.is_stopping()
    }

    pub(super) fn phase_and_start(&self) -> (Phase, u64) {
        let word = self.phase_and_start.load(Ordering::Relaxed);
        (Phase::ALL[(word & PHASES) as usize], word >> 8)
    }

    pub(super) fn phase(&self) -> Phase {
        self.phase_and_start().0
    }

    /// Calls `see` with every phase it is in, and the start of each: one phase, or those of its streams.
    fn for_each_phase(&self, mut see: impl FnMut(Phase, u64)) {
        let own = self.phase_and_start();
        match self.streams() {
            None => see(own.0, own.1),
            Some(streams) => streams.for_each_phase(own, see),
        }
    }

    /// The oldest time since which it waits for its client; `None` if the server works for it, or waits for a
    /// shorter time than the grace of each phase.
    fn waiting_since(&self, now: u64) -> Option<u64> {
        let (mut oldest, mut is_served) = (None::<u64>, false);
        self.for_each_phase(|phase, since| match phase.grace_ms() {
            None => is_served = true,
            Some(grace) if now.saturating_sub(since) >= grace => {
                oldest = Some(oldest.map_or(since, |oldest| oldest.min(since)));
            }
            Some(_) => {}
        });
        oldest.filter(|_| !is_served)
    }

    /// Whether it may be closed without a loss: no request is running, and no reply is on its way.
    fn is_closable(&self) -> bool {
        let mut is_closable = true;
        self.for_each_phase(|phase, _| {
            is_closable &= matches!(phase, Phase::Head | Phase::Idle | Phase::Drain);
        });
        is_closable
    }

    fn abort(&self) {
        for task in [&self.task, &self.upgraded].into_iter().filter_map(OnceLock::get) {
            task.abort();
        }
    }
}

/// Output is not blocked.
const NEVER: u64 = u64::MAX;

/// The streams of a connection that are being served.
#[derive(Debug)]
pub(super) struct Streams {
    open: Mutex<Vec<Arc<Connection>>>,
    places: Arc<Semaphore>,
    /// Since when the client has read nothing of what is written; milliseconds of the connection's clock.
    blocked_since: AtomicU64,
}

impl Streams {
    fn new() -> Self {
        Self {
            open: Mutex::new_named("http.streams", Vec::new()),
            places: Arc::new(Semaphore::new(MAX_SERVED)),
            blocked_since: AtomicU64::new(NEVER),
        }
    }

    /// Notes whether output waits for the client.
    pub(super) fn note_write(&self, is_blocked: bool, now: u64) {
        if !is_blocked {
            self.blocked_since.store(NEVER, Ordering::Relaxed);
        } else if self.blocked_since.load(Ordering::Relaxed) == NEVER {
            self.blocked_since.store(now, Ordering::Relaxed);
        }
    }

    /// Calls `see` with the phase of each stream and its start. Without streams it is `own`, the connection's.
    pub(super) fn for_each_phase(&self, own: (Phase, u64), mut see: impl FnMut(Phase, u64)) {
        {
            let open = self.open.lock();
            let of_streams = open.iter().map(|stream| stream.phase_and_start());
            let own = open.is_empty().then_some(own);
            of_streams.chain(own).for_each(|(phase, since)| see(phase, since));
        }
        let blocked_since = self.blocked_since.load(Ordering::Relaxed);
        if blocked_since != NEVER {
            see(Phase::StreamBlocked, blocked_since);
        }
    }

    /// Whether none is served, and so none waits.
    pub(super) fn is_empty(&self) -> bool {
        self.open.lock().is_empty()
    }

    /// Waits for a place to serve a stream in. `None` when the server stops.
    pub(super) async fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).acquire_owned().await.ok()
    }

    pub(super) fn add(&self, stream: Arc<Connection>) {
        self.open.lock().push(stream);
    }

    /// Takes a stream off; whether it was the last one.
    pub(super) fn remove(&self, stream: &Arc<Connection>) -> bool {
        let mut open = self.open.lock();
        open.retain(|other| !Arc::ptr_eq(other, stream));
        open.is_empty()
    }
}

/// A connection's place in the table, until this is dropped.
#[derive(Debug)]
pub(super) struct OpenConnection(Arc<Connection>);

impl OpenConnection {
    pub(super) fn connection(&self) -> &Arc<Connection> {
        &self.0
    }

    /// Most bytes that are read and dropped when it closes.
    pub(super) fn drain_limit(&self) -> u64 {
        self.0.all.drain_limit
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        let all = &self.0.all;
        all.open.lock().remove(&self.0.number);
        all.metrics.connection_ended();
        all.closed.notify_waiters();
    }
}

/// Notifies the connection, when dropped, that the stream of a reply has ended.
pub(super) struct StreamGuard(Arc<Connection>);

impl StreamGuard {
    pub(super) fn new(connection: &Arc<Connection>) -> Self {
        connection.enter(Phase::Stream);
        Self(Arc::clone(connection))
    }
}

impl Drop for StreamGuard {
    fn drop(&mut self) {
        self.0.enter(Phase::Reply);
    }
}

/// Closes connections with unread replies when the reply memory is used up.
#[derive(Debug)]
struct ConnectionEvictor(Weak<Connections>);

impl MemoryRelief for ConnectionEvictor {
    fn evict(&self) -> Option<Client> {
        self.0.upgrade()?.close_longest_unread()
    }
}

/// All open connections of a server.
#[derive(Debug)]
pub(super) struct Connections {
    started: Instant,
    /// Milliseconds since the start, as of the last check.
    now: AtomicU64,
    open: Mutex<HashMap<u64, Arc<Connection>>>,
    numbers: AtomicU64,
    /// A connection was opened, so there is something to check.
    opened: Notify,
    /// A connection was closed.
    closed: Notify,
    stopping: AtomicBool,
    /// The server has begun to stop.
    stop_begun: Notify,
    /// Another server goes on in place of this one.
    handing_over: AtomicBool,
    hand_over_begun: Notify,
    sockets: Arc<Semaphore>,
    max: usize,
    /// Milliseconds of [`Connections::now`] from which the next warning about the connection limit may be logged.
    next_warning: AtomicU64,
    drain_limit: u64,
    timeouts: [Option<(Duration, CloseReason)>; Phase::ALL.len()],
    metrics: Arc<dyn HttpMetrics>,
    work: Work,
}

impl Connections {
    pub(super) fn new(
        config: &HttpConfig,
        work: &Work,
        metrics: Arc<dyn HttpMetrics>,
    ) -> Arc<Self> {
        let timeouts = Phase::ALL.map(|phase| match phase {
            Phase::Head => Some((config.header_timeout, CloseReason::Header)),
            Phase::Body => Some((config.body_timeout, CloseReason::Body)),
            Phase::Reply | Phase::Part | Phase::StreamBlocked => {
                Some((config.write_timeout, CloseReason::Write))
            }
            Phase::Idle => Some((config.idle_timeout, CloseReason::Idle)),
            Phase::Drain => Some((DRAIN_TIMEOUT, CloseReason::Body)),
            Phase::Handling | Phase::Stream => None,
        });
        let max = descriptors::connection_limit(config.max_connections.max(1));
        let (part, whole) = SOCKET_SHARE;
        let sockets = (max.saturating_mul(part) / whole).clamp(1, Semaphore::MAX_PERMITS);
        let connections = Arc::new(Self {
            started: Instant::now(),
            now: AtomicU64::new(0),
            open: Mutex::new_named("connections", HashMap::new()),
            numbers: AtomicU64::new(0),
            opened: Notify::new(),
            closed: Notify::new(),
            stopping: AtomicBool::new(false),
            stop_begun: Notify::new(),
            handing_over: AtomicBool::new(false),
            hand_over_begun: Notify::new(),
            sockets: Arc::new(Semaphore::new(sockets)),
            max,
            next_warning: AtomicU64::new(0),
            drain_limit: 4 * config.body_limit.max(config.message_limit) as u64,
            timeouts,
            metrics,
            work: work.clone(),
        });
        work.set_relief(Box::new(ConnectionEvictor(Arc::downgrade(&connections))));
        connections
    }

    /// Milliseconds since the start, as of the last check.
    fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    fn update_now(&self) -> u64 {
        let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.now.store(now, Ordering::Relaxed);
        now
    }

    /// Adds a new connection.
    pub(super) fn open(self: &Arc<Self>, peer: Option<SocketAddr>) -> OpenConnection {
        self.update_now();
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let client = self.work.client(peer.map(|peer| peer.ip()));
        let connection = Connection::new(self, number, client, false);
        self.open.lock().insert(connection.number, Arc::clone(&connection));
        self.metrics.connection_opened();
        self.opened.notify_one();
        OpenConnection(connection)
    }

    /// Waits until another connection may be opened; closes the longest-idle one.
    pub(super) async fn make_room(&self) {
        loop {
            let closed = self.closed.notified();
            if self.open.lock().len() < self.max {
                return;
            }
            if self.may_warn() {
                tracing::warn!(
                    connections = self.max,
                    "no room for more connections: closing those that have been idle the longest"
                );
            }
            self.close_longest_waiting();
            // All may be busy: handlers end, and receiving or sending connections pass the grace.
            let _ = tokio::time::timeout(ROOM_TICK, closed).await;
        }
    }

    /// Makes room after the system failed to accept a connection.
    pub(super) fn on_accept_error(&self, error: &io::Error) {
        if self.may_warn() {
            tracing::warn!(%error, "cannot accept connections");
        }
        self.close_longest_waiting();
    }

    /// Whether a warning about the connection limit may be logged.
    fn may_warn(&self) -> bool {
        let now = self.update_now();
        let next = self.next_warning.load(Ordering::Relaxed);
        let later = now.saturating_add(WARNING_INTERVAL_MS);
        now >= next
            && self
                .next_warning
                .compare_exchange(next, later, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    /// Closes the longest-idle connection, if any is idle.
    fn close_longest_waiting(&self) {
        let now = self.update_now();
        let open = self.open.lock();
        let waiting = open.values().filter_map(|connection| {
            connection.waiting_since(now).map(|since| (since, connection))
        });
        if let Some((_, connection)) = waiting.min_by_key(|(since, c)| (*since, c.number)) {
            connection.abort();
            self.metrics.connection_closed(CloseReason::Room);
        }
    }

    /// Closes the connection with the longest unread reply, if it is unread for long enough.
    fn close_longest_unread(&self) -> Option<Client> {
        let open = self.open.lock();
        let unread = open.values().filter_map(|connection| {
            let unread_ms = connection.client.unread_for_ms().filter(|ms| *ms >= BUSY_GRACE_MS)?;
            (!connection.client.is_evicted()).then_some((unread_ms, connection))
        });
        let (_, connection) = unread.max_by_key(|(unread_ms, _)| *unread_ms)?;
        connection.abort();
        self.metrics.connection_closed(CloseReason::Unread);
        Some(connection.client.clone())
    }

    /// Closes slow connections; never returns.
    pub(super) async fn watch(&self) {
        let shortest = self.timeouts.iter().flatten().map(|(time, _)| *time).min();
        let tick = (shortest.unwrap_or(SLOWEST_TICK) / 4).clamp(FASTEST_TICK, SLOWEST_TICK);
        loop {
            // An idle node does not wake up.
            if self.open.lock().is_empty() {
                self.opened.notified().await;
            }
            tokio::time::sleep(tick).await;
            self.close_slow();
        }
    }

    fn close_slow(&self) {
        let now = self.update_now();
        for connection in self.open.lock().values() {
            let mut late = None;
            connection.for_each_phase(|phase, since| {
                if let Some((timeout, why)) = &self.timeouts[phase as usize]
                    && u128::from(now.saturating_sub(since)) > timeout.as_millis()
                {
                    late = Some(*why);
                }
            });
            if let Some(why) = late {
                connection.abort();
                self.metrics.connection_closed(why);
            }
        }
    }

    /// Whether the server is stopping. Replies then close their connections.
    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// Ends the server in favour of another one. When it returns, no more connections are accepted.
    pub(super) async fn hand_over(&self) {
        let begun = self.stop_begun.notified();
        self.handing_over.store(true, Ordering::SeqCst);
        self.hand_over_begun.notify_waiters();
        if !self.is_stopping() {
            begun.await;
        }
    }

    /// Waits for [`Self::hand_over`].
    pub(super) async fn handing_over(&self) {
        let begun = self.hand_over_begun.notified();
        if !self.handing_over.load(Ordering::SeqCst) {
            begun.await;
        }
    }

    /// Closes each connection with its next reply, and returns when none is left.
    pub(super) async fn finish(&self) {
        self.begin_stop();
        loop {
            let closed = self.closed.notified();
            if self.open.lock().is_empty() {
                return;
            }
            closed.await;
        }
    }

    fn begin_stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.stop_begun.notify_waiters();
        self.open.lock().values().for_each(|connection| connection.at_stop.wake());
    }

    /// Closes all connections: idle ones at once, the others after their reply or the grace.
    pub(super) async fn stop(&self, grace: Duration) {
        self.begin_stop();
        let mut is_first = true;
        let all_closed = async {
            loop {
                let closed = self.closed.notified();
                let mut open = 0;
                for connection in self.open.lock().values() {
                    // A connection of HTTP/2 that was busy says goodbye and closes by itself.
                    if connection.is_closable() && (is_first || connection.streams().is_none()) {
                        connection.abort();
                    }
                    open += 1;
                }
                is_first = false;
                if open == 0 {
                    return;
                }
                // Since the last check a reply may have been sent and its connection become idle.
                let _ = tokio::time::timeout(FASTEST_TICK, closed).await;
            }
        };
        if tokio::time::timeout(grace, all_closed).await.is_err() {
            let open = self.open.lock();
            tracing::debug!(connections = open.len(), "aborted running requests at shutdown");
            open.values().for_each(|connection| connection.abort());
        }
    }
}
