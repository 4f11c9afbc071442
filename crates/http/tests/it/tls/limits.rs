//! Answers to slow and hostile clients of HTTP/2.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::response::Response;
use axum::routing::any;
use esker_http::{Endpoint, HttpConfig};
use http::Request;

use super::client::{SecureServer, call, post, read};
use super::frames::{DATA, Frames, GOAWAY, PING, RST_STREAM};
use super::{SHORT, closed};
use crate::Client;

const REFUSED_STREAM: u32 = 7;
const PROTOCOL_ERROR: u32 = 1;
const ENHANCE_YOUR_CALM: u32 = 11;

/// Streams that the server allows at a time, and those of them that it serves.
const MAX_STREAMS: u32 = 100;
const MAX_SERVED: u32 = 16;

#[tokio::test]
async fn a_few_streams_are_served_at_a_time_and_the_others_wait() {
    let server = SecureServer::start().await;
    let mut client = server.http2().await;
    let mut waiting = Vec::new();
    for _ in 0..50 {
        waiting.push(client.begin(call("toy.wait", "{}")).await);
    }
    for _ in 0..MAX_SERVED {
        server.toy.waiting.acquire().await.unwrap().forget();
    }
    // A client of another connection is served while they wait.
    assert_eq!(server.client().await.call("/ext/toy", "toy.ping").await.status, 200);
    assert_eq!(server.metric("esker_http_requests_in_flight"), Some(f64::from(MAX_SERVED)));
    assert_eq!(server.toy.waiting.available_permits(), 0);
    server.toy.go.add_permits(50);
    for response in waiting {
        assert!(read(response.await.unwrap()).await.unwrap().text().contains("waited"));
    }
}

#[tokio::test]
async fn more_streams_than_allowed_are_refused() {
    let server = SecureServer::start().await;
    let mut frames = Frames::connect(&server).await;
    for n in 0..=MAX_STREAMS {
        frames.begin_call(2 * n + 1).await.unwrap();
    }
    let reset = frames.read_kind(RST_STREAM).await.unwrap();
    assert_eq!((reset.stream, reset.reset_code()), (2 * MAX_STREAMS + 1, REFUSED_STREAM));
    drop(frames);
    server.until_metric("esker_http_connections", 0.0).await;
}

#[tokio::test]
async fn a_websocket_in_a_stream_is_refused() {
    let server = SecureServer::start().await;
    let mut frames = Frames::connect(&server).await;
    frames.extended_connect(1).await.unwrap();
    assert_eq!(frames.read_kind(RST_STREAM).await.unwrap().reset_code(), PROTOCOL_ERROR);
}

#[tokio::test]
async fn a_client_that_takes_back_its_requests_at_once_is_cut_off() {
    let server = SecureServer::start().await;
    let mut frames = Frames::connect(&server).await;
    let cancel = 8_u32.to_be_bytes();
    for n in 0..100_000 {
        let stream = 2 * n + 1;
        let sent = match frames.begin_call(stream).await {
            Ok(()) => frames.write(RST_STREAM, 0, stream, &cancel).await,
            error => error,
        };
        if sent.is_err() {
            break;
        }
    }
    // A reset of the connection may swallow the reason.
    if let Some(goaway) = frames.read_kind(GOAWAY).await {
        assert_eq!(goaway.goaway_code(), ENHANCE_YOUR_CALM);
    }
    frames.closed().await;
    server.until_metric("esker_http_requests_in_flight", 0.0).await;
    server.until_metric("esker_http_connections", 0.0).await;
    assert_eq!(server.client().await.call("/ext/toy", "toy.ping").await.status, 200);
}

#[tokio::test]
async fn heads_that_wait_share_the_memory_of_bodies() {
    let config = HttpConfig { body_memory: 256 * 1024, ..HttpConfig::default() };
    let server = SecureServer::with(config, &[]).await;
    let mut client = server.http2().await;
    let mut waiting = Vec::new();
    for _ in 0..30 {
        let mut request = post("/ext/toy");
        request.headers_mut().insert("x", "y".repeat(12_000).parse().unwrap());
        let mut requests = client.requests.clone().ready().await.unwrap();
        let (response, stream) = requests.send_request(request, false).unwrap();
        waiting.push((response, stream));
    }
    // Those beyond the memory are refused when it is their turn.
    let mut statuses = Vec::new();
    for (response, mut stream) in waiting {
        stream.send_data(call("toy.ping", "{}").into(), true).unwrap_or_default();
        statuses.push(response.await.unwrap().status().as_u16());
    }
    assert!(statuses.contains(&200) && statuses.contains(&503), "{statuses:?}");
    server.until_metric("esker_http_body_memory_bytes", 0.0).await;
    assert_eq!(client.ping().await.unwrap().status, 200);
}

#[tokio::test]
async fn small_bodies_of_streams_are_counted() {
    let server = SecureServer::start().await;
    let mut client = server.http2().await;
    let mut requests = client.requests.clone().ready().await.unwrap();
    let (response, mut stream) = requests.send_request(post("/ext/toy"), false).unwrap();
    stream.send_data(Bytes::from(vec![b' '; 10_000]), false).unwrap();
    while server.metric("esker_http_body_memory_bytes").unwrap() < 10_000.0 {
        tokio::task::yield_now().await;
    }
    stream.send_data(call("toy.ping", "{}").into(), true).unwrap();
    assert!(read(response.await.unwrap()).await.unwrap().text().contains("pong"));
    server.until_metric("esker_http_body_memory_bytes", 0.0).await;
    assert_eq!(client.ping().await.unwrap().status, 200);
}

#[tokio::test]
async fn a_body_that_never_ends() {
    let config = HttpConfig { body_timeout: SHORT, ..HttpConfig::default() };
    let server = SecureServer::with(config, &[]).await;
    let mut client = server.http2().await;
    let mut requests = client.requests.clone().ready().await.unwrap();
    let (_response, mut stream) = requests.send_request(post("/ext/toy"), false).unwrap();
    stream.send_data("{".into(), false).unwrap();
    // Other requests do not make it younger.
    while client.ping().await.is_ok() {}
    server.until_metric(&closed("body"), 1.0).await;
    client.closed().await;
}

#[tokio::test]
async fn a_reply_that_nobody_takes() {
    let config = HttpConfig { write_timeout: SHORT, ..HttpConfig::default() };
    let server = SecureServer::with(config, &[]).await;
    let mut client = server.http2().await;
    let response = client.begin(call("toy.size", r#"{"size":1000000}"#)).await.await.unwrap();
    assert_eq!(response.status(), 200);
    // The others are served until then; its body is never read.
    while client.ping().await.is_ok() {}
    server.until_metric(&closed("write"), 1.0).await;
    client.closed().await;
}

#[tokio::test]
async fn a_stream_of_a_handler_that_nobody_takes() {
    let chunks = || {
        futures_util::stream::repeat_with(|| Ok::<_, std::io::Error>(Bytes::from(vec![0; 5000])))
    };
    let endless = move || async move { Response::new(Body::from_stream(chunks())) };
    let router = Router::new().route("/ext/endless", any(endless));
    let config = HttpConfig { write_timeout: SHORT, ..HttpConfig::default() };
    let further = [("endless", Endpoint::Axum(router))];
    let server = SecureServer::with(config, &further).await;
    let client = server.http2().await;
    let request = Request::get("https://localhost/ext/endless").body(()).unwrap();
    let mut requests = client.requests.clone().ready().await.unwrap();
    let (response, _) = requests.send_request(request, true).unwrap();
    let _unread = response.await.unwrap();
    server.until_metric(&closed("write"), 1.0).await;
    client.closed().await;
}

#[tokio::test]
async fn a_client_that_never_reads_is_closed_however_small_the_replies_are() {
    let config = HttpConfig { write_timeout: SHORT, ..HttpConfig::default() };
    let server = SecureServer::with(config, &[]).await;
    let mut frames = Frames::connect(&server).await;
    // Each ping is answered, until the answers fill all buffers.
    while frames.write(PING, 0, 0, &[0; 8]).await.is_ok() {}
    server.until_metric(&closed("write"), 1.0).await;
    server.until_metric("esker_http_connections", 0.0).await;
}

#[tokio::test]
async fn a_body_of_tiny_frames_is_cut_off() {
    let server = SecureServer::start().await;
    let mut frames = Frames::connect(&server).await;
    frames.begin_call(1).await.unwrap();
    for sent in 0.. {
        assert!(sent < 60_000, "all were taken");
        if frames.write(DATA, 0, 1, b" ").await.is_err() {
            break;
        }
    }
    server.until_metric("esker_http_connections", 0.0).await;
    server.until_metric("esker_http_body_memory_bytes", 0.0).await;
}

#[tokio::test]
async fn unread_replies_count_for_the_connection() {
    let config = HttpConfig { connection_reply_memory: 3_000_000, ..HttpConfig::default() };
    let server = SecureServer::with(config, &[]).await;
    let mut client = server.http2().await;
    let size = call("toy.size", r#"{"size":2000000}"#);
    let unread = client.begin(size.clone()).await.await.unwrap();
    let refused = client.send(post("/ext/toy"), size.clone()).await.unwrap();
    assert!(refused.text().contains("response too large"), "{refused:?}");
    assert!(read(unread).await.unwrap().body.len() > 2_000_000);
    let served = client.send(post("/ext/toy"), size).await.unwrap();
    assert!(served.body.len() > 2_000_000, "the memory is given back");
}

#[tokio::test]
async fn a_connection_that_asks_nothing_or_no_more() {
    let config =
        HttpConfig { header_timeout: SHORT, idle_timeout: 2 * SHORT, ..HttpConfig::default() };
    let server = SecureServer::with(config, &[]).await;
    let mut silent = Frames::connect(&server).await;
    let mut idle = server.http2().await;
    idle.ping().await.unwrap();
    silent.closed().await;
    server.until_metric(&closed("header"), 1.0).await;
    idle.closed().await;
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
    let server = SecureServer::with(config, &[]).await;
    let mut client = server.http2().await;
    let response = client.begin(call("toy.wait", "{}")).await;
    server.toy.waiting.acquire().await.unwrap().forget();
    // Longer than any time-out: an idle connection that came later is closed before.
    server.client().await.closed().await;
    server.toy.go.add_permits(1);
    assert!(read(response.await.unwrap()).await.unwrap().text().contains("waited"));
}

#[tokio::test]
async fn idle_connections_make_room_and_busy_ones_stay() {
    let config = HttpConfig { max_connections: 4, ..HttpConfig::default() };
    let server = SecureServer::with(config, &[]).await;
    let mut busy = server.http2().await;
    let response = busy.begin(call("toy.wait", "{}")).await;
    server.toy.waiting.acquire().await.unwrap().forget();
    let mut idle = server.http2().await;
    idle.ping().await.unwrap();
    for _ in 0..10 {
        let mut client = server.client().await;
        let reply = client.send(&Client::post("/ext/toy", &call("toy.ping", "{}"))).await;
        assert_eq!(reply.status, 200);
        std::mem::forget(client);
    }
    idle.closed().await;
    server.toy.go.add_permits(1);
    assert!(read(response.await.unwrap()).await.unwrap().text().contains("waited"));
}
