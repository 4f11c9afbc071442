//! Imports blocks of a file through the machine.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use esker_chain::{Aliases as _, Bundle, BundleId, ChainMachine as _, ChainVm};
use esker_node::config::Config;
use esker_primitives::ChainId;
use tokio::sync::mpsc;

use super::lines::{BlockLine, Lines, ReadError};
use super::{ReplayError, STANDARD};
use crate::offline::{Offline, StopSignal};
use crate::progress::Progress;

/// Blocks that are read ahead. Few, because one may be large.
const READ_AHEAD: usize = 2;

pub(super) fn run(path: &Path, config: &Config) -> Result<String, ReplayError> {
    if !config.network.validators.is_empty() {
        return Err(ReplayError::SeveralNodes(config.network.name.clone()));
    }
    // Before the data folder is created: a wrong file name leaves nothing behind.
    let (input, length) = open(path)?;
    let stop = StopSignal::listen().map_err(ReplayError::Runtime)?;
    let node = Offline::open(config)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(ReplayError::Runtime)?;
    let mut importer = Importer::new(&node);
    let taken = runtime.block_on(importer.import_all(read(input), path, length, &stop));
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

/// A block with its line number and the bytes read so far.
type Read = (u64, BlockLine, u64);

/// Reads and decodes on a separate thread, so that a read that waits for input can be stopped.
fn read(input: Box<dyn BufRead + Send>) -> mpsc::Receiver<Result<Read, ReadError>> {
    let (sender, receiver) = mpsc::channel(READ_AHEAD);
    let run = move || {
        let mut lines = Lines::new(input);
        loop {
            let next = match lines.next_block() {
                Ok(None) => return,
                Ok(Some((line, block))) => Ok((line, block, lines.bytes_read())),
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

/// Most bundles that become final in one write.
const GROUP_LEN: usize = 64;
/// How long verified bundles wait for further input.
const INPUT_WAIT: Duration = Duration::from_millis(50);
/// Bytes of blocks at which verified bundles become final.
const GROUP_BYTES: usize = 4 << 20;

struct Importer<'a> {
    node: &'a Offline,
    /// Consecutive verified bundles that are not final yet.
    verified: Vec<Bundle>,
    verified_bytes: usize,
    imported: u64,
    skipped: u64,
    /// Blocks below the first stored one, which were not compared with anything.
    before_history: u64,
}

impl<'a> Importer<'a> {
    fn new(node: &'a Offline) -> Self {
        Self {
            node,
            verified: Vec::new(),
            verified_bytes: 0,
            imported: 0,
            skipped: 0,
            before_history: 0,
        }
    }

    /// Imports blocks until the input ends (true) or a stop is requested (false). All blocks before a refused one
    /// become final.
    async fn import_all(
        &mut self,
        blocks: mpsc::Receiver<Result<Read, ReadError>>,
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
        mut blocks: mpsc::Receiver<Result<Read, ReadError>>,
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
                // Verified bundles do not wait for slow input.
                () = tokio::time::sleep(INPUT_WAIT), if !self.verified.is_empty() => {
                    self.finalize().await?;
                    continue;
                }
            };
            let (line, block, read) = match next {
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
        let mut last = chain.stats().height + self.verified_of(&id);
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
        let machine = self.node.machine();
        // A block from the future is refused; a file has only past blocks.
        let mut composed = machine.compose(&self.tip(), vec![(id, bytes.clone())]).await;
        if !matches!(composed, Ok(Ok(_))) && !self.verified.is_empty() {
            // There may be too many undecided bundles. Otherwise the verdict on the final state is the one to report.
            self.finalize().await?;
            composed = machine.compose(&self.tip(), vec![(id, bytes)]).await;
        }
        let bundle = composed?.map_err(|verdict| {
            let reason = verdict.to_string();
            ReplayError::Refused { chain: chain_name, height, line, reason }
        })?;
        self.verified_bytes += bundle.blocks.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
        self.verified.push(bundle);
        if self.verified.len() >= GROUP_LEN || self.verified_bytes >= GROUP_BYTES {
            self.finalize().await?;
        }
        Ok(())
    }

    /// The last bundle, final or not.
    fn tip(&self) -> BundleId {
        self.verified.last().map_or_else(|| self.node.machine().last_final().1, Bundle::id)
    }

    /// Number of verified blocks of a chain that are not final.
    fn verified_of(&self, chain: &ChainId) -> u64 {
        let blocks = self.verified.iter().flat_map(|bundle| &bundle.blocks);
        blocks.filter(|(id, _)| id == chain).count() as u64
    }

    /// Makes the verified bundles final, in one write.
    async fn finalize(&mut self) -> Result<(), ReplayError> {
        self.verified_bytes = 0;
        let bundles = std::mem::take(&mut self.verified);
        if bundles.is_empty() {
            return Ok(());
        }
        let blocks = bundles.len() as u64;
        let bundles = bundles.into_iter().map(|bundle| (bundle, None)).collect();
        self.node.machine().finalize_all(bundles).await?;
        self.imported += blocks;
        Ok(())
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
