//! Replies, without what surrounds or ends them.

use crate::error::RpcError;
use esker_go_json::Document;

/// The start of a reply with a result, which is to be appended, and then [`END`].
pub(super) fn start_result(id: Option<Document<'_>>) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    start(id, &mut out);
    out.extend_from_slice(b",\"result\":");
    out
}

/// The byte that closes a reply.
pub(super) const END: u8 = b'}';

/// Appends a reply with an error. An ID that is not known is `null`.
pub(super) fn error(error: &RpcError, id: Option<Document<'_>>, out: &mut Vec<u8>) {
    start(id, out);
    out.extend_from_slice(b",\"error\":{\"code\":");
    out.extend_from_slice(error.code.to_string().as_bytes());
    out.extend_from_slice(b",\"message\":");
    esker_go_json::write_str(&error.message, out);
    if let Some(data) = &error.data {
        out.extend_from_slice(b",\"data\":");
        // It was written by `to_raw_value`, so it has a form.
        let _ = esker_go_json::write(data, out);
    }
    out.extend_from_slice(b"}}");
}

fn start(id: Option<Document<'_>>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    match id {
        Some(id) => id.write_compact(out),
        None => out.extend_from_slice(b"null"),
    }
}
