//! The reply as tracers write it.

use esker_evm_execution::executor::{Stop, TxError};
use esker_evm_execution::trace::{TraceError, TraceOutput, TraceStop};
use esker_rpc::{CallContext, ResultWriter, RpcError};

use crate::error::read_error;

/// Most bytes that tracers of one call keep for later: inputs, outputs and frames. Several times what the transactions
/// of a full block have.
pub(crate) const MAX_HELD: usize = 64 << 20;

/// A reply that tracers write to.
pub(super) struct ReplyOutput<'w> {
    writer: &'w mut ResultWriter,
    context: &'w CallContext,
    held: usize,
    refused: Option<RpcError>,
}

impl TraceOutput for ReplyOutput<'_> {
    fn buffer(&mut self) -> &mut Vec<u8> {
        self.writer.buffer()
    }

    fn checkpoint(&mut self) -> Result<(), TraceStop> {
        self.writer.checkpoint().map_err(|error| {
            self.refused = Some(error);
            TraceStop::TooLarge
        })?;
        match self.context.is_cancelled() {
            true => Err(TraceStop::Stopped(Stop::Cancelled)),
            false => Ok(()),
        }
    }

    fn hold(&mut self, bytes: usize) -> Result<(), TraceStop> {
        self.held = self.held.saturating_add(bytes);
        if self.held > MAX_HELD { Err(TraceStop::TooLarge) } else { Ok(()) }
    }

    fn release(&mut self) {
        self.held = 0;
    }
}

/// The reason why there is no reply.
#[derive(Debug)]
pub(crate) enum Refusal {
    Trace(TraceError),
    Rpc(RpcError),
}

impl From<TraceError> for Refusal {
    fn from(error: TraceError) -> Self {
        Self::Trace(error)
    }
}

impl From<RpcError> for Refusal {
    fn from(error: RpcError) -> Self {
        Self::Rpc(error)
    }
}

/// Lets tracers write to a reply.
pub(crate) fn write(
    writer: &mut ResultWriter,
    context: &CallContext,
    work: impl FnOnce(&mut dyn TraceOutput) -> Result<(), Refusal>,
) -> Result<(), RpcError> {
    let mut out = ReplyOutput { writer, context, held: 0, refused: None };
    let done = work(&mut out);
    let refused = out.refused;
    done.map_err(|error| refused.unwrap_or_else(|| refusal(error)))
}

/// The error that the client gets.
pub(super) fn refusal(error: Refusal) -> RpcError {
    match error {
        Refusal::Rpc(error) => error,
        Refusal::Trace(TraceError::Refused(TxError::State(error))) => read_error(error),
        Refusal::Trace(error @ TraceError::Output(TraceStop::TooLarge)) => {
            RpcError::with_code(RpcError::TOO_LARGE, error.to_string())
        }
        Refusal::Trace(error) => RpcError::new(error.to_string()),
    }
}
