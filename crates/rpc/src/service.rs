//! Type-erased methods, found by name and called with any dialect's arguments.

use std::{
    any::Any,
    collections::BTreeMap,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use futures_util::{FutureExt, future::BoxFuture};

use crate::{BlockingPool, CallContext, Params, ParamsError, RpcError, context::CancelOnDrop};

/// The outcome of a handler: the buffer it was given with the serialised result appended.
pub(crate) type Outcome = Result<Vec<u8>, RpcError>;

/// What a handler does once its arguments are decoded.
pub(crate) enum Step {
    Done(Outcome),
    Later(BoxFuture<'static, Outcome>),
    Blocking(Box<dyn FnOnce(&CallContext) -> Outcome + Send>),
}

/// Decodes the arguments and starts the handler, which appends its result to the buffer.
pub(crate) type Erased =
    Box<dyn Fn(Params<'_>, &CallContext, Vec<u8>) -> Result<Step, ParamsError> + Send + Sync>;

/// One method of an endpoint.
pub struct Method {
    info: MethodInfo,
    run: Erased,
    told: AtomicBool,
}

/// What is known about a method without calling it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MethodInfo {
    /// The canonical namespace.
    pub namespace: &'static str,
    /// Other names of the namespace.
    pub namespace_aliases: Arc<[&'static str]>,
    /// The canonical name, without the namespace.
    pub name: &'static str,
    /// Other names of the method.
    pub aliases: Vec<&'static str>,
    /// The release of the reference in which the method became deprecated, such as `v1.9.12`.
    pub deprecated_since: Option<&'static str>,
}

/// Why a call has no result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CallError {
    /// The arguments do not fit; the handler did not run.
    #[error(transparent)]
    Params(#[from] ParamsError),
    /// The handler's own error.
    #[error(transparent)]
    Handler(#[from] RpcError),
    /// The handler panicked. It has been logged.
    #[error("method handler crashed")]
    Panicked,
}

impl Method {
    pub(crate) fn new(info: MethodInfo, run: Erased) -> Self {
        Self { info, run, told: AtomicBool::new(false) }
    }

    /// What is known about the method.
    #[must_use]
    pub fn info(&self) -> &MethodInfo {
        &self.info
    }

    /// Calls the method and appends its serialised result to `out`.
    ///
    /// A quick handler runs at once, a blocking one when `pool` has a place for it. Dropping the
    /// future cancels an asynchronous handler, and tells a blocking one through its context.
    pub async fn call(
        &self,
        params: Params<'_>,
        context: &CallContext,
        pool: &BlockingPool,
        out: Vec<u8>,
    ) -> Result<Vec<u8>, CallError> {
        self.tell_deprecation();
        // Unwind safety: services keep their state behind snapshots and poison-free locks, and the
        // buffer is lost with the panic.
        let started = catch_unwind(AssertUnwindSafe(|| (self.run)(params, context, out)));
        let outcome = match started.map_err(|panic| self.crashed(&*panic))?? {
            Step::Done(outcome) => outcome,
            Step::Later(future) => AssertUnwindSafe(future)
                .catch_unwind()
                .await
                .map_err(|panic| self.crashed(&*panic))?,
            Step::Blocking(work) => self.block(work, context, pool).await?,
        };
        Ok(outcome?)
    }

    async fn block(
        &self,
        work: Box<dyn FnOnce(&CallContext) -> Outcome + Send>,
        context: &CallContext,
        pool: &BlockingPool,
    ) -> Result<Outcome, CallError> {
        let place = pool.place().await;
        let client = CancelOnDrop::new(context);
        let context = context.clone();
        let done = tokio::task::spawn_blocking(move || {
            let _place = place;
            work(&context)
        })
        .await;
        client.disarm();
        done.map_err(|error| match error.try_into_panic() {
            Ok(panic) => self.crashed(&*panic),
            // Only a runtime that shuts down cancels blocking work.
            Err(_) => CallError::Handler(RpcError::new("the node is shutting down")),
        })
    }

    fn tell_deprecation(&self) {
        let Some(since) = self.info.deprecated_since else { return };
        if !self.told.swap(true, Ordering::Relaxed) {
            let MethodInfo { namespace, name, .. } = self.info;
            tracing::warn!(namespace, method = name, since, "deprecated method called");
        }
    }

    fn crashed(&self, panic: &(dyn Any + Send)) -> CallError {
        let text = panic
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("a panic without a text");
        let MethodInfo { namespace, name, .. } = self.info;
        tracing::error!(namespace, method = name, panic = text, "method handler crashed");
        CallError::Panicked
    }
}

impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Method").field("info", &self.info).finish_non_exhaustive()
    }
}

/// The methods of one endpoint. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Service {
    namespaces: Arc<BTreeMap<&'static str, BTreeMap<&'static str, Arc<Method>>>>,
    listing: Arc<[Arc<Method>]>,
    pool: BlockingPool,
}

/// What a name leads to.
#[derive(Debug, Clone, Copy)]
pub enum Lookup<'a> {
    /// There is no such namespace.
    NoNamespace,
    /// The namespace has no such method.
    NoMethod,
    /// This one.
    Found(&'a Method),
}

impl Service {
    pub(crate) fn new(methods: Vec<Method>) -> Self {
        let mut service = Self::default();
        service.add(methods.into_iter().map(Arc::new));
        service
    }

    /// Joins the methods of both into one endpoint; the pool is this one's.
    ///
    /// # Panics
    ///
    /// If a name would stand for two methods: endpoints are put together once, at the start.
    #[must_use]
    pub fn merge(mut self, other: &Self) -> Self {
        self.add(other.listing.iter().cloned());
        self
    }

    /// The same methods over another pool for blocking handlers, shared with other endpoints.
    #[must_use]
    pub fn with_pool(mut self, pool: &BlockingPool) -> Self {
        self.pool = pool.clone();
        self
    }

    /// Finds a method by any of its names. Names are case-sensitive.
    #[must_use]
    pub fn find(&self, namespace: &str, name: &str) -> Lookup<'_> {
        let Some(methods) = self.namespaces.get(namespace) else { return Lookup::NoNamespace };
        methods.get(name).map_or(Lookup::NoMethod, |method| Lookup::Found(method))
    }

    /// The pool on which blocking handlers run.
    #[must_use]
    pub fn pool(&self) -> &BlockingPool {
        &self.pool
    }

    /// Every method in the order of registration, for documentation and tests.
    pub fn methods(&self) -> impl Iterator<Item = &MethodInfo> {
        self.listing.iter().map(|method| method.info())
    }

    fn add(&mut self, added: impl Iterator<Item = Arc<Method>>) {
        let mut namespaces = (*self.namespaces).clone();
        let mut listing = self.listing.to_vec();
        for method in added {
            let info = method.info();
            for namespace in [info.namespace].iter().chain(info.namespace_aliases.iter()) {
                let methods = namespaces.entry(namespace).or_default();
                for name in [info.name].iter().chain(&info.aliases) {
                    let earlier = methods.insert(name, Arc::clone(&method));
                    assert!(earlier.is_none(), "{namespace}.{name} is registered twice");
                }
            }
            listing.push(method);
        }
        self.namespaces = Arc::new(namespaces);
        self.listing = listing.into();
    }
}
