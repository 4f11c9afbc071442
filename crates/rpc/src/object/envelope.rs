//! The request's outer object: who is called, with what, and how the answer is labelled.

use std::borrow::Cow;

use esker_go_json::{Document, Kind, Name, SyntaxError};
use esker_primitives::excerpt;
use thiserror::Error;

/// Longest params and ID that the `data` of an error repeats, in bytes as sent.
const MAX_REPEATED_BYTES: usize = 1000;

/// The reference's request structure, decoded by Go's rules from one scan of the body.
#[derive(Debug, Default)]
pub(super) struct Envelope<'a> {
    pub(super) jsonrpc: Cow<'a, str>,
    pub(super) method: Cow<'a, str>,
    /// Absent and `null` are the same.
    pub(super) params: Option<Document<'a>>,
    /// Absent and `null` are the same: a notification.
    pub(super) id: Option<Document<'a>>,
}

/// The reason why a request can't be decoded. The texts are those of Go's package `encoding/json`.
#[derive(Debug, Error)]
pub(super) enum EnvelopeError {
    /// The body is not JSON.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// The value is not an object.
    #[error("json: cannot unmarshal {0} into Go value of type json2.serverRequest")]
    NotAnObject(Kind),
    /// A member is not a string.
    #[error(
        "json: cannot unmarshal {kind} into Go struct field serverRequest.{name} of type string"
    )]
    Member {
        /// The member.
        name: &'static str,
        /// What it is.
        kind: Kind,
    },
}

/// Reads the first value of the body. Besides an error it returns what could be decoded: the other members if one
/// member has the wrong type, nothing if the JSON is broken.
pub(super) fn read(body: &[u8]) -> (Envelope<'_>, Result<(), EnvelopeError>) {
    let mut envelope = Envelope::default();
    // The first of several faults is reported.
    let mut fault = None;
    let document = Document::first_with_members(body, |name, value| {
        if let Err(error) = envelope.member(name, value) {
            fault.get_or_insert(error);
        }
    });
    match document.map(Document::kind) {
        Err(syntax) => (Envelope::default(), Err(syntax.into())),
        // Nothing is decoded from null, which is no fault.
        Ok(Kind::Object | Kind::Null) => (envelope, fault.map_or(Ok(()), Err)),
        Ok(kind) => (envelope, Err(EnvelopeError::NotAnObject(kind))),
    }
}

impl<'a> Envelope<'a> {
    fn member(&mut self, name: Name<'a>, value: Document<'a>) -> Result<(), EnvelopeError> {
        if name.is("jsonrpc") {
            text(&mut self.jsonrpc, "jsonrpc", value)
        } else if name.is("method") {
            text(&mut self.method, "method", value)
        } else {
            let present = (value.kind() != Kind::Null).then_some(value);
            if name.is("params") {
                self.params = present;
            } else if name.is("id") {
                self.id = present;
            }
            Ok(())
        }
    }

    /// Appends the structure as the reference shows it in the `data` of its errors, what is long cut or left out.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"jsonrpc\":");
        esker_go_json::write_str(&excerpt(&self.jsonrpc), out);
        out.extend_from_slice(b",\"method\":");
        esker_go_json::write_str(&excerpt(&self.method), out);
        out.extend_from_slice(b",\"params\":");
        write_or_null(self.params.filter(is_repeated), out);
        out.extend_from_slice(b",\"id\":");
        write_or_null(self.id.filter(is_repeated), out);
        out.push(b'}');
    }
}

/// Whether an error repeats a value of the request.
fn is_repeated(value: &Document<'_>) -> bool {
    value.as_bytes().len() <= MAX_REPEATED_BYTES
}

/// Appends a value compacted and escaped, or `null`.
pub(super) fn write_or_null(value: Option<Document<'_>>, out: &mut Vec<u8>) {
    match value {
        Some(value) => value.write_compact(out),
        None => out.extend_from_slice(b"null"),
    }
}

/// Stores a string; `null` leaves what was there.
fn text<'a>(
    field: &mut Cow<'a, str>,
    name: &'static str,
    value: Document<'a>,
) -> Result<(), EnvelopeError> {
    match (value.as_str(), value.kind()) {
        (Some(text), _) => *field = text,
        (None, Kind::Null) => {}
        (None, kind) => return Err(EnvelopeError::Member { name, kind }),
    }
    Ok(())
}
