//! Notifications between the replies.

use std::time::Duration;

use bytes::Bytes;
use esker_http::HttpConfig;

use super::notifier::MOST;
use super::{CALL, CALLED, Socket, World, request, result};

const SUBSCRIBE: &str = r#"{"jsonrpc":"2.0","id":7,"method":"eth_subscribe","params":["bell"]}"#;

fn rung(sound: &str) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"eth_subscription\",\"params\":{{\"subscription\":\"0x1\",\
         \"result\":{sound}}}}}\n"
    )
}

fn subscribed(world: &World) -> Socket {
    let mut socket = world.socket();
    assert_eq!(socket.ask(SUBSCRIBE), result(7, "0x1"));
    socket
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_subscriber_is_notified() {
    let world = World::new(HttpConfig::default()).await;
    let mut one = subscribed(&world);
    let mut other = subscribed(&world);
    let mut neither = world.socket();
    assert_eq!(neither.ask(CALL), CALLED);
    for sound in ["\"ding\"", "[1]"] {
        world.bell.ring(&Bytes::from_static(sound.as_bytes()));
        assert_eq!(one.read(), rung(sound));
        assert_eq!(other.read(), rung(sound));
    }
    let end = r#"{"jsonrpc":"2.0","id":8,"method":"eth_unsubscribe","params":["0x1"]}"#;
    assert_eq!(one.ask(end), "{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":true}\n");
    world.bell.ring(&Bytes::from_static(b"0"));
    assert_eq!(other.read(), rung("0"));
    assert_eq!((one.ask(CALL), neither.ask(CALL)), (CALLED.into(), CALLED.into()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notifications_wait_for_the_reply() {
    let world = World::new(HttpConfig::default()).await;
    let mut socket = world.socket();
    // The subscription is there, and its reply waits for the rest of the batch.
    socket.send(&format!("[{SUBSCRIBE},{}]", request(8, "eth_waits")));
    world.begun(1).await;
    world.bell.ring(&Bytes::from_static(b"1"));
    assert_eq!(socket.ask(CALL), CALLED);
    world.shared.go.add_permits(1);
    assert!(socket.read().starts_with("[{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":\"0x1\"}"));
    assert_eq!(socket.read(), rung("1"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_call_does_not_stop_them() {
    let world = World::new(HttpConfig::default()).await;
    let mut socket = subscribed(&world);
    socket.send(&request(1, "eth_waits"));
    world.begun(1).await;
    world.bell.ring(&Bytes::from_static(b"1"));
    assert_eq!(socket.read(), rung("1"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_subscriber_is_closed_with_a_reason() {
    let world = World::new(HttpConfig::default()).await;
    let mut lazy = subscribed(&world);
    let mut eager = subscribed(&world);
    // Larger than what the system takes in for a client that does not read.
    let sound = Bytes::from(format!("\"{}\"", "x".repeat(1 << 20)));
    let overrun = r#"esker_http_connections_closed_total{reason="overrun"}"#;
    let mut rings = 0;
    while world.server.metric(overrun) != Some(1.0) {
        world.bell.ring(&sound);
        rings += 1;
        assert_eq!(eager.read().len(), rung("").len() + sound.len());
        assert!(rings < 10 * MOST, "nobody is that lazy");
    }
    // The other one has missed nothing, and this one reads what was on its way, then the reason.
    let mut last = lazy.read();
    let mut heard = 0;
    while last.starts_with('{') {
        heard += 1;
        last = lazy.read();
    }
    assert_eq!(last, "1008 the client did not read its notifications in time");
    assert!(heard < rings);
    assert_eq!(eager.ask(CALL), CALLED);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn subscriptions_end_with_their_connection() {
    let world = World::new(HttpConfig::default()).await;
    let socket = subscribed(&world);
    assert_eq!(world.bell.listeners(), 1);
    drop(socket);
    let gone = async {
        while world.bell.listeners() > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone).await.expect("nobody listens any more");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_never_read_do_not_disturb_others() {
    let world = World::new(HttpConfig::default()).await;
    let _lazy: Vec<Socket> = (0..60).map(|_| subscribed(&world)).collect();
    let mut eager: Vec<Socket> = (0..60).map(|_| subscribed(&world)).collect();
    let sound = Bytes::from(format!("\"{}\"", "x".repeat(100_000)));
    for _ in 0..40 {
        world.bell.ring(&sound);
        for socket in &mut eager {
            assert_eq!(socket.read().len(), rung("").len() + sound.len());
        }
    }
    world.is_unharmed();
}
