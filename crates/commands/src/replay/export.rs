//! Exports accepted blocks to a file.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use esker_chain::tables::BUNDLES;
use esker_chain::{ChainError, ChainMachine as _, ChainVm};
use esker_node::progress::Progress;
use esker_node::wiring::network_start;
use esker_primitives::ChainId;
use esker_settings::config::Config;
use esker_settings::networks::DevStart;
use esker_storage::{FileSpace, Scope};

use super::lines::{BlockLine, StartLine};
use super::{ReplayError, STANDARD};
use crate::offline::{Offline, StopSignal, existing_folder};

/// Bytes that are buffered before they are written.
const BUFFER: usize = 1 << 20;

const EXISTS: &str = "file already exists; choose another";

pub(super) fn run(path: &Path, from: Option<u64>, config: &Config) -> Result<String, ReplayError> {
    let stop = StopSignal::listen().map_err(ReplayError::Runtime)?;
    let node = Offline::open_existing(config)?;
    let first = node.machine().history_start()?;
    let from = from.unwrap_or(1);
    if from < first {
        node.close()?;
        return Err(ReplayError::BeforeHistory { first });
    }
    let mut target = OutputFile::create(path, config)?;
    let start = match config.network.is_development() {
        true => network_start(node.store())?,
        false => None,
    };
    let start = start.map(|DevStart { time_s, has_fee_window }| StartLine {
        start: time_s,
        has_fee_window,
        chain_id: config.network.evm_chain().id.to_string(),
    });
    let written = write(&node, (start, from), &mut target.out, &stop);
    let closed = node.close();
    let blocks = written.map_err(|error| error.at(path))?;
    closed?;
    target.finish()?;
    Ok(match path == Path::new(STANDARD) {
        // The standard output has the blocks, so no summary is printed.
        true => String::new(),
        false => format!("{blocks} blocks exported to {}\n", path.display()),
    })
}

/// The reason why the export stopped.
enum WriteError {
    Output(io::Error),
    Replay(ReplayError),
}

impl WriteError {
    fn at(self, path: &Path) -> ReplayError {
        match self {
            Self::Output(error) => ReplayError::File { path: path.to_owned(), error },
            Self::Replay(error) => error,
        }
    }
}

impl<E: Into<ReplayError>> From<E> for WriteError {
    fn from(error: E) -> Self {
        Self::Replay(error.into())
    }
}

/// Writes when the network began, if that is on record, and the blocks of all bundles from a height on, at least 1: bundle 0
/// is genesis. Returns their number.
fn write(
    node: &Offline,
    (start, from): (Option<StartLine>, u64),
    out: &mut dyn Write,
    stop: &StopSignal,
) -> Result<u64, WriteError> {
    let (last, _) = node.machine().last_final();
    let mut progress = Progress::on_terminal(Arc::clone(node.clock()));
    let mut blocks = 0u64;
    if let Some(start) = start {
        start.write(out).map_err(WriteError::Output)?;
    }
    for height in from..=last {
        if stop.is_requested() {
            let done = format!("no file is left of the {blocks} blocks that were written");
            return Err(ReplayError::Stopped { done }.into());
        }
        for line in bundle(node, height)? {
            line.write(out).map_err(WriteError::Output)?;
            blocks += 1;
        }
        progress.show(|| format!("exporting: {blocks} blocks, {}%", height * 100 / last));
    }
    progress.clear();
    out.flush().map_err(WriteError::Output)?;
    Ok(blocks)
}

/// The blocks of a bundle, in order of acceptance.
fn bundle(node: &Offline, height: u64) -> Result<Vec<BlockLine>, ReplayError> {
    let reader = node.store().snapshot()?;
    let damaged = |what: String| ReplayError::from(ChainError::Corrupted(what));
    let record = BUNDLES
        .get(reader.as_ref(), Scope::NODE, &height)?
        .ok_or_else(|| damaged(format!("bundle {height} is missing")))?;
    let chain_of = |id: &ChainId| -> Option<&Arc<dyn ChainVm>> {
        node.machine().chains().iter().find(|chain| chain.context().chain_id == *id)
    };
    let mut lines = Vec::with_capacity(record.blocks.len());
    for (id, height) in record.blocks {
        let missing = || damaged(format!("block {height} of chain {id} is missing"));
        let chain = chain_of(&id).ok_or_else(missing)?;
        let bytes = chain.block_at(reader.as_ref(), height)?.ok_or_else(missing)?;
        lines.push(BlockLine { chain: chain.name(), height, bytes });
    }
    Ok(lines)
}

/// The output of an export.
struct OutputFile {
    out: Box<dyn Write>,
    /// The temporary file, and the final name that it gets when it is complete.
    renamed: Option<(PartialFile, PathBuf)>,
}

impl OutputFile {
    /// Opens standard output, a pipe or a device directly; otherwise creates a temporary file.
    fn create(path: &Path, config: &Config) -> Result<Self, ReplayError> {
        let fault = |error| ReplayError::File { path: path.to_owned(), error };
        if path == Path::new(STANDARD) {
            let out = BufWriter::with_capacity(BUFFER, io::stdout());
            return Ok(Self { out: Box::new(out), renamed: None });
        }
        match path.metadata() {
            Ok(found) if found.is_file() || found.is_dir() => {
                Err(fault(io::Error::new(io::ErrorKind::AlreadyExists, EXISTS)))
            }
            Ok(_) => {
                let file = OpenOptions::new().write(true).open(path).map_err(fault)?;
                let out = Box::new(BufWriter::with_capacity(BUFFER, file));
                Ok(Self { out, renamed: None })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mut name = path.as_os_str().to_owned();
                name.push(".partial");
                let partial = PartialFile(PathBuf::from(name));
                let file = File::create(&partial.0).map_err(fault)?;
                let node = existing_folder(config)?;
                let is_beside =
                    file.metadata().and_then(|file| Ok(file.dev() == node.metadata()?.dev()));
                // On another disk nothing of the node's is at stake.
                let reserve = match is_beside.map_err(fault)? {
                    true => config.settings.store_disk_reserve,
                    false => 0,
                };
                let file = SpaceLimited { file, space: FileSpace::new(node, reserve) };
                let out = Box::new(BufWriter::with_capacity(BUFFER, file));
                Ok(Self { out, renamed: Some((partial, path.to_owned())) })
            }
            Err(error) => Err(fault(error)),
        }
    }

    /// Renames the complete file.
    fn finish(self) -> Result<(), ReplayError> {
        drop(self.out);
        let Some((partial, path)) = self.renamed else { return Ok(()) };
        let renamed = File::open(&partial.0)
            .and_then(|file| file.sync_all())
            .and_then(|()| std::fs::rename(&partial.0, &path));
        renamed.map_err(|error| ReplayError::File { path, error })
    }
}

/// A file that leaves room for the node on its disk.
struct SpaceLimited {
    file: File,
    space: FileSpace,
}

impl Write for SpaceLimited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let checked = self.space.check(bytes.len() as u64);
        checked.map_err(|error| io::Error::new(io::ErrorKind::StorageFull, error))?;
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A file that is deleted on drop, unless it was renamed.
struct PartialFile(PathBuf);

impl Drop for PartialFile {
    fn drop(&mut self) {
        let _renamed = std::fs::remove_file(&self.0);
    }
}
