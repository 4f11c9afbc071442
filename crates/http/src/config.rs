//! Limits and manners of the HTTP server.

use std::time::Duration;

use esker_rpc::work::SpoolConfig;

/// Largest request body, in bytes.
pub const DEFAULT_BODY_LIMIT: usize = 5 * 1024 * 1024;
/// Largest request head (request line and headers), in bytes.
pub const DEFAULT_HEAD_LIMIT: usize = 64 * 1024;
/// Most headers of a request. It is the HTTP library's.
pub const MAX_HEADERS: usize = 100;
/// Time for a request's head to arrive, from its first byte on (from the connection's start for the first).
pub const DEFAULT_HEADER_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for a request's body to arrive, from the end of its head on.
pub const DEFAULT_BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for a reply to be taken by the client, from its first byte on.
pub const DEFAULT_WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// Time that a connection may wait for its next request.
pub const DEFAULT_IDLE_TIMEOUT: Duration = Duration::from_secs(120);
/// Connections at once.
pub const DEFAULT_MAX_CONNECTIONS: usize = 4096;
/// Requests in handlers at once.
pub const DEFAULT_MAX_IN_FLIGHT: usize = 1024;
/// Largest message of a websocket, in bytes: as the reference.
pub const DEFAULT_MESSAGE_LIMIT: usize = 32 * 1024 * 1024;
/// Time between two pings of a websocket, and for the pong to each: as the reference.
pub const DEFAULT_PING_INTERVAL: Duration = Duration::from_secs(30);
/// Bytes of request bodies held at once, small bodies apart.
pub const DEFAULT_BODY_MEMORY: usize = 256 * 1024 * 1024;
/// Bytes of replies held at once, small ones apart.
pub const DEFAULT_REPLY_MEMORY: usize = esker_rpc::work::DEFAULT_REPLY_MEMORY;
/// Bytes of replies held for one connection.
pub const DEFAULT_CONNECTION_REPLY_MEMORY: usize = esker_rpc::work::DEFAULT_CONNECTION_REPLY_MEMORY;
/// Time for running requests to end when the server stops.
pub const DEFAULT_SHUTDOWN_GRACE: Duration = Duration::from_millis(500);
/// Smallest reply that is compressed, in bytes.
pub const DEFAULT_GZIP_MIN: usize = 1400;

/// Limits and manners of the HTTP server. Every limit has a default; none can be switched off, but each can be
/// set as large as one likes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpConfig {
    /// Names by which the server may be called, any letter case; `*` among them allows all. IP addresses are
    /// always allowed.
    pub allowed_hosts: Vec<String>,
    /// Origins whose pages may read replies; `*` alone allows all, one `*` within an entry stands for any text.
    pub allowed_origins: Vec<String>,
    /// Largest request body, in bytes; above it the answer is 413.
    pub body_limit: usize,
    /// Largest request head, in bytes; above it the answer is 431, as it is above [`MAX_HEADERS`] headers.
    pub head_limit: usize,
    /// Time for a request's head to arrive; a slower connection is closed.
    pub header_timeout: Duration,
    /// Time for a request's body to arrive; a slower connection is closed.
    pub body_timeout: Duration,
    /// Time for a reply to be taken by the client; a slower connection is closed.
    pub write_timeout: Duration,
    /// Time that a connection may wait for its next request.
    pub idle_timeout: Duration,
    /// Connections at once. When there are as many, the one that has waited for its client the longest is
    /// closed to make room; while all are at work, new ones wait in the system's queue.
    pub max_connections: usize,
    /// Requests in handlers at once; above it the answer is 503, so that clients of a node that is overrun
    /// learn it at once instead of waiting in a queue nobody sees. Those of a websocket wait, and it is not
    /// read meanwhile.
    pub max_in_flight: usize,
    /// Bytes of request bodies and of messages of websockets held at once (those up to [`SMALL_BODY`] are not
    /// counted); above it the answer is 503, and a websocket is closed with code 1013.
    pub body_memory: usize,
    /// Bytes of replies held until their clients have read them (those up to
    /// [`esker_rpc::work::SMALL_REPLY`] are not counted). Above it the connection is closed that has left a reply
    /// unread for the longest, if any has for a second; otherwise the reply becomes an error.
    pub reply_memory: usize,
    /// The same of one connection; above it the reply becomes an error.
    pub connection_reply_memory: usize,
    /// Where results go that are too large for memory, such as traces; `None`: they are errors.
    pub spool: Option<SpoolConfig>,
    /// Largest message of a websocket, in bytes; above it the socket is closed with code 1009.
    pub message_limit: usize,
    /// Time between two pings of a websocket. A client that answers one not before the next is gone; one that
    /// leaves a message unfinished for as long is closed.
    pub ping_interval: Duration,
    /// Whether a connection serves more than one request.
    pub keep_alive: bool,
    /// Smallest reply that is compressed for clients that take gzip, in bytes.
    pub gzip_min: usize,
    /// Time for running requests to end when the server stops; what runs longer is cut off.
    pub shutdown_grace: Duration,
}

/// Bodies up to this size, in bytes, do not count against [`HttpConfig::body_memory`].
pub const SMALL_BODY: usize = 64 * 1024;

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            allowed_hosts: vec!["localhost".to_owned()],
            allowed_origins: vec!["*".to_owned()],
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
            spool: None,
            message_limit: DEFAULT_MESSAGE_LIMIT,
            ping_interval: DEFAULT_PING_INTERVAL,
            keep_alive: true,
            gzip_min: DEFAULT_GZIP_MIN,
            shutdown_grace: DEFAULT_SHUTDOWN_GRACE,
        }
    }
}
