//! The subscriptions of one connection.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use esker_evm::view::ChainPosition;
use esker_primitives::sync::Mutex;
use esker_rpc::discover::SubscriptionMethods;
use esker_rpc::positional::{Notification, Notifier, Overrun, RpcId, Session, Subscriber};
use esker_rpc::{Caller, Params, RpcError};

use super::event::{Event, Item, SECTIONS};
use super::hub::{Listener, Slot, Subscriptions};
use super::kind::{Kind, Source};
use super::{MAX_CRITERIA_BYTES, MAX_KEPT_BYTES, MAX_KEPT_EVENTS, MAX_SUBSCRIPTIONS};

/// Items that are examined before other tasks have their turn.
const MAX_ITEMS_A_POLL: usize = 16_384;

/// A connection that can be notified.
struct SubscriptionSession {
    hub: Option<Arc<Subscriptions>>,
    number: u64,
    /// Locked before the inbox.
    state: Mutex<State>,
    inbox: Mutex<Inbox>,
    me: Weak<Self>,
}

/// Incoming events, and the amount that is kept.
#[derive(Default)]
struct Inbox {
    events: VecDeque<Arc<Event>>,
    /// Subscriptions to blocks, to pending transactions and to dropped ones.
    of_blocks: usize,
    of_pending: usize,
    of_dropped: usize,
    of_removed_logs: usize,
    of_printed: usize,
    /// Events kept here or in the state; one that is kept for several subscriptions counts for each.
    kept_events: usize,
    kept_bytes: usize,
    is_overrun: bool,
    waker: Option<Waker>,
}

#[derive(Default)]
struct State {
    /// In the order in which they were made, which is that of their numbers.
    subscriptions: Vec<Subscription>,
    made: u64,
    /// Earlier events for one subscription, which it gets before new ones.
    late: VecDeque<(u64, Arc<Event>)>,
    /// The event that is being delivered.
    current: Option<Delivery>,
}

struct Subscription {
    number: u64,
    id: String,
    prefix: Bytes,
    kind: Kind,
    /// The chain's position when it was made; later blocks are reported.
    since: ChainPosition,
    activation: Activation,
    slot: Slot,
}

/// Until the reply with its ID is on its way, a subscription keeps events.
enum Activation {
    Waiting(Vec<Arc<Event>>),
    /// The reply has been sent: kept events are delivered before the next one.
    Released(Vec<Arc<Event>>),
    Active,
}

/// The progress of the delivery of an event.
struct Delivery {
    event: Arc<Event>,
    /// Only this subscription gets it.
    only: Option<u64>,
    section: usize,
    /// The next subscription, and the next of its items.
    number: u64,
    item: usize,
}

/// One step of a delivery.
enum DeliveryStep {
    Notification(Notification),
    /// Every subscription has it.
    Done,
    /// Other tasks have their turn first.
    Yield,
}

impl Notifier for Subscriptions {
    fn subscriptions(&self) -> SubscriptionMethods {
        Kind::methods()
    }

    fn connect(&self) -> Arc<dyn Session> {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        SubscriptionSession::new(self.me.upgrade(), number)
    }
}

impl Listener for SubscriptionSession {
    fn push(&self, event: &Arc<Event>, bytes: usize) {
        let mut inbox = self.inbox.lock();
        if *inbox.wanting(event.source()) > 0 && inbox.keep(bytes) {
            inbox.events.push_back(Arc::clone(event));
            inbox.wake();
        }
    }

    fn mark_lagged(&self, source: Source) {
        let mut inbox = self.inbox.lock();
        if *inbox.wanting(source) > 0 {
            inbox.overrun();
        }
    }
}

impl SubscriptionSession {
    fn new(hub: Option<Arc<Subscriptions>>, number: u64) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            hub,
            number,
            state: Mutex::new_named("evm.connected", State::default()),
            inbox: Mutex::new_named("evm.inbox", Inbox::default()),
            me: Weak::clone(me),
        })
    }

    /// The next event, or what one has to catch up with.
    fn next_delivery(&self, state: &mut State) -> Option<Delivery> {
        state.activate_released();
        let (event, only) = match state.late.pop_front() {
            Some((number, event)) => (event, Some(number)),
            None => {
                let event = self.inbox.lock().events.pop_front()?;
                let bytes = event.bytes();
                for _ in 0..state.keep_for_waiting(&event) {
                    self.inbox.lock().keep(bytes);
                }
                (event, None)
            }
        };
        Some(Delivery { event, only, section: 0, number: 0, item: 0 })
    }

    fn release_event(&self, event: &Event) {
        let mut inbox = self.inbox.lock();
        inbox.kept_events = inbox.kept_events.saturating_sub(1);
        inbox.kept_bytes = inbox.kept_bytes.saturating_sub(event.bytes());
    }
}

impl Inbox {
    /// Number of subscriptions to this source.
    fn wanting(&mut self, source: Source) -> &mut usize {
        match source {
            Source::Pending => &mut self.of_pending,
            Source::Dropped => &mut self.of_dropped,
            Source::RemovedLogs => &mut self.of_removed_logs,
            Source::Printed => &mut self.of_printed,
            Source::Blocks => &mut self.of_blocks,
        }
    }

    /// Changes the counts of the sources of a kind.
    fn count(&mut self, kind: &Kind, change: impl Fn(&mut usize)) {
        kind.sources().into_iter().flatten().for_each(|source| change(self.wanting(source)));
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// Counts one more kept event; returns whether it may be kept. A single event may have any size.
    fn keep(&mut self, bytes: usize) -> bool {
        self.kept_events += 1;
        self.kept_bytes += bytes;
        let is_large = self.kept_events > 1 && self.kept_bytes > MAX_KEPT_BYTES;
        if self.kept_events > MAX_KEPT_EVENTS || is_large {
            self.overrun();
        }
        !self.is_overrun
    }

    /// Gives up and drops the kept events.
    fn overrun(&mut self) {
        self.is_overrun = true;
        self.events = VecDeque::new();
        self.wake();
    }
}

impl State {
    fn activate_released(&mut self) {
        for subscription in &mut self.subscriptions {
            if let Activation::Released(kept) = &mut subscription.activation {
                let number = subscription.number;
                self.late.extend(kept.drain(..).map(|event| (number, event)));
                subscription.activation = Activation::Active;
            }
        }
    }

    /// Returns for how many subscriptions the event is kept.
    fn keep_for_waiting(&mut self, event: &Arc<Event>) -> usize {
        let mut kept_for = 0;
        for subscription in &mut self.subscriptions {
            if let Activation::Waiting(kept) = &mut subscription.activation
                && subscription.kind.wants(event.source())
            {
                kept.push(Arc::clone(event));
                kept_for += 1;
            }
        }
        kept_for
    }
}

impl Delivery {
    /// The next notification; `budget` is how many items may still be examined.
    fn poll_next(&mut self, subscriptions: &[Subscription], budget: &mut usize) -> DeliveryStep {
        while self.section < SECTIONS {
            let at = subscriptions.partition_point(|known| known.number < self.number);
            let Some(subscription) = subscriptions.get(at) else {
                (self.section, self.number, self.item) = (self.section + 1, 0, 0);
                continue;
            };
            if self.number < subscription.number {
                (self.number, self.item) = (subscription.number, 0);
            }
            if *budget == 0 {
                return DeliveryStep::Yield;
            }
            *budget = budget.saturating_sub(subscription.kind.item_cost());
            let Subscription { number, prefix, kind, since, activation, .. } = subscription;
            let is_recipient = match self.only {
                Some(only) => only == *number,
                None => matches!(activation, Activation::Active),
            };
            let item = match is_recipient {
                true => self.event.item(self.section, self.item, kind, since),
                false => Item::End,
            };
            self.item += 1;
            match item {
                Item::Skipped => {}
                Item::End => (self.number, self.item) = (self.number + 1, 0),
                Item::Text(result) => {
                    let prefix = prefix.clone();
                    return DeliveryStep::Notification(Notification { prefix, result });
                }
            }
        }
        DeliveryStep::Done
    }
}

impl Subscriber for SubscriptionSession {
    fn subscribe(
        &self,
        namespace: &str,
        kind: &str,
        params: Params<'_>,
        _: &Caller,
    ) -> Option<Result<String, RpcError>> {
        let kind = match Kind::read(namespace, kind, params)? {
            Ok(kind) => kind,
            Err(error) => return Some(Err(error)),
        };
        let keeps_console = || self.hub.as_ref().is_none_or(|hub| hub.keeps_console());
        if matches!(kind, Kind::Console) && !keeps_console() {
            return None;
        }
        Some(self.add(namespace, kind))
    }

    fn unsubscribe(&self, id: &str) -> bool {
        let mut state = self.state.lock();
        let known = state.subscriptions.iter().position(|subscription| subscription.id == id);
        let Some(gone) = known.map(|at| state.subscriptions.remove(at)) else { return false };
        self.inbox.lock().count(&gone.kind, |wanting| *wanting -= 1);
        if let Activation::Waiting(kept) | Activation::Released(kept) = &gone.activation {
            kept.iter().for_each(|event| self.release_event(event));
        }
        true
    }
}

impl SubscriptionSession {
    fn add(&self, namespace: &str, kind: Kind) -> Result<String, RpcError> {
        let gone = || RpcError::new("the node is shutting down");
        let hub = self.hub.as_ref().ok_or_else(gone)?;
        let slot = hub.reserve(self.me.clone(), self.number, &kind)?;
        let id = RpcId::random(&hub.randomness).0;
        let mut state = self.state.lock();
        let mine = &state.subscriptions;
        let bytes: usize = mine.iter().map(|other| other.slot.bytes).sum();
        if mine.len() >= MAX_SUBSCRIPTIONS || bytes + slot.bytes > MAX_CRITERIA_BYTES {
            return Err(RpcError::new("too many subscriptions on this connection"));
        }
        state.made += 1;
        // While the inbox is locked no event comes in: one of a block up to here came in before, if at all,
        // and those after it will be.
        let mut inbox = self.inbox.lock();
        inbox.count(&kind, |wanting| *wanting += 1);
        let since = hub.chain.position();
        drop(inbox);
        let subscription = Subscription {
            number: state.made,
            prefix: Notification::prefix(namespace, &id),
            id: id.clone(),
            kind,
            since,
            activation: Activation::Waiting(Vec::new()),
            slot,
        };
        state.subscriptions.push(subscription);
        Ok(id)
    }
}

impl Session for SubscriptionSession {
    fn release(&self, id: &str) {
        let mut state = self.state.lock();
        let known = state.subscriptions.iter_mut().find(|subscription| subscription.id == id);
        if let Some(Subscription { activation, .. }) = known
            && let Activation::Waiting(kept) = activation
        {
            *activation = Activation::Released(std::mem::take(kept));
            self.inbox.lock().wake();
        }
    }

    fn poll_notifications(
        &self,
        cx: &mut Context<'_>,
        room: usize,
        out: &mut dyn FnMut(Notification),
    ) -> Poll<Result<(), Overrun>> {
        let mut state = self.state.lock();
        let (mut taken, mut budget) = (0, MAX_ITEMS_A_POLL);
        while taken < room {
            let current = state.current.take();
            let next = current.or_else(|| self.next_delivery(&mut state));
            let Some(mut delivery) = next else { break };
            match delivery.poll_next(&state.subscriptions, &mut budget) {
                DeliveryStep::Done => {
                    self.release_event(&delivery.event);
                    continue;
                }
                DeliveryStep::Notification(notification) => {
                    taken += notification.len();
                    out(notification);
                    state.current = Some(delivery);
                }
                DeliveryStep::Yield => {
                    state.current = Some(delivery);
                    cx.waker().wake_by_ref();
                    break;
                }
            }
        }
        let mut inbox = self.inbox.lock();
        if inbox.is_overrun {
            return Poll::Ready(Err(Overrun));
        }
        if taken > 0 {
            return Poll::Ready(Ok(()));
        }
        if room > 0 && !inbox.events.is_empty() {
            // They arrived just now.
            cx.waker().wake_by_ref();
        }
        inbox.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for SubscriptionSession {
    fn drop(&mut self) {
        if let Some(hub) = &self.hub {
            hub.forget(self.number);
        }
    }
}

impl fmt::Debug for SubscriptionSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubscriptionSession").field("number", &self.number).finish_non_exhaustive()
    }
}
