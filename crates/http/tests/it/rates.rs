//! Limits of the rate of requests, by the client's address.
//!
//! A unit comes back each second. What is to stay refused lacks hundreds of them, so that no test waits for time.

use std::num::NonZeroU32;
use std::sync::Arc;

use esker_http::{ClientAddressHeader, Endpoint, HttpConfig};
use esker_rpc::handler::quick;
use esker_rpc::positional::{self, Limits};
use esker_rpc::work::RateLimitConfig;
use esker_rpc::{MethodTable, NoArgs, RpcError};
use serde_json::{Value, json};

use super::sockets::HANDSHAKE;
use super::sockets::client::Socket;
use super::{Client, Reply, Server};

const BURST: u32 = 1100;
/// Units of `dear`.
const DEAR: u32 = 1000;
const TEXT: &str = "limit exceeded: too many requests from your address, try again in ";

fn config() -> HttpConfig {
    let rate_limit = RateLimitConfig {
        units_per_second: NonZeroU32::MIN,
        burst: NonZeroU32::new(BURST).unwrap(),
    };
    HttpConfig { rate_limit: Some(rate_limit), ..HttpConfig::default() }
}

fn behind_proxies(proxies: &[&str]) -> HttpConfig {
    let proxies = proxies.iter().map(|range| range.parse().unwrap()).collect();
    let name = http::HeaderName::from_static("x-forwarded-for");
    HttpConfig { client_address: Some(ClientAddressHeader { name, proxies }), ..config() }
}

async fn start(config: HttpConfig) -> Server {
    let object = MethodTable::new("shop")
        .on("cheap", quick(|(): &(), _: NoArgs| Ok::<_, RpcError>("cheap")))
        .on("dear", quick(|(): &(), _: NoArgs| Ok::<_, RpcError>("dear")))
        .cost(DEAR)
        .bind(Arc::new(()));
    let list = MethodTable::new("shop")
        .on_list("cheap", quick(|(): &(), ()| Ok("cheap")))
        .on_list("dear", quick(|(): &(), ()| Ok("dear")))
        .cost(DEAR)
        .bind(Arc::new(()));
    let list = positional::Server::new(list, Limits::default());
    let endpoints = [
        ("shop", Endpoint::Object(object)),
        ("list", Endpoint::Positional(list.clone())),
        ("ws", Endpoint::Socket(Arc::new(list))),
    ];
    Server::with_endpoints(config, &endpoints).await
}

/// Posts a body on a connection of its own, with these lines in the head.
async fn post(server: &Server, path: &str, lines: &str, body: &str) -> Reply {
    let request = Client::post(path, body).replacen("Host:", &format!("{lines}Host:"), 1);
    server.send(&request).await
}

async fn list(server: &Server, method: &str) -> Reply {
    let body = json!({ "jsonrpc": "2.0", "id": "x", "method": method }).to_string();
    post(server, "/ext/list", "", &body).await
}

/// The seconds of a refusal, in its header and in the text of its error alike.
fn refused(reply: &Reply, error: &Value) -> u64 {
    assert_eq!(reply.status, 429, "{}", reply.text());
    let seconds: u64 = reply.header("retry-after").unwrap().parse().unwrap();
    assert_eq!(reply.header("access-control-expose-headers"), Some("Retry-After"));
    assert_eq!(error["code"], -32005);
    assert_eq!(error["message"], format!("{TEXT}{seconds} s"));
    seconds
}

#[tokio::test]
async fn calls_of_the_object_dialect() {
    let server = start(config()).await;
    for method in ["shop.dear", "shop.cheap", "shop.nothing", "nowhere.at_all"] {
        assert_eq!(server.call("/ext/shop", method).await.status, 200, "{method}");
    }
    let reply = server.call("/ext/shop", "shop.dear").await;
    let body = reply.json();
    let seconds = refused(&reply, &body["error"]);
    assert!((800..=DEAR.into()).contains(&seconds), "{seconds}");
    assert_eq!((&body["id"], &body["jsonrpc"]), (&json!(1), &json!("2.0")));
    assert_eq!(reply.header("content-type"), Some("application/json; charset=utf-8"));
    // A smaller call still passes, over any connection.
    assert_eq!(server.call("/ext/shop", "shop.cheap").await.json()["result"], "cheap");
    let notification = r#"{"jsonrpc":"2.0","method":"shop.dear"}"#;
    let reply = post(&server, "/ext/shop", "", notification).await;
    refused(&reply, &reply.json()["error"]);
}

#[tokio::test]
async fn calls_of_the_positional_dialect() {
    let server = start(config()).await;
    assert_eq!(list(&server, "shop_dear").await.json()["result"], "dear");
    let reply = list(&server, "shop_dear").await;
    let body = reply.json();
    refused(&reply, &body["error"]);
    assert_eq!((&body["id"], &body["jsonrpc"]), (&json!("x"), &json!("2.0")));
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(list(&server, "shop_cheap").await.json()["result"], "cheap");
    assert_eq!(list(&server, "shop_nothing").await.json()["error"]["code"], -32601);
}

#[tokio::test]
async fn batches() {
    let server = start(config()).await;
    let call = |id: u32, method: &str| json!({ "jsonrpc": "2.0", "id": id, "method": method });
    let (dear, cheap) = ("shop_dear", "shop_cheap");
    // Calls without units are refused; the others run.
    let batch = json!([call(1, dear), call(2, dear), call(3, cheap)]).to_string();
    let reply = post(&server, "/ext/list", "", &batch).await;
    let answers = reply.json();
    assert_eq!((reply.status, reply.header("retry-after")), (200, None));
    assert_eq!((&answers[0]["result"], &answers[2]["result"]), (&json!("dear"), &json!("cheap")));
    assert_eq!((&answers[1]["id"], &answers[1]["error"]["code"]), (&json!(2), &json!(-32005)));
    // A batch of which nothing ran is refused as a whole, each call with its ID.
    let batch = json!([call(4, dear), call(5, cheap)]).to_string();
    let reply = post(&server, "/ext/list", "", &batch).await;
    let answers = reply.json();
    for (at, id) in [(0, 4), (1, 5)] {
        refused(&reply, &answers[at]["error"]);
        assert_eq!(answers[at]["id"], id);
    }
    // Also one that wants no answer.
    let batch = json!([{ "jsonrpc": "2.0", "method": dear }]).to_string();
    let reply = post(&server, "/ext/list", "", &batch).await;
    refused(&reply, &reply.json()[0]["error"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_of_websockets() {
    let server = start(config()).await;
    let mut socket = Socket::open(server.address, "/ext/ws");
    let mut ask = |method: &str| -> Value {
        let body = json!({ "jsonrpc": "2.0", "id": 7, "method": method }).to_string();
        serde_json::from_str(&socket.ask(&body)).unwrap()
    };
    assert_eq!(ask("shop_dear")["result"], "dear");
    let reply = ask("shop_dear");
    assert_eq!((&reply["id"], &reply["error"]["code"]), (&json!(7), &json!(-32005)));
    assert!(reply["error"]["message"].as_str().unwrap().starts_with(TEXT), "{reply}");
    assert_eq!(ask("shop_cheap")["result"], "cheap", "the socket stays open");
    // The units are those of the address, not of the connection.
    assert_eq!(list(&server, "shop_dear").await.status, 429);
}

#[tokio::test]
async fn every_request_takes_a_unit() {
    let handshake = format!("GET /ext/ws HTTP/1.1\n{HANDSHAKE}\n");
    let preflight = "OPTIONS /ext/shop HTTP/1.1\nHost: localhost\nOrigin: http://a.example\n\
        Access-Control-Request-Method: POST\n\n";
    let requests = [
        "GET /ext/metrics HTTP/1.1\nHost: localhost\n\n".to_owned(),
        "GET /ext/nowhere HTTP/1.1\nHost: localhost\n\n".to_owned(),
        "GET /ext//shop HTTP/1.1\nHost: localhost\n\n".to_owned(),
        "GET /ext/shop HTTP/1.1\nHost: localhost\n\n".to_owned(),
        "GET /ext/list HTTP/1.1\nHost: localhost\n\n".to_owned(),
        preflight.to_owned(),
        handshake,
        Client::post("/ext/shop", "no JSON"),
        Client::post("/ext/list", "no JSON"),
        Client::post("/ext/list", ""),
        Client::post("/ext/list", "[]"),
        Client::post("/ext/list", "[{}]"),
        Client::post("/ext/list", r#"{"jsonrpc":"2.0","id":1,"result":1}"#),
    ];
    for request in requests {
        let few = RateLimitConfig {
            units_per_second: NonZeroU32::MIN,
            burst: NonZeroU32::new(5).unwrap(),
        };
        let server = start(HttpConfig { rate_limit: Some(few), ..config() }).await;
        assert_ne!(server.send(&request).await.status, 429, "{request}");
        let mut refusal = None;
        // Some units may come back meanwhile, but not as fast as they are taken.
        for _ in 0..1000 {
            let reply = server.send(&request).await;
            if reply.status == 429 {
                refusal = Some(reply);
                break;
            }
        }
        let reply = refusal.unwrap_or_else(|| panic!("never refused: {request}"));
        assert_eq!(reply.header("retry-after"), Some("1"), "{request}");
        assert!(reply.text().contains(TEXT), "{request}: {}", reply.text());
    }
}

#[tokio::test]
async fn a_trusted_proxy_names_the_client() {
    let dear = r#"{"jsonrpc":"2.0","id":1,"method":"shop_dear"}"#;
    let send = async |server: &Server, clients: &str| {
        let lines = format!("X-Forwarded-For: {clients}\r\n");
        post(server, "/ext/list", &lines, dear).await.status
    };
    let server = start(behind_proxies(&["127.0.0.0/8"])).await;
    assert_eq!(send(&server, "192.0.2.1").await, 200);
    assert_eq!(send(&server, "192.0.2.1").await, 429);
    assert_eq!(send(&server, "198.51.100.7, 192.0.2.1").await, 429, "the left part is invented");
    assert_eq!(send(&server, "192.0.2.2").await, 200, "another client");
    assert_eq!(send(&server, "2001:db8::1").await, 200);
    assert_eq!(send(&server, "2001:db8::2").await, 429, "of the same network");
    assert_eq!(send(&server, "192.0.2.2, garbage").await, 200, "counts for the proxy");
    assert_eq!(send(&server, "nonsense").await, 429, "counts for the proxy");
    assert_eq!(list(&server, "shop_dear").await.status, 429, "so does none");

    for config in [behind_proxies(&["10.0.0.0/8"]), config()] {
        let server = start(config).await;
        assert_eq!(send(&server, "192.0.2.1").await, 200);
        assert_eq!(send(&server, "192.0.2.2").await, 429, "nobody trusts this peer");
    }
}
