//! The third stage: the engine, which orders blocks on a separate thread, and the first blocks of a development network.

use std::path::Path;
use std::sync::Arc;

use esker_chain::Engine;
use esker_evm::control::Interval;
use esker_evm_rpc::{DevelopmentNode, StateFileError};
use esker_follow::Follower;
use esker_validators::ValidatorEngine;

use super::ChainStage;
use crate::api::{FollowerDeps, OrderInputs};
use crate::chains::{Chain, Development, followed};
use crate::wiring::avalanchego::FollowedNode;
use crate::wiring::chains::machine_config;
use crate::wiring::engine::{self, ChosenEngine, EngineThread};
use crate::wiring::error::StartError;
use crate::wiring::fixture::FixtureChains;
use crate::wiring::{chain_file, first_start, fixture};

/// Chains with an engine that decides their blocks.
pub(in crate::wiring) struct OrderStage {
    pub(super) engine_thread: EngineThread,
    pub(super) engine: Arc<dyn Engine>,
    pub(super) follower: Option<Arc<Follower>>,
    pub(super) validator: Option<Arc<dyn ValidatorEngine>>,
    pub(super) chains: ChainStage,
}

impl OrderStage {
    /// Starts the engine. A new development network has its accounts, fixture and state when this returns.
    pub(in crate::wiring) async fn begin(mut chains: ChainStage) -> Result<Self, StartError> {
        chains.import_file().await?;
        let applying = chains.fixture_to_apply();
        let ChosenEngine { engine, follower, validator } = chains.choose_engine()?;
        let engine_thread = EngineThread::spawn(Arc::clone(&engine), chains.machine.clone())?;
        let mut stage = Self { engine_thread, engine, follower, validator, chains };
        stage.begin_development(applying).await?;
        Ok(stage)
    }

    /// The inputs of the node's own APIs.
    pub(super) fn api_inputs(&self) -> OrderInputs {
        let max_lag = self.chains.base.config.settings.follow_max_lag;
        OrderInputs {
            engine: Arc::clone(&self.engine),
            follower: self.follower.clone().map(|follower| FollowerDeps { follower, max_lag }),
            validator: self.validator.clone(),
        }
    }

    /// Prepares a development network, and loads its snapshots.
    async fn begin_development(
        &mut self,
        applying: Option<fixture::Applying>,
    ) -> Result<(), StartError> {
        let config = &self.chains.base.config;
        let (mode, decides_alone) = (config.mode, config.decides_alone());
        let has_accounts = config.network.dev_accounts.is_some();
        let has_prepared = match has_accounts && self.follower.is_none() {
            true => self.prepare(applying).await?,
            false => false,
        };
        let shared = self.chains.development.as_ref().filter(|_| decides_alone);
        if let Some(Development { snapshots, .. }) = shared {
            snapshots.load().await.map_err(StartError::Snapshots)?;
            if mode.is_development() {
                self.chains.set_controls();
                let marked = snapshots.mark_beginning(has_prepared).await;
                marked.map_err(StartError::Snapshots)?;
            }
        }
        Ok(())
    }

    /// Funds the accounts, applies the fixture and loads the state, unless the engine fails or the start is to end meanwhile. Returns
    /// whether it did anything. Blocks of transactions that waited over a restart do not count.
    async fn prepare(&mut self, applying: Option<fixture::Applying>) -> Result<bool, StartError> {
        let Self { chains, engine_thread, .. } = self;
        let mut stop = chains.base.stop_start.clone();
        tokio::select! {
            prepared = chains.prepare(applying) => prepared,
            () = stop.wait() => {
                engine_thread.stop().await?;
                Err(StartError::Stopped)
            }
            () = engine_thread.ended() => {
                engine_thread.stop().await?;
                Err(StartError::Funding("the engine stopped".to_owned()))
            }
        }
    }
}

impl ChainStage {
    /// Imports the file of blocks of the configuration, before the engine makes any.
    async fn import_file(&mut self) -> Result<(), StartError> {
        let base = &mut self.base;
        let Some(path) = &base.config.settings.import else { return Ok(()) };
        let id = base.config.network.evm_chain().id;
        let chain = self.chains.iter().find(|(spec, _)| spec.id == id).map(|(_, chain)| chain);
        let Some(Chain::Evm(chain)) = chain else { return Ok(()) };
        let clock = self.development.as_ref().map(|shared| &shared.clock);
        let (node_clock, stop) = (&base.environment.clock, &mut base.stop_start);
        let machine = (self.machine.as_ref(), clock);
        Box::pin(chain_file::import(path, chain.evm(), machine, (node_clock, stop))).await
    }

    /// Sets how blocks are made and for whom the node signs, from now on.
    fn set_controls(&self) {
        let settings = &self.base.config.settings;
        let interval = settings.mine_interval.0;
        for controls in self.chains.iter().filter_map(|(_, chain)| chain.controls()) {
            if settings.no_mining {
                controls.set_automine(false);
            }
            if !interval.is_zero() {
                let interval = Interval::every(interval);
                let set = controls.set_interval(Some(interval), settings.mixed_mining);
                set.expect("the configuration was checked");
            }
            if settings.auto_impersonate {
                controls.set_auto_impersonation(true);
            }
        }
    }

    /// The fixture of a development network, whose transactions are signed from now on.
    fn fixture_to_apply(&mut self) -> Option<fixture::Applying> {
        let (fixture, shared) = self.base.fixture.take().zip(self.development.as_ref())?;
        let clock = shared.clock.clone();
        Some(fixture::Applying::begin(fixture, &self.base.config.network, clock))
    }

    fn choose_engine(&mut self) -> Result<ChosenEngine, StartError> {
        let base = &mut self.base;
        let validator = base.validator.take();
        let followed = self.observed_p.clone().filter(|_| base.config.observes_p);
        let ids = followed::ids(&base.config.network);
        let followed = followed.zip(ids).map(|(p, ids)| FollowedNode {
            network: base.config.network.clone(),
            ids,
            chains: self.chains.clone(),
            p,
            store: base.store.clone(),
        });
        let chain_clock = self.development.as_ref().map(|shared| shared.clock.clone());
        let outside = (&base.environment, chain_clock, &base.store);
        let sources = (followed, self.preferred.clone());
        engine::choose(&base.config, validator, &self.machine, outside, sources)
    }

    async fn prepare(&self, applying: Option<fixture::Applying>) -> Result<bool, StartError> {
        let config = &self.base.config;
        let network = &config.network;
        let Some(Chain::Evm(evm)) = self.chain(network.evm_chain().id) else { return Ok(false) };
        let xvm = match network.x_chain().and_then(|spec| self.chain(spec.id)) {
            Some(Chain::Xvm(xvm)) => Some(xvm.as_ref()),
            Some(Chain::Evm(_)) | None => None,
        };
        let mut has_prepared = match xvm {
            Some(xvm) => first_start::fund_dev_accounts(network, xvm, &self.machine).await?,
            None => false,
        };
        if let Some(applying) = applying {
            let machine = (&self.machine, machine_config(config).undo);
            let chains = FixtureChains { xvm, evm };
            applying.finish(chains, machine, network).await?;
            has_prepared = true;
        }
        let node = self.development.as_ref().and_then(Development::node);
        if let Some(((path, may_be_missing), node)) = config.state_to_load().zip(node) {
            has_prepared |= load_state(&node, path, may_be_missing).await?;
        }
        Ok(has_prepared)
    }
}

/// Brings the C-Chain to the state of a file. Returns whether that took blocks.
async fn load_state(
    node: &Arc<DevelopmentNode>,
    path: &Path,
    may_be_missing: bool,
) -> Result<bool, StartError> {
    match node.load_file(path).await {
        Err(StateFileError::Io { error, .. })
            if may_be_missing && error.kind() == std::io::ErrorKind::NotFound =>
        {
            Ok(false)
        }
        loaded => loaded.map_err(|error| StartError::State { doing: "load", error }),
    }
}
