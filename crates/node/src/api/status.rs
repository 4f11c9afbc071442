//! `/ext/status`: role, heights and lag of the node, for people and scripts (`esker status`).

use std::sync::Arc;

use esker_chain::{Engine, Role};
use esker_follow::{BundleServer, Follower};
use esker_fork::Fork;
use esker_http::{Endpoint, Page, PageReply, RouteError, Routes};
use esker_validators::{ChangeStatus, SetChange, ValidatorEngine};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::{Method, StatusCode};
use serde::Serialize;

use super::fork::ForkReport;
use super::inputs::{BaseInputs, ChainInputs, OrderInputs, RunningChain};
use crate::taken_over::TakenOver;

/// Path of the report, below `/ext/`.
pub(super) const PATH: &str = "status";

/// The report.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct StatusReport {
    network: String,
    #[serde(rename = "networkID")]
    network_id: u32,
    #[serde(rename = "nodeID")]
    node_id: String,
    /// `solo`, `validator`, `follower`.
    role: &'static str,
    /// Height of the last final bundle.
    bundle: u64,
    /// Height of the first stored bundle above 0, if the node joined from a snapshot.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_bundle: Option<u64>,
    /// Whether the admin API is served. Pages ask here, since a request to a path that is not there is an error in a browser.
    admin_api: bool,
    /// Connected nodes that decide.
    peers: usize,
    /// Followers with an open stream, or connected to a validator as its peers.
    followers: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    following: Option<FollowerStatus>,
    /// The next change of the validators.
    #[serde(skip_serializing_if = "Option::is_none")]
    validator_change: Option<NextChange>,
    chains: Vec<ChainReport>,
    /// The source of a forked chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    fork: Option<ForkReport>,
    /// What the X-Chain took over from another network.
    #[serde(skip_serializing_if = "Option::is_none")]
    fork_x: Option<TakenOver>,
}

/// The members that only a follower has.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct FollowerStatus {
    /// The connected source.
    source: Option<String>,
    /// Height of the source's last final bundle.
    greatest_bundle_seen: u64,
    lag_bundles: u64,
    lag_ms: u64,
    /// The reason why there is no connection, or what is wrong with a source.
    error: Option<String>,
}

/// The next change, as a validator knows it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct NextChange {
    /// The first bundle that the new validators decide.
    bundle: u64,
    /// How many they are.
    validators: usize,
    /// Current validators that approved it, and how many are needed; absent when it is agreed.
    #[serde(skip_serializing_if = "Option::is_none")]
    approvals: Option<usize>,
    needed: usize,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ChainReport {
    /// First alias of the chain.
    alias: String,
    id: String,
    /// Height of the last accepted block.
    height: u64,
    /// Height of the first stored block above 0, if the node joined from a snapshot.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_block: Option<u64>,
    /// Transactions that wait for a block.
    pending: u64,
}

/// The endpoint.
struct StatusPage {
    network: (String, u32),
    node_id: String,
    first_bundle: Option<u64>,
    admin_api: bool,
    engine: Arc<dyn Engine>,
    follower: Option<Arc<Follower>>,
    server: Option<Arc<BundleServer>>,
    validator: Option<Arc<dyn ValidatorEngine>>,
    chains: Vec<RunningChain>,
    fork: Option<Fork>,
    taken_over: Option<TakenOver>,
}

/// Adds the path.
pub(super) fn install(
    (base, chains, order): (&BaseInputs, &ChainInputs, &OrderInputs),
    (server, admin_api): (Option<Arc<BundleServer>>, bool),
    routes: &Routes,
) -> Result<(), RouteError> {
    let page = StatusPage {
        network: (base.network.name.clone(), base.network.id),
        node_id: base.identity.node_id().to_string(),
        first_bundle: Some(chains.first_bundle).filter(|first| *first > 0),
        admin_api,
        engine: Arc::clone(&order.engine),
        follower: order.follower.as_ref().map(|deps| Arc::clone(&deps.follower)),
        server,
        validator: order.validator.clone(),
        chains: chains.running.clone(),
        fork: base.fork.clone(),
        taken_over: chains.taken_over.clone(),
    };
    routes.node(PATH, Endpoint::Page(Arc::new(page)))
}

impl StatusPage {
    fn report(&self) -> StatusReport {
        let engine = self.engine.status();
        let streams = self.server.as_ref().map_or(0, |server| server.followers());
        let among_peers = self.validator.as_ref().map_or(0, |engine| engine.stats().followers);
        StatusReport {
            network: self.network.0.clone(),
            network_id: self.network.1,
            node_id: self.node_id.clone(),
            role: match engine.role {
                Role::Solo => "solo",
                Role::Validator => "validator",
                Role::Follower => "follower",
            },
            bundle: engine.tip_final,
            first_bundle: self.first_bundle,
            admin_api: self.admin_api,
            peers: engine.peers,
            followers: streams.saturating_add(among_peers),
            following: self.follower.as_ref().map(|follower| following(follower)),
            validator_change: self.validator.as_deref().and_then(next_change),
            chains: self.chains.iter().map(chain_report).collect(),
            fork: self.fork.as_ref().map(ForkReport::of),
            fork_x: self.taken_over.clone(),
        }
    }
}

/// The agreed change, or the proposed one that most have approved.
fn next_change(validator: &dyn ValidatorEngine) -> Option<NextChange> {
    let ChangeStatus { quorum, agreed, proposals, .. } = validator.change_status().ok()?;
    let shown = |change: &SetChange, approvals| NextChange {
        bundle: change.first_height,
        validators: change.members().len(),
        approvals,
        needed: quorum,
    };
    if let Some(change) = &agreed {
        return Some(shown(change, None));
    }
    let most = proposals.iter().max_by_key(|proposal| proposal.approvals.len())?;
    Some(shown(&most.change, Some(most.approvals.len())))
}

fn following(follower: &Follower) -> FollowerStatus {
    let status = follower.follow_status();
    FollowerStatus {
        greatest_bundle_seen: status.tip_seen,
        lag_bundles: status.lag_bundles(),
        lag_ms: status.lag_ms,
        source: status.source,
        error: status.fault.or(status.last_error),
    }
}

fn chain_report(chain: &RunningChain) -> ChainReport {
    let stats = chain.vm.stats();
    ChainReport {
        alias: chain.vm.name(),
        id: chain.vm.context().chain_id.to_string(),
        height: stats.height,
        first_block: Some(stats.first_block).filter(|first| *first > 0),
        pending: stats.mempool_txs,
    }
}

impl Page for StatusPage {
    fn answer<'a>(
        &'a self,
        method: &'a Method,
        _: Option<&'a str>,
    ) -> BoxFuture<'a, Option<PageReply>> {
        std::future::ready(Some(reply(method, &self.report()))).boxed()
    }
}

/// The reply to a request for the status.
pub(super) fn reply(method: &Method, report: &impl Serialize) -> PageReply {
    match *method {
        Method::GET | Method::HEAD => {
            let mut body = serde_json::to_vec(report).unwrap_or_default();
            body.push(b'\n');
            let content_type = "application/json";
            PageReply { status: StatusCode::OK, content_type, body: body.into() }
        }
        _ => PageReply {
            status: StatusCode::METHOD_NOT_ALLOWED,
            content_type: "text/plain; charset=utf-8",
            body: "the status is read with GET\n".into(),
        },
    }
}

impl std::fmt::Debug for StatusPage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StatusPage").field("network", &self.network).finish_non_exhaustive()
    }
}
