//! Clients of websockets: one that keeps the rules, and bytes for those that do not.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

/// The longest time that a test waits.
const PATIENCE: Duration = Duration::from_secs(20);

/// A websocket. It answers pings whenever it reads.
pub(crate) struct Socket(pub(super) WebSocket<TcpStream>);

pub(super) fn tcp(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

impl Socket {
    pub(crate) fn open(address: SocketAddr, path: &str) -> Self {
        let request = format!("ws://{address}{path}").into_client_request().unwrap();
        Self(tungstenite::client(request, tcp(address)).unwrap().0)
    }

    pub(super) fn send(&mut self, text: &str) {
        self.0.send(Message::text(text)).unwrap();
    }

    /// The next message, pings and pongs apart; a close as `code reason`, the end as `end`.
    pub(super) fn read(&mut self) -> String {
        loop {
            return match self.0.read() {
                Ok(Message::Ping(_) | Message::Pong(_)) => continue,
                Ok(Message::Close(Some(close))) => format!("{} {}", close.code, close.reason),
                Ok(Message::Close(None)) => "close".into(),
                Ok(message) => message.into_text().unwrap().to_string(),
                Err(tungstenite::Error::ConnectionClosed) => "end".into(),
                Err(error) => panic!("{error}"),
            };
        }
    }

    pub(crate) fn ask(&mut self, text: &str) -> String {
        self.send(text);
        self.read()
    }

    /// Writes bytes as they are.
    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).unwrap();
    }

    /// Waits for the end of the connection, reading no frames.
    pub(super) fn read_to_end(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.0.get_mut().read_to_end(&mut bytes).unwrap();
        bytes
    }
}

/// A frame with a mask of zeros, which leaves the payload as it is. `first` is the first byte.
pub(crate) fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = head(first, payload.len() as u64);
    bytes.extend(payload);
    bytes
}

/// The same without its payload.
pub(super) fn head(first: u8, length: u64) -> Vec<u8> {
    let mut bytes = vec![first];
    match length {
        0..126 => bytes.push(0x80 | u8::try_from(length).unwrap()),
        126..0x1_0000 => {
            bytes.push(0x80 | 126);
            bytes.extend(u16::try_from(length).unwrap().to_be_bytes());
        }
        _ => {
            bytes.push(0x80 | 127);
            bytes.extend(length.to_be_bytes());
        }
    }
    bytes.extend([0; 4]);
    bytes
}
