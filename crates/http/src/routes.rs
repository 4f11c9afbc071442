//! The table of paths. Paths are compared as a whole, decoded, case-sensitively.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use esker_primitives::sync::Mutex;
use esker_primitives::{ChainId, excerpt};
use esker_rpc::socket::SocketDialect;
use esker_rpc::{Service, positional};
use thiserror::Error;

use super::file::{BrowserPage, StaticFile};
use super::metrics::{EndpointMetrics, HttpMetrics, MethodName};
use super::page::Page;

/// The prefix of all paths.
const ROOT: &str = "/ext/";

/// Most paths of a node, aliases included: admin calls add paths permanently.
pub const MAX_PATHS: usize = 65_536;

/// The handler of a path.
#[derive(Clone, Debug)]
pub enum Endpoint {
    /// The object dialect of JSON-RPC.
    Object(Service),
    /// The positional dialect of JSON-RPC, used by EVM chains.
    Positional(positional::Server),
    /// The positional dialect over HTTP and over websockets, depending on the request.
    PositionalBoth(positional::Server),
    /// Websockets of either dialect; plain HTTP is refused.
    Socket(Arc<dyn SocketDialect>),
    /// An endpoint other than JSON-RPC, which may have a JSON-RPC service too.
    Page(Arc<dyn Page>),
    /// A file of a web page.
    File(StaticFile),
    /// An axum router: streams, other websockets. The server's limits do not apply to it.
    Axum(axum::Router),
}

/// Whether a chain is in normal operation. Cheap to clone; all clones share the value.
#[derive(Clone, Debug, Default)]
pub struct Readiness(Arc<AtomicBool>);

impl Readiness {
    /// A chain that is not ready.
    pub fn new() -> Self {
        Self::default()
    }

    /// A chain that is ready.
    pub fn ready() -> Self {
        let readiness = Self::new();
        readiness.set(true);
        readiness
    }

    /// Opens or closes the chain's endpoints.
    pub fn set(&self, ready: bool) {
        self.0.store(ready, Ordering::Release);
    }

    /// Whether the chain is in normal operation.
    pub fn is_ready(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// One path.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) endpoint: Endpoint,
    /// What a browser gets that opens the path as a page.
    pub(crate) browser_page: Option<BrowserPage>,
    /// Only callers with trusted origins are answered.
    pub(crate) trusted_callers_only: bool,
    /// `None` if the path does not belong to a chain.
    pub(crate) ready: Option<Readiness>,
    /// The chain's first alias, which is the name of its log; `None` if the path does not belong to a chain.
    pub(crate) chain: Option<Arc<str>>,
    pub(crate) metrics: Arc<dyn EndpointMetrics>,
}

/// The reason why a path was not added.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum RouteError {
    /// The path exists already. The text is the reference's.
    #[error("route is either already aliased or already maps to a handle: {}", excerpt(.0))]
    Taken(String),
    /// There are [`MAX_PATHS`] paths.
    #[error("too many routes: {MAX_PATHS}")]
    Full,
}

/// The registered endpoints and aliases; the table of paths is built from them.
#[derive(Debug, Default)]
struct RouteRegistry {
    /// Base path to its endpoints by suffix; includes the bases of aliases.
    bases: BTreeMap<String, BTreeMap<String, Arc<Target>>>,
    /// Base path to its aliases; the base may be added later, or never.
    aliases: BTreeMap<String, Vec<String>>,
    /// Every alias.
    reserved: BTreeSet<String>,
    paths: usize,
}

/// The paths of the node. Lookups take no lock; paths may be added while the node runs.
pub struct Routes {
    registry: Mutex<RouteRegistry>,
    /// Disabled paths with the reason, until it was logged.
    switched_off: Mutex<BTreeMap<String, String>>,
    table: ArcSwap<HashMap<Box<str>, Arc<Target>>>,
    metrics: Arc<dyn HttpMetrics>,
}

impl Routes {
    /// An empty table.
    pub fn new(metrics: Arc<dyn HttpMetrics>) -> Self {
        Self {
            registry: Mutex::new_named("routes", RouteRegistry::default()),
            switched_off: Mutex::new_named("routes.off", BTreeMap::new()),
            table: ArcSwap::default(),
            metrics,
        }
    }

    /// Adds an endpoint of the node itself: `info` answers at `/ext/info`. The path is its name in the metrics.
    pub fn node(&self, path: &str, endpoint: Endpoint) -> Result<(), RouteError> {
        let target = Arc::new(self.target(path, endpoint));
        self.add(format!("{ROOT}{path}"), vec![(String::new(), target)], &[])
    }

    /// Records that an endpoint of the node is disabled, and why. Its path answers 404; the first request logs the
    /// reason.
    pub fn switched_off(&self, path: &str, reason: String) {
        self.switched_off.lock().insert(format!("{ROOT}{path}"), reason);
    }

    /// Logs, once, why a path is disabled.
    pub(crate) fn log_unserved(&self, path: &str) {
        if let Some(reason) = self.switched_off.lock().remove(path) {
            tracing::warn!(path, "404: this endpoint is switched off: {reason}");
        }
    }

    /// Adds a chain's endpoints, at `/ext/bc/<ID>`, and for each alias at `/ext/bc/<alias>` and `/ext/<alias>`,
    /// each with the endpoints' suffixes. Until the chain is ready they answer 503.
    pub fn chain<S: AsRef<str>>(
        &self,
        chain: &ChainId,
        aliases: &[S],
        endpoints: Vec<(&'static str, Endpoint)>,
        ready: &Readiness,
    ) -> Result<(), RouteError> {
        let id = chain.to_string();
        let name = aliases.first().map_or(id.as_str(), AsRef::as_ref);
        let targets = endpoints
            .into_iter()
            .map(|(suffix, endpoint)| {
                let label = format!("{name}{suffix}");
                let target = Target {
                    ready: Some(ready.clone()),
                    chain: Some(name.into()),
                    ..self.target(&label, endpoint)
                };
                (suffix.to_owned(), Arc::new(target))
            })
            .collect();
        let mut others = Vec::new();
        for alias in aliases.iter().map(AsRef::as_ref).filter(|alias| *alias != id) {
            others.push(format!("{ROOT}bc/{alias}"));
            others.push(format!("{ROOT}{alias}"));
        }
        self.add(format!("{ROOT}bc/{id}"), targets, &others)
    }

    /// Makes `alias` an alias of `endpoint`, including all present and future paths below it (`bc/X` has
    /// `bc/X/wallet`). Both are without `/ext/`. The endpoint need not exist.
    pub fn alias(&self, endpoint: &str, alias: &str) -> Result<(), RouteError> {
        let mut registry = self.registry.lock();
        registry.alias(format!("{ROOT}{endpoint}"), format!("{ROOT}{alias}"))?;
        self.publish(&registry);
        Ok(())
    }

    /// Removes one path, but not its aliases.
    pub fn remove(&self, path: &str) {
        let mut registry = self.registry.lock();
        registry.remove(path);
        self.publish(&registry);
    }

    /// The paths of another listener: `/` serves the endpoint of `path`, and also websockets if its dialect is
    /// positional. `None` if `path` does not exist.
    pub fn rooted_at(&self, path: &str) -> Option<Self> {
        let target = self.with_sockets(path)?;
        let rooted = Self::new(Arc::clone(&self.metrics));
        let only = vec![(String::new(), target)];
        rooted.add("/".to_owned(), only, &[]).expect("a table without paths has room for one");
        Some(rooted)
    }

    /// Serves the endpoint of `path` at `/` too, and also websockets if its dialect is positional. Nothing changes if
    /// `path` does not exist.
    ///
    /// # Errors
    /// `/` is taken.
    pub fn serve_at_root(&self, path: &str) -> Result<(), RouteError> {
        match self.with_sockets(path) {
            Some(target) => self.add("/".to_owned(), vec![(String::new(), target)], &[]),
            None => Ok(()),
        }
    }

    /// Adds a web page: its files, by their paths below `base`. One name stands for all of them in the metrics.
    ///
    /// # Errors
    /// A path is taken.
    pub fn page(
        &self,
        base: &str,
        files: impl IntoIterator<Item = (String, StaticFile)>,
    ) -> Result<(), RouteError> {
        let metrics = self.metrics.endpoint(base.trim_matches('/'), Vec::new());
        let targets = files.into_iter().map(|(path, file)| {
            let target = Target {
                endpoint: Endpoint::File(file),
                browser_page: None,
                trusted_callers_only: false,
                ready: None,
                chain: None,
                metrics: Arc::clone(&metrics),
            };
            (path, Arc::new(target))
        });
        self.add(base.to_owned(), targets.collect(), &[])
    }

    /// Shows a page to browsers that open `/`. Other requests are answered as before.
    ///
    /// # Errors
    /// There are [`MAX_PATHS`] paths.
    pub fn page_at_root(&self, page: BrowserPage) -> Result<(), RouteError> {
        let root = match (self.find("/"), &page) {
            (Some(target), _) => Target {
                endpoint: target.endpoint.clone(),
                trusted_callers_only: target.trusted_callers_only,
                ready: target.ready.clone(),
                chain: target.chain.clone(),
                metrics: Arc::clone(&target.metrics),
                browser_page: Some(page),
            },
            (None, BrowserPage::File(file)) => self.target("/", Endpoint::File(file.clone())),
            (None, BrowserPage::OtherPort(_)) => return Ok(()),
        };
        let mut registry = self.registry.lock();
        registry.remove("/");
        registry.insert("/", "", &Arc::new(root))?;
        self.publish(&registry);
        Ok(())
    }

    /// The endpoint of a path, which also has websockets if its dialect is positional.
    fn with_sockets(&self, path: &str) -> Option<Arc<Target>> {
        let target = self.find(path)?;
        let Endpoint::Positional(server) = &target.endpoint else { return Some(target) };
        let (endpoint, ready) = (Endpoint::PositionalBoth(server.clone()), target.ready.clone());
        let (metrics, chain) = (Arc::clone(&target.metrics), target.chain.clone());
        let trusted_callers_only = target.trusted_callers_only;
        Some(Arc::new(Target {
            endpoint,
            browser_page: None,
            trusted_callers_only,
            ready,
            chain,
            metrics,
        }))
    }

    /// Whether the path exists.
    pub fn contains(&self, path: &str) -> bool {
        self.table.load().contains_key(path)
    }

    /// Every path, ascending.
    pub fn paths(&self) -> Vec<String> {
        let mut paths: Vec<_> = self.table.load().keys().map(ToString::to_string).collect();
        paths.sort_unstable();
        paths
    }

    /// Every path of JSON-RPC with its methods, ascending: for documentation and its tests.
    pub fn services(&self) -> Vec<(String, Service)> {
        let table = self.table.load();
        let services = table.iter().filter_map(|(path, target)| match &target.endpoint {
            // The same methods as at the path beside it.
            Endpoint::Socket(_) => None,
            endpoint => Some((path.to_string(), endpoint.service()?.clone())),
        });
        let mut services: Vec<_> = services.collect();
        services.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        services
    }

    pub(crate) fn find(&self, path: &str) -> Option<Arc<Target>> {
        self.table.load().get(path).cloned()
    }

    /// A path that belongs to no chain.
    fn target(&self, label: &str, endpoint: Endpoint) -> Target {
        let metrics = self.metrics.endpoint(label, endpoint.methods());
        let trusted_callers_only = endpoint.is_for_trusted_callers();
        Target {
            endpoint,
            browser_page: None,
            trusted_callers_only,
            ready: None,
            chain: None,
            metrics,
        }
    }

    fn add(
        &self,
        base: String,
        targets: Vec<(String, Arc<Target>)>,
        aliases: &[String],
    ) -> Result<(), RouteError> {
        let mut registry = self.registry.lock();
        for (suffix, target) in targets {
            registry.insert(&base, &suffix, &target)?;
        }
        for alias in aliases {
            registry.alias(base.clone(), alias.clone())?;
        }
        self.publish(&registry);
        Ok(())
    }

    fn publish(&self, registry: &RouteRegistry) {
        let mut table = HashMap::with_capacity(registry.paths);
        for (base, targets) in &registry.bases {
            for (suffix, target) in targets {
                table.insert(format!("{base}{suffix}").into_boxed_str(), Arc::clone(target));
            }
        }
        self.table.store(Arc::new(table));
    }
}

impl RouteRegistry {
    fn insert(&mut self, base: &str, suffix: &str, target: &Arc<Target>) -> Result<(), RouteError> {
        if self.paths >= MAX_PATHS {
            return Err(RouteError::Full);
        }
        let targets = self.bases.entry(base.to_owned()).or_default();
        if targets.contains_key(suffix) {
            return Err(RouteError::Taken(format!("{base}{suffix}")));
        }
        targets.insert(suffix.to_owned(), Arc::clone(target));
        self.paths += 1;
        // An alias is registered before its base, and an alias may have aliases.
        for alias in self.aliases.get(base).cloned().unwrap_or_default() {
            self.insert(&alias, suffix, target)?;
        }
        Ok(())
    }

    fn remove(&mut self, path: &str) {
        for (base, targets) in &mut self.bases {
            if let Some(suffix) = path.strip_prefix(base.as_str()) {
                targets.remove(suffix);
            }
        }
    }

    fn alias(&mut self, base: String, alias: String) -> Result<(), RouteError> {
        if self.reserved.contains(&alias) || self.bases.contains_key(&alias) || alias == base {
            return Err(RouteError::Taken(alias));
        }
        if self.reserved.len() >= MAX_PATHS {
            return Err(RouteError::Full);
        }
        let targets = self.bases.get(&base).cloned().unwrap_or_default();
        for (suffix, target) in &targets {
            self.insert(&alias, suffix, target)?;
        }
        self.reserved.insert(alias.clone());
        self.aliases.entry(base).or_default().push(alias);
        Ok(())
    }
}

impl Endpoint {
    /// Whether all methods are for trusted callers; then the whole path is.
    pub(super) fn is_for_trusted_callers(&self) -> bool {
        self.service().is_some_and(Service::is_for_trusted_callers)
    }

    /// The methods, each with the name that clients call it by: `xvm.getHeight`, `evm_chainId`.
    fn methods(&self) -> Vec<(MethodName, String)> {
        let separator = match self {
            Self::Positional(_) | Self::PositionalBoth(_) => '_',
            Self::Socket(dialect) => dialect.separator(),
            Self::Object(_) | Self::Page(_) | Self::File(_) | Self::Axum(_) => '.',
        };
        let methods = self.service().into_iter().flat_map(Service::methods);
        let methods =
            methods.map(|method| ((method.namespace, method.name), method.full_name(separator)));
        let subscriptions = self.subscription_methods().into_iter();
        let subscriptions = subscriptions
            .map(|(namespace, name)| ((namespace, name), format!("{namespace}{separator}{name}")));
        methods.chain(subscriptions).collect()
    }

    fn subscription_methods(&self) -> Vec<MethodName> {
        match self {
            Self::Positional(server) | Self::PositionalBoth(server) => {
                server.subscription_methods().collect()
            }
            Self::Socket(dialect) => dialect.subscription_methods(),
            Self::Object(_) | Self::Page(_) | Self::File(_) | Self::Axum(_) => Vec::new(),
        }
    }

    fn service(&self) -> Option<&Service> {
        match self {
            Self::Object(service) => Some(service),
            Self::Positional(server) | Self::PositionalBoth(server) => Some(server.service()),
            Self::Socket(dialect) => Some(dialect.service()),
            Self::Page(page) => page.service(),
            Self::File(_) | Self::Axum(_) => None,
        }
    }
}

impl fmt::Debug for Routes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.paths()).finish()
    }
}
