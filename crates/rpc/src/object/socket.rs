//! The object dialect over websockets: a request a message, answered as the body of a POST.

use std::sync::Arc;

use esker_go_json::Document;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::handle;
use crate::context::Caller;
use crate::service::{Lookup, Service};
use crate::socket::{SocketAnswer, SocketDialect, SocketSession};

/// How an error begins.
const ERROR: &[u8] = br#"{"jsonrpc":"2.0","error""#;

/// The methods of an endpoint over websockets, without events. Who has some wraps the session's answers.
#[derive(Clone, Debug)]
pub struct ObjectSocket(pub Service);

impl SocketDialect for ObjectSocket {
    fn service(&self) -> &Service {
        &self.0
    }

    fn separator(&self) -> char {
        '.'
    }

    fn connect(&self) -> Arc<dyn SocketSession> {
        Arc::new(self.clone())
    }
}

impl SocketSession for ObjectSocket {
    fn answer<'a>(&'a self, message: &'a [u8], caller: &'a Caller) -> BoxFuture<'a, SocketAnswer> {
        async move {
            let reply = handle(&self.0, "POST", Some("application/json"), message, caller).await;
            let failed = is_error(&reply.body);
            let parts = if reply.body.is_empty() { Vec::new() } else { vec![reply.body] };
            let method = called(&self.0, message);
            SocketAnswer { parts, method, failed, made: Vec::new() }
        }
        .boxed()
    }
}

/// Is a reply of [`handle`] an error?
pub fn is_error(reply: &[u8]) -> bool {
    reply.starts_with(ERROR)
}

/// The method that a request names, for the figures: under its canonical name, and only if there is such a one, so
/// that clients can't make up series.
pub fn called(service: &Service, body: &[u8]) -> Option<(&'static str, &'static str)> {
    let mut name = None;
    let whole = Document::first_with_members(body, |member, value| {
        if member.is("method") {
            name = value.as_str();
        }
    });
    let name = whole.ok().and(name)?;
    let (namespace, name) = name.split_once('.')?;
    match service.find(namespace, name) {
        Lookup::Found(method) => Some((method.info().namespace, method.info().name)),
        Lookup::NoNamespace | Lookup::NoMethod => None,
    }
}
