//! A proxy before the source of a fork, which changes or delays results on request.

use std::net::SocketAddr;
use std::sync::Arc;

use esker_primitives::sync::Mutex;
use esker_testkit::http_client::Client;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// Changes a result.
pub(crate) type Lie = fn(&mut Value);

#[derive(Default)]
struct Shared {
    lies: Mutex<Vec<(String, Lie)>>,
    /// While it is true, proofs are held back.
    is_held: watch::Sender<bool>,
    /// The heads of the requests so far.
    heads: Mutex<Vec<String>>,
}

pub(crate) struct Proxy {
    pub(crate) url: String,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Proxy {
    pub(crate) async fn start(source: SocketAddr) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::<Shared>::default();
        let of_task = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                open.spawn(serve(stream, source, Arc::clone(&of_task)));
            }
        });
        Self { url, shared, task }
    }

    /// Changes the results of a method from now on, or no more.
    pub(crate) fn lie(&self, method: &str, lie: Option<Lie>) {
        *self.shared.lies.lock() = lie.map(|lie| (method.to_owned(), lie)).into_iter().collect();
    }

    /// Changes the results of one more method.
    pub(crate) fn lie_also(&self, method: &str, lie: Lie) {
        self.shared.lies.lock().push((method.to_owned(), lie));
    }

    /// The heads of the requests since the last call.
    pub(crate) fn take_heads(&self) -> Vec<String> {
        std::mem::take(&mut *self.shared.heads.lock())
    }

    /// Holds proofs back, or no more.
    pub(crate) fn hold(&self, is_held: bool) {
        self.shared.is_held.send_replace(is_held);
    }
}

async fn serve(mut stream: TcpStream, source: SocketAddr, shared: Arc<Shared>) {
    let mut client = Client::connect(source).await;
    while let Some((head, body)) = read_request(&mut stream).await {
        let path = path_of(&head);
        shared.heads.lock().push(head);
        let request: Value = serde_json::from_slice(&body).unwrap();
        let text = String::from_utf8(body).unwrap();
        if text.contains("eth_getProof") {
            let mut held = shared.is_held.subscribe();
            if held.wait_for(|is_held| !is_held).await.is_err() {
                return;
            }
        }
        let mut reply = client.send(&Client::post(&path, &text)).await.json();
        let lies = shared.lies.lock().clone();
        for (method, lie) in lies {
            change(&request, &mut reply, &method, lie);
        }
        let body = reply.to_string();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
        if stream.write_all((head + &body).as_bytes()).await.is_err() {
            return;
        }
    }
}

/// The path at the source: those of an API are kept.
fn path_of(head: &str) -> String {
    let path = head.split(' ').nth(1).filter(|path| path.starts_with("/ext/"));
    path.unwrap_or("/").to_owned()
}

/// Changes the results of the calls of a method. IDs of a batch are positions.
fn change(request: &Value, reply: &mut Value, method: &str, lie: Lie) {
    match request.as_array() {
        None if request["method"] == method => lie(&mut reply["result"]),
        None => {}
        Some(calls) => {
            for (at, call) in calls.iter().enumerate() {
                let id = &call["id"];
                let entries = reply.as_array_mut().unwrap();
                let entry = entries.iter_mut().find(|entry| entry["id"] == *id).unwrap();
                assert_eq!(*id, at);
                change(call, entry, method, lie);
            }
        }
    }
}

/// The head and the body of the next request.
async fn read_request(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..at]).into_owned();
            let lower = head.to_lowercase();
            let length = lower.split("content-length: ").nth(1).unwrap();
            let length: usize = length.split("\r\n").next().unwrap().parse().unwrap();
            if bytes.len() >= at + 4 + length {
                return Some((head, bytes[at + 4..at + 4 + length].to_vec()));
            }
        }
        let read = stream.read(&mut part).await.ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&part[..read]);
    }
}
