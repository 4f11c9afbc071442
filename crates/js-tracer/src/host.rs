//! The node's side of script processes.

use std::cell::RefCell;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use esker_evm_execution::executor::{CONTROL_VALUES, MachineParams, StateOverlay, Stop, StopCheck};
use esker_evm_execution::trace::{
    RemoteTracer, RemoteTx, ScriptClient, ScriptSession, Scripts, TraceError, TraceOutput,
    TraceResult, Tracer, tracers,
};
use esker_evm_state::state::StateError;

use crate::slots::{ScriptSlots, Slot};
use crate::wire::{Frame, Job, MAX_NODE_MESSAGE, MAX_WORKER_MESSAGE, WorkerMessage};
use crate::{scripts, worker};

/// Time that a read or write waits before it checks whether to continue.
const PATIENCE: Duration = Duration::from_millis(10);
/// Bytes of output between two checks of it.
const CHUNK: usize = 64 << 10;
/// The error for scripts of clients if they are switched off.
const SWITCHED_OFF: &str =
    "tracers in JavaScript are off on this node: the setting tracer-scripts-enabled allows them";
/// Address space that the allocator of the process reserves at once, KiB. Its default exceeds the limit of the process.
const ARENA_KIB: &str = "32768";

/// How scripts run.
#[derive(Clone, Debug)]
pub struct ScriptConfig {
    /// The program: this one.
    pub program: PathBuf,
    /// The limit of concurrent processes, which the chains of a node share.
    pub slots: Arc<ScriptSlots>,
    /// Whether scripts of clients run. Named scripts always run.
    pub runs_custom: bool,
}

/// Runs the scripts of each request in a separate process.
#[derive(Debug)]
pub struct ScriptHost {
    config: Arc<ScriptConfig>,
}

impl ScriptHost {
    /// A host. It starts a process for the first script.
    pub fn new(config: ScriptConfig) -> Self {
        Self { config: Arc::new(config) }
    }
}

impl Scripts for ScriptHost {
    fn session(&self, client: ScriptClient) -> Rc<dyn ScriptSession> {
        let config = Arc::clone(&self.config);
        let slots = Arc::clone(&config.slots);
        let starter = Starter { slots, client, slot: None, running: None };
        Rc::new(Session { config, process: Rc::new(RefCell::new(starter)) })
    }
}

struct Session {
    config: Arc<ScriptConfig>,
    process: Rc<RefCell<Starter>>,
}

impl ScriptSession for Session {
    fn reserve(&self, stop: StopCheck<'_>) -> TraceResult {
        self.process.borrow_mut().reserve(Some(stop))
    }

    fn tracer(&self, source: &str, config: &str) -> Result<Box<dyn Tracer>, TraceError> {
        if scripts::by_name(source).is_none() && !self.config.runs_custom {
            return Err(TraceError::Failed(tracers::script_error_text(source, SWITCHED_OFF)));
        }
        Ok(Box::new(Remote {
            config: Arc::clone(&self.config),
            process: Rc::clone(&self.process),
            source: source.to_owned(),
            tracer_config: config.to_owned(),
        }))
    }
}

/// The process of a session, which starts with the first script.
struct Starter {
    slots: Arc<ScriptSlots>,
    client: ScriptClient,
    // Dropped before its slot: the slot is free when the process has ended.
    running: Option<Process>,
    /// When the session began to wait for a process.
    slot: Option<Slot>,
}

impl Starter {
    fn reserve(&mut self, stop: Option<StopCheck<'_>>) -> TraceResult {
        if self.slot.is_none() {
            self.slot = Some(self.slots.take(&self.client, stop).map_err(TraceError::Stopped)?);
        }
        Ok(())
    }

    /// Starts the process if there is none.
    fn start(&mut self, config: &ScriptConfig, stop: Option<StopCheck<'_>>) -> TraceResult {
        self.reserve(stop)?;
        if self.running.is_none() {
            let started = Process::start(config).map_err(|error| {
                tracing::warn!(%error, "cannot start the process of a script");
                TraceError::Failed("cannot start the process of the script".to_owned())
            });
            self.running = Some(started?);
        }
        Ok(())
    }

    /// Runs a job in the process.
    fn run(&mut self, work: JobRun<'_, '_>, stop: Option<StopCheck<'_>>) -> Result<(), JobFailure> {
        let Self { client, slot, running, .. } = self;
        let process = running.as_mut().expect("it was started");
        let stop_or_yield = || {
            // If another client gets the slot, `stop` says so.
            if let Some(slot) = slot.as_ref().filter(|slot| slot.must_yield())
                && !(client.restart)()
            {
                slot.keep();
            }
            stop.and_then(|stop| stop())
        };
        process.run(work, Some(&stop_or_yield))
    }
}

struct Remote {
    config: Arc<ScriptConfig>,
    process: Rc<RefCell<Starter>>,
    source: String,
    tracer_config: String,
}

impl Tracer for Remote {
    fn remote(&mut self) -> Option<&mut dyn RemoteTracer> {
        Some(self)
    }

    fn write(&mut self, _: &mut dyn TraceOutput) -> TraceResult {
        Err(TraceError::Failed("a script can't run within another tracer".to_owned()))
    }
}

impl RemoteTracer for Remote {
    fn trace(
        &mut self,
        tx: &RemoteTx<'_>,
        state: &mut StateOverlay<'_>,
        out: &mut dyn TraceOutput,
    ) -> TraceResult {
        let mut starter = self.process.borrow_mut();
        starter.start(&self.config, tx.bounds.stop)?;
        let job = self.job(tx).frame().finish();
        let ended = match job.len() > MAX_NODE_MESSAGE {
            true => Err(JobFailure::Trace(TraceError::Failed("the script is too long".to_owned()))),
            false => starter.run(JobRun { job: &job, state, out }, tx.bounds.stop),
        };
        match ended {
            Ok(()) => Ok(()),
            // The process itself is fine, and may have the next transaction.
            Err(JobFailure::Script(text)) => Err(TraceError::Failed(text)),
            Err(JobFailure::Trace(error)) => {
                starter.running = None;
                Err(error)
            }
            Err(JobFailure::Process(error)) => {
                let status = starter.running.take().and_then(|mut process| process.end());
                tracing::warn!(%error, ?status, "the process of a script died");
                Err(TraceError::Failed(
                    "the script's process died: it may have used too much memory".to_owned(),
                ))
            }
        }
    }
}

impl Remote {
    fn job(&self, tx: &RemoteTx<'_>) -> Job {
        let MachineParams { chain_id, has_control_values, network_id, blockchain_id, .. } =
            tx.chain;
        Job {
            source: self.source.clone(),
            config: self.tracer_config.clone(),
            chain_id: *chain_id,
            has_control_values: *has_control_values,
            network_id: *network_id,
            blockchain_id: *blockchain_id.as_bytes(),
            memory: tx.bounds.memory.unwrap_or(u64::MAX),
            block: tx.block.clone(),
            message: tx.message.clone(),
            place: tx.place,
        }
    }
}

/// A job with its state and its output.
struct JobRun<'a, 'state> {
    /// The frame that starts the job.
    job: &'a [u8],
    state: &'a mut StateOverlay<'state>,
    out: &'a mut dyn TraceOutput,
}

/// The reason why a job ended without a result.
enum JobFailure {
    /// The script failed, with this text.
    Script(String),
    /// The node stopped the job.
    Trace(TraceError),
    /// The process broke the protocol, or died.
    Process(io::Error),
}

impl From<io::Error> for JobFailure {
    fn from(error: io::Error) -> Self {
        Self::Process(error)
    }
}

impl From<StateError> for JobFailure {
    fn from(error: StateError) -> Self {
        Self::Trace(TraceError::Refused(esker_evm_execution::executor::TxError::State(error)))
    }
}

/// A running process. It is killed and waited for when this is dropped.
struct Process {
    child: Child,
    stream: UnixStream,
    /// Received bytes of an incomplete frame.
    pending: Vec<u8>,
}

impl Process {
    fn start(config: &ScriptConfig) -> io::Result<Self> {
        let (stream, theirs) = UnixStream::pair()?;
        let child = Command::new(&config.program)
            .arg(worker::ARGUMENT)
            .env_clear()
            .env("MIMALLOC_ARENA_RESERVE", ARENA_KIB)
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { child, stream, pending: Vec::new() })
    }

    /// Kills and reaps it.
    fn end(&mut self) -> Option<std::process::ExitStatus> {
        // A process that has ended keeps its own status.
        if self.child.try_wait().ok().flatten().is_none() {
            let _already_ended = self.child.kill();
        }
        self.child.wait().ok()
    }

    fn run(&mut self, work: JobRun<'_, '_>, stop: Option<StopCheck<'_>>) -> Result<(), JobFailure> {
        let JobRun { job, state, out } = work;
        self.send(job, stop)?;
        loop {
            let frame = self.receive(stop)?;
            let said = WorkerMessage::parse(&frame).map_err(io::Error::from)?;
            let answer = match said {
                WorkerMessage::Account(address) => Frame::answer().account(state.account(address)?),
                WorkerMessage::Slot(CONTROL_VALUES, slot) => {
                    Frame::answer().word(state.control_value(slot)?)
                }
                WorkerMessage::Slot(address, slot) => {
                    Frame::answer().word(state.slot(address, slot)?)
                }
                WorkerMessage::Code(hash) => Frame::answer().bytes(&state.code_of_hash(hash)?),
                WorkerMessage::Ancestor(number) => {
                    Frame::answer().maybe_hash(state.ancestor_hash(number)?)
                }
                WorkerMessage::Output(bytes) => {
                    out.buffer().extend_from_slice(&bytes);
                    if out.buffer().len() >= CHUNK {
                        out.checkpoint().map_err(|stop| JobFailure::Trace(stop.into()))?;
                    }
                    continue;
                }
                WorkerMessage::Done => return Ok(()),
                WorkerMessage::Failed(text) => return Err(JobFailure::Script(text)),
            };
            self.send(&answer.finish(), stop)?;
        }
    }

    fn send(&mut self, mut bytes: &[u8], stop: Option<StopCheck<'_>>) -> Result<(), JobFailure> {
        while !bytes.is_empty() {
            match self.stream.write(bytes) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::WriteZero).into()),
                Ok(count) => bytes = &bytes[count..],
                Err(error) => waited(error, stop)?,
            }
        }
        Ok(())
    }

    /// The next frame, without its length.
    fn receive(&mut self, stop: Option<StopCheck<'_>>) -> Result<Vec<u8>, JobFailure> {
        loop {
            if let Some((length, rest)) = self.pending.split_first_chunk::<4>() {
                let length = u32::from_le_bytes(*length) as usize;
                if length > MAX_WORKER_MESSAGE {
                    return Err(io::Error::from(crate::wire::MalformedFrame).into());
                }
                if rest.len() >= length {
                    let frame = rest[..length].to_vec();
                    self.pending.drain(..4 + length);
                    return Ok(frame);
                }
            }
            // A process that sends without end is stopped here.
            if let Some(stop) = stop.and_then(|stop| stop()) {
                return Err(JobFailure::Trace(TraceError::Stopped(stop)));
            }
            let mut part = [0; 16 << 10];
            match self.stream.read(&mut part) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                Ok(count) => self.pending.extend_from_slice(&part[..count]),
                Err(error) => waited(error, stop)?,
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// Whether an error of the socket is only its timeout, after which the caller checks whether to continue.
fn waited(error: io::Error, stop: Option<StopCheck<'_>>) -> Result<(), JobFailure> {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    if !matches!(error.kind(), Interrupted | TimedOut | WouldBlock) {
        return Err(error.into());
    }
    let stopped: Option<Stop> = stop.and_then(|stop| stop());
    stopped.map_or(Ok(()), |stop| Err(JobFailure::Trace(TraceError::Stopped(stop))))
}
