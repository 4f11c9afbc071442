//! Where the work of calls runs, and what its results may hold: fair shares of threads and of memory.
//!
//! - [`Work`] is one server's: its threads and its memory for replies. Each connection is a [`Client`] of it.
//! - Work that takes long runs on threads of its own, never on those that serve connections. There are five levels,
//!   each with a few threads and a queue: one for short work that others wait for (sends), and four for everything
//!   else. Calls begin at the first of these and may stay there for some milliseconds; one that takes longer goes on
//!   at the next level, at a lower priority, if there is a place for it, and otherwise is ended and begun again when
//!   there is. So a call waits behind others of its own size and shorter ones, and never behind endless ones.
//! - Addresses take turns for the places of a level: the next is the one with the fewest places, of these the one whose
//!   last turn is longest ago. When one waits while another has at least two places more, a run of that one ends and
//!   starts again later. So the calls of many connections from one address come before no other address' first call.
//! - Jobs of an address run in the order of arrival, except that a job is put off for a while by the recent use of its
//!   connection and of its address, and by its expected time. Many connections with long calls do not delay one with
//!   short calls.
//! - A call costs units, of which an address may have a limit ([`RateLimitConfig`]).
//! - The reply of a call counts for its connection and for the server from the end of its work until its bytes are
//!   written ([`ReplyBytes`]). No work begins for a connection that leaves too much unread.
//!
//! - What a call takes until then (arguments, overlays, tries, the result that is being made) is measured while it runs
//!   and counts for its address and for the server, but for the little that most calls take. A call with long arguments
//!   waits until there is room; one that needs more than there is ends, and runs again when there is.
//!
//! `run.rs` makes jobs of calls, `queue.rs` chooses, `workers.rs` has the threads, `levels.rs` what they may do.
//! `memory.rs` counts replies, `spool.rs` has the files of those that are too large for it, `call_memory.rs` and
//! `run_memory.rs` count what calls take.

mod call_memory;
mod client;
mod counts;
mod ended_calls;
mod error;
mod failed_calls;
mod levels;
mod memory;
mod queue;
mod rate_limit;
mod request_share;
mod run;
mod run_memory;
mod run_state;
mod spool;
mod usage;
mod workers;

use std::net::IpAddr;
use std::sync::Arc;

use self::call_memory::CallMemory;
pub(crate) use self::call_memory::{CallReservation, SMALL_ARGUMENTS, SMALL_TEXT, estimate};
pub use self::call_memory::{DEFAULT_CALL_MEMORY, DEFAULT_CLIENT_CALL_MEMORY};
use self::client::Addresses;
pub use self::client::Client;
pub use self::ended_calls::{EndedCall, EndedCalls};
pub use self::error::{Busy, CallMemoryError, MemoryError};
pub use self::failed_calls::{FailedCall, FailedCalls};
use self::memory::ReplyMemory;
pub use self::memory::{MemoryRelief, ReplyBytes, ReplyReservation, SMALL_REPLY};
use self::rate_limit::RateLimit;
pub use self::rate_limit::{RateExceeded, RateLimitConfig};
pub use self::request_share::RequestShare;
pub(crate) use self::run::panic_text;
pub(crate) use self::run_memory::RunMemory;
pub(crate) use self::run_state::RunState;
pub(crate) use self::spool::Spool;
pub use self::spool::{SpoolConfig, SpoolError, SpoolFile, SpoolSpace};
use self::workers::Workers;

/// Bytes of replies that are held at once, unless configured otherwise.
pub const DEFAULT_REPLY_MEMORY: usize = 128 * 1024 * 1024;
/// Bytes of replies that are held for one connection, unless configured otherwise.
pub const DEFAULT_CONNECTION_REPLY_MEMORY: usize = 64 * 1024 * 1024;
/// Jobs that wait for a thread, unless configured otherwise: apart for short ones and for all others.
pub const DEFAULT_QUEUE: usize = 384;

/// Which kind of work a method does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lane {
    /// Some milliseconds at most, with clients that wait for it: a transaction that is sent.
    Short,
    /// Anything else: calls, searches, large reads.
    #[default]
    Long,
}

/// The properties of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JobKind {
    pub(crate) lane: Lane,
    /// It may be interrupted, and is then restarted later.
    pub(crate) can_restart: bool,
    /// A long job that runs in the short lane first and may leave it ([`crate::CallContext::leave_short_lane`]).
    pub(crate) is_brief_first: bool,
}

/// Bounds of one server's work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkConfig {
    /// Processors.
    pub processors: usize,
    /// Jobs that wait for a thread: apart for short ones and for all others.
    pub queue: usize,
    /// Bytes of replies in memory at once, excluding small ones ([`SMALL_REPLY`]).
    pub reply_memory: usize,
    /// Bytes of replies held for one connection.
    pub connection_reply_memory: usize,
    /// Bytes that calls take at once beside their replies, excluding the little that most take.
    pub call_memory: usize,
    /// Bytes that the calls of one address take.
    pub client_call_memory: usize,
    /// The files for results that are too large for memory; `None`: they are errors.
    pub spool: Option<SpoolConfig>,
    /// The rate limit of an address; `None`: any number of calls.
    pub rate_limit: Option<RateLimitConfig>,
}

impl Default for WorkConfig {
    fn default() -> Self {
        Self {
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            queue: DEFAULT_QUEUE,
            reply_memory: DEFAULT_REPLY_MEMORY,
            connection_reply_memory: DEFAULT_CONNECTION_REPLY_MEMORY,
            call_memory: DEFAULT_CALL_MEMORY,
            client_call_memory: DEFAULT_CLIENT_CALL_MEMORY,
            spool: None,
            rate_limit: None,
        }
    }
}

/// One server's threads for long work, and its memory for replies. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Work(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    workers: Workers,
    memory: ReplyMemory,
    call_memory: CallMemory,
    spool: Option<Arc<Spool>>,
    addresses: Addresses,
    rate_limit: Option<RateLimit>,
    failed_calls: FailedCalls,
    ended_calls: EndedCalls,
}

/// How much work there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkStats {
    /// Jobs that wait for a thread.
    pub waiting: usize,
    /// Jobs that run.
    pub running: usize,
    /// Jobs that were refused since the start, because too many waited.
    pub refused: u64,
    /// Bytes of replies that are held.
    pub reply_bytes: usize,
    /// Replies that were refused since the start, because too many bytes were held.
    pub replies_refused: u64,
    /// Bytes that calls take, excluding the little that most take.
    pub call_bytes: usize,
    /// Bytes of replies in files.
    pub spooled_bytes: u64,
    /// Calls and requests that were refused since the start, because their address had used its units.
    pub rate_limited: u64,
}

impl Work {
    /// Threads begin when there is work for them.
    #[must_use]
    pub fn new(config: WorkConfig) -> Self {
        Self(Arc::new(Parts {
            workers: Workers::new(config.processors, config.queue),
            memory: ReplyMemory::new(config.reply_memory, config.connection_reply_memory),
            call_memory: CallMemory::new(config.call_memory, config.client_call_memory),
            spool: config.spool.map(Spool::new),
            addresses: Addresses::default(),
            rate_limit: config.rate_limit.map(RateLimit::new),
            failed_calls: FailedCalls::new(),
            ended_calls: EndedCalls::default(),
        }))
    }

    /// A new connection from an address; `None` if the address is unknown.
    #[must_use]
    pub fn client(&self, address: Option<IpAddr>) -> Client {
        Client::new(self, address, self.addresses().get(address))
    }

    /// The calls that end with an error.
    #[must_use]
    pub fn failed_calls(&self) -> &FailedCalls {
        &self.0.failed_calls
    }

    /// The calls that have ended, well or not.
    #[must_use]
    pub fn ended_calls(&self) -> &EndedCalls {
        &self.0.ended_calls
    }

    /// Sets what frees memory when too many bytes of replies are held. Only the first call counts.
    pub fn set_relief(&self, relief: Box<dyn MemoryRelief>) {
        self.0.memory.set_relief(relief);
    }

    /// How much work there is now.
    #[must_use]
    pub fn stats(&self) -> WorkStats {
        let (waiting, running, refused) = self.0.workers.counts();
        let (reply_bytes, replies_refused) = self.0.memory.counts();
        let spooled_bytes = self.0.spool.as_ref().map_or(0, |spool| spool.used());
        let rate_limited = self.rate_limit().map_or(0, RateLimit::refused);
        WorkStats {
            waiting,
            running,
            refused,
            reply_bytes,
            replies_refused,
            call_bytes: self.0.call_memory.used(),
            spooled_bytes,
            rate_limited,
        }
    }

    /// Drops jobs whose client has left.
    pub(crate) fn drop_cancelled(&self) {
        self.workers().drop_cancelled();
    }

    fn addresses(&self) -> &Addresses {
        &self.0.addresses
    }

    fn rate_limit(&self) -> Option<&RateLimit> {
        self.0.rate_limit.as_ref()
    }

    fn workers(&self) -> &Workers {
        &self.0.workers
    }

    pub(crate) fn spool(&self) -> Option<&Arc<Spool>> {
        self.0.spool.as_ref()
    }

    fn call_memory(&self) -> &CallMemory {
        &self.0.call_memory
    }

    fn memory(&self) -> &ReplyMemory {
        &self.0.memory
    }
}
