//! Recorded exchanges: their files, and what an answer has to look like. The README beside the
//! files describes the format.

use std::collections::BTreeMap;

use esker_go_json::{Document, Kind};
use serde_json::Value;

/// Values that answers bound to names.
pub(crate) type Bindings = BTreeMap<String, Value>;

/// One request and its answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exchange {
    pub(crate) line: usize,
    pub(crate) body: String,
    /// The answer as text; `None` where another status is expected.
    pub(crate) expected: Option<String>,
    /// Members of the answer that are bound to names.
    pub(crate) lets: Vec<(String, String)>,
}

/// The exchanges of a file of `tests/` that are plain calls of the EVM's endpoint.
pub(crate) fn exchanges(file: &str) -> Vec<Exchange> {
    let path = format!("{}/../../tests/{file}", env!("CARGO_MANIFEST_DIR"));
    let mut exchanges: Vec<Exchange> = Vec::new();
    let (mut path_of, mut lets) = (String::new(), Vec::new());
    for (line, text) in std::fs::read_to_string(path).unwrap().lines().enumerate() {
        if let Some(path) = text.strip_prefix(":path ") {
            path_of = path.to_owned();
        } else if let Some(binding) = text.strip_prefix(":let ") {
            let (name, member) = binding.split_once(' ').unwrap();
            lets.push((name.to_owned(), member.to_owned()));
        } else if let Some(body) = text.strip_prefix(">> ").or_else(|| text.strip_prefix(">? ")) {
            let lets = std::mem::take(&mut lets);
            let exchange = Exchange { line: line + 1, body: body.to_owned(), lets, expected: None };
            exchanges.push(exchange);
        } else if let (Some(expected), Some(last)) = (text.strip_prefix("<<"), exchanges.last_mut())
            && path_of == "/ext/bc/C/rpc"
        {
            last.expected = Some(expected.trim().to_owned());
        }
    }
    exchanges.retain(|exchange| exchange.expected.is_some());
    exchanges
}

/// Puts bound values in the place of `${NAME}`.
pub(crate) fn fill(text: &str, bindings: &Bindings) -> String {
    bindings.iter().fold(text.to_owned(), |text, (name, value)| {
        text.replace(&format!("${{{name}}}"), value.as_str().unwrap_or_default())
    })
}

/// A member of a value, by its path.
pub(crate) fn member<'a>(value: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(value, |value, name| match name.parse::<usize>() {
        Ok(index) if value.is_array() => &value[index],
        _ => &value[name],
    })
}

/// The first difference between what is wanted, with its patterns, and an answer.
pub(crate) fn differs(
    want: &Value,
    got: &Value,
    bindings: &mut Bindings,
    at: &str,
) -> Option<String> {
    let mismatch = || Some(format!("{at}: want {want}, got {got}"));
    match (want, got) {
        (Value::String(pattern), _) if pattern.starts_with('$') => {
            let (name, kind) = match pattern[1..].split_once(':') {
                Some((name, kind)) => (name, Some(kind)),
                None => (&pattern[1..], None),
            };
            let Some(kind) = kind else {
                return if bindings.get(name) == Some(got) { None } else { mismatch() };
            };
            if !fits(kind, got) {
                return mismatch();
            }
            if !name.is_empty() {
                bindings.insert(name.to_owned(), got.clone());
            }
            None
        }
        (Value::Object(want), Value::Object(got)) => {
            for (name, want) in want.iter().filter(|(name, _)| *name != "...") {
                let Some(got) = got.get(name) else { return Some(format!("{at}.{name}: missing")) };
                if let Some(difference) = differs(want, got, bindings, &format!("{at}.{name}")) {
                    return Some(difference);
                }
            }
            let more = got.keys().find(|name| !want.contains_key(*name));
            let more = more.filter(|_| !want.contains_key("..."))?;
            Some(format!("{at}.{more}: unexpected"))
        }
        (Value::Array(want), Value::Array(got)) if want.len() == got.len() => {
            let mut pairs = want.iter().zip(got).enumerate();
            pairs.find_map(|(i, (want, got))| differs(want, got, bindings, &format!("{at}[{i}]")))
        }
        (want, got) if want == got => None,
        _ => mismatch(),
    }
}

fn fits(kind: &str, value: &Value) -> bool {
    let text = value.as_str();
    let hex_digits = |text: &str| text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    match kind {
        "str" | "any" => text.is_some(),
        "qty" => text.and_then(|text| text.strip_prefix("0x")).is_some_and(|digits| {
            hex_digits(digits) && !digits.is_empty() && (digits == "0" || !digits.starts_with('0'))
        }),
        // The fee window and the empty predicate results.
        "/0x[0-9a-f]{160}0{12}/" => text.is_some_and(|text| {
            text.len() == 174
                && text.starts_with("0x")
                && hex_digits(&text[2..])
                && text.ends_with(&"0".repeat(12))
        }),
        other => panic!("unknown kind {other}"),
    }
}

/// The names of all members of a text, in their order.
pub(crate) fn names(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    collect(Document::first(text.as_bytes()).unwrap(), &mut names);
    names
}

fn collect(value: Document<'_>, names: &mut Vec<String>) {
    match value.kind() {
        Kind::Object => {
            let mut members = Vec::new();
            Document::first_with_members(value.as_bytes(), |name, value| {
                members.push((name.text().into_owned(), value));
            })
            .unwrap();
            for (name, value) in members {
                names.push(name);
                collect(value, names);
            }
        }
        Kind::Array => value.elements().for_each(|element| collect(element, names)),
        Kind::Null | Kind::Bool | Kind::Number | Kind::String => {}
    }
}
