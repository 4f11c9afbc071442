//! The process that runs scripts.
//!
//! [`crate::ScriptHost`] starts the node's own program with [`ARGUMENT`]. The process reads no configuration, opens no
//! file, and communicates over one socket, its standard input. Before it reads a job, it limits its own memory and time,
//! and its files to the open ones.

use std::cell::RefCell;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256};
use esker_evm_execution::executor::{
    BlockHashes, Bounds, CodeCache, MachineParams, RemoteState, Runner, StateOverlay,
};
use esker_evm_execution::trace::{Observer, TraceError, TraceOutput, TraceStop};
use esker_evm_state::state::{AccountParts, StateError};
use rustix::process::{Resource, Rlimit, Signal, setrlimit};

use crate::tracer::JsTracer;
use crate::wire::{Fields, Job, MAX_NODE_MESSAGE, OUTPUT_PART, WorkerMessage, receive, send};

/// The argument that makes the program a script process.
pub const ARGUMENT: &str = "run-scripts";

/// Address space of a process, bytes: the script's heap, the EVM's memory, the program itself and its stack.
const ADDRESS_SPACE: u64 = 512 << 20;
/// Memory of the EVM in a process, bytes: several times the memory that the gas cap of calls can buy.
const EVM_MEMORY: u64 = 128 << 20;
/// Processor time of a process, seconds. The node ends a process much earlier; this limit is for a node that can't.
const CPU_SECONDS: u64 = 300;

/// Runs scripts until the node sends no more.
pub fn run() -> ExitCode {
    let stream = match prepare() {
        Ok(stream) => RefCell::new(stream),
        Err(_) => return ExitCode::FAILURE,
    };
    loop {
        let Ok(frame) = receive(&mut *stream.borrow_mut(), MAX_NODE_MESSAGE) else {
            // The node has finished or died.
            return ExitCode::SUCCESS;
        };
        let Ok(job) = Job::parse(&frame) else { return ExitCode::FAILURE };
        drop(frame);
        let said = match work(&job, &stream) {
            Ok(()) => WorkerMessage::Done,
            Err(error) => WorkerMessage::Failed(error.to_string()),
        };
        if send(&mut *stream.borrow_mut(), said.frame()).is_err() {
            return ExitCode::FAILURE;
        }
    }
}

/// Limits this process, and returns its socket.
fn prepare() -> io::Result<UnixStream> {
    let limit = |most: u64| Rlimit { current: Some(most), maximum: Some(most) };
    // The process ends with the node.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    rustix::thread::set_no_new_privs(true)?;
    let stream = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    close_inherited(&stream);
    setrlimit(Resource::As, limit(ADDRESS_SPACE))?;
    setrlimit(Resource::Cpu, limit(CPU_SECONDS))?;
    setrlimit(Resource::Core, limit(0))?;
    setrlimit(Resource::Fsize, limit(0))?;
    // The process can't open further descriptors.
    setrlimit(Resource::Nofile, limit(0))?;
    Ok(stream)
}

/// Closes the descriptors that the process inherited from the node.
fn close_inherited(keep: &UnixStream) {
    use std::os::fd::AsRawFd;
    let Ok(open) = std::fs::read_dir("/proc/self/fd") else { return };
    let open = open.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let open: Vec<i32> = open.filter(|fd| *fd > 2 && *fd != keep.as_raw_fd()).collect();
    // The descriptor of the listing itself is closed already.
    let is_open = |fd: &i32| std::fs::symlink_metadata(format!("/proc/self/fd/{fd}")).is_ok();
    for fd in open.into_iter().filter(is_open) {
        #[expect(unsafe_code, reason = "a descriptor that nothing in this process owns")]
        // SAFETY: this runs before anything else in the process opens a file; what is open beside the standard streams
        // and `keep` was inherited, and no object owns it. It was open a moment ago, and there is no other thread.
        unsafe {
            rustix::io::close(fd);
        }
    }
}

fn work(job: &Job, stream: &RefCell<UnixStream>) -> Result<(), TraceError> {
    let codes = Arc::new(CodeCache::default());
    let chain = MachineParams {
        chain_id: job.chain_id,
        has_control_values: job.has_control_values,
        network_id: job.network_id,
        blockchain_id: job.blockchain_id.into(),
        codes: Arc::clone(&codes),
    };
    let node = NodeState { stream };
    let state = StateOverlay::remote(&node, &node, codes);
    let bounds = Bounds { memory: Some(job.memory.min(EVM_MEMORY)), ..Bounds::default() };
    let tracer = JsTracer::new(&job.source, &job.config)?;
    let mut out = StreamOutput { stream, buffer: Vec::new() };
    let observer = Observer::new(&mut out);
    let mut runner = Runner::with_inspector(&chain, state, &job.block, bounds, observer);
    runner.trace(&job.block, &job.message, job.place, Box::new(tracer))?;
    drop(runner);
    out.flush().map_err(TraceError::Output)
}

/// The state, which the process reads from the node.
struct NodeState<'s> {
    stream: &'s RefCell<UnixStream>,
}

impl NodeState<'_> {
    fn ask<T>(
        &self,
        question: &WorkerMessage,
        read: impl FnOnce(&mut Fields<'_>) -> io::Result<T>,
    ) -> T {
        let mut stream = self.stream.borrow_mut();
        let answered = send(&mut *stream, question.frame()).and_then(|()| {
            let frame = receive(&mut *stream, MAX_NODE_MESSAGE)?;
            read(&mut Fields::new(&frame))
        });
        // The process can't work without the node.
        answered.unwrap_or_else(|_| std::process::exit(1))
    }
}

impl RemoteState for NodeState<'_> {
    fn account(&self, address: Address) -> Result<Option<AccountParts>, StateError> {
        Ok(self.ask(&WorkerMessage::Account(address), |fields| Ok(fields.account()?)))
    }

    fn slot(&self, address: Address, slot: U256) -> Result<U256, StateError> {
        Ok(self.ask(&WorkerMessage::Slot(address, slot), |fields| Ok(fields.word()?)))
    }

    fn code(&self, hash: B256) -> Result<Bytes, StateError> {
        Ok(self
            .ask(&WorkerMessage::Code(hash), |fields| Ok(Bytes::copy_from_slice(fields.bytes()?))))
    }
}

impl BlockHashes for NodeState<'_> {
    fn block_hash(&self, number: u64) -> Result<Option<B256>, StateError> {
        Ok(self.ask(&WorkerMessage::Ancestor(number), |fields| Ok(fields.maybe_hash()?)))
    }
}

/// Output to the node, which limits it.
struct StreamOutput<'s> {
    stream: &'s RefCell<UnixStream>,
    buffer: Vec<u8>,
}

impl StreamOutput<'_> {
    fn flush(&mut self) -> Result<(), TraceStop> {
        for part in self.buffer.chunks(OUTPUT_PART) {
            let said = WorkerMessage::Output(part.to_vec());
            send(&mut *self.stream.borrow_mut(), said.frame())
                .map_err(|_| TraceStop::ClientGone)?;
        }
        self.buffer.clear();
        Ok(())
    }
}

impl TraceOutput for StreamOutput<'_> {
    fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    fn checkpoint(&mut self) -> Result<(), TraceStop> {
        if self.buffer.len() >= OUTPUT_PART { self.flush() } else { Ok(()) }
    }

    fn hold(&mut self, _: usize) -> Result<(), TraceStop> {
        Ok(())
    }
}
