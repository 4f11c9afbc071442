//! The open connections: the phase of each and its start, so that slow ones are closed.
//!
//! A connection stores its phase in one atomic word. One task checks all connections a few times a second. A request
//! thus costs a few nanoseconds; separate timers would cost it a lock each.

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};

use esker_primitives::sync::Mutex;
use esker_rpc::work::{Client, MemoryRelief, Work};
use futures_util::task::AtomicWaker;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;

use super::config::HttpConfig;
use super::descriptors;
use super::metrics::{CloseReason, HttpMetrics};

/// How long a closing connection still reads from its client, so that the client gets the reply and not a reset.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// Interval of the checks while the timeouts are long.
const SLOWEST_TICK: Duration = Duration::from_millis(500);
const FASTEST_TICK: Duration = Duration::from_millis(5);
/// A connection that receives or sends is closed for a new one only after this time without progress.
const BUSY_GRACE_MS: u64 = 1000;
/// Least time between two warnings about the connection limit.
const WARNING_INTERVAL_MS: u64 = 60_000;
/// Interval at which a new connection checks for room.
const ROOM_TICK: Duration = Duration::from_millis(100);

/// The share of connections that may be websockets: they are long-lived, and requests need the rest.
const SOCKET_SHARE: (usize, usize) = (3, 4);

/// Mask of the phase in the stored word.
const PHASES: u64 = 0xff;

/// The phase of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Phase {
    /// Receives a request's head, or is new.
    Head,
    /// Receives a request's body.
    Body,
    /// A handler runs.
    Handling,
    /// Sends a complete reply.
    Reply,
    /// Sends a part of a reply; the next part is built when the client has read this one.
    Part,
    /// A handler streams a reply.
    Stream,
    /// A handler streams a reply, and the client does not read it.
    StreamBlocked,
    /// Waits for the next request.
    Idle,
    /// Closed by this side; still reads from the client.
    Drain,
}

impl Phase {
    const ALL: [Self; 9] = [
        Self::Head,
        Self::Body,
        Self::Handling,
        Self::Reply,
        Self::Part,
        Self::Stream,
        Self::StreamBlocked,
        Self::Idle,
        Self::Drain,
    ];
}

/// One open connection.
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
}

impl Connection {
    /// Its share of the threads and of the reply memory.
    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    pub(super) fn enter(&self, phase: Phase) {
        let word = (self.all.now() << 8) | phase as u64;
        self.phase_and_start.store(word, Ordering::Relaxed);
    }

    /// Whether a part of the request's body may be unread.
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

    fn phase_and_start(&self) -> (Phase, u64) {
        let word = self.phase_and_start.load(Ordering::Relaxed);
        (Phase::ALL[(word & PHASES) as usize], word >> 8)
    }

    fn phase(&self) -> Phase {
        self.phase_and_start().0
    }

    fn abort(&self) {
        for task in [&self.task, &self.upgraded].into_iter().filter_map(OnceLock::get) {
            task.abort();
        }
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
    pub(super) fn open(self: &Arc<Self>, stream: TcpStream) -> (Io, Arc<Connection>) {
        self.update_now();
        let connection = Arc::new(Connection {
            phase_and_start: AtomicU64::new(0),
            unread: AtomicBool::new(false),
            task: OnceLock::new(),
            upgraded: OnceLock::new(),
            at_stop: AtomicWaker::new(),
            all: Arc::clone(self),
            number: self.numbers.fetch_add(1, Ordering::Relaxed),
            client: self.work.client(stream.peer_addr().ok().map(|peer| peer.ip())),
        });
        connection.enter(Phase::Head);
        self.open.lock().insert(connection.number, Arc::clone(&connection));
        self.metrics.connection_opened();
        self.opened.notify_one();
        let io = Io { stream, connection: Arc::clone(&connection), drained: 0, shut: false };
        (io, connection)
    }

    /// Waits until another connection may be opened; closes the one that has waited longest for its client.
    pub(super) async fn make_room(&self) {
        loop {
            let closed = self.closed.notified();
            if self.open.lock().len() < self.max {
                return;
            }
            if self.may_warn() {
                tracing::warn!(
                    connections = self.max,
                    "no room for more connections: closing those that wait the longest"
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

    /// Closes the connection that has waited longest for its client, if any waits.
    fn close_longest_waiting(&self) {
        let now = self.update_now();
        let open = self.open.lock();
        let waiting = open.values().filter_map(|connection| {
            let (phase, since) = connection.phase_and_start();
            let grace = match phase {
                Phase::Handling | Phase::Stream => return None,
                Phase::Head | Phase::Idle => 0,
                Phase::Body | Phase::Reply | Phase::Part | Phase::StreamBlocked | Phase::Drain => {
                    BUSY_GRACE_MS
                }
            };
            (now.saturating_sub(since) >= grace).then_some((since, connection))
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
            let (phase, since) = connection.phase_and_start();
            if let Some((timeout, why)) = &self.timeouts[phase as usize]
                && u128::from(now.saturating_sub(since)) > timeout.as_millis()
            {
                connection.abort();
                self.metrics.connection_closed(*why);
            }
        }
    }

    /// Whether the server is stopping. Replies then close their connections.
    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// Closes all connections: idle ones at once, the others after their reply or the grace.
    pub(super) async fn stop(&self, grace: Duration) {
        self.stopping.store(true, Ordering::SeqCst);
        self.open.lock().values().for_each(|connection| connection.at_stop.wake());
        let all_closed = async {
            loop {
                let closed = self.closed.notified();
                let mut open = 0;
                for connection in self.open.lock().values() {
                    match connection.phase() {
                        Phase::Head | Phase::Idle | Phase::Drain => connection.abort(),
                        Phase::Body
                        | Phase::Handling
                        | Phase::Reply
                        | Phase::Part
                        | Phase::Stream
                        | Phase::StreamBlocked => {}
                    }
                    open += 1;
                }
                if open == 0 {
                    return;
                }
                // Since the last check a reply may have been sent and its connection become idle.
                let _ = tokio::time::timeout(FASTEST_TICK, closed).await;
            }
        };
        if tokio::time::timeout(grace, all_closed).await.is_err() {
            let open = self.open.lock();
            tracing::debug!(connections = open.len(), "cut off running requests at the stop");
            open.values().for_each(|connection| connection.abort());
        }
    }
}

/// A connection's socket. The connection stays in the table until this is dropped, also after an upgrade.
#[derive(Debug)]
pub(super) struct Io {
    stream: TcpStream,
    connection: Arc<Connection>,
    drained: u64,
    shut: bool,
}

impl Drop for Io {
    fn drop(&mut self) {
        let all = &self.connection.all;
        all.open.lock().remove(&self.connection.number);
        all.metrics.connection_ended();
        all.closed.notify_waiters();
    }
}

impl Io {
    fn note_write<T>(&self, written: &Poll<io::Result<T>>) {
        match (self.connection.phase(), written) {
            // No request was dispatched: the HTTP library refuses a malformed one itself, and closes.
            (Phase::Head | Phase::Idle, _) => {
                self.connection.set_unread(true);
                self.connection.enter(Phase::Reply);
            }
            (Phase::Stream, Poll::Pending) => self.connection.enter(Phase::StreamBlocked),
            (Phase::StreamBlocked, Poll::Ready(_)) => self.connection.enter(Phase::Stream),
            _ => {}
        }
    }

    /// Reads and drops further bytes of the client.
    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut space = [0; 16 * 1024];
        while self.drained < self.connection.all.drain_limit {
            let mut buffer = ReadBuf::new(&mut space);
            let read = ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buffer));
            if read.is_err() || buffer.filled().is_empty() {
                break;
            }
            self.drained += buffer.filled().len() as u64;
        }
        Poll::Ready(())
    }
}

impl AsyncRead for Io {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before && self.connection.phase() == Phase::Idle {
            self.connection.enter(Phase::Head);
        }
        read
    }
}

impl AsyncWrite for Io {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.note_write(&written);
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.note_write(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Called when all output has been written.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.connection.phase() == Phase::Reply {
            self.connection.enter(Phase::Idle);
        }
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.shut {
            ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
            self.shut = true;
            if self.connection.unread.load(Ordering::Relaxed) {
                self.connection.enter(Phase::Drain);
            }
        }
        if self.connection.phase() == Phase::Drain && !self.connection.all.is_stopping() {
            ready!(self.poll_drain(cx));
        }
        Poll::Ready(Ok(()))
    }
}
