//! Which functions hold memory.
//!
//! The allocator wrapper counts the bytes that a thread allocates. After about [`RATE`] bytes it takes a *sample*: it
//! records the allocation with its stack. The heap profile consists of samples; a large allocation is always one. Samples
//! start at a multiple of a page, so that freeing other memory costs one comparison (other allocations may start there by
//! chance, and are looked up in vain).
//!
//! It also counts the memory of each thread ([`esker_primitives::thread_memory`]), which limits calls.

#![expect(
    clippy::disallowed_types,
    reason = "a lock that never allocates; the allocator itself takes it"
)]

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use esker_primitives::thread_memory;

use crate::encode::Builder;
use crate::stack::{FunctionNames, Stack};

/// Mean bytes between two samples. Go uses a quarter of this; a sample costs more here (docs/performance.md, "Profiles").
pub const RATE: usize = 2 * 1024 * 1024;

/// Alignment of samples.
const PAGE: usize = 4096;

/// Most distinct stacks; samples with further stacks are counted without one.
const MAX_STACKS: usize = 16_384;

thread_local! {
    static THREAD: Thread = const {
        Thread { left: Cell::new(0), random: Cell::new(0), is_inside: Cell::new(false) }
    };
}

/// The wrapper's state of a thread. It needs no drop, so it is usable until the thread ends.
struct Thread {
    /// Bytes until the next sample.
    left: Cell<isize>,
    /// State of the random number generator; zero before the first use.
    random: Cell<u64>,
    /// The thread is taking a sample; its allocations meanwhile are not sampled.
    is_inside: Cell<bool>,
}

impl Thread {
    /// Counts an allocation. Returns whether to sample it.
    #[inline]
    fn counts(&self, bytes: usize) -> bool {
        let left = self.left.get().wrapping_sub_unsigned(bytes);
        self.left.set(left);
        left < 0
    }

    /// Bytes until the next sample, exponentially distributed, so that periodic allocations are sampled too.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "some bytes more or less"
    )]
    fn next(&self) -> isize {
        let mut random = self.random.get();
        if random == 0 {
            // Its address differs between threads.
            random = std::ptr::from_ref(self) as u64 ^ 0x9e37_79b9_7f4a_7c15;
        }
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        self.random.set(random);
        let unit = ((random >> 11) as f64 + 1.0) / (1_u64 << 53) as f64;
        (-unit.ln() * RATE as f64) as isize
    }
}

/// A sample that has not been freed.
struct LiveSample {
    stack: usize,
    /// The layout that the program requested.
    layout: Layout,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    allocated: usize,
    allocated_bytes: usize,
    live: usize,
    live_bytes: usize,
}

struct Samples {
    live: BTreeMap<usize, LiveSample>,
    stacks: BTreeMap<Box<[usize]>, usize>,
    counts: Vec<Counts>,
}

static SAMPLES: Mutex<Samples> =
    Mutex::new(Samples { live: BTreeMap::new(), stacks: BTreeMap::new(), counts: Vec::new() });

/// The number of samples. It is 0 in a process whose allocator is not wrapped.
static LIVE: AtomicUsize = AtomicUsize::new(0);

fn samples() -> MutexGuard<'static, Samples> {
    SAMPLES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Samples {
    fn add(&mut self, address: usize, layout: Layout, stack: &Stack) {
        let index = self.index(stack.frames());
        let counts = &mut self.counts[index];
        counts.allocated += 1;
        counts.allocated_bytes += layout.size();
        counts.live += 1;
        counts.live_bytes += layout.size();
        self.live.insert(address, LiveSample { stack: index, layout });
    }

    fn index(&mut self, frames: &[usize]) -> usize {
        if let Some(index) = self.stacks.get(frames) {
            return *index;
        }
        let frames: Box<[usize]> =
            if self.stacks.len() < MAX_STACKS { frames.into() } else { [].into() };
        if let Some(index) = self.stacks.get(&frames) {
            return *index;
        }
        let index = self.counts.len();
        self.counts.push(Counts::default());
        self.stacks.insert(frames, index);
        index
    }

    fn remove(&mut self, address: usize) -> Option<Layout> {
        let LiveSample { stack, layout } = self.live.remove(&address)?;
        let counts = &mut self.counts[stack];
        counts.live -= 1;
        counts.live_bytes -= layout.size();
        Some(layout)
    }
}

/// An allocator that records samples of its allocations.
#[derive(Debug)]
pub struct SamplingAllocator<A>(A);

impl<A> SamplingAllocator<A> {
    /// Wraps this allocator.
    pub const fn new(inner: A) -> Self {
        Self(inner)
    }
}

/// The layout with which the inner allocator allocates a sample.
fn sampled_layout(layout: Layout) -> Option<Layout> {
    layout.align_to(PAGE).ok()
}

impl<A: GlobalAlloc> SamplingAllocator<A> {
    /// Allocates and records a sample. Only allocates if the thread is taking a sample already.
    #[cold]
    #[inline(never)]
    #[expect(unsafe_code, reason = "allocators are")]
    unsafe fn sample(&self, layout: Layout) -> *mut u8 {
        let usual = || {
            // SAFETY: the caller's layout, unchanged.
            unsafe { self.0.alloc(layout) }
        };
        let is_inside = THREAD.with(|thread| thread.is_inside.replace(true));
        if is_inside {
            return usual();
        }
        // The first allocation of a thread only starts its count.
        let is_first = THREAD.with(|thread| {
            let is_first = thread.random.get() == 0;
            thread.left.set(thread.next());
            is_first
        });
        let aligned = sampled_layout(layout).filter(|_| !is_first);
        let address = match aligned {
            // SAFETY: of the size that was asked for, which is not zero.
            Some(aligned) => unsafe { self.0.alloc(aligned) },
            None => usual(),
        };
        if aligned.is_some() && !address.is_null() {
            let stack = Stack::capture();
            samples().add(address as usize, layout, &stack);
            LIVE.fetch_add(1, Ordering::Relaxed);
        }
        THREAD.with(|thread| thread.is_inside.set(false));
        address
    }

    /// Removes a sample. Returns the layout with which the inner allocator allocated it.
    #[cold]
    #[inline(never)]
    fn forget(&self, address: usize) -> Option<Layout> {
        if LIVE.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let is_inside = THREAD.with(|thread| thread.is_inside.replace(true));
        if is_inside {
            // Allocations inside it are not sampled.
            return None;
        }
        let found = samples().remove(address);
        THREAD.with(|thread| thread.is_inside.set(false));
        LIVE.fetch_sub(usize::from(found.is_some()), Ordering::Relaxed);
        found.and_then(sampled_layout)
    }

    #[cold]
    #[inline(never)]
    fn is_sample(&self, address: usize) -> bool {
        if LIVE.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let is_inside = THREAD.with(|thread| thread.is_inside.replace(true));
        if is_inside {
            return false;
        }
        let found = samples().live.contains_key(&address);
        THREAD.with(|thread| thread.is_inside.set(false));
        found
    }
}

const fn may_be_sample(address: usize) -> bool {
    address & (PAGE - 1) == 0
}

#[expect(unsafe_code, reason = "allocators are")]
// SAFETY: every call goes to the inner allocator with the layout that the caller gave, or, for samples, with one of the
// same size and a larger alignment, both when it is allocated and when it is freed.
unsafe impl<A: GlobalAlloc> GlobalAlloc for SamplingAllocator<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        thread_memory::add(layout.size());
        if THREAD.with(|thread| thread.counts(layout.size())) {
            // SAFETY: as of this function.
            return unsafe { self.sample(layout) };
        }
        // SAFETY: as of this function.
        unsafe { self.0.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        thread_memory::add(layout.size());
        if THREAD.with(|thread| thread.counts(layout.size())) {
            // SAFETY: as of this function.
            let address = unsafe { self.sample(layout) };
            if !address.is_null() {
                // SAFETY: there are as many bytes.
                unsafe { address.write_bytes(0, layout.size()) };
            }
            return address;
        }
        // SAFETY: as of this function.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        thread_memory::subtract(layout.size());
        let layout = match may_be_sample(address as usize) {
            true => self.forget(address as usize).unwrap_or(layout),
            false => layout,
        };
        // SAFETY: the layout with which it was allocated.
        unsafe { self.0.dealloc(address, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, address: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let moves = THREAD.with(|thread| thread.counts(new_size))
            || (may_be_sample(address as usize) && self.is_sample(address as usize));
        thread_memory::add(new_size);
        if !moves {
            thread_memory::subtract(layout.size());
            // SAFETY: as of this function.
            return unsafe { self.0.realloc(address, layout, new_size) };
        }
        // SAFETY: the caller keeps to what a layout may be.
        let new_layout = unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) };
        let is_due = THREAD.with(|thread| thread.left.get() < 0);
        let new = match is_due {
            // SAFETY: as of this function.
            true => unsafe { self.sample(new_layout) },
            // SAFETY: as of this function.
            false => unsafe { self.0.alloc(new_layout) },
        };
        if !new.is_null() {
            // SAFETY: both have as many bytes, and they are two allocations; the old one is freed once.
            unsafe {
                std::ptr::copy_nonoverlapping(address, new, layout.size().min(new_size));
                self.dealloc(address, layout);
            }
        }
        new
    }
}

/// The present and the total allocations of the process, estimated from samples: bytes and number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapFigures {
    /// Bytes that are in use.
    pub live_bytes: u64,
    /// Allocations that are in use.
    pub live: u64,
    /// Bytes ever allocated.
    pub allocated_bytes: u64,
    /// Allocations ever made.
    pub allocated: u64,
}

/// The figures of all stacks together.
pub fn figures() -> HeapFigures {
    let mut all = HeapFigures::default();
    for (_, counts) in copy() {
        let [allocated, allocated_bytes, live, live_bytes] = scaled(counts);
        all.allocated += u64::try_from(allocated).unwrap_or_default();
        all.allocated_bytes += u64::try_from(allocated_bytes).unwrap_or_default();
        all.live += u64::try_from(live).unwrap_or_default();
        all.live_bytes += u64::try_from(live_bytes).unwrap_or_default();
    }
    all
}

/// The heap profile, as the bytes of its file. Resolving the names of functions takes most of the time.
pub fn profile() -> Vec<u8> {
    let kinds = [
        ("alloc_objects", "count"),
        ("alloc_space", "bytes"),
        ("inuse_objects", "count"),
        ("inuse_space", "bytes"),
    ];
    let period = (("space", "bytes"), i64::try_from(RATE).unwrap_or_default());
    let mut builder = Builder::new(&kinds, period);
    let mut names = FunctionNames::default();
    for (stack, counts) in copy() {
        builder.add(&names.of_stack(&stack), scaled(counts).to_vec(), None);
    }
    builder.finish()
}

/// A copy of the samples, which are locked only meanwhile.
fn copy() -> Vec<(Box<[usize]>, Counts)> {
    // The copy is not sampled, because a sample would wait for the lock that this thread holds.
    let was_inside = THREAD.with(|thread| thread.is_inside.replace(true));
    let copy = {
        let samples = samples();
        samples.stacks.iter().map(|(stack, at)| (stack.clone(), samples.counts[*at])).collect()
    };
    THREAD.with(|thread| thread.is_inside.set(was_inside));
    copy
}

/// The estimate from samples, computed like Go's: a small allocation is rarely sampled, and represents many.
fn scaled(counts: Counts) -> [i64; 4] {
    let [allocated, allocated_bytes] = scale(counts.allocated, counts.allocated_bytes);
    let [live, live_bytes] = scale(counts.live, counts.live_bytes);
    [allocated, allocated_bytes, live, live_bytes]
}

#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "an estimate")]
fn scale(count: usize, bytes: usize) -> [i64; 2] {
    if count == 0 || bytes == 0 {
        return [0, 0];
    }
    let mean = bytes as f64 / count as f64;
    let factor = 1.0 / (1.0 - (-mean / RATE as f64).exp());
    [(count as f64 * factor) as i64, (bytes as f64 * factor) as i64]
}
