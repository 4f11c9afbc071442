//! One entry of an initial state. The reference reads it out of a generic JSON value a second time, so its faults are
//! the method's errors with the decoder's texts, and not "couldn't unmarshal an argument".

use esker_primitives::go;
use serde_json::{Number, Value};

/// A fault of an entry: the texts of Go's decoder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// A number that is none, or too large.
    #[error("strconv.ParseUint: parsing {}: {problem}", go::quote(text))]
    Number {
        /// As given.
        text: String,
        /// `invalid syntax` or `value out of range`.
        problem: &'static str,
    },
    /// The entry as a whole is no object.
    #[error("json: cannot unmarshal {got} into Go value of type avm.{wanted}")]
    Entry {
        /// Kind of JSON value.
        got: &'static str,
        /// The reference's type.
        wanted: &'static str,
    },
    /// A member is of another kind.
    #[error("json: cannot unmarshal {got} into Go struct field {field} of type {wanted}")]
    Member {
        /// Kind of JSON value.
        got: &'static str,
        /// The reference's type and the member.
        field: &'static str,
        /// The member's type.
        wanted: &'static str,
    },
}

/// Members `amount` and `address`.
pub(super) fn holder(entry: &Value) -> Result<(u64, String), EntryError> {
    let members = members(entry, "Holder")?;
    // An error of a number's own decoder ends the reading; a wrong kind is reported after everything was read.
    let amount = match member(&members, "amount") {
        Some(value) => parse_uint(value, u64::MAX)?,
        None => 0,
    };
    let address = string(member(&members, "address"), "Holder.address")?;
    Ok((amount, address))
}

/// Members `threshold`, 1 where it is not given, and `minters`.
pub(super) fn owners(entry: &Value) -> Result<(u32, Vec<String>), EntryError> {
    let members = members(entry, "Owners")?;
    let threshold = match member(&members, "threshold") {
        Some(value) => parse_uint(value, u64::from(u32::MAX))?,
        None => 1,
    };
    let threshold = u32::try_from(threshold).unwrap_or(u32::MAX);
    let Some(minters) = member(&members, "minters") else { return Ok((threshold, Vec::new())) };
    let items = minters.as_array().ok_or(EntryError::Member {
        got: kind(minters),
        field: "Owners.minters",
        wanted: "[]string",
    })?;
    let minters = items.iter().map(|item| string(Some(item), "Owners.minters"));
    let minters = minters.collect::<Result<_, _>>()?;
    Ok((threshold, minters))
}

type Members<'a> = Vec<(&'a str, &'a Value)>;

/// The members in the order in which the reference reads them again: ascending by name. `null` has none.
fn members<'a>(entry: &'a Value, wanted: &'static str) -> Result<Members<'a>, EntryError> {
    if entry.is_null() {
        return Ok(Vec::new());
    }
    let members = entry.as_object().ok_or(EntryError::Entry { got: kind(entry), wanted })?;
    let mut members: Members<'a> =
        members.iter().map(|(name, value)| (name.as_str(), value)).collect();
    members.sort_by_key(|(name, _)| *name);
    Ok(members)
}

/// The last member of that name in any letter case, unless it is `null`.
fn member<'a>(members: &Members<'a>, name: &str) -> Option<&'a Value> {
    let named = |(n, value): &&(&str, &Value)| n.eq_ignore_ascii_case(name) && !value.is_null();
    members.iter().rfind(named).map(|(_, value)| *value)
}

fn string(value: Option<&Value>, field: &'static str) -> Result<String, EntryError> {
    let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(String::new()) };
    let text = value.as_str().map(str::to_owned);
    text.ok_or(EntryError::Member { got: kind(value), field, wanted: "string" })
}

/// A number, or a text of its decimal or `0x` hex digits, exact up to `most`
/// (docs/decisions.md, "Exact genesis amounts").
fn parse_uint(value: &Value, most: u64) -> Result<u64, EntryError> {
    let text = match (value.as_str(), value.as_number()) {
        (Some(text), _) => text.to_owned(),
        (None, Some(number)) => number_text(number),
        (None, None) => value.to_string(),
    };
    let (digits, radix) = match text.strip_prefix("0x") {
        Some(hex) => (hex, 16),
        None => (text.as_str(), 10),
    };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Err(EntryError::Number { text, problem: "invalid syntax" });
    }
    match u64::from_str_radix(digits, radix) {
        Ok(number) if number <= most => Ok(number),
        Ok(_) | Err(_) => Err(EntryError::Number { text, problem: "value out of range" }),
    }
}

/// The text of a number: exact where it is an integer, else as Go writes a float64.
fn number_text(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => go_float(float),
        Some(_) | None => number.to_string(),
    }
}

/// Shortest decimal digits; with an exponent below 1e-6 and from 1e21 on.
fn go_float(float: f64) -> String {
    let size = float.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{float:e}");
        // Rust writes 1e21 and 1e-7, Go 1e+21 and 1e-07, which its JSON encoder shortens to 1e-7 again.
        return match text.split_once('e') {
            Some((digits, power)) if !power.starts_with('-') => format!("{digits}e+{power}"),
            Some(_) | None => text,
        };
    }
    format!("{float}")
}

/// Go's name of a kind of JSON value.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text<T>(result: Result<T, EntryError>) -> String {
        result.err().map(|e| e.to_string()).unwrap_or_default()
    }

    #[test]
    fn amounts() {
        for (value, amount) in [
            (json!(5), 5),
            (json!("5"), 5),
            (json!("005"), 5),
            (json!("0x10"), 16),
            (json!(u64::MAX), u64::MAX),
            (json!(1.0), 1),
            (json!(1e3), 1000),
            (json!(null), 0),
        ] {
            assert_eq!(holder(&json!({ "AMOUNT": value })), Ok((amount, String::new())));
        }
        for (value, problem) in [
            (json!(-1), "parsing \"-1\": invalid syntax"),
            (json!(1.5), "parsing \"1.5\": invalid syntax"),
            (json!(1e21), "parsing \"1e+21\": invalid syntax"),
            (json!(18446744073709551616.0), "parsing \"18446744073709552000\": value out of range"),
            (json!("18446744073709551616"), "parsing \"18446744073709551616\": value out of range"),
            (json!("x"), "parsing \"x\": invalid syntax"),
            (json!(""), "parsing \"\": invalid syntax"),
            (json!(true), "parsing \"true\": invalid syntax"),
        ] {
            assert_eq!(
                text(holder(&json!({ "amount": value }))),
                format!("strconv.ParseUint: {problem}")
            );
        }
    }

    #[test]
    fn kinds() {
        assert_eq!(holder(&Value::Null), Ok((0, String::new())));
        assert_eq!(
            text(holder(&json!(5))),
            "json: cannot unmarshal number into Go value of type avm.Holder"
        );
        assert_eq!(
            text(holder(&json!({ "address": 5 }))),
            "json: cannot unmarshal number into Go struct field Holder.address of type string"
        );
        assert_eq!(
            text(owners(&json!({ "minters": "x" }))),
            "json: cannot unmarshal string into Go struct field Owners.minters of type []string"
        );
        assert_eq!(
            owners(&json!({ "minters": [null, "a"] })),
            Ok((1, vec![String::new(), "a".to_owned()]))
        );
        assert_eq!(
            text(owners(&json!({ "threshold": 4294967296u64 }))),
            "strconv.ParseUint: parsing \"4294967296\": value out of range"
        );
    }
}
