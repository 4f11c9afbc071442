//! Messages: what a body holds, and what each message is.

use esker_go_json::args::ArgumentError;
use esker_go_json::{Document, Kind, Name, SyntaxError};
use std::borrow::Cow;

use crate::params::Params;

/// The content of a body.
pub(super) enum Incoming<'a> {
    /// No value at all.
    Nothing,
    /// No JSON.
    Broken,
    /// An array: its elements are the messages.
    Batch(Document<'a>),
    /// Anything else.
    Single(Message<'a>),
}

/// Reads the first value of a body; what follows it is not looked at.
pub(super) fn read(body: &[u8]) -> Incoming<'_> {
    let mut message = Message::default();
    let value = Document::first_with_members(body, |name, value| message.member(name, value));
    match value {
        Err(SyntaxError::Eof) => Incoming::Nothing,
        Err(_) => Incoming::Broken,
        Ok(list) if list.kind() == Kind::Array => Incoming::Batch(list),
        Ok(_) => Incoming::Single(message),
    }
}

/// The reference's message structure, as far as it decodes. A member of the wrong type leaves the earlier value;
/// a value that is no object is an empty message.
#[derive(Debug, Default)]
pub(super) struct Message<'a> {
    version: Cow<'a, str>,
    /// `null` is an ID.
    id: Option<Document<'a>>,
    pub(super) method: Cow<'a, str>,
    /// `null` is there.
    params: Option<Document<'a>>,
    has_result: bool,
    has_error: bool,
}

/// The kind of a message, for a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageKind {
    /// Wants an answer.
    Call,
    /// Wants none.
    Notification,
    /// Answers something that was never asked.
    Response,
    /// None of these.
    Invalid,
}

/// The arguments are given, but are no list.
#[derive(Debug)]
pub(super) struct NotAList(String);

impl NotAList {
    /// Go reads the first token before it looks for a list, and a number must fit a float.
    fn found(params: Document<'_>) -> Self {
        match params.overflowing_number(0) {
            Some(literal) => Self(ArgumentError::overflow(literal).to_string()),
            None => Self::default(),
        }
    }

    /// The text for clients.
    pub(super) fn into_text(self) -> String {
        self.0
    }
}

impl Default for NotAList {
    fn default() -> Self {
        Self("non-array args".to_owned())
    }
}

impl<'a> Message<'a> {
    /// An element of a batch.
    pub(super) fn from_document(value: Document<'a>) -> Self {
        match read(value.as_bytes()) {
            Incoming::Single(message) => message,
            Incoming::Nothing | Incoming::Broken | Incoming::Batch(_) => Self::default(),
        }
    }

    fn member(&mut self, name: Name<'a>, value: Document<'a>) {
        let text = name.text();
        // Nearly every client writes the names just so.
        let field = FIELDS.iter().find(|field| text == **field);
        let field = field.or_else(|| FIELDS.iter().find(|field| name.is(field)));
        match field.copied() {
            Some("jsonrpc") => set_text(&mut self.version, value),
            Some("method") => set_text(&mut self.method, value),
            Some("id") => self.id = Some(value),
            Some("params") => self.params = Some(value),
            Some("result") => self.has_result = true,
            Some("error") => self.has_error = value.kind() != Kind::Null,
            _ => {}
        }
    }

    pub(super) fn kind(&self) -> MessageKind {
        let version = self.version == "2.0";
        match (self.valid_id(), self.method.is_empty()) {
            _ if !version => MessageKind::Invalid,
            (Some(_), false) => MessageKind::Call,
            (None, false) if self.id.is_none() => MessageKind::Notification,
            (Some(_), true) if self.params.is_none() && (self.has_result || self.has_error) => {
                MessageKind::Response
            }
            _ => MessageKind::Invalid,
        }
    }

    /// The ID that an answer to the message has; `None` is shown as `null`.
    pub(super) fn answer_id(&self) -> Option<Document<'a>> {
        self.valid_id()
    }

    fn valid_id(&self) -> Option<Document<'a>> {
        self.id.filter(|id| !matches!(id.kind(), Kind::Object | Kind::Array))
    }

    pub(super) fn params(&self) -> Result<Params<'a>, NotAList> {
        match self.params {
            None => Ok(Params::Absent),
            Some(params) => match params.kind() {
                Kind::Null => Ok(Params::Absent),
                Kind::Array => Ok(Params::List(params)),
                Kind::Bool | Kind::Number | Kind::String | Kind::Object => {
                    Err(NotAList::found(params))
                }
            },
        }
    }
}

const FIELDS: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

fn set_text<'a>(field: &mut Cow<'a, str>, value: Document<'a>) {
    if let Some(text) = value.as_str() {
        *field = text;
    }
}
