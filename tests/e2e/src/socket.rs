//! A websocket to a node.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

/// The longest wait.
const PATIENCE: Duration = Duration::from_secs(20);

/// An open websocket. It answers pings while it reads.
#[derive(Debug)]
pub struct Socket(WebSocket<TcpStream>);

impl Socket {
    /// Opens one at a path.
    pub fn open(address: SocketAddr, path: &str) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let request = format!("ws://{address}{path}").into_client_request()?;
        match tungstenite::client(request, stream) {
            Ok((socket, _)) => Ok(Self(socket)),
            Err(error) => bail!("{path}: {error}"),
        }
    }

    /// Sends a text.
    pub fn send(&mut self, text: &str) -> Result<()> {
        Ok(self.0.send(Message::text(text))?)
    }

    /// The next text.
    pub fn read(&mut self) -> Result<String> {
        loop {
            match self.0.read().context("no message")? {
                Message::Text(text) => return Ok(text.to_string()),
                Message::Close(close) => bail!("closed: {close:?}"),
                Message::Binary(_) => bail!("a binary message"),
                Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
            }
        }
    }
}
