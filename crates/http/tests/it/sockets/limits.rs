//! Time and numbers: clients that are not there, that are too many, and the server's own end.

use std::time::Duration;

use esker_http::HttpConfig;

use super::client::{Socket, head};
use super::{CALL, CALLED, PATH, World, request, result};

const SHORT: Duration = Duration::from_millis(40);

fn closed(reason: &str) -> String {
    format!(r#"esker_http_connections_closed_total{{reason="{reason}"}}"#)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_without_pongs_is_closed() {
    let world = World::new(HttpConfig { ping_interval: SHORT, ..HttpConfig::default() }).await;
    let mut silent = world.socket();
    // It keeps the connection open and its own pace, and looks at no frame.
    let received = silent.read_to_end();
    assert_eq!(received, [0x89, 0], "one ping");
    world.server.until_metric(&closed("pong"), 1.0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_with_pongs_stays_open() {
    let world = World::new(HttpConfig { ping_interval: SHORT, ..HttpConfig::default() }).await;
    let mut socket = world.socket();
    for _ in 0..5 {
        assert!(socket.0.read().unwrap().is_ping());
        // The pong goes out with the next look.
        socket.0.flush().unwrap();
    }
    assert_eq!(socket.ask(CALL), CALLED);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_never_ends() {
    let world = World::new(HttpConfig { ping_interval: SHORT, ..HttpConfig::default() }).await;
    let mut socket = world.socket();
    socket.raw(&head(0x01, 0));
    assert_eq!(socket.read(), "1008 a message did not come to its end in time");
    assert_eq!(socket.read(), "end");
    world.server.until_metric(&closed("body"), 1.0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_does_not_take_its_replies() {
    let world = World::new(HttpConfig { write_timeout: SHORT, ..HttpConfig::default() }).await;
    let mut socket = world.socket();
    let long = r#"{"jsonrpc":"2.0","id":1,"method":"eth_long","params":[50000000]}"#;
    socket.send(long);
    world.server.until_metric(&closed("write"), 1.0).await;
    world.server.until_metric("esker_http_connections", 0.0).await;
    world.is_unharmed();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_keep_a_part_of_the_connections() {
    let world = World::new(HttpConfig { max_connections: 8, ..HttpConfig::default() }).await;
    let mut sockets: Vec<Socket> = (0..6).map(|_| world.socket()).collect();
    let handshake = format!(
        "GET {PATH} HTTP/1.1\nHost: localhost\nConnection: Upgrade\nUpgrade: websocket\n\
         Sec-WebSocket-Version: 13\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\n\n"
    );
    let refused = world.server.send(&handshake).await;
    assert_eq!((refused.status, refused.text()), (503, "too many websockets\n"));
    assert_eq!(world.server.call("/ext/toy", "toy.ping").await.status, 200);
    drop(sockets.pop());
    let taken = async {
        while world.server.send(&handshake).await.status != 101 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), taken).await.expect("its place is free again");
    assert_eq!(sockets[0].ask(CALL), CALLED);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sockets_end_with_the_server() {
    let config = HttpConfig { shutdown_grace: Duration::from_secs(600), ..HttpConfig::default() };
    let world = World::new(config).await;
    let (mut idle, mut busy) = (world.socket(), world.socket());
    busy.send(&request(1, "eth_waits"));
    world.begun(1).await;
    let go = std::sync::Arc::clone(&world.shared);
    let stopping = tokio::spawn(world.server.stop());
    assert_eq!(idle.read(), "1001 the node is shutting down");
    assert_eq!(idle.read(), "end");
    go.go.add_permits(1);
    assert_eq!(busy.read(), result(1, "waited"));
    assert_eq!(busy.read(), "1001 the node is shutting down");
    stopping.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_call_does_not_block_the_stop() {
    let config = HttpConfig { shutdown_grace: SHORT, ..HttpConfig::default() };
    let world = World::new(config).await;
    let mut socket = world.socket();
    socket.send(&request(1, "eth_waits"));
    world.begun(1).await;
    world.server.stop().await;
    assert!(socket.0.read().is_err(), "cut off");
}
