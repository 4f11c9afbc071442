//! Threads that prepare announced blocks while the machine's thread executes earlier ones.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use bytes::Bytes;
use esker_primitives::sync::{Condvar, Mutex};

use crate::vm::ChainVm;

/// Smallest block that is prepared, bytes. The machine has checked a smaller one as soon as it could be handed over.
const MIN_BLOCK_BYTES: usize = 4 << 10;
/// Most blocks in the queue. Further ones are not prepared.
const QUEUE_LEN: usize = 256;
/// Most bytes of blocks in the queue.
const QUEUE_BYTES: usize = 16 << 20;
/// Most threads. One processor is left to the machine's thread.
const MAX_THREADS: usize = 16;

/// The threads and their queue. The first block starts the threads; dropping this ends them after their current
/// blocks.
pub(super) struct PreparePool {
    shared: Arc<PoolState>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Default)]
struct PoolState {
    queue: Mutex<Queue>,
    wake: Condvar,
}

#[derive(Default)]
struct Queue {
    blocks: VecDeque<(Arc<dyn ChainVm>, Bytes)>,
    bytes: usize,
    is_closed: bool,
}

impl PreparePool {
    pub(super) fn new() -> Self {
        Self { shared: Arc::default(), threads: Mutex::new_named("machine.helpers", Vec::new()) }
    }

    /// Queues a block, unless it is small or the queue is full.
    pub(super) fn prepare(&self, chain: &Arc<dyn ChainVm>, block: &Bytes) {
        if block.len() < MIN_BLOCK_BYTES {
            return;
        }
        let mut queue = self.shared.queue.lock();
        if queue.blocks.len() >= QUEUE_LEN || queue.bytes + block.len() > QUEUE_BYTES {
            return;
        }
        queue.bytes += block.len();
        queue.blocks.push_back((Arc::clone(chain), block.clone()));
        drop(queue);
        self.start_threads();
        self.shared.wake.notify_one();
    }

    /// The machine verifies a block now: it and the blocks announced before it need no preparation.
    pub(super) fn on_verify(&self, block: &Bytes) {
        if block.len() < MIN_BLOCK_BYTES {
            return;
        }
        let is_same = |queued: &Bytes| queued.as_ptr_range() == block.as_ptr_range();
        let mut queue = self.shared.queue.lock();
        if let Some(at) = queue.blocks.iter().position(|(_, queued)| is_same(queued)) {
            let passed: usize = queue.blocks.drain(..=at).map(|(_, block)| block.len()).sum();
            queue.bytes -= passed;
        }
    }

    fn start_threads(&self) {
        let mut threads = self.threads.lock();
        if !threads.is_empty() {
            return;
        }
        let processors = thread::available_parallelism().map_or(1, usize::from);
        for number in 0..processors.saturating_sub(1).clamp(1, MAX_THREADS) {
            let shared = Arc::clone(&self.shared);
            let builder = thread::Builder::new().name(format!("prepare-{number}"));
            match builder.spawn(move || shared.run()) {
                Ok(thread) => threads.push(thread),
                // The machine's thread does the work.
                Err(error) => tracing::warn!(%error, "cannot start a thread that prepares blocks"),
            }
        }
    }
}

impl PoolState {
    fn run(&self) {
        while let Some((chain, block)) = self.next() {
            chain.prepare(&block);
        }
    }

    /// The next block; `None` once the pool is closed.
    fn next(&self) -> Option<(Arc<dyn ChainVm>, Bytes)> {
        let mut queue = self.queue.lock();
        loop {
            if queue.is_closed {
                return None;
            }
            if let Some((chain, block)) = queue.blocks.pop_front() {
                queue.bytes -= block.len();
                return Some((chain, block));
            }
            self.wake.wait(&mut queue);
        }
    }
}

impl fmt::Debug for PreparePool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PreparePool({} queued)", self.shared.queue.lock().blocks.len())
    }
}

impl Drop for PreparePool {
    fn drop(&mut self) {
        let mut queue = self.shared.queue.lock();
        queue.is_closed = true;
        queue.blocks.clear();
        drop(queue);
        self.shared.wake.notify_all();
        for thread in self.threads.get_mut().drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread that prepares blocks had panicked");
            }
        }
    }
}
