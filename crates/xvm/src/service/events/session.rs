//! The subscriptions of one connection.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use esker_chain::ChainError;
use esker_primitives::sync::Mutex;
use esker_rpc::object::ObjectSocket;
use esker_rpc::socket::{Overrun, SocketAnswer, SocketSession};
use esker_rpc::wire::JsonU64;
use esker_rpc::work::CallMemoryError;
use esker_rpc::{CallContext, Caller, RpcError, Service, WorkRefused, off_thread_restartable};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::kind::{Kind, SubscribeArgs, SubscribeReply};
use super::{MAX_CRITERIA_BYTES, MAX_LAG, MAX_SUBSCRIPTIONS, text};
use crate::chain::Xvm;
use crate::chain::events::{BlockEvent, EventReader, NextBlock, Place, Rewind, Slot};
use crate::service::ServiceError;

/// Items that are examined before other tasks have their turn.
const MAX_ITEMS_A_POLL: usize = 4096;
/// Blocks of one read of the store.
const MAX_READ_BLOCKS: usize = 64;
/// Bytes of them, with all their texts.
const MAX_READ_BYTES: usize = 4 << 20;
/// Wait before the next try while too much work waits.
const BUSY_DELAY: Duration = Duration::from_millis(100);

/// A connection that can be notified.
pub(super) struct Connection {
    vm: Arc<Xvm>,
    number: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    subscriptions: Vec<Subscription>,
    made: u64,
    /// Made, but the reply with the ID is not on its way yet.
    unreleased: Vec<String>,
    /// The subscription whose turn is next.
    turn: usize,
    /// Blocks of the last read of the store, in ascending order, and the number of rewinds before it.
    read: (u64, Vec<Arc<BlockEvent>>),
    store_read: Option<StoreRead>,
    /// Whose work the reads of the store are.
    caller: Caller,
    has_joined: bool,
}

/// A read of the store that runs.
struct StoreRead {
    rewinds: u64,
    work: BoxFuture<'static, Result<Vec<Arc<BlockEvent>>, ReadError>>,
}

#[derive(Debug, thiserror::Error)]
enum ReadError {
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error(transparent)]
    Refused(#[from] WorkRefused),
}

struct Subscription {
    id: String,
    prefix: Bytes,
    kind: Kind,
    is_released: bool,
    /// The block that it takes next, and the number of rewinds that it knows of.
    next: Place,
    /// It has had all blocks once. From then on it has to keep up.
    has_caught_up: bool,
    current: Option<Delivery>,
    slot: Slot,
}

/// A block on its way to a subscription.
struct Delivery {
    event: Arc<BlockEvent>,
    /// Items examined so far.
    examined: usize,
    /// The rewind that removed it, and its place there.
    rewind: Option<(Arc<Rewind>, usize)>,
}

/// The block that is read next.
#[derive(Default)]
struct NextRead {
    place: Option<Place>,
    /// For a subscription that had caught up.
    is_urgent: bool,
}

impl NextRead {
    /// Takes the place of one that waits: the first one's, or that of the first which had caught up.
    fn add(&mut self, subscription: &Subscription) {
        if self.place.is_none() || (subscription.has_caught_up && !self.is_urgent) {
            self.place = Some(subscription.next);
            self.is_urgent = subscription.has_caught_up;
        }
    }
}

/// One step of a subscription.
enum Step {
    /// A notification.
    Notification(Bytes),
    /// An item, or a block, that does not matter to it.
    Nothing,
    /// The block is done: it is another one's turn.
    Done,
    /// It has to wait for its block to be read from the store.
    Stored,
    /// It has had everything.
    Idle,
    /// The blocks for its notifications are not known any more.
    Lost,
}

impl Delivery {
    fn new(event: Arc<BlockEvent>) -> Self {
        Self { event, examined: 0, rewind: None }
    }

    /// The removed block at a place of a rewind, if a subscription has had it.
    fn removed(rewind: Arc<Rewind>, at: usize) -> Option<Self> {
        let event = Arc::clone(rewind.removed.get(at)?);
        Some(Self { event, examined: 0, rewind: Some((rewind, at)) })
    }

    /// The next item; `None`: there is no other. Of a removed block, the last one comes first.
    fn poll_item(&mut self, vm: &Xvm, kind: &Kind) -> Option<Step> {
        let event = &*self.event;
        let items = match kind {
            Kind::Blocks(_) => 1,
            Kind::Transactions(..) => event.txs.len(),
            Kind::Utxos(_) => event.changes(),
        };
        let left = items.checked_sub(self.examined).filter(|left| *left > 0)?;
        let at = if event.is_removed { left.saturating_sub(1) } else { self.examined };
        self.examined = self.examined.saturating_add(1);
        let text = match kind {
            Kind::Blocks(encoding) => Some(text::block(vm, event, *encoding)),
            Kind::Transactions(encoding, criteria) => {
                let tx = event.txs.get(at).filter(|tx| criteria.matches_any(&tx.changes));
                tx.map(|tx| text::transaction(vm, event, tx, *encoding))
            }
            Kind::Utxos(criteria) => {
                let found = event.change(at).filter(|(_, change)| criteria.matches(change));
                found.map(|(tx, change)| text::utxo(vm, event, tx, change))
            }
        };
        Some(text.map_or(Step::Nothing, Step::Notification))
    }
}

impl Subscription {
    /// The next step. `read` has the blocks of the last read of the store.
    fn step(&mut self, vm: &Xvm, read: &(u64, Vec<Arc<BlockEvent>>)) -> Step {
        if !self.is_released {
            return Step::Idle;
        }
        if let Some(current) = &mut self.current {
            if let Some(step) = current.poll_item(vm, &self.kind) {
                return step;
            }
            let delivered = self.current.take();
            self.finish(delivered);
            return Step::Done;
        }
        match vm.events.next(self.next.height, self.next.rewinds) {
            NextBlock::Recent(event) => self.current = Some(Delivery::new(event)),
            NextBlock::Stored => match found(read, self.next) {
                Some(event) => self.current = Some(Delivery::new(event)),
                None if self.is_behind(vm) => return Step::Lost,
                None => return Step::Stored,
            },
            NextBlock::None => {
                self.has_caught_up = true;
                return Step::Idle;
            }
            NextBlock::Removed(rewind) => return self.take_back(rewind),
            NextBlock::Lost => return Step::Lost,
        }
        Step::Nothing
    }

    /// Whether it is too far behind for one that had caught up.
    fn is_behind(&self, vm: &Xvm) -> bool {
        let behind = vm.events.place().height.saturating_sub(self.next.height);
        self.has_caught_up && behind > MAX_LAG
    }

    /// Begins with the newest removed block that it has had.
    fn take_back(&mut self, rewind: Arc<Rewind>) -> Step {
        let Some(last) = self.next.height.checked_sub(1).filter(|last| *last > rewind.to) else {
            self.next.rewinds = self.next.rewinds.saturating_add(1);
            return Step::Nothing;
        };
        let at = rewind.removed.iter().position(|event| event.height == last);
        match at.and_then(|at| Delivery::removed(rewind, at)) {
            Some(delivery) => {
                self.current = Some(delivery);
                Step::Nothing
            }
            None => Step::Lost,
        }
    }

    /// A block was delivered.
    fn finish(&mut self, delivered: Option<Delivery>) {
        match delivered {
            Some(Delivery { event, rewind: Some(_), .. }) => self.next.height = event.height,
            Some(Delivery { event, rewind: None, .. }) => {
                self.next.height = event.height.saturating_add(1);
            }
            None => {}
        }
    }
}

/// The block at a place among those that were read.
fn found((rewinds, read): &(u64, Vec<Arc<BlockEvent>>), next: Place) -> Option<Arc<BlockEvent>> {
    let at = next.height.checked_sub(read.first()?.height)?;
    let event = read.get(usize::try_from(at).ok()?)?;
    (*rewinds == next.rewinds).then(|| Arc::clone(event))
}

impl Connection {
    pub(super) fn new(vm: Arc<Xvm>, number: u64) -> Self {
        Self { vm, number, state: Mutex::new_named("xvm.connected", State::default()) }
    }

    /// Begins a subscription.
    pub(super) fn subscribe(&self, args: &SubscribeArgs) -> Result<SubscribeReply, RpcError> {
        let vm = &self.vm;
        let kind = Kind::read(vm, args)?;
        let full = || RpcError::new("too many subscriptions on this node");
        let slot = vm.events.slots().take(kind.index(), kind.bytes()).ok_or_else(full)?;
        let mut state = self.state.lock();
        let mine = &state.subscriptions;
        let bytes = mine.iter().fold(slot.bytes, |sum, other| sum.saturating_add(other.slot.bytes));
        if mine.len() >= MAX_SUBSCRIPTIONS || bytes > MAX_CRITERIA_BYTES {
            return Err(RpcError::new("too many subscriptions on this connection"));
        }
        if !state.has_joined {
            vm.events.join();
            state.has_joined = true;
        }
        let Place { rewinds, height } = vm.events.place();
        let newest = height.saturating_add(1);
        let from = args.from_height.map_or(newest, |JsonU64(from)| from);
        if from > newest {
            let text = format!("fromHeight {from} is above {newest}, the height of the next block");
            return Err(RpcError::new(text));
        }
        let first = vm.first_block();
        if from < first {
            return Err(ServiceError::BeforeHistory { height: from, first }.into());
        }
        state.made = state.made.saturating_add(1);
        let id = state.made.to_string();
        state.unreleased.push(id.clone());
        state.subscriptions.push(Subscription {
            prefix: text::prefix(&id),
            id: id.clone(),
            kind,
            is_released: false,
            next: Place { rewinds, height: from },
            has_caught_up: from == newest,
            current: None,
            slot,
        });
        Ok(SubscribeReply { subscription: id, from_height: JsonU64(from) })
    }

    /// Ends a subscription.
    pub(super) fn unsubscribe(&self, id: &str) -> Result<(), RpcError> {
        let mut state = self.state.lock();
        let known = state.subscriptions.iter().position(|subscription| subscription.id == id);
        let at = known.ok_or_else(|| RpcError::new("subscription not found"))?;
        state.subscriptions.remove(at);
        Ok(())
    }
}

impl State {
    /// Hands out notifications until they have about `room` bytes, or `budget` items were examined.
    fn deliver(
        &mut self,
        vm: &Arc<Xvm>,
        room: usize,
        cx: &mut Context<'_>,
        out: &mut dyn FnMut(&[Bytes]),
    ) -> Poll<Result<(), Overrun>> {
        let (mut taken, mut budget) = (0_usize, MAX_ITEMS_A_POLL);
        // The subscriptions in a row that had nothing, and what is read next for one of them.
        let (mut idle, mut next_read) = (0_usize, NextRead::default());
        while taken < room && idle < self.subscriptions.len() {
            if budget == 0 {
                cx.waker().wake_by_ref();
                break;
            }
            budget = budget.saturating_sub(1);
            let turn = self.turn.checked_rem(self.subscriptions.len()).unwrap_or(0);
            self.turn = turn;
            let Some(subscription) = self.subscriptions.get_mut(turn) else { break };
            match subscription.step(vm, &self.read) {
                Step::Notification(result) => {
                    let parts =
                        [subscription.prefix.clone(), result, Bytes::from_static(text::SUFFIX)];
                    taken = parts.iter().fold(taken, |sum, part| sum.saturating_add(part.len()));
                    out(&parts);
                    idle = 0;
                }
                Step::Nothing => idle = 0,
                Step::Done => {
                    self.turn = turn.saturating_add(1);
                    idle = 0;
                }
                Step::Stored => {
                    next_read.add(subscription);
                    self.turn = turn.saturating_add(1);
                    idle = idle.saturating_add(1);
                }
                Step::Idle => {
                    self.turn = turn.saturating_add(1);
                    idle = idle.saturating_add(1);
                }
                Step::Lost => return Poll::Ready(Err(Overrun)),
            }
            if idle > 0
                && idle >= self.subscriptions.len()
                && self.read_stored(vm, next_read.place, cx)?
            {
                (idle, next_read) = (0, NextRead::default());
            }
        }
        if taken > 0 { Poll::Ready(Ok(())) } else { Poll::Pending }
    }

    /// Goes on with a read of the store, or begins one; true if it has ended.
    fn read_stored(
        &mut self,
        vm: &Arc<Xvm>,
        next_read: Option<Place>,
        cx: &mut Context<'_>,
    ) -> Result<bool, Overrun> {
        let Some(next_read) = next_read else { return Ok(false) };
        let caller = &self.caller;
        let store_read = self.store_read.get_or_insert_with(|| StoreRead {
            rewinds: next_read.rewinds,
            work: read(Arc::clone(vm), next_read.height, caller.clone()).boxed(),
        });
        let Poll::Ready(blocks) = store_read.work.poll_unpin(cx) else { return Ok(false) };
        let rewinds = store_read.rewinds;
        self.store_read = None;
        match blocks {
            // A block that was read while the chain was rewound may be of either side.
            Ok(_) if vm.events.place().rewinds != rewinds => {}
            Ok(blocks) => self.read = (rewinds, blocks),
            Err(error) => {
                tracing::error!(%error, "the blocks for a subscription can't be read");
                return Err(Overrun);
            }
        }
        Ok(true)
    }

    /// Whether a subscription that had caught up is too far behind.
    fn is_behind(&self, vm: &Xvm) -> bool {
        self.subscriptions.iter().any(|subscription| subscription.is_behind(vm))
    }
}

/// Reads blocks from a height on, as work of the client.
async fn read(
    vm: Arc<Xvm>,
    height: u64,
    caller: Caller,
) -> Result<Vec<Arc<BlockEvent>>, ReadError> {
    loop {
        let vm = Arc::clone(&vm);
        let work = move |context: &CallContext| read_blocks(&vm, height, context);
        match off_thread_restartable(&caller, work).await {
            Ok(blocks) => return Ok(blocks?),
            Err(WorkRefused::Busy | WorkRefused::Memory(CallMemoryError::Full { .. })) => {
                tokio::time::sleep(BUSY_DELAY).await;
            }
            Err(refused) => return Err(refused.into()),
        }
    }
}

/// Some blocks, without gaps; none if there is none at that height.
fn read_blocks(
    vm: &Xvm,
    height: u64,
    context: &CallContext,
) -> Result<Vec<Arc<BlockEvent>>, ChainError> {
    let view = vm.view()?;
    let mut reader = EventReader::new(vm, view.state());
    let (mut blocks, mut bytes) = (Vec::new(), 0_usize);
    for height in height.. {
        if blocks.len() >= MAX_READ_BLOCKS || bytes >= MAX_READ_BYTES || context.is_cancelled() {
            break;
        }
        let Some(event) = reader.find(height)? else { break };
        bytes = bytes.saturating_add(event.memory());
        blocks.push(event);
    }
    Ok(blocks)
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.state.lock().has_joined {
            self.vm.events.leave(self.number);
        }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("number", &self.number).finish_non_exhaustive()
    }
}

/// A connection with its methods.
pub(super) struct EventSession {
    methods: ObjectSocket,
    connection: Arc<Connection>,
}

impl EventSession {
    pub(super) fn new(methods: Service, connection: Arc<Connection>) -> Self {
        Self { methods: ObjectSocket(methods), connection }
    }
}

impl SocketSession for EventSession {
    fn answer<'a>(&'a self, message: &'a [u8], caller: &'a Caller) -> BoxFuture<'a, SocketAnswer> {
        async move {
            self.connection.state.lock().caller = caller.clone();
            let mut answer = self.methods.answer(message, caller).await;
            // The methods run in place, so these are of this message.
            answer.made = std::mem::take(&mut self.connection.state.lock().unreleased);
            answer
        }
        .boxed()
    }

    fn release(&self, id: &str) {
        let mut state = self.connection.state.lock();
        let made = state.subscriptions.iter_mut().find(|subscription| subscription.id == id);
        if let Some(subscription) = made {
            subscription.is_released = true;
        }
        drop(state);
        self.connection.vm.events.wake(self.connection.number);
    }

    fn poll_events(
        &self,
        cx: &mut Context<'_>,
        room: usize,
        out: &mut dyn FnMut(&[Bytes]),
    ) -> Poll<Result<(), Overrun>> {
        let Connection { vm, number, state } = &*self.connection;
        let mut state = state.lock();
        if state.subscriptions.is_empty() {
            state.store_read = None;
            state.read = Default::default();
            return Poll::Pending;
        }
        // Before the blocks are looked at, so that none comes unseen.
        vm.events.wait(*number, cx.waker());
        if room == 0 && state.is_behind(vm) {
            return Poll::Ready(Err(Overrun));
        }
        state.deliver(vm, room, cx, out)
    }
}
