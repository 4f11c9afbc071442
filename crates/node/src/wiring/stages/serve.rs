//! The last stage: paths and ports. From here on the node answers.

use std::net::SocketAddr;
use std::sync::Arc;

use esker_chain::{Aliases as _, Shutdown};
use esker_http::{Readiness, Routes};
use esker_primitives::SubnetId;
use esker_settings::config::Mode;
use tokio::net::TcpListener;

use super::http::Served;
use super::{ChainStage, OrderStage};
use crate::api::admin::settings::shown as shown_settings;
use crate::api::{self, AdminDeps, ApiDeps, FollowerDeps, NetworkFacts, RunningChain};
use crate::backup::{BackupSource, Backups};
use crate::chains::{development, endpoints};
use crate::discovery::node_endpoint;
use crate::wiring::error::StartError;
use crate::wiring::running::RunningNode;
use crate::wiring::{index, keystore, listen, unserved, versions};

/// Port for peers. The node does not listen on it.
const STAKING_PORT: u16 = 9651;

impl OrderStage {
    /// Serves the chains under all their aliases, and the node's own APIs.
    pub(in crate::wiring) async fn serve(mut self) -> Result<RunningNode, StartError> {
        let (stop, stopped) = Shutdown::new();
        let routes = Arc::new(Routes::new(self.chains.base.metrics.clone()));
        let ready = Readiness::ready();
        self.chains.add_endpoints(&routes, &ready)?;
        let listener = self.chains.listener().await?;
        let evm = listen::evm(&self.chains.base.config, &routes).await?;
        let base = &self.chains.base;
        let source = BackupSource::of(&base.config, base.folder.path());
        let backups = Backups::new(Arc::clone(&base.store.kv), source);
        let deps = self.api_deps((listener.1, ready), &backups, stopped.clone())?;
        let health = api::install(deps, &routes)?;
        let served = Served::start(&mut self.chains, (listener, evm), &routes, (health, stopped));
        Ok(self.running(served, routes, (stop, backups)))
    }

    /// What the node's own APIs show and do.
    fn api_deps(
        &self,
        (http_addr, ready): (SocketAddr, Readiness),
        backups: &Arc<Backups>,
        stopped: Shutdown,
    ) -> Result<ApiDeps, StartError> {
        let chains = &self.chains;
        let base = &chains.base;
        let (config, folder) = (&base.config, base.folder.path());
        let follower = self
            .follower
            .clone()
            .map(|follower| FollowerDeps { follower, max_lag: config.settings.follow_max_lag });
        let admin = config.settings.api_admin_enabled.then(|| AdminDeps {
            levels: base.logs.clone(),
            profiles: chains.diagnostics.folder(),
            config: shown_settings(config, folder),
            backups: Arc::clone(backups),
            validator: self.validator.clone(),
        });
        Ok(ApiDeps {
            network: NetworkFacts::of(&config.network),
            identity: Arc::clone(&base.identity),
            versions: versions::versions(base.environment.commit),
            node_ip: SocketAddr::new(http_addr.ip(), STAKING_PORT),
            vms: versions::vms(),
            fxs: versions::fxs(),
            aliases: Arc::clone(&chains.aliases),
            chains: chains.running_chains(&ready),
            engine: Arc::clone(&self.engine),
            follower,
            first_bundle: chains.first_bundle,
            validator: self.validator.clone(),
            sync: api::sync::server(config, &chains.machine, &base.store, stopped)?,
            store: base.store.clone(),
            data_dir: Some(folder.to_owned()),
            clock: base.environment.clock.clone(),
            metrics: Arc::clone(&base.metrics),
            admin,
        })
    }
}

impl ChainStage {
    /// The bound port, which may have answered since before the chains were open.
    async fn listener(&mut self) -> Result<(TcpListener, SocketAddr), StartError> {
        match self.base.early.listener.take() {
            Some(bound) => Ok(bound),
            None => listen::http(&self.base.config).await,
        }
    }

    /// Adds the endpoints of the chains, of their users and of the virtual machine.
    fn add_endpoints(&self, routes: &Routes, ready: &Readiness) -> Result<(), StartError> {
        let config = &self.base.config;
        let key_methods = config.settings.api_key_methods_enabled;
        for (_, chain) in &self.chains {
            let vm = chain.vm();
            let id = vm.context().chain_id;
            tracing::info!(chain = vm.name(), %id, height = vm.stats().height, "chain opened");
            let mut of_chain = self.routes.get(&id).cloned().unwrap_or_default();
            if let Some(shared) = self.development.as_ref().filter(|_| config.mode == Mode::Dev)
                && id == config.network.x_chain().id
            {
                development::add_methods(&mut of_chain, &shared.snapshots);
            }
            let endpoints = endpoints(&vm.name(), of_chain, key_methods);
            routes.chain(&id, &self.aliases.aliases(&id), endpoints, ready)?;
        }
        add_static_endpoints(routes)?;
        keystore::add_endpoint(config, Arc::clone(&self.keystore), routes)?;
        unserved::note(config, &self.chains, &self.aliases, routes);
        Ok(())
    }

    fn running_chains(&self, ready: &Readiness) -> Vec<RunningChain> {
        let has_index = self.base.config.settings.index_enabled;
        let running = self.chains.iter().map(|(spec, chain)| {
            let routes = self.routes.get(&spec.id).into_iter().flatten();
            RunningChain {
                vm: chain.vm(),
                suffixes: routes.map(|route| route.suffix).collect(),
                subnet_id: SubnetId::ZERO,
                ready: ready.clone(),
                index: has_index.then(|| index::source(chain)),
                was_dag: chain.was_dag(),
            }
        });
        running.collect()
    }
}

/// Adds `/ext/vm/xvm` and the reference's aliases of it.
fn add_static_endpoints(routes: &Routes) -> Result<(), StartError> {
    use esker_xvm::genesis::primary::XVM_ID;
    let service = esker_xvm::service::genesis::service();
    routes.node("vm/xvm", node_endpoint("vm/xvm", service))?;
    routes.alias("vm/xvm", "vm/avm")?;
    routes.alias("vm/xvm", &format!("vm/{XVM_ID}"))?;
    Ok(())
}
