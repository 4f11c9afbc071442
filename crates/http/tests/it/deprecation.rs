//! Deprecated methods are named in a header, and every request is counted.

use super::figures::PAGE;
use super::{Client, Server};

#[tokio::test]
async fn the_header() {
    let server = Server::start().await;
    let reply = server.call("/ext/toy", "toy.old").await;
    assert!(reply.header("deprecation").is_some_and(|text| text.contains("v1.9.12")), "{reply:?}");
    assert_eq!(server.call("/ext/toy", "toy.ping").await.header("deprecation"), None);
}

#[tokio::test]
async fn requests_are_counted_by_endpoint_method_and_outcome() {
    let server = Server::start().await;
    let mut client = server.client().await;
    for (path, method, times) in [
        ("/ext/toy", "toy.ping", 3),
        ("/ext/toy", "play.ping", 2),
        ("/ext/toy", "toy.fail", 1),
        ("/ext/toy", "toy.nothing", 2),
        ("/ext/bc/avm/wallet", "toy.ping", 1),
        ("/ext/nothing", "toy.ping", 1),
    ] {
        for _ in 0..times {
            client.call(path, method).await;
        }
    }
    client.send("GET /ext/toy HTTP/1.1\nHost: localhost\n\n").await;
    client.send("GET /ext//toy HTTP/1.1\nHost: localhost\n\n").await;
    server.ready.set(false);
    client.call("/ext/X", "toy.ping").await;
    client.send("GET /ext/metrics HTTP/1.1\nHost: localhost\n\n").await;

    for (endpoint, method, outcome, times) in [
        ("toy", "toy.ping", "ok", 5),
        ("toy", "toy.fail", "error", 1),
        ("toy", "", "error", 2),
        ("toy", "", "refused", 1),
        ("X/wallet", "toy.ping", "ok", 1),
        ("X", "", "failed", 1),
        ("none", "", "refused", 2),
        ("metrics", "", "ok", 1),
    ] {
        let labels = format!("endpoint=\"{endpoint}\",method=\"{method}\"");
        let series = format!("esker_http_requests_total{{{labels},outcome=\"{outcome}\"}}");
        assert_eq!(server.metric(&series), Some(f64::from(times)), "{series}");
        let counted = server.metric(&format!("esker_http_request_seconds_count{{{labels}}}"));
        assert!(counted.is_some_and(|counted| counted >= f64::from(times)), "{series}");
    }
    let body = Client::post("/x", r#"{"jsonrpc":"2.0","id":1,"method":"toy.ping"}"#);
    let body = body.split("\r\n\r\n").nth(1).unwrap().len();
    assert!(server.metric("esker_http_received_bytes_total").unwrap() >= 8.0 * body as f64);
    assert!(server.metric("esker_http_sent_bytes_total").unwrap() > 500.0);
    assert_eq!(server.metric("esker_http_connections"), Some(1.0));
    assert_eq!(server.metric("esker_http_connections_opened_total"), Some(1.0));
    drop(client);
    server.until_metric("esker_http_connections", 0.0).await;
}

#[tokio::test]
async fn pages() {
    let server = Server::start().await;
    let reply = server.send("GET /ext/metrics HTTP/1.1\nHost: localhost\n\n").await;
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("text/toy")));
    assert_eq!(reply.text(), PAGE);
    let reply = server.send("GET /ext/metrics/ HTTP/1.1\nHost: localhost\n\n").await;
    assert_eq!(reply.status, 404);
}
