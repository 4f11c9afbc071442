//! A blocking HTTP/1.1 client on the standard library: one node, one kept connection.
//!
//! For tests and small tools: no redirects, no cookies, no compression, and TLS only by a [`Layer`] of the caller. It
//! sends exactly the headers that the caller gives (and `Host`, `Content-Length` where they are missing), so that a
//! test decides every byte.

use std::fmt;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time that one read or write may take before it fails.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
/// A whole exchange may take so many times as long as one read.
const EXCHANGE_TIMEOUTS: u32 = 5;
/// No exchange takes longer.
const LONGEST_EXCHANGE: Duration = Duration::from_secs(24 * 60 * 60);
/// Longest accepted line of a reply's head, in bytes.
const MAX_LINE: u64 = 64 * 1024;
/// Most header lines of a reply.
const MAX_HEADERS: usize = 256;
/// Largest accepted reply body, in bytes: a page of the largest UTXOs in hex is a few megabytes.
const MAX_BODY: u64 = 256 * 1024 * 1024;

/// The reason why a request had no reply.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The connection could not be made, or broke.
    #[error("connection: {0}")]
    Io(#[from] std::io::Error),
    /// The peer does not react, or is too slow.
    #[error("connection: no reply within {:.1} s", .0.as_secs_f64())]
    Timeout(Duration),
    /// The peer's bytes are not HTTP/1.1.
    #[error("bad reply: {0}")]
    BadReply(String),
}

/// A reply: status, headers in the order received, the body after removing the transfer coding.
#[derive(Clone, Debug, Default)]
pub struct HttpReply {
    /// Status code.
    pub status: u16,
    /// Header names as sent and their values, in order; a name may occur again.
    pub headers: Vec<(String, String)>,
    /// Body bytes; a content coding (gzip) is left as it is.
    pub body: Vec<u8>,
}

impl HttpReply {
    /// The values of a header, any letter case, joined by `, ` where it occurs again.
    pub fn header(&self, name: &str) -> Option<String> {
        let values: Vec<&str> = self
            .headers
            .iter()
            .filter(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, v)| v.as_str())
            .collect();
        (!values.is_empty()).then(|| values.join(", "))
    }

    /// The body as text; invalid UTF-8 replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// The layer between HTTP and TCP: TLS, for which this crate has no library.
pub trait Layer: fmt::Debug + Send + Sync {
    /// Opens the layer on a new connection, whose reads and writes end at a deadline.
    ///
    /// # Errors
    /// The handshake fails, or is not done in time.
    fn open(&self, stream: TimedStream) -> std::io::Result<Box<dyn Layered>>;
}

/// An open connection of a [`Layer`].
pub trait Layered: Read + Write + Send {
    /// The TCP connection below.
    fn below(&mut self) -> &mut TimedStream;
}

impl Layered for TimedStream {
    fn below(&mut self) -> &mut TimedStream {
        self
    }
}

/// A client of one node. Keeps its connection open between requests and opens another when it was closed.
pub struct HttpClient {
    /// Tried in this order.
    addresses: Vec<SocketAddr>,
    /// Value of the header `Host`.
    authority: String,
    layer: Option<Arc<dyn Layer>>,
    timeout: Duration,
    keep_alive: bool,
    connection: Option<BufReader<Box<dyn Layered>>>,
}

/// A TCP connection whose reads and writes end at a deadline.
#[derive(Debug)]
pub struct TimedStream {
    stream: TcpStream,
    /// The timeout of one read or write.
    timeout: Duration,
    deadline: Instant,
}

impl TimedStream {
    fn restart(&mut self, limit: Duration) {
        self.deadline = Instant::now() + limit;
    }

    /// Time that the next read or write may take.
    fn left(&self) -> std::io::Result<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left.min(self.timeout)) }
    }
}

impl Read for TimedStream {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        self.stream.read(buffer)
    }
}

impl Write for TimedStream {
    fn write(&mut self, buffer: &[u8]) -> std::io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write(buffer)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.stream.flush()
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { addresses, authority, layer, timeout, keep_alive, .. } = self;
        f.debug_struct("HttpClient")
            .field("addresses", addresses)
            .field("authority", authority)
            .field("layer", layer)
            .field("timeout", timeout)
            .field("keep_alive", keep_alive)
            .finish_non_exhaustive()
    }
}

/// The same node and settings, with a connection of its own.
impl Clone for HttpClient {
    fn clone(&self) -> Self {
        Self {
            addresses: self.addresses.clone(),
            authority: self.authority.clone(),
            layer: self.layer.clone(),
            connection: None,
            ..*self
        }
    }
}

impl HttpClient {
    /// A client that keeps its connection; nothing is sent yet.
    pub fn new(address: SocketAddr) -> Self {
        Self::of_host(vec![address], address.to_string())
    }

    /// A client of the node at the first of these addresses that takes a connection. `authority` is the value of the
    /// header `Host`.
    pub fn of_host(addresses: Vec<SocketAddr>, authority: String) -> Self {
        let (layer, timeout, connection) = (None, DEFAULT_TIMEOUT, None);
        Self { addresses, authority, layer, timeout, keep_alive: true, connection }
    }

    /// Opens a layer on each connection.
    pub fn with_layer(mut self, layer: Arc<dyn Layer>) -> Self {
        self.layer = Some(layer);
        self
    }

    /// Uses a fresh connection for every request.
    pub fn without_keep_alive(mut self) -> Self {
        self.keep_alive = false;
        self
    }

    /// Limits every single read and write to `timeout`, and a whole exchange to five times that.
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The addresses of the node.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Sends one request and reads its reply.
    ///
    /// A kept connection that the peer has closed meanwhile is replaced once, provided that nothing of a reply
    /// had been read: a request is never sent twice after a part of its reply was seen.
    pub fn request(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<HttpReply, HttpError> {
        let begun = Instant::now();
        self.exchange_once(method, path, headers, body).map_err(|error| match error {
            HttpError::Io(error) if is_timeout(&error) => HttpError::Timeout(begun.elapsed()),
            other => other,
        })
    }

    fn exchange_once(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<HttpReply, HttpError> {
        let head = self.head(method, path, headers, body);
        if let Some(mut kept) = self.connection.take() {
            match self.exchange(&mut kept, method, &head, body) {
                Ok((reply, reusable)) => {
                    self.connection = (reusable && self.keep_alive).then_some(kept);
                    return Ok(reply);
                }
                Err(HttpError::Io(e)) if is_stale(&e) => {}
                Err(e) => return Err(e),
            }
        }
        let mut fresh = BufReader::new(self.connect()?);
        let (reply, reusable) = self.exchange(&mut fresh, method, &head, body)?;
        self.connection = (reusable && self.keep_alive).then_some(fresh);
        Ok(reply)
    }

    fn connect(&self) -> std::io::Result<Box<dyn Layered>> {
        let mut failed = std::io::Error::from(ErrorKind::AddrNotAvailable);
        for address in &self.addresses {
            match TcpStream::connect_timeout(address, self.timeout) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    let deadline = Instant::now() + self.limit();
                    let stream = TimedStream { stream, timeout: self.timeout, deadline };
                    return match &self.layer {
                        Some(layer) => layer.open(stream),
                        None => Ok(Box::new(stream)),
                    };
                }
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    /// Time that a whole exchange may take.
    fn limit(&self) -> Duration {
        self.timeout.saturating_mul(EXCHANGE_TIMEOUTS).min(LONGEST_EXCHANGE)
    }

    fn head(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
        let has = |name: &str| headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        if !has("host") {
            head.push_str(&format!("Host: {}\r\n", self.authority));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !has("content-length") && (!body.is_empty() || method == "POST") {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        head.into_bytes()
    }

    fn exchange(
        &self,
        connection: &mut BufReader<Box<dyn Layered>>,
        method: &str,
        head: &[u8],
        body: &[u8],
    ) -> Result<(HttpReply, bool), HttpError> {
        let mut message = Vec::with_capacity(head.len().saturating_add(body.len()));
        message.extend_from_slice(head);
        message.extend_from_slice(body);
        let stream = connection.get_mut();
        stream.below().restart(self.limit());
        // A peer that refuses early may close before it has read everything: its reply still counts.
        let sent = stream.write_all(&message).and_then(|()| stream.flush());
        match read_reply(connection, method == "HEAD") {
            Ok(reply) => Ok(reply),
            Err(e) => sent.map_err(HttpError::Io).and(Err(e)),
        }
    }
}

/// Whether a kept connection was found closed before anything of a reply came.
fn is_stale(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::UnexpectedEof
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::BrokenPipe
    )
}

/// Whether a read or a write has taken too long.
fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Reads one reply; the flag is true if the connection can carry another request.
fn read_reply(from: &mut impl BufRead, head_only: bool) -> Result<(HttpReply, bool), HttpError> {
    loop {
        let line = read_line(from)?;
        let mut parts = line.splitn(3, ' ');
        let version = parts.next().unwrap_or_default();
        let status = parts.next().and_then(|s| s.parse::<u16>().ok());
        let (true, Some(status)) = (version.starts_with("HTTP/1."), status) else {
            return Err(HttpError::BadReply(format!("status line {line:?}")));
        };
        let headers = read_headers(from)?;
        // 1xx are announcements before the reply proper.
        if (100..200).contains(&status) && status != 101 {
            continue;
        }
        let mut reply = HttpReply { status, headers, body: Vec::new() };
        let close = reply.header("connection").is_some_and(|v| v.eq_ignore_ascii_case("close"));
        let mut reusable = !close && version == "HTTP/1.1";
        if head_only || matches!(status, 101 | 204 | 304) {
            return Ok((reply, reusable));
        }
        let chunked = reply
            .header("transfer-encoding")
            .is_some_and(|v| v.to_ascii_lowercase().ends_with("chunked"));
        if chunked {
            reply.body = read_chunks(from)?;
        } else if let Some(length) = reply.header("content-length") {
            let length = length
                .parse::<u64>()
                .ok()
                .filter(|n| *n <= MAX_BODY)
                .ok_or_else(|| HttpError::BadReply(format!("content length {length:?}")))?;
            reply.body = read_exactly(from, length)?;
        } else {
            let length = from.take(MAX_BODY).read_to_end(&mut reply.body)?;
            if length as u64 == MAX_BODY {
                return Err(HttpError::BadReply(format!("a body of {MAX_BODY} bytes or more")));
            }
            reusable = false;
        }
        return Ok((reply, reusable));
    }
}

fn read_line(from: &mut impl BufRead) -> Result<String, HttpError> {
    let mut line = Vec::new();
    from.take(MAX_LINE).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Err(HttpError::Io(ErrorKind::UnexpectedEof.into()));
    }
    if line.pop() != Some(b'\n') {
        return Err(HttpError::BadReply("a line without end".to_owned()));
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    String::from_utf8(line).map_err(|_| HttpError::BadReply("a head that is no text".to_owned()))
}

fn read_headers(from: &mut impl BufRead) -> Result<Vec<(String, String)>, HttpError> {
    let mut headers = Vec::new();
    loop {
        let line = read_line(from)?;
        if line.is_empty() {
            return Ok(headers);
        }
        let (name, value) = line
            .split_once(':')
            .ok_or_else(|| HttpError::BadReply(format!("header line {line:?}")))?;
        if headers.len() == MAX_HEADERS {
            return Err(HttpError::BadReply("too many headers".to_owned()));
        }
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
}

fn read_exactly(from: &mut impl BufRead, length: u64) -> Result<Vec<u8>, HttpError> {
    let mut body = Vec::new();
    let got = from.take(length).read_to_end(&mut body)?;
    if u64::try_from(got).ok() != Some(length) {
        return Err(HttpError::Io(ErrorKind::UnexpectedEof.into()));
    }
    Ok(body)
}

fn read_chunks(from: &mut impl BufRead) -> Result<Vec<u8>, HttpError> {
    let mut body = Vec::new();
    loop {
        let line = read_line(from)?;
        let digits = line.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(digits, 16)
            .ok()
            .filter(|n| n.saturating_add(body.len() as u64) <= MAX_BODY)
            .ok_or_else(|| HttpError::BadReply(format!("chunk size {line:?}")))?;
        if size == 0 {
            // Trailers, if any, end with an empty line as headers do.
            read_headers(from)?;
            return Ok(body);
        }
        body.extend(read_exactly(from, size)?);
        read_line(from)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &str, head_only: bool, want: Option<(u16, &str, bool)>) {
        let got = read_reply(&mut bytes.as_bytes(), head_only)
            .ok()
            .map(|(reply, reusable)| (reply.status, reply.text(), reusable));
        assert_eq!(got, want.map(|(s, b, r)| (s, b.to_owned(), r)), "{bytes:?}");
    }

    #[test]
    fn replies() {
        check("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokrest", false, Some((200, "ok", true)));
        check("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall", false, Some((200, "all", false)));
        check("HTTP/1.1 200\r\nContent-Length: 5\r\n\r\n", true, Some((200, "", true)));
        check(
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n",
            false,
            Some((404, "", true)),
        );
        check(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n",
            false,
            Some((200, "abcde", true)),
        );
    }

    #[test]
    fn malformed_replies_are_refused() {
        for bytes in [
            "",
            "HTTP/2 200 OK\r\n\r\n",
            "nonsense\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab",
            "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\nab",
            "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 268435457\r\n\r\nab",
        ] {
            check(bytes, false, None);
        }
    }

    #[test]
    fn chunks_are_bounded_together() {
        let last = format!("1\r\na\r\n{MAX_BODY:x}\r\n");
        let bytes = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{last}");
        let refused = read_reply(&mut bytes.as_bytes(), false).unwrap_err();
        assert!(matches!(refused, HttpError::BadReply(_)), "{refused}");
    }

    /// A server that sends one text and then the other again and again, until the client has gone.
    fn slow_server(first: &'static str, again: &'static str) -> SocketAddr {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut sent = stream.write_all(first.as_bytes());
            while sent.is_ok() {
                std::thread::sleep(Duration::from_millis(5));
                sent = stream.write_all(again.as_bytes());
            }
        });
        address
    }

    #[test]
    fn silent_and_slow_peers_are_given_up() {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n";
        let headers = "HTTP/1.1 100 Continue\r\n\r\n";
        for (first, again) in [("", ""), (head, ""), (head, " "), (headers, headers)] {
            let address = slow_server(first, again);
            let mut client = HttpClient::new(address).with_timeout(Duration::from_millis(50));
            let error = client.request("POST", "/", &[], b"{}").unwrap_err();
            assert!(matches!(error, HttpError::Timeout(_)), "{first:?} {again:?}: {error}");
            assert!(error.to_string().starts_with("connection: no reply within 0."), "{error}");
        }
    }

    #[test]
    fn a_closed_connection_is_replaced() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            for _ in 0..2 {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = [0; 1024];
                let n = stream.read(&mut request).unwrap();
                assert!(n > 0);
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
            }
        });
        let mut client = HttpClient::new(address);
        for _ in 0..2 {
            assert_eq!(client.request("POST", "/", &[], b"{}").unwrap().body, b"ok");
        }
        server.join().unwrap();
    }
}
