//! TLS and HTTP/2 of a node.

mod client;
mod follow;

use std::fs::Permissions;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::time::{Duration, Instant};

use bytes::Bytes;
use esker_e2e::files::write_secret;
use esker_e2e::{Node, until};
use h2::client::{ResponseFuture, SendRequest};
use serde_json::{Value, json};
use tokio_rustls::TlsConnector;
use tungstenite::client::IntoClientRequest as _;
use tungstenite::{Message, WebSocket};

use self::client::{Certificate, HTTP1, HTTP2, Stream, call, evm_address, name, ready};
use super::support::{PROGRAM, esker, local};

const RPC: &str = "/ext/bc/C/rpc";

fn dev(certificate: &Certificate) -> Node {
    certificate.give(local().dev()).start().unwrap()
}

#[test]
fn both_listeners_serve_https_and_nothing_else() {
    let certificate = Certificate::new();
    let node = dev(&certificate);
    let line = ready(&node);
    assert_eq!(line["url"], format!("https://{}", node.address()));
    assert_eq!(line["evmUrl"], format!("https://{}", evm_address(&node)));
    for (address, path) in [(node.address(), RPC), (evm_address(&node), "/")] {
        let reply = certificate.call(address, path, "evm_blockNumber").unwrap();
        assert_eq!(reply["result"], "0x0");
        let mut plain = TcpStream::connect(address).unwrap();
        plain.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut reply = String::new();
        plain.read_to_string(&mut reply).unwrap();
        assert!(reply.starts_with("HTTP/1.0 400 Bad Request"), "{reply}");
        assert!(reply.ends_with("Client sent an HTTP request to an HTTPS server.\n"), "{reply}");
    }
    assert!(node.stop().unwrap().success());
}

/// The next text of a websocket.
fn next(socket: &mut WebSocket<Stream>) -> Value {
    loop {
        if let Message::Text(text) = socket.read().unwrap() {
            return serde_json::from_str(&text).unwrap();
        }
    }
}

#[test]
fn a_subscription_over_a_secure_websocket() {
    let certificate = Certificate::new();
    let node = dev(&certificate);
    for (address, path) in [(node.address(), "/ext/bc/C/ws"), (evm_address(&node), "/")] {
        let request = format!("wss://localhost:{}{path}", address.port());
        let stream = certificate.connect(address).unwrap();
        let (mut socket, _) =
            tungstenite::client(request.into_client_request().unwrap(), stream).unwrap();
        socket.send(Message::text(call("eth_subscribe", &json!(["newHeads"])))).unwrap();
        let id = next(&mut socket)["result"].clone();
        socket.send(Message::text(call("eth_accounts", &json!([])))).unwrap();
        let from = next(&mut socket)["result"][0].clone();
        let send = json!([{"from": from, "to": from, "value": "0x1"}]);
        socket.send(Message::text(call("eth_sendTransaction", &send))).unwrap();
        let both = [next(&mut socket), next(&mut socket)];
        let head = both.iter().find(|message| message["method"] == "eth_subscription");
        let head = head.unwrap_or_else(|| panic!("{both:?}"));
        assert_eq!(head["params"]["subscription"], id);
        assert!(head["params"]["result"]["number"].is_string(), "{head}");
    }
}

/// Sends these requests at once over one connection of HTTP/2; their bodies.
async fn at_once(
    certificate: &Certificate,
    address: SocketAddr,
    requests: &[(&str, String)],
) -> Vec<Value> {
    let connector = TlsConnector::from(certificate.client(&[HTTP2, HTTP1]));
    let tcp = tokio::net::TcpStream::connect(address).await.unwrap();
    let tls = connector.connect(name(), tcp).await.unwrap();
    assert_eq!(tls.get_ref().1.alpn_protocol(), Some(HTTP2));
    let (sender, connection) = h2::client::handshake(tls).await.unwrap();
    tokio::spawn(connection);
    let mut responses = Vec::new();
    for (path, body) in requests {
        let request = http::Request::post(format!("https://localhost{path}"))
            .header("content-type", "application/json");
        let mut sender = sender.clone().ready().await.unwrap();
        let (response, mut stream) = sender.send_request(request.body(()).unwrap(), false).unwrap();
        stream.send_data(Bytes::from(body.clone()), true).unwrap();
        responses.push(response);
    }
    let mut bodies = Vec::new();
    for response in responses {
        let mut stream = response.await.unwrap().into_body();
        let mut body = Vec::new();
        while let Some(data) = stream.data().await {
            body.extend(data.unwrap());
        }
        bodies.push(serde_json::from_slice(&body).unwrap());
    }
    bodies
}

#[tokio::test]
async fn requests_share_a_connection_of_http2() {
    let certificate = Certificate::new();
    let node = dev(&certificate);
    let of_c = (RPC, call("evm_blockNumber", &json!([])));
    let of_x = ("/ext/bc/X", call("xvm.getHeight", &json!({})));
    let requests: Vec<_> = (0..20).flat_map(|_| [of_c.clone(), of_x.clone()]).collect();
    let bodies = at_once(&certificate, node.address(), &requests).await;
    assert_eq!(bodies.len(), requests.len());
    for pair in bodies.chunks(2) {
        assert_eq!(pair[0]["result"], "0x0");
        assert!(pair[1]["result"]["height"].is_string(), "{}", pair[1]);
    }
    let at_root = [("/", of_c.1)];
    assert_eq!(at_once(&certificate, evm_address(&node), &at_root).await[0]["result"], "0x0");
}

/// The commands of users, over HTTPS.
#[test]
fn commands_check_the_certificate() {
    let certificate = Certificate::new();
    let data = tempfile::tempdir().unwrap();
    let node = certificate.give(local().dev().data_dir(data.path())).arg("--api-admin-enabled");
    let node = node.start().unwrap();
    let url = format!("https://localhost:{}", node.address().port());
    let ca_file = certificate.certificate.to_str().unwrap();
    let backup = certificate.folder.path().join("copy");
    let backup = backup.to_str().unwrap();
    let nobody = "0x00000000000000000000000000000000000000a1";
    let run = |machine: Option<&str>, args: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.args(args).args(["--url", &url]).env_remove("SSL_CERT_FILE").env_remove("HOME");
        // The variable that names the machine's authorities, for most programs.
        let output = command.envs(machine.map(|file| ("SSL_CERT_FILE", file))).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout) + &text(output.stderr))
    };
    for args in [
        &["status"][..],
        &["transfer", "1", nobody],
        &["balance", "0"],
        &["accounts"],
        &["faucet", nobody],
        &["time", "+1h"],
        &["mine"],
        &["snapshot"],
        &["call", "xvm.getHeight"],
        &["backup", backup],
    ] {
        let (code, text) = run(None, &[args, &["--ca-file", ca_file]].concat());
        assert_eq!(code, Some(0), "{args:?}: {text}");
    }
    assert_eq!(run(Some(ca_file), &["status"]).0, Some(0));
    // Another certificate is not trusted, nor another name.
    let other = Certificate::new();
    let other = other.certificate.to_str().unwrap();
    for args in [&["status"][..], &["transfer", "1", nobody], &["backup", "/nowhere/copy"]] {
        for (code, text) in
            [run(Some(other), args), run(None, &[args, &["--ca-file", other]].concat())]
        {
            assert_eq!(code, Some(1), "{args:?}: {text}");
            assert!(text.contains("TLS: ") && text.contains("(trusted: "), "{args:?}: {text}");
        }
    }
    let by_address = format!("https://{}", node.address());
    let (code, text) = esker(&["status", "--ca-file", ca_file, "--url", &by_address], &[]);
    assert!(code == Some(1) && text.contains("not valid for name"), "{text}");
    let (code, text) = esker(&["status", "--ca-file", ca_file, "--url", "http://localhost:1"], &[]);
    assert!(code == Some(2) && text.contains("is for https:// only"), "{text}");
    let plain = local().dev().start().unwrap();
    let without = format!("https://localhost:{}", plain.address().port());
    let (code, text) = esker(&["status", "--ca-file", ca_file, "--url", &without], &[]);
    assert!(code == Some(1) && text.contains("with http:// as its address?"), "{text}");
}

/// Starts a node that must refuse its settings, and returns the reason.
fn refused(settings: &[(&str, &str)]) -> String {
    let mut node = local().dev();
    for (name, value) in settings {
        node = node.arg(format!("--{name}={value}"));
    }
    let error = node.start().err().unwrap().to_string();
    assert!(error.contains("the node ended: exit status: 2"), "{error}");
    error
}

#[test]
fn settings_and_files_that_can_not_be_used_are_refused_at_the_start() {
    let [right, other] = [(); 2].map(|()| Certificate::new());
    let cert = right.certificate.to_str().unwrap();
    let key = right.key.to_str().unwrap();
    let other_key = other.key.to_str().unwrap();
    let empty = right.folder.path().join("empty.pem");
    write_secret(&empty, "").unwrap();
    let [exposed, no_key] =
        ["exposed.pem", "no-key.pem"].map(|name| right.folder.path().join(name));
    std::fs::copy(key, &exposed).unwrap();
    std::fs::set_permissions(&exposed, Permissions::from_mode(0o644)).unwrap();
    write_secret(&no_key, &std::fs::read_to_string(cert).unwrap()).unwrap();
    let [exposed, no_key] = [&exposed, &no_key].map(|path| path.to_str().unwrap());
    let empty = empty.to_str().unwrap();
    let missing = "/nowhere/file.pem";
    let files = |cert, key| [("http-tls-cert-file", cert), ("http-tls-key-file", key)];
    for (settings, expected) in [
        (&files(cert, key)[..1], "http-tls-key-file is missing".to_owned()),
        (&files(cert, key)[1..], "http-tls-cert-file is missing".to_owned()),
        (
            &[("http-tls-enabled", "true")][..],
            "http-tls-enabled is true, and http-tls-cert-file and http-tls-key-file are missing"
                .to_owned(),
        ),
        (&files(missing, key)[..], format!("can't read the certificate {missing}: ")),
        (&files(cert, missing)[..], format!("can't read the private key {missing}: ")),
        (&files(empty, key)[..], format!("{empty} holds no certificate")),
        (&files(cert, empty)[..], format!("{empty} holds no private key")),
        (&files(key, key)[..], format!("{key} holds no certificate")),
        (&files(cert, no_key)[..], format!("{no_key} holds no private key")),
        (
            &files(cert, exposed)[..],
            format!(
                "can't read the private key {exposed}: every user of this machine can read or change it \
                 (mode 0644): give it mode 0600 (chmod 600)"
            ),
        ),
        (
            &files(cert, other_key)[..],
            format!("the private key in {other_key} is not the key of the certificate in {cert}"),
        ),
    ] {
        let error = refused(settings);
        assert!(error.contains(&expected), "{settings:?}: {error}");
    }
}

#[test]
fn tls_can_be_switched_off_with_its_files_in_place() {
    let certificate = Certificate::new();
    let node = certificate.give(local().dev()).arg("--http-tls-enabled=false").start().unwrap();
    assert_eq!(ready(&node)["url"], node.url());
    assert!(certificate.connect(node.address()).is_err());
    node.x().get_height().unwrap();
}

/// Whether a client that trusts this certificate is served.
fn is_served(certificate: &Certificate, node: &Node) -> bool {
    certificate.call(node.address(), RPC, "evm_blockNumber").is_ok()
}

#[test]
fn a_changed_certificate_is_used_and_a_wrong_one_is_not() {
    let certificate = Certificate::new();
    let node = dev(&certificate);
    let mut open = certificate.connect(node.address()).unwrap();
    certificate.replace();
    until("the new certificate is used", || is_served(&certificate, &node).then_some(()));
    let request = "GET /ext/health/liveness HTTP/1.1\r\nHost: localhost\r\n\r\n";
    open.write_all(request.as_bytes()).unwrap();
    let mut begin = [0; 12];
    open.read_exact(&mut begin).unwrap();
    assert_eq!(&begin, b"HTTP/1.1 200", "connections from before go on");

    // The key of another certificate.
    let key = std::fs::read(&certificate.key).unwrap();
    std::fs::write(&certificate.key, std::fs::read(Certificate::new().key).unwrap()).unwrap();
    let refusal = "the changed certificate is invalid; the previous one stays in use";
    until("the wrong key is reported", || node.output().contains(refusal).then_some(()));
    assert!(is_served(&certificate, &node), "the one before stays in use");
    std::fs::write(&certificate.key, key).unwrap();
    node.stop().unwrap();
}

#[test]
fn a_signal_makes_the_node_read_its_certificate_at_once() {
    let certificate = Certificate::new();
    let node = certificate.give(local().dev()).arg("--log-display-level=info").start().unwrap();
    certificate.replace();
    let sent = Command::new("kill").args(["-HUP", &node.pid().to_string()]).status().unwrap();
    assert!(sent.success());
    let replaced = "reloaded the certificate of the HTTP server";
    until("the log names it", || node.output().contains(replaced).then_some(()));
    assert!(is_served(&certificate, &node));
}

#[test]
fn timed_stalled_handshakes_do_not_keep_others_out() {
    const MOST: usize = 50;
    let certificate = Certificate::new();
    let node = certificate.give(local().dev()).arg(format!("--http-max-connections={MOST}"));
    let node = node.start().unwrap();
    let mut stalled = Vec::new();
    for n in 0..4 * MOST {
        let mut tcp = TcpStream::connect(node.address()).unwrap();
        match n % 3 {
            0 => {}
            1 => tcp.write_all(b"\x16\x03\x01\x02\x00\x01").unwrap(),
            // The first is closed in favour of others, so its client may notice.
            _ => drop(tcp.write_all(b"no handshake\r\n")),
        }
        stalled.push(tcp);
    }
    for _ in 0..5 {
        let start = Instant::now();
        let reply = certificate.call(node.address(), RPC, "evm_blockNumber").unwrap();
        assert_eq!(reply["result"], "0x0");
        assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    }
    drop(stalled);
}

/// Connects as a client of HTTP/2 that reads no more of a reply than a window.
async fn http2(certificate: &Certificate, address: SocketAddr) -> SendRequest<Bytes> {
    let connector = TlsConnector::from(certificate.client(&[HTTP2]));
    let tcp = tokio::net::TcpStream::connect(address).await.unwrap();
    let tls = connector.connect(name(), tcp).await.unwrap();
    let (sender, connection) = h2::client::handshake(tls).await.unwrap();
    tokio::spawn(connection);
    sender
}

fn begin(sender: &mut SendRequest<Bytes>, body: &str) -> Result<ResponseFuture, h2::Error> {
    let request = http::Request::post(format!("https://localhost{RPC}"));
    let request = request.header("content-type", "application/json").body(()).unwrap();
    let (response, mut stream) = sender.send_request(request, false)?;
    stream.send_data(Bytes::from(body.to_owned()), true)?;
    Ok(response)
}

/// Fills one connection with requests whose replies are never read.
async fn never_read(certificate: &Certificate, address: SocketAddr) -> Vec<ResponseFuture> {
    let mut sender = http2(certificate, address).await;
    let batch = vec![call("evm_getBlockByNumber", &json!(["0x0", true])); 500].join(",");
    let mut unread = Vec::new();
    for _ in 0..100 {
        sender = sender.ready().await.unwrap();
        unread.push(begin(&mut sender, &format!("[{batch}]")).unwrap());
    }
    unread
}

/// Takes each request back at once, until the node cuts it off.
async fn reset_all(certificate: &Certificate, address: SocketAddr) {
    let mut sender = http2(certificate, address).await;
    let body = call("evm_blockNumber", &json!([]));
    for _ in 0..20_000 {
        sender = match sender.ready().await {
            Ok(sender) => sender,
            Err(_) => return,
        };
        if begin(&mut sender, &body).is_err() {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn timed_hostile_clients_of_http2_do_not_keep_others_waiting() {
    let certificate = Certificate::new();
    let node = dev(&certificate);
    let address = node.address();
    let mut unread = Vec::new();
    for _ in 0..20 {
        unread.push(never_read(&certificate, address).await);
    }
    let honest = || {
        let start = Instant::now();
        let reply = certificate.call(address, RPC, "evm_blockNumber").unwrap();
        assert_eq!(reply["result"], "0x0");
        start.elapsed()
    };
    let mut longest = tokio::task::block_in_place(honest);
    for _ in 0..5 {
        reset_all(&certificate, address).await;
        longest = longest.max(tokio::task::block_in_place(honest));
    }
    println!("20 clients that read nothing, 5 that reset all: an honest one waited {longest:?}");
    let output = node.output();
    assert!(
        !output.contains("WARN") && !output.contains("ERROR"),
        "clients fill the log: {output}"
    );
    // The build is not optimized, and the machine may be under load.
    assert!(longest < Duration::from_secs(10), "{longest:?}");
    drop(unread);
}
