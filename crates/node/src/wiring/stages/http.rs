//! The HTTP servers and the other tasks of a running node.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use esker_chain::forward::ResubmitTask;
use esker_chain::{Shutdown, ShutdownTrigger};
use esker_http::{HttpConfig, HttpState, IpcListener, Routes, serve};
use esker_primitives::NodeId;
use esker_rpc::work::{EndedCalls, FailedCalls};
use esker_settings::config::Mode;
use tokio::task::JoinHandle;

use super::{ChainStage, OrderStage, StoreStage};
use crate::api::Health;
use crate::artifacts::ArtifactWatch;
use crate::backup::Backups;
use crate::wiring::listen::{self, Bound, EvmPort};
use crate::wiring::place::Place;
use crate::wiring::running::{self, RunningNode};
use crate::wiring::server::Server;

/// The tasks of a running node.
pub(super) struct Served {
    tasks: Vec<JoinHandle<()>>,
    http_addr: SocketAddr,
    further_addrs: Vec<SocketAddr>,
    evm_addr: Option<SocketAddr>,
    evm_in_use: Option<String>,
    node_id: NodeId,
    failed_calls: FailedCalls,
    ended_calls: EndedCalls,
    ready_after: Duration,
    server: Server,
}

impl Served {
    /// Starts the tasks, which end with `stopped`.
    pub(super) fn start(
        chains: &mut ChainStage,
        (listener, further, evm): (Bound, Vec<Bound>, EvmPort),
        routes: &Arc<Routes>,
        (health, stopped): (Arc<Health>, Shutdown),
    ) -> Self {
        let StoreStage { config, folder, identity, metrics, tls, begun, .. } = &chains.base;
        let (node_id, (listener, http_addr)) = (identity.node_id(), listener);
        let http = HttpConfig { spool: config.reply_spool(folder.path()), ..config.http() };
        let state = HttpState::new(http, Arc::clone(routes), &node_id, metrics.clone());
        let failed_calls = state.failed_calls().clone();
        let ended_calls = state.ended_calls().clone();
        let mut tasks = Vec::new();
        let controls = chains.chains.iter().filter_map(|(_, chain)| chain.controls());
        let registries = controls.map(|controls| controls.artifacts().clone()).collect();
        if let Some(watch) = ArtifactWatch::open(&config.settings.artifacts.0, registries) {
            let clock = chains.base.environment.clock.clone();
            tasks.push(tokio::spawn(watch.run(clock, stopped.clone())));
        }
        let mut start = |listener, state| {
            let stop = wait_for_shutdown(stopped.clone());
            tasks.push(tokio::spawn(serve(vec![listener], tls.clone(), state, stop)));
        };
        let (evm, evm_in_use) = match evm {
            EvmPort::Off => (None, None),
            EvmPort::Bound(evm) => (Some(*evm), None),
            EvmPort::InUse(address) => (None, Some(address)),
        };
        let evm_addr = evm.map(|evm| {
            start(evm.listener, Arc::new(state.with_routes(Arc::new(evm.routes))));
            tracing::info!(address = %evm.addr, "the C-Chain's JSON-RPC at /");
            evm.addr
        });
        let evm_addr = evm_addr.or((config.mode == Mode::Evm).then_some(http_addr));
        let (further, further_addrs): (Vec<_>, Vec<_>) = further.into_iter().unzip();
        let listeners = std::iter::once(listener).chain(further).collect();
        let server = Server::start(listeners, tls.clone(), Arc::new(state));
        if let Some(tls) = tls {
            tasks.push(tokio::spawn(listen::follow_certificate(tls.clone(), stopped.clone())));
        }
        let forwarding = chains.forwarding.take();
        if let Some(forwarding) = forwarding.filter(|forwarding| !forwarding.is_read_only()) {
            tasks.push(tokio::spawn(ResubmitTask::new(forwarding).run(stopped.clone())));
        }
        let interval = config.settings.state_interval.0;
        if let Some(shared) = chains.development.clone().filter(|_| !interval.is_zero()) {
            let clock = chains.base.environment.clock.clone();
            let node = (chains.base.config.clone(), shared);
            let dumping = running::dump_at_intervals(interval, node, clock, stopped.clone());
            tasks.push(tokio::spawn(dumping));
        }
        tasks.push(tokio::spawn(health.run(stopped)));
        let ready_after = begun.elapsed();
        tracing::info!(
            http = %http_addr,
            network = config.network.name,
            node_id = %node_id,
            ms = u64::try_from(ready_after.as_millis()).unwrap_or(u64::MAX),
            "ready"
        );
        Self {
            tasks,
            http_addr,
            further_addrs,
            evm_addr,
            evm_in_use,
            node_id,
            failed_calls,
            ended_calls,
            ready_after,
            server,
        }
    }
}

impl Served {
    /// Serves the EVM chain on a socket of the file system, too.
    pub(super) fn add_ipc(&mut self, ipc: IpcListener, chains: &ChainStage, stopped: Shutdown) {
        let config = &chains.base.config;
        let mut routes = chains.routes.get(&config.network.evm_chain().id).into_iter().flatten();
        let Some((_, dialect)) = routes.find_map(|route| route.socket.clone()) else { return };
        let limit = config.settings.http_body_limit.count();
        self.tasks.push(tokio::spawn(ipc.serve(dialect, limit, wait_for_shutdown(stopped))));
    }
}

impl OrderStage {
    /// The node, from the parts of all stages.
    pub(super) fn running(
        self,
        served: Served,
        routes: Arc<Routes>,
        (stop, backups): (ShutdownTrigger, Arc<Backups>),
        place: Option<Place>,
    ) -> RunningNode {
        let Self { engine_thread, chains, .. } = self;
        let ChainStage { block_log, maintenance, chains, machine, development, base, .. } = chains;
        RunningNode {
            http_addr: served.http_addr,
            further_addrs: served.further_addrs,
            evm_addr: served.evm_addr,
            evm_in_use: served.evm_in_use,
            tls: base.tls,
            node_id: served.node_id,
            ready_after: served.ready_after,
            logs: base.logs,
            routes,
            server: Some(served.server),
            earlier: Vec::new(),
            place,
            reset_requests: None,
            failed_calls: served.failed_calls,
            ended_calls: served.ended_calls,
            fork: base.environment.fork.map(|fork| fork.source),
            clock: base.environment.clock,
            chains: chains.into_iter().map(|(_, chain)| chain).collect(),
            machine,
            development,
            stop,
            tasks: served.tasks,
            engine: engine_thread,
            block_log,
            maintenance,
            backups,
            store: base.store,
            folder: base.folder,
            config: base.config,
        }
    }
}

/// Resolves when the node stops.
async fn wait_for_shutdown(mut stop: Shutdown) {
    stop.wait().await;
}
