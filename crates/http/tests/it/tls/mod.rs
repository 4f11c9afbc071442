//! TLS: handshakes, HTTP/1.1 and websockets over it.

mod client;
mod frames;
mod http2;
mod limits;

use std::sync::Arc;
use std::time::Duration;

use esker_http::{Endpoint, HttpConfig};
use esker_rpc::positional::{Limits, Server as PositionalServer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use self::client::{HTTP1, SecureServer};
use super::sockets::{HANDSHAKE, client::frame};
use super::{CALL, CALLED, Client, positional};

/// A time-out that a test waits for.
const SHORT: Duration = Duration::from_millis(400);

fn closed(reason: &str) -> String {
    format!("esker_http_connections_closed_total{{reason=\"{reason}\"}}")
}

#[tokio::test]
async fn a_client_of_http1_has_one_connection_for_many_requests() {
    let server = SecureServer::start().await;
    for protocols in [&[HTTP1][..], &[]] {
        let mut client = Client::over(server.handshake(protocols).await.unwrap());
        for _ in 0..3 {
            let reply = client.call("/ext/toy", "toy.ping").await;
            assert!(reply.text().contains("pong"), "{reply:?}");
            assert!(reply.header("node-id").is_some());
        }
    }
}

#[tokio::test]
async fn both_versions_of_tls_are_served() {
    let server = SecureServer::start().await;
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let stream = server.handshake_with(version, &[HTTP1]).await.unwrap();
        assert_eq!(stream.get_ref().1.protocol_version(), Some(version.version));
        assert_eq!(Client::over(stream).call("/ext/toy", "toy.ping").await.status, 200);
    }
}

#[tokio::test]
async fn an_unknown_protocol_is_refused() {
    let server = SecureServer::start().await;
    assert!(server.handshake(&[b"spdy/3"]).await.is_err());
    assert!(server.handshake(&[b"spdy/3", HTTP1]).await.is_ok());
}

#[tokio::test]
async fn large_bodies_and_replies_pass() {
    let server = SecureServer::start().await;
    let mut client = server.client().await;
    for size in [100_000, 5_000_000, 30_000_000] {
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"toy.size","params":{{"size":{size},"y":"{}"}}}}"#,
            "y".repeat(1_000_000)
        );
        let reply = client.send(&Client::post("/ext/toy", &call)).await;
        assert_eq!(reply.json()["result"]["said"].as_str().unwrap().len(), size);
    }
}

#[tokio::test]
async fn a_websocket_over_tls() {
    let service = positional().bind(Arc::new(()));
    let rpc = PositionalServer::new(service, Limits::default());
    let further = [("socket", Endpoint::Socket(Arc::new(rpc)))];
    let server = SecureServer::with(HttpConfig::default(), &further).await;
    let mut client = server.client().await;
    let reply = client.send(&format!("GET /ext/socket HTTP/1.1\n{HANDSHAKE}\n")).await;
    assert_eq!(reply.status, 101, "{reply:?}");
    for _ in 0..3 {
        client.write(frame(0x81, CALL.as_bytes())).await;
        let head = client.take(2).await;
        assert_eq!(head, [0x81, u8::try_from(CALLED.len()).unwrap()]);
        assert_eq!(client.take(CALLED.len()).await, CALLED.as_bytes());
    }
    let long = r#"{"jsonrpc":"2.0","id":1,"method":"eth_long","params":[1000000]}"#;
    client.write(frame(0x81, long.as_bytes())).await;
    let head = client.take(10).await;
    assert_eq!(head[..2], [0x81, 127]);
    let length = u64::from_be_bytes(head[2..].try_into().unwrap());
    let text = client.take(usize::try_from(length).unwrap()).await;
    assert!(text.len() > 1_000_000 && text.ends_with(b"xxx\"}\n"));
}

#[tokio::test]
async fn a_request_without_tls_is_answered_with_what_is_wrong() {
    let server = SecureServer::start().await;
    for request in ["GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "G", "PRI * HTTP/2.0\r\n\r\n"] {
        let mut plain = TcpStream::connect(server.address()).await.unwrap();
        plain.write_all(request.as_bytes()).await.unwrap();
        let mut reply = String::new();
        plain.read_to_string(&mut reply).await.unwrap();
        assert_eq!(
            reply,
            "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
        );
        drop(plain);
    }
    server.until_metric("esker_http_connections", 0.0).await;
}

#[tokio::test]
async fn a_certificate_is_replaced_for_new_connections() {
    let server = SecureServer::start().await;
    let mut before = server.client().await;
    let first = before.stream.get_ref().1.peer_certificates().unwrap()[0].clone();
    let server = server.replace_certificate();
    let after = server.client().await;
    assert_ne!(after.stream.get_ref().1.peer_certificates().unwrap()[0], first);
    assert_eq!(before.call("/ext/toy", "toy.ping").await.status, 200, "open ones go on");
}

#[tokio::test]
async fn what_is_no_handshake_ends_the_connection() {
    let server = SecureServer::start().await;
    for bytes in [
        &b"\0\0\0\0\0\0\0\0"[..],
        b"\x16\x03\x01\x00\x05hello",
        b"hello\r\n\r\n",
        b"\x15\x03\x03\x00\x02\x02\x28",
        b"\x80\x2e\x01\x00\x02",
    ] {
        let mut client = Client::connect(server.address()).await;
        client.write(bytes).await;
        client.stream.shutdown().await.unwrap();
        client.closed().await;
    }
    server.until_metric("esker_http_connections", 0.0).await;
    assert_eq!(server.client().await.call("/ext/toy", "toy.ping").await.status, 200);
}

#[tokio::test]
async fn a_handshake_that_never_ends() {
    let config = HttpConfig { header_timeout: SHORT, ..HttpConfig::default() };
    let server = SecureServer::with(config, &[]).await;
    let mut silent = Client::connect(server.address()).await;
    let mut slow = Client::connect(server.address()).await;
    slow.write(b"\x16\x03\x01\x02\x00\x01").await;
    // After the handshake the head of the first request has what is left of the time.
    let mut without_request = server.client().await;
    silent.closed().await;
    slow.closed().await;
    without_request.closed().await;
    server.until_metric(&closed("header"), 3.0).await;
}

#[tokio::test]
async fn stalled_handshakes_make_room_for_others() {
    const MOST: usize = 20;
    let config = HttpConfig { max_connections: MOST, ..HttpConfig::default() };
    let server = SecureServer::with(config, &[]).await;
    let mut stalled = Vec::new();
    for n in 0..100 {
        let mut client = Client::connect(server.address()).await;
        if n % 2 == 0 {
            client.write(b"\x16\x03\x01\x02\x00\x01").await;
        }
        stalled.push(client);
    }
    assert_eq!(server.client().await.call("/ext/toy", "toy.ping").await.status, 200);
    assert!(server.metric("esker_http_connections").unwrap() <= MOST as f64);
    stalled[0].closed().await;
}

#[tokio::test]
async fn a_reply_that_nobody_takes() {
    let config = HttpConfig { write_timeout: SHORT, ..HttpConfig::default() };
    let server = SecureServer::with(config, &[]).await;
    let mut slow = server.client().await;
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"toy.size","params":{"size":30000000}}"#;
    slow.write(Client::post("/ext/toy", call)).await;
    server.until_metric(&closed("write"), 1.0).await;
    slow.closed().await;
}

#[tokio::test]
async fn running_requests_are_answered_at_the_stop() {
    let server = SecureServer::start().await;
    let mut idle = server.client().await;
    assert_eq!(idle.call("/ext/toy", "toy.ping").await.status, 200);
    let mut running = server.client().await;
    let wait = r#"{"jsonrpc":"2.0","id":1,"method":"toy.wait"}"#;
    running.write(Client::post("/ext/toy", wait)).await;
    server.toy.waiting.acquire().await.unwrap().forget();
    let toy = server.toy.clone();
    let stopping = tokio::spawn(server.stop());
    idle.closed().await;
    toy.go.add_permits(1);
    let reply = running.read().await;
    assert!(reply.text().contains("waited"), "{reply:?}");
    assert_eq!(reply.header("connection"), Some("close"));
    stopping.await.unwrap();
}
