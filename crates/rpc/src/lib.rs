//! JSON-RPC without HTTP: tables of methods, the dialects that carry calls to them, and the forms
//! in which arguments and results appear on the wire.
//!
//! Three layers, each usable alone:
//!
//! - [`esker_go_json`] reads and writes JSON the way Go's `encoding/json` does (error texts, member
//!   names, escapes), because clients compare those bytes. [`wire`] adds the scalars of services.
//! - [`MethodTable`] lists the methods of one namespace over a service type; bound to a service it
//!   becomes a type-erased [`Service`], and several of those merge into one endpoint. This core
//!   knows no dialect: it finds a [`Method`] by namespace and name, hands it [`Params`], and gets
//!   the serialised result or a [`CallError`].
//! - [`object`] is the object dialect (`service.method`, one object of named arguments, no batches):
//!   bytes of a request in, bytes of the reply out.
//! - [`positional`] is the positional dialect (`namespace_method`, a list of arguments that [`args`] decodes,
//!   batches, notifications, subscriptions where the connection has any).
//!
//! [`discover`] describes an endpoint's methods to programs (OpenRPC).
//!
//! [`socket`] is the port over which either dialect is served on websockets.
//!
//! This crate never opens a socket, never reads a header other than those that a dialect's errors are about, never
//! holds a lock while a handler runs, and never lets a handler's panic past [`Method::call`].
//!
//! # How a dialect joins
//!
//! A dialect is a function from request bytes to reply bytes over a `&Service`. It brings its own envelope
//! scan (on [`esker_go_json::Document`]), chooses the variant of [`Params`] for its calls, and has its texts for
//! each variant of [`ParamsError`]; it changes nothing of the core.

pub mod args;
mod call_error;
mod call_notes;
mod context;
pub mod cost;
pub mod discover;
mod error;
mod fallback;
mod method;
mod method_info;
pub mod object;
mod off_thread;
mod params;
pub mod positional;
mod reply_after;
mod result_writer;
mod route;
mod schema;
mod service;
pub mod socket;
mod table;
pub mod wire;
pub mod work;

/// How types describe their JSON, for [`schema!`] and its like.
pub use schemars;

pub use call_error::CallError;
pub use call_notes::{CallNote, CallNotes};
pub use context::{CallContext, Caller};
pub use error::{RpcError, RunAgainAfter};
pub use fallback::{ElsewhereReply, ErrorChange, Fallback, Instead, OtherMethod, Unanswered};
pub use method::{Method, UNTRUSTED_ORIGIN};
pub use method_info::MethodInfo;
pub use off_thread::{WorkRefused, off_thread, off_thread_long, off_thread_restartable};
pub use params::{NoArgs, Params, ParamsError};
pub use reply_after::{ReplyAfter, ReplyWait};
pub use result_writer::ResultWriter;
pub use route::{Dialect, Route};
pub use service::{Lookup, Service};
pub use table::{Check, MethodTable, handler};
