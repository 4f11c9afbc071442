//! `admin`: accepted blocks to a file and from one (docs/decisions.md, "Files of blocks"). Off unless the service
//! `admin` is named.
//!
//! - `export` writes one, `import` reads one; `stream` has the form of blocks in a file.
//!
//! Both work in steps, between which they stop when the client has left. One is under way at a time.

mod export;
mod import;
mod stream;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use esker_evm::view::ChainReader;
use esker_rpc::handler::waits;
use esker_rpc::{MethodTable, RpcError, Service};
use thiserror::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub use self::stream::{BlockFile, BlockFileError};
use crate::files::Folder;

/// Makes imported blocks final, as if another validator had made them.
#[async_trait]
pub trait BlockImporter: Send + Sync + fmt::Debug + 'static {
    /// Verifies blocks that follow each other and the last accepted one, and makes them final. If one is refused, those
    /// before it may be final.
    async fn import(&self, blocks: Vec<Bytes>) -> Result<(), ImportError>;
}

/// The reason why blocks were not taken. Texts reach clients.
#[derive(Debug, Error)]
pub enum ImportError {
    /// Other nodes take part in deciding which blocks are accepted.
    #[error("blocks can be imported only by a node that decides alone which blocks are accepted")]
    NotAlone,
    /// The node accepted other blocks meanwhile: the import has to look for the next block again.
    #[error("other blocks were accepted meanwhile")]
    Overtaken,
    /// The next block was refused, for this reason.
    #[error("{0}")]
    Refused(String),
}

/// The state of the methods.
#[derive(Debug)]
pub struct ChainFiles {
    chain: Arc<dyn ChainReader>,
    importer: Arc<dyn BlockImporter>,
    folder: Folder,
    turn: Arc<Semaphore>,
}

impl ChainFiles {
    /// The folder of the files, created when needed. `/` allows files anywhere.
    pub fn new(
        chain: Arc<dyn ChainReader>,
        importer: Arc<dyn BlockImporter>,
        folder: PathBuf,
    ) -> Self {
        Self { chain, importer, folder: Folder::new(folder), turn: Arc::new(Semaphore::new(1)) }
    }

    /// Held while a file is written or read.
    fn turn(&self) -> Result<OwnedSemaphorePermit, RpcError> {
        let turn = Arc::clone(&self.turn).try_acquire_owned();
        turn.map_err(|_| RpcError::new("another file of blocks is being written or read"))
    }
}

/// The methods of the service `admin`.
pub fn admin_methods(files: &Arc<ChainFiles>) -> Service {
    MethodTable::new("admin")
        .trusted_callers_only(|table| {
            table
                .on_list("exportChain", waits(export::export_chain))
                .params(&["file", "first", "last"])
                .on_list("importChain", waits(import::import_chain))
                .params(&["file"])
        })
        .bind(Arc::clone(files))
}

/// Runs a step that reads or writes files on a thread that may wait for the disk.
async fn step<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, RpcError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| RpcError::with_code(RpcError::INTERNAL, "method handler crashed"))
}
