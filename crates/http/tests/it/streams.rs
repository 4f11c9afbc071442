//! Endpoints of axum: replies that come bit by bit, connections that change their protocol.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::response::Response;
use axum::routing::any;
use esker_http::{Endpoint, HttpConfig};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::{Client, Server};

/// Repeats whatever comes, once the client has asked for it.
async fn repeat(request: Request) -> Response {
    let upgraded = hyper::upgrade::on(request);
    tokio::spawn(async move {
        let mut io = TokioIo::new(upgraded.await.unwrap());
        let mut space = [0; 64];
        while let Ok(read @ 1..) = io.read(&mut space).await {
            io.write_all(&space[..read]).await.unwrap();
        }
    });
    let response = Response::builder().status(101).header("connection", "upgrade");
    response.header("upgrade", "repeat").body(Body::empty()).unwrap()
}

async fn count() -> Response {
    let chunks = (0..3).map(|n| Ok::<_, std::io::Error>(Bytes::from(format!("{n}\n"))));
    Response::new(Body::from_stream(futures_util::stream::iter(chunks)))
}

async fn server() -> Server {
    let router = Router::new().route("/ext/repeat", any(repeat)).route("/ext/count", any(count));
    let endpoint = Endpoint::Axum(router);
    Server::with_endpoints(
        HttpConfig::default(),
        &[("repeat", endpoint.clone()), ("count", endpoint)],
    )
    .await
}

#[tokio::test]
async fn a_connection_changes_its_protocol() {
    let server = server().await;
    let mut client = server.client().await;
    let reply = client
        .send("GET /ext/repeat HTTP/1.1\nHost: localhost\nConnection: Upgrade\nUpgrade: repeat\n\n")
        .await;
    assert_eq!((reply.status, reply.header("upgrade")), (101, Some("repeat")));
    assert!(reply.header("node-id").is_some());
    for word in ["hello", "again"] {
        client.write(word).await;
        let mut echoed = [0; 5];
        client.stream.read_exact(&mut echoed).await.unwrap();
        assert_eq!(echoed, word.as_bytes());
    }
    assert_eq!(server.metric("esker_http_connections"), Some(1.0));
    drop(client);
    server.until_metric("esker_http_connections", 0.0).await;
}

#[tokio::test]
async fn a_reply_that_comes_bit_by_bit() {
    let server = server().await;
    let mut client = server.client().await;
    for _ in 0..2 {
        let reply = client.send("GET /ext/count HTTP/1.1\nHost: localhost\n\n").await;
        assert_eq!((reply.status, reply.text()), (200, "0\n1\n2\n"));
    }
    let reply = client.send(&Client::post("/ext/toy", "{}")).await;
    assert_eq!(reply.status, 200);
}
