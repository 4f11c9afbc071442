//! The HTTP rules of the dialect: the requests that are refused before their body is read, and the status and headers
//! of an answer.

use super::{Answer, Server};
use crate::context::Caller;

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";

/// Accepted content types.
const ACCEPTED: [&str; 3] = ["application/json", "application/json-rpc", "application/jsonrequest"];

/// The head of a request, as far as the dialect needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestHead<'a> {
    /// The HTTP method.
    pub method: &'a str,
    /// The `Content-Type` header.
    pub content_type: Option<&'a str>,
    /// The body's length in bytes; `None` if the request has no `Content-Length`.
    pub content_length: Option<u64>,
    /// Whether the target has a query that is not empty.
    pub has_query: bool,
}

/// The reply that the HTTP layer sends.
#[derive(Debug, PartialEq, Eq)]
pub struct Reply {
    /// HTTP status: 200, 405, 413, 415 or 429.
    pub status: u16,
    /// The `Content-Type` header; none for the empty probe.
    pub content_type: Option<&'static str>,
    /// Whether `X-Content-Type-Options: nosniff` is set: for texts.
    pub nosniff: bool,
    /// The body, and what figures need of it.
    pub answer: Answer,
}

impl Reply {
    /// The reply to a body with this answer.
    #[must_use]
    pub fn from_answer(answer: Answer) -> Self {
        let status = if answer.retry_after_s.is_some() { 429 } else { 200 };
        Self { status, content_type: Some(JSON), nosniff: false, answer }
    }

    fn text(status: u16, text: String) -> Self {
        let answer = Answer { body: text.into_bytes().into(), ..Answer::default() };
        Self { status, content_type: Some(TEXT), nosniff: true, answer }
    }
}

/// Checks a request before its body is read. A reply is final. `None`: read the body up to the limit and pass it to
/// [`answer`].
#[must_use]
pub fn admit(server: &Server, head: &RequestHead<'_>) -> Option<Reply> {
    // Load balancers probe the reference with an empty GET.
    if head.method == "GET" && head.content_length == Some(0) && !head.has_query {
        let answer = Answer::default();
        return Some(Reply { status: 200, content_type: None, nosniff: false, answer });
    }
    if matches!(head.method, "PUT" | "DELETE") {
        return Some(Reply::text(405, "method not allowed\n".to_owned()));
    }
    if let Some(length) =
        head.content_length.filter(|length| *length > server.limits.body_bytes as u64)
    {
        let limit = server.limits.body_bytes;
        return Some(Reply::text(413, format!("content length too large ({length}>{limit})\n")));
    }
    let content_type = head.content_type.unwrap_or_default();
    if head.method != "OPTIONS" && !is_accepted(content_type) {
        let text = format!("invalid content type, only {JSON} is supported\n");
        return Some(Reply::text(415, text));
    }
    None
}

/// Answers the body of a request that [`admit`] let pass. The caller cuts a body without a declared length at the
/// limit.
pub async fn answer(server: &Server, body: &[u8], caller: &Caller) -> Reply {
    Reply::from_answer(server.answer(body, None, caller).await)
}

fn is_accepted(content_type: &str) -> bool {
    media_type(content_type).is_some_and(|kind| ACCEPTED.contains(&kind.as_str()))
}

/// The media type of a header, in lower case, if its parameters are well-formed: Go's `mime.ParseMediaType`.
fn media_type(header: &str) -> Option<String> {
    let (kind, parameters) = header.find(';').map_or((header, ""), |at| header.split_at(at));
    let kind = kind.to_lowercase();
    let kind = kind.trim();
    // Go also takes a type without a subtype; none of those is accepted here.
    let (main, sub) = kind.split_once('/')?;
    let is_token = |text: &str| !text.is_empty() && token(text) == text.len();
    (is_token(main) && is_token(sub) && well_formed(parameters)).then(|| kind.to_owned())
}

/// Whether these are parameters: `; name=value`, any number of times, none twice with different values, and a
/// semicolon at the end if one likes.
fn well_formed(mut rest: &str) -> bool {
    let mut seen: Vec<(String, String)> = Vec::new();
    loop {
        rest = rest.trim_start();
        if rest.is_empty() || rest.trim_end() == ";" {
            return true;
        }
        let Some((name, value, after)) = parameter(rest) else { return false };
        if seen.iter().any(|(earlier, other)| *earlier == name && *other != value) {
            return false;
        }
        seen.push((name, value));
        rest = after;
    }
}

/// Takes one parameter with its semicolon.
fn parameter(text: &str) -> Option<(String, String, &str)> {
    let text = text.strip_prefix(';')?.trim_start();
    let (name, text) = text.split_at(token(text));
    let text = text.trim_start().strip_prefix('=')?.trim_start();
    let (value, rest) = match text.strip_prefix('"') {
        Some(quoted) => quoted_value(quoted)?,
        None => {
            let (value, rest) = text.split_at(token(text));
            (!value.is_empty()).then(|| (value.to_owned(), rest))?
        }
    };
    (!name.is_empty()).then(|| (name.to_lowercase(), value, rest))
}

/// Takes the rest of a quoted string.
fn quoted_value(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((value, &text[at + 1..])),
            '\r' | '\n' => return None,
            // A backslash before anything else stands for itself.
            '\\' => match letters.next_if(|(_, next)| is_special(*next)) {
                Some((_, escaped)) => value.push(escaped),
                None => value.push('\\'),
            },
            other => value.push(other),
        }
    }
    None
}

/// The length of the token at the start of the text.
fn token(text: &str) -> usize {
    let ends = |letter: char| !letter.is_ascii_graphic() || is_special(letter);
    text.find(ends).unwrap_or(text.len())
}

fn is_special(letter: char) -> bool {
    r#"()<>@,;:\"/[]?="#.contains(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_are_read_as_go_reads_them() {
        for header in [
            "application/json",
            "application/json;",
            "application/json ; ",
            " Application/JSON; charset=utf-8",
            "application/json;charset=utf-16; x=y",
            "application/json; a=\"b;c\\\"\"; a=\"b;c\\\"\"",
            "application/json; a=\"\"",
            "application/json-rpc",
            "application/jsonrequest",
        ] {
            assert!(is_accepted(header), "{header}");
        }
        for header in [
            "",
            "json",
            "application",
            "application/",
            "/json",
            "application/jsonx",
            "application/json x",
            "application/json ; a",
            "application/json; a=",
            "application/json; =a",
            "application/json; a=b c=d",
            "application/json; a=\"b",
            "application/json;; a=b",
            "application/json; a=b; A=c",
            "application/json, text/plain",
        ] {
            assert!(!is_accepted(header), "{header}");
        }
    }
}
