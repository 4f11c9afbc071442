//! The HTTP server with a toy service behind it.

#![expect(clippy::unwrap_used, reason = "a panic is a test's message")]

mod deprecation;
mod evm;
mod figures;
mod layers;
mod limits;
mod origins;
mod page;
mod rates;
mod shutdown;
mod sockets;
mod spooled;
mod streams;
mod tls;
mod unread;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use esker_http::{Endpoint, HttpConfig, HttpState, Readiness, Routes, Tls, serve};
use esker_primitives::{ChainId, NodeId, ShortId};
use esker_rpc::handler::{quick, waits};
use esker_rpc::{MethodTable, NoArgs, RpcError, Service};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

pub(crate) use esker_testkit::http_client::{Client, Reply};
use figures::{Figures, ToyPage};

/// A chain of the tests.
pub(crate) const CHAIN: ChainId = ChainId::new([7; 32]);

/// The state that the toy's methods share with the test.
pub(crate) struct Toy {
    /// Calls of `wait` that have begun.
    pub(crate) waiting: Semaphore,
    /// Lets calls of `wait` end.
    pub(crate) go: Semaphore,
    /// Calls of `secret`, which is for trusted callers.
    pub(crate) secrets: AtomicUsize,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
struct SizeArgs {
    size: usize,
}

#[derive(Serialize, JsonSchema)]
struct TextReply {
    said: String,
}

fn text_reply(text: impl Into<String>) -> Result<TextReply, RpcError> {
    Ok(TextReply { said: text.into() })
}

fn methods() -> MethodTable<Toy> {
    MethodTable::new("toy")
        .alias("play")
        .on("ping", quick(|_: &Toy, _: NoArgs| text_reply("pong")))
        .on("size", quick(|_: &Toy, args: SizeArgs| text_reply("x".repeat(args.size))))
        .on("fail", quick(|_: &Toy, _: NoArgs| Err::<TextReply, _>(RpcError::new("no luck"))))
        .on("panic", quick(|_: &Toy, _: NoArgs| -> Result<TextReply, RpcError> { panic!("ouch") }))
        .on(
            "wait",
            waits(|toy: Arc<Toy>, _: NoArgs| async move {
                toy.waiting.add_permits(1);
                toy.go.acquire().await.unwrap().forget();
                text_reply("waited")
            }),
        )
        .on("old", quick(|_: &Toy, _: NoArgs| text_reply("old")))
        .deprecated("v1.9.12")
        .trusted_callers_only(|table| {
            table.on(
                "secret",
                quick(|toy: &Toy, _: NoArgs| {
                    toy.secrets.fetch_add(1, Ordering::SeqCst);
                    text_reply("secret")
                }),
            )
        })
}

/// A call of the positional toy, and its reply.
const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}"#;
const CALLED: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"0xa868\"}\n";

/// The toy of the positional dialect.
fn positional<S: Send + Sync + 'static>() -> MethodTable<S> {
    MethodTable::new("evm")
        .alias("eth")
        .on_list("chainId", quick(|_: &S, ()| Ok("0xa868")))
        .on_list("fails", quick(|_: &S, ()| Err::<(), _>(RpcError::new("no luck"))))
        .trusted_callers_only(|table| table.on_list("secret", quick(|_: &S, ()| Ok("secret"))))
        .on_list(
            "long",
            quick(|_: &S, (size,): (u64,)| Ok("x".repeat(usize::try_from(size).unwrap()))),
        )
        .params(&["size"])
}

/// A running server.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) routes: Arc<Routes>,
    pub(crate) figures: Figures,
    pub(crate) toy: Arc<Toy>,
    pub(crate) ready: Readiness,
    state: Arc<HttpState>,
    stop: watch::Sender<bool>,
    serving: JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::with(HttpConfig::default()).await
    }

    pub(crate) async fn with(config: HttpConfig) -> Self {
        Self::with_endpoints(config, &[]).await
    }

    pub(crate) async fn with_endpoints(config: HttpConfig, further: &[(&str, Endpoint)]) -> Self {
        Self::with_tls(config, further, None).await
    }

    pub(crate) async fn with_tls(
        config: HttpConfig,
        further: &[(&str, Endpoint)],
        tls: Option<Tls>,
    ) -> Self {
        let toy = Arc::new(Toy {
            waiting: Semaphore::new(0),
            go: Semaphore::new(0),
            secrets: AtomicUsize::new(0),
        });
        let service: Service = methods().bind(Arc::clone(&toy));
        let figures = Figures::new();
        let routes = Arc::new(Routes::new(Arc::new(figures.clone())));
        routes.node("toy", Endpoint::Object(service.clone())).unwrap();
        routes.node("metrics", Endpoint::Page(Arc::new(ToyPage))).unwrap();
        for (path, endpoint) in further {
            routes.node(path, endpoint.clone()).unwrap();
        }
        let ready = Readiness::ready();
        let of_chain =
            ["", "/wallet"].map(|suffix| (suffix, Endpoint::Object(service.clone()))).to_vec();
        routes.chain(&CHAIN, &["X", "avm"], of_chain, &ready).unwrap();

        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let node_id = NodeId(ShortId::new([1; 20]));
        let state =
            HttpState::new(config, Arc::clone(&routes), &node_id, Arc::new(figures.clone()));
        let state = Arc::new(state);
        let stop = watch::Sender::new(false);
        let serving = tokio::spawn(serve(vec![listener], tls, Arc::clone(&state), stopped(&stop)));
        Self { address, routes, figures, toy, ready, state, stop, serving }
    }

    /// A further listener, with paths of its own.
    pub(crate) async fn further(&self, routes: Routes) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(self.state.with_routes(Arc::new(routes)));
        tokio::spawn(serve(vec![listener], None, state, stopped(&self.stop)));
        address
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(self.address).await
    }

    /// One request on a connection of its own.
    pub(crate) async fn send(&self, request: &str) -> Reply {
        self.client().await.send(request).await
    }

    /// One call.
    pub(crate) async fn call(&self, path: &str, method: &str) -> Reply {
        self.client().await.call(path, method).await
    }

    pub(crate) async fn stop(self) {
        self.stop.send_replace(true);
        self.serving.await.unwrap();
    }

    /// The value of a series, by its text.
    pub(crate) fn metric(&self, series: &str) -> Option<f64> {
        self.figures.get(series)
    }

    /// Waits until a series has this value.
    pub(crate) async fn until_metric(&self, series: &str, value: f64) {
        let reached = async {
            while self.metric(series) != Some(value) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        let in_time = tokio::time::timeout(Duration::from_secs(20), reached).await;
        assert!(in_time.is_ok(), "{series} is {:?}", self.metric(series));
    }
}

/// Is ready when `stop` is true, or gone.
fn stopped(stop: &watch::Sender<bool>) -> impl Future<Output = ()> + use<> {
    let mut stop = stop.subscribe();
    async move {
        let _gone = stop.wait_for(|stop| *stop).await;
    }
}
