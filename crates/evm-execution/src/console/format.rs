//! Formats arguments as `util.format` of Node.js does, and with the `%x` of Foundry.

use std::slice::Iter;

use alloy_primitives::hex;

use super::value::Value;

/// The text of a message. A string that comes first may have specifiers, which take the arguments after it; what is
/// left follows after spaces.
///
/// A specifier that does not fit shows the value as `%s` does, where the tools print `NaN`.
pub(super) fn text(values: &[Value]) -> String {
    let mut out = String::new();
    let mut rest = values.iter();
    let mut needs_space = false;
    if let Some(format @ Value::String(_)) = values.first() {
        rest.next();
        fill(&format.to_string(), &mut rest, &mut out);
        needs_space = !out.is_empty();
    }
    for value in rest {
        if needs_space {
            out.push(' ');
        }
        out.push_str(&value.to_string());
        needs_space = true;
    }
    out
}

/// Replaces the specifiers of `format`. One for which there is no value stays as it is.
fn fill(format: &str, values: &mut Iter<'_, Value>, out: &mut String) {
    let mut rest = format.chars();
    while let Some(c) = rest.next() {
        let specifier = rest.clone().next().filter(|_| c == '%');
        let replaced = match specifier {
            Some('%') => Some("%".to_owned()),
            Some(specifier @ ('s' | 'd' | 'i' | 'o' | 'O' | 'x' | 'c')) => {
                values.next().map(|value| formatted(value, specifier))
            }
            _ => None,
        };
        match replaced {
            Some(text) => {
                out.push_str(&text);
                rest.next();
            }
            None => out.push(c),
        }
    }
}

fn formatted(value: &Value, specifier: char) -> String {
    match (specifier, value) {
        // Style, which no terminal has.
        ('c', _) => String::new(),
        ('d' | 'i', Value::Bool(value)) => u8::from(*value).to_string(),
        ('o' | 'O', Value::String(_)) => format!("'{value}'"),
        ('x', Value::Uint(number)) => format!("{number:#x}"),
        ('x', Value::Int(number)) => match number.is_negative() {
            true => format!("-{:#x}", number.unsigned_abs()),
            false => format!("{:#x}", number.unsigned_abs()),
        },
        ('x', Value::String(bytes)) => hex::encode_prefixed(bytes),
        (_, value) => value.to_string(),
    }
}
