//! The layers around a call (docs/protocol/http.md, "HTTP").

use std::io::Read as _;

use esker_http::HttpConfig;

use super::{CHAIN, Client, Reply, Server};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"toy.ping"}"#;
const PONG: &str = "{\"jsonrpc\":\"2.0\",\"result\":{\"said\":\"pong\"},\"id\":1}\n";

const TEXT: Option<&str> = Some("text/plain; charset=utf-8");
const JSON: Option<&str> = Some("application/json; charset=utf-8");
const NOSNIFF: Option<&str> = Some("nosniff");

#[track_caller]
fn check_head(reply: &Reply, status: u16, content_type: Option<&str>, nosniff: Option<&str>) {
    assert_eq!(reply.status, status, "{reply:?}");
    assert_eq!(reply.header("content-type"), content_type, "{reply:?}");
    assert_eq!(reply.header("x-content-type-options"), nosniff, "{reply:?}");
    assert!(reply.header("node-id").unwrap().starts_with("NodeID-"), "{reply:?}");
    assert_eq!(reply.all("vary").first(), Some(&"Accept-Encoding"), "its own line, and the first");
}

#[tokio::test]
async fn a_call() {
    let server = Server::start().await;
    let reply = server.call("/ext/toy", "toy.ping").await;
    check_head(&reply, 200, JSON, NOSNIFF);
    assert_eq!(reply.text(), PONG);
    assert_eq!(reply.all("vary"), ["Accept-Encoding", "Origin"]);
    assert_eq!(reply.header("access-control-allow-origin"), None);
    assert_eq!(reply.headers[0].0, "node-id", "{reply:?}");
}

#[tokio::test]
async fn errors_and_notifications() {
    let server = Server::start().await;
    let reply = server.call("/ext/toy", "toy.nothing").await;
    check_head(&reply, 200, JSON, None);
    let reply = server.call("/ext/toy", "toy.fail").await;
    check_head(&reply, 200, JSON, NOSNIFF);
    let reply = server.send(&Client::post("/ext/toy", "{")).await;
    check_head(&reply, 200, JSON, None);
    assert!(reply.text().contains("unexpected EOF"), "{reply:?}");
    let notification = r#"{"jsonrpc":"2.0","method":"toy.ping"}"#;
    let reply = server.send(&Client::post("/ext/toy", notification)).await;
    check_head(&reply, 200, None, NOSNIFF);
    assert_eq!(reply.text(), "");
}

#[tokio::test]
async fn methods() {
    let server = Server::start().await;
    for method in ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "FOO", "get", "post"] {
        for body in ["", PING] {
            let length = body.len();
            let reply = server
                .send(&format!("{method} /ext/toy HTTP/1.1\nHost: localhost\nContent-Type: application/json\nContent-Length: {length}\n\n{body}"))
                .await;
            check_head(&reply, 405, TEXT, None);
            assert_eq!(reply.text(), format!("rpc: POST method required, received {method}"));
        }
    }
    let reply = server.send("HEAD /ext/toy HTTP/1.1\nHost: localhost\n\n").await;
    check_head(&reply, 405, TEXT, None);
    assert_eq!(reply.text(), "");
}

#[tokio::test]
async fn content_types() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let mut post = async |header: &str| {
        let length = PING.len();
        let request = format!(
            "POST /ext/toy HTTP/1.1\nHost: localhost\n{header}Content-Length: {length}\n\n{PING}"
        );
        client.send(&request).await
    };
    for kind in [
        "application/json",
        "application/json; charset=utf-8",
        "application/json;charset=UTF-8",
        "application/json;",
        "APPLICATION/JSON",
        "application/json; x",
        "application/json;charset=latin1",
    ] {
        let reply = post(&format!("Content-Type: {kind}\n")).await;
        check_head(&reply, 200, JSON, NOSNIFF);
        assert_eq!(reply.text(), PONG);
    }
    for (kind, shown) in [
        ("application/json ; charset=utf-8", "application/json "),
        ("application/json, text/plain", "application/json, text/plain"),
        ("text/plain", "text/plain"),
        ("application/json-rpc", "application/json-rpc"),
        ("application", "application"),
        ("*/*", "*/*"),
        ("", ""),
    ] {
        let reply = post(&format!("Content-Type: {kind}\n")).await;
        check_head(&reply, 415, TEXT, None);
        assert_eq!(reply.text(), format!("rpc: unrecognized Content-Type: {shown}"));
    }
    let reply = post("").await;
    check_head(&reply, 415, TEXT, None);
    assert_eq!(reply.text(), "rpc: unrecognized Content-Type: ");
}

#[tokio::test]
async fn paths() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let by_id = format!("/ext/bc/{CHAIN}");
    let wallet = format!("/ext/bc/{CHAIN}/wallet");
    for path in [
        "/ext/toy",
        "/ext/bc/X",
        "/ext/X",
        "/ext/bc/avm",
        "/ext/avm",
        "/ext/bc/%58",
        "/ext/bc/X?a=b",
        "/ext/bc/X/wallet",
        "/ext/X/wallet",
        "/ext/avm/wallet",
        "/%65xt%2ftoy",
        &by_id,
        &wallet,
    ] {
        let reply = client.call(path, "toy.ping").await;
        assert_eq!(reply.text(), PONG, "{path}");
    }
    for path in [
        "/",
        "/ext",
        "/ext/",
        "/ext/bc",
        "/ext/bc/",
        "/ext/bc/X/",
        "/ext/bc/x",
        "/ext/BC/X",
        "/ext/bc/X/rpc",
        "/ext/bc/X/wallet/",
        "/X",
        "/ext/toy/",
        "/ext/bc/%FF",
        "/favicon.ico",
    ] {
        for request in [
            Client::post(path, PING),
            format!("GET {path} HTTP/1.1\nHost: localhost\n\n"),
            format!("OPTIONS {path} HTTP/1.1\nHost: localhost\n\n"),
        ] {
            let reply = client.send(&request).await;
            check_head(&reply, 404, TEXT, NOSNIFF);
            assert_eq!(reply.text(), "404 page not found\n");
        }
    }
}

#[tokio::test]
async fn redirects() {
    let server = Server::start().await;
    let mut client = server.client().await;
    for (path, location) in [
        ("/ext//bc/X", "/ext/bc/X"),
        ("//ext/bc/X", "/ext/bc/X"),
        ("/ext/bc/X//", "/ext/bc/X/"),
        ("/ext/./bc/X", "/ext/bc/X"),
        ("/ext/../ext/bc/X", "/ext/bc/X"),
        ("/ext//nothing", "/ext/nothing"),
        ("/ext//bc/X?a=b", "/ext/bc/X?a=b"),
    ] {
        let reply = client.send(&Client::post(path, PING)).await;
        check_head(&reply, 301, None, None);
        assert_eq!((reply.header("location"), reply.text()), (Some(location), ""));
    }
    for target in ["/ext/%zz", "/%"] {
        let reply = client.send(&Client::post(target, PING)).await;
        check_head(&reply, 400, TEXT, None);
    }
}

#[tokio::test]
async fn a_chain_that_is_not_ready() {
    let server = Server::start().await;
    server.ready.set(false);
    for path in ["/ext/bc/X", "/ext/X/wallet"] {
        let reply = server.call(path, "toy.ping").await;
        check_head(&reply, 503, TEXT, NOSNIFF);
        let text = "API call rejected because chain is not done bootstrapping\n";
        assert_eq!(reply.text(), text);
    }
    assert_eq!(server.call("/ext/toy", "toy.ping").await.status, 200);
    assert_eq!(server.call("/ext/bc/X/", "toy.ping").await.status, 404);
    server.ready.set(true);
    assert_eq!(server.call("/ext/bc/X", "toy.ping").await.text(), PONG);
}

#[tokio::test]
async fn hosts() {
    let config = HttpConfig {
        allowed_hosts: vec!["example.com".to_owned(), "Api.Example.org".to_owned()],
        ..HttpConfig::default()
    };
    let server = Server::with(config).await;
    let mut client = server.client().await;
    let mut with_host = async |line: &str, target: &str| {
        let length = PING.len();
        let request = format!(
            "POST {target} HTTP/1.1\n{line}\nContent-Type: application/json\nContent-Length: {length}\n\n{PING}"
        );
        client.send(&request).await
    };
    for host in
        ["", "example.com", "EXAMPLE.com:1", "api.example.org", "127.0.0.1:9650", "[::1]:9650"]
    {
        assert_eq!(with_host(&format!("Host: {host}"), "/ext/toy").await.text(), PONG, "{host}");
    }
    for target in ["/ext/toy", "/nothing", "/ext//toy"] {
        for host in ["localhost", "www.example.com", "[::1]", "x:y:z"] {
            let reply = with_host(&format!("Host: {host}"), target).await;
            check_head(&reply, 403, TEXT, NOSNIFF);
            assert_eq!(reply.text(), "invalid host specified\n");
        }
    }
    // The name in the request line is the one that counts.
    let reply = with_host("Host: example.com", "http://evil.example/ext/toy").await;
    assert_eq!(reply.status, 403);
    let preflight = "OPTIONS /ext/toy HTTP/1.1\nHost: evil.example\nOrigin: http://a\nAccess-Control-Request-Method: POST\n\n";
    let reply = server.send(preflight).await;
    assert_eq!((reply.status, reply.header("access-control-allow-methods")), (200, Some("POST")));
    // HTTP/1.1 demands the header, HTTP/1.0 doesn't know it.
    let reply = server.send("POST /ext/toy HTTP/1.1\nContent-Length: 0\n\n").await;
    check_head(&reply, 400, TEXT, None);
    let reply = server.send("GET /ext/toy HTTP/1.0\n\n").await;
    assert_eq!(reply.status, 405);
}

#[tokio::test]
async fn preflights_and_origins() {
    let origins = ["http://a.example", "https://*.b.example"].map(str::to_owned).to_vec();
    for (origins, origin, echoed) in [
        (vec!["*".to_owned()], "https://app.example", Some("*")),
        (origins.clone(), "http://A.example", Some("http://A.example")),
        (origins.clone(), "https://.b.example", Some("https://.b.example")),
        (origins, "https://c.example", None),
    ] {
        let server =
            Server::with(HttpConfig { allowed_origins: origins, ..HttpConfig::default() }).await;
        let preflight = format!(
            "OPTIONS /nothing HTTP/1.1\nHost: localhost\nOrigin: {origin}\nAccess-Control-Request-Method: post\nAccess-Control-Request-Headers: content-type\n\n"
        );
        let reply = server.send(&preflight).await;
        check_head(&reply, 200, None, None);
        assert_eq!(reply.text(), "");
        assert_eq!(
            reply.all("vary"),
            [
                "Accept-Encoding",
                "Origin",
                "Access-Control-Request-Method",
                "Access-Control-Request-Headers"
            ]
        );
        let allowed = |reply: &Reply, name: &str| {
            reply.header(&format!("access-control-allow-{name}")).map(str::to_owned)
        };
        assert_eq!(allowed(&reply, "origin").as_deref(), echoed);
        assert_eq!(allowed(&reply, "methods"), echoed.map(|_| "POST".to_owned()));
        assert_eq!(allowed(&reply, "headers"), echoed.map(|_| "Content-Type".to_owned()));
        assert_eq!(allowed(&reply, "credentials"), echoed.map(|_| "true".to_owned()));

        let length = PING.len();
        let post = format!(
            "POST /ext/toy HTTP/1.1\nHost: localhost\nOrigin: {origin}\nContent-Type: application/json\nContent-Length: {length}\n\n{PING}"
        );
        let reply = server.send(&post).await;
        assert_eq!(reply.text(), PONG, "a foreign origin is served");
        assert_eq!(allowed(&reply, "origin").as_deref(), echoed);
        assert_eq!(allowed(&reply, "credentials"), echoed.map(|_| "true".to_owned()));
        assert_eq!(allowed(&reply, "methods"), None);
        let reply = server
            .send(&format!("GET /nothing HTTP/1.1\nHost: localhost\nOrigin: {origin}\n\n"))
            .await;
        assert_eq!((reply.status, allowed(&reply, "origin").as_deref()), (404, echoed));
    }
}

#[tokio::test]
async fn compression() {
    let server = Server::start().await;
    let mut client = server.client().await;
    // {"jsonrpc":"2.0","result":{"said":"..."},"id":1}\n
    let frame = PONG.len() - "pong".len();
    for (body, accepts, packed) in [
        (1399, "gzip", false),
        (1400, "gzip", true),
        (1400, "deflate, GZIP;q=0.5", true),
        (1400, "*", false),
        (1400, "gzip;q=0", false),
        (200_000, "gzip", true),
        (200_000, "identity", false),
    ] {
        let size = body - frame;
        let call =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"toy.size","params":{{"size":{size}}}}}"#);
        let length = call.len();
        let request = format!(
            "POST /ext/toy HTTP/1.1\nHost: localhost\nAccept-Encoding: {accepts}\nContent-Type: application/json\nContent-Length: {length}\n\n{call}"
        );
        let reply = client.send(&request).await;
        check_head(&reply, 200, JSON, NOSNIFF);
        assert_eq!(reply.header("content-encoding"), packed.then_some("gzip"), "{body} {accepts}");
        let mut whole = Vec::new();
        if packed {
            flate2::read::GzDecoder::new(&reply.body[..]).read_to_end(&mut whole).unwrap();
        } else {
            whole = reply.body;
        }
        assert_eq!(whole.len(), body);
        assert!(whole.ends_with(b"xxx\"},\"id\":1}\n"));
    }
}

#[tokio::test]
async fn a_panic_is_an_error_reply() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let reply = client.call("/ext/toy", "toy.panic").await;
    check_head(&reply, 200, JSON, NOSNIFF);
    assert!(reply.text().contains("method handler crashed"), "{reply:?}");
    assert_eq!(client.call("/ext/toy", "toy.ping").await.text(), PONG, "the connection lives on");
}

#[tokio::test]
async fn routes_added_while_running() {
    let server = Server::start().await;
    assert_eq!(server.call("/ext/mine", "toy.ping").await.status, 404);
    server.routes.alias("bc/X", "mine").unwrap();
    for path in ["/ext/mine", "/ext/mine/wallet"] {
        assert_eq!(server.call(path, "toy.ping").await.text(), PONG);
    }
    server.routes.alias("mine", "bc/other").unwrap();
    assert_eq!(server.call("/ext/bc/other/wallet", "toy.ping").await.text(), PONG);
    for (endpoint, alias) in
        [("bc/X", "mine"), ("bc/X", "bc/avm"), ("bc/X", "toy"), ("bc/X", "bc/X")]
    {
        let error = server.routes.alias(endpoint, alias).unwrap_err().to_string();
        let text = "route is either already aliased or already maps to a handle: /ext/";
        assert_eq!(error, format!("{text}{alias}"));
    }
    // Of a route that comes later, or never.
    server.routes.alias("late", "early").unwrap();
    assert_eq!(server.call("/ext/early", "toy.ping").await.status, 404);
    server.routes.remove("/ext/mine");
    assert_eq!(server.call("/ext/mine", "toy.ping").await.status, 404);
    assert_eq!(server.call("/ext/bc/X", "toy.ping").await.text(), PONG);
}

#[tokio::test]
async fn several_requests_at_once_on_one_connection() {
    let server = Server::start().await;
    let mut client = server.client().await;
    client.write(Client::post("/ext/toy", PING).repeat(3)).await;
    for _ in 0..3 {
        assert_eq!(client.read().await.text(), PONG);
    }
    let reply = client
        .send(&Client::post("/ext/toy", PING).replace("Host:", "Connection: close\nHost:"))
        .await;
    assert_eq!(reply.text(), PONG);
    client.closed().await;
}
