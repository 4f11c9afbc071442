//! The endpoints of a node that has no chains yet: `/ext/health`, `/ext/status` and `/ext/metrics`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use esker_chain::Shutdown;
use esker_http::{HttpConfig, HttpState, Routes, Tls, serve};
use esker_primitives::NodeId;
use esker_primitives::clock::Clock;
use esker_settings::config::Config;
use esker_storage::Store;
use tokio::net::TcpListener;

use super::listen::Bound;
use super::{StartError, listen};
use crate::api::{self, EarlyStatus};
use crate::metrics::Metrics;

/// Serves these endpoints, each time that the node waits for something.
pub(super) struct EarlyServer {
    /// Name and ID.
    network: (String, u32),
    node_id: NodeId,
    http: HttpConfig,
    tls: Option<Tls>,
    /// The store and its folder.
    store: (Store, PathBuf),
    clock: Arc<dyn Clock>,
    metrics: Arc<Metrics>,
    /// The port, once the server has used it.
    pub(super) listener: Option<Bound>,
    /// The ports of further hosts, if another node has used them.
    pub(super) further: Option<Vec<Bound>>,
}

impl EarlyServer {
    /// A server that serves nothing yet.
    pub(super) fn new(
        config: &Config,
        (node_id, tls, clock, metrics): (NodeId, Option<Tls>, &Arc<dyn Clock>, &Arc<Metrics>),
        (store, folder): (&Store, &Path),
    ) -> Self {
        Self {
            network: (config.network.name.clone(), config.network.id),
            node_id,
            http: config.http(),
            tls,
            store: (store.clone(), folder.to_owned()),
            clock: Arc::clone(clock),
            metrics: Arc::clone(metrics),
            listener: None,
            further: None,
        }
    }

    /// Serves while work is done; `what` names this work in the log.
    ///
    /// # Errors
    /// The node can't listen.
    pub(super) async fn serve_while<T>(
        &mut self,
        config: &Config,
        what: &str,
        status: Arc<dyn EarlyStatus>,
        work: impl Future<Output = T>,
    ) -> Result<T, StartError> {
        let routes = Arc::new(Routes::new(self.metrics.clone()));
        let deps = api::EarlyDeps {
            network: self.network.clone(),
            node_id: self.node_id.to_string(),
            status,
            store: self.store.clone(),
            clock: Arc::clone(&self.clock),
            metrics: Arc::clone(&self.metrics),
        };
        api::install_early(deps, &routes)?;
        let state = HttpState::new(self.http.clone(), routes, &self.node_id, self.metrics.clone());
        let (listener, http) = match self.listener.take() {
            Some(bound) => self.listener.insert(bound),
            None => self.listener.insert(listen::http(config).await?),
        };
        let (ended, mut has_ended) = Shutdown::new();
        let second = duplicate(listener)?;
        tracing::info!(%http, "answering while {what}: /ext/health, /ext/status");
        let serving = serve(vec![second], self.tls.clone(), Arc::new(state), async move {
            has_ended.wait().await;
        });
        let serving = tokio::spawn(serving);
        let done = work.await;
        ended.trigger();
        if let Err(error) = serving.await {
            tracing::error!(%error, "a task of the node failed");
        }
        Ok(done)
    }
}

/// The same listener for a second user. New connections wait while neither uses it.
pub(super) fn duplicate(listener: &TcpListener) -> Result<TcpListener, StartError> {
    use std::os::fd::AsFd as _;
    let failed = |error| StartError::Thread(error);
    let second = listener.as_fd().try_clone_to_owned().map_err(failed)?;
    TcpListener::from_std(std::net::TcpListener::from(second)).map_err(failed)
}
