//! A scripted HTTP source.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use esker_fork::source::{Source, SourceAddress, SourceLimits};
use esker_fork::{Fork, ForkError, ForkOptions, OpenedFork, pin::BlockChoice};
use esker_outbound::Dialer;
use esker_primitives::sync::Mutex;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Longest time of a test.
const LIMIT: Duration = Duration::from_secs(60);

/// Ends a test that hangs.
pub(crate) async fn within<T>(what: &str, work: impl Future<Output = T>) -> T {
    match tokio::time::timeout(LIMIT, work).await {
        Ok(done) => done,
        Err(_) => panic!("{what} took longer than {LIMIT:?}"),
    }
}

/// What the source does with a request.
pub(crate) enum Act {
    Json(Value),
    Reply {
        status: u16,
        headers: String,
        body: String,
    },
    /// Answers once the gate is open.
    Gated(watch::Receiver<bool>, Value),
    Stall,
    Close,
    /// Ends in the middle of the body.
    Cut(Value),
}

/// Gets the body of a request, and its number from 0.
pub(crate) type Script = dyn Fn(&Value, usize) -> Act + Send + Sync;

pub(crate) struct Server {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<Value>>>,
    seen: watch::Receiver<usize>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Shared {
    script: Box<Script>,
    requests: Arc<Mutex<Vec<Value>>>,
    seen: watch::Sender<usize>,
}

impl Server {
    pub(crate) async fn start(
        script: impl Fn(&Value, usize) -> Act + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (sender, seen) = watch::channel(0);
        let shared =
            Shared { script: Box::new(script), requests: Arc::clone(&requests), seen: sender };
        let shared = Arc::new(shared);
        let task = tokio::spawn(async move {
            let mut open = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                open.spawn(serve(stream, Arc::clone(&shared)));
            }
        });
        Self { url, requests, seen, task }
    }

    /// Waits until this many requests have come.
    pub(crate) async fn wait_for(&self, count: usize) {
        let mut seen = self.seen.clone();
        let _count = within("a request", seen.wait_for(|seen| *seen >= count)).await.unwrap();
    }

    pub(crate) fn requests(&self) -> Vec<Value> {
        self.requests.lock().clone()
    }

    /// The methods of all calls.
    pub(crate) fn methods(&self) -> Vec<String> {
        let mut methods = Vec::new();
        for request in self.requests() {
            for call in calls(&request) {
                methods.push(call["method"].as_str().unwrap().to_owned());
            }
        }
        methods
    }

    pub(crate) fn source(&self, limits: SourceLimits) -> Source {
        source(&[&self.url], limits)
    }

    pub(crate) async fn fork(&self, options: ForkOptions) -> Fork {
        self.try_fork(options).await.unwrap().fork
    }

    pub(crate) async fn try_fork(&self, options: ForkOptions) -> Result<OpenedFork, ForkError> {
        let opening = Fork::open(self.source(quick()), BlockChoice::Latest, options, None);
        within("opening a fork", opening).await
    }
}

pub(crate) fn source(urls: &[&str], limits: SourceLimits) -> Source {
    let addresses = urls.iter().map(|url| SourceAddress::parse(url).unwrap()).collect();
    Source::new(addresses, Dialer::plain(), limits)
}

/// Limits with short waits.
pub(crate) fn quick() -> SourceLimits {
    SourceLimits {
        request_timeout: Duration::from_secs(10),
        deadline: Duration::from_secs(20),
        retries: 3,
        first_backoff: Duration::from_millis(1),
        max_backoff: Duration::from_millis(4),
        ..SourceLimits::default()
    }
}

/// The calls of a request.
pub(crate) fn calls(request: &Value) -> Vec<&Value> {
    request.as_array().map_or_else(|| vec![request], |calls| calls.iter().collect())
}

async fn serve(mut stream: TcpStream, shared: Arc<Shared>) {
    while let Some(request) = read_request(&mut stream).await {
        let number = {
            let mut requests = shared.requests.lock();
            requests.push(request.clone());
            requests.len() - 1
        };
        let act = (shared.script)(&request, number);
        shared.seen.send_replace(number + 1);
        let (status, headers, body) = match act {
            Act::Json(value) => (200, String::new(), value.to_string()),
            Act::Reply { status, headers, body } => (status, headers, body),
            Act::Gated(mut gate, value) => {
                if gate.wait_for(|open| *open).await.is_err() {
                    return;
                }
                (200, String::new(), value.to_string())
            }
            Act::Stall => std::future::pending().await,
            Act::Close => return,
            Act::Cut(value) => {
                let body = value.to_string();
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
                let half = &body.as_bytes()[..body.len() / 2];
                let _written = stream.write_all(&[head.as_bytes(), half].concat()).await;
                return;
            }
        };
        let length = body.len();
        let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\n{headers}\r\n");
        if stream.write_all((head + &body).as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<Value> {
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..at]).to_lowercase();
            let length = head.split("content-length: ").nth(1).unwrap();
            let length: usize = length.split("\r\n").next().unwrap().parse().unwrap();
            if bytes.len() >= at + 4 + length {
                return Some(serde_json::from_slice(&bytes[at + 4..at + 4 + length]).unwrap());
            }
        }
        let read = stream.read(&mut part).await.ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&part[..read]);
    }
}
