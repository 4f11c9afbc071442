//! Results that are too large for memory: they come from files (docs/protocol/http.md, "Large results").

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use esker_http::{Endpoint, HttpConfig};
use esker_rpc::handler::{quick, written};
use esker_rpc::positional::{self, Limits};
use esker_rpc::work::{SpoolConfig, SpoolSpace};
use esker_rpc::{CallContext, MethodTable, ResultWriter, RpcError};
use serde_json::json;

use super::{CALL, CALLED, Client, Server};

const MIB: usize = 1024 * 1024;

/// Writes a text of this many bytes, a kibibyte at a time, and then perhaps fails.
fn text(
    _: &(),
    (kib, fails): (u64, Option<bool>),
    _: &CallContext,
    out: &mut ResultWriter,
) -> Result<(), RpcError> {
    out.buffer().push(b'"');
    for n in 0..kib {
        let letter = b'a' + u8::try_from(n % 26).unwrap();
        out.buffer().extend_from_slice(&[letter; 1024]);
        out.checkpoint()?;
    }
    out.buffer().push(b'"');
    match fails {
        Some(true) => Err(RpcError::new("failed at the end")),
        _ => Ok(()),
    }
}

async fn server(folder: &Path, limit: usize) -> Server {
    server_on(folder, limit, None).await
}

async fn server_on(folder: &Path, limit: usize, space: Option<Arc<dyn SpoolSpace>>) -> Server {
    let service = MethodTable::new("evm")
        .alias("eth")
        .on_list("chainId", quick(|(): &(), ()| Ok("0xa868")))
        .on_list("text", written(text))
        .params(&["kib", "fails"])
        .returns::<String>()
        .bind(Arc::new(()));
    let endpoint = Endpoint::PositionalBoth(positional::Server::new(service, Limits::default()));
    let (limit, folder) = (limit as u64, folder.to_owned());
    let config = HttpConfig {
        connection_reply_memory: 4 * MIB,
        spool: Some(SpoolConfig { folder, limit, result_limit: limit / 2, space }),
        ..HttpConfig::default()
    };
    Server::with_endpoints(config, &[("evm", endpoint)]).await
}

fn request(kib: usize, fails: bool) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": "eth_text", "params": [kib, fails]}).to_string()
}

fn reply(kib: usize) -> String {
    let text: String = (0..kib).map(|n| char::from(b'a' + (n % 26) as u8)).fold(
        String::with_capacity(kib * 1024),
        |mut text, letter| {
            text.extend(std::iter::repeat_n(letter, 1024));
            text
        },
    );
    format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"{text}\"}}\n")
}

#[tokio::test]
async fn a_large_result_comes_whole_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path(), 64 * MIB).await;
    let mut client = server.client().await;
    // Around the limit of what stays in memory, and above the memory of a connection.
    for kib in [0, 1, 1023, 1024, 1025, 2048, 2049, 9 * 1024] {
        let answer = client.send(&Client::post("/ext/evm", &request(kib, false))).await;
        let whole = reply(kib);
        let length = whole.len().to_string();
        assert_eq!((answer.status, answer.header("content-length")), (200, Some(&*length)));
        assert!(answer.text() == whole, "{kib} KiB");
    }
    assert_eq!(client.send(&Client::post("/ext/evm", CALL)).await.text(), CALLED);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "the files have no name");
}

#[tokio::test]
async fn an_error_after_megabytes_is_a_proper_reply() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path(), 64 * MIB).await;
    let mut client = server.client().await;
    let answer = client.send(&Client::post("/ext/evm", &request(8 * 1024, true))).await;
    assert_eq!(answer.json()["error"], json!({"code": -32000, "message": "failed at the end"}));
    // And its file is gone: all of the disk is there for the next ones.
    let whole = client.send(&Client::post("/ext/evm", &request(31 * 1024, false))).await;
    assert_eq!(whole.text().len(), reply(31 * 1024).len());
}

#[tokio::test]
async fn a_result_has_a_limit() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path(), 16 * MIB).await;
    let mut client = server.client().await;
    let too_large = json!({"code": -32003, "message": "response too large"});
    let answer = client.send(&Client::post("/ext/evm", &request(9 * 1024, false))).await;
    assert_eq!(answer.json()["error"], too_large);
    // A batch can't be sent from files: the memory of a connection is its limit.
    let batch = format!("[{},{CALL}]", request(5 * 1024, false));
    let answer = client.send(&Client::post("/ext/evm", &batch)).await;
    assert_eq!(answer.json()[0]["error"], too_large, "{}", answer.text());
    assert_eq!(answer.json()[1]["result"], "0xa868");
    let batch = format!("[{}]", request(2 * 1024, false));
    let answer = client.send(&Client::post("/ext/evm", &batch)).await;
    assert_eq!(answer.text().len(), reply(2 * 1024).len() + "[]".len());
}

#[tokio::test]
async fn all_results_have_a_limit_together_and_clients_that_leave_free_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path(), 16 * MIB).await;
    let mut deaf = Vec::new();
    for _ in 0..2 {
        let mut client = server.client().await;
        client.write(Client::post("/ext/evm", &request(7 * 1024, false))).await;
        // Its reply has begun.
        assert_eq!(client.take(12).await, b"HTTP/1.1 200");
        deaf.push(client);
    }
    let mut client = server.client().await;
    let answer = client.send(&Client::post("/ext/evm", &request(7 * 1024, false))).await;
    let full = json!({"code": -32005, "message": "too many large replies at once"});
    assert_eq!(answer.json()["error"], full);
    deaf.clear();
    let begun = std::time::Instant::now();
    loop {
        let answer = client.send(&Client::post("/ext/evm", &request(7 * 1024, false))).await;
        if answer.text().len() == reply(7 * 1024).len() {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "the disk was not freed");
    }
}

/// A disk with room for so many bytes of further files.
#[derive(Debug)]
struct Room(AtomicU64);

impl SpoolSpace for Room {
    fn check(&self, bytes: u64) -> io::Result<()> {
        match self.0.load(Ordering::SeqCst) >= bytes {
            true => Ok(()),
            false => Err(io::Error::new(io::ErrorKind::StorageFull, "insufficient disk space")),
        }
    }
}

#[tokio::test]
async fn a_disk_without_room_refuses_large_results_until_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let room = Arc::new(Room(AtomicU64::new(0)));
    let space: Arc<dyn SpoolSpace> = room.clone();
    let server = server_on(folder.path(), 64 * MIB, Some(space)).await;
    let mut client = server.client().await;
    let refused = "the result does not fit into memory, and writing it to a file failed: \
        insufficient disk space";
    for _ in 0..2 {
        let answer = client.send(&Client::post("/ext/evm", &request(2 * 1024, false))).await;
        assert_eq!(answer.json()["error"], json!({"code": -32000, "message": refused}));
        // A result that stays in memory is answered.
        let answer = client.send(&Client::post("/ext/evm", &request(100, false))).await;
        assert!(answer.text() == reply(100));
    }
    room.0.store(2 * MIB as u64, Ordering::SeqCst);
    let answer = client.send(&Client::post("/ext/evm", &request(9 * 1024, false))).await;
    assert!(answer.text() == reply(9 * 1024), "each step has room");
}

#[tokio::test]
async fn a_disk_that_takes_nothing_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(&folder.path().join("missing"), 64 * MIB).await;
    let mut client = server.client().await;
    let answer = client.send(&Client::post("/ext/evm", &request(2 * 1024, false))).await;
    let text = answer.json()["error"]["message"].as_str().unwrap().to_owned();
    let expected = "the result does not fit into memory, and writing it to a file failed: ";
    assert!(text.starts_with(expected), "{text}");
    assert_eq!(client.send(&Client::post("/ext/evm", CALL)).await.text(), CALLED);
}
