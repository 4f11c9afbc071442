//! Output of a websocket: messages become frames, as many as fit in one write.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use tokio::io::AsyncWrite;
use tungstenite::protocol::frame::FrameHeader;
use tungstenite::protocol::frame::coding::{CloseCode, Control, Data, OpCode};

/// Bytes waiting to be written at which no further message is added.
const FULL_BYTES: usize = 64 * 1024;
/// Parts of a message up to this size are copied together; larger ones are written in place.
const SMALL_PART: usize = 16 * 1024;
/// Memory that an idle connection keeps, in bytes.
const KEPT_CAPACITY: usize = 4096;
/// Longest reason of a close frame, bytes.
const MAX_REASON: usize = 123;

/// Frames waiting to be written.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    /// Written first.
    parts: VecDeque<Bytes>,
    /// Written after `parts`, from `written` on.
    tail: Vec<u8>,
    written: usize,
    /// Bytes of `parts`.
    parts_bytes: usize,
}

impl Outgoing {
    /// Approximate number of bytes that may still be added.
    pub(super) fn room(&self) -> usize {
        FULL_BYTES.saturating_sub(self.parts_bytes + self.tail.len() - self.written)
    }

    /// Adds a message, given in parts.
    pub(super) fn message(&mut self, kind: Data, parts: &[Bytes]) {
        let length = parts.iter().map(Bytes::len).sum();
        self.header(OpCode::Data(kind), length);
        for part in parts {
            if part.len() <= SMALL_PART {
                self.tail.extend_from_slice(part);
            } else {
                self.finish_tail();
                self.push(part.clone());
            }
        }
    }

    /// Adds a ping.
    pub(super) fn ping(&mut self) {
        self.header(OpCode::Control(Control::Ping), 0);
    }

    /// Adds a pong.
    pub(super) fn pong(&mut self, payload: &[u8]) {
        self.header(OpCode::Control(Control::Pong), payload.len());
        self.tail.extend_from_slice(payload);
    }

    /// Adds the last frame.
    pub(super) fn close(&mut self, code: Option<CloseCode>, reason: &str) {
        let Some(code) = code else { return self.header(OpCode::Control(Control::Close), 0) };
        let reason = &reason[..reason.floor_char_boundary(MAX_REASON)];
        self.header(OpCode::Control(Control::Close), 2 + reason.len());
        self.tail.extend_from_slice(&u16::from(code).to_be_bytes());
        self.tail.extend_from_slice(reason.as_bytes());
    }

    fn header(&mut self, opcode: OpCode, length: usize) {
        let header = FrameHeader { opcode, ..FrameHeader::default() };
        header.format(length as u64, &mut self.tail).expect("a vector takes what is written");
    }

    fn finish_tail(&mut self) {
        let mut tail = Bytes::from(std::mem::take(&mut self.tail));
        tail.advance(std::mem::take(&mut self.written));
        self.push(tail);
    }

    fn push(&mut self, part: Bytes) {
        if !part.is_empty() {
            self.parts_bytes += part.len();
            self.parts.push_back(part);
        }
    }

    /// Writes and flushes all waiting frames.
    pub(super) fn poll_write(
        &mut self,
        io: &mut (impl AsyncWrite + Unpin),
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let next = self.parts.front().map_or(&self.tail[self.written..], |part| part);
            if next.is_empty() {
                break;
            }
            let written = ready!(Pin::new(&mut *io).poll_write(cx, next))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            match self.parts.front_mut() {
                None => self.written += written,
                Some(part) => {
                    part.advance(written);
                    self.parts_bytes -= written;
                    if part.is_empty() {
                        self.parts.pop_front();
                    }
                }
            }
        }
        // TLS may hold what the system does not take yet.
        ready!(Pin::new(&mut *io).poll_flush(cx))?;
        self.written = 0;
        self.tail.clear();
        self.tail.shrink_to(KEPT_CAPACITY);
        Poll::Ready(Ok(()))
    }
}
