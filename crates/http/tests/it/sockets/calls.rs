//! Requests over a websocket.

use esker_http::HttpConfig;
use tungstenite::Message;

use super::client::frame;
use super::{CALL, CALLED, World, request, result};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_are_answered_as_over_http() {
    let world = World::new(HttpConfig::default()).await;
    let mut socket = world.socket();
    let mut check = |message: &str, expected: &str| {
        assert_eq!(socket.ask(message), format!("{expected}\n"), "{message}");
    };
    check(CALL, CALLED.trim_end());
    check(
        &request(2, "eth_fails"),
        r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"no luck"}}"#,
    );
    check(
        &format!("[{CALL},{}]", request(3, "evm_chainId")),
        r#"[{"jsonrpc":"2.0","id":1,"result":"0xa868"},{"jsonrpc":"2.0","id":3,"result":"0xa868"}]"#,
    );
    let error = |code: i32, text: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":null,"error":{{"code":{code},"message":"{text}"}}}}"#)
    };
    check("[]", &error(-32600, "empty batch"));
    check("5", &error(-32600, "invalid request"));
    check("{", &error(-32700, "parse error"));
    // Neither a notification nor an empty message has an answer: the next reply is to the next call.
    socket.send(r#"{"jsonrpc":"2.0","method":"eth_chainId"}"#);
    socket.send("");
    assert_eq!(socket.ask(&request(9, "eth_chainId")), result(9, "0xa868"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn binary_messages_are_data() {
    let world = World::new(HttpConfig::default()).await;
    let mut socket = world.socket();
    socket.0.send(Message::binary(CALL.as_bytes())).unwrap();
    assert!(matches!(socket.0.read().unwrap(), Message::Text(text) if text == CALLED));
    // Its bytes come back where the reply repeats them, and then that is no text.
    let id = b"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"eth_chainId\"}";
    socket.0.send(Message::binary(&id[..])).unwrap();
    let answer = b"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"result\":\"0xa868\"}\n";
    assert!(matches!(socket.0.read().unwrap(), Message::Binary(bytes) if bytes == answer[..]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn frames_may_come_in_pieces_and_pings_between_them() {
    let world = World::new(HttpConfig::default()).await;
    let mut socket = world.socket();
    let (start, end) = CALL.split_at(20);
    for piece in [
        frame(0x01, start.as_bytes()),
        frame(0x89, b"there?"),
        frame(0x00, b""),
        frame(0x80, end.as_bytes()),
    ] {
        let (one, other) = piece.split_at(1);
        socket.raw(one);
        socket.raw(other);
    }
    assert!(matches!(socket.0.read().unwrap(), Message::Pong(bytes) if bytes == "there?"));
    assert_eq!(socket.read(), CALLED);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_messages_pass_both_ways() {
    let world = World::new(HttpConfig::default()).await;
    let mut socket = world.socket();
    let size = 3 << 20;
    let padded = format!("{}{CALL}", " ".repeat(size));
    assert_eq!(socket.ask(&padded), CALLED);
    let long = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"eth_long","params":[{size}]}}"#);
    assert!(socket.ask(&long) == result(1, &"x".repeat(size)));
    let both = format!("[{long},{long}]");
    assert!(socket.ask(&both).len() > 2 * size);
    assert_eq!(socket.ask(CALL), CALLED);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_call_stops_nobody() {
    let world = World::new(HttpConfig::default()).await;
    let mut socket = world.socket();
    socket.send(&request(1, "eth_waits"));
    assert_eq!(socket.ask(&request(2, "eth_chainId")), result(2, "0xa868"));
    world.begun(1).await;
    world.shared.go.add_permits(1);
    assert_eq!(socket.read(), result(1, "waited"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_one_connection_are_bounded() {
    const MOST: u32 = 16;
    let world = World::new(HttpConfig::default()).await;
    let mut socket = world.socket();
    for id in 0..MOST + 1 {
        socket.send(&request(id, "eth_waits"));
    }
    world.begun(MOST).await;
    world.is_unharmed();
    assert_eq!(world.shared.begun.available_permits(), 0, "the last one waits");
    world.shared.go.add_permits(1);
    world.begun(1).await;
    world.shared.go.add_permits(MOST as usize);
    let mut replies: Vec<String> = (0..MOST + 1).map(|_| socket.read()).collect();
    let mut expected: Vec<String> = (0..MOST + 1).map(|id| result(id, "waited")).collect();
    replies.sort();
    expected.sort();
    assert_eq!(replies, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_end_with_their_connection() {
    let world = World::new(HttpConfig::default()).await;
    let mut socket = world.socket();
    socket.send(&request(1, "eth_waits"));
    world.begun(1).await;
    assert_eq!(world.server.metric("esker_http_requests_in_flight"), Some(1.0));
    assert_eq!(world.server.metric("esker_http_websockets"), Some(1.0));
    drop(socket);
    world.server.until_metric("esker_http_requests_in_flight", 0.0).await;
    world.server.until_metric("esker_http_websockets", 0.0).await;
    world.server.until_metric("esker_http_connections", 0.0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_too_many_calls_run_sockets_wait() {
    let world = World::new(HttpConfig { max_in_flight: 1, ..HttpConfig::default() }).await;
    let (mut first, mut second) = (world.socket(), world.socket());
    first.send(&request(1, "eth_waits"));
    world.begun(1).await;
    second.send(CALL);
    world.shared.go.add_permits(1);
    assert_eq!(first.read(), result(1, "waited"));
    assert_eq!(second.read(), CALLED);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_are_counted() {
    let world = World::new(HttpConfig::default()).await;
    let mut socket = world.socket();
    socket.ask(CALL);
    socket.ask(CALL);
    socket.ask(&request(1, "eth_fails"));
    let of = |method: &str, outcome: &str| {
        let labels = format!(r#"{{endpoint="C/ws",method="{method}",outcome="{outcome}"}}"#);
        world.server.metric(&format!("esker_http_requests_total{labels}"))
    };
    assert_eq!((of("evm_chainId", "ok"), of("evm_fails", "error")), (Some(2.0), Some(1.0)));
}
