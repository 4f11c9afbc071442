//! A raw connection of a hostile client.

use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use socket2::{Domain, Socket, Type};

/// Longest wait for a byte, or for room to send one.
const PATIENCE: Duration = Duration::from_secs(60);
/// The path of the C-Chain's calls.
pub const RPC: &str = "/ext/bc/C/rpc";

/// The parts of a reply that matter here.
#[derive(Debug)]
pub struct Reply {
    /// The status of HTTP.
    pub status: u16,
    /// All of the body.
    pub body: Vec<u8>,
}

impl Reply {
    /// The body as JSON.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_slice(&self.body).context("the body is no JSON")
    }
}

/// One connection. Closed when dropped.
#[derive(Debug)]
pub struct Wire {
    stream: TcpStream,
    /// Bytes that were received and not used yet.
    rest: Vec<u8>,
}

impl Wire {
    /// Opens a connection.
    pub fn open(address: SocketAddr) -> Result<Self> {
        Self::over(TcpStream::connect(address)?)
    }

    fn over(stream: TcpStream) -> Result<Self> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { stream, rest: Vec::new() })
    }

    /// Opens a connection from an address of this machine, such as 127.0.0.2. For the node this is another client.
    pub fn open_from(from: IpAddr, address: SocketAddr) -> Result<Self> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        socket.bind(&SocketAddr::new(from, 0).into())?;
        socket.connect(&address.into())?;
        Self::over(socket.into())
    }

    /// Opens a websocket. Bytes that are sent over it then are frames: see [`frame`].
    pub fn open_socket(address: SocketAddr, path: &str) -> Result<Self> {
        Self::open(address)?.into_socket(path)
    }

    /// Makes the connection a websocket.
    pub fn into_socket(mut self, path: &str) -> Result<Self> {
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        );
        self.send(request.as_bytes())?;
        let head = self.head()?;
        ensure!(head.starts_with("http/1.1 101"), "{head}");
        Ok(self)
    }

    /// Sends bytes.
    pub fn send(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.stream.write_all(bytes)?)
    }

    /// Sends a request and reads nothing.
    pub fn post(&mut self, path: &str, body: &str) -> Result<()> {
        self.send(post(path, body, "").as_bytes())
    }

    /// Sends a request and reads the reply.
    pub fn call(&mut self, path: &str, body: &str) -> Result<Reply> {
        self.post(path, body)?;
        self.reply()
    }

    /// Reads a reply.
    pub fn reply(&mut self) -> Result<Reply> {
        let head = self.head()?;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.with_context(|| format!("no status: {head}"))?;
        let header =
            |name: &str| head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        let body = if header("transfer-encoding") == Some("chunked") {
            self.chunks()?
        } else {
            let length = header("content-length").map_or(Ok(0), str::parse)?;
            self.take(length)?
        };
        Ok(Reply { status, body })
    }

    /// Closes the sending side.
    pub fn finish(&self) -> Result<()> {
        Ok(self.stream.shutdown(Shutdown::Write)?)
    }

    /// A function that ends the connection from another thread, even while this one waits for it.
    pub fn closer(&self) -> Result<impl FnOnce() + Send + use<>> {
        let stream = self.stream.try_clone()?;
        Ok(move || {
            // It may be closed already.
            let _closed = stream.shutdown(Shutdown::Both);
        })
    }

    /// Reads until the node closes the connection; returns the duration.
    pub fn until_closed(&mut self) -> Result<Duration> {
        let begun = Instant::now();
        let mut space = [0; 64 * 1024];
        loop {
            match self.stream.read(&mut space) {
                Ok(0) => return Ok(begun.elapsed()),
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {
                    return Ok(begun.elapsed());
                }
                Err(error) => bail!("not closed after {:?}: {error}", begun.elapsed()),
            }
        }
    }

    /// The head of a reply, in lower case.
    fn head(&mut self) -> Result<String> {
        let head = self.take_to(b"\r\n\r\n")?;
        Ok(String::from_utf8_lossy(&head).to_lowercase())
    }

    fn chunks(&mut self) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let size = self.take_to(b"\r\n")?;
            let size = usize::from_str_radix(std::str::from_utf8(&size)?.trim(), 16)?;
            let chunk = self.take(size + 2)?;
            if size == 0 {
                return Ok(body);
            }
            body.extend_from_slice(&chunk[..size]);
        }
    }

    fn take_to(&mut self, end: &[u8]) -> Result<Vec<u8>> {
        loop {
            if let Some(at) = self.rest.windows(end.len()).position(|window| window == end) {
                let rest = self.rest.split_off(at + end.len());
                return Ok(std::mem::replace(&mut self.rest, rest));
            }
            self.more()?;
        }
    }

    fn take(&mut self, length: usize) -> Result<Vec<u8>> {
        while self.rest.len() < length {
            self.more()?;
        }
        let rest = self.rest.split_off(length);
        Ok(std::mem::replace(&mut self.rest, rest))
    }

    fn more(&mut self) -> Result<()> {
        let mut space = vec![0; 256 * 1024];
        let read = self.stream.read(&mut space)?;
        ensure!(read > 0, "the connection ended within a reply");
        self.rest.extend_from_slice(&space[..read]);
        Ok(())
    }
}

/// A POST of JSON with further header lines.
pub fn post(path: &str, body: &str, headers: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A text as a frame of a websocket's client.
pub fn frame(text: &str) -> Vec<u8> {
    let mut frame = vec![0x81];
    match u16::try_from(text.len()) {
        Ok(length) if length < 126 => frame.push(0x80 | u8::try_from(length).unwrap_or_default()),
        Ok(length) => {
            frame.push(0x80 | 126);
            frame.extend_from_slice(&length.to_be_bytes());
        }
        Err(_) => {
            frame.push(0x80 | 127);
            frame.extend_from_slice(&(text.len() as u64).to_be_bytes());
        }
    }
    // A mask of zeros does not change the text.
    frame.extend_from_slice(&[0; 4]);
    frame.extend_from_slice(text.as_bytes());
    frame
}
