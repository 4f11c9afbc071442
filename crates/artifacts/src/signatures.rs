//! Signatures as people write them: `function transfer(address to, uint256 amount)`.

use crate::item::Item;
use crate::types::{self, RawParam};

/// The kind and the item of a line; `None` if it has another form.
pub(crate) fn parse(line: &str) -> Option<(&str, Item)> {
    let (kind, rest) = line.split_once(' ')?;
    let (name, inputs) = rest.strip_suffix(')')?.split_once('(')?;
    let inputs = types::parse(&params(inputs)?)?;
    Some((kind, Item { name: name.to_owned(), inputs }))
}

fn params(text: &str) -> Option<Vec<RawParam>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    split(text).into_iter().map(param).collect()
}

/// A type with its name: `(address target, bytes data)[] calls`, `address indexed from`.
fn param(text: &str) -> Option<RawParam> {
    let text = text.trim();
    let (ty, components, rest) = match text.strip_prefix('(') {
        None => {
            let (ty, rest) = text.split_once(' ').unwrap_or((text, ""));
            (ty.to_owned(), Vec::new(), rest)
        }
        Some(_) => {
            let end = text.rfind(')')?;
            let (arrays, name) = text[end + 1..].split_once(' ').unwrap_or((&text[end + 1..], ""));
            (format!("tuple{arrays}"), params(&text[1..end])?, name)
        }
    };
    let (indexed, name) = match rest.strip_prefix("indexed") {
        Some(name) => (true, name.trim()),
        None => (false, rest),
    };
    Some(RawParam { name: Some(name.to_owned()), ty, components, indexed })
}

/// The parts between commas that are not in parentheses.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}
