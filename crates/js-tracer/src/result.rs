//! The JSON of the value that a script's `result` returns.

use rquickjs::{Ctx, Value};

/// Writes objects as JSON.stringify and other values as Go, like the reference. An error without a text is an exception of
/// the engine.
pub(crate) fn encode<'js>(ctx: &Ctx<'js>, value: Value<'js>) -> Result<String, Option<String>> {
    // Go shows no members of the types that represent these values.
    if value.is_undefined() || value.is_null() || value.is_symbol() {
        return Ok("{}".to_owned());
    }
    if let Some(number) = value.as_number()
        && !number.is_finite()
    {
        let name = match number {
            number if number.is_nan() => "NaN",
            number if number > 0.0 => "+Inf",
            _ => "-Inf",
        };
        return Err(Some(format!("json: unsupported value: {name}")));
    }
    let json = ctx.json_stringify(value).map_err(|_| None)?;
    let Some(json) = json else { return Ok("null".to_owned()) };
    let json = json.to_string().map_err(|_| None)?;
    Ok(escape(json))
}

/// Characters that Go escapes everywhere. In JSON they occur in strings only.
fn escape(json: String) -> String {
    const ESCAPED: [char; 5] = ['<', '>', '&', '\u{2028}', '\u{2029}'];
    if !json.contains(ESCAPED) {
        return json;
    }
    let mut escaped = String::with_capacity(json.len() + 64);
    for char in json.chars() {
        match char {
            '<' => escaped.push_str("\\u003c"),
            '>' => escaped.push_str("\\u003e"),
            '&' => escaped.push_str("\\u0026"),
            '\u{2028}' => escaped.push_str("\\u2028"),
            '\u{2029}' => escaped.push_str("\\u2029"),
            char => escaped.push(char),
        }
    }
    escaped
}
