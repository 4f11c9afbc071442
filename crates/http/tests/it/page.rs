//! The files of a page, and browsers at a path that other programs use for JSON-RPC.

use std::io::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use esker_http::{BrowserPage, Endpoint, Routes, StaticFile};
use esker_rpc::positional;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::{CALL, CALLED, Client, Reply, Server};
use crate::figures::Figures;

const PAGE: &str = "<!doctype html><title>Page</title>";
const SCRIPT: &str = "export {};";

fn file(content_type: &'static str, text: &str, etag: &'static str) -> StaticFile {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes()).unwrap();
    let gzip = Bytes::from(encoder.finish().unwrap());
    StaticFile { content_type, gzip, length: text.len(), etag }
}

fn page() -> BrowserPage {
    BrowserPage::File(file("text/html; charset=utf-8", PAGE, "\"page\""))
}

async fn server() -> Server {
    let server = Server::start().await;
    let script = file("text/javascript", SCRIPT, "\"script\"");
    server.routes.page("/page/", [("parts/main.js".to_owned(), script)]).unwrap();
    server
}

fn json_rpc() -> Endpoint {
    let service = super::positional().bind(Arc::new(()));
    Endpoint::Positional(positional::Server::new(service, positional::Limits::default()))
}

fn get(path: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\nHost: localhost:77\n{headers}\n")
}

/// What a browser sends that opens a page.
fn open(path: &str) -> String {
    get(path, "Accept: text/html,application/xhtml+xml,*/*;q=0.8\n")
}

#[track_caller]
fn check_page(reply: &Reply) {
    assert_eq!((reply.status, reply.text()), (200, PAGE), "{reply:?}");
    assert_eq!(reply.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(reply.header("x-frame-options"), Some("DENY"));
    assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
    let policy = reply.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'self';"), "{policy}");
    assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
}

#[tokio::test]
async fn files_are_compressed_and_known_by_their_tags() {
    let server = server().await;
    let plain = server.send(&get("/page/parts/main.js", "")).await;
    assert_eq!((plain.status, plain.text()), (200, SCRIPT), "{plain:?}");
    assert_eq!(plain.header("content-encoding"), None);
    let packed = server.send(&get("/page/parts/main.js", "Accept-Encoding: gzip, br\n")).await;
    assert_eq!(packed.header("content-encoding"), Some("gzip"), "{packed:?}");
    assert_eq!(packed.header("etag"), Some("\"script\""));
    assert_eq!(packed.header("cache-control"), Some("no-cache"));
    for tags in ["\"script\"", "\"other\", W/\"script\"", "*"] {
        let known =
            server.send(&get("/page/parts/main.js", &format!("If-None-Match: {tags}\n"))).await;
        assert_eq!((known.status, known.text()), (304, ""), "{tags}");
    }
    let changed = server.send(&get("/page/parts/main.js", "If-None-Match: \"other\"\n")).await;
    assert_eq!((changed.status, changed.text()), (200, SCRIPT), "{changed:?}");
}

#[tokio::test]
async fn other_methods_and_paths_are_refused() {
    let server = server().await;
    let reply = server.send(&Client::post("/page/parts/main.js", CALL)).await;
    assert_eq!((reply.status, reply.header("allow")), (405, Some("GET, HEAD")), "{reply:?}");
    for path in ["/page", "/page/", "/page/parts", "/page/parts/other.js"] {
        assert_eq!(server.send(&open(path)).await.status, 404, "{path}");
    }
    // Cleaned before it is looked up.
    assert_eq!(server.send(&get("/page/../ext/parts/main.js", "")).await.status, 301);
    assert_eq!(server.send(&open("/")).await.status, 404);
}

#[tokio::test]
async fn a_path_without_json_rpc_is_a_page_for_everybody() {
    let server = server().await;
    server.routes.page_at_root(page()).unwrap();
    check_page(&server.send(&open("/")).await);
    check_page(&server.send(&get("/", "")).await);
    assert_eq!(server.send(&Client::post("/", CALL)).await.status, 405);
}

#[tokio::test]
async fn json_rpc_stays_at_the_path_of_a_page() {
    let endpoint = json_rpc();
    let server = Server::with_endpoints(<_>::default(), &[("evm", endpoint)]).await;
    server.routes.serve_at_root("/ext/evm").unwrap();
    let probe = get("/", "Content-Length: 0\n");
    assert_eq!(server.send(&probe).await.status, 200);
    server.routes.page_at_root(page()).unwrap();

    check_page(&server.send(&open("/")).await);
    let call = server.send(&Client::post("/", CALL)).await;
    assert_eq!((call.status, call.text()), (200, CALLED));
    let as_page = Client::post("/", CALL).replacen("Host:", "Accept: text/html\nHost:", 1);
    assert_eq!(server.send(&as_page).await.text(), CALLED, "a call from a page");
    let probed = server.send(&probe).await;
    assert_eq!((probed.status, probed.text()), (200, ""), "a load balancer");
    let upgrade = "Accept: text/html\nConnection: Upgrade\nUpgrade: websocket\n\
                   Sec-WebSocket-Version: 13\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\n";
    assert_eq!(server.send(&get("/", upgrade)).await.status, 101);
}

#[tokio::test]
async fn another_port_refers_browsers_to_the_page() {
    let endpoint = json_rpc();
    let server = Server::with_endpoints(<_>::default(), &[("evm", endpoint)]).await;
    let routes: Routes = server.routes.rooted_at("/ext/evm").unwrap();
    routes.page_at_root(BrowserPage::OtherPort(9650)).unwrap();
    let address = server.further(routes).await;
    let mut client = Client::connect(address).await;
    let cases = [
        ("localhost:8545", "//localhost:9650/"),
        ("localhost", "//localhost:9650/"),
        ("127.0.0.1:8545", "//127.0.0.1:9650/"),
        ("[::1]:8545", "//[::1]:9650/"),
    ];
    for (host, location) in cases {
        let reply = client.send(&open("/").replacen("localhost:77", host, 1)).await;
        assert_eq!((reply.status, reply.header("location")), (307, Some(location)), "{host}");
    }
    assert_eq!(client.send(&Client::post("/", CALL)).await.text(), CALLED);
    // Without JSON-RPC there is nothing to refer from.
    let empty = Routes::new(Arc::new(Figures::new()));
    empty.page_at_root(BrowserPage::OtherPort(9650)).unwrap();
    assert!(!empty.contains("/"));
}
