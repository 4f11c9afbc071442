//! Decoding of a client's frames into messages.
//!
//! The library decodes frame headers; this module assembles messages. The library's own sockets would keep the memory
//! of the largest message while they are open, and allocate it before a byte has arrived.

use std::io::Cursor;
use std::sync::Arc;

use tungstenite::Error as FrameError;
use tungstenite::protocol::frame::FrameHeader;
use tungstenite::protocol::frame::coding::{CloseCode, Control, Data, OpCode};

use crate::body::{BodyMemory, MemoryShare};

/// Longest payload of a control frame, bytes.
const MAX_CONTROL: u64 = 125;

/// The decoder's output.
#[derive(Debug)]
pub(super) enum DecodedFrame {
    /// A complete message.
    Message(Message),
    /// A ping; the pong repeats these bytes.
    Ping(Vec<u8>),
    /// A pong, requested or not.
    Pong,
    /// The client closes the connection, with this code if it sent one.
    Close(Option<CloseCode>),
}

/// A message, and its share of the memory for large messages.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) bytes: Vec<u8>,
    /// Whether it is text, which is UTF-8. Binary messages may have any bytes.
    pub(super) is_text: bool,
    pub(super) share: MemoryShare,
}

/// The reason why a connection must close. The client gets the texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    #[error("{0}")]
    Protocol(&'static str),
    #[error("a message is larger than {0} bytes")]
    TooLarge(usize),
    #[error("a text is not UTF-8")]
    NotUtf8,
    #[error("too many large messages at once")]
    NoMemory,
}

impl Fault {
    pub(super) const fn code(self) -> CloseCode {
        match self {
            Self::Protocol(_) => CloseCode::Protocol,
            Self::TooLarge(_) => CloseCode::Size,
            Self::NotUtf8 => CloseCode::Invalid,
            Self::NoMemory => CloseCode::Again,
        }
    }
}

/// Assembles frames. Bytes may arrive in any pieces. Memory grows with the received bytes, never with the declared
/// length.
#[derive(Debug)]
pub(super) struct Decoder {
    /// The received part of the next frame's header.
    header: Vec<u8>,
    frame: Option<Frame>,
    /// The message of the last data frame, if it is incomplete.
    message: Option<Message>,
    control: Vec<u8>,
    /// Messages started so far.
    begun: u64,
    limit: usize,
    memory: Arc<BodyMemory>,
}

/// A frame whose payload is incomplete.
#[derive(Clone, Copy, Debug)]
struct Frame {
    code: OpCode,
    is_final: bool,
    mask: [u8; 4],
    remaining: u64,
}

impl Decoder {
    /// Accepts messages of up to `limit` bytes; large ones share `memory`.
    pub(super) fn new(limit: usize, memory: Arc<BodyMemory>) -> Self {
        Self {
            header: Vec::new(),
            frame: None,
            message: None,
            control: Vec::new(),
            begun: 0,
            limit,
            memory,
        }
    }

    /// The number of the incomplete message, if there is one.
    pub(super) fn partial_message(&self) -> Option<u64> {
        self.message.is_some().then_some(self.begun)
    }

    /// Consumes `input` until something is complete, or to its end.
    pub(super) fn next(&mut self, input: &mut &[u8]) -> Result<Option<DecodedFrame>, Fault> {
        loop {
            let Some(frame) = &mut self.frame else {
                match self.header(input)? {
                    Some(frame) => self.frame = Some(frame),
                    None => return Ok(None),
                }
                continue;
            };
            let here = usize::try_from(frame.remaining).unwrap_or(usize::MAX).min(input.len());
            let (payload, rest) = input.split_at(here);
            *input = rest;
            let payload_of = match (frame.code, &mut self.message) {
                (OpCode::Data(_), Some(message)) => {
                    let length = message.bytes.len() + here;
                    message.share.grow_to(length).map_err(|_| Fault::NoMemory)?;
                    &mut message.bytes
                }
                (OpCode::Data(_), None) => return Err(Fault::Protocol("no message to continue")),
                (OpCode::Control(_), _) => &mut self.control,
            };
            let before = payload_of.len();
            payload_of.extend_from_slice(payload);
            unmask(&mut payload_of[before..], frame.mask);
            frame.mask.rotate_left(here % 4);
            frame.remaining -= here as u64;
            if frame.remaining > 0 {
                return Ok(None);
            }
            let frame = *frame;
            self.frame = None;
            if let Some(received) = self.complete(frame)? {
                return Ok(Some(received));
            }
        }
    }

    /// Decodes a header byte by byte, across pieces.
    fn header(&mut self, input: &mut &[u8]) -> Result<Option<Frame>, Fault> {
        while let Some((byte, rest)) = input.split_first() {
            *input = rest;
            self.header.push(*byte);
            let parsed = FrameHeader::parse(&mut Cursor::new(&self.header));
            if let Some((header, length)) = parsed.map_err(|error| fault(&error))? {
                self.header.clear();
                return self.open(&header, length).map(Some);
            }
        }
        Ok(None)
    }

    /// Checks a header by the rules of RFC 6455.
    fn open(&mut self, header: &FrameHeader, length: u64) -> Result<Frame, Fault> {
        let Some(mask) = header.mask else {
            return Err(Fault::Protocol("a client's frames are masked"));
        };
        if header.rsv1 || header.rsv2 || header.rsv3 {
            return Err(Fault::Protocol("no extension was agreed upon"));
        }
        match (header.opcode, &self.message) {
            (OpCode::Control(_), _) if !header.is_final => {
                return Err(Fault::Protocol("a control frame is not fragmented"));
            }
            (OpCode::Control(_), _) if length > MAX_CONTROL => {
                return Err(Fault::Protocol("a control frame is short"));
            }
            (OpCode::Control(_), _) | (OpCode::Data(Data::Continue), Some(_)) => {}
            (OpCode::Data(Data::Continue), None) => {
                return Err(Fault::Protocol("no message to continue"));
            }
            (OpCode::Data(_), Some(_)) => {
                return Err(Fault::Protocol("the message before is not complete"));
            }
            (OpCode::Data(kind), None) => {
                self.begun += 1;
                self.message = Some(Message {
                    bytes: Vec::new(),
                    is_text: kind == Data::Text,
                    share: MemoryShare::new(&self.memory),
                });
            }
        }
        let so_far = match header.opcode {
            OpCode::Data(_) => self.message.as_ref().map_or(0, |message| message.bytes.len()),
            OpCode::Control(_) => 0,
        };
        if length > self.limit.saturating_sub(so_far) as u64 {
            return Err(Fault::TooLarge(self.limit));
        }
        Ok(Frame { code: header.opcode, is_final: header.is_final, mask, remaining: length })
    }

    /// Handles a complete frame.
    fn complete(&mut self, frame: Frame) -> Result<Option<DecodedFrame>, Fault> {
        let control = match frame.code {
            OpCode::Data(_) if !frame.is_final => return Ok(None),
            OpCode::Data(_) => {
                let Some(message) = self.message.take() else { return Ok(None) };
                if message.is_text && std::str::from_utf8(&message.bytes).is_err() {
                    return Err(Fault::NotUtf8);
                }
                return Ok(Some(DecodedFrame::Message(message)));
            }
            OpCode::Control(control) => control,
        };
        let payload = std::mem::take(&mut self.control);
        Ok(Some(match control {
            Control::Ping => DecodedFrame::Ping(payload),
            Control::Pong => DecodedFrame::Pong,
            Control::Close => DecodedFrame::Close(close_code(&payload)?),
            Control::Reserved(_) => return Err(Fault::Protocol("an unknown kind of frame")),
        }))
    }
}

/// The status code of a close frame.
fn close_code(payload: &[u8]) -> Result<Option<CloseCode>, Fault> {
    let Some((code, reason)) = payload.split_first_chunk() else {
        let is_empty = payload.is_empty();
        return if is_empty { Ok(None) } else { Err(Fault::Protocol("half a close code")) };
    };
    let code = CloseCode::from(u16::from_be_bytes(*code));
    if !code.is_allowed() {
        return Err(Fault::Protocol("no such close code"));
    }
    std::str::from_utf8(reason).map_err(|_| Fault::NotUtf8)?;
    Ok(Some(code))
}

fn fault(_: &FrameError) -> Fault {
    Fault::Protocol("an unknown kind of frame")
}

fn unmask(bytes: &mut [u8], mask: [u8; 4]) {
    let (words, rest) = bytes.as_chunks_mut::<4>();
    for word in words {
        *word = (u32::from_ne_bytes(*word) ^ u32::from_ne_bytes(mask)).to_ne_bytes();
    }
    for (byte, mask) in rest.iter_mut().zip(mask) {
        *byte ^= mask;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tungstenite::protocol::frame::Frame as Sent;

    use super::*;
    use crate::metrics::NoMetrics;

    const LIMIT: usize = 300;

    fn decoder() -> Decoder {
        Decoder::new(LIMIT, BodyMemory::new(1 << 20, Arc::new(NoMetrics)))
    }

    /// A client's frame.
    fn frame(opcode: u8, is_final: bool, payload: &[u8], mask: [u8; 4]) -> Vec<u8> {
        let mut header = FrameHeader { opcode: opcode.into(), is_final, ..Default::default() };
        header.mask = Some(mask);
        let mut masked = payload.to_vec();
        masked.iter_mut().zip(mask.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
        let mut out = Vec::new();
        header.format(payload.len() as u64, &mut out).unwrap();
        [out, masked].concat()
    }

    /// The decoded output of these bytes, passed in pieces that end at `cuts`.
    fn decode(bytes: &[u8], cuts: &[usize]) -> (Vec<String>, Option<Fault>) {
        let mut decoder = decoder();
        let mut events = Vec::new();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        for piece in cuts.windows(2) {
            let mut input = &bytes[piece[0]..piece[1]];
            loop {
                match decoder.next(&mut input) {
                    Ok(Some(DecodedFrame::Message(Message { bytes, is_text, .. }))) => {
                        events.push(format!("{is_text} {bytes:?}"));
                    }
                    Ok(Some(other)) => events.push(format!("{other:?}")),
                    Ok(None) => break,
                    Err(fault) => return (events, Some(fault)),
                }
            }
            assert!(input.is_empty(), "what is not wrong is taken in");
        }
        (events, None)
    }

    #[test]
    fn broken_rules() {
        let mask = [1, 2, 3, 4];
        let text = |payload: &[u8]| frame(1, true, payload, mask);
        let check = |bytes: &[u8], expected: &str| {
            let (_, fault) = decode(bytes, &[]);
            let fault = fault.map(|fault| format!("{} {fault}", fault.code()));
            assert_eq!(fault.as_deref().unwrap_or("none"), expected, "{bytes:?}");
        };
        check(&text(b"{}"), "none");
        let mut unmasked = Vec::new();
        Sent::message(&b"{}"[..], OpCode::Data(Data::Text), true).format(&mut unmasked).unwrap();
        check(&unmasked, "1002 a client's frames are masked");
        for reserved in [0x10, 0x20, 0x40] {
            let mut bytes = text(b"{}");
            bytes[0] |= reserved;
            check(&bytes, "1002 no extension was agreed upon");
        }
        for opcode in [3, 7, 11, 15] {
            check(&[0x80 | opcode, 0x80, 0, 0, 0, 0], "1002 an unknown kind of frame");
        }
        check(&frame(9, false, b"", mask), "1002 a control frame is not fragmented");
        check(&frame(9, true, &[0; 126], mask), "1002 a control frame is short");
        check(&frame(0, true, b"{}", mask), "1002 no message to continue");
        let begun = frame(1, false, b"{", mask);
        check(&begun, "none");
        check(&[begun.clone(), text(b"}")].concat(), "1002 the message before is not complete");
        check(&text(&[b'a', 0xff]), "1007 a text is not UTF-8");
        check(&frame(2, true, &[0xff], mask), "none");
        check(&frame(8, true, &[3], mask), "1002 half a close code");
        check(&frame(8, true, &[3, 237], mask), "1002 no such close code");
        check(&frame(8, true, &[3, 232, 0xff], mask), "1007 a text is not UTF-8");
        let too_large = "1009 a message is larger than 300 bytes";
        check(&text(&[b'a'; LIMIT]), "none");
        check(&text(&[b'a'; LIMIT + 1]), too_large);
        // Refused by its declared length, before the payload arrives.
        check(&[0x81, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 4], too_large);
        let parts = [frame(1, false, &[b'a'; LIMIT], mask), frame(0, true, b"a", mask)].concat();
        check(&parts, too_large);
    }

    #[test]
    fn letters_may_be_cut_by_frames() {
        let mask = [9, 8, 7, 6];
        let bytes = [
            frame(1, false, &[0xc3], mask),
            frame(9, true, b"are you there", mask),
            frame(0, false, b"", mask),
            frame(0, true, &[0xa9], mask),
            frame(10, true, b"", mask),
            frame(8, true, &[3, 232, b'b'], mask),
        ];
        let (events, fault) = decode(&bytes.concat(), &[]);
        let ping = format!("Ping({:?})", b"are you there");
        let message = format!("true {:?}", "é".as_bytes());
        assert_eq!(events, [ping, message, "Pong".into(), "Close(Some(Normal))".into()]);
        assert_eq!(fault, None);
    }

    #[test]
    fn memory_for_large_messages_is_bounded() {
        let memory = BodyMemory::new(100_000, Arc::new(NoMetrics));
        let send = |decoder: &mut Decoder| {
            let bytes = frame(2, false, &[1; 70_000], [0; 4]);
            decoder.next(&mut bytes.as_slice()).map(|received| received.is_some())
        };
        let mut first = Decoder::new(1 << 20, Arc::clone(&memory));
        assert_eq!(send(&mut first), Ok(false));
        let mut second = Decoder::new(1 << 20, Arc::clone(&memory));
        assert_eq!(send(&mut second), Err(Fault::NoMemory));
        drop((first, second));
        assert_eq!(memory.used(), 0);
        assert_eq!(send(&mut Decoder::new(1 << 20, memory)), Ok(false));
    }

    proptest! {
        #[test]
        fn messages_come_through_however_they_are_cut(
            messages in prop::collection::vec(
                (any::<bool>(), prop::collection::vec("[a-zé]{0,40}", 1..4)), 0..6),
            mask in any::<[u8; 4]>(),
            cuts in prop::collection::vec(any::<usize>(), 0..8),
        ) {
            let mut bytes = Vec::new();
            let mut expected = Vec::new();
            for (is_text, parts) in &messages {
                for (at, part) in parts.iter().enumerate() {
                    let opcode = match (at, is_text) { (0, true) => 1, (0, false) => 2, _ => 0 };
                    let is_final = at + 1 == parts.len();
                    bytes.extend(frame(opcode, is_final, part.as_bytes(), mask));
                }
                expected.push(format!("{is_text} {:?}", parts.concat().as_bytes()));
            }
            prop_assert_eq!(decode(&bytes, &cuts), (expected, None));
        }

        #[test]
        fn any_bytes_have_an_end(
            mut bytes in prop::collection::vec(any::<u8>(), 0..400),
            masked in any::<bool>(),
            cuts in prop::collection::vec(any::<usize>(), 0..4),
        ) {
            // Without a mask, most would end at once.
            if masked && bytes.len() > 1 {
                bytes[0] &= 0x8f;
                bytes[1] |= 0x80;
            }
            prop_assert_eq!(decode(&bytes, &cuts), decode(&bytes, &[]));
        }
    }
}
