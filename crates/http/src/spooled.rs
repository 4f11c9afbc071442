//! A reply from a file: read as the client takes it.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::Bytes;
use esker_rpc::work::{ReplyBytes, SpoolFile};

use super::connections::Connection;
use super::metrics::HttpMetrics;
use super::phase::Phase;

/// Bytes of one read.
const PART: usize = 128 * 1024;
/// Time that a client has for a whole reply, beside what its size adds.
const BASE_TIME: Duration = Duration::from_secs(30);
/// Slowest rate at which a client may read a reply, in bytes a second. Other replies wait for its disk space.
const SLOWEST: u64 = 1024 * 1024;

/// A reply of which the first part is in a file.
pub(super) struct SpooledBody {
    file: SpoolFile,
    read: u64,
    /// The bytes after the file.
    end: Option<ReplyBytes>,
    until: Instant,
    connection: Arc<Connection>,
    metrics: Arc<dyn HttpMetrics>,
}

impl SpooledBody {
    pub(super) fn new(
        file: SpoolFile,
        end: ReplyBytes,
        connection: &Arc<Connection>,
        metrics: &Arc<dyn HttpMetrics>,
    ) -> Self {
        let until = Instant::now() + BASE_TIME + Duration::from_secs(file.len() / SLOWEST);
        let (connection, metrics) = (Arc::clone(connection), Arc::clone(metrics));
        Self { file, read: 0, end: Some(end), until, connection, metrics }
    }

    /// Remaining bytes.
    pub(super) fn remaining(&self) -> u64 {
        let end = self.end.as_ref().map_or(0, |end| end.len() as u64);
        self.file.len() - self.read + end
    }

    /// The next bytes. Most of them are in the page cache, because they were just written.
    pub(super) fn poll_bytes(&mut self) -> Poll<Option<Result<Bytes, axum::Error>>> {
        if Instant::now() > self.until {
            return Poll::Ready(Some(Err(axum::Error::new(io::Error::from(
                io::ErrorKind::TimedOut,
            )))));
        }
        let part = match self.next_part() {
            Err(error) => {
                tracing::error!(%error, "a large reply could not be read from its file");
                return Poll::Ready(Some(Err(axum::Error::new(error))));
            }
            Ok(Some(part)) => part,
            Ok(None) => {
                self.connection.enter(Phase::Reply);
                return Poll::Ready(None);
            }
        };
        self.connection.enter(Phase::Part);
        self.metrics.sent(part.len());
        Poll::Ready(Some(Ok(part)))
    }

    fn next_part(&mut self) -> io::Result<Option<Bytes>> {
        let left = self.file.len() - self.read;
        if left == 0 {
            return Ok(self.end.take().map(|mut end| {
                end.mark_sent();
                Bytes::from_owner(end)
            }));
        }
        let mut part = vec![0; usize::try_from(left).unwrap_or(PART).min(PART)];
        let read = self.file.read_at(&mut part, self.read)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        part.truncate(read);
        self.read += read as u64;
        Ok(Some(part.into()))
    }
}

impl fmt::Debug for SpooledBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpooledBody").field("remaining", &self.remaining()).finish_non_exhaustive()
    }
}
