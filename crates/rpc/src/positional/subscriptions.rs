//! The calls that begin and end subscriptions. The connection's session keeps the subscriptions.

use super::{
    RpcId,
    errors::{invalid_params, not_a_list},
    message::{Message, NotAList},
};
use crate::args::FromParams;
use crate::context::Caller;
use crate::error::RpcError;
use crate::params::Params;
use esker_go_json::{Document, Kind};

/// Keeps the subscriptions of a connection that can be notified.
///
/// It must not send notifications of a subscription before the reply with its ID: see [`super::Session`].
pub trait Subscriber: Send + Sync {
    /// Begins a subscription and returns its ID; `None`: the namespace has no such kind.
    ///
    /// `namespace` is as the client wrote it: notifications go by the same name. `params` are all
    /// arguments of the call, the kind's name first, so that positions in errors are the client's. Work for the
    /// subscription counts for the `caller`.
    fn subscribe(
        &self,
        namespace: &str,
        kind: &str,
        params: Params<'_>,
        caller: &Caller,
    ) -> Option<Result<String, RpcError>>;

    /// Ends a subscription; false if there is none with this ID.
    fn unsubscribe(&self, id: &str) -> bool;
}

/// Answers `<namespace>_subscribe`.
pub(super) fn subscribe(
    subscriber: Option<&dyn Subscriber>,
    namespace: &str,
    message: &Message<'_>,
    caller: &Caller,
    out: &mut Vec<u8>,
) -> Result<(), RpcError> {
    let Some(subscriber) = subscriber else {
        return Err(RpcError::with_code(RpcError::METHOD_NOT_FOUND, "notifications not supported"));
    };
    let Params::List(list) = message.params().map_err(not_a_list)? else {
        return Err(not_a_list(NotAList::default()));
    };
    let kind = list.first_element().filter(|first| first.kind() == Kind::String);
    let Some(kind) = kind.and_then(Document::as_str) else {
        let text = "expected subscription name as first argument";
        return Err(RpcError::with_code(RpcError::INVALID_PARAMS, text));
    };
    // The namespace ends at the first separator, however many there are.
    let namespace = namespace.split('_').next().unwrap_or_default();
    match subscriber.subscribe(namespace, &kind, Params::List(list), caller) {
        Some(id) => esker_go_json::write_str(&id?, out),
        None => {
            let kind = esker_primitives::go::quote(&kind);
            let namespace = esker_primitives::excerpt(namespace);
            let text = format!("no {kind} subscription in {namespace} namespace");
            return Err(RpcError::with_code(RpcError::METHOD_NOT_FOUND, text));
        }
    }
    Ok(())
}

/// Answers `<namespace>_unsubscribe`, in any namespace.
pub(super) fn unsubscribe(
    subscriber: Option<&dyn Subscriber>,
    message: &Message<'_>,
    out: &mut Vec<u8>,
) -> Result<(), RpcError> {
    let params = message.params().map_err(not_a_list)?;
    let (RpcId(id),) = FromParams::from_params(params).map_err(|error| invalid_params(&error))?;
    if !subscriber.is_some_and(|subscriber| subscriber.unsubscribe(&id)) {
        return Err(RpcError::new("subscription not found"));
    }
    out.extend_from_slice(b"true");
    Ok(())
}
