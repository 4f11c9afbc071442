//! HTTP/2 by the frame, for clients that break the rules.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use super::client::{HTTP2, SecureServer};

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const PING: u8 = 6;
const SETTINGS: u8 = 4;
pub(super) const GOAWAY: u8 = 7;
const END_HEADERS: u8 = 4;

/// The longest time that a test waits.
const PATIENCE: Duration = Duration::from_secs(20);

/// A frame.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) kind: u8,
    pub(super) stream: u32,
    pub(super) payload: Vec<u8>,
}

impl Frame {
    /// The error code of a frame that resets a stream.
    pub(super) fn reset_code(&self) -> u32 {
        assert_eq!(self.kind, RST_STREAM);
        u32::from_be_bytes(self.payload[..4].try_into().unwrap())
    }

    /// The error code of the frame that ends a connection.
    pub(super) fn goaway_code(&self) -> u32 {
        assert_eq!(self.kind, GOAWAY);
        u32::from_be_bytes(self.payload[4..8].try_into().unwrap())
    }
}

/// A connection on which a test writes frames.
pub(super) struct Frames(TlsStream<TcpStream>);

impl Frames {
    pub(super) async fn connect(server: &SecureServer) -> Self {
        let mut stream = server.handshake(&[HTTP2]).await.unwrap();
        stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
        let mut frames = Self(stream);
        frames.write(SETTINGS, 0, 0, &[]).await.unwrap();
        frames
    }

    pub(super) async fn write(
        &mut self,
        kind: u8,
        flags: u8,
        stream: u32,
        payload: &[u8],
    ) -> std::io::Result<()> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let mut frame = length[1..].to_vec();
        frame.extend([kind, flags]);
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        self.0.write_all(&frame).await?;
        self.0.flush().await
    }

    /// The head of a call to the toy, whose body does not follow.
    pub(super) async fn begin_call(&mut self, stream: u32) -> std::io::Result<()> {
        // :method POST, :scheme https, :path, :authority, content-type.
        let mut block = vec![0x83, 0x87];
        literal(&mut block, 0x44, "/ext/toy");
        literal(&mut block, 0x41, "localhost");
        literal(&mut block, 0x5f, "application/json");
        self.write(HEADERS, END_HEADERS, stream, &block).await
    }

    /// A request for a websocket by RFC 8441.
    pub(super) async fn extended_connect(&mut self, stream: u32) -> std::io::Result<()> {
        let mut block = vec![0x87];
        literal(&mut block, 0x42, "CONNECT");
        literal(&mut block, 0x44, "/ext/toy");
        literal(&mut block, 0x41, "localhost");
        block.push(0x40);
        text(&mut block, ":protocol");
        text(&mut block, "websocket");
        self.write(HEADERS, END_HEADERS, stream, &block).await
    }

    /// The next frame; `None` at the end.
    pub(super) async fn read(&mut self) -> Option<Frame> {
        let frame = tokio::time::timeout(PATIENCE, self.read_frame()).await;
        frame.expect("nothing came for a long time")
    }

    async fn read_frame(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        self.0.read_exact(&mut head).await.ok()?;
        let [a, b, c, kind, _flags, stream @ ..] = head;
        let mut payload = vec![0; usize::try_from(u32::from_be_bytes([0, a, b, c])).unwrap()];
        self.0.read_exact(&mut payload).await.ok()?;
        Some(Frame { kind, stream: u32::from_be_bytes(stream), payload })
    }

    /// The next frame of this kind.
    pub(super) async fn read_kind(&mut self, kind: u8) -> Option<Frame> {
        loop {
            match self.read().await {
                Some(frame) if frame.kind != kind => {}
                frame => return frame,
            }
        }
    }

    /// Waits until the server ends the connection.
    pub(super) async fn closed(&mut self) {
        while self.read().await.is_some() {}
    }
}

/// A header with a name of the table and this value.
fn literal(block: &mut Vec<u8>, name: u8, value: &str) {
    block.push(name);
    text(block, value);
}

fn text(block: &mut Vec<u8>, text: &str) {
    block.push(u8::try_from(text.len()).unwrap());
    block.extend(text.bytes());
}
