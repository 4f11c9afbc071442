//! Requests that open a websocket, and requests that do not.

use esker_http::HttpConfig;

use super::{CALL, CALLED, HANDSHAKE, PATH, Socket, World};
use crate::Client;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_key_is_answered() {
    let world = World::new(HttpConfig::default()).await;
    let mut client = world.server.client().await;
    client.write(format!("GET {PATH} HTTP/1.1\n{HANDSHAKE}\n").replace('\n', "\r\n")).await;
    let reply = client.read().await;
    assert_eq!(reply.status, 101);
    // The example of RFC 6455.
    assert_eq!(reply.header("sec-websocket-accept"), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    assert_eq!(reply.header("upgrade"), Some("websocket"));
    assert_eq!(reply.header("connection"), Some("Upgrade"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_handshake_is_refused_as_by_the_reference() {
    let world = World::new(HttpConfig::default()).await;
    let without = |header: &str| -> String {
        let kept = HANDSHAKE.lines().filter(|line| !line.starts_with(header));
        kept.map(|line| format!("{line}\n")).collect()
    };
    let with = |header: &str, value: &str| format!("{}{header}: {value}\n", without(header));
    let bad = (400, "Bad Request\n");
    for (method, headers, expected) in [
        ("POST", "Host: localhost\nContent-Type: application/json\n".to_owned(), bad),
        ("GET", "Host: localhost\n".to_owned(), bad),
        ("GET", without("Upgrade"), bad),
        ("GET", with("Connection", "keep-alive"), bad),
        ("GET", with("Upgrade", "h2c"), bad),
        ("GET", with("Sec-WebSocket-Version", "8"), bad),
        ("GET", without("Sec-WebSocket-Version"), bad),
        ("GET", without("Sec-WebSocket-Key"), bad),
        ("GET", with("Sec-WebSocket-Key", "short"), bad),
        ("GET", with("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=*"), bad),
        ("POST", HANDSHAKE.to_owned(), (405, "Method Not Allowed\n")),
        ("GET", with("Host", "evil.example"), (403, "invalid host specified\n")),
    ] {
        let reply = world.server.send(&format!("{method} {PATH} HTTP/1.1\n{headers}\n")).await;
        assert_eq!((reply.status, reply.text()), expected, "{method} {headers}");
        if expected.0 != 403 {
            assert_eq!(reply.header("sec-websocket-version"), Some("13"), "{headers}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_origin_and_every_name_of_the_chain() {
    let world = World::new(HttpConfig::default()).await;
    let foreign = format!("GET {PATH} HTTP/1.1\n{HANDSHAKE}Origin: https://evil.example\n\n");
    let mut client = world.server.client().await;
    client.write(foreign.replace('\n', "\r\n")).await;
    assert_eq!(client.read().await.status, 101);

    let id = esker_primitives::ChainId::new([8; 32]);
    for path in ["/ext/bc/evm/ws".to_owned(), format!("/ext/bc/{id}/ws")] {
        assert_eq!(Socket::open(world.server.address, &path).ask(CALL), CALLED, "{path}");
    }
    let unknown = world.server.send(&format!("GET /ext/bc/c/ws HTTP/1.1\n{HANDSHAKE}\n")).await;
    assert_eq!(unknown.status, 404);
    // Beside it only HTTP is spoken.
    let rpc = world.server.send(&format!("GET /ext/bc/C/rpc HTTP/1.1\n{HANDSHAKE}\n")).await;
    assert_eq!((rpc.status, rpc.text()), (200, ""));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_right_behind_the_handshake_is_answered() {
    let world = World::new(HttpConfig::default()).await;
    let mut client = world.server.client().await;
    let mut bytes =
        format!("GET {PATH} HTTP/1.1\n{HANDSHAKE}\n").replace('\n', "\r\n").into_bytes();
    bytes.extend(super::client::frame(0x81, CALL.as_bytes()));
    client.write(bytes).await;
    assert_eq!(client.read().await.status, 101);
    let answer = client.take(CALLED.len() + 2).await;
    assert_eq!(answer[2..], *CALLED.as_bytes());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listener_of_its_own_has_both_at_its_root() {
    let world = World::new(HttpConfig::default()).await;
    let rooted = world.server.routes.rooted_at("/ext/bc/C/rpc").unwrap();
    let server = world.server.further(rooted).await;
    assert_eq!(Socket::open(server, "/").ask(CALL), CALLED);
    let reply = Client::connect(server).await.send(&Client::post("/", CALL)).await;
    assert_eq!(reply.text(), CALLED);
}
