//! Profiles of this very process, read back with the decoder of the format.

mod cpu;
mod folder;
mod heap;
mod locks;
mod read;

use esker_profiling::heap::SamplingAllocator;

/// The system's allocator, which wants the layout back that it was given.
#[global_allocator]
static ALLOCATOR: SamplingAllocator<std::alloc::System> =
    SamplingAllocator::new(std::alloc::System);
