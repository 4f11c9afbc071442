//! Results that a handler writes piece by piece.

use std::mem;
use std::sync::Arc;

use crate::context::CallContext;
use crate::error::RpcError;
use crate::reply_after::ReplyWait;
use crate::work::{
    Client, MemoryError, ReplyBytes, ReplyReservation, Spool, SpoolError, SpoolFile,
};

/// Bytes that a result may have in memory before they are counted or written to a file.
const CHUNK: usize = 1024 * 1024;

/// Where a handler writes a result that may be large, as JSON text
/// ([`written`](crate::handler::written)).
///
/// The handler appends to [`Self::buffer`] and calls [`Self::checkpoint`] between its steps. Up to a mebibyte stays in
/// memory. More goes to a file where the connection can send one, which a single request over HTTP can; otherwise it
/// counts as held for the connection while it grows. So a large result never takes more memory than its limit, and
/// an error at any point is still a proper reply.
#[derive(Debug)]
pub struct ResultWriter {
    buffer: Vec<u8>,
    /// The buffer's length at which something has to happen.
    limit: usize,
    client: Option<Client>,
    reserved: Option<ReplyReservation>,
    spool: Option<Arc<Spool>>,
    file: Option<SpoolFile>,
}

/// A result as a writer leaves it: what is in a file comes first.
#[derive(Default)]
pub(crate) struct WrittenResult {
    pub(crate) file: Option<SpoolFile>,
    pub(crate) bytes: Vec<u8>,
    /// The condition that the reply waits for.
    pub(crate) wait: Option<ReplyWait>,
}

impl From<Vec<u8>> for WrittenResult {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, ..Self::default() }
    }
}

impl ResultWriter {
    /// A writer that appends to `start`.
    pub(crate) fn new(start: Vec<u8>, context: &CallContext) -> Self {
        let client = context.client().cloned();
        let spool = match context.caller().takes_files {
            true => client.as_ref().and_then(|client| client.work().spool().cloned()),
            false => None,
        };
        Self { buffer: start, limit: CHUNK, client, reserved: None, spool, file: None }
    }

    /// A writer whose result stays in memory: a notification. It takes no file.
    #[must_use]
    pub fn in_memory(context: &CallContext) -> Self {
        Self { spool: None, ..Self::new(Vec::new(), context) }
    }

    /// The result of a writer that keeps it in memory, counted for the connection.
    ///
    /// # Errors
    /// There is no room.
    pub fn into_reply(self) -> Result<ReplyBytes, RpcError> {
        let Self { buffer, client, reserved, .. } = self;
        drop(reserved);
        Ok(ReplyBytes::counted(buffer, client.as_ref())?)
    }

    /// The buffer to which the result is appended.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Makes room: to be called between pieces, each of which is small.
    ///
    /// # Errors
    /// The result exceeds a limit, or the disk takes no more; the handler returns the error.
    pub fn checkpoint(&mut self) -> Result<(), RpcError> {
        match self.buffer.len() < self.limit {
            true => Ok(()),
            false => self.make_room(),
        }
    }

    #[cold]
    fn make_room(&mut self) -> Result<(), RpcError> {
        if let Some(spool) = &self.spool {
            let file = match &mut self.file {
                Some(file) => file,
                none => none.insert(spool.create().map_err(spool_refused)?),
            };
            file.append(&self.buffer).map_err(spool_refused)?;
            self.buffer.clear();
            return Ok(());
        }
        if let Some(client) = &self.client {
            self.limit = 2 * self.buffer.len();
            drop(mem::take(&mut self.reserved));
            self.reserved = Some(client.reserve(self.limit).map_err(RpcError::from)?);
        }
        Ok(())
    }

    /// The result.
    pub(crate) fn finish(self) -> WrittenResult {
        WrittenResult { file: self.file, bytes: self.buffer, wait: None }
    }
}

fn spool_refused(error: SpoolError) -> RpcError {
    match error {
        SpoolError::Limit(error) => error.into(),
        SpoolError::Io(_) => RpcError::new(error.to_string()),
    }
}

/// As the positional dialect has it.
impl From<MemoryError> for RpcError {
    fn from(error: MemoryError) -> Self {
        let code = match error {
            MemoryError::TooLarge => Self::TOO_LARGE,
            MemoryError::Full => Self::LIMIT_EXCEEDED,
        };
        Self::with_code(code, error.to_string())
    }
}
