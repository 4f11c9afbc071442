//! Requests of JSON-RPC as bytes, and what their replies say.

use bytes::Bytes;
use esker_primitives::excerpt;
use http::StatusCode;
use serde_json::{Value, json};

use super::endpoint::HttpReply;
use super::fault::Fault;

/// What a reply says about each call, in order; `None` if nothing.
pub(super) type Entries = Vec<Option<Result<Value, Fault>>>;

/// The body of a request: an object for one call, else a batch. IDs are positions.
pub(super) fn request_body(calls: &[(&str, &Value)]) -> Bytes {
    let object = |(id, (method, params)): (usize, &(&str, &Value))| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    let mut objects: Vec<Value> = calls.iter().enumerate().map(object).collect();
    let body = match objects.len() {
        1 => objects.remove(0),
        _ => Value::Array(objects),
    };
    body.to_string().into()
}

/// Reads the reply to a number of calls.
///
/// # Errors
/// The reply is a fault of the whole request.
pub(super) fn parse(
    reply: &HttpReply,
    calls: usize,
    redact: impl Fn(&str) -> String,
) -> Result<Entries, Fault> {
    let show = |text: &str| excerpt(&redact(text)).into_owned();
    let value: Option<Value> = serde_json::from_slice(&reply.body).ok();
    let status = reply.status;
    if status == StatusCode::TOO_MANY_REQUESTS {
        let text = value.as_ref().and_then(error_of).map(error_text);
        let text = text.unwrap_or_else(|| String::from_utf8_lossy(&reply.body).into_owned());
        return Err(Fault::RateLimited { text: show(&text), retry_after: reply.retry_after });
    }
    match value {
        Some(Value::Array(entries)) if calls > 1 => Ok(batch(entries, calls, show)),
        Some(value) => match (error_of(&value), value.get("result")) {
            (Some(error), _) => whole_error(Fault::of_error(error, show), calls),
            (None, Some(result)) if calls == 1 && status.is_success() => {
                Ok(vec![Some(Ok(result.clone()))])
            }
            _ => Err(not_json_rpc(reply, show)),
        },
        None => Err(not_json_rpc(reply, show)),
    }
}

/// A batch that gets one error is not accepted as a batch, unless the error is about rates.
fn whole_error(fault: Fault, calls: usize) -> Result<Entries, Fault> {
    match fault {
        limited @ Fault::RateLimited { .. } => Err(limited),
        fault if calls == 1 => Ok(vec![Some(Err(fault))]),
        fault => Err(Fault::BatchRefused(fault.to_string())),
    }
}

fn batch(entries: Vec<Value>, calls: usize, show: impl Fn(&str) -> String) -> Entries {
    let mut found: Entries = (0..calls).map(|_| None).collect();
    for entry in entries {
        let id = entry.get("id").and_then(Value::as_u64).and_then(|id| usize::try_from(id).ok());
        let Some(slot) = id.and_then(|id| found.get_mut(id)) else { continue };
        *slot = match (error_of(&entry), entry.get("result")) {
            (Some(error), _) => Some(Err(Fault::of_error(error, &show))),
            (None, Some(result)) => Some(Ok(result.clone())),
            (None, None) => None,
        };
    }
    found
}

fn error_of(value: &Value) -> Option<&Value> {
    value.get("error").filter(|error| !error.is_null())
}

fn error_text(error: &Value) -> String {
    let message = error.get("message").and_then(Value::as_str);
    message.map_or_else(|| error.to_string(), str::to_owned)
}

/// The fault of a reply that is not JSON-RPC, by its status.
fn not_json_rpc(reply: &HttpReply, show: impl Fn(&str) -> String) -> Fault {
    let text = show(String::from_utf8_lossy(&reply.body).trim());
    let status = reply.status.as_u16();
    match status {
        200..=299 => Fault::Garbage(text),
        401..=403 => Fault::Denied { status, text },
        413 => Fault::BatchRefused(text),
        _ => Fault::Status { status, text },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(status: u16, body: &str, calls: usize) -> Result<Entries, Fault> {
        let status = StatusCode::from_u16(status).unwrap();
        let body = Bytes::copy_from_slice(body.as_bytes());
        parse(&HttpReply { status, retry_after: None, body }, calls, |text| {
            text.replace("KEY", "***")
        })
    }

    #[test]
    fn replies() {
        assert_eq!(read(200, r#"{"id":0,"result":null}"#, 1), Ok(vec![Some(Ok(Value::Null))]));
        let batch =
            r#"[{"id":1,"result":"b"},{"id":0,"error":{"code":1,"message":"KEY"}},{"id":9}]"#;
        let refused = Fault::Refused { code: 1, text: "***".to_owned() };
        let expected = vec![Some(Err(refused)), Some(Ok("b".into())), None];
        assert_eq!(read(200, batch, 3), Ok(expected));
        for body in ["", "<html>", "[]", "{}", "1", "null", r#"{"id":0}"#] {
            assert_eq!(read(200, body, 1), Err(Fault::Garbage(body.to_owned())), "{body}");
        }
        let whole = read(200, r#"{"error":{"code":-32600,"message":"no"}}"#, 2);
        assert!(matches!(whole, Err(Fault::BatchRefused(_))), "{whole:?}");
        assert!(matches!(read(429, "slow", 2), Err(Fault::RateLimited { .. })));
        assert!(matches!(read(403, "KEY", 1), Err(Fault::Denied { status: 403, .. })));
        assert!(matches!(read(502, "x", 1), Err(Fault::Status { status: 502, .. })));
        assert!(matches!(read(413, "x", 2), Err(Fault::BatchRefused(_))));
    }
}
