//! Calls whose client goes away.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use esker_e2e::until;
use serde_json::{Value, json};

use crate::support::local;

/// More than the calls that a node works on at once.
const GONE: usize = 40;
/// Far less than the time after which the node itself gives up a call.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn a_call_ends_when_its_client_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config.toml");
    std::fs::write(&config, "[chains.C]\nrpc-gas-cap = 0\n").unwrap();
    let node = local().config(&config).start().unwrap();
    // JUMPDEST, PUSH 0, JUMP: without a gas limit it runs until somebody stops it.
    let endless = json!({ "0x00000000000000000000000000000000000000aa": { "code": "0x5b600056" } });
    let call = json!({ "to": "0x00000000000000000000000000000000000000aa" });
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "eth_call", "params": [call, "latest", endless],
    })
    .to_string();
    let calls: Vec<TcpStream> = (0..GONE).map(|_| sent(node.address(), &body)).collect();
    until("all calls have begun or wait for a place", || {
        (in_handlers(node.address()) == GONE).then_some(())
    });
    drop(calls);
    // A method that needs a place among those that work.
    let transfer = json!({
        "jsonrpc": "2.0", "id": 2, "method": "eth_estimateGas",
        "params": [{ "to": "0x00000000000000000000000000000000000000bb", "data": "0x01" }],
    });
    let stream = sent(node.address(), &transfer.to_string());
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let reply: Value = serde_json::from_str(&body_of(stream)).unwrap();
    assert_eq!(reply["result"], json!("0x52bd"), "{reply}");
}

/// Requests that the node is at.
fn in_handlers(node: SocketAddr) -> usize {
    let mut stream = TcpStream::connect(node).unwrap();
    let request = format!("GET /ext/metrics HTTP/1.1\r\nHost: {node}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let metrics = body_of(stream);
    let line = metrics.lines().find_map(|line| line.strip_prefix("esker_http_requests_in_flight "));
    line.unwrap().parse().unwrap()
}

/// The bytes after the head of a reply.
fn body_of(mut stream: TcpStream) -> String {
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply.split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// A connection over which a request was sent.
fn sent(node: SocketAddr, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(node).unwrap();
    let request = format!(
        "POST /ext/bc/C/rpc HTTP/1.1\r\nHost: {node}\r\nContent-Type: application/json\r\n\
         Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    stream
}
