//! A client that sends exactly the given bytes and keeps every header line.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

/// The longest time that a test waits.
const PATIENCE: Duration = Duration::from_secs(20);

/// A reply, its header names in lower case.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    /// The values of a header, one for each line.
    pub fn all(&self, name: &str) -> Vec<&str> {
        let lines = self.headers.iter().filter(|(n, _)| n == name);
        lines.map(|(_, value)| value.as_str()).collect()
    }

    /// The value of a header that occurs once at most.
    pub fn header(&self, name: &str) -> Option<&str> {
        let all = self.all(name);
        assert!(all.len() < 2, "{name}: {all:?}");
        all.first().copied()
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// One connection.
pub struct Client<S = TcpStream> {
    pub stream: S,
    /// Bytes received and not yet used.
    rest: Vec<u8>,
}

impl Client {
    pub async fn connect(address: SocketAddr) -> Self {
        Self::over(TcpStream::connect(address).await.unwrap())
    }

    /// A POST of JSON.
    pub fn post(path: &str, body: &str) -> String {
        format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<S> {
    pub fn over(stream: S) -> Self {
        Self { stream, rest: Vec::new() }
    }

    pub async fn write(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).await.unwrap();
    }

    /// Sends a whole request and reads its reply. Lines of the text end with `\n` or `\r\n`.
    pub async fn send(&mut self, request: &str) -> Reply {
        let (head, body) = request
            .split_once("\r\n\r\n")
            .unwrap_or_else(|| request.split_once("\n\n").unwrap_or((request, "")));
        let head = head.replace("\r\n", "\n").replace('\n', "\r\n");
        self.write(format!("{head}\r\n\r\n{body}")).await;
        self.read_to(head.starts_with("HEAD ")).await
    }

    pub async fn call(&mut self, path: &str, method: &str) -> Reply {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#);
        self.send(&Client::post(path, &body)).await
    }

    pub async fn read(&mut self) -> Reply {
        self.read_to(false).await
    }

    async fn read_to(&mut self, without_body: bool) -> Reply {
        let head = self.take_to(b"\r\n\r\n").await.expect("a reply");
        let head = String::from_utf8(head).unwrap();
        let mut lines = head.trim_end().split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers: Vec<_> = lines
            .map(|line| {
                let (name, value) = line.split_once(':').unwrap();
                (name.to_lowercase(), value.trim().to_owned())
            })
            .collect();
        let mut reply = Reply { status, headers, body: Vec::new() };
        if !without_body && status != 101 {
            reply.body = self.body(&reply).await;
        }
        reply
    }

    async fn body(&mut self, reply: &Reply) -> Vec<u8> {
        if reply.header("transfer-encoding") == Some("chunked") {
            let mut body = Vec::new();
            loop {
                let size = self.take_to(b"\r\n").await.unwrap();
                let size = std::str::from_utf8(&size).unwrap().trim();
                let size = usize::from_str_radix(size, 16).unwrap();
                let chunk = self.take(size + 2).await;
                if size == 0 {
                    return body;
                }
                body.extend_from_slice(&chunk[..size]);
            }
        }
        let length = reply.header("content-length").map_or(0, |n| n.parse().unwrap());
        self.take(length).await
    }

    /// Reads up to and including these bytes; `None` if the connection ends before any byte.
    async fn take_to(&mut self, end: &[u8]) -> Option<Vec<u8>> {
        loop {
            if let Some(at) = self.rest.windows(end.len()).position(|window| window == end) {
                let rest = self.rest.split_off(at + end.len());
                return Some(std::mem::replace(&mut self.rest, rest));
            }
            if !self.more().await {
                assert!(self.rest.is_empty(), "{:?}", String::from_utf8_lossy(&self.rest));
                return None;
            }
        }
    }

    pub async fn take(&mut self, length: usize) -> Vec<u8> {
        while self.rest.len() < length {
            assert!(self.more().await, "the connection ended within a body");
        }
        let rest = self.rest.split_off(length);
        std::mem::replace(&mut self.rest, rest)
    }

    async fn more(&mut self) -> bool {
        let mut space = vec![0; 64 * 1024];
        let read = tokio::time::timeout(PATIENCE, self.stream.read(&mut space)).await;
        let read = read.expect("nothing came for a long time").unwrap_or(0);
        self.rest.extend_from_slice(&space[..read]);
        read > 0
    }

    /// Waits until the server closes the connection in any way, and discards all bytes before that.
    pub async fn closed(&mut self) {
        self.rest.clear();
        while self.more().await {}
    }
}
