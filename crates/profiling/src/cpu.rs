//! Which functions run: stacks taken some hundred times a second of processor time.
//!
//! The sampler is the crate `pprof`. Its signal handler walks the stack with preloaded tables and checked reads, and
//! allocates nothing. The first signal loads the tables: `load_tables` sends it from a thread that holds no lock.

use std::io;
use std::sync::Once;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use pprof::{ProfilerGuard, ProfilerGuardBuilder};

use crate::encode::Builder;
use crate::error::ProfileError;
use crate::stack::Function;

/// Samples per second of processor time. Not a divisor of the node's periodic work.
const FREQUENCY: i32 = 99;

const NS_PER_SECOND: i64 = 1_000_000_000;

/// A profile that is not stopped takes no more samples after this time, but is kept for its caller.
pub const MAX_DURATION: Duration = Duration::from_secs(3600);

/// The user of the sampler.
static OWNER: AtomicU8 = AtomicU8::new(FREE);
const FREE: u8 = 0;
const PROFILE: u8 = 1;
const STACKS: u8 = 2;

/// Longest wait for another caller that takes stacks.
const MAX_WAIT: Duration = Duration::from_secs(10);

static TABLES: Once = Once::new();

/// The permit to use the sampler; there is one.
#[derive(Debug)]
pub(crate) struct SamplerPermit(());

impl SamplerPermit {
    /// The permit for a profile; `None` if another profile is running.
    pub(crate) fn for_profile() -> Option<Self> {
        Self::take(PROFILE)
    }

    /// The permit for taking stacks, which is short; `None` while a profile is running.
    pub(crate) fn for_stacks() -> Option<Self> {
        Self::take(STACKS)
    }

    /// Waits for another caller that takes stacks, but not for a profile.
    fn take(owner: u8) -> Option<Self> {
        let begin = Instant::now();
        loop {
            let taken = OWNER.compare_exchange(FREE, owner, Ordering::AcqRel, Ordering::Acquire);
            match taken {
                // Created only here, because dropping a permit releases the sampler.
                Ok(_) => return Some(Self(())),
                Err(STACKS) if begin.elapsed() < MAX_WAIT => {
                    thread::sleep(Duration::from_millis(1));
                }
                Err(_) => return None,
            }
        }
    }
}

impl Drop for SamplerPermit {
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

/// Makes the sampler load the tables for walking stacks. Its first signal does that, and must not interrupt a thread in
/// the allocator. The timer of this sampler is too slow to send a signal before.
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

/// A running profile. Dropping it ends it without a file.
#[derive(Debug)]
pub struct CpuProfile {
    finish: Sender<Sender<Reply>>,
}

impl CpuProfile {
    /// Starts a profile if no other one is running.
    pub fn start() -> Result<Self, ProfileError> {
        let turn = SamplerPermit::for_profile().ok_or(ProfileError::AlreadyRunning)?;
        let (finish, finished) = mpsc::channel();
        let (started, has_started) = mpsc::channel();
        // A separate thread, which limits the duration and computes the result.
        let take = move || take(turn, &finished, &started);
        let thread = thread::Builder::new().name("cpu profile".to_owned()).spawn(take);
        thread.map_err(|error| ProfileError::Sampler(error.to_string()))?;
        has_started.recv().map_err(|_| lost())??;
        Ok(Self { finish })
    }

    /// Ends the profile and returns the bytes of its file. Resolving the names of functions takes up to seconds.
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
    turn: SamplerPermit,
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
    // The waiting caller holds the other ends.
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
    // Before the answer, after which a caller may start the next profile.
    drop(turn);
    if let (Some(reply), Some(bytes)) = (reply, bytes) {
        let _gone = reply.send(bytes);
    }
}

fn report(sampler: &ProfilerGuard<'_>) -> Reply {
    let fault = |error: pprof::Error| ProfileError::Sampler(error.to_string());
    let report = sampler.report().build().map_err(fault)?;
    let ns_per_sample = NS_PER_SECOND / i64::from(report.timing.frequency.max(1));
    let kinds = [("samples", "count"), ("cpu", "nanoseconds")];
    let mut builder = Builder::new(&kinds, (("cpu", "nanoseconds"), ns_per_sample));
    builder.set_times(report.timing.start_time, report.timing.duration);
    for (frames, count) in &report.data {
        let functions: Vec<_> = frames.frames.iter().flatten().map(function).collect();
        let count = i64::try_from(*count).unwrap_or(i64::MAX);
        let values = vec![count, count.saturating_mul(ns_per_sample)];
        builder.add(&functions, values, Some(("thread", &frames.thread_name_or_id())));
    }
    Ok(builder.finish())
}

fn function(symbol: &pprof::Symbol) -> Function {
    Function { name: symbol.name(), file: symbol.filename().into_owned(), line: symbol.lineno() }
}

/// The ID of a thread of this process.
pub(crate) type ThreadId = i32;

/// Makes a thread of this process take a sample of its own stack.
pub(crate) fn sample_thread(thread: ThreadId) -> io::Result<()> {
    #[expect(unsafe_code, reason = "a signal to one thread; no library has it")]
    // SAFETY: the caller holds a sampler, whose handler is installed. A number that is no thread of ours is an error.
    let result = unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, libc::SIGPROF) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
