//! The service `debug-handler`: levels of the log, memory, profiles, stacks (docs/api/evm-debug.md, "The process").
//!
//! The methods use a port, [`RuntimeControl`]. All of them are for trusted callers, because they change what is
//! logged, write files, or take a processor's time.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use esker_primitives::sync::Mutex;
use esker_rpc::handler::{blocking, quick, waits};
use esker_rpc::{MethodTable, RpcError, Service, off_thread};
use schemars::JsonSchema;
use serde::Serialize;
use thiserror::Error;
use tokio::sync::Semaphore;

use super::stack_filter::StackFilter;

/// Longest time of `cpuProfile` and `mutexProfile`: less than a call may take.
pub const MAX_TIMED_PROFILE: Duration = Duration::from_secs(25);

/// Profiles that exist for Go programs only (docs/decisions.md, "Go's runtime").
const OF_GO: &str = "only a Go runtime has this";

/// The reason why the node does not do what a method asks of it. The texts are for clients.
#[derive(Debug, Error)]
pub enum RuntimeError {
    /// A CPU profile is running already. The text is Go's.
    #[error("cpu profiling already in use")]
    AlreadyProfiling,
    /// There is no profile, or no file of it.
    #[error("{0}")]
    Profile(#[source] Box<dyn Error + Send + Sync>),
    /// The levels of modules can't be read.
    #[error("{0}")]
    ModuleLevels(#[source] Box<dyn Error + Send + Sync>),
}

impl From<RuntimeError> for RpcError {
    fn from(error: RuntimeError) -> Self {
        Self::new(error.to_string())
    }
}

/// A running CPU profile. Dropping it ends it without a file.
pub trait RunningProfile: Send {
    /// Ends it and writes its file. Blocks for up to seconds.
    ///
    /// # Errors
    /// The reason why there is no file, as a text for clients.
    fn finish(self: Box<Self>) -> Result<(), RuntimeError>;
}

/// The operations that the methods need from the node. Clients name files, and the implementor decides which of them
/// may be written.
pub trait RuntimeControl: fmt::Debug + Send + Sync {
    /// Sets how much the chain logs: from 0, failures that end the node, to 5, everything.
    fn set_verbosity(&self, level: i64);

    /// Sets what parts of the node log more than that: `pattern=level`, separated by commas.
    fn set_module_levels(&self, rules: &str) -> Result<(), RuntimeError>;

    /// Memory of the process.
    fn memory(&self) -> MemoryFigures;

    /// Begins a CPU profile for this file. Blocks for some milliseconds.
    fn start_cpu_profile(&self, file: &str) -> Result<Box<dyn RunningProfile>, RuntimeError>;

    /// Writes the heap profile. Blocks for up to seconds.
    fn write_heap_profile(&self, file: &str) -> Result<(), RuntimeError>;

    /// Writes the profile of waits for locks. Blocks for up to seconds.
    fn write_lock_profile(&self, file: &str) -> Result<(), RuntimeError>;

    /// Notes one short wait for a lock in so many; 0: none. Returns what it was.
    fn set_lock_fraction(&self, fraction: u32) -> u32;

    /// The current stack of each thread, a paragraph each. Blocks for up to two seconds.
    fn stacks(&self) -> Vec<String>;

    /// Gives free memory back to the system.
    fn release_memory(&self);
}

/// Memory of the process, bytes. The names are Go's where Go has the figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
pub struct MemoryFigures {
    /// In use, estimated from samples.
    pub alloc: u64,
    /// Ever allocated, estimated.
    pub total_alloc: u64,
    /// The memory that the allocator has from the system.
    pub sys: u64,
    /// Allocations ever made, estimated.
    pub mallocs: u64,
    /// Allocations that were freed, estimated.
    pub frees: u64,
    /// As `alloc`.
    pub heap_alloc: u64,
    /// As `sys`.
    pub heap_sys: u64,
    /// The memory that the allocator has and the program does not use.
    pub heap_idle: u64,
    /// Allocations in use, estimated.
    pub heap_objects: u64,
    /// In memory now.
    pub resident: u64,
    /// The most that ever was in memory.
    pub peak_resident: u64,
    /// The most that the allocator ever had from the system.
    pub peak_sys: u64,
    /// Address space.
    pub address_space: u64,
    /// Pages that had to be read from a disk.
    pub page_faults: u64,
    /// Threads of the process.
    pub threads: u64,
}

/// The state that the service keeps between calls.
struct Runtime {
    control: Arc<dyn RuntimeControl>,
    /// The CPU profile that `startCPUProfile` began.
    started: Mutex<Option<Box<dyn RunningProfile>>>,
    /// One call at a time waits while a profile is taken.
    timed: Semaphore,
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime").field("control", &self.control).finish_non_exhaustive()
    }
}

/// The methods of the service.
pub fn runtime_methods(control: Arc<dyn RuntimeControl>) -> Service {
    let runtime = Runtime {
        control,
        started: Mutex::new_named("evm.cpu-profile", None),
        timed: Semaphore::new(1),
    };
    let table = MethodTable::new("debug").trusted_callers_only(|table| {
        table
            .on_list("verbosity", quick(verbosity))
            .params(&["level"])
            .on_list("vmodule", quick(vmodule))
            .params(&["rules"])
            .on_list("memStats", blocking(mem_stats))
            .on_list("cpuProfile", waits(cpu_profile))
            .params(&["file", "seconds"])
            .on_list("startCPUProfile", blocking(start_cpu_profile))
            .params(&["file"])
            .on_list("stopCPUProfile", blocking(stop_cpu_profile))
            .on_list("mutexProfile", waits(mutex_profile))
            .params(&["file", "seconds"])
            .on_list("writeMutexProfile", blocking(write_mutex_profile))
            .params(&["file"])
            .on_list("setMutexProfileFraction", quick(set_mutex_profile_fraction))
            .params(&["fraction"])
            .on_list("writeMemProfile", blocking(write_mem_profile))
            .params(&["file"])
            .on_list("stacks", blocking(stacks))
            .params(&["filter"])
            .on_list("freeOSMemory", blocking(free_os_memory))
            .on_list("gcStats", quick(|_: &Runtime, (): ()| of_go()))
            .on_list("setGCPercent", quick(|_: &Runtime, (_,): (i64,)| of_go()))
            .params(&["percent"])
            .on_list("goTrace", quick(|_: &Runtime, (_, _): (String, usize)| of_go()))
            .params(&["file", "seconds"])
            .on_list("startGoTrace", quick(|_: &Runtime, (_,): (String,)| of_go()))
            .params(&["file"])
            .on_list("stopGoTrace", quick(|_: &Runtime, (): ()| of_go()))
            .on_list("blockProfile", quick(|_: &Runtime, (_, _): (String, usize)| of_go()))
            .params(&["file", "seconds"])
            .on_list("setBlockProfileRate", quick(|_: &Runtime, (_,): (i64,)| of_go()))
            .params(&["rate"])
            .on_list("writeBlockProfile", quick(|_: &Runtime, (_,): (String,)| of_go()))
            .params(&["file"])
    });
    table.bind(Arc::new(runtime))
}

fn of_go() -> Result<(), RpcError> {
    Err(RpcError::new(OF_GO))
}

fn verbosity(runtime: &Runtime, (level,): (i64,)) -> Result<(), RpcError> {
    runtime.control.set_verbosity(level);
    Ok(())
}

fn vmodule(runtime: &Runtime, (rules,): (String,)) -> Result<(), RpcError> {
    Ok(runtime.control.set_module_levels(&rules)?)
}

fn mem_stats(runtime: &Runtime, (): ()) -> Result<MemoryFigures, RpcError> {
    Ok(runtime.control.memory())
}

fn start_cpu_profile(runtime: &Runtime, (file,): (String,)) -> Result<(), RpcError> {
    // Held meanwhile, so that of two callers one is told that the other was first.
    let mut started = runtime.started.lock();
    if started.is_some() {
        return Err(RpcError::new("CPU profiling already in progress"));
    }
    *started = Some(runtime.control.start_cpu_profile(&file)?);
    Ok(())
}

fn stop_cpu_profile(runtime: &Runtime, (): ()) -> Result<(), RpcError> {
    let started = runtime.started.lock().take();
    let running = started.ok_or_else(|| RpcError::new("CPU profiling not in progress"))?;
    Ok(running.finish()?)
}

/// Nothing but a timer is held while the profile is taken. A client that leaves ends it.
async fn cpu_profile(
    runtime: Arc<Runtime>,
    (file, seconds): (String, usize),
) -> Result<(), RpcError> {
    let time = profile_time(seconds)?;
    let _turn = runtime.timed.try_acquire().map_err(|_| already_waiting())?;
    let control = Arc::clone(&runtime.control);
    let start = move || control.start_cpu_profile(&file);
    let running = off_thread(start).await.map_err(refused)??;
    tokio::time::sleep(time).await;
    outside_lanes(move || running.finish()).await
}

/// Like [`cpu_profile`]. Every wait is noted meanwhile.
async fn mutex_profile(
    runtime: Arc<Runtime>,
    (file, seconds): (String, usize),
) -> Result<(), RpcError> {
    let time = profile_time(seconds)?;
    let _turn = runtime.timed.try_acquire().map_err(|_| already_waiting())?;
    let control = Arc::clone(&runtime.control);
    let fraction = control.set_lock_fraction(1);
    let every_wait = RestoreFraction { control: Arc::clone(&control), fraction };
    tokio::time::sleep(time).await;
    drop(every_wait);
    outside_lanes(move || control.write_lock_profile(&file)).await
}

struct RestoreFraction {
    control: Arc<dyn RuntimeControl>,
    fraction: u32,
}

impl Drop for RestoreFraction {
    fn drop(&mut self) {
        self.control.set_lock_fraction(self.fraction);
    }
}

fn profile_time(seconds: usize) -> Result<Duration, RpcError> {
    let most = MAX_TIMED_PROFILE.as_secs();
    match u64::try_from(seconds) {
        Ok(seconds) if seconds <= most => Ok(Duration::from_secs(seconds)),
        _ => Err(RpcError::new(format!(
            "a profile of one call takes at most {most} seconds: use startCPUProfile and stopCPUProfile"
        ))),
    }
}

fn already_waiting() -> RpcError {
    RpcError::new("another call takes a profile already")
}

fn refused(error: impl fmt::Display) -> RpcError {
    RpcError::new(error.to_string())
}

/// Outside the lanes: there is one such work at a time, and it may take seconds.
async fn outside_lanes(
    work: impl FnOnce() -> Result<(), RuntimeError> + Send + 'static,
) -> Result<(), RpcError> {
    let done = tokio::task::spawn_blocking(work).await;
    Ok(done.map_err(refused)??)
}

fn write_mutex_profile(runtime: &Runtime, (file,): (String,)) -> Result<(), RpcError> {
    Ok(runtime.control.write_lock_profile(&file)?)
}

/// As in Go, a negative number changes nothing.
fn set_mutex_profile_fraction(runtime: &Runtime, (fraction,): (i64,)) -> Result<(), RpcError> {
    if fraction >= 0 {
        runtime.control.set_lock_fraction(u32::try_from(fraction).unwrap_or(u32::MAX));
    }
    Ok(())
}

fn write_mem_profile(runtime: &Runtime, (file,): (String,)) -> Result<(), RpcError> {
    Ok(runtime.control.write_heap_profile(&file)?)
}

/// The paragraphs of which the filter is true; a filter that can't be read is true of none.
fn stacks(runtime: &Runtime, (filter,): (Option<String>,)) -> Result<String, RpcError> {
    let filter = match filter.filter(|filter| !filter.is_empty()) {
        None => None,
        Some(text) => match StackFilter::parse(&text) {
            Some(filter) => Some(filter),
            None => return Ok(String::new()),
        },
    };
    let wanted = |stack: &String| filter.as_ref().is_none_or(|filter| filter.matches(stack));
    let stacks: Vec<String> = runtime.control.stacks().into_iter().filter(wanted).collect();
    Ok(stacks.join("\n"))
}

fn free_os_memory(runtime: &Runtime, (): ()) -> Result<(), RpcError> {
    runtime.control.release_memory();
    Ok(())
}
