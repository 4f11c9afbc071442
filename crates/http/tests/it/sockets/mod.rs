//! Websockets (docs/protocol/positional-dialect.md, "Websockets"), over the whole server.

mod bad_input;
mod calls;
pub(super) mod client;
mod dialects;
mod handshake;
mod limits;
mod notifications;
mod notifier;

use std::sync::Arc;

use esker_http::{Endpoint, HttpConfig, Readiness};
use esker_primitives::ChainId;
use esker_rpc::handler::waits;
use esker_rpc::positional::{self, Limits};
use tokio::sync::Semaphore;

use self::client::Socket;
use self::notifier::Bell;
use super::{CALL, CALLED, Server, positional};

const PATH: &str = "/ext/bc/C/ws";

/// The headers of a handshake.
pub(super) const HANDSHAKE: &str = "Host: localhost\nConnection: keep-alive, Upgrade\n\
    Upgrade: websocket\nSec-WebSocket-Version: 13\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\n";

/// The state that the methods share with the test.
struct Shared {
    /// Calls of `waits` that have begun.
    begun: Semaphore,
    /// Lets calls of `waits` end.
    go: Semaphore,
}

/// A server with a chain that has websockets.
struct World {
    server: Server,
    shared: Arc<Shared>,
    bell: Arc<Bell>,
}

impl World {
    async fn new(config: HttpConfig) -> Self {
        let shared = Arc::new(Shared { begun: Semaphore::new(0), go: Semaphore::new(0) });
        let service = positional()
            .on_list(
                "waits",
                waits(|shared: Arc<Shared>, ()| async move {
                    shared.begun.add_permits(1);
                    shared.go.acquire().await.unwrap().forget();
                    Ok("waited")
                }),
            )
            .bind(Arc::clone(&shared));
        let bell = Arc::new(Bell::default());
        let rpc = positional::Server::new(service, Limits::default()).with_notifier(bell.clone());
        let server = Server::with(config).await;
        let endpoints = vec![
            ("/rpc", Endpoint::Positional(rpc.clone())),
            ("/ws", Endpoint::Socket(Arc::new(rpc))),
        ];
        let chain = ChainId::new([8; 32]);
        server.routes.chain(&chain, &["C", "evm"], endpoints, &Readiness::ready()).unwrap();
        Self { server, shared, bell }
    }

    fn socket(&self) -> Socket {
        Socket::open(self.server.address, PATH)
    }

    /// Somebody else is answered.
    fn is_unharmed(&self) {
        assert_eq!(self.socket().ask(CALL), CALLED);
    }

    async fn begun(&self, calls: u32) {
        self.shared.begun.acquire_many(calls).await.unwrap().forget();
    }
}

fn request(id: u32, method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":[]}}"#)
}

fn result(id: u32, text: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":\"{text}\"}}\n")
}
