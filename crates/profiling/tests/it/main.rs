//! Profiles of this very process, read back with the decoder of the format.

#![expect(clippy::unwrap_used, reason = "in tests a panic is the message")]

mod cpu;
mod folder;
mod heap;
mod locks;

use esker_profiling::heap::SamplingAllocator;

/// The system's allocator, which wants the layout back that it was given.
#[global_allocator]
static ALLOCATOR: SamplingAllocator<std::alloc::System> =
    SamplingAllocator::new(std::alloc::System);
