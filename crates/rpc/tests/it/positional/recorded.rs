//! The recorded exchanges of the reference that concern the envelope, without HTTP's outer layers.

use esker_rpc::Caller;
use esker_rpc::positional::http::{self, Reply, RequestHead};
use serde_json::Value;

use super::{block_on, server};

/// One request of a file, and what is said of its answer.
#[derive(Debug, Clone, Default)]
struct Exchange {
    line: usize,
    method: Option<String>,
    path: String,
    content_type: Option<String>,
    content_length: Option<u64>,
    /// It has headers that other layers look at.
    foreign: bool,
    body: String,
    expected: Vec<String>,
}

fn exchanges(file: &str) -> Vec<Exchange> {
    let path = format!("{}/../../tests/golden/c/{file}", env!("CARGO_MANIFEST_DIR"));
    let mut exchanges: Vec<Exchange> = vec![];
    let json = Some("application/json".to_owned());
    let mut next = Exchange { content_type: json.clone(), ..Exchange::default() };
    for (line, text) in std::fs::read_to_string(path).unwrap().lines().enumerate() {
        if let Some(value) = text.strip_prefix(":path ") {
            next.path = value.to_owned();
        } else if let Some(value) = text.strip_prefix(":method ") {
            next.method = Some(value.to_owned());
        } else if let Some(value) = text.strip_prefix(":header Content-Type:") {
            next.content_type = Some(value.trim().to_owned()).filter(|value| !value.is_empty());
        } else if let Some(value) = text.strip_prefix(":header Content-Length: ") {
            next.content_length = value.parse().ok();
        } else if text.starts_with(":header ") {
            next.foreign = true;
        } else if let Some(body) = text.strip_prefix(">>") {
            next.line = line + 1;
            next.body = body.trim_start().to_owned();
            // Settings for one request end with it; the path stays.
            let (path, content_type) = (next.path.clone(), json.clone());
            let after = Exchange { path, content_type, ..Exchange::default() };
            exchanges.push(std::mem::replace(&mut next, after));
        } else if text.starts_with('<')
            && let Some(exchange) = exchanges.last_mut()
        {
            exchange.expected.push(text.to_owned());
        }
    }
    exchanges
}

fn replay(file: &str) -> usize {
    let server = server();
    let mut replayed = 0;
    for exchange in exchanges(file) {
        let (path, query) = exchange.path.split_once('?').unwrap_or((&exchange.path, ""));
        if path != "/ext/bc/C/rpc" || exchange.foreign {
            continue;
        }
        let head = RequestHead {
            method: exchange.method.as_deref().unwrap_or("POST"),
            content_type: exchange.content_type.as_deref(),
            content_length: exchange.content_length.or(Some(exchange.body.len() as u64)),
            has_query: !query.is_empty(),
        };
        let reply = http::admit(&server, &head).unwrap_or_else(|| {
            block_on(http::answer(&server, exchange.body.as_bytes(), &Caller::default()))
        });
        check(&exchange, &reply, &format!("{file}:{} {}", exchange.line, exchange.body));
        replayed += 1;
    }
    replayed
}

fn check(exchange: &Exchange, reply: &Reply, context: &str) {
    // The server sends no body in answer to HEAD.
    let body =
        if exchange.method.as_deref() == Some("HEAD") { &[] } else { &reply.answer.body[..] };
    let body = std::str::from_utf8(body).unwrap();
    for line in &exchange.expected {
        if let Some(text) = line.strip_prefix("<! ") {
            let (status, text) = text.split_once(' ').unwrap();
            assert_eq!(
                (reply.status.to_string().as_str(), body.trim_end()),
                (status, text),
                "{context}"
            );
        } else if let Some(expected) = line.strip_prefix("<<") {
            assert_eq!(reply.status, 200, "{context}");
            match expected.trim() {
                "" => assert_eq!(body, "", "{context}"),
                expected => {
                    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
                    assert_eq!(read(body), read(expected), "{context}");
                }
            }
        } else if let Some(value) = line.strip_prefix("<h Content-Type: ") {
            assert_eq!(reply.content_type, Some(value), "{context}");
        }
    }
}

#[test]
fn envelopes_match() {
    assert_eq!(replay("envelope-messages.io"), 65);
    assert_eq!(replay("envelope-http.io"), 26);
}
