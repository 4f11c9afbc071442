//! Imports blocks of a file through the machine.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use esker_chain::{Aliases as _, ChainMachine as _, ChainVm, FinalizeError};
use esker_node::progress::Progress;
use esker_primitives::{ChainId, Clock as _};
use esker_settings::config::{Beginning, Config};
use esker_settings::networks::DevStart;
use tokio::sync::mpsc;

use super::lines::{BlockLine, ReadError, StartLine};
use super::read_ahead::{Announcer, InputBlock, read_ahead};
use super::{ReplayError, STANDARD};
use crate::offline::{Offline, StopSignal};

pub(super) fn run(path: &Path, config: &Config) -> Result<String, ReplayError> {
    if !config.network.validators.is_empty() {
        return Err(ReplayError::SeveralNodes(config.network.name.clone()));
    }
    // Before the data folder is created: a wrong file name leaves nothing behind.
    let (input, length) = open(path)?;
    let (input, beginning) = beginning(input, path, config)?;
    let mut config = config.clone();
    config.beginning = beginning;
    let config = &config;
    let stop = StopSignal::listen().map_err(ReplayError::Runtime)?;
    let node = Offline::open(config)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(ReplayError::Runtime)?;
    let mut importer = Importer::new(&node);
    let announcer =
        Announcer { machine: Arc::downgrade(node.machine()), aliases: Arc::clone(node.aliases()) };
    let blocks = read_ahead(input, announcer, runtime.handle().clone());
    let taken = runtime.block_on(importer.import_all(blocks, path, length, &stop));
    let done = importer.summary();
    node.close()?;
    match taken {
        Ok(true) => Ok(format!("{done}\n")),
        Ok(false) => Err(ReplayError::Stopped {
            done: format!("{done}; run the same command again to continue"),
        }),
        Err(error) => Err(error),
    }
}

/// The input, and how the network of its blocks began.
fn beginning(
    input: Box<dyn BufRead + Send>,
    path: &Path,
    config: &Config,
) -> Result<(Box<dyn BufRead + Send>, Beginning), ReplayError> {
    if !config.network.is_development() {
        return Ok((input, Beginning::New));
    }
    let (start, mut input) = StartLine::peek(input)
        .map_err(|error| ReplayError::File { path: path.to_owned(), error })?;
    let Some(StartLine { start, has_fee_window, chain_id }) = start else {
        // The file is of an earlier version, unless it is empty.
        let is_empty = input.fill_buf().map_or(true, <[u8]>::is_empty);
        return Ok((input, if is_empty { Beginning::New } else { Beginning::OfFile }));
    };
    if chain_id == config.network.evm_chain().id.to_string() {
        return Ok((input, Beginning::At(DevStart { time_s: start, has_fee_window })));
    }
    Err(ReplayError::OtherNetwork { start })
}

/// The input, with its length in bytes if that is known.
fn open(path: &Path) -> Result<(Box<dyn BufRead + Send>, Option<u64>), ReplayError> {
    if path == Path::new(STANDARD) {
        return Ok((Box::new(BufReader::new(io::stdin())), None));
    }
    let fault = |error| ReplayError::File { path: path.to_owned(), error };
    let file = File::open(path).map_err(fault)?;
    let found = file.metadata().map_err(fault)?;
    if found.is_dir() {
        return Err(fault(io::ErrorKind::IsADirectory.into()));
    }
    let length = (found.is_file() && found.len() > 0).then_some(found.len());
    Ok((Box::new(BufReader::new(file)), length))
}

/// How far a block may be ahead of the clock, ms.
const MAX_AHEAD_MS: u64 = 10_000;

/// Most bundles that the machine gets at once.
const GROUP_LEN: usize = 256;
/// Time that read blocks wait for further input.
const INPUT_WAIT: Duration = Duration::from_millis(50);
/// Bytes of blocks at which a group of bundles is complete.
const GROUP_BYTES: usize = 4 << 20;

/// A block that the machine has not got yet.
struct WaitingBlock {
    id: ChainId,
    bytes: Bytes,
    chain: String,
    height: u64,
    line: u64,
}

struct Importer<'a> {
    node: &'a Offline,
    /// Consecutive blocks that the machine has not got yet.
    waiting: Vec<WaitingBlock>,
    waiting_bytes: usize,
    imported: u64,
    skipped: u64,
    /// Blocks below the first stored one, which were not compared with anything.
    before_history: u64,
}

impl<'a> Importer<'a> {
    fn new(node: &'a Offline) -> Self {
        Self {
            node,
            waiting: Vec::new(),
            waiting_bytes: 0,
            imported: 0,
            skipped: 0,
            before_history: 0,
        }
    }

    /// Imports blocks until the input ends (true) or a stop is requested (false). All blocks before a refused one
    /// become final.
    async fn import_all(
        &mut self,
        blocks: mpsc::Receiver<Result<InputBlock, ReadError>>,
        path: &Path,
        length: Option<u64>,
        stop: &StopSignal,
    ) -> Result<bool, ReplayError> {
        let result = self.import_blocks(blocks, path, length, stop).await;
        self.finalize().await?;
        result
    }

    async fn import_blocks(
        &mut self,
        mut blocks: mpsc::Receiver<Result<InputBlock, ReadError>>,
        path: &Path,
        length: Option<u64>,
        stop: &StopSignal,
    ) -> Result<bool, ReplayError> {
        let mut progress = Progress::on_terminal(Arc::clone(self.node.clock()));
        loop {
            let next = tokio::select! {
                biased;
                () = stop.requested() => return Ok(false),
                next = blocks.recv() => next,
                // Blocks do not wait for slow input.
                () = tokio::time::sleep(INPUT_WAIT), if !self.waiting.is_empty() => {
                    self.finalize().await?;
                    continue;
                }
            };
            let InputBlock { line, block, bytes_read: read, .. } = match next {
                None => return Ok(true),
                Some(Ok(block)) => block,
                Some(Err(ReadError::Line(line, error))) => {
                    return Err(ReplayError::Line { line, error });
                }
                Some(Err(ReadError::Io(error))) => {
                    return Err(ReplayError::File { path: path.to_owned(), error });
                }
            };
            self.import_block(line, block).await?;
            progress.show(|| match length {
                Some(length) => format!("importing: {}, {}%", self.summary(), read * 100 / length),
                None => format!("importing: {}", self.summary()),
            });
        }
    }

    /// Imports a block like another validator's.
    async fn import_block(&mut self, line: u64, block: BlockLine) -> Result<(), ReplayError> {
        let BlockLine { chain: name, height, bytes } = block;
        let Some(chain) = self.chain(&name) else {
            return Err(ReplayError::UnknownChain { line, chain: name });
        };
        let chain_name = chain.name();
        let id = chain.context().chain_id;
        let mut last = chain.stats().height + self.waiting_of(&id);
        if height <= last {
            self.finalize().await?;
            last = chain.stats().height;
        }
        if height <= last {
            let reader = self.node.store().snapshot()?;
            let stats = chain.stats();
            if height > 0 && height < stats.first_block {
                // It is below the snapshot from which the folder was made, and can't be compared.
                self.before_history += 1;
                return Ok(());
            }
            if chain.block_at(reader.as_ref(), height)? != Some(bytes) {
                return Err(ReplayError::Differs { chain: chain_name, height, line });
            }
            self.skipped += 1;
            return Ok(());
        }
        if height - last > 1 {
            return Err(ReplayError::Gap { chain: chain_name, height, last, line });
        }
        self.waiting_bytes += bytes.len();
        self.waiting.push(WaitingBlock { id, bytes, chain: chain_name, height, line });
        if self.waiting.len() >= GROUP_LEN || self.waiting_bytes >= GROUP_BYTES {
            self.finalize().await?;
        }
        Ok(())
    }

    /// Number of waiting blocks of a chain.
    fn waiting_of(&self, chain: &ChainId) -> u64 {
        self.waiting.iter().filter(|block| block.id == *chain).count() as u64
    }

    /// Makes the waiting blocks final, in as few writes as their size allows. The machine verifies them in the same
    /// call.
    async fn finalize(&mut self) -> Result<(), ReplayError> {
        let machine = self.node.machine();
        let mut waiting = std::mem::take(&mut self.waiting);
        self.waiting_bytes = 0;
        while !waiting.is_empty() {
            let (before, on) = machine.last_final();
            let blocks = waiting.iter().map(|block| (block.id, block.bytes.clone())).collect();
            let outcome = machine.finalize_blocks(&on, blocks).await;
            let done = machine.last_final().0.saturating_sub(before);
            self.imported += done;
            waiting.drain(..usize::try_from(done).unwrap_or(usize::MAX).min(waiting.len()));
            match outcome {
                Err(FinalizeError::NotYet { until_ms, .. }) if self.follow_time(until_ms) => {}
                Err(FinalizeError::Invalid(reason) | FinalizeError::NotYet { reason, .. })
                    if done == 0 =>
                {
                    let WaitingBlock { chain, height, line, .. } = waiting.swap_remove(0);
                    return Err(ReplayError::Refused { chain, height, line, reason });
                }
                // If a block is refused, the verdict on the final state is the one to report.
                Ok(()) | Err(FinalizeError::Invalid(_) | FinalizeError::NotYet { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// A block ahead of the clock is refused, except on a development network, whose clock may have been moved forward.
    /// Returns whether the clock was moved.
    fn follow_time(&self, until_ms: u64) -> bool {
        let Some(clock) = self.node.development_clock() else { return false };
        let moves = clock.now_ms() < until_ms;
        clock.advance_to(until_ms.saturating_add(MAX_AHEAD_MS));
        moves
    }

    fn chain(&self, name: &str) -> Option<&'a Arc<dyn ChainVm>> {
        let id = self.node.aliases().lookup(name)?;
        self.node.machine().chains().iter().find(|chain| chain.context().chain_id == id)
    }

    /// The progress so far.
    fn summary(&self) -> String {
        let heights: Vec<String> = self
            .node
            .machine()
            .chains()
            .iter()
            .map(|chain| format!("{} at height {}", chain.name(), chain.stats().height))
            .collect();
        let there = match self.skipped {
            0 => String::new(),
            skipped => format!(" ({skipped} more were there)"),
        };
        let before = match self.before_history {
            0 => String::new(),
            blocks => format!(" ({blocks} from before the history here were not compared)"),
        };
        format!("{} blocks imported{there}{before}, {}", self.imported, heights.join(", "))
    }
}
