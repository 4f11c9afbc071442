//! A running node, and its end.

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use esker_chain::{
    ChainError, EngineError, FinalizeError, Machine, Maintenance, Shutdown, ShutdownTrigger,
};
use esker_evm_rpc::ResetRequest;
use esker_fork::Fork;
use esker_http::{Routes, Tls};
use esker_primitives::NodeId;
use esker_primitives::clock::Clock;
use esker_rpc::work::{EndedCalls, FailedCalls};
use esker_settings::config::{Config, ConfigError};
use esker_storage::{StorageError, Store};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::StartError;
use super::data::DataFolder;
use super::engine::EngineThread;
use super::place::Place;
use super::server::Server;
use crate::activity::{Activity, CallLogSources, Sources};
use crate::backup::Backups;
use crate::block_log::BlockLogTask;
use crate::chains::{Chain, Development};
use crate::forked_block::ForkedBlock;
use crate::journal;
use crate::logging::Logs;
use crate::taken_over::TakenOver;

/// A running node. Dropping it without [`RunningNode::stop`] ends its parts without waiting for them.
#[derive(Debug)]
pub struct RunningNode {
    pub(super) http_addr: SocketAddr,
    pub(super) further_addrs: Vec<SocketAddr>,
    pub(super) evm_addr: Option<SocketAddr>,
    pub(super) evm_in_use: Option<String>,
    pub(super) tls: Option<Tls>,
    pub(super) node_id: NodeId,
    pub(super) ready_after: Duration,
    pub(super) logs: Logs,
    pub(super) routes: Arc<Routes>,
    /// The server of all paths. `None`: another node has taken the place of this one.
    pub(super) server: Option<Server>,
    /// Servers of nodes whose place this one has taken, as long as they have connections.
    pub(super) earlier: Vec<Server>,
    /// What a node that takes the place of this one needs, where that is possible.
    pub(super) place: Option<Place>,
    /// Resets to other chains that have come already.
    pub(super) reset_requests: Option<mpsc::Receiver<ResetRequest>>,
    pub(super) failed_calls: FailedCalls,
    pub(super) ended_calls: EndedCalls,
    pub(super) fork: Option<Fork>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) chains: Vec<Chain>,
    pub(super) machine: Arc<Machine>,
    pub(super) development: Option<Development>,
    pub(super) stop: ShutdownTrigger,
    pub(super) tasks: Vec<JoinHandle<()>>,
    pub(super) engine: EngineThread,
    pub(super) block_log: BlockLogTask,
    pub(super) maintenance: Vec<Maintenance>,
    pub(super) backups: Arc<Backups>,
    pub(super) store: Store,
    /// It is the last member: a temporary folder is removed after everything else is dropped.
    pub(super) folder: DataFolder,
    pub(super) config: Config,
}

impl RunningNode {
    /// The bound address of the HTTP server.
    pub fn http_addr(&self) -> SocketAddr {
        self.http_addr
    }

    /// The bound addresses of its further hosts.
    pub fn further_addrs(&self) -> &[SocketAddr] {
        &self.further_addrs
    }

    /// The bound address of the listener with the C-Chain's JSON-RPC at `/`, if there is one.
    pub fn evm_addr(&self) -> Option<SocketAddr> {
        self.evm_addr
    }

    /// The default address of that listener, if another program uses it.
    pub fn evm_in_use(&self) -> Option<&str> {
        self.evm_in_use.as_deref()
    }

    /// The scheme of its addresses: `http`, or `https` with TLS.
    pub fn http_scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// Its configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Its chains.
    pub fn chains(&self) -> &[Chain] {
        &self.chains
    }

    /// The block of another node on which the EVM chain began.
    pub fn forked_block(&self) -> Option<ForkedBlock> {
        self.fork.as_ref().map(ForkedBlock::of)
    }

    /// What the X-Chain took over from another network.
    pub fn taken_over(&self) -> Option<TakenOver> {
        self.chains.iter().find_map(Chain::taken_over)
    }

    /// The machine, which commits its chains' blocks.
    pub fn machine(&self) -> &Arc<Machine> {
        &self.machine
    }

    /// Its paths.
    pub fn routes(&self) -> &Arc<Routes> {
        &self.routes
    }

    /// The data folder. A temporary one is removed by [`Self::stop`].
    pub fn data_dir(&self) -> &Path {
        self.folder.path()
    }

    /// Its node ID.
    pub fn node_id(&self) -> NodeId {
        self.node_id
    }

    /// Time from the start to the first answer.
    pub fn ready_after(&self) -> Duration {
        self.ready_after
    }

    /// Writes the events from now on for a person to read: accepted transactions and blocks, and calls that print or
    /// end with an error. It ends with [`Activity::stop`], or when `out` fails. The node does not wait for `out`.
    pub fn show_activity(&self, out: impl Write + Send + 'static) -> Activity {
        let controls: Vec<_> = self.chains.iter().filter_map(Chain::controls).cloned().collect();
        let sources = Sources {
            events: self.machine.subscribe(),
            failed_calls: self.failed_calls.subscribe(),
            printed_calls: controls.iter().map(|one| one.printed_calls().subscribe()).collect(),
            chains: self.chains.iter().map(Chain::vm).collect(),
            clock: Arc::clone(&self.clock),
            controls,
            fork: self.fork.clone(),
        };
        Activity::spawn(sources, out)
    }

    /// The calls that end from now on, with the blocks and what code prints, for a person to read in the form of Hardhat's
    /// node. Otherwise what [`CallLogSources::show`] writes is as of [`Self::show_activity`].
    pub fn follow_calls(&self) -> CallLogSources {
        CallLogSources {
            events: self.machine.subscribe(),
            ended_calls: self.ended_calls.subscribe(),
            chains: self.chains.iter().filter_map(Chain::evm).cloned().collect(),
            clock: Arc::clone(&self.clock),
            fork: self.fork.clone(),
        }
    }

    /// Opens the log files again at their next lines, for a program that has renamed them.
    pub fn reopen_logs(&self) {
        self.logs.files.reopen();
    }

    /// Reads the log levels from the configuration file again and sets them. The log has the result.
    pub fn reload_log_levels(&self) -> Result<(), ConfigError> {
        let log = self.config.reload_log().inspect_err(|error| {
            tracing::error!(%error, "reloading the log levels failed; they are unchanged");
        })?;
        let main = (crate::logging::MAIN.to_owned(), log.main);
        for (name, levels) in log.chains.into_iter().chain([main]) {
            self.logs.levels.set(&name, Some(levels.file), Some(levels.display));
        }
        tracing::info!("reloaded the log levels");
        Ok(())
    }

    /// Reads the certificate of the HTTP server again, if it has one. The log has the result.
    pub fn reload_certificate(&self) {
        if let Some(tls) = &self.tls {
            tls.reload();
        }
    }

    /// Resolves when the engine has ended by itself, so the node can't continue. [`Self::stop`] then returns the
    /// reason.
    pub fn failed(&self) -> impl Future<Output = ()> + Send + 'static {
        self.engine.ended()
    }

    /// Stops the node: running requests get their replies, and running writes complete. This takes under a second
    /// unless the disk is slow.
    ///
    /// A block that waits for room on the disk is dropped: its acceptance was never reported.
    ///
    /// # Errors
    /// The engine has failed, or the last writes have.
    pub async fn stop(self) -> Result<(), StartError> {
        let begun = Instant::now();
        tracing::info!("stopping");
        let Self { stop, tasks, mut engine, block_log, maintenance, backups, place, .. } = self;
        let Self { chains, store, folder, config, development, server, earlier, .. } = self;
        // The port is not held longer than its server needs it.
        drop(place);
        let servers: Vec<_> = server.into_iter().chain(earlier).collect();
        if let Some(path) = &config.settings.ready_file {
            // The file may not exist.
            let _gone = std::fs::remove_file(path);
        }
        stop.trigger();
        servers.iter().for_each(Server::trigger_stop);
        // Requests that wait for blocks get their replies before their connections are closed.
        for chain in &chains {
            if let Some(waits) = &chain.vm().context().block_waits {
                waits.stop();
            }
        }
        backups.stop().await;
        for server in servers {
            server.ended().await;
        }
        for task in tasks {
            if let Err(error) = task.await {
                tracing::error!(%error, "a task of the node failed");
            }
        }
        let dumped = dump_state(&config, development).await;
        store.writer.stop_waiting().await;
        let engine = without_refusal(engine.stop().await);
        block_log.stop().await;
        if let Some(path) = folder.persistent_path() {
            let vms: Vec<_> = chains.iter().map(Chain::vm).collect();
            if let Err(error) = journal::write(path, &vms) {
                tracing::error!(%error, "can't save the waiting transactions for the next start: they are lost");
            }
        }
        drop(chains);
        drop(maintenance);
        drop(backups);
        let written = store.writer.close().await;
        drop(store);
        drop(folder);
        let ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        tracing::info!(ms, "stopped");
        engine?;
        written?;
        dumped
    }
}

/// Checks that the C-Chain's state can be written when the node stops, if the configuration asks for that.
pub(super) fn check_dump_file(config: &Config) -> Result<(), StartError> {
    let Some(path) = config.state_to_dump() else { return Ok(()) };
    esker_evm_rpc::check_dump_file(path).map_err(|error| StartError::State { doing: "dump", error })
}

/// Writes the C-Chain's state to its file, if it has one.
async fn dump_state(config: &Config, development: Option<Development>) -> Result<(), StartError> {
    let node = development.and_then(|shared| shared.node());
    let Some((path, node)) = config.state_to_dump().map(ToOwned::to_owned).zip(node) else {
        return Ok(());
    };
    let with_states = config.settings.preserve_historical_states;
    match tokio::task::spawn_blocking(move || node.dump_file(&path, with_states)).await {
        Ok(dumped) => dumped.map_err(|error| StartError::State { doing: "dump", error }),
        Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
    }
}

/// Writes the state to its file at intervals until the node stops.
pub(super) async fn dump_at_intervals(
    interval: Duration,
    (config, development): (Config, Development),
    clock: Arc<dyn Clock>,
    mut stop: Shutdown,
) {
    let interval_ms = u64::try_from(interval.as_millis()).unwrap_or(u64::MAX);
    loop {
        let next_ms = clock.now_ms().saturating_add(interval_ms);
        tokio::select! {
            () = clock.sleep_until(next_ms) => {}
            _ = stop.wait() => return,
        }
        if let Err(error) = dump_state(&config, Some(development.clone())).await {
            tracing::error!(%error, "the state was not written at its time");
        }
    }
}

/// An engine that was stopped while the disk refused its last block has not failed.
fn without_refusal(ended: Result<(), StartError>) -> Result<(), StartError> {
    match ended {
        Err(StartError::Engine(EngineError::Finalize(FinalizeError::Chain(
            ChainError::Storage(StorageError::Refused(refusal)),
        )))) => {
            tracing::warn!(%refusal, "dropped a block that was not accepted yet");
            Ok(())
        }
        ended => ended,
    }
}
