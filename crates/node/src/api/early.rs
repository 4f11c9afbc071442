//! The answers of a node that has no chains yet: `/ext/health` and `/ext/status`. Such a node joins from a state
//! snapshot, or waits for answers of its sources.

use std::path::PathBuf;
use std::sync::Arc;

use esker_follow::snapshot::{JoinStatus, JoinStatusCell};
use esker_http::{Endpoint, Page, PageReply, RouteError, Routes};
use esker_primitives::clock::Clock;
use esker_storage::Store;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::Method;
use serde_json::{Value, json};

use super::health::{self, APPLICATION, Failure, Health};
use super::status;
use crate::metrics::Metrics;

/// The activity of the node meanwhile.
#[derive(Clone, Debug)]
pub struct EarlyReport {
    /// The error of the health check.
    pub error: String,
    /// The member of the status, and its value, which the health check has too.
    pub member: &'static str,
    /// The value of that member.
    pub figures: Value,
}

/// Reports the activity of the node meanwhile.
pub trait EarlyStatus: std::fmt::Debug + Send + Sync {
    /// The present report.
    fn report(&self) -> EarlyReport;
}

impl EarlyStatus for JoinStatusCell {
    fn report(&self) -> EarlyReport {
        let status = self.get();
        let error = status.fault.clone().unwrap_or_else(|| text(&status));
        EarlyReport { error, member: "joining", figures: figures(&status) }
    }
}

/// The parts that the two endpoints use.
#[derive(Clone, Debug)]
pub struct EarlyDeps {
    /// Name and ID of the network.
    pub network: (String, u32),
    /// The node's ID.
    pub node_id: String,
    /// The activity of the node.
    pub status: Arc<dyn EarlyStatus>,
    /// The store, and the folder that has it.
    pub store: (Store, PathBuf),
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The metrics.
    pub metrics: Arc<Metrics>,
}

/// Adds the paths.
pub fn install_early(deps: EarlyDeps, routes: &Arc<Routes>) -> Result<(), RouteError> {
    let health = Health::new(Arc::clone(&deps.clock), Arc::clone(&deps.metrics));
    let status = Arc::clone(&deps.status);
    let health = health.check("follower", &[APPLICATION], move || {
        let EarlyReport { error, figures, .. } = status.report();
        async move { Err(Failure { error, message: figures }) }
    });
    let (store, folder) = deps.store.clone();
    let health = health::diskspace(health::database(health, store), folder);
    health::install(&Arc::new(health), routes)?;
    routes.node("metrics", Endpoint::Page(deps.metrics.clone()))?;
    routes.node(status::PATH, Endpoint::Page(Arc::new(EarlyPage(deps))))
}

fn figures(status: &JoinStatus) -> Value {
    json!({
        "source": status.source,
        "bundle": status.height,
        "rows": status.rows,
        "totalRows": status.total,
        "bytes": status.bytes,
        "error": status.fault.as_ref().or(status.last_error.as_ref()),
    })
}

fn text(status: &JoinStatus) -> String {
    let error = status.last_error.as_ref().map(|error| format!(": {error}"));
    let rows = match status.total {
        Some(total) => format!(" of {total}"),
        None => String::new(),
    };
    format!("joining from a snapshot, {} rows{rows}{}", status.rows, error.unwrap_or_default())
}

/// `/ext/status`.
#[derive(Debug)]
struct EarlyPage(EarlyDeps);

impl Page for EarlyPage {
    fn answer<'a>(
        &'a self,
        method: &'a Method,
        _: Option<&'a str>,
    ) -> BoxFuture<'a, Option<PageReply>> {
        let Self(EarlyDeps { network, node_id, status, .. }) = self;
        let EarlyReport { member, figures, .. } = status.report();
        let report = json!({
            "network": network.0,
            "networkID": network.1,
            "nodeID": node_id,
            "role": "follower",
            "bundle": 0,
            "peers": 0,
            "followers": 0,
            member: figures,
            "chains": [],
        });
        std::future::ready(Some(status::reply(method, &report))).boxed()
    }
}
