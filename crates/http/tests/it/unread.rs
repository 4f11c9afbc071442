//! Replies that need no body: the connection serves the next request, or the reply says that it closes.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use esker_http::{Endpoint, HttpConfig};
use esker_rpc::positional::{self, Limits};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{CALL, Client, Server, positional};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"toy.ping"}"#;
/// The longest time that a test waits.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time that the server of the mutated requests gives to a head or a body.
const SHORT: Duration = Duration::from_millis(200);

async fn server(config: HttpConfig) -> Server {
    let rpc = positional::Server::new(positional().bind(().into()), Limits::default());
    let endpoints =
        [("evm", Endpoint::Positional(rpc.clone())), ("ws", Endpoint::Socket(Arc::new(rpc)))];
    Server::with_endpoints(config, &endpoints).await
}

/// Heads that are answered without their body, and the status.
const REFUSED: [(&str, u16); 11] = [
    ("POST /nothing HTTP/1.1\nHost: localhost", 404),
    ("POST /ext//toy HTTP/1.1\nHost: localhost", 301),
    ("POST /ext/%zz HTTP/1.1\nHost: localhost", 400),
    ("POST /ext/toy HTTP/1.1\nNo-Host: x", 400),
    ("POST /ext/toy HTTP/1.1\nHost: localhost\nHost: localhost", 400),
    ("POST /ext/toy HTTP/1.1\nHost: evil.example", 403),
    ("PUT /ext/toy HTTP/1.1\nHost: localhost", 405),
    ("POST /ext/toy HTTP/1.1\nHost: localhost\nContent-Type: text/plain", 415),
    ("DELETE /ext/evm HTTP/1.1\nHost: localhost", 405),
    ("POST /ext/ws HTTP/1.1\nHost: localhost", 400),
    (
        "OPTIONS /ext/toy HTTP/1.1\nHost: localhost\nOrigin: http://a\nAccess-Control-Request-Method: POST",
        200,
    ),
];

#[tokio::test]
async fn a_small_body_is_read_to_its_end() {
    let server = server(HttpConfig::default()).await;
    let mut client = server.client().await;
    for (head, status) in REFUSED {
        for body in [
            format!("Content-Length: {}\n\n{PING}", PING.len()),
            format!("Content-Length: 60000\n\n{}", "x".repeat(60_000)),
            format!("Transfer-Encoding: chunked\n\n{:x}\r\n{PING}\r\n0\r\n\r\n", PING.len()),
        ] {
            let reply = client.send(&format!("{head}\n{body}")).await;
            assert_eq!(reply.status, status, "{head}");
            assert_eq!(reply.header("connection"), None, "{head}");
            assert_eq!(client.call("/ext/toy", "toy.ping").await.status, 200, "{head}");
        }
    }
}

#[tokio::test]
async fn a_large_body_closes_the_connection_and_the_reply_says_so() {
    let server = server(HttpConfig::default()).await;
    let bytes = 1_000_000;
    for (head, status) in REFUSED {
        let chunk = format!("{bytes:x}\r\n{}\r\n0\r\n\r\n", "x".repeat(bytes));
        for body in [
            format!("Content-Length: {bytes}\n\n{}", "x".repeat(bytes)),
            format!("Transfer-Encoding: chunked\n\n{chunk}"),
        ] {
            let mut client = server.client().await;
            // All of it is sent before anything is read, and the reply arrives nevertheless.
            let reply = client.send(&format!("{head}\n{body}")).await;
            assert_eq!(reply.status, status, "{head}");
            assert_eq!(reply.header("connection"), Some("close"), "{head}");
            client.closed().await;
        }
    }
}

#[tokio::test]
async fn a_body_that_does_not_come_or_waits_to_be_asked_for() {
    let server = server(HttpConfig::default()).await;
    for (head, status) in REFUSED {
        let mut client = server.client().await;
        let request = format!("{head}\nExpect: 100-continue\nContent-Length: 9\n\n");
        let reply = client.send(&request).await;
        assert_eq!((reply.status, reply.header("connection")), (status, Some("close")), "{head}");
    }
    let (head, status) = REFUSED[0];
    let reply = server.send(&format!("{head}\nContent-Length: 9\n\n12345678")).await;
    assert_eq!((reply.status, reply.header("connection")), (status, Some("close")));
    // Longer than the limit of the positional dialect, which takes what it has of it.
    let limit = Limits::default().body_bytes;
    let body = format!("{CALL}{}", " ".repeat(2 * limit));
    let head = "POST /ext/evm HTTP/1.1\nHost: localhost\nContent-Type: application/json";
    let chunked = format!("Transfer-Encoding: chunked\n\n{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let reply = server.send(&format!("{head}\n{chunked}")).await;
    assert_eq!((reply.status, reply.header("connection")), (200, Some("close")));
}

#[tokio::test]
async fn a_head_that_is_no_http_gets_its_refusal() {
    let server = server(HttpConfig::default()).await;
    for (head, status) in [
        ("GET /ext/toy HTTP/9.9\r\n\r\n", 400),
        ("GET /ext/toy HTTP/1.1\r\nHost localhost\r\n\r\n", 400),
        ("G@T /ext/toy HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        ("GET /ext/toy HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", 400),
    ] {
        let mut client = server.client().await;
        assert_eq!(client.call("/ext/toy", "toy.ping").await.status, 200);
        // More than the server reads before it refuses.
        client.write(format!("{head}{}", "x".repeat(1_000_000))).await;
        let reply = client.read().await;
        assert_eq!((reply.status, reply.header("connection")), (status, Some("close")), "{head}");
        client.closed().await;
    }
}

/// A client that reports how its connection ends.
struct Careful {
    stream: TcpStream,
    rest: Vec<u8>,
}

impl Careful {
    async fn connect(address: SocketAddr) -> Self {
        Self { stream: TcpStream::connect(address).await.unwrap(), rest: Vec::new() }
    }

    /// Sends a request and reads one reply: its status, and whether it announces that the connection closes.
    async fn send(&mut self, request: &[u8]) -> io::Result<(u16, bool)> {
        self.stream.write_all(request).await?;
        let has_no_body = request.starts_with(b"HEAD ");
        let head = loop {
            if let Some(end) = self.rest.windows(4).position(|window| window == b"\r\n\r\n") {
                let rest = self.rest.split_off(end + 4);
                break String::from_utf8(std::mem::replace(&mut self.rest, rest)).unwrap();
            }
            self.more().await?;
        };
        let head = head.to_lowercase();
        let status = head[9..12].parse().unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.map_or(0, |text| text.parse().unwrap());
        while !has_no_body && self.rest.len() < length {
            self.more().await?;
        }
        self.rest.drain(..if has_no_body { 0 } else { length });
        Ok((status, head.contains("\r\nconnection: close\r\n")))
    }

    /// The end of the connection is an error of its own kind.
    async fn more(&mut self) -> io::Result<()> {
        let mut space = vec![0; 64 * 1024];
        let read = tokio::time::timeout(PATIENCE, self.stream.read(&mut space)).await;
        let read = read.expect("a reply, or the end of the connection")?;
        self.rest.extend_from_slice(&space[..read]);
        if read > 0 { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

/// A request that is likely to be refused, well framed.
fn random_request(random: &mut StdRng) -> Vec<u8> {
    let one = |random: &mut StdRng, of: &[&str]| (*of.choose(random).unwrap()).to_owned();
    let method = one(
        random,
        &["POST", "GET", "PUT", "OPTIONS", "HEAD", "DELETE", "PATCH", "CONNECT", "get"],
    );
    let paths =
        ["/ext/toy", "/ext//toy", "/x", "/ext/%zz", "/ext/evm", "/ext/ws", "/ext/bc/X", "//"];
    let path = one(random, &paths);
    let host =
        one(random, &["Host: localhost", "Host: evil.example", "A: b", "Host: a\r\nHost: b"]);
    let kind = one(random, &["application/json", "text/plain", "application/json ", ""]);
    let further = one(
        random,
        &[
            "",
            "Origin: http://a\r\nAccess-Control-Request-Method: POST\r\n",
            "Upgrade: websocket\r\n",
        ],
    );
    let body = match random.random_range(0..5) {
        0 => String::new(),
        1 => CALL.to_owned(),
        2 => "{".repeat(random.random_range(1..70_000)),
        _ => PING.to_owned(),
    };
    let head = format!("{method} {path} HTTP/1.1\r\n{host}\r\nContent-Type: {kind}\r\n{further}");
    if random.random_bool(0.3) && !body.is_empty() {
        let chunk = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
        return format!("{head}Transfer-Encoding: chunked\r\n\r\n{chunk}").into_bytes();
    }
    format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn is_end(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::UnexpectedEof
}

#[tokio::test]
async fn no_connection_ends_without_being_announced() {
    const REQUESTS: usize = 4000;
    let config = HttpConfig { header_timeout: SHORT, body_timeout: SHORT, ..HttpConfig::default() };
    let server = server(config).await;
    let ping = Client::post("/ext/toy", PING).into_bytes();
    let random = &mut StdRng::seed_from_u64(9);
    let mut client = Careful::connect(server.address).await;
    let (mut announced, mut timed_out) = (0, 0);
    for n in 0..REQUESTS {
        let mut request = random_request(random);
        // Such a request may lack its end: the server waits for it, and then closes without a reply.
        let is_broken = random.random_bool(0.1);
        if is_broken {
            let at = random.random_range(0..request.len().min(200));
            request[at] = random.random();
        }
        let context =
            || format!("{n}: {}", String::from_utf8_lossy(&request[..request.len().min(300)]));
        let is_closing = match client.send(&request).await {
            Ok((_, is_closing)) => is_closing,
            Err(error) if is_broken && is_end(&error) => {
                timed_out += 1;
                client = Careful::connect(server.address).await;
                continue;
            }
            Err(error) => panic!("{error} instead of a reply to {}", context()),
        };
        // A broken request may be two: then this is the reply to the second one.
        let is_closing = is_closing
            || match client.send(&ping).await {
                Ok((status, is_closing)) => {
                    assert!(is_broken || (status, is_closing) == (200, false), "{}", context());
                    is_closing || is_broken
                }
                Err(error) if is_broken && is_end(&error) => true,
                Err(error) => panic!("{error} after {}", context()),
            };
        if is_closing {
            announced += 1;
            client = Careful::connect(server.address).await;
        }
    }
    assert!(announced > 50, "{announced}");
    assert!(timed_out < REQUESTS / 20, "{timed_out}");
}
