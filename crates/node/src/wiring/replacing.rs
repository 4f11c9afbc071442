//! Another node in the place of a running one, on the same port: resets to another chain.

use std::net::SocketAddr;

use esker_chain::Shutdown;
use esker_evm_rpc::{ResetRequest, ResetTarget};
use esker_settings::config::Config;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::StartError;
use super::early::duplicate;
use super::running::RunningNode;
use super::stages::{ChainStage, OrderStage, StoreStage};
use crate::environment::Environment;
use crate::own_addresses::is_at;

/// A node whose chains stand, and which answers nobody yet.
pub struct Replacement {
    order: Box<OrderStage>,
    request: ResetRequest,
}

impl std::fmt::Debug for Replacement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replacement").finish_non_exhaustive()
    }
}

/// The nodes that clients ask for in the place of a running one. Dropped, it ends the work on the next one.
#[derive(Debug)]
pub struct Replacements {
    ready: mpsc::Receiver<Replacement>,
    task: Option<JoinHandle<()>>,
}

impl Replacements {
    /// The next one. It waits for ever if the running node takes no resets to other chains.
    pub async fn next(&mut self) -> Replacement {
        match self.ready.recv().await {
            Some(replacement) => replacement,
            None => std::future::pending().await,
        }
    }
}

impl Drop for Replacements {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

impl RunningNode {
    /// Takes resets to other chains from now on. The caller puts each [`Replacement`] in the place of this node with
    /// [`Self::replaced_by`]; without this, such resets are refused.
    pub fn replacements(&mut self) -> Replacements {
        let (sender, ready) = mpsc::channel(1);
        let task = self.place.as_ref().map(|place| {
            let own = [self.http_addr].into_iter().chain(self.further_addrs.iter().copied());
            let start = (self.config.clone(), own.collect(), place.environment.clone());
            let requests = self.reset_requests.take();
            let requests = requests.unwrap_or_else(|| place.resets.requests());
            tokio::spawn(prepare_all(start, requests, sender))
        });
        Replacements { ready, task }
    }

    /// Puts a node in the place of this one, which stops. The client that asked for it gets its answer when no request
    /// meets this one any more. If the new node can't serve, this one stays.
    pub async fn replaced_by(mut self, replacement: Replacement) -> Self {
        let Replacement { order, request } = replacement;
        let mut node = match self.serve_in_place(order).await {
            Ok(node) => node,
            Err(error) => {
                request.answer(Err(error.to_string()));
                return self;
            }
        };
        node.earlier = self.server.take().into_iter().chain(self.earlier.drain(..)).collect();
        for server in &node.earlier {
            server.hand_over(node.routes()).await;
        }
        node.earlier.retain(|server| !server.has_ended());
        request.answer(Ok(()));
        tracing::info!("another chain has taken the place of this one");
        // The file stays for the new node.
        self.config.settings.ready_file = None;
        node.tasks.push(tokio::spawn(async move {
            if let Err(error) = self.stop().await {
                tracing::error!(%error, "the node before the reset did not stop well");
            }
        }));
        node
    }

    async fn serve_in_place(&self, mut order: Box<OrderStage>) -> Result<Self, StartError> {
        if let Some(place) = &self.place {
            let address = place.listener.local_addr().map_err(StartError::Thread)?;
            let of_further = |(listener, address): (&TcpListener, &SocketAddr)| {
                Ok::<_, StartError>((duplicate(listener)?, *address))
            };
            let further = place.further.iter().zip(&self.further_addrs).map(of_further);
            let further = further.collect::<Result<_, _>>()?;
            order.take_listeners((duplicate(&place.listener)?, address), further);
        }
        // A process logs by one set of levels, that of its first node.
        order.take_logs(self.logs.clone());
        let requests = order.reset_requests();
        let node = Box::pin(order.serve()).await?;
        Ok(Self { reset_requests: Some(requests), ..node })
    }
}

/// Prepares one node after the other, each for one request.
async fn prepare_all(
    (config, own, environment): (Config, Vec<SocketAddr>, Environment),
    mut requests: mpsc::Receiver<ResetRequest>,
    ready: mpsc::Sender<Replacement>,
) {
    while let Some(request) = requests.recv().await {
        match Box::pin(prepare((&config, &own), &environment, &request.target)).await {
            Ok(order) => {
                // If nobody takes it, the request is dropped, and its client gets an error.
                let _gone = ready.send(Replacement { order: Box::new(order), request }).await;
            }
            Err(error) => {
                tracing::warn!(%error, "the chain is not reset");
                request.answer(Err(error.to_string()));
            }
        }
    }
}

async fn prepare(
    (config, own): (&Config, &[SocketAddr]),
    environment: &Environment,
    target: &ResetTarget,
) -> Result<OrderStage, StartError> {
    let fork = match target {
        ResetTarget::Unforked => None,
        ResetTarget::Fork { url, number } => Some((url.as_deref(), *number)),
    };
    let config = config.reset_to(fork)?;
    let is_own = |url: &String| own.iter().any(|own| is_at(url, *own));
    if config.settings.fork_url.0.iter().any(is_own) {
        let reason = "a node can't fork itself".to_owned();
        return Err(StartError::ForkSetting { name: "fork-url", reason });
    }
    let (_never, stop) = Shutdown::new();
    let store = Box::pin(StoreStage::open(config, environment.clone(), stop)).await?;
    let chains = Box::pin(ChainStage::open(store)).await?;
    Box::pin(OrderStage::begin(chains)).await
}
