//! The endpoint of the positional dialect, behind the layers
//! (docs/protocol/positional-dialect.md, "Requests over HTTP").

use std::sync::Arc;
use std::time::Duration;

use esker_http::{Endpoint, HttpConfig, Readiness};
use esker_primitives::ChainId;
use esker_rpc::RpcError;
use esker_rpc::handler::waits;
use esker_rpc::positional::{self, Limits};
use tokio::sync::Semaphore;

use super::{CALL, CALLED, Client, Reply, Server, positional};

const TEXT: Option<&str> = Some("text/plain; charset=utf-8");
const JSON: Option<&str> = Some("application/json");
const NOSNIFF: Option<&str> = Some("nosniff");

/// The state that the methods share with the test.
#[derive(Default)]
struct Shared {
    begun: Option<Semaphore>,
    ended: Option<Arc<Semaphore>>,
}

/// Adds a permit when the call is dropped.
struct Ends(Arc<Semaphore>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}

fn methods(shared: &Arc<Shared>, limits: Limits) -> positional::Server {
    let service = positional()
        .on_list(
            "hangs",
            waits(|shared: Arc<Shared>, ()| async move {
                let _ends = shared.ended.clone().map(Ends);
                if let Some(begun) = &shared.begun {
                    begun.add_permits(1);
                }
                std::future::pending::<Result<(), RpcError>>().await
            }),
        )
        .bind(Arc::clone(shared));
    positional::Server::new(service, limits)
}

async fn server(limits: Limits) -> (Server, Arc<Shared>) {
    let shared = Arc::new(Shared {
        begun: Some(Semaphore::new(0)),
        ended: Some(Arc::new(Semaphore::new(0))),
    });
    let endpoint = Endpoint::Positional(methods(&shared, limits));
    (Server::with_endpoints(HttpConfig::default(), &[("evm", endpoint)]).await, shared)
}

#[track_caller]
fn check(reply: &Reply, status: u16, content_type: Option<&str>, text: &str) {
    assert_eq!((reply.status, reply.header("content-type")), (status, content_type), "{reply:?}");
    let nosniff = (content_type == TEXT).then_some(NOSNIFF).flatten();
    assert_eq!(reply.header("x-content-type-options"), nosniff, "{reply:?}");
    assert_eq!(reply.text(), text);
    assert_eq!(reply.header("content-length"), Some(text.len().to_string().as_str()), "{reply:?}");
    assert_eq!(reply.header("transfer-encoding"), None);
    assert_eq!(reply.all("vary"), ["Accept-Encoding", "Origin"]);
}

#[tokio::test]
async fn answers_have_their_headers() {
    let (server, _) = server(Limits::default()).await;
    let mut client = server.client().await;
    let mut post = async |body: &str| client.send(&Client::post("/ext/evm", body)).await;
    check(&post(CALL).await, 200, JSON, CALLED);
    check(&post("").await, 200, JSON, "");
    check(&post(r#"{"jsonrpc":"2.0","method":"eth_fails"}"#).await, 200, JSON, "");
    let broken = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}"#;
    check(&post("{").await, 200, JSON, broken);
    let batch = post(&format!("[{CALL},{CALL}]")).await;
    check(&batch, 200, JSON, &format!("[{0},{0}]\n", CALLED.trim_end()));
    let modules = r#"{"jsonrpc":"2.0","id":1,"method":"rpc_modules"}"#;
    assert_eq!(post(modules).await.json()["result"]["eth"], "1.0");
}

#[tokio::test]
async fn methods_and_types_are_looked_at_before_the_body() {
    let (server, _) = server(Limits::default()).await;
    let mut client = server.client().await;
    let mut send = async |start: &str, content_type: &str, body: &str| {
        let length = body.len();
        let request = format!(
            "{start} HTTP/1.1\nHost: localhost\nContent-Type: {content_type}\nContent-Length: {length}\n\n{body}"
        );
        client.send(&request).await
    };
    let json = "application/json";
    for method in ["POST", "GET", "PATCH", "FOO", "OPTIONS"] {
        let reply = send(&format!("{method} /ext/evm"), json, CALL).await;
        check(&reply, 200, JSON, CALLED);
    }
    check(&send("OPTIONS /ext/evm", "text/plain", CALL).await, 200, JSON, CALLED);
    let head = send("HEAD /ext/evm", json, "").await;
    assert_eq!((head.status, head.header("content-type"), head.text()), (200, JSON, ""));
    check(&send("GET /ext/evm", "text/plain", "").await, 200, None, "");
    check(&send("GET /ext/evm?", "text/plain", "").await, 200, None, "");
    check(&send("GET /ext/evm?x=1", json, "").await, 200, JSON, "");
    let wrong = "invalid content type, only application/json is supported\n";
    check(&send("GET /ext/evm?x=1", "text/plain", "").await, 415, TEXT, wrong);
    check(&send("POST /ext/evm", "text/plain", CALL).await, 415, TEXT, wrong);
    let refused = "method not allowed\n";
    check(&send("PUT /ext/evm", json, CALL).await, 405, TEXT, refused);
    check(&send("DELETE /ext/evm", json, "").await, 405, TEXT, refused);
}

#[tokio::test]
async fn bodies_have_a_limit_of_their_own() {
    let (server, _) = server(Limits { body_bytes: 100, ..Limits::default() }).await;
    let exact = format!("{CALL}{}", " ".repeat(100 - CALL.len()));
    let reply = server.send(&Client::post("/ext/evm", &exact)).await;
    check(&reply, 200, JSON, CALLED);
    let reply = server.send(&Client::post("/ext/evm", &format!("{exact} "))).await;
    check(&reply, 413, TEXT, "content length too large (101>100)\n");
    // Declared in the head, and never sent.
    let request = "POST /ext/evm HTTP/1.1\nHost: localhost\nContent-Type: application/json\nContent-Length: 5242881\n\n";
    let reply = server.send(request).await;
    check(&reply, 413, TEXT, "content length too large (5242881>100)\n");

    let chunked = |body: &str| {
        format!(
            "POST /ext/evm HTTP/1.1\nHost: localhost\nContent-Type: application/json\nTransfer-Encoding: chunked\n\n{:x}\r\n{body}\r\n0\r\n\r\n",
            body.len()
        )
    };
    check(&server.send(&chunked(CALL)).await, 200, JSON, CALLED);
    // A whole value before the cut is one.
    let reply = server.send(&chunked(&format!("{CALL}{}", "x".repeat(200)))).await;
    assert_eq!(reply.text(), CALLED);
    let long = CALL.replace("eth_chainId", &"x".repeat(100));
    assert!(server.send(&chunked(&long)).await.text().contains("parse error"));
}

#[tokio::test]
async fn a_call_ends_when_its_client_goes() {
    let (server, shared) = server(Limits::default()).await;
    let mut client = server.client().await;
    let batch = format!("[{},{CALL}]", CALL.replace("chainId", "hangs"));
    client.write(Client::post("/ext/evm", &batch)).await;
    shared.begun.as_ref().unwrap().acquire().await.unwrap().forget();
    drop(client);
    shared.ended.as_ref().unwrap().acquire().await.unwrap().forget();
    server.until_metric("esker_http_requests_in_flight", 0.0).await;
}

#[tokio::test]
async fn a_call_ends_when_its_time_is_over() {
    let limits = Limits { call_timeout: Duration::from_millis(20), ..Limits::default() };
    let (server, shared) = server(limits).await;
    let body = CALL.replace("chainId", "hangs");
    let reply = server.send(&Client::post("/ext/evm", &body)).await;
    let text = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"request timed out"}}"#;
    check(&reply, 200, JSON, text);
    shared.ended.as_ref().unwrap().acquire().await.unwrap().forget();
}

#[tokio::test]
async fn long_answers_are_packed() {
    let (server, _) = server(Limits::default()).await;
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"eth_long","params":[3000]}"#;
    let request = Client::post("/ext/evm", call)
        .replace("Host: localhost", "Host: localhost\r\nAccept-Encoding: gzip");
    let reply = server.send(&request).await;
    assert_eq!(reply.header("content-encoding"), Some("gzip"));
    assert!(reply.body.len() < 1000);
}

#[tokio::test]
async fn a_chain_may_have_routes_of_both_dialects() {
    let server = Server::start().await;
    let evm_server = methods(&Arc::new(Shared::default()), Limits::default());
    let endpoint = ("/rpc", Endpoint::Positional(evm_server));
    let chain = ChainId::new([8; 32]);
    server.routes.chain(&chain, &["C", "evm"], vec![endpoint], &Readiness::ready()).unwrap();
    for path in [format!("/ext/bc/{chain}/rpc"), "/ext/bc/C/rpc".into(), "/ext/bc/evm/rpc".into()] {
        check(&server.send(&Client::post(&path, CALL)).await, 200, JSON, CALLED);
    }
    assert_eq!(server.send(&Client::post("/ext/bc/C", CALL)).await.status, 404);
    assert_eq!(server.send(&Client::post("/ext/bc/c/rpc", CALL)).await.status, 404);
    let series = r#"esker_http_requests_total{endpoint="C/rpc",method="evm_chainId",outcome="ok"}"#;
    server.until_metric(series, 3.0).await;
}

#[tokio::test]
async fn where_websockets_are_plain_http_is_refused() {
    let server = Server::start().await;
    let evm_server = methods(&Arc::new(Shared::default()), Limits::default());
    let endpoint = ("/ws", Endpoint::Socket(Arc::new(evm_server)));
    let (chain, ready) = (ChainId::new([8; 32]), Readiness::new());
    server.routes.chain(&chain, &["C"], vec![endpoint], &ready).unwrap();
    let plain = Client::post("/ext/bc/C/ws", CALL);
    assert_eq!(server.send(&plain).await.status, 503);
    ready.set(true);
    let refused = server.send(&plain).await;
    check(&refused, 400, TEXT, "Bad Request\n");
    assert_eq!(refused.header("sec-websocket-version"), Some("13"));
    // A chain without websockets has none.
    assert_eq!(server.send(&Client::post("/ext/bc/X/ws", CALL)).await.status, 404);
}
