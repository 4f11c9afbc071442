//! Answers to slow, large and many clients, and their lack of effect on the others.

use std::time::Duration;

use esker_http::{DEFAULT_BODY_LIMIT, HttpConfig, MAX_HEADERS};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::{Client, Server};

/// A time-out that a test waits for.
const SHORT: Duration = Duration::from_millis(400);

fn too_large(bytes: usize) -> String {
    format!("content length too large ({bytes}>{DEFAULT_BODY_LIMIT})\n")
}

fn closed(reason: &str) -> String {
    format!("esker_http_connections_closed_total{{reason=\"{reason}\"}}")
}

/// A call of this many bytes.
fn call_of(bytes: usize) -> String {
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"toy.ping","params":{"x":""}}"#;
    call.replace("\"\"", &format!("\"{}\"", "y".repeat(bytes - call.len())))
}

#[tokio::test]
async fn bodies_up_to_the_limit() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let reply = client.send(&Client::post("/ext/toy", &call_of(DEFAULT_BODY_LIMIT))).await;
    assert!(reply.text().contains("pong"), "{reply:?}");
    let reply = client.send(&Client::post("/ext/toy", &call_of(DEFAULT_BODY_LIMIT + 1))).await;
    assert_eq!((reply.status, reply.text()), (413, too_large(DEFAULT_BODY_LIMIT + 1).as_str()));
    assert_eq!(reply.header("content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
}

#[tokio::test]
async fn a_body_of_six_mebibytes_is_refused_and_the_refusal_arrives() {
    let server = Server::start().await;
    let bytes = 6 * 1024 * 1024;
    // Blocking clients send all of it before they read.
    let reply = server.send(&Client::post("/ext/toy", &call_of(bytes))).await;
    assert_eq!((reply.status, reply.text()), (413, too_large(bytes).as_str()));
    // Declared, not sent: the server waits for nothing.
    let request = "POST /ext/toy HTTP/1.1\nHost: localhost\nContent-Type: application/json\nContent-Length: 99999999999\n\n{";
    let reply = server.send(request).await;
    assert_eq!((reply.status, reply.text()), (413, too_large(99_999_999_999).as_str()));
}

#[tokio::test]
async fn a_large_body_without_a_length() {
    let server = Server::start().await;
    let head = "POST /ext/toy HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunked = |body: &str| {
        let chunks = body.as_bytes().chunks(100_000);
        let chunk = |chunk: &[u8]| {
            format!("{:x}\r\n{}\r\n", chunk.len(), std::str::from_utf8(chunk).unwrap())
        };
        format!("{head}{}0\r\n\r\n", chunks.map(chunk).collect::<String>())
    };
    for bytes in [100, 70_000, DEFAULT_BODY_LIMIT] {
        let mut client = server.client().await;
        client.write(chunked(&call_of(bytes))).await;
        assert!(client.read().await.text().contains("pong"), "{bytes}");
    }
    for bytes in [DEFAULT_BODY_LIMIT + 1, 2 * DEFAULT_BODY_LIMIT] {
        let mut client = server.client().await;
        client.write(chunked(&call_of(bytes))).await;
        let reply = client.read().await;
        assert_eq!((reply.status, reply.text()), (413, too_large(DEFAULT_BODY_LIMIT + 1).as_str()));
    }
}

#[tokio::test]
async fn the_content_type_is_refused_before_the_body_is_read() {
    let server = Server::start().await;
    let request = "POST /ext/toy HTTP/1.1\nHost: localhost\nContent-Type: text/plain\nContent-Length: 99999999999\n\n{";
    assert_eq!(server.send(request).await.status, 415);
    let request = "PUT /ext/toy HTTP/1.1\nHost: localhost\nContent-Length: 99999999999\n\n{";
    assert_eq!(server.send(request).await.status, 405);
}

#[tokio::test]
async fn large_bodies_share_a_memory() {
    let config = HttpConfig { body_memory: 1024 * 1024, ..HttpConfig::default() };
    let server = Server::with(config).await;
    let call = Client::post("/ext/toy", &call_of(900_000));
    let (sent, kept) = call.split_at(call.len() - 10);
    let mut first = server.client().await;
    first.write(sent).await;
    server.until_metric("esker_http_body_memory_bytes", 899_990.0).await;
    let reply = server.send(&call).await;
    assert_eq!(reply.status, 503, "{reply:?}");
    assert_eq!(reply.text(), "too many large requests at once\n");
    assert_eq!(server.call("/ext/toy", "toy.ping").await.status, 200, "small ones are served");
    first.write(kept).await;
    assert!(first.read().await.text().contains("pong"));
    server.until_metric("esker_http_body_memory_bytes", 0.0).await;
    assert_eq!(server.send(&call).await.status, 200, "the memory is given back");
}

#[tokio::test]
async fn a_head_that_never_ends() {
    let server = Server::with(HttpConfig { header_timeout: SHORT, ..HttpConfig::default() }).await;
    let mut slow = server.client().await;
    slow.write("POST /ext/toy HTTP/1.1\r\nHost: loc").await;
    let mut silent = server.client().await;
    // One byte at a time doesn't help.
    let (mut read, mut write) = server.client().await.stream.into_split();
    let drip = tokio::spawn(async move {
        while write.write_all(b"x").await.is_ok() {
            tokio::time::sleep(SHORT / 10).await;
        }
    });
    assert_eq!(server.call("/ext/toy", "toy.ping").await.status, 200);
    slow.closed().await;
    silent.closed().await;
    while read.read(&mut [0; 64]).await.is_ok_and(|n| n > 0) {}
    drip.await.unwrap();
    server.until_metric(&closed("header"), 3.0).await;
    assert_eq!(server.call("/ext/toy", "toy.ping").await.status, 200);
}

#[tokio::test]
async fn a_body_that_never_ends() {
    let server = Server::with(HttpConfig { body_timeout: SHORT, ..HttpConfig::default() }).await;
    let mut slow = server.client().await;
    let request = Client::post("/ext/toy", &call_of(1000));
    slow.write(&request[..request.len() - 1]).await;
    assert_eq!(server.call("/ext/toy", "toy.ping").await.status, 200);
    slow.closed().await;
    server.until_metric(&closed("body"), 1.0).await;
}

#[tokio::test]
async fn a_reply_that_nobody_takes() {
    let server = Server::with(HttpConfig { write_timeout: SHORT, ..HttpConfig::default() }).await;
    let mut slow = server.client().await;
    // More than the buffers of both sockets hold.
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"toy.size","params":{"size":30000000}}"#;
    slow.write(Client::post("/ext/toy", call)).await;
    server.until_metric(&closed("write"), 1.0).await;
    assert_eq!(server.call("/ext/toy", "toy.ping").await.status, 200);
    slow.closed().await;
}

#[tokio::test]
async fn a_connection_that_asks_no_more() {
    let server = Server::with(HttpConfig { idle_timeout: SHORT, ..HttpConfig::default() }).await;
    let mut client = server.client().await;
    assert_eq!(client.call("/ext/toy", "toy.ping").await.status, 200);
    client.closed().await;
    server.until_metric(&closed("idle"), 1.0).await;
}

#[tokio::test]
async fn a_handler_has_no_time_out() {
    let config = HttpConfig {
        header_timeout: SHORT,
        body_timeout: SHORT,
        write_timeout: SHORT,
        idle_timeout: SHORT,
        ..HttpConfig::default()
    };
    let server = Server::with(config).await;
    let mut client = server.client().await;
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"toy.wait"}"#;
    client.write(Client::post("/ext/toy", call)).await;
    server.toy.waiting.acquire().await.unwrap().forget();
    // Longer than any time-out: an idle connection that came later is closed before.
    server.client().await.closed().await;
    server.toy.go.add_permits(1);
    assert!(client.read().await.text().contains("waited"));
}

/// A request whose head has this many bytes.
fn head_of(bytes: usize) -> String {
    let head = "GET /ext/toy HTTP/1.1\r\nHost: localhost\r\nX: \r\n\r\n";
    head.replace("X: ", &format!("X: {}", "x".repeat(bytes - head.len())))
}

#[tokio::test]
async fn the_limit_of_a_head_is_exact_however_it_comes() {
    for limit in [8192, 20_000, HttpConfig::default().head_limit] {
        let server = Server::with(HttpConfig { head_limit: limit, ..HttpConfig::default() }).await;
        for (bytes, status) in
            [(limit - 1, 405), (limit, 405), (limit + 1, 431), (3 * limit / 2, 431), (300_000, 431)]
        {
            let head = head_of(bytes);
            for piece in [bytes, bytes - 1, 50_000, 5000, 1449] {
                let mut client = server.client().await;
                for piece in head.as_bytes().chunks(piece) {
                    // The server may refuse before all of it is sent.
                    if client.stream.write_all(piece).await.is_err() {
                        break;
                    }
                    tokio::task::yield_now().await;
                }
                let reply = client.read().await;
                assert_eq!(reply.status, status, "{bytes} of {limit} in pieces of {piece}");
                let closes = (status == 431).then_some("close");
                assert_eq!(reply.header("connection"), closes, "{bytes} of {limit}");
            }
        }
        // Heads that wait behind each other count apart.
        let mut client = server.client().await;
        client.write(format!("{}{}", head_of(limit), head_of(limit + 1)).repeat(2)).await;
        assert_eq!(client.read().await.status, 405);
        assert_eq!(client.read().await.status, 431);
    }
}

#[tokio::test]
async fn the_number_of_headers_has_a_limit() {
    let server = Server::start().await;
    for (headers, status) in [(MAX_HEADERS, 405), (MAX_HEADERS + 1, 431), (5 * MAX_HEADERS, 431)] {
        let further = "A: b\n".repeat(headers - 1);
        let mut client = server.client().await;
        let reply =
            client.send(&format!("GET /ext/toy HTTP/1.1\nHost: localhost\n{further}\n")).await;
        assert_eq!(reply.status, status, "{headers}");
    }
}

#[tokio::test]
async fn what_is_no_http() {
    let server = Server::start().await;
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01\x00"[..],
        b"hello\r\n\r\n",
        b"GET\r\n\r\n",
        b"\0\0\0\0\r\n\r\n",
    ] {
        let mut client = server.client().await;
        client.write(bytes).await;
        client.stream.shutdown().await.unwrap();
        client.closed().await;
    }
    assert_eq!(server.call("/ext/toy", "toy.ping").await.status, 200);
}

#[tokio::test]
async fn too_many_requests_in_flight() {
    let server = Server::with(HttpConfig { max_in_flight: 2, ..HttpConfig::default() }).await;
    let call = Client::post("/ext/toy", r#"{"jsonrpc":"2.0","id":1,"method":"toy.wait"}"#);
    let mut waiting = Vec::new();
    for _ in 0..2 {
        let mut client = server.client().await;
        client.write(&call).await;
        server.toy.waiting.acquire().await.unwrap().forget();
        waiting.push(client);
    }
    assert_eq!(server.metric("esker_http_requests_in_flight"), Some(2.0));
    let reply = server.call("/ext/toy", "toy.ping").await;
    assert_eq!((reply.status, reply.text()), (503, "too many requests in flight\n"));
    server.toy.go.add_permits(2);
    for mut client in waiting {
        assert!(client.read().await.text().contains("waited"));
    }
    assert_eq!(server.call("/ext/toy", "toy.ping").await.status, 200);
    assert_eq!(server.metric("esker_http_requests_in_flight"), Some(0.0));
}

#[tokio::test]
async fn a_client_that_goes_takes_its_request_along() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.write(Client::post("/ext/toy", r#"{"jsonrpc":"2.0","id":1,"method":"toy.wait"}"#)).await;
    server.toy.waiting.acquire().await.unwrap().forget();
    drop(client);
    server.until_metric("esker_http_requests_in_flight", 0.0).await;
    server.until_metric("esker_http_connections", 0.0).await;
}

#[tokio::test]
async fn two_thousand_idle_connections_are_bounded() {
    const MOST: usize = 200;
    let server = Server::with(HttpConfig { max_connections: MOST, ..HttpConfig::default() }).await;
    let mut clients = Vec::new();
    let mut busy = server.client().await;
    busy.write(Client::post("/ext/toy", r#"{"jsonrpc":"2.0","id":1,"method":"toy.wait"}"#)).await;
    server.toy.waiting.acquire().await.unwrap().forget();
    for n in 0..2000 {
        clients.push(server.client().await);
        if n % 500 == 0 {
            assert_eq!(server.call("/ext/toy", "toy.ping").await.status, 200);
        }
    }
    // The last of them has been accepted once it is answered.
    let last = clients.last_mut().unwrap();
    assert_eq!(last.call("/ext/toy", "toy.ping").await.status, 200);
    let open = server.metric("esker_http_connections").unwrap();
    assert!(open <= MOST as f64, "{open}");
    assert!(server.metric(&closed("room")).unwrap() >= (2000 - MOST) as f64);
    // The ones that waited the longest were closed, not the one at work.
    clients[0].closed().await;
    server.toy.go.add_permits(1);
    assert!(busy.read().await.text().contains("waited"));
}

#[tokio::test]
async fn connections_without_keep_alive() {
    let server = Server::with(HttpConfig { keep_alive: false, ..HttpConfig::default() }).await;
    let mut client = server.client().await;
    let reply = client.call("/ext/toy", "toy.ping").await;
    assert_eq!((reply.status, reply.header("connection")), (200, Some("close")));
    client.closed().await;
}
