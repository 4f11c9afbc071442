//! The cost of an allocation through the sampling wrapper: `cargo run --release -p esker-profiling --example
//! alloc_cost`.
//!
//! Allocates and frees through both allocators in turn, in rounds, and prints the median of each in nanoseconds.

#![expect(unsafe_code, reason = "calls allocators")]
#![expect(clippy::print_stdout, reason = "prints its figures")]

use std::alloc::{GlobalAlloc, Layout};
use std::hint::black_box;
use std::time::Instant;

use esker_profiling::heap::SamplingAllocator;
use mimalloc::MiMalloc;

const ROUNDS: usize = 41;
const BLOCKS: usize = 200_000;
/// Blocks that are held at a time.
const HELD: usize = 64;

static SAMPLING: SamplingAllocator<MiMalloc> = SamplingAllocator::new(MiMalloc);

/// Nanoseconds to allocate a block of this size and to free another one, this deep in calls.
#[inline(never)]
fn measure(allocator: &impl GlobalAlloc, size: usize, depth: usize) -> f64 {
    if depth > 0 {
        return black_box(measure(allocator, size, depth - 1));
    }
    let layout = Layout::from_size_align(size, 8).expect("a size that there is");
    let mut held: [*mut u8; HELD] = [std::ptr::null_mut(); HELD];
    let begin = Instant::now();
    for n in 0..BLOCKS {
        let place = &mut held[n % HELD];
        // SAFETY: each block is freed once, with the layout with which it was allocated.
        unsafe {
            if !place.is_null() {
                allocator.dealloc(*place, layout);
            }
            *place = black_box(allocator.alloc(layout));
        }
    }
    let took = begin.elapsed();
    for place in held {
        // SAFETY: as above.
        unsafe { allocator.dealloc(place, layout) };
    }
    took.as_secs_f64() * 1e9 / 200_000.0
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn main() {
    println!("{:>8} {:>10} {:>10} {:>10}", "bytes", "plain ns", "sampled ns", "ns a MiB");
    for size in [32, 256, 2048, 16_384, 131_072] {
        let (mut plain, mut sampled) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            plain.push(measure(&MiMalloc, size, 30));
            sampled.push(measure(&SAMPLING, size, 30));
        }
        let (plain, sampled) = (median(plain), median(sampled));
        let a_mib = (sampled - plain) * 1_048_576.0 / f64::from(u32::try_from(size).unwrap_or(1));
        println!("{size:>8} {plain:>10.1} {sampled:>10.1} {a_mib:>10.0}");
    }
}
