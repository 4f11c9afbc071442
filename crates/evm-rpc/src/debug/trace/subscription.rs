//! `traceChain`: the traces of a range of blocks, one notification a block. The next block is traced when the client
//! has taken the last one.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use esker_primitives::Randomness;
use esker_primitives::sync::Mutex;
use esker_rpc::args::FromParams;
use esker_rpc::discover::{SubscriptionKind, SubscriptionMethods};
use esker_rpc::positional::{Notification, Notifier, Overrun, RpcId, Session, Subscriber};
use esker_rpc::{Caller, Params, RpcError, cost, off_thread_restartable};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::chain::{self, Blocks};
use super::config::TraceConfig;
use super::run::above_head;
use super::schema::BlockTrace;
use crate::evm::TransactApi;
use crate::wire::BlockNumber;

/// Most running subscriptions of one connection.
const MAX_RUNNING: usize = 4;
/// Most running subscriptions of all connections to a chain.
const MAX_ALL_RUNNING: usize = 64;
/// Most known subscriptions of a connection, finished ones included.
const MAX_KNOWN: usize = 64;

/// The `traceChain` subscriptions to one chain.
pub struct ChainTraces {
    transact: Arc<TransactApi>,
    randomness: Randomness,
    running: Arc<AtomicUsize>,
    me: Weak<Self>,
}

/// A permit for a running subscription, released when dropped.
struct RunningPermit(Arc<AtomicUsize>);

/// A connection that can be notified.
struct TraceSession {
    traces: Option<Arc<ChainTraces>>,
    state: Mutex<State>,
    me: Weak<Self>,
}

#[derive(Default)]
struct State {
    /// Ordered by the last notification, the oldest first.
    subscriptions: VecDeque<Subscription>,
    waker: Option<Waker>,
}

struct Subscription {
    id: String,
    prefix: Bytes,
    /// Whether the reply with its ID has been sent.
    is_released: bool,
    next: Arc<NextNotification>,
    task: JoinHandle<()>,
}

/// The next notification of a subscription.
#[derive(Default)]
struct NextNotification {
    result: Mutex<Option<Bytes>>,
    taken: Notify,
}

impl ChainTraces {
    /// Subscriptions to the traces of a chain.
    pub fn new(transact: &Arc<TransactApi>, randomness: Randomness) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            transact: Arc::clone(transact),
            randomness,
            running: Arc::default(),
            me: Weak::clone(me),
        })
    }

    /// Subscriptions that run, for metrics.
    pub fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("traceChain", self.running.load(Ordering::Relaxed) as u64)]
    }

    fn place(&self) -> Result<RunningPermit, RpcError> {
        let place = RunningPermit(Arc::clone(&self.running));
        match self.running.fetch_add(1, Ordering::Relaxed) < MAX_ALL_RUNNING {
            true => Ok(place),
            false => Err(RpcError::new("too many subscriptions on this node")),
        }
    }

    /// The blocks of the arguments, as the reference checks them.
    fn blocks(&self, params: Params<'_>) -> Result<Blocks, RpcError> {
        type Arguments = (String, BlockNumber, BlockNumber, Option<TraceConfig>);
        let (_, start, end, config) = Arguments::from_params(params)
            .map_err(|error| RpcError::with_code(RpcError::INVALID_PARAMS, error.to_string()))?;
        let reads = &self.transact.reads;
        // Read before the blocks, so that a rewind in between is noticed.
        let rewinds = reads.chain.position().rewinds;
        let number = |number: BlockNumber| {
            let found = reads.header_by_number(number)?;
            let found = found.ok_or_else(|| above_head(&self.transact, number))?;
            Ok::<u64, RpcError>(found.header.number)
        };
        let (start, end) = (number(start)?, number(end)?);
        if start >= end {
            return Err(RpcError::new(format!(
                "end block (#{end}) needs to come after start block (#{start})"
            )));
        }
        let config = Arc::new(config.unwrap_or_default());
        Ok(Blocks { next: start + 1, last: end, rewinds, config })
    }
}

impl Drop for RunningPermit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Dropping a subscription ends its task.
impl Drop for Subscription {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Notifier for ChainTraces {
    fn subscriptions(&self) -> SubscriptionMethods {
        type Arguments = (String, BlockNumber, BlockNumber, Option<TraceConfig>);
        SubscriptionMethods {
            namespace: "debug",
            namespace_aliases: &[],
            arguments: &["start", "end", "config"],
            kinds: vec![SubscriptionKind::new::<Arguments, BlockTrace>("traceChain")],
        }
    }

    fn connect(&self) -> Arc<dyn Session> {
        let traces = self.me.upgrade();
        Arc::new_cyclic(|me| TraceSession {
            traces,
            state: Mutex::new_named("evm.chain_traces", State::default()),
            me: Weak::clone(me),
        })
    }
}

impl TraceSession {
    fn add(
        &self,
        namespace: &str,
        params: Params<'_>,
        caller: &Caller,
    ) -> Result<String, RpcError> {
        let gone = || RpcError::new("the node is shutting down");
        let traces = self.traces.as_ref().ok_or_else(gone)?;
        // It costs more than any other subscription.
        caller.charge(cost::HEAVY)?;
        let blocks = traces.blocks(params)?;
        let place = traces.place()?;
        let mut state = self.state.lock();
        let is_done = |known: &Subscription| known.task.is_finished();
        let running = state.subscriptions.iter().filter(|known| !is_done(known)).count();
        if running >= MAX_RUNNING {
            return Err(RpcError::new("too many subscriptions on this connection"));
        }
        if state.subscriptions.len() >= MAX_KNOWN
            && let Some(oldest) = state.subscriptions.iter().position(is_done)
        {
            state.subscriptions.remove(oldest);
        }
        let id = RpcId::random(&traces.randomness).0;
        let next = Arc::<NextNotification>::default();
        let work = run(
            Arc::clone(&traces.transact),
            blocks,
            caller.clone(),
            (Weak::clone(&self.me), Arc::clone(&next)),
            place,
        );
        state.subscriptions.push_back(Subscription {
            prefix: Notification::prefix(namespace, &id),
            id: id.clone(),
            is_released: false,
            next,
            task: tokio::spawn(work),
        });
        Ok(id)
    }

    fn wake(&self) {
        if let Some(waker) = self.state.lock().waker.take() {
            waker.wake();
        }
    }
}

/// Traces block after block, each when the one before it has been taken.
async fn run(
    transact: Arc<TransactApi>,
    mut blocks: Blocks,
    caller: Caller,
    (connected, next): (Weak<TraceSession>, Arc<NextNotification>),
    _place: RunningPermit,
) {
    while blocks.next <= blocks.last {
        let (traced, at) = (blocks.clone(), blocks.next);
        let transact = Arc::clone(&transact);
        let work =
            off_thread_restartable(&caller, move |context| traced.trace_next(&transact, context));
        let result = match work.await {
            Ok(Ok(traced)) => {
                blocks.next = traced.next;
                traced.result
            }
            Ok(Err(ended)) => {
                blocks.next = u64::MAX;
                Some(ended)
            }
            Err(refused) => {
                blocks.next = u64::MAX;
                Some(chain::ended(at, &refused.to_string()))
            }
        };
        let Some(result) = result else { continue };
        *next.result.lock() = Some(result);
        match connected.upgrade() {
            Some(connected) => connected.wake(),
            None => return,
        }
        next.taken.notified().await;
    }
}

impl Subscriber for TraceSession {
    fn subscribe(
        &self,
        namespace: &str,
        kind: &str,
        params: Params<'_>,
        caller: &Caller,
    ) -> Option<Result<String, RpcError>> {
        (namespace == "debug" && kind == "traceChain").then(|| self.add(namespace, params, caller))
    }

    fn unsubscribe(&self, id: &str) -> bool {
        let mut state = self.state.lock();
        let known = state.subscriptions.iter().position(|known| known.id == id);
        known.and_then(|at| state.subscriptions.remove(at)).is_some()
    }
}

impl Session for TraceSession {
    fn release(&self, id: &str) {
        let mut state = self.state.lock();
        if let Some(known) = state.subscriptions.iter_mut().find(|known| known.id == id) {
            known.is_released = true;
        }
        drop(state);
        self.wake();
    }

    fn poll_notifications(
        &self,
        cx: &mut Context<'_>,
        room: usize,
        out: &mut dyn FnMut(Notification),
    ) -> Poll<Result<(), Overrun>> {
        let mut state = self.state.lock();
        let mut taken = 0;
        // Subscriptions without a notification now come first next time.
        for _ in 0..state.subscriptions.len() {
            if taken >= room {
                break;
            }
            let Some(subscription) = state.subscriptions.pop_front() else { break };
            if subscription.is_released
                && let Some(result) = subscription.next.result.lock().take()
            {
                let notification = Notification { prefix: subscription.prefix.clone(), result };
                taken += notification.len();
                out(notification);
                subscription.next.taken.notify_one();
            }
            state.subscriptions.push_back(subscription);
        }
        if taken > 0 {
            return Poll::Ready(Ok(()));
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl fmt::Debug for ChainTraces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChainTraces").field("running", &self.running).finish_non_exhaustive()
    }
}

impl fmt::Debug for TraceSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceSession").finish_non_exhaustive()
    }
}
