//! The object dialect: `service.method`, one object of named arguments, no batches.
//!
//! It is the reference's dialect of every endpoint but the EVM's, answered byte for byte: status,
//! texts, which errors a notification gets, and what is escaped. [`handle`] answers a request;
//! [`ObjectSocket`] does so over websockets.
//!
//! ```
//! # use std::sync::Arc;
//! use esker_rpc::handler::quick;
//! use esker_rpc::{Caller, MethodTable, NoArgs, RpcError, object};
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
//! # runtime.block_on(async {
//! let service = MethodTable::new("toy")
//!     .on("ping", quick(|(), _: NoArgs| Ok::<_, RpcError>("pong")))
//!     .bind(Arc::new(()));
//! let body = br#"{"jsonrpc": "2.0", "id": 1.50, "method": "toy.ping"}"#;
//! let caller = Caller::default();
//! let reply = object::handle(&service, "POST", Some("application/json"), body, &caller).await;
//! assert_eq!(reply.body, b"{\"jsonrpc\":\"2.0\",\"result\":\"pong\",\"id\":1.50}\n");
//! # });
//! ```

mod envelope;
mod names;
mod reply;
mod socket;

use esker_go_json::{Document, Kind};
use esker_primitives::excerpt;

use self::envelope::Envelope;
pub use self::reply::{DeprecationNote, ObjectReply};
pub use self::socket::{ObjectSocket, called, is_error};
use crate::call_error::CallError;
use crate::context::{CallContext, Caller};
use crate::cost;
use crate::error::RpcError;
use crate::method::Method;
use crate::params::{Params, ParamsError};
use crate::service::Service;

/// The text for arguments that do not fit, whatever is wrong with them.
pub const INVALID_ARGUMENT: &str = "couldn't unmarshal an argument. Ensure arguments are valid and \
    properly formatted. See documentation for example calls";

/// Answers one request of the object dialect. Any bytes have an answer.
///
/// `http_method` and `content_type` are checked here since their errors are the dialect's, the
/// method first. Dropping the future cancels the call (see [`Method::call`]).
pub async fn handle(
    service: &Service,
    http_method: &str,
    content_type: Option<&str>,
    body: &[u8],
    caller: &Caller,
) -> ObjectReply {
    let refused = |reply| match caller.charge(cost::READ) {
        Ok(()) => reply,
        Err(exceeded) => reply::rate_exceeded(exceeded, None),
    };
    if http_method != "POST" {
        let text = format!("rpc: POST method required, received {}", excerpt(http_method));
        return refused(ObjectReply::text(405, text));
    }
    let content_type = content_type.unwrap_or_default();
    // Parameters do not matter, white space before them does.
    let media_type = content_type.split(';').next().unwrap_or_default();
    if !media_type.eq_ignore_ascii_case("application/json") {
        let media_type = excerpt(media_type);
        let text = format!("rpc: unrecognized Content-Type: {media_type}");
        return refused(ObjectReply::text(415, text));
    }
    match accept(service, body) {
        Ok((method, envelope)) => match caller.charge(method.info().cost) {
            Ok(()) => call(method, &envelope, caller).await,
            Err(exceeded) => reply::rate_exceeded(exceeded, envelope.id),
        },
        Err(reply) => refused(reply),
    }
}

/// Reads the request and finds its method; otherwise the answer.
fn accept<'s, 'b>(
    service: &'s Service,
    body: &'b [u8],
) -> Result<(&'s Method, Envelope<'b>), ObjectReply> {
    let (envelope, decoded) = envelope::read(body);
    let refuse = |code, text: &str| {
        let mut data = Vec::new();
        envelope.write(&mut data);
        reply::error(code, text, Some(&data), envelope.id)
    };
    if let Err(error) = decoded {
        // Answered in any case: it cannot be known whether this was a notification.
        return Err(refuse(RpcError::PARSE, &error.to_string()));
    }
    let found = if envelope.jsonrpc == "2.0" {
        names::find(service, &envelope.method)
            .map_err(|error| reply::rpc_error(&error, envelope.id))
    } else {
        Err(refuse(RpcError::INVALID_REQUEST, "jsonrpc must be 2.0"))
    };
    match found {
        Ok(method) => Ok((method, envelope)),
        Err(_) if envelope.id.is_none() => Err(ObjectReply::empty()),
        Err(error) => Err(error),
    }
}

async fn call(method: &Method, envelope: &Envelope<'_>, caller: &Caller) -> ObjectReply {
    let context = CallContext::for_caller(caller);
    let outcome = match named(envelope.params) {
        Ok(params) => method.call(params, &context, reply::start_result()).await,
        Err(error) => Err(error.into()),
    };
    // The handler ran, or would have, for a notification as well.
    let nosniff = !matches!(outcome, Err(CallError::Params(_)));
    let mut answer = match (outcome, envelope.id) {
        (_, None) => ObjectReply::empty(),
        (Ok(result), Some(id)) => reply::result(result, id),
        (Err(error), id) => reply::rpc_error(&shown(error), id),
    };
    answer.nosniff = nosniff;
    answer.deprecation = method.info().deprecated_since.map(|since| DeprecationNote {
        namespace: method.info().namespace,
        method: method.info().name,
        since,
    });
    answer
}

/// The object of named arguments: the params themselves, or the first element of a list.
fn named(params: Option<Document<'_>>) -> Result<Params<'_>, ParamsError> {
    let object = match params {
        Some(list) if list.kind() == Kind::Array => list.first_element(),
        other => other,
    };
    match object.map(Document::kind) {
        None | Some(Kind::Null) => Ok(Params::Absent),
        Some(Kind::Object) => Ok(object.map_or(Params::Absent, Params::Named)),
        Some(_) => Err(ParamsError::ExpectedNamed),
    }
}

fn shown(error: CallError) -> RpcError {
    match error {
        CallError::Params(_) => RpcError::new(INVALID_ARGUMENT),
        CallError::Handler(error) => error,
        CallError::Panicked | CallError::Busy | CallError::Memory(_) | CallError::CallMemory(_) => {
            RpcError::new(error.to_string())
        }
    }
}
