//! JSON-RPC without HTTP: tables of methods, the dialects that carry calls to them, and the forms
//! in which arguments and results appear on the wire.
//!
//! Three layers, each usable alone:
//!
//! - [`go_json`] reads and writes JSON the way Go's `encoding/json` does (error texts, member
//!   names, escapes), because clients compare those bytes. [`wire`] adds the scalars of services.
//! - [`MethodTable`] lists the methods of one namespace over a service type; bound to a service it
//!   becomes a type-erased [`Service`], and several of those merge into one endpoint. This core
//!   knows no dialect: it finds a [`Method`] by namespace and name, hands it [`Params`], and gets
//!   the serialised result or a [`CallError`].
//! - [`j2`] is the object dialect (`service.method`, one object of named arguments, no batches):
//!   bytes of a request in, bytes of the reply out.
//!
//! What this crate never does: open a socket, read a header other than the two [`j2::handle`]
//! takes, hold a lock while a handler runs, or let a handler's panic past [`Method::call`].
//!
//! # How a positional dialect joins
//!
//! A dialect is a function from request bytes to reply bytes over a `&Service`. One with arrays of
//! arguments (`namespace_method`, batches, subscriptions) brings three things and changes none of
//! the core: its own envelope scan (on [`go_json::Document`]), [`Params::List`] for its calls, and
//! its texts for each variant of [`ParamsError`], which already tells the argument's position.
//! Handlers of such methods are registered with [`MethodTable::on_list`], whose argument
//! type is a tuple or sequence; a subscription needs a sink, which belongs into [`CallContext`].

mod context;
mod error;
pub mod go_json;
pub mod j2;
mod params;
mod service;
mod table;
pub mod wire;

pub use context::{BlockingPool, CallContext, DEFAULT_BLOCKING_CALLS};
pub use error::RpcError;
pub use params::{NoArgs, Params, ParamsError};
pub use service::{CallError, Lookup, Method, MethodInfo, Service};
pub use table::MethodTable;
