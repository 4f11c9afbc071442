//! Subscriptions to what is accepted, over websockets: blocks, transactions, changes of UTXOs
//! (docs/api/xvm-events.md).
//!
//! - `kind`: what can be subscribed to, the arguments, and what matches them.
//! - `text`: the notifications.
//! - `session`: one connection: its subscriptions, and how far each is.
//!
//! Each subscription has the height of the block that it takes next. A connection keeps no blocks for a client but those
//! of one read of the store.

mod kind;
mod session;
#[cfg(test)]
mod tests;
mod text;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use esker_rpc::handler::quick;
use esker_rpc::socket::{SocketDialect, SocketSession};
use esker_rpc::{MethodTable, RpcError, Service, cost};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::kind::SubscribeArgs;
use self::session::{Connection, EventSession};
use crate::chain::Xvm;

/// Path of the websockets, below the chain's name.
pub(super) const WS: &str = "/ws";

/// Subscriptions of one connection.
const MAX_SUBSCRIPTIONS: usize = 1024;
/// Addresses and assets of one subscription.
const MAX_CRITERIA: usize = 1024;
/// Addresses and assets of all subscriptions of a connection, bytes.
const MAX_CRITERIA_BYTES: usize = 1024 * 1024;
/// Blocks that a subscription may be behind, once it had caught up.
const MAX_LAG: u64 = 4096;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct UnsubscribeArgs {
    /// As `subscribe` returned it.
    subscription: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct UnsubscribeReply {
    success: bool,
}

/// The websockets of a chain.
#[derive(Debug)]
pub(super) struct EventSocket {
    vm: Arc<Xvm>,
    /// The methods, for figures: each connection has its own.
    methods: Service,
    numbers: AtomicU64,
}

impl EventSocket {
    /// Websockets of this chain.
    pub(super) fn new(vm: Arc<Xvm>) -> Self {
        Self { vm, methods: methods(None), numbers: AtomicU64::new(0) }
    }
}

impl SocketDialect for EventSocket {
    fn service(&self) -> &Service {
        &self.methods
    }

    fn separator(&self) -> char {
        '.'
    }

    fn connect(&self) -> Arc<dyn SocketSession> {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let connection = Arc::new(Connection::new(Arc::clone(&self.vm), number));
        Arc::new(EventSession::new(methods(Some(Arc::clone(&connection))), connection))
    }
}

/// A connection that can be notified; `None` over HTTP.
type Subscriber = Option<Arc<Connection>>;

/// The methods of one connection.
fn methods(subscriber: Subscriber) -> Service {
    let table = MethodTable::<Subscriber>::new("xvm")
        .alias("avm")
        .on(
            "subscribe",
            quick(|subscriber: &Subscriber, args: SubscribeArgs| {
                subscriber.as_ref().ok_or_else(no_socket)?.subscribe(&args)
            }),
        )
        .cost(cost::SEARCH)
        .on(
            "unsubscribe",
            quick(|subscriber: &Subscriber, args: UnsubscribeArgs| {
                subscriber.as_ref().ok_or_else(no_socket)?.unsubscribe(&args.subscription)?;
                Ok(UnsubscribeReply { success: true })
            }),
        );
    table.bind(Arc::new(subscriber))
}

/// The same methods over HTTP, where there is nobody to notify.
pub(super) fn http_methods() -> Service {
    methods(None)
}

fn no_socket() -> RpcError {
    let text = "notifications not supported: subscriptions need a websocket, at this path with /ws";
    RpcError::new(text)
}
