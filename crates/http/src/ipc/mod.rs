//! JSON-RPC over a socket of the file system, for programs of the same user: values of JSON in, replies and events out,
//! each with a line feed at its end. Calls of a connection are answered one after the other.

mod framing;

use std::fs::{self, Permissions};
use std::future::poll_fn;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use esker_rpc::Caller;
use esker_rpc::socket::{SocketAnswer, SocketDialect, SocketSession};
use tokio::io::{AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixSocket, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

use self::framing::Frames;
use crate::config::DEFAULT_WRITE_TIMEOUT;

/// Most connections at a time; further ones wait.
const MAX_CONNECTIONS: usize = 64;
/// Most connections that wait to be accepted.
const BACKLOG: u32 = 128;
/// Bytes of events that are written at a time.
const EVENT_ROOM: usize = 64 * 1024;
/// Pause after the system failed to accept a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A socket at a path, which is removed when this is dropped.
#[derive(Debug)]
pub struct IpcListener {
    listener: UnixListener,
    path: PathBuf,
}

impl IpcListener {
    /// Listens at a path. Only the user of this process can connect. A socket that another program has left behind is
    /// replaced.
    ///
    /// # Errors
    /// There is another file, or a program that listens, or the system refuses it.
    pub fn bind(path: &Path) -> io::Result<Self> {
        remove_abandoned(path)?;
        let socket = UnixSocket::new_stream()?;
        socket.bind(path)?;
        // Nobody can connect before the socket listens.
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
        Ok(Self { listener: socket.listen(BACKLOG)?, path: path.to_owned() })
    }

    /// Serves a dialect until `stop` resolves. Messages of more than `message_limit` bytes end their connection, and so
    /// does a client that reads nothing for [`DEFAULT_WRITE_TIMEOUT`] while something is written to it.
    pub async fn serve(
        self,
        dialect: Arc<dyn SocketDialect>,
        message_limit: usize,
        stop: impl Future<Output = ()>,
    ) {
        let mut connections = JoinSet::new();
        let accepting = async {
            let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
            loop {
                let place = Arc::clone(&places).acquire_owned().await;
                match self.listener.accept().await {
                    Ok((stream, _)) => {
                        let session = dialect.connect();
                        connections.spawn(async move {
                            let _place = place;
                            if let Err(error) = run(stream, session.as_ref(), message_limit).await {
                                // Clients may disconnect at any time.
                                tracing::debug!(%error, "connection of the IPC socket ended");
                            }
                        });
                    }
                    Err(error) => {
                        tracing::warn!(%error, "can't accept connections of the IPC socket");
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                }
                while connections.try_join_next().is_some() {}
            }
        };
        tokio::select! {
            () = accepting => {}
            () = stop => {}
        }
    }
}

impl Drop for IpcListener {
    fn drop(&mut self) {
        // Somebody may have removed it.
        let _gone = fs::remove_file(&self.path);
    }
}

/// Removes a socket on which nobody listens.
fn remove_abandoned(path: &Path) -> io::Result<()> {
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
    let is_abandoned =
        found.file_type().is_socket() && std::os::unix::net::UnixStream::connect(path).is_err();
    match is_abandoned {
        true => fs::remove_file(path),
        false => Err(io::ErrorKind::AddrInUse.into()),
    }
}

async fn run(
    stream: UnixStream,
    session: &dyn SocketSession,
    message_limit: usize,
) -> io::Result<()> {
    let (mut input, mut output) = stream.into_split();
    let mut frames = Frames::new(message_limit);
    loop {
        tokio::select! {
            read = input.read_buf(frames.buffer()) => {
                if read? == 0 {
                    return Ok(());
                }
                while let Some(message) = frames.take()? {
                    answer(session, &message, &mut output).await?;
                }
            }
            events = poll_fn(|cx| poll_events(session, cx)) => write(&mut output, &events?).await?,
        }
    }
}

async fn answer(
    session: &dyn SocketSession,
    message: &[u8],
    output: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    let SocketAnswer { parts, made, .. } = session.answer(message, &Caller::default()).await;
    for part in &parts {
        write(output, part).await?;
    }
    if parts.last().is_some_and(|last| !last.ends_with(b"\n")) {
        write(output, b"\n").await?;
    }
    made.iter().for_each(|id| session.release(id));
    Ok(())
}

/// Writes bytes to a client that goes on reading.
async fn write(output: &mut (impl AsyncWrite + Unpin), mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = timeout(DEFAULT_WRITE_TIMEOUT, output.write(bytes)).await??;
        bytes = bytes.get(written..).unwrap_or_default();
    }
    Ok(())
}

/// The bytes of the events that wait.
fn poll_events(session: &dyn SocketSession, cx: &mut Context<'_>) -> Poll<io::Result<Vec<u8>>> {
    let mut events = Vec::new();
    let polled = session.poll_events(cx, EVENT_ROOM, &mut |parts| {
        parts.iter().for_each(|part| events.extend_from_slice(part));
        if !events.ends_with(b"\n") {
            events.push(b'\n');
        }
    });
    match polled {
        Poll::Ready(Err(overrun)) => Poll::Ready(Err(io::Error::other(overrun))),
        Poll::Pending if events.is_empty() => Poll::Pending,
        Poll::Pending | Poll::Ready(Ok(())) => Poll::Ready(Ok(events)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_client_has_to_read() {
        let (mut node, mut client) = tokio::io::duplex(10);
        let writing = tokio::spawn(async move { write(&mut node, &[7; 25]).await });
        // A slow client gets all of it.
        for _ in 0..25 {
            tokio::time::sleep(DEFAULT_WRITE_TIMEOUT / 2).await;
            assert_eq!(client.read_u8().await.unwrap(), 7);
        }
        writing.await.unwrap().unwrap();
        let (mut node, _deaf) = tokio::io::duplex(10);
        let refused = write(&mut node, &[7; 25]).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::TimedOut);
    }
}
