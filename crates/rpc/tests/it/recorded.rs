//! The recorded exchanges of the reference that concern the envelope, without HTTP.

use esker_rpc::{Caller, object};

use crate::toy;

/// One request of a file, and what is said of its answer.
#[derive(Debug, Default)]
struct Exchange {
    method: Option<String>,
    content_type: Option<Option<String>>,
    body: Vec<u8>,
    expected: Vec<Vec<u8>>,
}

fn exchanges(file: &str) -> Vec<Exchange> {
    let path = format!("{}/../../tests/golden/node/{file}", env!("CARGO_MANIFEST_DIR"));
    let mut exchanges = vec![];
    let mut next = Exchange::default();
    for line in std::fs::read(path).unwrap().split(|byte| *byte == b'\n') {
        let text = String::from_utf8_lossy(line);
        if let Some(method) = text.strip_prefix(":method ") {
            next.method = Some(method.to_owned());
        } else if let Some(value) = text.strip_prefix(":header Content-Type:") {
            let value = value.strip_prefix(' ').unwrap_or_default();
            next.content_type = Some((!value.is_empty()).then(|| value.to_owned()));
        } else if line == b">>" || line.starts_with(b">> ") {
            next.body = line.get(3..).unwrap_or_default().to_vec();
            exchanges.push(std::mem::take(&mut next));
        } else if line.starts_with(b"<")
            && let Some(exchange) = exchanges.last_mut()
        {
            exchange.expected.push(line.to_vec());
        }
    }
    exchanges
}

fn replay(file: &str, wanted: impl Fn(&Exchange) -> bool) -> usize {
    let service = toy::service();
    let (caller, mut replayed) = (Caller::default(), 0);
    for exchange in exchanges(file).into_iter().filter(wanted) {
        let method = exchange.method.as_deref().unwrap_or("POST");
        let json = Some("application/json".to_owned());
        let content_type = exchange.content_type.clone().unwrap_or(json);
        let call =
            object::handle(&service, method, content_type.as_deref(), &exchange.body, &caller);
        let reply = toy::block_on(call);
        let context = format!("{file}: {}", String::from_utf8_lossy(&exchange.body));
        // The server sends no body in answer to HEAD.
        let body = if method == "HEAD" { &[] } else { &reply.body[..] };
        for line in &exchange.expected {
            check(line, reply.status, body, &context);
            check_header(line, "Content-Type", reply.content_type, &context);
            let nosniff = reply.nosniff.then_some("nosniff");
            check_header(line, "X-Content-Type-Options", nosniff, &context);
        }
        replayed += 1;
    }
    replayed
}

fn check(line: &[u8], status: u16, body: &[u8], context: &str) {
    if let Some(expected) = line.strip_prefix(b"<! ") {
        let found = [status.to_string().as_bytes(), b" ", body.trim_ascii_end()].concat();
        // Text bodies may end in a space that counts.
        let found = if status == 415 {
            [status.to_string().as_bytes(), b" ", body].concat()
        } else {
            found
        };
        assert_eq!(String::from_utf8_lossy(&found), String::from_utf8_lossy(expected), "{context}");
        assert!(status != 200 || body.is_empty() || body.ends_with(b"}\n"), "{context}");
    } else if let Some(expected) = line.strip_prefix(b"<<") {
        let value = |text: &[u8]| serde_json::from_slice::<serde_json::Value>(text).ok();
        assert_eq!(status, 200, "{context}");
        assert_eq!(value(body), value(expected), "{context}");
    }
}

fn check_header(line: &[u8], name: &str, found: Option<&str>, context: &str) {
    let line = String::from_utf8_lossy(line);
    let Some(expected) = line.strip_prefix(&format!("<h {name}:")) else { return };
    assert_eq!(found.unwrap_or_default(), expected.trim_start(), "{name} of {context}");
}

#[test]
fn non_calls_match_the_reference() {
    assert_eq!(replay("envelope-errors.io", |_| true), 65);
}

#[test]
fn text_is_written_byte_for_byte() {
    // The others need a chain.
    let is_error = |exchange: &Exchange| {
        let text = b"\"error\"";
        exchange.expected.iter().any(|line| line.windows(text.len()).any(|part| part == text))
    };
    assert_eq!(replay("envelope-text.io", is_error), 23);
}

#[test]
fn http_methods_and_content_types_match_the_reference() {
    assert_eq!(replay("http.io", |_| true), 39);
}
