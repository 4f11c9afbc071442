//! The list of a namespace's methods.

mod arguments;
mod form;
pub mod handler;

use std::{fmt, sync::Arc};

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

use self::form::{Form, write, write_list};
use self::handler::Handler;
use crate::args::FromParams;
use crate::cost;
use crate::discover::{Arguments, Schemas, Signature};
use crate::error::RpcError;
use crate::method::{ErasedHandler, LanePolicy, Method, Step};
use crate::method_info::MethodInfo;
use crate::service::Service;

/// The methods of one namespace over a service type `S`, in the order of the documentation.
///
/// ```
/// use std::sync::Arc;
/// use esker_rpc::handler::quick;
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
///     .on("getHeight", quick(Chain::height))
///     .bind(Arc::new(Chain { height: 7 }));
/// assert_eq!(service.methods().next().map(|method| method.name), Some("getHeight"));
/// ```
///
/// [`MethodTable::on`] registers a method that takes its arguments by name, [`MethodTable::on_list`] one that takes them by
/// position. The functions of [`handler`] say how a method runs. The arguments are decoded into `P` first; if they do not
/// fit, the method does not run. [`MethodTable::short`] moves a blocking one to the short lane.
pub struct MethodTable<S> {
    namespace: &'static str,
    aliases: Vec<&'static str>,
    rows: Vec<Row<S>>,
}

/// Whether a service takes calls of a method at all.
pub type Check<S> = fn(&S) -> Result<(), RpcError>;

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

    /// A method that takes its arguments by name.
    #[must_use]
    pub fn on<P, R>(self, name: &'static str, handler: Handler<S, P, R>) -> Self
    where
        P: DeserializeOwned + JsonSchema + 'static,
        R: Serialize + JsonSchema + 'static,
    {
        let form = Form { read: |params| params.named(), write };
        self.add_row(name, Signature::named::<P, R>(), form, handler)
    }

    /// A method that takes its arguments by position: `P` is `()` or a tuple of [`esker_go_json::args::Argument`]s.
    #[must_use]
    pub fn on_list<P, R>(self, name: &'static str, handler: Handler<S, P, R>) -> Self
    where
        P: FromParams + 'static,
        R: Serialize + JsonSchema + 'static,
    {
        let form = Form { read: P::from_params, write: write_list };
        self.add_row(name, Signature::listed::<P, R>(), form, handler)
    }

    fn add_row<P: 'static, R: 'static>(
        mut self,
        name: &'static str,
        signature: Signature,
        form: Form<P, R>,
        handler: Handler<S, P, R>,
    ) -> Self {
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
            bind: Box::new(move |service| (handler.bind)(service, form)),
        });
        self
    }

    /// Another name of the namespace, for all its methods.
    #[must_use]
    pub fn alias(mut self, namespace: &'static str) -> Self {
        self.aliases.push(namespace);
        self
    }

    /// The method registered last is deprecated since that release. It is served, with a `Deprecation` header.
    ///
    /// # Panics
    ///
    /// If there is none yet.
    #[must_use]
    pub fn deprecated(mut self, since: &'static str) -> Self {
        let row = self.rows.last_mut().expect("a method is registered before it is deprecated");
        row.deprecated_since = Some(since);
        self
    }

    /// Every method registered so far is deprecated since that release, unless it already is.
    #[must_use]
    pub fn deprecate_all(mut self, since: &'static str) -> Self {
        for row in &mut self.rows {
            row.deprecated_since.get_or_insert(since);
        }
        self
    }

    /// Names the replacement of the deprecated methods registered so far that do not have one yet: for the log.
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

    /// Sets the result type of the method registered last, if its handler does not show it: it has the JSON of `R`.
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
    /// context reports this ([`is_brief`](crate::CallContext::is_brief)). If it calls [`leave_short_lane`](crate::CallContext::leave_short_lane) it is restarted
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

    /// How many units a call of the method registered last takes of what its address may use: one of [`cost`](crate::cost), which is
    /// [`cost::READ`](crate::cost::READ) unless this says otherwise.
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
