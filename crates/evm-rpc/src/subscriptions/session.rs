//! The subscriptions of one connection.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use esker_primitives::sync::Mutex;
use esker_rpc::evm::{Notification, Overrun, RpcId, Session, Subscriber};
use esker_rpc::{Params, RpcError};

use super::event::{Event, Look, SECTIONS};
use super::hub::{Place, Subscriptions};
use super::kind::{Kind, Source};
use super::{MAX_CRITERIA_BYTES, MAX_KEPT_BYTES, MAX_KEPT_EVENTS, MAX_SUBSCRIPTIONS};

/// Items that are looked at before other tasks have their turn.
const MAX_LOOKS: usize = 16_384;

/// A connection that can be notified.
pub(super) struct Connected {
    hub: Option<Arc<Subscriptions>>,
    number: u64,
    /// Locked before the inbox.
    state: Mutex<State>,
    inbox: Mutex<Inbox>,
    me: Weak<Self>,
}

/// What comes from the chain, and how much is kept.
#[derive(Default)]
struct Inbox {
    events: VecDeque<Arc<Event>>,
    /// Subscriptions to blocks, to pending transactions and to dropped ones.
    of_blocks: usize,
    of_pending: usize,
    of_dropped: usize,
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
    /// Events that one subscription has to catch up with, before any new one.
    late: VecDeque<(u64, Arc<Event>)>,
    /// What is being told.
    now: Option<Telling>,
}

struct Subscription {
    number: u64,
    id: String,
    opening: Bytes,
    kind: Kind,
    /// The height at which it was made: of blocks above it is told.
    since: u64,
    silence: Silence,
    place: Place,
}

/// Until the reply that tells its ID is on its way, a subscription keeps what happens.
enum Silence {
    Lasts(Vec<Arc<Event>>),
    /// Ends before the next event.
    Ends(Vec<Arc<Event>>),
    Over,
}

/// How far an event is told.
struct Telling {
    event: Arc<Event>,
    /// To this subscription alone.
    only: Option<u64>,
    section: usize,
    /// The next subscription, and the next of its items.
    number: u64,
    item: usize,
}

/// How going on with an event ended.
enum Going {
    Notification(Notification),
    /// All is told.
    Done,
    /// Others have their turn.
    Tired,
}

impl Connected {
    pub(super) fn new(hub: Option<Arc<Subscriptions>>, number: u64) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            hub,
            number,
            state: Mutex::new_named("evm.connected", State::default()),
            inbox: Mutex::new_named("evm.inbox", Inbox::default()),
            me: Weak::clone(me),
        })
    }

    /// Takes an event of `bytes` in.
    pub(super) fn hear(&self, event: &Arc<Event>, bytes: usize) {
        let mut inbox = self.inbox.lock();
        if *inbox.wanting(event.source()) > 0 && inbox.keep(bytes) {
            inbox.events.push_back(Arc::clone(event));
            inbox.wake();
        }
    }

    /// Something of this source was missed.
    pub(super) fn lose(&self, source: Source) {
        let mut inbox = self.inbox.lock();
        if *inbox.wanting(source) > 0 {
            inbox.overrun();
        }
    }

    /// The next event, or what one has to catch up with.
    fn begin(&self, state: &mut State) -> Option<Telling> {
        state.end_silences();
        let (event, only) = match state.late.pop_front() {
            Some((number, event)) => (event, Some(number)),
            None => {
                let event = self.inbox.lock().events.pop_front()?;
                let bytes = event.bytes();
                for _ in 0..state.keep_for_the_silent(&event) {
                    self.inbox.lock().keep(bytes);
                }
                (event, None)
            }
        };
        Some(Telling { event, only, section: 0, number: 0, item: 0 })
    }

    fn told(&self, event: &Event) {
        let mut inbox = self.inbox.lock();
        inbox.kept_events = inbox.kept_events.saturating_sub(1);
        inbox.kept_bytes = inbox.kept_bytes.saturating_sub(event.bytes());
    }
}

impl Inbox {
    /// How many subscriptions there are to this source.
    fn wanting(&mut self, source: Source) -> &mut usize {
        match source {
            Source::Pending => &mut self.of_pending,
            Source::Dropped => &mut self.of_dropped,
            // Those to nothing at all count here, and do no harm.
            Source::Blocks | Source::Nothing => &mut self.of_blocks,
        }
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// Counts one more event as kept, if it may be. A single one may be of any size.
    fn keep(&mut self, bytes: usize) -> bool {
        self.kept_events += 1;
        self.kept_bytes += bytes;
        let is_large = self.kept_events > 1 && self.kept_bytes > MAX_KEPT_BYTES;
        if self.kept_events > MAX_KEPT_EVENTS || is_large {
            self.overrun();
        }
        !self.is_overrun
    }

    /// Gives up: what was kept is lost.
    fn overrun(&mut self) {
        self.is_overrun = true;
        self.events = VecDeque::new();
        self.wake();
    }
}

impl State {
    fn end_silences(&mut self) {
        for subscription in &mut self.subscriptions {
            if let Silence::Ends(kept) = &mut subscription.silence {
                let number = subscription.number;
                self.late.extend(kept.drain(..).map(|event| (number, event)));
                subscription.silence = Silence::Over;
            }
        }
    }

    /// For how many it is kept.
    fn keep_for_the_silent(&mut self, event: &Arc<Event>) -> usize {
        let mut kept_for = 0;
        for subscription in &mut self.subscriptions {
            if let Silence::Lasts(kept) = &mut subscription.silence
                && subscription.kind.source() == event.source()
            {
                kept.push(Arc::clone(event));
                kept_for += 1;
            }
        }
        kept_for
    }
}

impl Telling {
    fn go_on(&mut self, subscriptions: &[Subscription], looks: &mut usize) -> Going {
        while self.section < SECTIONS {
            let at = subscriptions.partition_point(|known| known.number < self.number);
            let Some(subscription) = subscriptions.get(at) else {
                (self.section, self.number, self.item) = (self.section + 1, 0, 0);
                continue;
            };
            if self.number < subscription.number {
                (self.number, self.item) = (subscription.number, 0);
            }
            if *looks == 0 {
                return Going::Tired;
            }
            *looks = looks.saturating_sub(subscription.kind.looks());
            let Subscription { number, opening, kind, since, silence, .. } = subscription;
            let is_meant = match self.only {
                Some(only) => only == *number,
                None => matches!(silence, Silence::Over),
            };
            let look = match is_meant {
                true => self.event.look(self.section, self.item, kind, *since),
                false => Look::End,
            };
            self.item += 1;
            match look {
                Look::Nothing => {}
                Look::End => (self.number, self.item) = (self.number + 1, 0),
                Look::Told(result) => {
                    let opening = opening.clone();
                    return Going::Notification(Notification { opening, result });
                }
            }
        }
        Going::Done
    }
}

impl Subscriber for Connected {
    fn subscribe(
        &self,
        namespace: &str,
        kind: &str,
        params: Params<'_>,
    ) -> Option<Result<String, RpcError>> {
        let kind = match Kind::read(namespace, kind, params)? {
            Ok(kind) => kind,
            Err(error) => return Some(Err(error)),
        };
        Some(self.add(namespace, kind))
    }

    fn unsubscribe(&self, id: &str) -> bool {
        let mut state = self.state.lock();
        let known = state.subscriptions.iter().position(|subscription| subscription.id == id);
        let Some(gone) = known.map(|at| state.subscriptions.remove(at)) else { return false };
        *self.inbox.lock().wanting(gone.kind.source()) -= 1;
        if let Silence::Lasts(kept) | Silence::Ends(kept) = &gone.silence {
            kept.iter().for_each(|event| self.told(event));
        }
        true
    }
}

impl Connected {
    fn add(&self, namespace: &str, kind: Kind) -> Result<String, RpcError> {
        let gone = || RpcError::new("the node is shutting down");
        let hub = self.hub.as_ref().ok_or_else(gone)?;
        let place = hub.place(&self.me, self.number, &kind)?;
        let id = RpcId::random(&hub.randomness).0;
        let mut state = self.state.lock();
        let mine = &state.subscriptions;
        let bytes: usize = mine.iter().map(|other| other.place.bytes).sum();
        if mine.len() >= MAX_SUBSCRIPTIONS || bytes + place.bytes > MAX_CRITERIA_BYTES {
            return Err(RpcError::new("too many subscriptions on this connection"));
        }
        state.made += 1;
        // While the inbox is locked no event comes in: one of a block up to here was heard of before, if at all,
        // and those after it will be.
        let mut inbox = self.inbox.lock();
        *inbox.wanting(kind.source()) += 1;
        let since = hub.chain.head().header.number;
        drop(inbox);
        let subscription = Subscription {
            number: state.made,
            opening: Notification::opening(namespace, &id),
            id: id.clone(),
            kind,
            since,
            silence: Silence::Lasts(Vec::new()),
            place,
        };
        state.subscriptions.push(subscription);
        Ok(id)
    }
}

impl Session for Connected {
    fn release(&self, id: &str) {
        let mut state = self.state.lock();
        let known = state.subscriptions.iter_mut().find(|subscription| subscription.id == id);
        if let Some(Subscription { silence, .. }) = known
            && let Silence::Lasts(kept) = silence
        {
            *silence = Silence::Ends(std::mem::take(kept));
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
        let (mut taken, mut looks) = (0, MAX_LOOKS);
        while taken < room {
            let now = state.now.take();
            let Some(mut telling) = now.or_else(|| self.begin(&mut state)) else { break };
            match telling.go_on(&state.subscriptions, &mut looks) {
                Going::Done => {
                    self.told(&telling.event);
                    continue;
                }
                Going::Notification(notification) => {
                    taken += notification.len();
                    out(notification);
                    state.now = Some(telling);
                }
                Going::Tired => {
                    state.now = Some(telling);
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
            // They came in just now.
            cx.waker().wake_by_ref();
        }
        inbox.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        if let Some(hub) = &self.hub {
            hub.forget(self.number);
        }
    }
}

impl fmt::Debug for Connected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connected").field("number", &self.number).finish_non_exhaustive()
    }
}
