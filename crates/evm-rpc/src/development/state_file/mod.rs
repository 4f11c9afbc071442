//! A state as a file, in anvil's form: JSON, compressed with gzip where it is an argument or a reply (docs/from-anvil.md, "State
//! files").

mod accounts;
mod code;
mod form;
mod load;
mod loaded;
mod parts;
mod plan;
mod read;
mod states;
mod write;
mod write_states;

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use esker_rpc::{CallContext, RpcError, off_thread_long};
use flate2::Compression;
use flate2::write::GzEncoder;
use tokio::sync::Semaphore;

use self::read::ReadState;
use super::{DevelopmentNode, refused};
use crate::wire::Data;

/// Most bytes of a state as JSON, as an argument or a reply.
const MAX_BYTES: usize = 64 << 20;

/// Most bytes of a state as JSON in a file.
const MAX_FILE_BYTES: usize = 1 << 30;

/// States that wait while another one is loaded.
const MAX_WAITING: usize = 8;

/// Blocks that a request makes at most, to be as high as the state's last block. A start makes more.
const MAX_REQUEST_BLOCKS: u64 = 10_000;

/// The name of the file in a folder.
const FILE_NAME: &str = "state.json";

/// Loads one state at a time.
#[derive(Debug)]
pub struct StateLoads {
    place: Arc<Semaphore>,
    waiting: AtomicUsize,
}

impl Default for StateLoads {
    fn default() -> Self {
        Self { place: Arc::new(Semaphore::new(1)), waiting: AtomicUsize::new(0) }
    }
}

/// Leaves the queue when dropped.
struct QueuePlace<'a>(&'a AtomicUsize);

impl Drop for QueuePlace<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The last state; with `history` also the states of the blocks before.
pub(super) fn dump(
    node: &DevelopmentNode,
    (history,): (Option<bool>,),
    context: &CallContext,
) -> Result<Data, RpcError> {
    let mut out = GzEncoder::new(Vec::new(), Compression::fast());
    write::write(node, context, (history.unwrap_or_default(), MAX_BYTES), &mut out)?;
    Ok(Data(out.finish().map_err(refused)?.into()))
}

/// Loads a state into the chain, in some blocks.
pub(super) async fn load(
    node: Arc<DevelopmentNode>,
    (Data(bytes),): (Data,),
) -> Result<bool, RpcError> {
    node.controls_to_write()?;
    let loads = &node.state_loads;
    let waiting = loads.waiting.fetch_add(1, Ordering::Relaxed);
    let _waiting = QueuePlace(&loads.waiting);
    if waiting > MAX_WAITING {
        return Err(refused("too many states wait to be loaded: try again"));
    }
    let place = Arc::clone(&loads.place).acquire_owned().await.map_err(refused)?;
    let read = off_thread_long(move |context| {
        ReadState::from_reader(&bytes[..], MAX_BYTES as u64, context)
    });
    let state = read.await?.map_err(refused)?;
    let apply = {
        let node = Arc::clone(&node);
        async move {
            let _place = place;
            load::apply(&node, state, MAX_REQUEST_BLOCKS).await
        }
    };
    // A separate task, which completes even if the client disconnects.
    tokio::spawn(apply).await.map_err(refused)??;
    Ok(true)
}

/// The reason why a state file can't be used.
#[derive(Debug, thiserror::Error)]
pub enum StateFileError {
    /// It can't be read or written.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Its state can't be loaded, or the state can't be written.
    #[error("{path}: {reason}")]
    State {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

impl DevelopmentNode {
    /// Brings the chain to the state of a file, or of `state.json` in a folder. It is read to its end before anything is
    /// changed. Whether that took blocks.
    ///
    /// # Errors
    /// The file can't be read, or it has no state that this chain can have.
    pub async fn load_file(self: &Arc<Self>, path: &Path) -> Result<bool, StateFileError> {
        let path = file_of(path);
        let state = |reason: String| StateFileError::State { path: path.clone(), reason };
        let file =
            File::open(&path).map_err(|error| StateFileError::Io { path: path.clone(), error })?;
        let read = off_thread_long(move |context| {
            ReadState::from_reader(file, MAX_FILE_BYTES as u64, context)
        });
        let read = read.await.map_err(|error| state(error.to_string()))?;
        let read = read.map_err(|error| state(error.to_string()))?;
        load::apply(self, read, u64::MAX).await.map_err(|error| state(error.message))
    }

    /// Writes the last state to a file, or to `state.json` in a folder; also the states of the blocks before, if `with_states`.
    /// The file is replaced when all is written. Blocks the calling thread.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn dump_file(&self, path: &Path, with_states: bool) -> Result<(), StateFileError> {
        let path = file_of(path);
        let io = |error| StateFileError::Io { path: path.clone(), error };
        let new = new_file_of(&path);
        let mut out = BufWriter::new(File::create(&new).map_err(io)?);
        let written =
            write::write(self, &CallContext::new(), (with_states, MAX_FILE_BYTES), &mut out);
        let written = written
            .map_err(|error| StateFileError::State { path: path.clone(), reason: error.message })
            .and_then(|()| out.flush().map_err(io))
            .and_then(|()| out.get_ref().sync_all().map_err(io))
            .and_then(|()| std::fs::rename(&new, &path).map_err(io));
        if written.is_err() {
            // The first error counts.
            let _left = std::fs::remove_file(&new);
        }
        written
    }
}

/// Checks that [`DevelopmentNode::dump_file`] can write there, before there is something to lose. Blocks the calling
/// thread.
///
/// # Errors
/// No file can be made there.
pub fn check_dump_file(path: &Path) -> Result<(), StateFileError> {
    let path = file_of(path);
    let new = new_file_of(&path);
    File::create(&new)
        .and_then(|_| std::fs::remove_file(&new))
        .map_err(|error| StateFileError::Io { path, error })
}

fn file_of(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(FILE_NAME) } else { path.to_owned() }
}

/// The temporary file, which is renamed when it is complete.
fn new_file_of(path: &Path) -> PathBuf {
    let mut new = path.to_owned().into_os_string();
    new.push(".new");
    new.into()
}
