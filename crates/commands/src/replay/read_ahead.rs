//! Reads blocks ahead of the machine, on a thread of its own, so that a read that waits for input can be stopped.

use std::io::BufRead;
use std::sync::{Arc, Weak};
use std::thread;

use esker_chain::{Aliases as _, ChainMachine as _, Machine};
use esker_node::aliases::AliasTable;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::lines::{BlockLine, Lines, ReadError};

/// Most blocks that are read ahead.
const MAX_BLOCKS: usize = 256;
/// Bytes of blocks that are read ahead, in units of [`UNIT`]. A larger block waits alone.
const MAX_UNITS: usize = 8 << 10;
const UNIT: usize = 1024;

/// A block of the input.
pub(super) struct InputBlock {
    /// The number of its line, from 1.
    pub(super) line: u64,
    pub(super) block: BlockLine,
    /// Bytes of the input up to its end.
    pub(super) bytes_read: u64,
    /// Its share of the memory.
    _memory: Option<OwnedSemaphorePermit>,
}

/// Announces blocks to a machine.
pub(super) struct Announcer {
    /// Input may never come and keeps no machine open.
    pub(super) machine: Weak<Machine>,
    pub(super) aliases: Arc<AliasTable>,
}

impl Announcer {
    fn announce(&self, block: &BlockLine) {
        if let (Some(machine), Some(chain)) =
            (self.machine.upgrade(), self.aliases.lookup(&block.chain))
        {
            machine.prepare(&[(chain, block.bytes.clone())]);
        }
    }
}

/// Starts the thread. It needs the runtime of the receiver only to wait for memory.
pub(super) fn read_ahead(
    input: Box<dyn BufRead + Send>,
    announcer: Announcer,
    runtime: Handle,
) -> mpsc::Receiver<Result<InputBlock, ReadError>> {
    let (sender, receiver) = mpsc::channel(MAX_BLOCKS);
    let memory = Arc::new(Semaphore::new(MAX_UNITS));
    let run = move || {
        let mut lines = Lines::new(input);
        loop {
            let next = match lines.next_block() {
                Ok(None) => return,
                Ok(Some((line, block))) => {
                    let units = block.bytes.len().div_ceil(UNIT).min(MAX_UNITS);
                    let units = u32::try_from(units).unwrap_or(u32::MAX);
                    let memory = Arc::clone(&memory).acquire_many_owned(units);
                    let _memory = runtime.block_on(memory).ok();
                    announcer.announce(&block);
                    Ok(InputBlock { line, block, bytes_read: lines.bytes_read(), _memory })
                }
                Err(error) => Err(error),
            };
            let ended = next.is_err();
            if sender.blocking_send(next).is_err() || ended {
                return;
            }
        }
    };
    // The handle is dropped: the process does not wait for unused input.
    let _reader = thread::spawn(run);
    receiver
}
