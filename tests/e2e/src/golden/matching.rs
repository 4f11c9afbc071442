//! Compares a received value with an expected one that holds patterns.

use std::collections::BTreeMap;

use regex_lite::{Captures, Regex};
use serde_json::Value;

/// The values that `:let` and `$NAME:KIND` have bound.
pub type Bound = BTreeMap<String, Value>;

/// Longest excerpt of a value in a message, in bytes.
const EXCERPT: usize = 300;

/// Replaces every `${NAME}` by its bound value.
pub fn fill(text: &str, bound: &Bound) -> String {
    let name = Regex::new(r"\$\{(\w+)\}").expect("a pattern of this file");
    name.replace_all(text, |m: &Captures<'_>| match bound.get(&m[1]) {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => format!("<unbound {}>", &m[1]),
    })
    .into_owned()
}

/// The member of a value at a path such as `result.utxos.0`.
pub fn member<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, part| match value {
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        _ => value.get(part),
    })
}

/// Whether a regular expression matches the whole text; a dot matches line ends too.
pub fn matches_whole(pattern: &str, text: &str) -> Result<bool, String> {
    Regex::new(&format!(r"(?s)\A(?:{pattern})\z"))
        .map(|regex| regex.is_match(text))
        .map_err(|e| format!("pattern {}: {e}", excerpt(pattern)))
}

/// Whether a value is of a kind: a name, or a regular expression between slashes.
pub fn kind_fits(kind: &str, value: &Value) -> Result<bool, String> {
    if let Some(pattern) = kind.strip_prefix('/').and_then(|k| k.strip_suffix('/')) {
        return value.as_str().map_or(Ok(false), |text| matches_whole(pattern, text));
    }
    let text = |pattern: &str| value.as_str().map_or(Ok(false), |v| matches_whole(pattern, v));
    match kind {
        "any" => Ok(true),
        "hash" => text("0x[0-9a-f]{64}"),
        "addr" => text("0x[0-9a-fA-F]{40}"),
        "hex" => text("0x([0-9a-f]{2})*"),
        "qty" => text("0x(0|[1-9a-f][0-9a-f]*)"),
        "dec" => text("0|[1-9][0-9]*"),
        "id" => text("[1-9A-HJ-NP-Za-km-z]{40,60}"),
        "bech32" => text("([XPC]-)?[a-z]+1[02-9ac-hj-np-z]{38}"),
        "nodeid" => text("NodeID-[1-9A-HJ-NP-Za-km-z]+"),
        "time" => text(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}.*"),
        "int" => Ok(value.is_i64() || value.is_u64()),
        "number" => Ok(value.is_number()),
        "bool" => Ok(value.is_boolean()),
        "str" => Ok(value.is_string()),
        "array" => Ok(value.is_array()),
        "object" => Ok(value.is_object()),
        _ => Err(format!("unknown kind {kind:?}")),
    }
}

/// The first difference between an expected value and a received one; `None` if they agree.
pub fn difference(want: &Value, got: &Value, bound: &mut Bound) -> Option<String> {
    differs(want, got, bound, "$")
}

fn differs(want: &Value, got: &Value, bound: &mut Bound, at: &str) -> Option<String> {
    match (want, got) {
        (Value::String(text), _) => match split_pattern(text) {
            Some((name, kind)) => pattern_differs(name, kind, got, bound, at),
            None => plain_differs(&Value::String(fill(text, bound)), got, at),
        },
        (Value::Object(want), Value::Object(got)) => {
            for (key, value) in want.iter().filter(|(key, _)| *key != "...") {
                let Some(received) = got.get(key) else {
                    return Some(format!("{at}.{key}: missing"));
                };
                let wrong = differs(value, received, bound, &format!("{at}.{key}"));
                if wrong.is_some() {
                    return wrong;
                }
            }
            let extra: Vec<&str> =
                got.keys().filter(|k| !want.contains_key(*k)).map(String::as_str).collect();
            (!extra.is_empty() && !want.contains_key("..."))
                .then(|| format!("{at}: unexpected {}", extra.join(", ")))
        }
        (Value::Array(want), Value::Array(got)) => {
            if want.first().is_some_and(|first| first == "$unordered") {
                return set_differs(&want[1..], got, bound, at);
            }
            if want.len() != got.len() {
                return Some(format!("{at}: want {} elements, got {}", want.len(), got.len()));
            }
            want.iter()
                .zip(got)
                .enumerate()
                .find_map(|(i, (w, g))| differs(w, g, bound, &format!("{at}[{i}]")))
        }
        _ => plain_differs(want, got, at),
    }
}

/// Every expected element must match a different received one, and none may be left.
fn set_differs(want: &[Value], got: &[Value], bound: &mut Bound, at: &str) -> Option<String> {
    let mut rest: Vec<&Value> = got.iter().collect();
    for expected in want {
        let fitting = rest
            .iter()
            .position(|received| differs(expected, received, &mut bound.clone(), at).is_none());
        let Some(index) = fitting else {
            return Some(format!("{at}: no element like {}", short(expected)));
        };
        // Matched again, for the names that it binds.
        differs(expected, rest.remove(index), bound, at);
    }
    (!rest.is_empty()).then(|| format!("{at}: {} unexpected elements", rest.len()))
}

fn pattern_differs(
    name: &str,
    kind: Option<&str>,
    got: &Value,
    bound: &mut Bound,
    at: &str,
) -> Option<String> {
    let Some(kind) = kind else {
        return match bound.get(name) {
            Some(want) if want == got => None,
            Some(want) => Some(format!("{at}: want {name} = {}, got {}", short(want), short(got))),
            None => Some(format!("{at}: nothing is bound to {name}")),
        };
    };
    match kind_fits(kind, got) {
        Ok(true) => {
            if !name.is_empty() {
                bound.insert(name.to_owned(), got.clone());
            }
            None
        }
        Ok(false) => Some(format!("{at}: want {}, got {}", excerpt(kind), short(got))),
        Err(why) => Some(format!("{at}: {why}")),
    }
}

fn plain_differs(want: &Value, got: &Value, at: &str) -> Option<String> {
    (want != got).then(|| format!("{at}: want {}, got {}", short(want), short(got)))
}

/// Splits `$NAME`, `$:KIND` and `$NAME:KIND`; `None` for any other text.
fn split_pattern(text: &str) -> Option<(&str, Option<&str>)> {
    let rest = text.strip_prefix('$')?;
    let (name, kind) = match rest.split_once(':') {
        Some((name, kind)) => (name, Some(kind)),
        None => (rest, None),
    };
    let word = name.chars().all(|c| c.is_alphanumeric() || c == '_');
    (word && kind != Some("")).then_some((name, kind))
}

/// A value in JSON, cut if it is long.
pub fn short(value: &Value) -> String {
    excerpt(&value.to_string())
}

/// A text, cut if it is long.
pub fn excerpt(text: &str) -> String {
    let cut = (0..=EXCERPT.min(text.len())).rev().find(|i| text.is_char_boundary(*i));
    match cut {
        Some(end) if end < text.len() => format!("{}...", &text[..end]),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(want: Value, got: Value, ok: bool) {
        let mut bound = Bound::from([("A".to_owned(), json!("x")), ("N".to_owned(), json!(7))]);
        let wrong = difference(&want, &got, &mut bound);
        assert_eq!(wrong.is_none(), ok, "{want} {got}: {wrong:?}");
    }

    #[test]
    fn values() {
        check(json!({"a": 1, "b": [1, 2]}), json!({"b": [1, 2], "a": 1}), true);
        check(json!({"a": 1}), json!({"a": 1, "b": 2}), false);
        check(json!({"a": 1, "...": true}), json!({"a": 1, "b": 2}), true);
        check(json!({"a": 1, "b": 2}), json!({"a": 1}), false);
        check(json!(1), json!("1"), false);
        check(json!(1), json!(1.0), false);
        check(json!(null), json!(null), true);
        check(json!([1]), json!([1, 1]), false);
        check(json!(u64::MAX), json!(u64::MAX), true);
    }

    #[test]
    fn patterns() {
        check(json!("$A"), json!("x"), true);
        check(json!("$N"), json!(7), true);
        check(json!("$N"), json!("7"), false);
        check(json!("$B"), json!("x"), false);
        check(json!("a ${A} ${N}"), json!("a x 7"), true);
        check(json!("$:hex"), json!("0x00"), true);
        check(json!("$:hex"), json!("0x0"), false);
        check(json!("$:int"), json!(5), true);
        check(json!("$:int"), json!(true), false);
        check(json!("$:/a.c/"), json!("a\nc"), true);
        check(json!("$:/a.c/"), json!("abcd"), false);
        check(json!("$:time"), json!("2024-01-02T03:04:05.6Z"), true);
        check(json!("$:nonsense"), json!(1), false);
        check(json!("$ 5"), json!("$ 5"), true);
        check(json!(["$unordered", 1, 2]), json!([2, 1]), true);
        check(json!(["$unordered", 1, 1]), json!([2, 1]), false);
        check(json!(["$unordered", 1]), json!([2, 1]), false);
    }

    #[test]
    fn binding() {
        let mut bound = Bound::new();
        let want = json!({"a": "$X:dec", "b": "$X"});
        assert_eq!(difference(&want, &json!({"a": "5", "b": "5"}), &mut bound), None);
        assert_eq!(bound["X"], "5");
        assert!(difference(&want, &json!({"a": "5", "b": "6"}), &mut bound).is_some());
        let reply = json!({"result": {"utxos": ["u"]}});
        assert_eq!(member(&reply, "result.utxos.0"), Some(&json!("u")));
        assert_eq!(member(&reply, "result.utxos.1"), None);
    }
}
