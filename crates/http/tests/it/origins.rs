//! Web pages of other origins: what they may call, and which sockets they may open
//! (docs/decisions.md, "Pages of other origins"); by how many names a request may call the server.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use esker_http::{Endpoint, HttpConfig};
use esker_rpc::handler::quick;
use esker_rpc::positional::{self, Limits};
use esker_rpc::{MethodTable, NoArgs, RpcError, UNTRUSTED_ORIGIN};

use super::sockets::HANDSHAKE;
use super::{Client, Reply, Server, positional};

const LOCAL: [&str; 4] =
    ["http://localhost", "https://LOCALHOST:3000", "http://127.0.0.1:8080", "http://[::1]:5173"];
const FOREIGN: [&str; 6] = [
    "https://evil.example",
    "null",
    "",
    "http://localhost.",
    "http://localhost.evil.example",
    "chrome-extension://abcdefgh",
];

async fn server(origins: &[&str]) -> Server {
    server_with(origins, HttpConfig::default()).await
}

async fn server_with(origins: &[&str], config: HttpConfig) -> Server {
    let guarded = MethodTable::new("guarded").trusted_callers_only(|table| {
        table.on("ping", quick(|(), _: NoArgs| Ok::<_, RpcError>("pong")))
    });
    let rpc = positional::Server::new(positional().bind(Arc::new(())), Limits::default());
    let allowed_origins = origins.iter().map(ToString::to_string).collect();
    let config = HttpConfig { allowed_origins, ..config };
    let guarded = Endpoint::Object(guarded.bind(Arc::new(())));
    let endpoints = [
        ("guarded", guarded),
        ("evm", Endpoint::Positional(rpc.clone())),
        ("ws", Endpoint::Socket(Arc::new(rpc))),
    ];
    Server::with_endpoints(config, &endpoints).await
}

/// A POST from a page of this origin; without one, of another program.
async fn post(client: &mut Client, path: &str, origin: Option<&str>, body: &str) -> Reply {
    let origin = origin.map_or(String::new(), |origin| format!("Origin: {origin}\r\n"));
    client.send(&Client::post(path, body).replace("Host:", &format!("{origin}Host:"))).await
}

fn object(method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#)
}

#[tokio::test]
async fn a_method_for_trusted_callers() {
    let server = server(&["*"]).await;
    let mut client = server.client().await;
    let secret = object("toy.secret");
    for origin in LOCAL.map(Some).into_iter().chain([None]) {
        let reply = post(&mut client, "/ext/bc/X", origin, &secret).await;
        assert_eq!(reply.json()["result"]["said"], "secret", "{origin:?}");
    }
    assert_eq!(server.toy.secrets.load(Ordering::SeqCst), LOCAL.len() + 1);
    for origin in FOREIGN {
        for path in ["/ext/bc/X", "/ext/toy", "/ext/avm/wallet"] {
            let reply = post(&mut client, path, Some(origin), &secret).await;
            assert_eq!(reply.json()["error"]["message"], UNTRUSTED_ORIGIN, "{origin} {path}");
            assert_eq!(reply.json()["error"]["code"], -32000);
            // Aliases, and notifications, which have no answer.
            let alias = post(&mut client, path, Some(origin), &object("play.secret")).await;
            assert_eq!(alias.json()["error"]["message"], UNTRUSTED_ORIGIN);
            let notification = r#"{"jsonrpc":"2.0","method":"toy.secret"}"#;
            assert_eq!(post(&mut client, path, Some(origin), notification).await.text(), "");
        }
        let reply = post(&mut client, "/ext/bc/X", Some(origin), &object("toy.ping")).await;
        assert_eq!(reply.json()["result"]["said"], "pong", "the others are for all: {origin}");
    }
    assert_eq!(server.toy.secrets.load(Ordering::SeqCst), LOCAL.len() + 1, "none ran");
}

#[tokio::test]
async fn a_method_of_the_positional_dialect() {
    let server = server(&["*", "https://app.example"]).await;
    let mut client = server.client().await;
    let secret = r#"{"jsonrpc":"2.0","id":1,"method":"eth_secret"}"#;
    let batch = format!(r#"[{secret},{{"jsonrpc":"2.0","id":2,"method":"eth_chainId"}}]"#);
    for origin in ["https://app.example", "https://App.Example", LOCAL[0]] {
        let reply = post(&mut client, "/ext/evm", Some(origin), secret).await;
        assert_eq!(reply.json()["result"], "secret", "{origin}");
    }
    for origin in FOREIGN {
        let reply = post(&mut client, "/ext/evm", Some(origin), secret).await;
        assert_eq!(reply.json()["error"]["message"], UNTRUSTED_ORIGIN, "{origin}");
        let reply = post(&mut client, "/ext/evm", Some(origin), &batch).await;
        assert_eq!(reply.json()[0]["error"]["message"], UNTRUSTED_ORIGIN, "{origin}");
        assert_eq!(reply.json()[1]["result"], "0xa868", "{origin}");
    }
}

#[tokio::test]
async fn a_path_for_trusted_callers() {
    let server = server(&["*"]).await;
    let mut client = server.client().await;
    server.routes.alias("guarded", "mine").unwrap();
    for path in ["/ext/guarded", "/ext/mine"] {
        for origin in LOCAL {
            let reply = post(&mut client, path, Some(origin), &object("guarded.ping")).await;
            assert_eq!(reply.json()["result"], "pong", "{origin}");
            assert_eq!(reply.header("access-control-allow-origin"), Some(origin));
        }
        for origin in FOREIGN {
            for request in [object("guarded.ping"), object("guarded.nothing"), "{".to_owned()] {
                let reply = post(&mut client, path, Some(origin), &request).await;
                assert_eq!((reply.status, reply.text()), (403, "origin not allowed\n"), "{origin}");
                assert_eq!(reply.header("access-control-allow-origin"), None);
            }
        }
        // Two origins: both count.
        let both = format!("{}\r\nOrigin: {}", LOCAL[0], FOREIGN[0]);
        let reply = post(&mut client, path, Some(&both), &object("guarded.ping")).await;
        assert_eq!(reply.status, 403);
        let reply = client.call(path, "guarded.ping").await;
        assert_eq!(reply.json()["result"], "pong", "a program");
    }
}

#[tokio::test]
async fn preflights_allow_what_the_call_allows() {
    for (allowed, origin, path, echoed) in [
        ("*", "https://evil.example", "/ext/toy", Some("*")),
        ("*", "https://evil.example", "/nothing", Some("*")),
        ("*", "https://evil.example", "/ext/guarded", None),
        ("*", "null", "/ext/guarded", None),
        ("*", LOCAL[2], "/ext/guarded", Some(LOCAL[2])),
        ("https://app.example", "https://app.example", "/ext/guarded", Some("https://app.example")),
        ("https://app.example", LOCAL[0], "/ext/guarded", Some(LOCAL[0])),
        ("https://app.example", LOCAL[0], "/ext/toy", None),
        ("https://app.example", "https://evil.example", "/ext/toy", None),
    ] {
        let server = server(&[allowed]).await;
        let preflight = format!(
            "OPTIONS {path} HTTP/1.1\nHost: localhost\nOrigin: {origin}\nAccess-Control-Request-Method: POST\nAccess-Control-Request-Headers: content-type\n\n"
        );
        let reply = server.send(&preflight).await;
        assert_eq!(reply.status, 200);
        let context = format!("{origin} {path}");
        assert_eq!(reply.header("access-control-allow-origin"), echoed, "{context}");
        let methods = reply.header("access-control-allow-methods");
        assert_eq!(methods, echoed.map(|_| "POST"), "{context}");
        let call = post(&mut server.client().await, path, Some(origin), "{").await;
        assert_eq!(call.header("access-control-allow-origin"), echoed, "{context}");
    }
}

#[tokio::test]
async fn who_may_open_a_websocket() {
    let app = "https://app.example";
    for (allowed, origins, status) in [
        (&["*"][..], &[][..], 101),
        (&["*"], &["https://evil.example"], 101),
        (&[app], &[], 101),
        (&[app], &["https://APP.example"], 101),
        (&[app], &["https://evil.example"], 403),
        (&[app], &["http://localhost:3000"], 403),
        (&[app], &["null"], 403),
        (&[app], &[""], 403),
        (&[app], &[app, "https://evil.example"], 403),
    ] {
        let server = server(allowed).await;
        let lines: String = origins.iter().map(|origin| format!("Origin: {origin}\n")).collect();
        let mut client = server.client().await;
        let reply = client.send(&format!("GET /ext/ws HTTP/1.1\n{HANDSHAKE}{lines}\n")).await;
        assert_eq!(reply.status, status, "{allowed:?} {origins:?}");
        if status == 403 {
            assert_eq!(reply.text(), "origin not allowed\n");
            assert_eq!(client.call("/ext/toy", "toy.ping").await.status, 200, "it stays open");
        }
    }
    // Who asks for no websocket learns that one has to.
    let reply = server(&[app]).await;
    let reply =
        reply.send("GET /ext/ws HTTP/1.1\nHost: localhost\nOrigin: https://evil.example\n\n").await;
    assert_eq!((reply.status, reply.text()), (400, "Bad Request\n"));
}

#[tokio::test]
async fn a_socket_is_its_pages() {
    let server = server(&["*"]).await;
    let secret = br#"{"jsonrpc":"2.0","id":1,"method":"eth_secret"}"#;
    for (origin, expected) in [("https://evil.example", UNTRUSTED_ORIGIN), (LOCAL[0], "\"secret\"")]
    {
        let mut client = server.client().await;
        let handshake = format!("GET /ext/ws HTTP/1.1\n{HANDSHAKE}Origin: {origin}\n\n");
        assert_eq!(client.send(&handshake).await.status, 101);
        client.write(super::sockets::client::frame(0x81, secret)).await;
        let head = client.take(2).await;
        let length = match head[1] {
            126 => client.take(2).await.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)),
            short => usize::from(short),
        };
        let answer = String::from_utf8(client.take(length).await).unwrap();
        assert!(answer.contains(expected), "{origin}: {answer}");
    }
}

#[tokio::test]
async fn a_server_is_called_by_one_name() {
    let server = server(&["*"]).await;
    let mut client = server.client().await;
    for (hosts, text) in [
        ("Host: localhost\nHost: localhost", "400 Bad Request: too many Host headers"),
        ("Host: localhost\nhost: evil.example", "400 Bad Request: too many Host headers"),
        ("A: b", "400 Bad Request: missing required Host header"),
    ] {
        for rest in [
            "POST /ext/toy",
            "GET http://localhost/ext/metrics",
            "OPTIONS /ext/toy",
            "GET /ext//toy",
            "GET /nothing",
        ] {
            if rest.contains("http://") && hosts == "A: b" {
                continue;
            }
            let preflight = "Origin: http://a\nAccess-Control-Request-Method: POST";
            let reply = client.send(&format!("{rest} HTTP/1.1\n{hosts}\n{preflight}\n\n")).await;
            assert_eq!((reply.status, reply.text()), (400, text), "{rest} {hosts}");
        }
    }
}

#[tokio::test]
async fn private_names_are_for_programs_and_for_pages_of_others() {
    let allowed_hosts = vec!["localhost".to_owned(), "private".to_owned()];
    let config = HttpConfig { allowed_hosts, ..HttpConfig::default() };
    let server = server_with(&["*"], config).await;
    let (ping, secret) = (object("toy.ping"), object("toy.secret"));
    for (host, origin, is_served, is_trusted) in [
        ("host.docker.internal:8545", None, true, true),
        ("esker:8545", None, true, true),
        ("esker:8545", Some("http://app:3000"), true, false),
        ("esker:8545", Some("http://localhost:3000"), true, true),
        ("esker:8545", Some("https://evil.example"), true, false),
        // A public name that an attacker lets mean this machine.
        ("rebind.example:8545", None, false, false),
        ("rebind.example:8545", Some("http://rebind.example:8545"), false, false),
        ("127.0.0.1.rebind.example:8545", None, false, false),
        // A page of another machine on the network, whose name now means this one.
        ("x.local:8545", Some("http://x.local:8545"), false, false),
        ("x:8545", Some("http://x:8545"), false, false),
    ] {
        let context = format!("{host} {origin:?}");
        let call = async |body: &str| {
            let origin = origin.map_or(String::new(), |origin| format!("Origin: {origin}\r\n"));
            let call = Client::post("/ext/toy", body);
            let request = call.replace("Host: localhost", &format!("{origin}Host: {host}"));
            server.send(&request).await
        };
        let reply = call(&ping).await;
        if is_served {
            assert_eq!(reply.json()["result"]["said"], "pong", "{context}");
        } else {
            assert_eq!(
                (reply.status, reply.text()),
                (403, "invalid host specified\n"),
                "{context}"
            );
        }
        let reply = call(&secret).await;
        assert_eq!(reply.text().contains("\"said\":\"secret\""), is_trusted, "{context}");

        let handshake = HANDSHAKE.replace("Host: localhost", &format!("Host: {host}"));
        let origin = origin.map_or(String::new(), |origin| format!("Origin: {origin}\n"));
        let reply = server.send(&format!("GET /ext/ws HTTP/1.1\n{handshake}{origin}\n")).await;
        assert_eq!(reply.status, if is_served { 101 } else { 403 }, "{context}");
    }
}
