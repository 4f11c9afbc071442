//! A chain without transactions, with the blocks that a test defines.

use std::sync::Arc;

use bytes::Bytes;
use esker_chain::commitment::StateTable;
use esker_chain::{
    AfterRewind, Aliases, BlockError, BuildContext, Built, ChainContext, ChainError, ChainStats,
    ChainVm, ExecutedBlock, PoolFigures, Rewinding,
};
use esker_node::api::{Container, IndexError, IndexSource};
use esker_primitives::clock::Clock;
use esker_primitives::sync::Mutex;
use esker_primitives::{AssetId, BlockId, ChainId, Id};
use esker_rpc::handler::quick;
use esker_rpc::{MethodTable, NoArgs, Route, RpcError};
use esker_storage::{KvRead, PendingWrites, Scope, Store, WriteSet};
use tokio::sync::Notify;

/// The state that a test changes.
#[derive(Debug, Default)]
pub(crate) struct ToyState {
    /// The accepted blocks from height 1 on.
    pub(crate) containers: Vec<Container>,
    pub(crate) stats: ChainStats,
    pub(crate) pool: PoolFigures,
    pub(crate) atomic: Option<(u64, PoolFigures)>,
    pub(crate) sick: Option<String>,
}

#[derive(Debug)]
pub(crate) struct ToyVm {
    context: ChainContext,
    pub(crate) state: Mutex<ToyState>,
}

impl ToyVm {
    pub(crate) fn new(
        chain_id: ChainId,
        aliases: Arc<dyn Aliases>,
        clock: Arc<dyn Clock>,
        store: Store,
    ) -> Self {
        let context = ChainContext {
            network_id: 12345,
            hrp: "local".to_owned(),
            chain_id,
            scope: Scope(1),
            native_asset_id: AssetId::ZERO,
            native_aliases: Vec::new(),
            aliases,
            clock,
            store,
            peers: Arc::new(vec![ChainId::ZERO, chain_id]),
            work: Arc::new(Notify::new()),
            forwarding: None,
            exchange: None,
            block_waits: None,
            impersonations: None,
        };
        Self { context, state: Mutex::new_named("toy", ToyState::default()) }
    }

    /// Accepts a block at this time.
    pub(crate) fn accept(&self, bytes: &'static [u8], accepted_ms: u64) -> Id {
        let id = Id::sha256(bytes);
        let bytes = Bytes::from_static(bytes);
        self.state.lock().containers.push(Container { id, bytes, accepted_ms });
        id
    }
}

/// The chain's endpoints.
pub(crate) fn routes() -> Vec<Route> {
    let service = MethodTable::new("xvm")
        .alias("avm")
        .on("getHeight", quick(|_: &(), _: NoArgs| Ok::<_, RpcError>(7)))
        .bind(Arc::new(()));
    ["", "/wallet"].map(|suffix| Route::object(suffix, service.clone())).to_vec()
}

impl IndexSource for ToyVm {
    fn last_height(&self) -> Result<u64, IndexError> {
        Ok(self.state.lock().containers.len() as u64)
    }

    fn container_at(&self, height: u64) -> Result<Option<Container>, IndexError> {
        Ok(self.state.lock().containers.get(height as usize - 1).cloned())
    }

    fn height_of(&self, id: &Id) -> Result<Option<u64>, IndexError> {
        let state = self.state.lock();
        let place = state.containers.iter().position(|container| container.id == *id);
        Ok(place.map(|place| place as u64 + 1))
    }
}

impl ChainVm for ToyVm {
    fn context(&self) -> &ChainContext {
        &self.context
    }

    fn genesis(&self, _: &mut WriteSet) -> Result<(), ChainError> {
        Ok(())
    }

    fn check(&self, _: &dyn KvRead) -> Result<(), ChainError> {
        Ok(())
    }

    fn state_tables(&self) -> Vec<StateTable> {
        Vec::new()
    }

    fn last_block(&self, _: &dyn KvRead) -> Result<(u64, BlockId), ChainError> {
        Ok((0, BlockId::ZERO))
    }

    fn build(&self, _: &dyn KvRead, _: &BuildContext) -> Result<Built, ChainError> {
        Ok(Built::Nothing)
    }

    fn verify(
        &self,
        _: &dyn KvRead,
        _: &[u8],
        _: &BuildContext,
    ) -> Result<ExecutedBlock, BlockError> {
        Err(BlockError::Invalid("there are none".to_owned()))
    }

    fn extend_commit(&self, _: &[Arc<ExecutedBlock>], _: u64, _: &mut PendingWrites<'_>) {}

    fn on_accepted(&self, _: &Arc<ExecutedBlock>, _: u64) {}

    fn on_rejected(&self, _: &Arc<ExecutedBlock>) {}

    fn on_verified(&self, _: &Arc<ExecutedBlock>) {}

    fn prepare_rewind<'a>(&'a self, _: &mut Rewinding<'_>) -> Result<AfterRewind<'a>, ChainError> {
        Ok(Box::new(|| ()))
    }

    fn block_at(&self, _: &dyn KvRead, _: u64) -> Result<Option<Bytes>, ChainError> {
        Ok(None)
    }

    fn health(&self) -> Result<String, ChainError> {
        let sick = self.state.lock().sick.clone();
        sick.map_or(Ok("fine".to_owned()), |reason| Err(ChainError::Mismatch(reason)))
    }

    fn stats(&self) -> ChainStats {
        self.state.lock().stats
    }

    fn pool_figures(&self) -> PoolFigures {
        self.state.lock().pool.clone()
    }

    fn atomic_pool_figures(&self) -> Option<(u64, PoolFigures)> {
        self.state.lock().atomic.clone()
    }
}
