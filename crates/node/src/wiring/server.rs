//! The HTTP server of a running node.

use std::sync::Arc;

use esker_chain::{Shutdown, ShutdownTrigger};
use esker_http::{HttpState, Routes, Tls, serve};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A running HTTP server. Dropped, it stops.
#[derive(Debug)]
pub(super) struct Server {
    http: Arc<HttpState>,
    stop: ShutdownTrigger,
    task: JoinHandle<()>,
}

impl Server {
    /// Serves ports.
    pub(super) fn start(
        listeners: Vec<TcpListener>,
        tls: Option<Tls>,
        http: Arc<HttpState>,
    ) -> Self {
        let (stop, mut stopped) = Shutdown::new();
        let stopping = async move { stopped.wait().await };
        let task = tokio::spawn(serve(listeners, tls, Arc::clone(&http), stopping));
        Self { http, stop, task }
    }

    /// Begins to stop.
    pub(super) fn trigger_stop(&self) {
        self.stop.trigger();
    }

    /// Accepts no more connections when this returns, and serves the open ones with these paths for one more reply.
    pub(super) async fn hand_over(&self, routes: &Arc<Routes>) {
        self.http.hand_over(routes).await;
    }

    /// Whether all its connections are closed.
    pub(super) fn has_ended(&self) -> bool {
        self.task.is_finished()
    }

    /// Waits until all its connections are closed.
    pub(super) async fn ended(self) {
        if let Err(error) = self.task.await {
            tracing::error!(%error, "a task of the node failed");
        }
    }
}
