//! The node's APIs over a real port, with a toy chain behind them.

mod admin;
mod health;
mod index;
mod info;
mod metrics;
mod platform;
mod toy;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use esker_chain::{
    ChainMachine, Engine, EngineError, EngineStatus, Role, Shutdown, ShutdownTrigger,
};
use esker_http::{HttpConfig, HttpState, Readiness, Routes, serve};
use esker_node::aliases::AliasTable;
use esker_node::api::{
    self, AdminDeps, BaseInputs, ChainInputs, Health, NetworkFacts, OrderInputs, RunningChain,
    ServeInputs, ShownSettings, Software, Versions,
};
use esker_node::backup::{BackupSource, Backups};
use esker_node::chains::endpoints;
use esker_node::identity::Identity;
use esker_node::logging::LogLevels;
use esker_node::metrics::{MeteredStore, Metrics};
use esker_primitives::clock::ManualClock;
use esker_primitives::sync::Mutex;
use esker_primitives::{ChainId, SubnetId};
use esker_profiling::Folder;
use esker_settings::logging::{Levels, LogLevel};
use esker_settings::networks::{Network, Preset};
use esker_storage::{FailingStore, MemoryStore, RetryPolicy, Store};
use esker_testkit::http_client::{Client, Reply};
use esker_utxo::Utxo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use toy::ToyVm;

/// 2020-12-05T05:00:00Z.
const START_MS: u64 = 1_607_144_400_000;

/// An engine that only has a status.
#[derive(Debug)]
struct ToyEngine {
    status: Mutex<EngineStatus>,
}

#[async_trait]
impl Engine for ToyEngine {
    async fn run(
        self: Arc<Self>,
        _: Arc<dyn ChainMachine>,
        mut stop: Shutdown,
    ) -> Result<(), EngineError> {
        stop.wait().await;
        Ok(())
    }

    fn status(&self) -> EngineStatus {
        *self.status.lock()
    }
}

/// A retry interval that is short enough for a test.
const RETRY: RetryPolicy = RetryPolicy {
    first: Duration::from_millis(5),
    longest: Duration::from_millis(5),
    check: Duration::from_millis(5),
};

/// A node's APIs, and the parts below them.
struct Node {
    network: Network,
    address: std::net::SocketAddr,
    routes: Arc<Routes>,
    metrics: Arc<Metrics>,
    identity: Arc<Identity>,
    vm: Arc<ToyVm>,
    ready: Readiness,
    store: Store,
    failing: Arc<FailingStore>,
    engine: Arc<ToyEngine>,
    profiles: tempfile::TempDir,
    _health: Arc<Health>,
    _trigger: ShutdownTrigger,
}

fn software(network: &Network) -> Software {
    let vms = network.chains.iter().map(|chain| chain.parameters.vm());
    Software {
        versions: Versions {
            node: "esker/0.1.0".to_owned(),
            database: "v1".to_owned(),
            rpc_protocol: 0,
            git_commit: String::new(),
            vms: BTreeMap::from([("avm".to_owned(), "v0.1.0".to_owned())]),
        },
        vms: vms.map(|vm| (vm.id(), vec![vm.name().to_owned()])).collect(),
        fxs: Vec::new(),
    }
}

/// Serves the paths on a free port.
async fn serve_routes(
    routes: &Arc<Routes>,
    identity: &Identity,
    metrics: &Arc<Metrics>,
) -> (std::net::SocketAddr, ShutdownTrigger) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (config, node_id) = (HttpConfig::default(), identity.node_id());
    let state = HttpState::new(config, Arc::clone(routes), &node_id, metrics.clone());
    let (trigger, mut stop) = Shutdown::new();
    tokio::spawn(serve(vec![listener], None, Arc::new(state), async move { stop.wait().await }));
    (address, trigger)
}

impl Node {
    async fn start() -> Self {
        Self::with_utxos(Vec::new()).await
    }

    /// A node with these outputs on the P-Chain.
    async fn with_utxos(platform_utxos: Vec<Utxo>) -> Self {
        let network = Preset::Local.network();
        let identity =
            Arc::new(Identity::generate(&esker_node::Environment::system().randomness).unwrap());
        let metrics = Arc::new(Metrics::new());
        let failing = Arc::new(FailingStore::new(Arc::new(MemoryStore::new())));
        let metered = MeteredStore::new(failing.clone(), Arc::clone(&metrics));
        let store = Store::retrying(Arc::new(metered), RETRY).unwrap();
        metrics.watch_writer(store.writer.refusal());
        let aliases = Arc::new(AliasTable::new());
        aliases.add_chain(ChainId::ZERO, &["P", "platform"]).unwrap();
        let x = network.x_chain().unwrap().id;
        aliases.add_chain(x, &["X", "avm"]).unwrap();
        aliases.add_chain(network.evm_chain().id, &["C", "evm"]).unwrap();
        let clock = Arc::new(ManualClock::new(START_MS));
        let vm = Arc::new(ToyVm::new(x, aliases.clone(), clock.clone(), store.clone()));
        let ready = Readiness::ready();
        let status =
            EngineStatus { role: Role::Solo, tip_final: 3, tip_seen: 3, peers: 0, syncing: false };
        let engine = Arc::new(ToyEngine { status: Mutex::new_named("status", status) });
        let info = Levels { file: LogLevel::Info, display: LogLevel::Info };
        let levels = ["P", "X", "C"].map(|name| (name.to_owned(), info));
        let profiles = tempfile::tempdir().unwrap();
        let base = BaseInputs {
            network: NetworkFacts { platform_utxos, ..NetworkFacts::for_network(&network) },
            identity: Arc::clone(&identity),
            store: store.clone(),
            data_dir: Some(std::env::temp_dir()),
            clock,
            metrics: Arc::clone(&metrics),
            fork: None,
        };
        let chains = ChainInputs {
            aliases,
            running: vec![RunningChain {
                vm: vm.clone(),
                suffixes: vec!["", "/wallet"],
                subnet_id: SubnetId::ZERO,
                ready: ready.clone(),
                index: Some(vm.clone()),
                was_dag: true,
            }],
            first_bundle: 0,
            taken_over: None,
        };
        let order = OrderInputs { engine: engine.clone(), follower: None, validator: None };
        let admin = AdminDeps {
            levels: LogLevels::new(info, levels),
            tail: Arc::default(),
            profiles: Folder::new(profiles.path().join("profiles")),
            settings: ShownSettings { config: json!({ "http-port": 0 }), settings: Vec::new() },
            backups: Backups::new(Arc::clone(&store.kv), BackupSource::identity(profiles.path())),
            validator: None,
        };
        let own = ServeInputs {
            software: software(&network),
            node_ip: "127.0.0.1:9651".parse().unwrap(),
            sync: None,
            admin: Some(admin),
        };
        let routes = Arc::new(Routes::new(metrics.clone()));
        let endpoints = endpoints("X", toy::routes(), true);
        routes.chain(&x, &["X", "avm"], endpoints, &ready).unwrap();
        let health = api::install((&base, &chains, &order), own, &routes).unwrap();
        let (address, trigger) = serve_routes(&routes, &identity, &metrics).await;
        Self {
            network,
            address,
            routes,
            metrics,
            identity,
            vm,
            ready,
            store,
            failing,
            engine,
            profiles,
            _health: health,
            _trigger: trigger,
        }
    }

    async fn get(&self, path: &str) -> Reply {
        self.request(&format!("GET {path} HTTP/1.1\nHost: localhost\n\n")).await
    }

    async fn request(&self, request: &str) -> Reply {
        Client::connect(self.address).await.send(request).await
    }

    /// The result of a call.
    async fn result(&self, path: &str, method: &str, params: Value) -> Value {
        let mut reply = self.call(path, method, params).await;
        assert!(reply.get("error").is_none(), "{method}: {reply}");
        reply["result"].take()
    }

    /// The text of a call's error.
    async fn error(&self, path: &str, method: &str, params: Value) -> String {
        let reply = self.call(path, method, params).await;
        assert_eq!(reply["error"]["code"], json!(-32000), "{method}: {reply}");
        reply["error"]["message"].as_str().unwrap().to_owned()
    }

    async fn call(&self, path: &str, method: &str, params: Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let reply = self.request(&Client::post(path, &body.to_string())).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()
    }
}

/// Every series and its value.
pub(crate) fn metrics(metrics: &Metrics) -> BTreeMap<String, f64> {
    let text = metrics.render();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pair = |line: &str| {
        let (series, value) = line.rsplit_once(' ').unwrap();
        (series.to_owned(), value.parse().unwrap())
    };
    lines.map(pair).collect()
}

/// The text of an argument that does not fit.
const INVALID_ARGUMENT: &str = "couldn't unmarshal an argument. Ensure arguments are valid and properly formatted. See documentation for example calls";
/// An ID that does not exist.
const NOBODY: &str = "2MVbntxreU3kpAVPoAMfev3kpiVmSgVN7VMPtrVhNgRMqciAz2";
