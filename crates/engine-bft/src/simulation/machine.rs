//! A node's machine in virtual time.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use async_trait::async_trait;
use bytes::Bytes;
use commonware_runtime::Clock as _;
use commonware_runtime::deterministic::Context;
use esker_chain::{
    Bundle, BundleId, ChainError, ChainMachine, ChainVm, FinalizeError, Machine, MachineConfig,
    ProposeCtx, ProposeError, Verdict,
};
use esker_primitives::ChainId;
use esker_primitives::clock::{Clock as _, ManualClock};
use esker_storage::KvStore;

use crate::toy::{Toy, World};

/// How often a waiting proposal looks for work.
const LOOK: Duration = Duration::from_millis(20);

/// Undecided bundles: few, so that the limit is reached.
const MAX_UNDECIDED: usize = 8;

/// A machine whose calls take no virtual time and end before anything else runs, so that a run follows from its seed
/// although the machine has a thread of its own.
pub(super) struct VirtualMachine {
    inner: Arc<Machine>,
    clock: Arc<ManualClock>,
    context: Context,
    /// How far its clock is ahead or behind, ms.
    skew_ms: i64,
}

impl VirtualMachine {
    /// Opens the chains on a node's store.
    pub(super) fn open(
        kv: Arc<dyn KvStore>,
        context: Context,
        skew_ms: i64,
    ) -> (Arc<Toy>, Arc<Self>) {
        let world = World::on(kv);
        let toy = world.toy(1);
        let chains = vec![Arc::clone(&toy) as Arc<dyn ChainVm>];
        let config = MachineConfig {
            check_proposals: true,
            max_undecided: MAX_UNDECIDED,
            ..MachineConfig::default()
        };
        let clock = Arc::clone(&world.clock);
        let inner = Machine::open(chains, world.store, world.clock, world.work, config).unwrap();
        (toy, Arc::new(Self { inner, clock, context, skew_ms }))
    }

    fn inner(&self) -> &Machine {
        let now = self.context.current().duration_since(UNIX_EPOCH).unwrap();
        let now_ms = u64::try_from(now.as_millis()).unwrap();
        self.clock.set(now_ms.saturating_add_signed(self.skew_ms));
        &self.inner
    }
}

#[async_trait]
impl ChainMachine for VirtualMachine {
    fn genesis(&self) -> Bundle {
        self.inner.genesis()
    }

    fn last_final(&self) -> (u64, BundleId) {
        self.inner.last_final()
    }

    async fn propose(&self, at: ProposeCtx<'_>) -> Result<Option<Bundle>, ProposeError> {
        loop {
            let once = ProposeCtx { wait_until_ms: 0, ..at };
            let proposal = pollster::block_on(self.inner().propose(once))?;
            if proposal.is_some() || self.clock.now_ms() >= at.wait_until_ms {
                return Ok(proposal);
            }
            self.context.sleep(LOOK).await;
        }
    }

    async fn propose_now(&self, at: ProposeCtx<'_>) -> Result<Bundle, ProposeError> {
        pollster::block_on(self.inner().propose_now(at))
    }

    async fn verify(&self, ancestry: &[Bundle], bundle: &Bundle) -> Result<Verdict, ChainError> {
        pollster::block_on(self.inner().verify(ancestry, bundle))
    }

    async fn finalize_all(
        &self,
        bundles: Vec<(Bundle, Option<Bytes>)>,
    ) -> Result<(), FinalizeError> {
        pollster::block_on(self.inner().finalize_all(bundles))
    }

    async fn finalize_blocks(
        &self,
        on: &BundleId,
        blocks: Vec<(ChainId, Bytes)>,
    ) -> Result<(), FinalizeError> {
        pollster::block_on(self.inner().finalize_blocks(on, blocks))
    }

    async fn abandon(&self, id: &BundleId) -> Result<usize, ChainError> {
        pollster::block_on(self.inner().abandon(id))
    }

    async fn notarized(&self, id: &BundleId) -> Result<(), ChainError> {
        pollster::block_on(self.inner().notarized(id))
    }

    fn bundle_at(&self, height: u64) -> Result<Option<(Bundle, Option<Bytes>)>, ChainError> {
        self.inner.bundle_at(height)
    }

    fn height_of(&self, id: &BundleId) -> Result<Option<u64>, ChainError> {
        self.inner.height_of(id)
    }
}
