//! One open websocket: requests in, replies and notifications out, all on one task.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use esker_rpc::Caller;
use esker_rpc::socket::{SocketAnswer, SocketSession};
use esker_rpc::work::ReplyBytes;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Interval, MissedTickBehavior};
use tungstenite::protocol::frame::coding::{CloseCode, Data};

use super::SocketContext;
use super::frames::{DecodedFrame, Decoder, Fault, Message};
use super::outgoing::Outgoing;
use crate::body::MAX_COPIED;
use crate::connections::Connection;
use crate::io::Io;
use crate::metrics::{CloseReason, HttpMetrics, Outcome};
use crate::phase::Phase;
use crate::request_log::SocketCall;

/// Most concurrent calls of one connection; further ones wait unread.
const MAX_CALLS: usize = 16;
/// Bytes of one read.
const READ: usize = 16 * 1024;

/// A completed call.
struct FinishedCall {
    answer: SocketAnswer,
    /// Whether the request was a text.
    is_text: bool,
    /// Bytes of the request.
    received: usize,
    seconds: f64,
}

/// The state of a websocket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// The close frame is being sent; input is dropped.
    Closing,
}

/// An open websocket, as a future.
pub(super) struct Socket {
    io: Io,
    connection: Arc<Connection>,
    context: Arc<SocketContext>,
    session: Arc<dyn SocketSession>,
    state: State,
    decoder: Decoder,
    /// Received messages that are not started yet: at most those of one read.
    received: VecDeque<Message>,
    /// Bytes of one read that arrived while there was no room for messages. The socket is read even then, to detect
    /// that a client with running calls has disconnected.
    ahead: Vec<u8>,
    calls: FuturesUnordered<BoxFuture<'static, FinishedCall>>,
    out: Outgoing,
    heartbeat: Interval,
    /// No pong has arrived since the last ping.
    is_pong_due: bool,
    /// Reading paused for some time since the last ping, so a pong may have arrived unread.
    has_paused: bool,
    /// The message that was incomplete at the last ping.
    unfinished: Option<u64>,
    _place: OwnedSemaphorePermit,
    _open: OpenSocket,
}

/// Counts an open websocket until it is dropped.
struct OpenSocket(Arc<dyn HttpMetrics>);

impl OpenSocket {
    fn new(metrics: &Arc<dyn HttpMetrics>) -> Self {
        metrics.sockets(1);
        Self(Arc::clone(metrics))
    }
}

impl Drop for OpenSocket {
    fn drop(&mut self) {
        self.0.sockets(-1);
    }
}

impl Socket {
    /// `early` arrived together with the handshake.
    pub(super) fn new(
        io: Io,
        early: &[u8],
        connection: Arc<Connection>,
        context: Arc<SocketContext>,
        place: OwnedSemaphorePermit,
    ) -> Self {
        connection.enter(Phase::Stream);
        let mut heartbeat = tokio::time::interval(context.ping_interval);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        heartbeat.reset();
        let mut socket = Self {
            _open: OpenSocket::new(&context.metrics),
            decoder: Decoder::new(context.message_limit, Arc::clone(&context.memory)),
            session: context.dialect.connect(),
            io,
            connection,
            context,
            state: State::Open,
            received: VecDeque::new(),
            ahead: Vec::new(),
            calls: FuturesUnordered::new(),
            out: Outgoing::default(),
            heartbeat,
            is_pong_due: false,
            has_paused: false,
            unfinished: None,
            _place: place,
        };
        socket.take(early);
        socket
    }

    /// Makes all possible progress; returns whether there was any. An error ends the connection without a close
    /// frame.
    fn advance(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        let mut happened = false;
        while self.out.room() > 0
            && let Poll::Ready(Some(done)) = self.calls.poll_next_unpin(cx)
        {
            self.reply(done);
            happened = true;
        }
        while self.out.room() > 0
            && self.calls.len() < MAX_CALLS
            && let Some(message) = self.received.pop_front()
        {
            self.begin(message);
            happened = true;
        }
        happened |= self.notify(cx);
        if self.heartbeat.poll_tick(cx).is_ready() {
            self.heartbeat()?;
            happened = true;
        }
        if self.connection.is_stopping() {
            if self.calls.is_empty() && self.received.is_empty() {
                self.close(Some(CloseCode::Away), "the node is shutting down");
            }
        } else if self.received.is_empty()
            && self.calls.len() < MAX_CALLS
            && self.out.room() > 0
            && self.state == State::Open
        {
            happened |= self.receive(cx)?;
        } else {
            self.has_paused = true;
            if self.state == State::Open && self.ahead.is_empty() {
                let mut space = [const { MaybeUninit::uninit() }; READ];
                let mut buffer = ReadBuf::uninit(&mut space);
                if self.poll_read(cx, &mut buffer)? {
                    self.ahead.extend_from_slice(buffer.filled());
                }
            }
        }
        Ok(happened)
    }

    /// Starts a call; most complete at once.
    fn begin(&mut self, message: Message) {
        let (context, session) = (Arc::clone(&self.context), Arc::clone(&self.session));
        let mut call = async move {
            let start = Instant::now();
            let _in_flight = context.handlers.start().await;
            let Message { bytes, is_text, share: _share } = message;
            let received = bytes.len();
            let answer = if received > MAX_COPIED {
                let bytes = Bytes::from(bytes);
                let caller = Caller { request: Some(bytes.clone()), ..context.caller.clone() };
                session.answer(&bytes, &caller).await
            } else {
                session.answer(&bytes, &context.caller).await
            };
            let seconds = start.elapsed().as_secs_f64();
            FinishedCall { answer, is_text, received, seconds }
        }
        .boxed();
        match (&mut call).now_or_never() {
            Some(done) => self.reply(done),
            None => self.calls.push(call),
        }
    }

    fn reply(&mut self, done: FinishedCall) {
        let FinishedCall { answer, is_text, received, seconds } = done;
        let SocketAnswer { parts, method, failed, made } = answer;
        let outcome = if failed { Outcome::Error } else { Outcome::Ok };
        self.context.target.metrics.record(method, outcome, seconds);
        let sent = parts.iter().map(|part| part.len()).sum();
        let call = SocketCall { method, outcome, seconds, received, sent };
        call.log(&self.context.target, || self.context.client_address);
        if !parts.is_empty() && !self.answer(parts, is_text) {
            self.close(Some(CloseCode::Again), "too many large replies at once");
        }
        for id in made {
            self.session.release(&id);
        }
    }

    /// Sends an answer, which is counted until it is written; false if the reply memory is used up.
    fn answer(&mut self, parts: Vec<ReplyBytes>, is_text: bool) -> bool {
        let client = self.connection.client();
        let parts =
            parts.into_iter().map(|part| part.recount(client)).collect::<Result<Vec<_>, _>>();
        let Ok(mut parts) = parts else { return false };
        // A reply repeats parts of its request. In a binary message these may be invalid UTF-8.
        let is_text = is_text || parts.iter().all(|part| std::str::from_utf8(part).is_ok());
        let kind = if is_text { Data::Text } else { Data::Binary };
        let is_ended = parts.last().is_some_and(|last| last.ends_with(b"\n"));
        parts.iter_mut().for_each(ReplyBytes::mark_sent);
        let mut parts: Vec<_> = parts.into_iter().map(Bytes::from_owner).collect();
        if !is_ended {
            parts.push(Bytes::from_static(b"\n"));
        }
        self.send(kind, &parts);
        true
    }

    fn send(&mut self, kind: Data, parts: &[Bytes]) {
        let bytes: usize = parts.iter().map(Bytes::len).sum();
        self.context.metrics.sent(bytes);
        self.out.message(kind, parts);
    }

    fn notify(&mut self, cx: &mut Context<'_>) -> bool {
        if self.state != State::Open {
            return false;
        }
        let session = Arc::clone(&self.session);
        let room = self.out.room();
        let polled = session.poll_events(cx, room, &mut |parts| self.send(Data::Text, parts));
        match polled {
            Poll::Pending => return false,
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(overrun)) => {
                self.context.metrics.connection_closed(CloseReason::Overrun);
                self.close(Some(CloseCode::Policy), &overrun.to_string());
            }
        }
        true
    }

    /// Sends a ping, and checks the client's activity since the last one.
    fn heartbeat(&mut self) -> io::Result<()> {
        if self.state != State::Open {
            return Ok(());
        }
        if self.is_pong_due && !self.has_paused {
            self.context.metrics.connection_closed(CloseReason::Pong);
            return Err(io::ErrorKind::TimedOut.into());
        }
        let unfinished = self.decoder.partial_message();
        if unfinished.is_some() && unfinished == self.unfinished && !self.has_paused {
            self.context.metrics.connection_closed(CloseReason::Body);
            self.close(Some(CloseCode::Policy), "a message did not come to its end in time");
            return Ok(());
        }
        self.unfinished = unfinished;
        self.has_paused = false;
        self.is_pong_due = true;
        self.out.ping();
        Ok(())
    }

    fn receive(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        if !self.ahead.is_empty() {
            let ahead = std::mem::take(&mut self.ahead);
            self.take(&ahead);
            return Ok(true);
        }
        let mut space = [const { MaybeUninit::uninit() }; READ];
        let mut buffer = ReadBuf::uninit(&mut space);
        let has_come = self.poll_read(cx, &mut buffer)?;
        if has_come {
            self.take(buffer.filled());
        }
        Ok(has_come)
    }

    /// Reads available bytes; returns whether there were any. An error means that the client has disconnected.
    fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> io::Result<bool> {
        match Pin::new(&mut self.io).poll_read(cx, buffer) {
            Poll::Pending => Ok(false),
            Poll::Ready(Err(error)) => Err(error),
            Poll::Ready(Ok(())) if buffer.filled().is_empty() => {
                Err(io::ErrorKind::UnexpectedEof.into())
            }
            Poll::Ready(Ok(())) => Ok(true),
        }
    }

    /// Decodes received bytes.
    fn take(&mut self, mut input: &[u8]) {
        self.context.metrics.received(input.len());
        while self.state == State::Open {
            match self.decoder.next(&mut input) {
                Ok(None) => return,
                Ok(Some(DecodedFrame::Message(message))) => self.received.push_back(message),
                Ok(Some(DecodedFrame::Ping(payload))) => self.out.pong(&payload),
                Ok(Some(DecodedFrame::Pong)) => self.is_pong_due = false,
                Ok(Some(DecodedFrame::Close(code))) => self.close(code, ""),
                Err(fault) => self.fail(fault),
            }
        }
    }

    fn fail(&mut self, fault: Fault) {
        self.close(Some(fault.code()), &fault.to_string());
    }

    /// Sends the close frame. Running calls are dropped.
    fn close(&mut self, code: Option<CloseCode>, reason: &str) {
        if self.state == State::Open {
            self.out.close(code, reason);
            self.state = State::Closing;
            self.calls.clear();
            self.received.clear();
            // The client may still send.
            self.connection.set_unread(true);
        }
    }
}

impl Future for Socket {
    type Output = io::Result<()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        this.connection.wake_on_stop(cx.waker());
        loop {
            let mut happened = this.state == State::Open && this.advance(cx)?;
            let was_full = this.out.room() == 0;
            match this.out.poll_write(&mut this.io, cx) {
                Poll::Pending => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Ready(Ok(())) if this.state == State::Closing => {
                    return Pin::new(&mut this.io).poll_shutdown(cx);
                }
                // The connection has room again.
                Poll::Ready(Ok(())) => happened |= was_full,
            }
            if !happened {
                return Poll::Pending;
            }
        }
    }
}
