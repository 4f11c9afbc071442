//! The end of a server.

use std::time::Duration;

use esker_http::HttpConfig;
use tokio::net::TcpStream;

use super::{Client, Server};

const WAIT: &str = r#"{"jsonrpc":"2.0","id":1,"method":"toy.wait"}"#;

#[tokio::test]
async fn running_requests_are_answered_and_waiting_connections_closed() {
    // No grace: only what ends by itself lets the server end.
    let config = HttpConfig { shutdown_grace: Duration::from_secs(600), ..HttpConfig::default() };
    let server = Server::with(config).await;
    let (address, toy) = (server.address, server.toy.clone());
    let mut idle = server.client().await;
    assert_eq!(idle.call("/ext/toy", "toy.ping").await.status, 200);
    let mut silent = server.client().await;
    let mut running = server.client().await;
    running.write(Client::post("/ext/toy", WAIT)).await;
    toy.waiting.acquire().await.unwrap().forget();

    let stopping = tokio::spawn(server.stop());
    idle.closed().await;
    silent.closed().await;
    assert!(TcpStream::connect(address).await.is_err(), "nobody listens any more");
    assert!(!stopping.is_finished());
    toy.go.add_permits(1);
    let reply = running.read().await;
    assert!(reply.text().contains("waited"), "{reply:?}");
    assert_eq!(reply.header("connection"), Some("close"));
    stopping.await.unwrap();
    running.closed().await;
}

#[tokio::test]
async fn requests_beyond_the_grace_are_cut_off() {
    let config = HttpConfig { shutdown_grace: Duration::from_millis(20), ..HttpConfig::default() };
    let server = Server::with(config).await;
    let toy = server.toy.clone();
    let mut running = server.client().await;
    running.write(Client::post("/ext/toy", WAIT)).await;
    toy.waiting.acquire().await.unwrap().forget();
    server.stop().await;
    running.closed().await;
}
