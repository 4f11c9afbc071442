//! A chain that is small enough to understand at once: a block sets numbered registers.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use esker_chain::commitment::StateTable;
use esker_chain::forward::{ExchangePools, TxKind};
use esker_chain::snapshot::{
    ChainSnapshot, PartRestore, PartSnapshot, RestoreError, SnapshotBlock, SnapshotTable,
};
use esker_chain::{
    AfterRewind, BlockError, BuildContext, Built, ChainContext, ChainError, ChainStats, ChainVm,
    ExecutedBlock, Rewinding,
};
use esker_primitives::clock::ManualClock;
use esker_primitives::codec::{Reader, Writer};
use esker_primitives::sync::{Condvar, Mutex};
use esker_primitives::{BlockId, ChainId, Id};
use esker_storage::{KvRead, KvStore, PendingWrites, Scope, Store, Table, WriteSet};
use tokio::sync::{Notify, watch};

use crate::context::chain_context;

/// Register number to value.
pub const REGISTERS: Table<u64, u64> = Table::new(0x80, "register");
pub const BLOCKS: Table<u64, Vec<u8>> = Table::new(0x81, "block");
/// Number of ops of all accepted blocks: not part of validity, added to their commit.
const TOTAL: Table<(), u64> = Table::new(0x83, "total");
pub const TIP: Table<(), [u8; Id::LEN]> = Table::new(0x82, "tip");

/// Tag of the rows that all chains share. Toys have no such rows.
pub const SHARED_TAG: u8 = 0x20;

/// Sets a register, no earlier than a time. A register can't be set twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    pub register: u64,
    pub value: u64,
    pub not_before_ms: u64,
}

/// The events of the chain, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainEvent {
    Verified(u64),
    Notarized(u64),
    Accepted(u64),
    Rejected(u64),
    /// The height of its last block after a rewind.
    Rewound(u64),
}

#[derive(Debug)]
pub struct Toy {
    context: ChainContext,
    pub queue: Mutex<Vec<Op>>,
    pub events: Mutex<Vec<ChainEvent>>,
    /// Number of requests for a block.
    pub looks: AtomicU64,
    /// Blocks that were prepared.
    pub prepared: watch::Sender<Vec<Bytes>>,
    /// Whether the test holds up the preparation of blocks.
    pub holds_preparation: (Mutex<bool>, Condvar),
}

/// The state that the chains of a test share.
#[derive(Clone, Debug)]
pub struct World {
    pub store: Store,
    pub clock: Arc<ManualClock>,
    pub work: Arc<Notify>,
    pub pools: Arc<ExchangePools>,
}

impl World {
    pub fn on(kv: Arc<dyn KvStore>) -> Self {
        Self::with(Store::new(kv).unwrap())
    }

    pub fn with(store: Store) -> Self {
        let clock = Arc::new(ManualClock::new(1_000_000));
        Self { store, clock, work: Arc::default(), pools: Arc::default() }
    }

    pub fn toy(&self, number: u16) -> Arc<Toy> {
        self.toy_in(number, Scope(number))
    }

    /// A toy whose rows are in this scope.
    pub fn toy_in(&self, number: u16, scope: Scope) -> Arc<Toy> {
        let chain_id = Id::sha256(&number.to_be_bytes());
        let context = ChainContext {
            work: Arc::clone(&self.work),
            exchange: Some(Arc::clone(&self.pools)),
            ..chain_context(chain_id, scope, self.clock.clone(), self.store.clone())
        };
        Arc::new(Toy {
            context,
            queue: Mutex::new_named("toy.queue", Vec::new()),
            events: Mutex::new_named("toy.events", Vec::new()),
            looks: AtomicU64::new(0),
            prepared: watch::Sender::default(),
            holds_preparation: (Mutex::new_named("toy.preparation", false), Condvar::new()),
        })
    }
}

/// The ID of the transaction that sets a register.
pub fn tx_id(register: u64) -> Id {
    let mut bytes = [0; Id::LEN];
    bytes[..8].copy_from_slice(&register.to_be_bytes());
    Id::new(bytes)
}

pub fn block_bytes(parent: &Id, height: u64, ops: &[Op]) -> Bytes {
    let mut w = Writer::default();
    w.id(parent);
    w.u64(height);
    w.len(ops.len());
    for op in ops {
        w.u64(op.register);
        w.u64(op.value);
        w.u64(op.not_before_ms);
    }
    Bytes::from(w.into_vec())
}

impl Toy {
    /// A block on which the chain panics.
    pub const PANICS: &[u8] = b"panic";

    pub fn scope(&self) -> Scope {
        self.context.scope
    }

    pub fn id(&self) -> ChainId {
        self.context.chain_id
    }

    pub fn hold_preparation(&self, holds: bool) {
        *self.holds_preparation.0.lock() = holds;
        self.holds_preparation.1.notify_all();
    }

    pub fn submit(&self, op: Op) {
        self.queue.lock().push(op);
        self.context.announce(TxKind::Evm, tx_id(op.register));
        self.context.work.notify_one();
    }

    pub fn set(&self, register: u64, value: u64) {
        self.submit(Op { register, value, not_before_ms: 0 });
    }

    /// A register's value in the final state; also `None` while the store can't be read.
    pub fn get(&self, register: u64) -> Option<u64> {
        let reader = self.context.store.snapshot().ok()?;
        REGISTERS.get(reader.as_ref(), self.context.scope, &register).unwrap()
    }

    /// Ops of all accepted blocks.
    pub fn total(&self) -> u64 {
        let reader = self.context.store.snapshot().unwrap();
        TOTAL.get(reader.as_ref(), self.context.scope, &()).unwrap().unwrap_or(0)
    }

    pub fn take_events(&self) -> Vec<ChainEvent> {
        std::mem::take(&mut self.events.lock())
    }

    fn ops(block: &ExecutedBlock) -> &[Op] {
        block.payload.downcast_ref::<Vec<Op>>().unwrap()
    }

    fn tip(&self, reader: &dyn KvRead, at: &BuildContext) -> (Id, u64) {
        let id = Id::new(TIP.get(reader, self.context.scope, &()).unwrap().unwrap());
        let height = at.ancestors.first().map(|block| block.height);
        let height = height.unwrap_or_else(|| {
            BLOCKS.last(reader, self.context.scope, &[]).unwrap().map_or(0, |(height, _)| height)
        });
        (id, height)
    }

    fn execute(
        &self,
        parent: &dyn KvRead,
        bytes: Bytes,
        ops: Vec<Op>,
        (parent_id, height): (Id, u64),
    ) -> Result<ExecutedBlock, BlockError> {
        let mut writes = WriteSet::default();
        let scope = self.context.scope;
        for op in &ops {
            if REGISTERS.get(parent, scope, &op.register)?.is_some() {
                return Err(BlockError::Invalid(format!("register {} is set", op.register)));
            }
            REGISTERS.put(&mut writes, scope, &op.register, &op.value);
        }
        let id = Id::sha256(&bytes);
        BLOCKS.put(&mut writes, scope, &height, &bytes.to_vec());
        TIP.put(&mut writes, scope, &(), id.as_bytes());
        let payload = Arc::new(ops);
        Ok(ExecutedBlock {
            id,
            parent_id,
            height,
            timestamp_ms: 0,
            bytes,
            writes: Arc::new(writes),
            payload,
        })
    }
}

impl ChainVm for Toy {
    fn context(&self) -> &ChainContext {
        &self.context
    }

    fn genesis(&self, out: &mut WriteSet) -> Result<(), ChainError> {
        let bytes = block_bytes(&Id::ZERO, 0, &[]);
        TIP.put(out, self.context.scope, &(), Id::sha256(&bytes).as_bytes());
        BLOCKS.put(out, self.context.scope, &0, &bytes.to_vec());
        Ok(())
    }

    fn check(&self, reader: &dyn KvRead) -> Result<(), ChainError> {
        match TIP.get(reader, self.context.scope, &())? {
            Some(_) => Ok(()),
            None => Err(ChainError::Corrupted("no tip".into())),
        }
    }

    fn state_tables(&self) -> Vec<StateTable> {
        vec![StateTable::of_chain(REGISTERS.tag()), StateTable::node_wide(SHARED_TAG)]
    }

    fn last_block(&self, reader: &dyn KvRead) -> Result<(u64, BlockId), ChainError> {
        let (id, height) = self.tip(reader, &BuildContext::default());
        Ok((height, id))
    }

    fn build(&self, parent: &dyn KvRead, at: &BuildContext) -> Result<Built, ChainError> {
        self.looks.fetch_add(1, Ordering::SeqCst);
        let mut queue = self.queue.lock();
        // Another node's block may have set a register meanwhile. If it is undecided, it may also be dropped.
        let scope = self.context.scope;
        let is_set = |op: &Op| REGISTERS.get(parent, scope, &op.register).unwrap().is_some();
        let (taken, open): (Vec<Op>, Vec<Op>) = queue.iter().partition(|op| is_set(op));
        let (ready, mut wait): (Vec<Op>, Vec<Op>) =
            open.iter().partition(|op| op.not_before_ms <= at.now_ms);
        if ready.is_empty() {
            let next = wait.iter().map(|op| op.not_before_ms).min();
            return Ok(next.map_or(Built::Nothing, Built::Later));
        }
        // An op that is submitted twice is in a block once.
        let mut seen = BTreeSet::new();
        let ready: Vec<Op> = ready.into_iter().filter(|op| seen.insert(op.register)).collect();
        wait.extend(taken);
        *queue = wait;
        let (tip, height) = self.tip(parent, at);
        let bytes = block_bytes(&tip, height + 1, &ready);
        match self.execute(parent, bytes, ready.clone(), (tip, height + 1)) {
            Ok(block) => Ok(Built::Block(Box::new(block))),
            Err(BlockError::Invalid(_)) => {
                // On another parent they may be valid.
                queue.extend(ready);
                Ok(Built::Nothing)
            }
            Err(error) => Err(ChainError::Corrupted(error.to_string())),
        }
    }

    fn prepare(&self, block: &Bytes) {
        self.prepared.send_modify(|prepared| prepared.push(block.clone()));
        let (holds, released) = &self.holds_preparation;
        released.wait_while(&mut holds.lock(), |holds| *holds);
    }

    fn verify(
        &self,
        parent: &dyn KvRead,
        block: &[u8],
        at: &BuildContext,
    ) -> Result<ExecutedBlock, BlockError> {
        let bad = |e: esker_primitives::codec::CodecError| BlockError::Invalid(e.to_string());
        assert_ne!(block, Self::PANICS, "asked to");
        let mut r = Reader::new(block);
        let (parent_id, height) = (r.id().map_err(bad)?, r.u64().map_err(bad)?);
        let mut ops = Vec::new();
        for _ in 0..r.slice_len().map_err(bad)? {
            let (register, value) = (r.u64().map_err(bad)?, r.u64().map_err(bad)?);
            ops.push(Op { register, value, not_before_ms: r.u64().map_err(bad)? });
        }
        if self.tip(parent, at) != (parent_id, height.wrapping_sub(1)) {
            return Err(BlockError::Invalid("wrong parent".into()));
        }
        if let Some(until_ms) =
            ops.iter().map(|op| op.not_before_ms).max().filter(|ms| *ms > at.now_ms)
        {
            return Err(BlockError::NotYet { until_ms, reason: "an op is early".into() });
        }
        self.execute(parent, Bytes::copy_from_slice(block), ops, (parent_id, height))
    }

    fn extend_commit(&self, blocks: &[Arc<ExecutedBlock>], _: u64, commit: &mut PendingWrites<'_>) {
        let before = TOTAL.get(&*commit, self.context.scope, &()).unwrap().unwrap_or(0);
        let ops = blocks.iter().map(|block| Self::ops(block).len() as u64).sum::<u64>();
        TOTAL.put(commit, self.context.scope, &(), &(before + ops));
    }

    fn on_accepted(&self, block: &Arc<ExecutedBlock>, _: u64) {
        let set = Self::ops(block);
        self.queue.lock().retain(|op| set.iter().all(|done| done.register != op.register));
        self.events.lock().push(ChainEvent::Accepted(block.height));
    }

    fn on_rejected(&self, block: &Arc<ExecutedBlock>) {
        self.events.lock().push(ChainEvent::Rejected(block.height));
        self.queue.lock().extend(Self::ops(block));
        self.context.work.notify_one();
    }

    fn on_verified(&self, block: &Arc<ExecutedBlock>) {
        self.events.lock().push(ChainEvent::Verified(block.height));
    }

    fn on_notarized(&self, block: &Arc<ExecutedBlock>) {
        self.events.lock().push(ChainEvent::Notarized(block.height));
    }

    fn prepare_rewind<'a>(
        &'a self,
        rewind: &mut Rewinding<'_>,
    ) -> Result<AfterRewind<'a>, ChainError> {
        let mut height = 0;
        while BLOCKS.get(&rewind.after, self.context.scope, &(height + 1))?.is_some() {
            height += 1;
        }
        Ok(Box::new(move || self.events.lock().push(ChainEvent::Rewound(height))))
    }

    fn block_at(&self, reader: &dyn KvRead, height: u64) -> Result<Option<Bytes>, ChainError> {
        Ok(BLOCKS.get(reader, self.context.scope, &height)?.map(Bytes::from))
    }

    fn snapshot(&self) -> Option<&dyn ChainSnapshot> {
        Some(self)
    }

    fn health(&self) -> Result<String, ChainError> {
        Ok(String::new())
    }

    fn stats(&self) -> ChainStats {
        ChainStats::default()
    }
}

/// Blocks of a chain in a snapshot.
pub const SNAPSHOT_BLOCKS: u64 = 2;
/// Length of a register's key and value. A snapshot's table allows longer values, which do not decode.
const REGISTER_LEN: usize = 8;

impl PartSnapshot for Toy {
    fn tables(&self) -> Vec<SnapshotTable> {
        let longest = 2 * REGISTER_LEN;
        vec![SnapshotTable::new(REGISTERS.tag(), REGISTERS.name(), REGISTER_LEN, longest)]
    }

    fn restore(&self) -> Box<dyn PartRestore + '_> {
        Box::new(ToyRestore(self.scope()))
    }
}

impl ChainSnapshot for Toy {
    fn block_count(&self) -> u64 {
        SNAPSHOT_BLOCKS
    }

    fn keeps_genesis_row(&self, key: &[u8]) -> bool {
        key.first() == Some(&BLOCKS.tag())
    }
}

struct ToyRestore(Scope);

impl PartRestore for ToyRestore {
    fn block(
        &mut self,
        block: SnapshotBlock<'_>,
        out: &mut WriteSet,
    ) -> Result<BlockId, RestoreError> {
        if Id::sha256(block.bytes) != block.id {
            return Err(RestoreError::invalid("another ID"));
        }
        BLOCKS.put(out, self.0, &block.height, &block.bytes.to_vec());
        if block.is_last {
            TIP.put(out, self.0, &(), block.id.as_bytes());
        }
        Ok(Reader::new(block.bytes).id().unwrap())
    }

    fn row(
        &mut self,
        _: u8,
        (_, value): (&[u8], &[u8]),
        _: &dyn KvRead,
        _: &mut WriteSet,
    ) -> Result<(), RestoreError> {
        match value.len() {
            REGISTER_LEN => Ok(()),
            _ => Err(RestoreError::invalid("a register that does not decode")),
        }
    }
}
