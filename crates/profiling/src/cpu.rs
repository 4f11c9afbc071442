//! Which functions run: stacks taken some hundred times a second of processor time.
//!
//! The sampler is the crate `pprof`. Its signal handler walks the stack with tables that were read before, through
//! checked reads, and allocates nothing. The tables are read at the first signal: `load_tables` sends it from a thread
//! that holds nothing.

use std::io;
use std::sync::Once;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use pprof::{ProfilerGuard, ProfilerGuardBuilder};

use crate::encode;
use crate::error::ProfileError;

/// Samples a second of processor time. Not a divisor of what the node does each second.
const FREQUENCY: i32 = 99;

/// A profile that nobody ends takes no more samples after this time; it is kept for who started it.
pub const MAX_DURATION: Duration = Duration::from_secs(3600);

/// Who has the sampler.
static OWNER: AtomicU8 = AtomicU8::new(FREE);
const FREE: u8 = 0;
const PROFILE: u8 = 1;
const STACKS: u8 = 2;

/// Longest wait for stacks that somebody else takes.
const MAX_WAIT: Duration = Duration::from_secs(10);

static TABLES: Once = Once::new();

/// The right to the sampler; there is one.
#[derive(Debug)]
pub(crate) struct Turn(());

impl Turn {
    /// For a profile; `None` if another one is being taken.
    pub(crate) fn for_profile() -> Option<Self> {
        Self::take(PROFILE)
    }

    /// For stacks, which take a moment; `None` while a profile is being taken.
    pub(crate) fn for_stacks() -> Option<Self> {
        Self::take(STACKS)
    }

    /// Waits for stacks of somebody else, but not for a profile.
    fn take(owner: u8) -> Option<Self> {
        let begin = Instant::now();
        loop {
            let taken = OWNER.compare_exchange(FREE, owner, Ordering::AcqRel, Ordering::Acquire);
            match taken {
                // Made only then: one that is dropped gives the sampler back.
                Ok(_) => return Some(Self(())),
                Err(STACKS) if begin.elapsed() < MAX_WAIT => {
                    thread::sleep(Duration::from_millis(1));
                }
                Err(_) => return None,
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        OWNER.store(FREE, Ordering::Release);
    }
}

/// A sampler that runs until it is dropped.
pub(crate) fn sampler(frequency: i32) -> Result<ProfilerGuard<'static>, ProfileError> {
    load_tables();
    let sampler = ProfilerGuardBuilder::default().frequency(frequency).blocklist(&["vdso"]);
    sampler.build().map_err(|error| ProfileError::Sampler(error.to_string()))
}

/// Lets the sampler read the tables for walking stacks: at its first signal, which must not come to a thread that is in
/// the allocator. The timer of this sampler is too slow to send one first.
fn load_tables() {
    TABLES.call_once(|| {
        let Ok(_sampler) = ProfilerGuardBuilder::default().frequency(1).build() else { return };
        #[expect(unsafe_code, reason = "a signal to this very thread")]
        // SAFETY: the sampler's handler is installed, and this thread holds nothing that the handler needs.
        unsafe {
            libc::raise(libc::SIGPROF);
        }
    });
}

type Reply = Result<Vec<u8>, ProfileError>;

/// A profile that is being taken. Dropping it ends it without a file.
#[derive(Debug)]
pub struct CpuProfile {
    finish: Sender<Sender<Reply>>,
}

impl CpuProfile {
    /// Begins one, if nobody else takes one.
    pub fn start() -> Result<Self, ProfileError> {
        let turn = Turn::for_profile().ok_or(ProfileError::AlreadyRunning)?;
        let (finish, finished) = mpsc::channel();
        let (started, has_started) = mpsc::channel();
        // A thread of its own: it watches the time, and what it computes takes nobody else's.
        let take = move || take(turn, &finished, &started);
        let thread = thread::Builder::new().name("cpu profile".to_owned()).spawn(take);
        thread.map_err(|error| ProfileError::Sampler(error.to_string()))?;
        has_started.recv().map_err(|_| lost())??;
        Ok(Self { finish })
    }

    /// Ends it: the bytes of the file. Takes as long as it takes to find the names of functions, up to seconds.
    pub fn finish(self) -> Result<Vec<u8>, ProfileError> {
        let (reply, replied) = mpsc::channel();
        self.finish.send(reply).map_err(|_| lost())?;
        replied.recv().map_err(|_| lost())?
    }
}

fn lost() -> ProfileError {
    ProfileError::Sampler("its thread is gone".to_owned())
}

fn take(
    turn: Turn,
    finished: &Receiver<Sender<Reply>>,
    started: &Sender<Result<(), ProfileError>>,
) {
    let sampler = match sampler(FREQUENCY) {
        Ok(sampler) => sampler,
        Err(error) => {
            drop(turn);
            let _gone = started.send(Err(error));
            return;
        }
    };
    // Who waits here holds the other ends.
    let _gone = started.send(Ok(()));
    let in_time = finished.recv_timeout(MAX_DURATION);
    let asks = match &in_time {
        Err(RecvTimeoutError::Disconnected) => false,
        Ok(_) | Err(RecvTimeoutError::Timeout) => true,
    };
    let bytes = asks.then(|| report(&sampler));
    drop(sampler);
    let late = || finished.recv().ok();
    let reply = in_time.ok().or_else(|| if asks { late() } else { None });
    // Before the answer: whoever has it may start the next one.
    drop(turn);
    if let (Some(reply), Some(bytes)) = (reply, bytes) {
        let _gone = reply.send(bytes);
    }
}

fn report(sampler: &ProfilerGuard<'_>) -> Reply {
    let fault = |error: pprof::Error| ProfileError::Sampler(error.to_string());
    let report = sampler.report().build().map_err(fault)?;
    Ok(encode::pack(&report.pprof().map_err(fault)?))
}

/// The number of a thread of this process.
pub(crate) type ThreadId = i32;

/// Lets a thread of this process take a sample of its own stack.
pub(crate) fn sample_thread(thread: ThreadId) -> io::Result<()> {
    #[expect(unsafe_code, reason = "a signal to one thread; no library has it")]
    // SAFETY: the caller holds a sampler, whose handler is installed. A number that is no thread of ours is an error.
    let result = unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, libc::SIGPROF) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
