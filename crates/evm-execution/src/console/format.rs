//! Formats arguments as `util.format` of Node.js does, and with the `%x` and `%e` of Foundry.

use std::slice::Iter;

use alloy_primitives::{U256, hex};

use super::value::Value;

/// Most digits of a fraction that a specifier asks for; `%256e` is `%e`.
const MAX_PLACES: usize = 255;

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
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        out.push_str(before);
        let replaced = Specifier::parse(after).and_then(|(specifier, length)| {
            let text = match specifier {
                Specifier::Percent => "%".to_owned(),
                specifier => formatted(values.next()?, specifier),
            };
            Some((text, length))
        });
        let (text, length) = replaced.unwrap_or_else(|| ("%".to_owned(), 0));
        out.push_str(&text);
        rest = &after[length..];
    }
    out.push_str(rest);
}

/// What follows a `%`.
#[derive(Clone, Copy, Debug)]
enum Specifier {
    /// `%%`
    Percent,
    /// `%s`
    Plain,
    /// `%d`, `%i`
    Number,
    /// `%o`, `%O`
    Quoted,
    /// `%x`
    Hex,
    /// `%c`: style, which no terminal has.
    Style,
    /// `%e`: an exponent of ten.
    Exponent,
    /// `%18e`: a fraction with at most so many digits.
    Fraction(usize),
}

impl Specifier {
    /// The specifier at the start of a text, and its length.
    fn parse(text: &str) -> Option<(Self, usize)> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let specifier = match text.as_bytes().get(digits)? {
            b'e' => match text[..digits].parse() {
                Ok(places @ 0..=MAX_PLACES) => Self::Fraction(places),
                Ok(_) | Err(_) => Self::Exponent,
            },
            _ if digits > 0 => return None,
            b'%' => Self::Percent,
            b's' => Self::Plain,
            b'd' | b'i' => Self::Number,
            b'o' | b'O' => Self::Quoted,
            b'x' => Self::Hex,
            b'c' => Self::Style,
            _ => return None,
        };
        Some((specifier, digits + 1))
    }
}

fn formatted(value: &Value, specifier: Specifier) -> String {
    use Specifier as As;
    match (specifier, value) {
        (As::Style, _) => String::new(),
        (As::Number, Value::Bool(value)) => u8::from(*value).to_string(),
        (As::Quoted, Value::String(_) | Value::Address(_) | Value::Bytes(_)) => {
            format!("'{value}'")
        }
        (As::Hex, Value::Uint(number)) => format!("{number:#x}"),
        (As::Hex, Value::Int(number)) => format!("{:#x}", number.into_raw()),
        (As::Hex, Value::String(bytes)) => hex::encode_prefixed(bytes),
        (As::Exponent | As::Fraction(_), Value::Uint(number)) => scaled(*number, specifier),
        (As::Exponent | As::Fraction(_), Value::Int(number)) => {
            let sign = if number.is_negative() { "-" } else { "" };
            format!("{sign}{}", scaled(number.unsigned_abs(), specifier))
        }
        (_, value) => value.to_string(),
    }
}

/// A number as `1.5e3`, or its part by a power of ten.
fn scaled(number: U256, specifier: Specifier) -> String {
    let digits = number.to_string();
    let (places, end) = match specifier {
        Specifier::Fraction(places) => (places, String::new()),
        _ => (digits.len() - 1, format!("e{}", digits.len() - 1)),
    };
    let padded = format!("{digits:0>width$}", width = places + 1);
    let (whole, fraction) = padded.split_at(padded.len() - places);
    match fraction.trim_end_matches('0') {
        "" => format!("{whole}{end}"),
        fraction => format!("{whole}.{fraction}{end}"),
    }
}
