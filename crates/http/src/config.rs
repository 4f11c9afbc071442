//! Limits and options of the HTTP server.

use std::time::Duration;

use esker_rpc::work::{RateLimitConfig, SpoolConfig, WorkConfig};

use super::client_address::ClientAddressHeader;

/// Largest request body, in bytes.
pub const DEFAULT_BODY_LIMIT: usize = 5 * 1024 * 1024;
/// Largest request head (request line and headers), in bytes.
pub const DEFAULT_HEAD_LIMIT: usize = 64 * 1024;
/// Most headers of a request. The HTTP library has this limit.
pub const MAX_HEADERS: usize = 100;
/// Time for a request's head to arrive, from its first byte on. For the first request it starts with the connection.
pub const DEFAULT_HEADER_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for a request's body to arrive, from the end of its head on.
pub const DEFAULT_BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for the client to read a reply, from its first byte on.
pub const DEFAULT_WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// Time that a connection may wait for its next request.
pub const DEFAULT_IDLE_TIMEOUT: Duration = Duration::from_secs(120);
/// Most open connections.
pub const DEFAULT_MAX_CONNECTIONS: usize = 4096;
/// Most requests in handlers at a time.
pub const DEFAULT_MAX_IN_FLIGHT: usize = 1024;
/// Largest websocket message, in bytes: the reference's limit.
pub const DEFAULT_MESSAGE_LIMIT: usize = 32 * 1024 * 1024;
/// Time between two pings of a websocket, and for the pong to each: the reference's.
pub const DEFAULT_PING_INTERVAL: Duration = Duration::from_secs(30);
/// Most bytes of request bodies in memory, without small bodies.
pub const DEFAULT_BODY_MEMORY: usize = 256 * 1024 * 1024;
/// Most bytes of replies in memory, without small replies.
pub const DEFAULT_REPLY_MEMORY: usize = esker_rpc::work::DEFAULT_REPLY_MEMORY;
/// Most bytes of one connection's replies in memory.
pub const DEFAULT_CONNECTION_REPLY_MEMORY: usize = esker_rpc::work::DEFAULT_CONNECTION_REPLY_MEMORY;
/// Most bytes that calls take beside their replies, without the little that most take.
const DEFAULT_CALL_MEMORY: usize = esker_rpc::work::DEFAULT_CALL_MEMORY;
/// Most bytes that the calls of one address take.
const DEFAULT_CLIENT_CALL_MEMORY: usize = esker_rpc::work::DEFAULT_CLIENT_CALL_MEMORY;
/// Time for running requests to end when the server stops.
pub const DEFAULT_SHUTDOWN_GRACE: Duration = Duration::from_millis(500);
/// Smallest reply that is compressed, in bytes.
pub const DEFAULT_GZIP_MIN: usize = 1400;

/// Limits and options of the HTTP server. Every limit has a default and no upper bound; none can be disabled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpConfig {
    /// Host names that requests may have, in any letter case; `*` allows all, [`PRIVATE_HOSTS`](super::PRIVATE_HOSTS) those
    /// that public name servers have no answer for. IP addresses are always allowed.
    pub allowed_hosts: Vec<String>,
    /// Origins whose pages may read replies. `*` alone allows all; one `*` within an entry matches any text.
    pub allowed_origins: Vec<String>,
    /// The header in which proxies name the addresses of their clients; `None`: a client's address is that of its
    /// connection.
    pub client_address: Option<ClientAddressHeader>,
    /// The rate limit of an address; above it requests get 429. `None`: no limit.
    pub rate_limit: Option<RateLimitConfig>,
    /// Largest request body, in bytes; a larger one gets 413.
    pub body_limit: usize,
    /// Largest request head, in bytes; a larger one gets 431, and so do more than [`MAX_HEADERS`] headers.
    pub head_limit: usize,
    /// Time for a request's head to arrive; a slower connection is closed.
    pub header_timeout: Duration,
    /// Time for a request's body to arrive; a slower connection is closed.
    pub body_timeout: Duration,
    /// Time for the client to read a reply; a slower connection is closed.
    pub write_timeout: Duration,
    /// Time that a connection may wait for its next request.
    pub idle_timeout: Duration,
    /// Most open connections. At the limit, the longest-idle connection is closed. While
    /// all are busy, new connections wait in the system's queue.
    pub max_connections: usize,
    /// Most requests in handlers at a time; further ones get 503, so that clients of an overloaded node learn it at
    /// once. Requests of a websocket wait instead, and the websocket is not read meanwhile.
    pub max_in_flight: usize,
    /// Most bytes of request bodies and websocket messages in memory; those up to [`SMALL_BODY`] are not counted.
    /// Beyond it a request gets 503, and a websocket is closed with code 1013. The bodies of one address get a quarter of
    /// it, and further ones wait unread.
    pub body_memory: usize,
    /// Most bytes of replies in memory until their clients have read them; those up to
    /// [`esker_rpc::work::SMALL_REPLY`] are not counted. Beyond it the connection with the longest unread reply is
    /// closed, if it is unread for a second; otherwise the new reply becomes an error.
    pub reply_memory: usize,
    /// The same limit for one connection; beyond it the reply becomes an error.
    pub connection_reply_memory: usize,
    /// Most bytes that calls take while they run, or wait with decoded arguments: arguments, overlays, tries, results that
    /// are being made; without the little that most calls take. Beyond it calls wait, and become an error after a while.
    pub call_memory: usize,
    /// Threads for calls that take long, in the bounds of [`esker_rpc::work::WorkConfig::processors`].
    pub processors: usize,
    /// The same limit for the calls of one address; a call that needs more alone becomes an error.
    pub client_call_memory: usize,
    /// The files for results that are too large for memory, such as traces; `None`: they are errors.
    pub spool: Option<SpoolConfig>,
    /// Largest websocket message, in bytes; a larger one closes the websocket with code 1009.
    pub message_limit: usize,
    /// Time between two pings of a websocket. A websocket is closed if a pong is missing at the next ping, or if a
    /// message stays incomplete for this time.
    pub ping_interval: Duration,
    /// Whether a connection serves more than one request.
    pub keep_alive: bool,
    /// Smallest reply that is compressed for clients that accept gzip, in bytes.
    pub gzip_min: usize,
    /// Time for running requests to end when the server stops; longer ones are cut off.
    pub shutdown_grace: Duration,
}

/// Bodies up to this size, in bytes, do not count against [`HttpConfig::body_memory`].
pub const SMALL_BODY: usize = 64 * 1024;

/// The part of the body memory that the requests of one address get, if it is enough for one.
const ADDRESS_PART: usize = 4;

impl HttpConfig {
    /// Most bytes of bodies of one address in memory, without websocket messages.
    pub(super) fn address_body_memory(&self) -> usize {
        (self.body_memory / ADDRESS_PART).max(self.body_limit)
    }
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            allowed_hosts: vec!["localhost".to_owned()],
            allowed_origins: vec!["*".to_owned()],
            client_address: None,
            rate_limit: None,
            body_limit: DEFAULT_BODY_LIMIT,
            head_limit: DEFAULT_HEAD_LIMIT,
            header_timeout: DEFAULT_HEADER_TIMEOUT,
            body_timeout: DEFAULT_BODY_TIMEOUT,
            write_timeout: DEFAULT_WRITE_TIMEOUT,
            idle_timeout: DEFAULT_IDLE_TIMEOUT,
            max_connections: DEFAULT_MAX_CONNECTIONS,
            max_in_flight: DEFAULT_MAX_IN_FLIGHT,
            body_memory: DEFAULT_BODY_MEMORY,
            reply_memory: DEFAULT_REPLY_MEMORY,
            connection_reply_memory: DEFAULT_CONNECTION_REPLY_MEMORY,
            call_memory: DEFAULT_CALL_MEMORY,
            processors: WorkConfig::default().processors,
            client_call_memory: DEFAULT_CLIENT_CALL_MEMORY,
            spool: None,
            message_limit: DEFAULT_MESSAGE_LIMIT,
            ping_interval: DEFAULT_PING_INTERVAL,
            keep_alive: true,
            gzip_min: DEFAULT_GZIP_MIN,
            shutdown_grace: DEFAULT_SHUTDOWN_GRACE,
        }
    }
}
