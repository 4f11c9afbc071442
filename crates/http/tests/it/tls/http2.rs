//! HTTP/2: requests next to each other on one connection.

use std::time::Duration;

use bytes::Bytes;
use esker_http::{DEFAULT_BODY_LIMIT, HttpConfig, MAX_HEADERS};
use http::{Method, Request};

use super::client::{SecureServer, call, post, read};
use crate::Client;

#[tokio::test]
async fn a_reply_has_the_headers_that_the_protocol_allows() {
    let server = SecureServer::start().await;
    let mut client = server.http2().await;
    let reply = client.ping().await.unwrap();
    assert_eq!(reply.status, 200);
    assert!(reply.text().contains("pong"));
    assert!(reply.headers.contains_key("node-id"));
    assert_eq!(reply.headers["content-length"], reply.body.len().to_string());
    for of_http1 in ["connection", "keep-alive", "transfer-encoding"] {
        assert!(!reply.headers.contains_key(of_http1), "{of_http1}");
    }
}

#[tokio::test]
async fn requests_do_not_wait_for_each_other() {
    let server = SecureServer::start().await;
    let mut client = server.http2().await;
    let mut waiting = Vec::new();
    for _ in 0..5 {
        waiting.push(client.begin(call("toy.wait", "{}")).await);
    }
    for _ in 0..5 {
        server.toy.waiting.acquire().await.unwrap().forget();
    }
    assert!(client.ping().await.unwrap().text().contains("pong"));
    assert_eq!(server.metric("esker_http_connections"), Some(1.0));
    server.toy.go.add_permits(5);
    for response in waiting {
        let reply = read(response.await.unwrap()).await.unwrap();
        assert!(reply.text().contains("waited"), "{reply:?}");
    }
}

#[tokio::test]
async fn layers_answer_as_for_http1() {
    let server = SecureServer::start().await;
    let mut client = server.http2().await;
    let get = |uri: &str| Request::get(uri).body(()).unwrap();
    for (uri, status, text) in [
        ("https://localhost/nothing", 404, "404 page not found\n"),
        ("https://example.com/ext/toy", 403, "invalid host specified\n"),
        ("https://127.0.0.1/ext/metrics", 200, ""),
        ("https://localhost/ext//toy", 301, ""),
    ] {
        let reply = client.send(get(uri), "").await.unwrap();
        assert_eq!(reply.status, status, "{uri}");
        assert!(text.is_empty() || reply.text() == text, "{uri}: {reply:?}");
    }
    let panic = client.send(post("/ext/toy"), call("toy.panic", "{}")).await.unwrap();
    assert!(panic.text().contains("error"), "{panic:?}");
    assert_eq!(client.ping().await.unwrap().status, 200, "the connection goes on");
}

#[tokio::test]
async fn a_reply_to_head_has_no_body() {
    let server = SecureServer::start().await;
    let mut client = server.http2().await;
    let path = "https://localhost/ext/metrics";
    let get = client.send(Request::get(path).body(()).unwrap(), "").await.unwrap();
    let head = client.send(Request::head(path).body(()).unwrap(), "").await.unwrap();
    assert_eq!(head.status, get.status);
    assert!(head.body.is_empty() && !get.body.is_empty());
    assert_eq!(head.headers["content-length"], get.headers["content-length"]);
}

#[tokio::test]
async fn a_tunnel_is_refused() {
    let server = SecureServer::start().await;
    let mut client = server.http2().await;
    let request = Request::builder().method(Method::CONNECT).uri("localhost:80").body(()).unwrap();
    let reply = client.send(request, "").await.unwrap();
    assert_eq!((reply.status.as_u16(), reply.text()), (405, "method not allowed\n"));
}

#[tokio::test]
async fn large_bodies_and_replies_pass() {
    let server = SecureServer::start().await;
    let mut client = server.http2().await;
    for size in [100, 100_000, 30_000_000] {
        let params = format!(r#"{{"size":{size},"y":"{}"}}"#, "y".repeat(4_000_000));
        let reply = client.send(post("/ext/toy"), call("toy.size", &params)).await.unwrap();
        assert!(reply.body.len() > size, "{size}");
    }
    server.until_metric("esker_http_body_memory_bytes", 0.0).await;
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused_and_the_connection_goes_on() {
    let server = SecureServer::start().await;
    let mut client = server.http2().await;
    let body = Bytes::from(vec![b'x'; DEFAULT_BODY_LIMIT + 1]);
    let length = body.len().to_string();
    let mut request = post("/ext/toy");
    request.headers_mut().insert("content-length", length.parse().unwrap());
    // With a length it is refused before it is sent, without one when it has become too long.
    for request in [request, post("/ext/toy")] {
        let mut requests = client.requests.clone().ready().await.unwrap();
        let (response, mut stream) = requests.send_request(request, false).unwrap();
        stream.send_data(body.clone(), true).unwrap();
        let reply = read(response.await.unwrap()).await.unwrap();
        assert_eq!(reply.status, 413, "{reply:?}");
    }
    assert_eq!(client.ping().await.unwrap().status, 200);
}

#[tokio::test]
async fn a_head_has_limits() {
    let server = SecureServer::start().await;
    let mut client = server.http2().await;
    let with = |headers: usize, value: usize| {
        let mut request = Request::get("https://localhost/ext/toy");
        for n in 0..headers {
            request = request.header(format!("x-{n}"), "y".repeat(value));
        }
        request.body(()).unwrap()
    };
    for (headers, value, status) in
        [(1, 10, 405), (MAX_HEADERS, 10, 405), (MAX_HEADERS + 1, 10, 431), (30, 4000, 431)]
    {
        let reply = client.send(with(headers, value), "").await.unwrap();
        assert_eq!(reply.status, status, "{headers} of {value}");
    }
    assert_eq!(client.ping().await.unwrap().status, 200);
}

#[tokio::test]
async fn the_stop_answers_running_requests_and_closes_the_connection() {
    // No grace: only what ends by itself lets the server end.
    let config = HttpConfig { shutdown_grace: Duration::from_secs(600), ..HttpConfig::default() };
    let server = SecureServer::with(config, &[]).await;
    let mut idle = server.http2().await;
    idle.ping().await.unwrap();
    let mut running = server.http2().await;
    let response = running.begin(call("toy.wait", "{}")).await;
    server.toy.waiting.acquire().await.unwrap().forget();
    let toy = server.toy.clone();
    let stopping = tokio::spawn(server.stop());
    idle.closed().await;
    toy.go.add_permits(1);
    let reply = read(response.await.unwrap()).await.unwrap();
    assert!(reply.text().contains("waited"), "{reply:?}");
    stopping.await.unwrap();
    running.closed().await;
}

#[tokio::test]
async fn a_client_that_gives_up_takes_its_request_along() {
    let server = SecureServer::start().await;
    let mut client = server.http2().await;
    let given_up = client.begin(call("toy.wait", "{}")).await;
    server.toy.waiting.acquire().await.unwrap().forget();
    drop(given_up);
    server.until_metric("esker_http_requests_in_flight", 0.0).await;
    assert_eq!(client.ping().await.unwrap().status, 200, "its other requests are served");
    let _running = client.begin(call("toy.wait", "{}")).await;
    server.toy.waiting.acquire().await.unwrap().forget();
    client.ended.abort();
    drop(client);
    server.until_metric("esker_http_connections", 0.0).await;
    server.until_metric("esker_http_requests_in_flight", 0.0).await;
}

#[tokio::test]
async fn both_protocols_share_a_listener() {
    let server = SecureServer::start().await;
    let mut first = server.http2().await;
    let mut second = server.client().await;
    assert_eq!(first.ping().await.unwrap().status, 200);
    assert_eq!(second.send(&Client::post("/ext/toy", &call("toy.ping", "{}"))).await.status, 200);
}
