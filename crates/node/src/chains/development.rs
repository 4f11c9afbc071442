//! The namespace `dev` of the X-Chain's endpoint under `esker dev`: snapshots of all chains, their clock, blocks. The
//! C-Chain's endpoint has the same controls under the names of other tools.

use std::sync::Arc;
use std::time::Duration;

use esker_chain::ChainContext;
use esker_evm::chain::Evm;
use esker_evm::control::{ControlError, Snapshots};
use esker_primitives::clock::Clock as _;
use esker_rpc::handler::{quick, waits};
use esker_rpc::wire::JsonU64;
use esker_rpc::{Dialect, MethodTable, NoArgs, Route, RpcError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::impersonation::{self, ImpersonationApi};

/// Adds the methods to the first one of a chain's endpoints.
pub(crate) fn add_methods(
    routes: &mut [Route],
    snapshots: &Arc<Snapshots>,
    context: &ChainContext,
) {
    let methods = methods().bind(Arc::new(DevelopmentApi(Arc::clone(snapshots))));
    let (snapshots, context) = (Arc::clone(snapshots), context.clone());
    let of_addresses =
        impersonation::methods().bind(Arc::new(ImpersonationApi { snapshots, context }));
    if let Some(Route { dialect: Dialect::Object(service), .. }) = routes.first_mut() {
        *service = service.clone().merge(&methods).merge(&of_addresses);
    }
}

/// Time for which one request makes blocks.
const MINING_PATIENCE: Duration = Duration::from_secs(27);

struct DevelopmentApi(Arc<Snapshots>);

#[derive(Debug, Serialize, JsonSchema)]
struct EmptyReply {}

#[derive(Debug, Serialize, JsonSchema)]
struct SnapshotReply {
    /// The snapshot's ID.
    id: JsonU64,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct RevertArgs {
    /// The snapshot's ID.
    id: JsonU64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct RevertReply {
    /// False: there is no such snapshot.
    success: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct MineArgs {
    /// How many blocks.
    #[serde(default = "one")]
    blocks: JsonU64,
    /// By how much the first is later than it would be, and each further one than the one before, s.
    #[serde(default)]
    interval: JsonU64,
}

fn one() -> JsonU64 {
    JsonU64(1)
}

#[derive(Debug, Deserialize, JsonSchema)]
struct IncreaseTimeArgs {
    /// How far, s.
    seconds: JsonU64,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct SetTimeArgs {
    /// Unix s.
    timestamp: JsonU64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct TimeReply {
    /// Unix s.
    timestamp: JsonU64,
}

fn methods() -> MethodTable<DevelopmentApi> {
    MethodTable::new("dev")
        .on("snapshot", waits(snapshot))
        .on("revert", waits(revert))
        .on("reset", waits(reset))
        .on("mine", waits(mine))
        .on("getTime", quick(DevelopmentApi::get_time))
        .on("increaseTime", waits(increase_time))
        .on("setTime", waits(set_time))
}

fn refused(error: impl std::fmt::Display) -> RpcError {
    RpcError::new(error.to_string())
}

impl DevelopmentApi {
    /// The chain whose controls execute the request.
    fn chain(&self) -> Result<Arc<Evm>, RpcError> {
        self.0.chain().ok_or(ControlError::Followed).map_err(refused)
    }

    /// Like [`Self::chain`], for controls that need a later write.
    fn chain_to_write(&self) -> Result<Arc<Evm>, RpcError> {
        let chain = self.chain()?;
        chain.ensure_writable().map_err(refused)?;
        Ok(chain)
    }

    fn time(&self) -> TimeReply {
        TimeReply { timestamp: JsonU64(self.0.clock().now_s()) }
    }

    fn get_time(&self, _: NoArgs) -> Result<TimeReply, RpcError> {
        Ok(self.time())
    }
}

async fn increase_time(
    api: Arc<DevelopmentApi>,
    args: IncreaseTimeArgs,
) -> Result<TimeReply, RpcError> {
    let chain = api.chain()?;
    let controls = chain.controls().ok_or(ControlError::Stopped).map_err(refused)?;
    let _turn = controls.turn().await.map_err(refused)?;
    let last_s = chain.last_time_s().map_err(refused)?;
    controls.increase_time(args.seconds.0, last_s).map_err(refused)?;
    Ok(api.time())
}

async fn set_time(api: Arc<DevelopmentApi>, args: SetTimeArgs) -> Result<TimeReply, RpcError> {
    let chain = api.chain()?;
    let controls = chain.controls().ok_or(ControlError::Stopped).map_err(refused)?;
    let _turn = controls.turn().await.map_err(refused)?;
    let last_s = chain.last_time_s().map_err(refused)?;
    controls.set_time(args.timestamp.0, last_s).map_err(refused)?;
    Ok(api.time())
}

async fn snapshot(api: Arc<DevelopmentApi>, _: NoArgs) -> Result<SnapshotReply, RpcError> {
    api.chain_to_write()?;
    let id = run(async move { api.0.take().await }).await?;
    Ok(SnapshotReply { id: JsonU64(id) })
}

async fn revert(api: Arc<DevelopmentApi>, args: RevertArgs) -> Result<RevertReply, RpcError> {
    api.chain_to_write()?;
    let success = run(async move { api.0.revert(args.id.0).await }).await?;
    Ok(RevertReply { success })
}

async fn reset(api: Arc<DevelopmentApi>, _: NoArgs) -> Result<EmptyReply, RpcError> {
    api.chain_to_write()?;
    run(async move { api.0.reset().await }).await?;
    Ok(EmptyReply {})
}

async fn mine(api: Arc<DevelopmentApi>, args: MineArgs) -> Result<EmptyReply, RpcError> {
    let chain = api.chain_to_write()?;
    let controls = chain.controls().ok_or(ControlError::Stopped).map_err(refused)?;
    let mut turn = controls.turn().await.map_err(refused)?;
    let patience = Some(MINING_PATIENCE);
    turn.mine(args.blocks.0, args.interval.0, patience).await.map_err(refused)?;
    Ok(EmptyReply {})
}

/// Runs to the end, even if the client disconnects: no control is left half done.
async fn run<T: Send + 'static>(
    work: impl Future<Output = Result<T, ControlError>> + Send + 'static,
) -> Result<T, RpcError> {
    tokio::spawn(work).await.map_err(refused)?.map_err(refused)
}
