//! The operations of the node that the service `debug-handler` of a chain uses.

use esker_evm_rpc::debug::{MemoryFigures, RunningProfile, RuntimeControl, RuntimeError};
use esker_profiling::cpu::CpuProfile;
use esker_profiling::{Folder, ProfileError, heap, locks, memory, threads};

use crate::logging::{LogLevels, level_of_number};

/// The process, on behalf of one chain.
#[derive(Debug)]
pub(crate) struct ChainRuntime {
    /// Name of the chain's logger.
    pub(crate) logger: String,
    pub(crate) levels: LogLevels,
    /// The folder of files that clients name.
    pub(crate) folder: Folder,
}

struct Running {
    profile: CpuProfile,
    folder: Folder,
    file: String,
}

impl RunningProfile for Running {
    fn finish(self: Box<Self>) -> Result<(), RuntimeError> {
        let bytes = self.profile.finish().map_err(failed)?;
        self.folder.place(&self.file).and_then(|place| place.write(&bytes)).map_err(failed)
    }
}

fn failed(error: ProfileError) -> RuntimeError {
    match error {
        ProfileError::AlreadyRunning => RuntimeError::AlreadyProfiling,
        other => RuntimeError::Profile(other.into()),
    }
}

impl ChainRuntime {
    /// Makes the content only if the file may be written, since making it takes long.
    fn write(&self, file: &str, bytes: fn() -> Vec<u8>) -> Result<(), RuntimeError> {
        let place = self.folder.place(file).map_err(failed)?;
        place.write(&bytes()).map_err(failed)?;
        tracing::debug!(chain = self.logger, file, "profile written");
        Ok(())
    }
}

impl RuntimeControl for ChainRuntime {
    fn set_verbosity(&self, level: i64) {
        let level = level_of_number(level);
        self.levels.set(&self.logger, Some(level), Some(level));
    }

    fn set_module_levels(&self, rules: &str) -> Result<(), RuntimeError> {
        self.levels.set_modules(rules).map_err(|error| RuntimeError::ModuleLevels(error.into()))
    }

    fn memory(&self) -> MemoryFigures {
        let (heap, process) = (heap::figures(), memory::process());
        MemoryFigures {
            alloc: heap.live_bytes,
            total_alloc: heap.allocated_bytes,
            sys: process.committed,
            mallocs: heap.allocated,
            frees: heap.allocated.saturating_sub(heap.live),
            heap_alloc: heap.live_bytes,
            heap_sys: process.committed,
            heap_idle: process.committed.saturating_sub(heap.live_bytes),
            heap_objects: heap.live,
            resident: process.resident,
            peak_resident: process.peak_resident,
            peak_sys: process.peak_committed,
            address_space: process.address_space,
            page_faults: process.page_faults,
            threads: process.threads,
        }
    }

    fn start_cpu_profile(&self, file: &str) -> Result<Box<dyn RunningProfile>, RuntimeError> {
        // Checked before the time of the profile.
        self.folder.place(file).map_err(failed)?;
        let profile = CpuProfile::start().map_err(failed)?;
        Ok(Box::new(Running { profile, folder: self.folder.clone(), file: file.to_owned() }))
    }

    fn write_heap_profile(&self, file: &str) -> Result<(), RuntimeError> {
        self.write(file, heap::profile)
    }

    fn write_lock_profile(&self, file: &str) -> Result<(), RuntimeError> {
        self.write(file, locks::profile)
    }

    fn set_lock_fraction(&self, fraction: u32) -> u32 {
        locks::set_fraction(fraction)
    }

    fn stacks(&self) -> Vec<String> {
        threads::stacks().iter().map(threads::ThreadStack::text).collect()
    }

    fn release_memory(&self) {
        memory::release();
    }
}
