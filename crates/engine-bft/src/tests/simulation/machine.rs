//! A node's machine in virtual time.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use async_trait::async_trait;
use bytes::Bytes;
use commonware_runtime::Clock as _;
use commonware_runtime::deterministic::Context;
use esker_chain::{
    Bundle, BundleId, ChainError, ChainMachine, FinalizeError, Machine, ProposeCtx, ProposeError,
    Verdict,
};
use esker_primitives::ChainId;
use esker_primitives::clock::{Clock as _, ManualClock};

/// How often a waiting proposal looks for work.
const LOOK: Duration = Duration::from_millis(20);

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
    /// Over a machine whose chains have this clock.
    pub(super) fn new(
        inner: Arc<Machine>,
        clock: Arc<ManualClock>,
        context: Context,
        skew_ms: i64,
    ) -> Self {
        Self { inner, clock, context, skew_ms }
    }

    /// Sets the clock of the chains to the time of this node.
    pub(super) fn set_clock(&self) {
        let now = self.context.current().duration_since(UNIX_EPOCH).unwrap();
        let now_ms = u64::try_from(now.as_millis()).unwrap();
        self.clock.set(now_ms.saturating_add_signed(self.skew_ms));
    }

    /// Waits for what its thread still does after the answer to a call.
    pub(super) fn wait_idle(&self) {
        pollster::block_on(self.inner.lowest_rewind()).unwrap();
    }

    fn inner(&self) -> &Machine {
        self.set_clock();
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
