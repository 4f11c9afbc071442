//! Traces to files, and of a block from a file: the service `debug-file-tracer`.
//!
//! The files of a call get their names when all of them are complete.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use alloy_primitives::{B256, hex};
use esker_evm_execution::trace::{JsonLogger, StructLogConfig, TraceOutput, TraceStop};
use esker_go_json::Document;
use esker_go_json::args::{Argument, ArgumentError, decode_struct};
use esker_primitives::{Randomness, excerpt};
use esker_rpc::handler::{restartable, written};
use esker_rpc::{CallContext, MethodTable, ResultWriter, RpcError, Service, cost};
use schemars::JsonSchema;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::block::{Target, check_running, replay_block, trace_block};
use super::config::{
    DEFAULT_REEXEC, DEFAULT_TIMEOUT, IgnoredSettings, LogSettings, MAX_TIMEOUT, TraceConfig,
    log_slots,
};
use super::output::{MAX_HELD, Refusal, refusal};
use super::schema::TxTrace;
use crate::evm::TransactApi;
use crate::files::{Folder, PartialFile, open_error, open_file, system_text};
use crate::wire::{Data, Hash};

/// Most bytes of a file with a block: a bundle has no more.
const MAX_BLOCK_BYTES: u64 = 64 << 20;
/// Most bytes of all files of one call.
const MAX_BYTES: u64 = 4 << 30;
/// Random numbers at the end of names are below this.
const NAME_NUMBERS: u64 = 10_000_000_000;

/// The state of the methods.
pub struct TraceFiles {
    transact: Arc<TransactApi>,
    folder: Folder,
    randomness: Randomness,
    max_bytes: u64,
    turn: Arc<Semaphore>,
}

impl TraceFiles {
    /// The folder of the files, created when needed. `/` allows files anywhere.
    pub fn new(transact: &Arc<TransactApi>, folder: PathBuf, randomness: Randomness) -> Self {
        Self {
            transact: Arc::clone(transact),
            folder: Folder::new(folder),
            randomness,
            max_bytes: MAX_BYTES,
            turn: Arc::new(Semaphore::new(1)),
        }
    }

    /// The same with fewer bytes for the files of a call.
    #[must_use]
    pub fn with_max_bytes(self, max_bytes: u64) -> Self {
        Self { max_bytes, ..self }
    }

    /// Held while files are written.
    fn turn(&self) -> Result<OwnedSemaphorePermit, RpcError> {
        let turn = Arc::clone(&self.turn).try_acquire_owned();
        turn.map_err(|_| RpcError::new("another trace is being written to files"))
    }

    /// An unused file name.
    fn name(&self, block: &B256, index: usize, tx: &B256) -> String {
        let mut random = [0; 8];
        (self.randomness)(&mut random);
        let random = u64::from_be_bytes(random) % NAME_NUMBERS;
        let (block, tx) = (hex::encode(&block[..4]), hex::encode(&tx[..4]));
        format!("block_0x{block}-{index}-0x{tx}-{random}")
    }
}

impl fmt::Debug for TraceFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceFiles").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// The methods of the service `debug-file-tracer`.
pub fn file_tracing_methods(files: &Arc<TraceFiles>) -> Service {
    MethodTable::new("debug")
        .trusted_callers_only(|table| {
            table
                .on_list("traceBlockFromFile", written(trace_block_from_file))
                .params(&["file", "config"])
                .returns::<Vec<TxTrace>>()
                .cost(cost::HEAVY)
                .on_list("standardTraceBlockToFile", restartable(block_to_file))
                .params(&["hash", "config"])
                .cost(cost::HEAVY)
                .on_list("standardTraceBadBlockToFile", restartable(bad_block_to_file))
                .params(&["hash", "config"])
                .cost(cost::HEAVY)
        })
        .bind(Arc::clone(files))
}

fn trace_block_from_file(
    files: &TraceFiles,
    (name, config): (String, Option<TraceConfig>),
    context: &CallContext,
    writer: &mut ResultWriter,
) -> Result<(), RpcError> {
    let bytes = read(&files.folder, &name)
        .map_err(|error| RpcError::new(format!("could not read file: {}", error.message)))?;
    trace_block(&files.transact, (Data(bytes.into()), config), context, writer)
}

fn read(folder: &Folder, name: &str) -> Result<Vec<u8>, RpcError> {
    let path = folder.existing_file(name)?;
    let file = open_file(&path).map_err(|error| open_error(name, &error))?;
    let shown = excerpt(name);
    let failed = |error: &io::Error| RpcError::new(format!("read {shown}: {}", system_text(error)));
    if !file.metadata().map_err(|error| failed(&error))?.is_file() {
        return Err(failed(&io::ErrorKind::IsADirectory.into()));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BLOCK_BYTES + 1).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    if bytes.len() as u64 > MAX_BLOCK_BYTES {
        return Err(RpcError::new(format!(
            "read {shown}: the file has more than {MAX_BLOCK_BYTES} bytes"
        )));
    }
    Ok(bytes)
}

fn block_to_file(
    files: &TraceFiles,
    (Hash(hash), config): (Hash, Option<FileConfig>),
    context: &CallContext,
) -> Result<Option<Vec<String>>, RpcError> {
    let transact = &*files.transact;
    let found = transact.reads.block_by_hash(hash)?;
    let block = found.ok_or_else(|| RpcError::new(format!("block {hash:#x} not found")))?;
    write(files, &Target::accepted(transact, block)?, config.unwrap_or_default(), context)
}

fn bad_block_to_file(
    files: &TraceFiles,
    (Hash(hash), config): (Hash, Option<FileConfig>),
    context: &CallContext,
) -> Result<Option<Vec<String>>, RpcError> {
    let bad = files.transact.reads.chain.bad_blocks();
    let bad = bad.into_iter().find(|bad| bad.block.hash == hash);
    let bad = bad.ok_or_else(|| RpcError::new(format!("bad block {hash:#x} not found")))?;
    write(files, &Target::all_of(&files.transact, bad.block), config.unwrap_or_default(), context)
}

/// Runs a block replay_block, and writes a file for each transaction, or for one. Gives their names; null of a block without
/// transactions.
fn write(
    files: &TraceFiles,
    target: &Target,
    config: FileConfig,
    context: &CallContext,
) -> Result<Option<Vec<String>>, RpcError> {
    let block = &target.block;
    let txs = &block.block.transactions;
    let wanted = (config.tx_hash != B256::ZERO).then_some(config.tx_hash);
    if let Some(wanted) = wanted
        && !txs.iter().any(|tx| *tx.tx_hash() == wanted)
    {
        return Err(RpcError::new(format!("transaction {wanted:#x} not found in block")));
    }
    let _turn = files.turn()?;
    let written =
        RefCell::new(TraceOutputFiles { whole: Vec::new(), open: None, left: files.max_bytes });
    let mut out = FileOutput { buffer: Vec::new(), held: 0, written: &written };
    let reexec = config.reexec.unwrap_or(DEFAULT_REEXEC);
    let ran =
        replay_block(&files.transact, target, reexec, context, &mut out, |replay, deadline| {
            for (at, tx) in txs.iter().enumerate() {
                check_running(context)?;
                let hash = tx.tx_hash();
                if wanted.is_some_and(|wanted| wanted != *hash) {
                    deadline.begin(MAX_TIMEOUT);
                    replay.run(tx, target.sender(at))?;
                    continue;
                }
                let name = files.name(&block.hash, at, hash);
                let path = files.folder.new_file(&name)?;
                written.borrow_mut().begin(path)?;
                deadline.begin(DEFAULT_TIMEOUT);
                let tracer = Box::new(JsonLogger::new(config.log));
                replay.trace(tx, target.sender(at), block.hash, at, tracer)?;
                replay.out().release();
                written.borrow_mut().end()?;
                if wanted.is_some() {
                    break;
                }
            }
            Ok(())
        });
    drop(out);
    let TraceOutputFiles { whole, open, left } = written.into_inner();
    if let Err(error) = ran {
        let is_full = matches!(&error, Refusal::Trace(_)) && left == 0;
        drop((whole, open));
        return Err(match is_full {
            true => RpcError::with_code(
                RpcError::TOO_LARGE,
                format!("traces of a call have at most {} bytes in files", files.max_bytes),
            ),
            false => refusal(error),
        });
    }
    check_running(context)?;
    let mut names = Vec::with_capacity(whole.len());
    for (unfinished, path) in whole {
        unfinished.rename(&path).map_err(|error| write_error(&path, &error))?;
        names.push(path.to_string_lossy().into_owned());
    }
    Ok((!names.is_empty()).then_some(names))
}

fn write_error(path: &std::path::Path, error: &io::Error) -> RpcError {
    RpcError::new(format!("write {}: {}", path.display(), system_text(error)))
}

/// The files of a call.
struct TraceOutputFiles {
    /// Complete files, with their final names.
    whole: Vec<(PartialFile, PathBuf)>,
    open: Option<(File, PartialFile, PathBuf)>,
    /// Bytes that may still be written.
    left: u64,
}

impl TraceOutputFiles {
    fn begin(&mut self, path: PathBuf) -> Result<(), RpcError> {
        let create =
            |path: &std::path::Path| File::options().write(true).create_new(true).open(path);
        let made = PartialFile::create(&path, create).map_err(|error| write_error(&path, &error));
        let (file, unfinished) = made?;
        self.open = Some((file, unfinished, path));
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), TraceStop> {
        let Some(left) = self.left.checked_sub(bytes.len() as u64) else {
            self.left = 0;
            return Err(TraceStop::TooLarge);
        };
        self.left = left;
        let Some((file, ..)) = &mut self.open else { return Ok(()) };
        file.write_all(bytes).map_err(|error| {
            tracing::warn!(%error, "a trace could not be written to a file");
            TraceStop::ClientGone
        })
    }

    fn end(&mut self) -> Result<(), RpcError> {
        let Some((file, unfinished, path)) = self.open.take() else { return Ok(()) };
        file.sync_all().map_err(|error| write_error(&path, &error))?;
        self.whole.push((unfinished, path));
        Ok(())
    }
}

/// Output to the file that is open.
struct FileOutput<'w> {
    buffer: Vec<u8>,
    held: usize,
    written: &'w RefCell<TraceOutputFiles>,
}

impl TraceOutput for FileOutput<'_> {
    fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    fn checkpoint(&mut self) -> Result<(), TraceStop> {
        self.written.borrow_mut().append(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    fn hold(&mut self, bytes: usize) -> Result<(), TraceStop> {
        self.held = self.held.saturating_add(bytes);
        if self.held > MAX_HELD { Err(TraceStop::TooLarge) } else { Ok(()) }
    }

    fn release(&mut self) {
        self.held = 0;
    }
}

/// Go's `tracers.StdTraceConfig`.
#[derive(Clone, Debug, Default)]
struct FileConfig {
    log: StructLogConfig,
    reexec: Option<u64>,
    tx_hash: B256,
}

/// Settings of traces in files.
#[derive(JsonSchema)]
#[schemars(title = "trace settings", rename_all = "camelCase")]
#[expect(dead_code, reason = "for documents: the members are read into slots")]
struct FileSettings {
    #[schemars(flatten)]
    log: LogSettings,
    /// Changes nothing.
    reexec: Option<u64>,
    /// The only transaction to trace.
    tx_hash: Option<Hash>,
}

esker_rpc::schema_as!(FileConfig, "FileTraceConfig", FileSettings);

impl Argument for FileConfig {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("tracers.StdTraceConfig")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let mut config = Self::default();
        let (mut tx_hash, mut ignored) = (Hash(B256::ZERO), IgnoredSettings::default());
        let mut slots = log_slots(&mut config.log, &mut ignored);
        slots.push(("Reexec", &mut config.reexec));
        slots.push(("TxHash", &mut tx_hash));
        decode_struct(value, "tracers.StdTraceConfig", &mut slots)?;
        drop(slots);
        config.tx_hash = tx_hash.0;
        Ok(config)
    }
}
