//! The positional dialect: `namespace_method`, a list of arguments, batches, notifications.
//!
//! It is the reference's dialect of the EVM endpoints (docs/protocol/positional-dialect.md, "Positional dialect"),
//! answered byte for byte: which messages are calls, which errors end with a newline, what an ID looks like in the
//! reply.
//!
//! - [`Server`] answers messages, whatever carries them. A connection that can be notified brings a
//!   [`Subscriber`]; over HTTP there is none.
//! - A [`Notifier`] makes a [`Session`] for each such connection: its subscriptions and pending notifications.
//! - [`http`] is what HTTP adds: methods, content types, sizes.
//!
//! ```
//! # use std::sync::Arc;
//! use esker_rpc::handler::quick;
//! use esker_rpc::{Caller, MethodTable, positional::{Limits, Server}};
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
//! # runtime.block_on(async {
//! let service = MethodTable::new("evm")
//!     .alias("eth")
//!     .on_list("chainId", quick(|(), ()| Ok("0xa868")))
//!     .bind(Arc::new(()));
//! let server = Server::new(service, Limits::default());
//! let body = br#"[{"jsonrpc": "2.0", "id": 1.50, "method": "eth_chainId"}]"#;
//! let answer = server.answer(body, None, &Caller::default()).await;
//! assert_eq!(answer.body, b"[{\"jsonrpc\":\"2.0\",\"id\":1.50,\"result\":\"0xa868\"}]\n");
//! # });
//! ```

mod batch;
mod call;
mod errors;
pub mod http;
mod id;
mod message;
mod modules;
mod part_queue;
mod reply;
mod session;
mod socket;
mod subscriptions;

use std::sync::Arc;
use std::time::Duration;

pub use self::{
    batch::{BatchAnswer, is_batch},
    id::RpcId,
    session::{Notification, Notifier, Session},
    subscriptions::Subscriber,
};
use self::{
    call::{Calls, Outcome},
    message::{Incoming, Message, MessageKind},
    part_queue::PartQueue,
    session::{Joined, NoNotifications, SubscriptionRecorder},
};
use crate::context::Caller;
use crate::cost;
use crate::discover::{EndpointInfo, SubscriptionMethods};
use crate::error::RpcError;
use crate::service::Service;
pub use crate::socket::Overrun;
use crate::work::{RateExceeded, ReplyBytes};

/// Messages in one batch, unless configured otherwise.
pub const DEFAULT_BATCH_ITEMS: usize = 1000;
/// Bytes of results in one batch, unless configured otherwise.
pub const DEFAULT_BATCH_REPLY_BYTES: usize = 25_000_000;
/// Bytes of a request's body, unless configured otherwise.
pub const DEFAULT_BODY_BYTES: usize = 5 * 1024 * 1024;
/// Time for the answer to a message, a batch being one, unless configured otherwise: a little less than the
/// 30 s that a client has to take a reply.
pub const DEFAULT_CALL_TIMEOUT: Duration = Duration::from_millis(29_900);

/// Whose texts errors of unknown methods and of arguments have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ErrorTexts {
    /// Those of geth.
    #[default]
    Geth,
    /// Those of anvil.
    Anvil,
    /// Those of Hardhat's node.
    Hardhat,
}

/// Bounds of one endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Messages in one batch; 0 means any number.
    pub batch_items: usize,
    /// Whether websockets serve the methods of HTTP too, not only subscriptions.
    pub methods_on_sockets: bool,
    /// Bytes of results in one batch, after which the calls left are answered with an error; the result
    /// that crosses the limit is still there. 0 means any number.
    pub batch_reply_bytes: usize,
    /// Bytes of a request's body.
    pub body_bytes: usize,
    /// Time for the answer to a message, a batch being one.
    pub call_timeout: Duration,
    /// Whose texts errors have.
    pub error_texts: ErrorTexts,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            batch_items: DEFAULT_BATCH_ITEMS,
            methods_on_sockets: true,
            batch_reply_bytes: DEFAULT_BATCH_REPLY_BYTES,
            body_bytes: DEFAULT_BODY_BYTES,
            call_timeout: DEFAULT_CALL_TIMEOUT,
            error_texts: ErrorTexts::default(),
        }
    }
}

/// A method's namespace and name, both canonical.
pub type MethodName = (&'static str, &'static str);

const SUBSCRIBE: &str = "subscribe";
const UNSUBSCRIBE: &str = "unsubscribe";

/// The answer to one message or batch.
#[derive(Debug, PartialEq, Eq, Default)]
pub struct Answer {
    /// The bytes to send; nothing for notifications and responses.
    pub body: ReplyBytes,
    /// The bytes that follow them, for a large batch.
    pub rest: Vec<ReplyBytes>,
    /// The method of a single call, by its canonical namespace and name, for metrics.
    pub method: Option<MethodName>,
    /// Whether it is the error to a single call, or to a batch as a whole.
    pub failed: bool,
    /// Nothing of the message ran, because the client's address has used its units: seconds after which it may try again.
    pub retry_after_s: Option<u32>,
}

/// The methods of one endpoint in this dialect. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Server {
    service: Service,
    limits: Limits,
    notifiers: Vec<Arc<dyn Notifier>>,
    /// Namespaces with subscriptions, each with its other names.
    subscriptions: Vec<(&'static str, &'static [&'static str])>,
}

impl Server {
    /// A server of these methods, and of `rpc_modules`, which lists their namespaces.
    #[must_use]
    pub fn new(service: Service, limits: Limits) -> Self {
        Self {
            service: modules::with_modules(service),
            limits,
            notifiers: Vec::new(),
            subscriptions: Vec::new(),
        }
    }

    /// The same with more subscriptions, for connections that can be notified. Where two notifiers have the same kind of
    /// subscription, the first one counts.
    #[must_use]
    pub fn with_notifier(mut self, notifier: Arc<dyn Notifier>) -> Self {
        let SubscriptionMethods { namespace, namespace_aliases, .. } = notifier.subscriptions();
        self.subscriptions.push((namespace, namespace_aliases));
        self.notifiers.push(notifier);
        self
    }

    /// The same with `rpc.discover`, which describes its methods and the subscriptions added so far.
    ///
    /// # Panics
    ///
    /// If it has the method already.
    #[must_use]
    pub fn with_discovery(mut self, info: &EndpointInfo) -> Self {
        let subscriptions: Vec<_> =
            self.notifiers.iter().map(|notifier| notifier.subscriptions()).collect();
        self.service = self.service.with_positional_discovery(info, &subscriptions);
        self
    }

    /// The methods that begin and end subscriptions, by canonical namespace and name. No table has them.
    pub fn subscription_methods(&self) -> impl Iterator<Item = MethodName> {
        let namespaces = self.subscriptions.iter().map(|(namespace, _)| *namespace);
        namespaces.flat_map(|namespace| [SUBSCRIBE, UNSUBSCRIBE].map(|name| (namespace, name)))
    }

    /// The one of them that a client calls by this name.
    fn subscription_method(&self, called: &str) -> Option<MethodName> {
        let (called_namespace, called_name) = called.rsplit_once('_')?;
        self.subscriptions.iter().find_map(|(namespace, aliases)| {
            let names = [namespace].into_iter().chain(aliases.iter());
            let is_called = names.into_iter().any(|name| *name == called_namespace);
            let name = [SUBSCRIBE, UNSUBSCRIBE].into_iter().find(|name| *name == called_name);
            name.filter(|_| is_called).map(|name| (*namespace, name))
        })
    }

    /// A new session, to be kept for as long as the connection is open.
    #[must_use]
    pub fn connect(&self) -> Arc<dyn Session> {
        match &*self.notifiers {
            [] => Arc::new(NoNotifications),
            [one] => one.connect(),
            all => Arc::new(Joined(all.iter().map(|notifier| notifier.connect()).collect())),
        }
    }

    /// The methods.
    #[must_use]
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// The bounds.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Answers one message or batch. Any bytes have an answer; it may be empty.
    ///
    /// Dropping the future cancels the call that runs (see [`crate::Method::call`]) and leaves out those
    /// after it.
    pub async fn answer(
        &self,
        body: &[u8],
        subscriber: Option<&dyn Subscriber>,
        caller: &Caller,
    ) -> Answer {
        let calls = Calls::new(self, subscriber, caller);
        match message::read(body) {
            Incoming::Nothing => match caller.charge(cost::READ) {
                Ok(()) => Answer::default(),
                Err(exceeded) => Answer::rate_exceeded(exceeded),
            },
            Incoming::Broken => match caller.charge(cost::READ) {
                Ok(()) => Answer::refusal(&RpcError::with_code(RpcError::PARSE, "parse error")),
                Err(exceeded) => Answer::rate_exceeded(exceeded),
            },
            Incoming::Single(message) => single(&calls, &message).await,
            Incoming::Batch(list) => {
                let parts = PartQueue::new(usize::MAX);
                let failed = batch::answer(&calls.in_batch(), list, &parts).await;
                let body = parts.take(true).unwrap_or_default();
                let rest = std::iter::from_fn(|| parts.take(true)).collect();
                Answer { body, rest, method: None, failed, retry_after_s: parts.retry_after_s() }
            }
        }
    }

    /// The same over a connection that can be notified. Also returns the IDs of the subscriptions that the message
    /// created: release them as soon as the answer is sent.
    pub async fn answer_with_session(
        &self,
        session: &dyn Session,
        body: &[u8],
        caller: &Caller,
    ) -> (Answer, Vec<String>) {
        let recorder = SubscriptionRecorder::new(session);
        let answer = self.answer(body, Some(&recorder), caller).await;
        (answer, recorder.made())
    }

    /// Answers a batch part by part; true: it failed.
    async fn answer_into(&self, body: &[u8], caller: &Caller, parts: &PartQueue) -> bool {
        match message::read(body) {
            Incoming::Batch(list) => {
                let calls = Calls::new(self, None, caller).in_batch();
                batch::answer(&calls, list, parts).await
            }
            // Not a complete batch, so the answer is small.
            Incoming::Nothing | Incoming::Broken | Incoming::Single(_) => {
                let answer = self.answer(body, None, caller).await;
                if let Some(seconds) = answer.retry_after_s {
                    parts.set_retry_after_s(seconds);
                }
                parts.write(None, |out| out.extend_from_slice(&answer.body));
                answer.failed
            }
        }
    }
}

impl Answer {
    /// All of it.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        let mut bytes = self.body.into_vec();
        self.rest.iter().for_each(|part| bytes.extend_from_slice(part));
        bytes
    }

    /// The error for a body that is no message; it has no closing newline.
    fn refusal(error: &RpcError) -> Self {
        let mut body = Vec::new();
        reply::error(error, None, &mut body);
        Self { body: body.into(), failed: true, ..Self::default() }
    }

    /// The error for a message without an ID.
    fn rate_exceeded(exceeded: RateExceeded) -> Self {
        let retry_after_s = Some(exceeded.retry_after_s());
        Self { retry_after_s, ..Self::refusal(&exceeded.into()) }
    }
}

async fn single(calls: &Calls<'_>, message: &Message<'_>) -> Answer {
    let kind = message.kind();
    let (outcome, method) = calls.run(message).await;
    let mut answer = Answer { method, ..Answer::default() };
    match outcome {
        Outcome::RateExceeded(exceeded) => {
            reply::error(&exceeded.into(), message.answer_id(), answer.body.tail());
            answer.body.tail().push(b'\n');
            answer.failed = true;
            answer.retry_after_s = Some(exceeded.retry_after_s());
        }
        Outcome::Nothing => {}
        _ if kind == MessageKind::Notification => {}
        Outcome::Result { reply, .. } => {
            answer.body = reply;
            answer.body.tail().push(b'\n');
        }
        Outcome::Error(error) => {
            reply::error(&error, message.answer_id(), answer.body.tail());
            answer.body.tail().push(b'\n');
            answer.failed = true;
        }
        Outcome::TimedOut => {
            reply::error(&errors::timed_out(), message.answer_id(), answer.body.tail());
            answer.failed = true;
        }
    }
    answer
}
