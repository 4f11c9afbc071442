//! The socket of a connection, with TLS or without: it notes in the table of connections what the HTTP library does.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use super::connections::{Connection, OpenConnection, Streams};
use super::phase::Phase;
use super::small_frames::SmallFrames;

/// The bytes of HTTP.
#[derive(Debug)]
pub(super) enum Transport {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// A connection's socket. The connection stays in the table until this is dropped, also after an upgrade.
#[derive(Debug)]
pub(super) struct Io {
    transport: Transport,
    place: OpenConnection,
    drained: u64,
    shut: bool,
    /// The frames of a connection of HTTP/2.
    frames: Option<SmallFrames>,
}

impl Io {
    pub(super) fn new(transport: Transport, place: OpenConnection) -> Self {
        Self { transport, place, drained: 0, shut: false, frames: None }
    }

    /// The socket of a connection of HTTP/2.
    pub(super) fn multiplexed(transport: Transport, place: OpenConnection) -> Self {
        place.connection().multiplex();
        Self { frames: Some(SmallFrames::new()), ..Self::new(transport, place) }
    }

    pub(super) fn connection(&self) -> &Arc<Connection> {
        self.place.connection()
    }

    fn note_write<T>(&self, written: &Poll<io::Result<T>>) {
        let connection = self.connection();
        if let Some(streams) = connection.streams() {
            return streams.note_write(written.is_pending(), connection.now());
        }
        match (connection.phase(), written) {
            // No request was dispatched: the HTTP library refuses malformed requests itself, and closes the connection.
            (Phase::Head | Phase::Idle, _) => {
                connection.set_unread(true);
                connection.enter(Phase::Reply);
            }
            (Phase::Stream, Poll::Pending) => connection.enter(Phase::StreamBlocked),
            (Phase::StreamBlocked, Poll::Ready(_)) => connection.enter(Phase::Stream),
            _ => {}
        }
    }

    /// All output has been written, or some of it waits for the client.
    fn note_flush(&self, is_pending: bool) {
        let connection = self.connection();
        if let Some(streams) = connection.streams() {
            streams.note_write(is_pending, connection.now());
        }
        match (connection.phase(), is_pending) {
            (Phase::Reply, false) => connection.enter(Phase::Idle),
            (Phase::Stream, true) => connection.enter(Phase::StreamBlocked),
            (Phase::StreamBlocked, false) => connection.enter(Phase::Stream),
            _ => {}
        }
    }

    /// Follows the frames of HTTP/2. An error ends the connection.
    fn follow_frames(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(frames) = &mut self.frames else { return Ok(()) };
        // Without a request there is no body.
        if self.place.connection().streams().is_none_or(Streams::is_empty) {
            frames.reset();
        }
        if frames.follow(bytes) {
            return Ok(());
        }
        Err(io::Error::other("too many small frames"))
    }

    /// Reads and drops further bytes of the client.
    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut space = [0; 16 * 1024];
        while self.drained < self.place.drain_limit() {
            let mut buffer = ReadBuf::new(&mut space);
            let read = ready!(Pin::new(&mut self.transport).poll_read(cx, &mut buffer));
            if read.is_err() || buffer.filled().is_empty() {
                break;
            }
            self.drained += buffer.filled().len() as u64;
        }
        Poll::Ready(())
    }
}

impl AsyncRead for Io {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.transport).poll_read(cx, buffer);
        let connection = self.connection();
        // Only some frames of HTTP/2 begin a request.
        if buffer.filled().len() > before
            && connection.phase() == Phase::Idle
            && connection.streams().is_none()
        {
            connection.enter(Phase::Head);
        }
        self.follow_frames(&buffer.filled()[before..])?;
        read
    }
}

impl AsyncWrite for Io {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.transport).poll_write(cx, bytes);
        self.note_write(&written);
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.transport).poll_write_vectored(cx, bytes);
        self.note_write(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.transport.is_write_vectored()
    }

    /// Called when the HTTP library has written all output: TLS may still hold some of it.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.transport).poll_flush(cx);
        self.note_flush(flushed.is_pending());
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.shut {
            ready!(Pin::new(&mut self.transport).poll_shutdown(cx))?;
            self.shut = true;
            if self.connection().has_unread() {
                self.connection().enter(Phase::Drain);
            }
        }
        if self.connection().phase() == Phase::Drain && !self.connection().is_stopping() {
            ready!(self.poll_drain(cx));
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Transport {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Transport {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, bytes),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
