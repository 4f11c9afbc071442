//! Outputs for the JSON of traces.

use crate::executor::{Stop, TxError};

/// Takes the JSON of a trace.
pub trait TraceOutput {
    /// The end of the JSON so far. Writers append to it and change nothing before their own bytes.
    fn buffer(&mut self) -> &mut Vec<u8>;

    /// Must be called every few kilobytes. It may send and empty the buffer, and fails if the trace is too long or
    /// takes too long.
    fn checkpoint(&mut self) -> Result<(), TraceStop>;

    /// Must be called before a tracer keeps bytes for later (inputs, outputs, frames). The sum of kept bytes of a
    /// reply is bounded: code pays nothing for passing the same megabyte to thousands of calls.
    fn hold(&mut self, bytes: usize) -> Result<(), TraceStop>;

    /// Must be called when a transaction's tracer is dropped with all that it kept.
    fn release(&mut self) {}
}

/// Output into memory, up to a limit.
#[derive(Debug)]
pub struct BufferOutput {
    buffer: Vec<u8>,
    held: usize,
    limit: usize,
}

impl BufferOutput {
    /// An empty output with a limit in bytes. The bytes that tracers keep count too.
    pub fn new(limit: usize) -> Self {
        Self { buffer: Vec::new(), held: 0, limit }
    }

    /// Returns the written bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.buffer
    }
}

impl TraceOutput for BufferOutput {
    fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    fn checkpoint(&mut self) -> Result<(), TraceStop> {
        if self.buffer.len() > self.limit { Err(TraceStop::TooLarge) } else { Ok(()) }
    }

    fn hold(&mut self, bytes: usize) -> Result<(), TraceStop> {
        self.held = self.held.saturating_add(bytes);
        if self.held > self.limit { Err(TraceStop::TooLarge) } else { Ok(()) }
    }
}

/// Why the output takes no more bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceStop {
    /// The trace is longer than a reply may be.
    TooLarge,
    /// The client is gone.
    ClientGone,
    /// The execution must stop.
    Stopped(Stop),
}

/// Why there is no trace. Texts are the reference's, if it has one.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The output takes no more bytes.
    #[error("{}", match .0 { TraceStop::TooLarge => "response too large", TraceStop::ClientGone | TraceStop::Stopped(_) => "execution aborted" })]
    Output(TraceStop),
    /// The transaction can't be executed.
    #[error("tracing failed: {0}")]
    Refused(TxError),
    /// It took too long, or needs too much memory.
    #[error("{}", match .0 {
        Stop::TimedOut => "execution timeout".to_owned(),
        stop => stop.to_string(),
    })]
    Stopped(Stop),
    /// The tracer failed with this text.
    #[error("{0}")]
    Failed(String),
}

impl From<TraceStop> for TraceError {
    fn from(stop: TraceStop) -> Self {
        match stop {
            TraceStop::Stopped(stop) => Self::Stopped(stop),
            stop => Self::Output(stop),
        }
    }
}

impl From<TxError> for TraceError {
    fn from(error: TxError) -> Self {
        match error {
            TxError::Stopped(stop) => Self::Stopped(stop),
            error => Self::Refused(error),
        }
    }
}
