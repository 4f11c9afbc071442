//! The server of the stand-in, and its switches.

#![expect(clippy::unwrap_used, reason = "in tests a panic is the message")]

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use esker_avalanchego::{Chain, Outer};
use esker_primitives::Id;
use esker_primitives::sync::Mutex;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::answers::Served;
use super::recording::{Container, Recording};

/// Longest request.
const MAX_REQUEST: usize = 64 * 1024;

/// A server that answers like an AvalancheGo node with a recording's blocks. It begins with no containers.
#[derive(Debug)]
pub struct StandIn {
    switches: Arc<Mutex<Switches>>,
    addr: SocketAddr,
    server: Option<Server>,
}

#[derive(Debug)]
struct Server {
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Switches {
    served: Served,
    delay: Duration,
    /// A status that replaces answers, by chain.
    statuses: BTreeMap<Chain, u16>,
    /// A text that replaces answers, by chain.
    texts: BTreeMap<Chain, String>,
    requests: Vec<(String, Value)>,
}

impl StandIn {
    /// Starts on a free port.
    ///
    /// # Panics
    /// If there is no port.
    pub fn start(recording: &Recording) -> Self {
        let served = Served {
            containers: Chain::ALL.map(|chain| (chain, recording.of(chain))).into(),
            p_txs: recording.p_txs.clone(),
            network_id: recording.state["networkID"]["networkID"].as_str().unwrap().to_owned(),
            blockchain_ids: recording.state["blockchainIDs"].clone(),
            ..Served::default()
        };
        let switches = Switches { served, ..Switches::default() };
        let switches = Arc::new(Mutex::new_named("stand-in", switches));
        let (server, addr) = serve(Arc::clone(&switches), ([127, 0, 0, 1], 0).into());
        Self { switches, addr, server: Some(server) }
    }

    /// The address for `--follow`.
    pub fn url(&self) -> String {
        format!("avalanchego+http://{}", self.addr)
    }

    /// Shows this many containers of a chain.
    pub fn show(&self, chain: Chain, count: usize) {
        self.switches.lock().served.shown.insert(chain, count);
    }

    /// Shows all containers.
    pub fn show_all(&self) {
        Chain::ALL.into_iter().for_each(|chain| self.show(chain, usize::MAX));
    }

    /// Delays every answer by this time.
    pub fn set_delay(&self, delay: Duration) {
        self.switches.lock().delay = delay;
    }

    /// Makes the index of a chain answer with this status: 404 before the chain exists, 503 while it bootstraps.
    pub fn set_status(&self, chain: Chain, status: Option<u16>) {
        set(&mut self.switches.lock().statuses, chain, status);
    }

    /// Makes the index of a chain answer with this text.
    pub fn set_text(&self, chain: Chain, text: Option<&str>) {
        set(&mut self.switches.lock().texts, chain, text.map(ToOwned::to_owned));
    }

    /// Makes answers longer, by this many characters for each container.
    pub fn set_padding(&self, characters: usize) {
        self.switches.lock().served.padding = characters;
    }

    /// Makes the node one of another network.
    pub fn set_network_id(&self, id: &str) {
        id.clone_into(&mut self.switches.lock().served.network_id);
    }

    /// Gives a chain of the node another ID.
    pub fn set_blockchain_id(&self, chain: Chain, id: &str) {
        self.switches.lock().served.blockchain_ids[chain.alias()] = id.into();
    }

    /// Changes a container. Its ID becomes that of the new bytes.
    pub fn alter(&self, chain: Chain, index: usize, change: impl FnOnce(&mut Container)) {
        self.change(chain, |all| {
            let container = &mut all[index];
            change(container);
            let id = Outer::parse(chain, &container.bytes).map(|outer| outer.id);
            container.id = id.unwrap_or_else(|_| Id::sha256(&container.bytes)).to_string();
        });
    }

    /// Changes the list of a chain's containers.
    pub fn change(&self, chain: Chain, change: impl FnOnce(&mut Vec<Container>)) {
        change(self.switches.lock().served.containers.get_mut(&chain).unwrap());
    }

    /// Forgets a transaction of P.
    pub fn forget_p_tx(&self, id: &str) {
        self.switches.lock().served.p_txs.remove(id);
    }

    /// Paths and bodies of the requests so far.
    pub fn requests(&self) -> Vec<(String, Value)> {
        self.switches.lock().requests.clone()
    }

    /// Stops the server; all connections end.
    ///
    /// # Panics
    /// If the server has panicked.
    pub fn stop(&mut self) {
        if let Some(Server { stop, thread }) = self.server.take() {
            // The server may have ended.
            let _ended = stop.send(());
            thread.join().unwrap();
        }
    }

    /// Starts the server again, on the same port.
    pub fn restart(&mut self) {
        self.stop();
        self.server = Some(serve(Arc::clone(&self.switches), self.addr).0);
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.stop();
    }
}

fn set<T>(of: &mut BTreeMap<Chain, T>, chain: Chain, value: Option<T>) {
    match value {
        Some(value) => of.insert(chain, value),
        None => of.remove(&chain),
    };
}

/// Runs on a thread of its own, so that tests without a runtime can use it.
fn serve(switches: Arc<Mutex<Switches>>, addr: SocketAddr) -> (Server, SocketAddr) {
    let (stop, stopped) = oneshot::channel();
    let (bound, address) = std::sync::mpsc::channel();
    let app = axum::Router::new().fallback(handle).with_state(switches);
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind(addr).await.unwrap();
            bound.send(listener.local_addr().unwrap()).unwrap();
            // Requests in progress end with the runtime.
            tokio::select! {
                served = async { axum::serve(listener, app).await } => served.unwrap(),
                _ = stopped => {}
            }
        });
    });
    let addr = address.recv().expect("the thread binds or panics");
    (Server { stop, thread }, addr)
}

async fn handle(State(switches): State<Arc<Mutex<Switches>>>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let is_post = request.method() == axum::http::Method::POST;
    let delay = switches.lock().delay;
    tokio::time::sleep(delay).await;
    let body = to_bytes(request.into_body(), MAX_REQUEST).await.unwrap();
    if !is_post {
        let text = "rpc: POST method required, received GET";
        return (StatusCode::METHOD_NOT_ALLOWED, text).into_response();
    }
    let request: Value = serde_json::from_slice(&body).unwrap();
    let mut switches = switches.lock();
    switches.requests.push((path.clone(), request.clone()));
    let of = |chain: &Chain| path == format!("/ext/index/{}/block", chain.alias());
    if let Some(chain) = Chain::ALL.into_iter().find(of) {
        if let Some(status) = switches.statuses.get(&chain) {
            let text = match status {
                503 => "API call rejected because chain is not done bootstrapping",
                _ => "404 page not found",
            };
            return (StatusCode::from_u16(*status).unwrap(), text).into_response();
        }
        if let Some(text) = switches.texts.get(&chain) {
            return json_of(text.clone());
        }
    }
    let Some(answer) = switches.served.answer(&path, &request) else {
        return (StatusCode::NOT_FOUND, "404 page not found\n").into_response();
    };
    let id = request["id"].clone();
    let answer = match answer {
        Ok(result) => json!({ "jsonrpc": "2.0", "result": result, "id": id }),
        Err(message) => {
            let error = json!({ "code": -32000, "message": message, "data": null });
            json!({ "jsonrpc": "2.0", "error": error, "id": id })
        }
    };
    // The text ends as Go writes it.
    json_of(format!("{}\n", answer.to_string().replace('>', "\\u003e")))
}

fn json_of(text: String) -> Response {
    ([(header::CONTENT_TYPE, "application/json; charset=utf-8")], Body::from(text)).into_response()
}
