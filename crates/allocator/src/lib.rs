//! The allocator of each program that links this crate. It is a crate of its own so that `release` optimizes it fully, which the
//! program's own crate is not.

use esker_profiling::heap::SamplingAllocator;
use mimalloc::MiMalloc;

/// Returns memory to the system after a storm of large replies, unlike the allocator of the C library. It also
/// samples allocations for heap profiles.
#[global_allocator]
static ALLOCATOR: SamplingAllocator<MiMalloc> = SamplingAllocator::new(MiMalloc);
