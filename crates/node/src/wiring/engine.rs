//! The engine and its thread.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use esker_chain::forward::{ForwardLimits, Forwarding, ReadOnlyForwarder, TxForwarder};
use esker_chain::{
    AdjustableClock, ChainMachine, Engine, EngineError, Machine, Shutdown, ShutdownTrigger,
};
use esker_engine::{Idle, Solo};
use esker_follow::{EskerSource, Follower, PreferredSource, Source, SourceForwarder};
use esker_outbound::{SourceKind, SourceUrl};
use esker_primitives::clock::Clock;
use esker_settings::config::Config;
use esker_storage::Store;
use esker_validators::{ValidatorConfig, ValidatorEngine};
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::avalanchego::{AvalancheGoSource, FollowedNode};
use super::{StartError, follow};
use crate::environment::Environment;
use crate::validator_changes::{KnownValidators, consensus};

/// The engine of a node, also under the type of its kind.
pub(super) struct ChosenEngine {
    pub(super) engine: Arc<dyn Engine>,
    pub(super) follower: Option<Arc<Follower>>,
    pub(super) validator: Option<Arc<dyn ValidatorEngine>>,
}

/// The engine of a node: one that decides alone, one of several validators, or one that follows other nodes.
/// `chain_clock` is the clock of the chains of a development network.
///
/// # Errors
/// The network has validators and this build has none, or the store's changes of them are not this network's.
pub(super) fn choose(
    config: &Config,
    validator: Option<ValidatorConfig>,
    machine: &Machine,
    (environment, chain_clock, store): (&Environment, Option<AdjustableClock>, &Store),
    (node, preferred): (Option<FollowedNode>, PreferredSource),
) -> Result<ChosenEngine, StartError> {
    if let Some(validator) = validator {
        let validator = consensus(environment, &config.network)?.engine(validator);
        let engine = Arc::clone(&validator) as Arc<dyn Engine>;
        return Ok(ChosenEngine { engine, follower: None, validator: Some(validator) });
    }
    let urls = config.sources();
    if urls.is_empty() {
        let engine: Arc<dyn Engine> = match config.settings.no_build {
            true => Arc::new(Idle::new()),
            false => Arc::new(Solo::new()),
        };
        return Ok(ChosenEngine { engine, follower: None, validator: None });
    }
    let (network, genesis) = (config.network.id, machine.genesis().id());
    let node = node.map(Arc::new);
    let source = |url: SourceUrl| -> Arc<dyn Source> {
        match (url.kind, &node) {
            (SourceKind::AvalancheGo, Some(node)) => {
                Arc::new(AvalancheGoSource::new(url, config.dialer.clone(), Arc::clone(node)))
            }
            _ => {
                let (dialer, timeouts) = (config.dialer.clone(), follow::timeouts(config));
                Arc::new(EskerSource::new(url, dialer, (network, genesis), timeouts))
            }
        }
    };
    let sources = urls.into_iter().map(source).collect();
    let clock = Arc::clone(&environment.clock);
    let mut follower = Follower::new(sources, follow::follower_config(config), clock);
    let validators = KnownValidators::open(&config.network, genesis, environment, store)?;
    if let Some(validators) = validators {
        follower = follower.with_validators(Arc::new(validators), preferred);
    }
    if let Some(chain_clock) = chain_clock {
        follower = follower.with_chain_clock(chain_clock);
    }
    let follower = Arc::new(follower);
    let engine = Arc::clone(&follower) as Arc<dyn Engine>;
    Ok(ChosenEngine { engine, follower: Some(follower), validator: None })
}

/// The forwarder of a follower's transactions, first to the preferred source; `None` for a node that decides itself.
pub(super) fn forwarding(
    config: &Config,
    clock: &Arc<dyn Clock>,
    preferred: &PreferredSource,
) -> Option<Arc<Forwarding>> {
    let urls = config.sources();
    if urls.is_empty() {
        return None;
    }
    let forwarder: Arc<dyn TxForwarder> = match config.settings.read_only {
        true => Arc::new(ReadOnlyForwarder),
        false => {
            let forwarder = SourceForwarder::new(urls, &config.dialer);
            Arc::new(forwarder.with_preferred(preferred.clone()))
        }
    };
    let limits = ForwardLimits::default();
    Some(Forwarding::new(forwarder, Arc::clone(clock), Handle::current(), limits))
}

/// The engine on a separate thread with its own runtime: load on the API does not delay blocks.
#[derive(Debug)]
pub(super) struct EngineThread {
    stop: ShutdownTrigger,
    thread: Option<JoinHandle<Result<(), EngineError>>>,
    /// Closed when the thread has ended.
    alive: watch::Receiver<()>,
}

impl EngineThread {
    pub(super) fn spawn(
        engine: Arc<dyn Engine>,
        machine: Arc<dyn ChainMachine>,
    ) -> Result<Self, StartError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(StartError::Thread)?;
        let (stop, stopped) = Shutdown::new();
        let (ended, alive) = watch::channel(());
        let run = move || {
            let _ended = ended;
            runtime.block_on(engine.run(machine, stopped))
        };
        let thread = spawn_thread("engine", run).map_err(StartError::Thread)?;
        Ok(Self { stop, thread: Some(thread), alive })
    }

    /// Resolves when the engine has ended, by itself or on request.
    pub(super) fn ended(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut alive = self.alive.clone();
        async move { while alive.changed().await.is_ok() {} }
    }

    /// Stops the engine, waits for its current write, and returns its result.
    pub(super) async fn stop(&mut self) -> Result<(), StartError> {
        self.stop.trigger();
        self.ended().await;
        match self.thread.take().map(JoinHandle::join) {
            None | Some(Ok(Ok(()))) => Ok(()),
            Some(Ok(Err(error))) => Err(error.into()),
            Some(Err(_)) => Err(StartError::EnginePanic),
        }
    }
}

fn spawn_thread<T: Send + 'static>(
    name: &str,
    run: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    thread::Builder::new().name(name.to_owned()).spawn(run)
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use esker_chain::{EngineStatus, MachineConfig, Role};
    use tokio::sync::Notify;

    use super::*;
    use crate::clock::SystemClock;

    #[derive(Debug)]
    enum FaultyEngine {
        Fails,
        Panics,
        Waits,
    }

    #[async_trait]
    impl Engine for FaultyEngine {
        async fn run(
            self: Arc<Self>,
            _: Arc<dyn ChainMachine>,
            mut stop: Shutdown,
        ) -> Result<(), EngineError> {
            match *self {
                Self::Fails => Err(EngineError::Protocol("odd".to_owned())),
                Self::Panics => panic!("odd"),
                Self::Waits => {
                    stop.wait().await;
                    Ok(())
                }
            }
        }

        fn status(&self) -> EngineStatus {
            EngineStatus { role: Role::Solo, tip_final: 0, tip_seen: 0, peers: 0, syncing: false }
        }
    }

    fn spawn(engine: FaultyEngine) -> EngineThread {
        let (clock, work) = (Arc::new(SystemClock), Arc::new(Notify::new()));
        let store = Store::memory().unwrap();
        let machine =
            Machine::open(Vec::new(), store, clock, work, MachineConfig::default()).unwrap();
        EngineThread::spawn(Arc::new(engine), machine).unwrap()
    }

    #[tokio::test]
    async fn an_engine_that_ends_by_itself_returns_its_error() {
        let mut thread = spawn(FaultyEngine::Fails);
        thread.ended().await;
        let error = thread.stop().await.unwrap_err();
        assert_eq!(error.to_string(), "the engine stopped: odd");
        assert_eq!(error.exit_code(), 1);
    }

    #[tokio::test]
    async fn an_engine_that_panics_is_noticed() {
        let mut thread = spawn(FaultyEngine::Panics);
        thread.ended().await;
        assert!(matches!(thread.stop().await, Err(StartError::EnginePanic)));
    }

    #[tokio::test]
    async fn an_engine_that_is_asked_to_end_returns_ok() {
        let mut thread = spawn(FaultyEngine::Waits);
        thread.stop().await.unwrap();
        thread.stop().await.unwrap();
    }
}
