//! Profiles that an endpoint starts, stops and writes.

use esker_primitives::sync::Mutex;
use esker_profiling::cpu::CpuProfile;
use esker_profiling::{Folder, ProfileError, heap, locks, threads};
use esker_rpc::handler::{Handler, blocking};
use esker_rpc::{MethodTable, NoArgs, RpcError};

use super::EmptyReply;

/// Names of the files, the reference's.
const CPU_FILE: &str = "cpu.profile";
const HEAP_FILE: &str = "mem.profile";
const LOCK_FILE: &str = "lock.profile";
const STACKS_FILE: &str = "stacktrace.txt";

/// The profiles of one endpoint: its folder, and the CPU profile that it has begun. There is one CPU profile at a time in
/// the process; each endpoint stops its own.
#[derive(Debug)]
pub(super) struct Profiles {
    folder: Folder,
    cpu: Mutex<Option<CpuProfile>>,
}

/// A service with profiles.
pub(super) trait HasProfiles: Send + Sync + 'static {
    fn profiles(&self) -> &Profiles;
}

/// Adds the methods of profiles.
pub(super) fn add_methods<S: HasProfiles>(table: MethodTable<S>) -> MethodTable<S> {
    table
        .on("startCPUProfiler", profiling(Profiles::start_cpu))
        .on("stopCPUProfiler", profiling(Profiles::stop_cpu))
        .on("memoryProfile", profiling(Profiles::write_heap))
        .on("lockProfile", profiling(Profiles::write_locks))
}

/// A method that works on the service's profiles.
pub(super) fn profiling<S: HasProfiles>(
    run: fn(&Profiles) -> Result<(), RpcError>,
) -> Handler<S, NoArgs, EmptyReply> {
    blocking(move |api: &S, _: NoArgs| run(api.profiles()).map(|()| EmptyReply {}))
}

impl Profiles {
    pub(super) fn new(folder: Folder) -> Self {
        Self { folder, cpu: Mutex::new_named("admin.cpu-profile", None) }
    }

    pub(super) fn start_cpu(&self) -> Result<(), RpcError> {
        let mut cpu = self.cpu.lock();
        if cpu.is_some() {
            return Err(refused(&ProfileError::AlreadyRunning));
        }
        // Checked before the time of the profile: the folder can be made and the file written.
        self.folder.own(CPU_FILE).map_err(|error| refused(&error))?;
        *cpu = Some(CpuProfile::start().map_err(|error| refused(&error))?);
        Ok(())
    }

    pub(super) fn stop_cpu(&self) -> Result<(), RpcError> {
        let running = self.cpu.lock().take();
        let running = running.ok_or_else(|| refused(&ProfileError::NotRunning))?;
        let bytes = running.finish().map_err(|error| refused(&error))?;
        self.write(CPU_FILE, &bytes)
    }

    pub(super) fn write_heap(&self) -> Result<(), RpcError> {
        self.write(HEAP_FILE, &heap::profile())
    }

    pub(super) fn write_locks(&self) -> Result<(), RpcError> {
        self.write(LOCK_FILE, &locks::profile())
    }

    pub(super) fn write_stacks(&self) -> Result<(), RpcError> {
        let stacks: Vec<String> =
            threads::stacks().iter().map(threads::ThreadStack::text).collect();
        self.write(STACKS_FILE, stacks.join("\n").as_bytes())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), RpcError> {
        self.folder.write(name, bytes).map_err(|error| refused(&error))?;
        tracing::info!(file = %self.folder.path().join(name).display(), "profile written");
        Ok(())
    }
}

fn refused(error: &ProfileError) -> RpcError {
    RpcError::new(error.to_string())
}
