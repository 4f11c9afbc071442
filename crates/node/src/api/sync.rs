//! `/ext/sync/bundles`: the stream of final bundles for followers (docs/protocol/bundle-stream.md, "Request");
//! `/ext/sync/snapshot`: the state for new followers (docs/protocol/snapshot.md, "Request");
//! `/ext/sync/validator-changes`: the changes of the validators (docs/protocol/validators.md, "Changes of the
//! validators"); `/ext/sync/beginning`: the beginning of a development network.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Extension, Query, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use esker_chain::snapshot::SnapshotRefusal;
use esker_chain::{ChainMachine, Machine, Shutdown};
use esker_follow::snapshot::{SnapshotLimits, SnapshotOpenError, SnapshotServer};
use esker_follow::{BundleServer, NetworkBeginning, OpenError, ServerConfig};
use esker_http::{ClientAddress, Endpoint, RouteError, Routes};
use esker_primitives::hexfmt;
use esker_settings::config::Config;
use esker_settings::networks::DevStart;
use esker_storage::Store;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use ipnet::IpNet;
use serde::Deserialize;

use crate::shared_memory_part::SharedMemoryPart;
use crate::validator_changes::StoreChangeLog;

/// Path of the stream, below `/ext/`.
const PATH: &str = "sync/bundles";
/// Path of the snapshot, below `/ext/`.
const SNAPSHOT_PATH: &str = "sync/snapshot";
/// Path of the changes of the validators, below `/ext/`.
const CHANGES_PATH: &str = "sync/validator-changes";
/// Path of the network's beginning, below `/ext/`.
const BEGINNING_PATH: &str = "sync/beginning";
/// Most changes of an answer that begins with a given one.
const MAX_CHANGES: usize = 64;
/// Time that a request for a snapshot waits for a bundle with a certificate; less than a follower waits for the
/// answer.
const PROOF_WAIT: Duration = Duration::from_secs(3);

/// The server of a node's followers.
#[derive(Clone, Debug)]
pub struct SyncDeps {
    /// The server.
    pub server: Arc<BundleServer>,
    /// The server of snapshots.
    pub snapshots: Arc<SnapshotServer>,
    /// The agreed changes of the network's validators.
    pub changes: StoreChangeLog,
    /// The beginning of the network.
    pub beginning: NetworkBeginning,
    /// The addresses that are served.
    pub allowed: Arc<Vec<IpNet>>,
}

/// The beginning of a stream.
#[derive(Debug, Deserialize)]
struct Start {
    /// Height of the first bundle.
    from: u64,
}

/// The requested changes.
#[derive(Debug, Deserialize)]
struct FirstChange {
    /// The epoch that the first one begins; without it all changes are requested.
    from: Option<u64>,
}

/// The server of a node's followers, if the configuration enables it. `start` is the beginning of a development
/// network. The streams end when `stop` is triggered.
pub(crate) fn server(
    config: &Config,
    machine: &Arc<Machine>,
    (store, start): (&Store, Option<DevStart>),
    stop: Shutdown,
) -> Option<SyncDeps> {
    let settings = &config.settings;
    let beginning = NetworkBeginning {
        network_id: config.network.id,
        start: start.map(|start| start.time_s),
        has_fee_window: start.is_some_and(|start| start.has_fee_window),
    };
    let limits = ServerConfig {
        max_followers: settings.sync_max_followers.count(),
        ..ServerConfig::default()
    };
    settings.api_sync_enabled.then(|| {
        let (events, network) = (machine.subscribe(), config.network.id);
        let has_proofs = !config.network.validators.is_empty();
        let proof_wait = has_proofs.then_some(PROOF_WAIT);
        let snapshot_limits = SnapshotLimits { proof_wait, ..SnapshotLimits::default() };
        let snapshots = SnapshotServer::new(
            Arc::clone(machine),
            Arc::new(SharedMemoryPart),
            network,
            snapshot_limits,
            stop.clone(),
        );
        let machine = Arc::clone(machine) as Arc<dyn ChainMachine>;
        let server = BundleServer::spawn(machine, events, network, limits, stop);
        let allowed = Arc::new(settings.sync_allowed_clients.0.clone());
        let changes = StoreChangeLog::new(store.clone());
        SyncDeps { server, snapshots, changes, beginning, allowed }
    })
}

/// Adds the path.
pub(super) fn install(deps: &SyncDeps, routes: &Routes) -> Result<(), RouteError> {
    let router =
        axum::Router::new().route(&format!("/ext/{PATH}"), get(stream)).with_state(deps.clone());
    routes.node(PATH, Endpoint::Axum(router))?;
    let snapshot = axum::Router::new()
        .route(&format!("/ext/{SNAPSHOT_PATH}"), get(snapshot))
        .with_state(deps.clone());
    routes.node(SNAPSHOT_PATH, Endpoint::Axum(snapshot))?;
    let changes = axum::Router::new()
        .route(&format!("/ext/{CHANGES_PATH}"), get(changes))
        .with_state(deps.clone());
    routes.node(CHANGES_PATH, Endpoint::Axum(changes))?;
    let beginning = axum::Router::new()
        .route(&format!("/ext/{BEGINNING_PATH}"), get(beginning))
        .with_state(deps.clone());
    routes.node(BEGINNING_PATH, Endpoint::Axum(beginning))
}

impl SyncDeps {
    fn allows(&self, client: Option<IpAddr>) -> bool {
        let client = client.map(|address| address.to_canonical());
        client.is_some_and(|client| self.allowed.iter().any(|range| range.contains(&client)))
    }
}

async fn stream(
    State(api): State<SyncDeps>,
    Extension(ClientAddress(client)): Extension<ClientAddress>,
    start: Result<Query<Start>, axum::extract::rejection::QueryRejection>,
) -> Response {
    if !api.allows(client) {
        return forbidden();
    }
    let Ok(Query(Start { from })) = start else {
        let text = "expected the height of the first bundle: ?from=1\n";
        return (StatusCode::BAD_REQUEST, text).into_response();
    };
    let opened = tokio::task::spawn_blocking(move || api.server.open(from)).await;
    match opened {
        Ok(Ok(stream)) => {
            let kind = [(CONTENT_TYPE, "application/octet-stream")];
            (kind, Body::from_stream(stream)).into_response()
        }
        Ok(Err(error)) => (status(&error), format!("{error}\n")).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn snapshot(
    State(api): State<SyncDeps>,
    Extension(ClientAddress(client)): Extension<ClientAddress>,
) -> Response {
    if !api.allows(client) {
        return forbidden();
    }
    let opened = tokio::task::spawn_blocking(move || api.snapshots.open()).await;
    match opened {
        Ok(Ok(stream)) => {
            let kind = [(CONTENT_TYPE, "application/octet-stream")];
            (kind, Body::from_stream(stream)).into_response()
        }
        Ok(Err(error)) => (snapshot_status(&error), format!("{error}\n")).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Agreed changes of the validators, one in each line, in hex. Clients need not trust the node, since the changes are
/// signed.
async fn changes(
    State(api): State<SyncDeps>,
    Extension(ClientAddress(client)): Extension<ClientAddress>,
    first: Result<Query<FirstChange>, axum::extract::rejection::QueryRejection>,
) -> Response {
    if !api.allows(client) {
        return forbidden();
    }
    let Ok(Query(FirstChange { from })) = first else {
        let text = "expected the epoch that the first change begins: ?from=1\n";
        return (StatusCode::BAD_REQUEST, text).into_response();
    };
    let read = move || match from {
        Some(from) => api.changes.from_epoch(from, MAX_CHANGES),
        None => api.changes.all(),
    };
    match tokio::task::spawn_blocking(read).await {
        Ok(Ok(changes)) => {
            let line = |change| format!("{}\n", hexfmt::encode_plain(change));
            changes.iter().map(|change| line(change)).collect::<String>().into_response()
        }
        Ok(Err(_)) | Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// The beginning of the network, as JSON.
async fn beginning(
    State(api): State<SyncDeps>,
    Extension(ClientAddress(client)): Extension<ClientAddress>,
) -> Response {
    if !api.allows(client) {
        return forbidden();
    }
    let kind = [(CONTENT_TYPE, "application/json")];
    match serde_json::to_string(&api.beginning) {
        Ok(answer) => (kind, answer + "\n").into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

fn forbidden() -> Response {
    let text = "this address is not in sync-allowed-clients\n";
    (StatusCode::FORBIDDEN, text).into_response()
}

fn snapshot_status(error: &SnapshotOpenError) -> StatusCode {
    match error {
        SnapshotOpenError::Full(_) | SnapshotOpenError::NoProof(_) => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        SnapshotOpenError::Refused(
            SnapshotRefusal::Genesis | SnapshotRefusal::NoCommitment(_) | SnapshotRefusal::Chain(_),
        ) => StatusCode::CONFLICT,
        SnapshotOpenError::Refused(SnapshotRefusal::Failed(_)) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn status(error: &OpenError) -> StatusCode {
    match error {
        OpenError::Ahead { .. } => StatusCode::CONFLICT,
        OpenError::BeforeHistory { .. } => StatusCode::GONE,
        OpenError::Genesis => StatusCode::BAD_REQUEST,
        OpenError::Full(_) => StatusCode::SERVICE_UNAVAILABLE,
        OpenError::Chain(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
