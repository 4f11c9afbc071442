//! The expected form of an answer, with all patterns of the recorded exchanges.

use std::collections::BTreeMap;

use regex_lite::Regex;
use serde_json::Value;

/// Values that answers bound to names.
pub(super) type Bindings = BTreeMap<String, Value>;

/// Does an answer match?
pub(super) fn matches(want: &Value, got: &Value, bindings: &mut Bindings) -> bool {
    match (want, got) {
        (Value::String(pattern), _) if pattern.starts_with('$') => {
            let (name, kind) = match pattern[1..].split_once(':') {
                Some((name, kind)) => (name, kind),
                None => return bindings.get(&pattern[1..]) == Some(got),
            };
            let fits = fits(kind, got);
            if fits && !name.is_empty() {
                bindings.insert(name.to_owned(), got.clone());
            }
            fits
        }
        (Value::Object(want), Value::Object(got)) => {
            let open = want.contains_key("...");
            let mut wanted = want.iter().filter(|(name, _)| *name != "...");
            wanted.all(|(name, want)| got.get(name).is_some_and(|got| matches(want, got, bindings)))
                && (open || got.len() == want.len())
        }
        (Value::Array(want), Value::Array(got)) if want.first() == Some(&"$unordered".into()) => {
            let mut rest: Vec<&Value> = got.iter().collect();
            want.len() == got.len() + 1
                && want[1..].iter().all(|want| {
                    let found = rest.iter().position(|got| matches(want, got, bindings));
                    found.map(|at| rest.remove(at)).is_some()
                })
        }
        (Value::Array(want), Value::Array(got)) => {
            let mut pairs = want.iter().zip(got);
            want.len() == got.len() && pairs.all(|(want, got)| matches(want, got, bindings))
        }
        // The wire has one kind of number.
        (Value::Number(want), Value::Number(got)) => want.as_f64() == got.as_f64(),
        (want, got) => want == got,
    }
}

fn fits(kind: &str, value: &Value) -> bool {
    let Some(text) = value.as_str() else { return false };
    let pattern = match kind {
        "str" | "any" => return true,
        "qty" => "0x(0|[1-9a-f][0-9a-f]*)",
        "hash" => "0x[0-9a-f]{64}",
        _ => kind.trim_matches('/'),
    };
    Regex::new(&format!("^(?:{pattern})$")).unwrap().is_match(text)
}
