//! The last stage: paths and ports. From here on the node answers.

use std::net::SocketAddr;
use std::sync::Arc;

use esker_chain::{Aliases as _, Shutdown};
use esker_evm_rpc::ResetRequest;
use esker_http::{Endpoint, Readiness, Routes};
use esker_settings::config::Mode;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::http::Served;
use super::{ChainStage, OrderStage, StoreStage};
use crate::api::admin::settings::shown as shown_settings;
use crate::api::{self, AdminDeps, ServeInputs};
use crate::backup::{BackupSource, Backups};
use crate::chains::{development, endpoints};
use crate::discovery::node_endpoint;
use crate::logging::Logs;
use crate::wiring::error::StartError;
use crate::wiring::listen::{Bound, EvmPort};
use crate::wiring::place::Place;
use crate::wiring::running::RunningNode;
use crate::wiring::{beginning, dashboard, early, keystore, listen, unserved, versions};

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
        let further = self.chains.further_listeners(listener.1).await?;
        let place = self.chains.place(&listener.0, &further)?;
        let evm = listen::evm(&self.chains.base.config, &routes).await?;
        let own = [listener.1].into_iter().chain(evm.address());
        let own = own.chain(further.iter().map(|(_, address)| *address));
        self.chains.base.own_addresses.set(own.collect());
        self.chains.add_dashboard(&routes, &evm, listener.1.port())?;
        let ipc = listen::ipc(&self.chains.base.config)?;
        let base = &self.chains.base;
        let source = BackupSource::from_config(&base.config, base.folder.path());
        let backups = Backups::new(Arc::clone(&base.store.kv), source);
        let inputs = (&base.api_inputs(), &self.chains.api_inputs(&ready), &self.api_inputs());
        let own = self.serve_inputs(listener.1, &backups, stopped.clone())?;
        let health = api::install(inputs, own, &routes)?;
        let stopping = (health, stopped.clone());
        let mut served =
            Served::start(&mut self.chains, (listener, further, evm), &routes, stopping);
        if let Some(ipc) = ipc {
            served.add_ipc(ipc, &self.chains, stopped);
        }
        Ok(self.running(served, routes, (stop, backups), place))
    }

    /// The further parts of the node's own APIs.
    fn serve_inputs(
        &self,
        http_addr: SocketAddr,
        backups: &Arc<Backups>,
        stopped: Shutdown,
    ) -> Result<ServeInputs, StartError> {
        let chains = &self.chains;
        let base = &chains.base;
        let config = &base.config;
        let admin = config.settings.api_admin_enabled.then(|| AdminDeps {
            levels: base.logs.levels.clone(),
            tail: base.logs.tail.clone().unwrap_or_default(),
            profiles: chains.diagnostics.folder(),
            settings: shown_settings(config, base.folder.path()),
            backups: Arc::clone(backups),
            validator: self.validator.clone(),
        });
        let start = match config.network.is_development() {
            true => beginning::start(&base.store)?,
            false => None,
        };
        let of_store = (&base.store, start);
        Ok(ServeInputs {
            software: versions::software(base.environment.commit),
            node_ip: SocketAddr::new(http_addr.ip(), STAKING_PORT),
            sync: api::sync::server(config, &chains.machine, of_store, stopped),
            admin,
        })
    }
}

impl OrderStage {
    /// Takes the ports of the node whose place this one takes.
    pub(in crate::wiring) fn take_listeners(&mut self, listener: Bound, further: Vec<Bound>) {
        self.chains.base.early.listener = Some(listener);
        self.chains.base.early.further = Some(further);
    }

    /// Takes the levels and the newest lines of the node whose place this one takes.
    pub(in crate::wiring) fn take_logs(&mut self, logs: Logs) {
        let base = &mut self.chains.base;
        base.metrics.watch_log(logs.levels.clone());
        base.logs = logs;
    }

    /// Resets to other chains, from the first request on.
    pub(in crate::wiring) fn reset_requests(&self) -> mpsc::Receiver<ResetRequest> {
        self.chains.base.resets.requests()
    }
}

impl ChainStage {
    /// What a node in the place of this one needs. A node with a data folder, or with other ways in, stays.
    fn place(
        &self,
        listener: &TcpListener,
        further: &[Bound],
    ) -> Result<Option<Place>, StartError> {
        let StoreStage { config, given, resets, .. } = &self.base;
        let settings = &config.settings;
        let stays = config.data_dir.is_some()
            || settings.ipc.is_some()
            || settings.no_build
            || !settings.follow.0.is_empty();
        if config.mode != Mode::Evm || stays {
            return Ok(None);
        }
        let (environment, resets) = (given.clone(), resets.clone());
        let listener = early::duplicate(listener)?;
        let further = further.iter().map(|(listener, _)| early::duplicate(listener));
        let further = further.collect::<Result<_, _>>()?;
        Ok(Some(Place { listener, further, environment, resets }))
    }

    /// The ports of further hosts.
    async fn further_listeners(&mut self, first: SocketAddr) -> Result<Vec<Bound>, StartError> {
        match self.base.early.further.take() {
            Some(bound) => Ok(bound),
            None => listen::further(&self.base.config, first).await,
        }
    }

    /// The bound port. It may have served requests before the chains were open.
    async fn listener(&mut self) -> Result<Bound, StartError> {
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
                && config.network.x_chain().is_some_and(|chain| id == chain.id)
            {
                development::add_methods(&mut of_chain, &shared.snapshots, vm.context());
            }
            let mut endpoints = endpoints(&vm.name(), of_chain, key_methods);
            if config.network.x_chain().is_none() {
                endpoints.iter_mut().for_each(|(_, endpoint)| add_sockets(endpoint));
            }
            routes.chain(&id, &self.aliases.aliases(&id), endpoints, ready)?;
        }
        match config.network.x_chain() {
            Some(_) => {
                add_static_endpoints(routes)?;
                keystore::add_endpoint(config, Arc::clone(&self.keystore), routes)?;
            }
            None => listen::serve_alone(config, routes)?,
        }
        unserved::note(config, &self.chains, &self.aliases, routes);
        Ok(())
    }
}

impl ChainStage {
    fn add_dashboard(&self, routes: &Routes, evm: &EvmPort, port: u16) -> Result<(), StartError> {
        if !self.base.config.has_dashboard() {
            return Ok(());
        }
        dashboard::serve(routes)?;
        match evm {
            EvmPort::Bound(evm) => Ok(dashboard::refer(&evm.routes, port)?),
            EvmPort::Off | EvmPort::InUse(_) => Ok(()),
        }
    }
}

/// Lets an endpoint of positional calls serve websockets too.
fn add_sockets(endpoint: &mut Endpoint) {
    if let Endpoint::Positional(server) = endpoint {
        *endpoint = Endpoint::PositionalBoth(server.clone());
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
