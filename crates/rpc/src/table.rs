//! The list of a namespace's methods.

use std::{fmt, future::Future, sync::Arc};

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    CallContext, ClientAddress, Params, ParamsError, ReplyAfter, ResultWriter, RpcError, Service,
    args::FromParams,
    cost,
    discover::{Arguments, Schemas, Signature},
    result_writer::WrittenResult,
    service::{Blocking, ErasedHandler, LanePolicy, Method, MethodInfo, Outcome, Step},
};

/// A larger reply, in bytes, is not serialised on the task that serves the connection, if its size is known before.
const LARGE_REPLY: usize = 64 * 1024;

/// The methods of one namespace over a service type `S`, in the order of the documentation.
///
/// ```
/// use std::sync::Arc;
/// use esker_rpc::{MethodTable, NoArgs, RpcError};
///
/// struct Chain { height: u64 }
///
/// #[derive(serde::Serialize, schemars::JsonSchema)]
/// struct HeightReply { height: esker_rpc::wire::JsonU64 }
///
/// impl Chain {
///     fn height(&self, _: NoArgs) -> Result<HeightReply, RpcError> {
///         Ok(HeightReply { height: self.height.into() })
///     }
/// }
///
/// let service = MethodTable::new("xvm")
///     .alias("avm")
///     .on("getHeight", Chain::height)
///     .bind(Arc::new(Chain { height: 7 }));
/// assert_eq!(service.methods().next().map(|method| method.name), Some("getHeight"));
/// ```
///
/// Every way to register decodes the arguments into `P` first; if they do not fit, the handler
/// does not run. `on` is for handlers that only read memory: they run on the task that serves the
/// connection. `on_async` is for those that wait, `on_blocking` for those that compute or read the
/// disk for long; [`MethodTable::short`] moves a blocking one to the short lane.
pub struct MethodTable<S> {
    namespace: &'static str,
    aliases: Vec<&'static str>,
    rows: Vec<Row<S>>,
}

/// Decodes the arguments of a dialect.
type Read<P> = fn(Params<'_>) -> Result<P, ParamsError>;
/// Appends a reply as a dialect writes it.
type Write<R> = fn(&R, Vec<u8>) -> Outcome;

/// Whether a service takes calls of a method at all.
pub type Check<S> = fn(&S) -> Result<(), RpcError>;

/// How a dialect carries a method's arguments and its reply, and how they look.
struct Form<P, R> {
    read: Read<P>,
    write: Write<R>,
    signature: Signature,
}

struct Row<S> {
    name: &'static str,
    signature: Signature,
    aliases: Vec<&'static str>,
    deprecated_since: Option<&'static str>,
    instead: Option<&'static str>,
    trusted_callers_only: bool,
    lane_policy: LanePolicy,
    cost: u32,
    /// Asked before the arguments are looked at.
    check: Option<Check<S>>,
    bind: Box<dyn FnOnce(Arc<S>) -> ErasedHandler>,
}

impl<S: Send + Sync + 'static> MethodTable<S> {
    /// An empty table of this namespace.
    #[must_use]
    pub fn new(namespace: &'static str) -> Self {
        Self { namespace, aliases: Vec::new(), rows: Vec::new() }
    }

    /// Another name of the namespace, for all its methods.
    #[must_use]
    pub fn alias(mut self, namespace: &'static str) -> Self {
        self.aliases.push(namespace);
        self
    }

    /// A quick method, run in place.
    #[must_use]
    pub fn on<P, R, F>(self, name: &'static str, handler: F) -> Self
    where
        P: DeserializeOwned + JsonSchema + 'static,
        R: Serialize + JsonSchema + 'static,
        F: Fn(&S, P) -> Result<R, RpcError> + Send + Sync + 'static,
    {
        self.quick(name, named(), handler)
    }

    /// A method that waits.
    #[must_use]
    pub fn on_async<P, R, F, Fut>(self, name: &'static str, handler: F) -> Self
    where
        P: DeserializeOwned + JsonSchema + 'static,
        R: Serialize + JsonSchema + 'static,
        F: Fn(Arc<S>, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, RpcError>> + Send + 'static,
    {
        self.waiting(name, named(), move |service, arguments, _| handler(service, arguments))
    }

    /// As [`MethodTable::on_async`], for handlers that need the client's address.
    #[must_use]
    pub fn on_async_from<P, R, F, Fut>(self, name: &'static str, handler: F) -> Self
    where
        P: DeserializeOwned + JsonSchema + 'static,
        R: Serialize + JsonSchema + 'static,
        F: Fn(Arc<S>, P, ClientAddress) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, RpcError>> + Send + 'static,
    {
        self.waiting(name, named(), handler)
    }

    /// A method that computes, or reads the disk, for long: it runs on a thread for such work.
    #[must_use]
    pub fn on_blocking<P, R, F>(self, name: &'static str, handler: F) -> Self
    where
        P: DeserializeOwned + JsonSchema + Send + 'static,
        R: Serialize + JsonSchema + 'static,
        F: Fn(&S, P) -> Result<R, RpcError> + Send + Sync + 'static,
    {
        self.once(name, named(), at_once(handler))
    }

    /// As [`MethodTable::on_blocking`], for replies that wait for something after the handler has returned.
    #[must_use]
    pub fn on_blocking_then<P, R, F>(self, name: &'static str, handler: F) -> Self
    where
        P: DeserializeOwned + JsonSchema + Send + 'static,
        R: Serialize + JsonSchema + 'static,
        F: Fn(&S, P) -> Result<ReplyAfter<R>, RpcError> + Send + Sync + 'static,
    {
        self.once(name, named(), handler)
    }

    /// As [`MethodTable::on_blocking`], for handlers that check whether to go on ([`CallContext::is_cancelled`]). A
    /// cancelled handler may be restarted from its beginning, so it must change nothing before its last check.
    #[must_use]
    pub fn on_blocking_with<P, R, F>(self, name: &'static str, handler: F) -> Self
    where
        P: DeserializeOwned + JsonSchema + Clone + Send + 'static,
        R: Serialize + JsonSchema + 'static,
        F: Fn(&S, P, &CallContext) -> Result<R, RpcError> + Send + Sync + 'static,
    {
        self.again(name, named(), |_, _| None, at_once_with(handler))
    }

    /// A quick method that takes its arguments by position: `P` is `()` or a tuple of
    /// [`crate::args::Argument`]s.
    #[must_use]
    pub fn on_list<P, R, F>(self, name: &'static str, handler: F) -> Self
    where
        P: FromParams + 'static,
        R: Serialize + JsonSchema + 'static,
        F: Fn(&S, P) -> Result<R, RpcError> + Send + Sync + 'static,
    {
        self.quick(name, listed(), handler)
    }

    /// [`MethodTable::on_list`] of a method that finds its reply at once, but whose reply may be large: `bytes` returns
    /// its approximate size. A large reply is serialised on a thread of the long lane.
    #[must_use]
    pub fn on_list_sized<P, R, B, F>(self, name: &'static str, bytes: B, handler: F) -> Self
    where
        P: FromParams + 'static,
        R: Serialize + JsonSchema + Send + 'static,
        B: Fn(&R) -> usize + Send + Sync + 'static,
        F: Fn(&S, P) -> Result<R, RpcError> + Send + Sync + 'static,
    {
        self.row(name, Signature::listed::<P, R>(), move |service| {
            Box::new(move |params, _, out| {
                let found = handler(&service, P::from_params(params)?);
                let reply = match found {
                    Ok(reply) if bytes(&reply) > LARGE_REPLY => reply,
                    found => {
                        let written = found.and_then(|reply| write_list(&reply, out));
                        return Ok(Step::Done(written));
                    }
                };
                let mut work = Some((reply, out));
                let work = move |_: &CallContext| {
                    let (reply, out) = work.take().ok_or_else(ran_twice)?;
                    write_list(&reply, out).map(WrittenResult::from)
                };
                Ok(Step::Blocking(Blocking { can_restart: false, work: Box::new(work) }))
            })
        })
    }

    /// [`MethodTable::on_list`] of a method that waits.
    #[must_use]
    pub fn on_list_async<P, R, F, Fut>(self, name: &'static str, handler: F) -> Self
    where
        P: FromParams + 'static,
        R: Serialize + JsonSchema + 'static,
        F: Fn(Arc<S>, P) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, RpcError>> + Send + 'static,
    {
        self.waiting(name, listed(), move |service, arguments, _| handler(service, arguments))
    }

    /// As [`MethodTable::on_list_async`], for handlers that need the client's address.
    #[must_use]
    pub fn on_list_async_from<P, R, F, Fut>(self, name: &'static str, handler: F) -> Self
    where
        P: FromParams + 'static,
        R: Serialize + JsonSchema + 'static,
        F: Fn(Arc<S>, P, ClientAddress) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, RpcError>> + Send + 'static,
    {
        self.waiting(name, listed(), handler)
    }

    /// [`MethodTable::on_list`] of a method that computes, or reads the disk, for long: it runs on a thread for
    /// such work.
    #[must_use]
    pub fn on_list_blocking<P, R, F>(self, name: &'static str, handler: F) -> Self
    where
        P: FromParams + Send + 'static,
        R: Serialize + JsonSchema + 'static,
        F: Fn(&S, P) -> Result<R, RpcError> + Send + Sync + 'static,
    {
        self.once(name, listed(), at_once(handler))
    }

    /// As [`MethodTable::on_list_blocking`], for replies that wait for something after the handler has returned.
    #[must_use]
    pub fn on_list_blocking_then<P, R, F>(self, name: &'static str, handler: F) -> Self
    where
        P: FromParams + Send + 'static,
        R: Serialize + JsonSchema + 'static,
        F: Fn(&S, P) -> Result<ReplyAfter<R>, RpcError> + Send + Sync + 'static,
    {
        self.once(name, listed(), handler)
    }

    /// As [`MethodTable::on_list_blocking`], for handlers that check whether to go on; see
    /// [`MethodTable::on_blocking_with`].
    #[must_use]
    pub fn on_list_blocking_with<P, R, F>(self, name: &'static str, handler: F) -> Self
    where
        P: FromParams + Clone + Send + 'static,
        R: Serialize + JsonSchema + 'static,
        F: Fn(&S, P, &CallContext) -> Result<R, RpcError> + Send + Sync + 'static,
    {
        self.again(name, listed(), |_, _| None, at_once_with(handler))
    }

    /// As [`MethodTable::on_list_blocking_with`], for replies that wait for something after the handler has returned.
    #[must_use]
    pub fn on_list_blocking_with_then<P, R, F>(self, name: &'static str, handler: F) -> Self
    where
        P: FromParams + Clone + Send + 'static,
        R: Serialize + JsonSchema + 'static,
        F: Fn(&S, P, &CallContext) -> Result<ReplyAfter<R>, RpcError> + Send + Sync + 'static,
    {
        self.again(name, listed(), |_, _| None, handler)
    }

    /// As [`MethodTable::on_list_blocking_with`], for results that may be large: the handler writes the JSON text itself,
    /// piece by piece. After an error what it has written is discarded. [`MethodTable::returns`] describes the result.
    #[must_use]
    pub fn on_list_written<P, F>(self, name: &'static str, handler: F) -> Self
    where
        P: FromParams + Clone + Send + 'static,
        F: Fn(&S, P, &CallContext, &mut ResultWriter) -> Result<(), RpcError>
            + Send
            + Sync
            + 'static,
    {
        self.row(name, Signature::listed::<P, serde_json::Value>(), move |service| {
            let handler = Arc::new(handler);
            Box::new(move |params, _, out| {
                let arguments = P::from_params(params)?;
                let (service, handler) = (Arc::clone(&service), Arc::clone(&handler));
                let work = move |context: &CallContext| {
                    let mut writer = ResultWriter::new(out.clone(), context);
                    handler(&service, arguments.clone(), context, &mut writer)?;
                    Ok(writer.finish())
                };
                Ok(Step::Blocking(Blocking { can_restart: true, work: Box::new(work) }))
            })
        })
    }

    /// As [`MethodTable::on_list_blocking_with`], for a method that is mostly quick: `try_first` runs in
    /// place, and `handler` runs on a thread only if that gives no answer. Handing a call to another
    /// thread and back takes longer than most calls do.
    #[must_use]
    pub fn on_list_try_first<P, R, T, F>(self, name: &'static str, try_first: T, handler: F) -> Self
    where
        P: FromParams + Clone + Send + 'static,
        R: Serialize + JsonSchema + 'static,
        T: Fn(&S, &P) -> Option<Result<R, RpcError>> + Send + Sync + 'static,
        F: Fn(&S, P, &CallContext) -> Result<R, RpcError> + Send + Sync + 'static,
    {
        self.again(name, listed(), try_first, at_once_with(handler))
    }

    /// A quick method that is deprecated since that release. It is served, with a `Deprecation` header.
    #[must_use]
    pub fn deprecated<P, R, F>(self, name: &'static str, since: &'static str, handler: F) -> Self
    where
        P: DeserializeOwned + JsonSchema + 'static,
        R: Serialize + JsonSchema + 'static,
        F: Fn(&S, P) -> Result<R, RpcError> + Send + Sync + 'static,
    {
        self.on(name, handler).since(since)
    }

    /// [`MethodTable::on_async_from`] of a deprecated method.
    #[must_use]
    pub fn deprecated_async_from<P, R, F, Fut>(
        self,
        name: &'static str,
        since: &'static str,
        handler: F,
    ) -> Self
    where
        P: DeserializeOwned + JsonSchema + 'static,
        R: Serialize + JsonSchema + 'static,
        F: Fn(Arc<S>, P, ClientAddress) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, RpcError>> + Send + 'static,
    {
        self.on_async_from(name, handler).since(since)
    }

    /// [`MethodTable::on_blocking`] of a deprecated method.
    #[must_use]
    pub fn deprecated_blocking<P, R, F>(
        self,
        name: &'static str,
        since: &'static str,
        handler: F,
    ) -> Self
    where
        P: DeserializeOwned + JsonSchema + Send + 'static,
        R: Serialize + JsonSchema + 'static,
        F: Fn(&S, P) -> Result<R, RpcError> + Send + Sync + 'static,
    {
        self.on_blocking(name, handler).since(since)
    }

    /// [`MethodTable::on_blocking_with`] of a deprecated method.
    #[must_use]
    pub fn deprecated_blocking_with<P, R, F>(
        self,
        name: &'static str,
        since: &'static str,
        handler: F,
    ) -> Self
    where
        P: DeserializeOwned + JsonSchema + Clone + Send + 'static,
        R: Serialize + JsonSchema + 'static,
        F: Fn(&S, P, &CallContext) -> Result<R, RpcError> + Send + Sync + 'static,
    {
        self.on_blocking_with(name, handler).since(since)
    }

    /// Every method registered so far is deprecated since that release, unless it already is.
    #[must_use]
    pub fn deprecate_all(mut self, since: &'static str) -> Self {
        for row in &mut self.rows {
            row.deprecated_since.get_or_insert(since);
        }
        self
    }

    /// What to call instead of the deprecated methods registered so far, unless they already name it: for the log.
    #[must_use]
    pub fn instead(mut self, method: &'static str) -> Self {
        for row in self.rows.iter_mut().filter(|row| row.deprecated_since.is_some()) {
            row.instead.get_or_insert(method);
        }
        self
    }

    /// Methods that `add` registers are for trusted callers: those that take a password, or change the node
    /// itself. Web pages of other origins are refused.
    #[must_use]
    pub fn trusted_callers_only(self, add: impl FnOnce(Self) -> Self) -> Self {
        let before = self.rows.len();
        let mut table = add(self);
        for row in table.rows.iter_mut().skip(before) {
            row.trusted_callers_only = true;
        }
        table
    }

    /// These methods ask `check` before their arguments are looked at; its error is the reply.
    ///
    /// # Panics
    ///
    /// If one of them is not registered.
    #[must_use]
    pub fn checked_by(mut self, check: Check<S>, methods: &[&str]) -> Self {
        for name in methods {
            let row = self.rows.iter_mut().find(|row| row.name == *name);
            row.expect("a method is registered before it is checked").check = Some(check);
        }
        self
    }

    /// Names of the arguments of the method registered last, which takes them by position: for documents.
    ///
    /// # Panics
    ///
    /// If there is none yet, or it takes its arguments by name.
    #[must_use]
    pub fn params(mut self, parameters: &'static [&'static str]) -> Self {
        let row =
            self.rows.last_mut().expect("a method is registered before its arguments are named");
        match &mut row.signature.arguments {
            Arguments::Listed { names, .. } => *names = parameters,
            Arguments::Named(_) => panic!("{} takes its arguments by name", row.name),
        }
        self
    }

    /// What the method registered last returns, where its handler does not show it: it has the JSON of `R`.
    ///
    /// # Panics
    ///
    /// If there is none yet.
    #[must_use]
    pub fn returns<R: JsonSchema>(mut self) -> Self {
        let row =
            self.rows.last_mut().expect("a method is registered before its result is described");
        row.signature.result = Schemas::result::<R>;
        self
    }

    /// Another name of the method registered last.
    ///
    /// # Panics
    ///
    /// If there is none yet.
    #[must_use]
    pub fn also_named(mut self, name: &'static str) -> Self {
        let row = self.rows.last_mut().expect("a method is registered before it gets another name");
        row.aliases.push(name);
        self
    }

    /// Puts the blocking method registered last into the short lane: it takes some milliseconds at most, and other
    /// clients wait for it, as for a transaction that is sent.
    ///
    /// # Panics
    ///
    /// If there is none yet.
    #[must_use]
    pub fn short(mut self) -> Self {
        let row = self.rows.last_mut().expect("a method is registered before it is called short");
        row.lane_policy = LanePolicy::Short;
        self
    }

    /// Puts the method registered last into the short lane first, because it mostly takes some milliseconds at most. Its
    /// context reports this ([`CallContext::is_brief`]). If it calls [`CallContext::leave_short_lane`] it is restarted
    /// in the long lane.
    ///
    /// # Panics
    ///
    /// If there is none yet.
    #[must_use]
    pub fn short_first(mut self) -> Self {
        let row = self.rows.last_mut().expect("a method is registered before it is called short");
        row.lane_policy = LanePolicy::ShortFirst;
        self
    }

    /// How many units a call of the method registered last takes of what its address may use: one of [`cost`], which is
    /// [`cost::READ`] unless this says otherwise.
    ///
    /// # Panics
    ///
    /// If there is none yet.
    #[must_use]
    pub fn cost(mut self, units: u32) -> Self {
        let row = self.rows.last_mut().expect("a method is registered before it gets a cost");
        row.cost = units;
        self
    }

    /// [`MethodTable::cost`] of each method that `add` registers.
    #[must_use]
    pub fn costing(self, units: u32, add: impl FnOnce(Self) -> Self) -> Self {
        let before = self.rows.len();
        let mut table = add(self);
        table.rows.iter_mut().skip(before).for_each(|row| row.cost = units);
        table
    }

    /// The methods over this service, ready to be called.
    ///
    /// # Panics
    ///
    /// If a name is registered for two methods, or arguments by position have no names.
    #[must_use]
    pub fn bind(self, service: Arc<S>) -> Service {
        let namespace_aliases: Arc<[&'static str]> = self.aliases.into();
        let method = |row: Row<S>| {
            let info = MethodInfo {
                namespace: self.namespace,
                namespace_aliases: Arc::clone(&namespace_aliases),
                name: row.name,
                aliases: row.aliases,
                deprecated_since: row.deprecated_since,
                instead: row.instead,
                trusted_callers_only: row.trusted_callers_only,
                cost: row.cost,
            };
            if let Arguments::Listed { count, names, .. } = row.signature.arguments {
                let has = names.len();
                assert!(
                    has == count,
                    "{0}_{1} names {has} of {count} arguments",
                    self.namespace,
                    row.name
                );
            }
            let handler = (row.bind)(Arc::clone(&service));
            let handler = match row.check {
                Some(check) => checked(Arc::clone(&service), check, handler),
                None => handler,
            };
            Method::new(info, row.signature, row.lane_policy, handler)
        };
        Service::new(self.rows.into_iter().map(method).collect())
    }

    fn quick<P, R, F>(self, name: &'static str, form: Form<P, R>, handler: F) -> Self
    where
        P: 'static,
        R: 'static,
        F: Fn(&S, P) -> Result<R, RpcError> + Send + Sync + 'static,
    {
        let Form { read, write, signature } = form;
        self.row(name, signature, move |service| {
            Box::new(move |params, _, out| {
                let arguments = read(params)?;
                Ok(Step::Done(handler(&service, arguments).and_then(|reply| write(&reply, out))))
            })
        })
    }

    fn waiting<P, R, F, Fut>(self, name: &'static str, form: Form<P, R>, handler: F) -> Self
    where
        P: 'static,
        R: 'static,
        F: Fn(Arc<S>, P, ClientAddress) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, RpcError>> + Send + 'static,
    {
        let Form { read, write, signature } = form;
        self.row(name, signature, move |service| {
            Box::new(move |params, context, out| {
                let answer = handler(Arc::clone(&service), read(params)?, context.address());
                Ok(Step::Later(Box::pin(async move { write(&answer.await?, out) })))
            })
        })
    }

    /// Work that runs once.
    fn once<P, R, F>(self, name: &'static str, form: Form<P, R>, handler: F) -> Self
    where
        P: Send + 'static,
        R: 'static,
        F: Fn(&S, P) -> Result<ReplyAfter<R>, RpcError> + Send + Sync + 'static,
    {
        let Form { read, write, signature } = form;
        self.row(name, signature, move |service| {
            let handler = Arc::new(handler);
            Box::new(move |params, _, out| {
                let (service, handler) = (Arc::clone(&service), Arc::clone(&handler));
                let mut work = Some((read(params)?, out));
                let work = move |_: &CallContext| {
                    let (arguments, out) = work.take().ok_or_else(ran_twice)?;
                    let ReplyAfter { reply, wait } = handler(&service, arguments)?;
                    Ok(WrittenResult { wait, ..write(&reply, out)?.into() })
                };
                let work = Box::new(work);
                Ok(Step::Blocking(Blocking { can_restart: false, work }))
            })
        })
    }

    /// Work that may be ended and run again.
    fn again<P, R, T, F>(
        self,
        name: &'static str,
        form: Form<P, R>,
        try_first: T,
        handler: F,
    ) -> Self
    where
        P: Clone + Send + 'static,
        R: 'static,
        T: Fn(&S, &P) -> Option<Result<R, RpcError>> + Send + Sync + 'static,
        F: Fn(&S, P, &CallContext) -> Result<ReplyAfter<R>, RpcError> + Send + Sync + 'static,
    {
        let Form { read, write, signature } = form;
        self.row(name, signature, move |service| {
            let handler = Arc::new(handler);
            Box::new(move |params, _, out| {
                let arguments = read(params)?;
                if let Some(answer) = try_first(&service, &arguments) {
                    return Ok(Step::Done(answer.and_then(|reply| write(&reply, out))));
                }
                let (service, handler) = (Arc::clone(&service), Arc::clone(&handler));
                let work = move |context: &CallContext| {
                    let ReplyAfter { reply, wait } = handler(&service, arguments.clone(), context)?;
                    Ok(WrittenResult { wait, ..write(&reply, out.clone())?.into() })
                };
                Ok(Step::Blocking(Blocking { can_restart: true, work: Box::new(work) }))
            })
        })
    }

    fn row(
        mut self,
        name: &'static str,
        signature: Signature,
        bind: impl FnOnce(Arc<S>) -> ErasedHandler + 'static,
    ) -> Self {
        let bind = Box::new(bind);
        self.rows.push(Row {
            name,
            signature,
            aliases: Vec::new(),
            deprecated_since: None,
            instead: None,
            trusted_callers_only: false,
            lane_policy: LanePolicy::default(),
            cost: cost::READ,
            check: None,
            bind,
        });
        self
    }

    fn since(mut self, release: &'static str) -> Self {
        if let Some(row) = self.rows.last_mut() {
            row.deprecated_since = Some(release);
        }
        self
    }
}

impl<S> fmt::Debug for MethodTable<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.rows.iter().map(|row| row.name).collect();
        f.debug_struct("MethodTable")
            .field("namespace", &self.namespace)
            .field("aliases", &self.aliases)
            .field("methods", &names)
            .finish()
    }
}

/// The handler of a method that is asked for only if `check` allows it.
fn checked<S: Send + Sync + 'static>(
    service: Arc<S>,
    check: Check<S>,
    handler: ErasedHandler,
) -> ErasedHandler {
    Box::new(move |params, context, out| match check(&service) {
        Ok(()) => handler(params, context, out),
        Err(error) => Ok(Step::Done(Err(error))),
    })
}

/// A handler whose reply waits for nothing.
fn at_once<S, P, R>(
    handler: impl Fn(&S, P) -> Result<R, RpcError> + Send + Sync + 'static,
) -> impl Fn(&S, P) -> Result<ReplyAfter<R>, RpcError> + Send + Sync + 'static {
    move |service, arguments| handler(service, arguments).map(ReplyAfter::from)
}

/// As [`at_once`], of a handler with a context.
fn at_once_with<S, P, R>(
    handler: impl Fn(&S, P, &CallContext) -> Result<R, RpcError> + Send + Sync + 'static,
) -> impl Fn(&S, P, &CallContext) -> Result<ReplyAfter<R>, RpcError> + Send + Sync + 'static {
    move |service, arguments, context| handler(service, arguments, context).map(ReplyAfter::from)
}

fn ran_twice() -> RpcError {
    RpcError::with_code(RpcError::INTERNAL, "the method ran already")
}

/// Arguments by name.
fn named<P: DeserializeOwned + JsonSchema, R: Serialize + JsonSchema>() -> Form<P, R> {
    Form { read: |params| params.named(), write, signature: Signature::named::<P, R>() }
}

/// Arguments by position.
fn listed<P: FromParams, R: Serialize + JsonSchema>() -> Form<P, R> {
    Form { read: P::from_params, write: write_list, signature: Signature::listed::<P, R>() }
}

fn write<R: Serialize>(reply: &R, mut out: Vec<u8>) -> Outcome {
    esker_go_json::write(reply, &mut out).map_err(|error| RpcError::new(error.to_string()))?;
    Ok(out)
}

/// [`write`] for the positional dialect, which has a code for a result that has no JSON form.
fn write_list<R: Serialize>(reply: &R, mut out: Vec<u8>) -> Outcome {
    match esker_go_json::write(reply, &mut out) {
        Ok(()) => Ok(out),
        Err(error) => Err(RpcError::with_code(RpcError::INTERNAL, error.to_string())),
    }
}
