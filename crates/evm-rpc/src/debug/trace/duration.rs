//! Durations as Go's `time.ParseDuration` reads them, with its texts.

use std::time::Duration;

use esker_primitives::excerpt;
use thiserror::Error;

const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// The reason why a text is no duration, with the text as Go quotes it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum DurationError {
    #[error("time: invalid duration {0}")]
    Invalid(String),
    #[error("time: missing unit in duration {0}")]
    NoUnit(String),
    #[error("time: unknown unit \"{unit}\" in duration {text}")]
    UnknownUnit { unit: String, text: String },
}

/// A duration such as `1m30s`. Negative ones count as zero.
pub(super) fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let shown = || {
        let mut quoted = String::new();
        quoted.push('"');
        for character in text.chars().take(100) {
            match character {
                '"' | '\\' => quoted.extend(['\\', character]),
                '\n' => quoted.push_str("\\n"),
                '\r' => quoted.push_str("\\r"),
                '\t' => quoted.push_str("\\t"),
                // As Go quotes what can't be printed, and what is not ASCII in a duration.
                character if character.is_ascii_control() => {
                    quoted.push_str(&format!("\\x{:02x}", u32::from(character)));
                }
                character if character.is_ascii() => quoted.push(character),
                character => {
                    let mut bytes = [0; 4];
                    for byte in character.encode_utf8(&mut bytes).bytes() {
                        quoted.push_str(&format!("\\x{byte:02x}"));
                    }
                }
            }
        }
        quoted.push('"');
        quoted
    };
    let invalid = || DurationError::Invalid(shown());
    let is_negative = text.starts_with('-');
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let whole = digits(rest);
        let (whole, after) = rest.split_at(whole);
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => after.split_at(digits(after)),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let is_unit = |character: char| character != '.' && !character.is_ascii_digit();
        let end = after.find(|character| !is_unit(character)).unwrap_or(after.len());
        let (unit, next) = after.split_at(end);
        if unit.is_empty() {
            return Err(DurationError::NoUnit(shown()));
        }
        let Some((_, nanos)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            let unit = excerpt(unit).into_owned();
            return Err(DurationError::UnknownUnit { unit, text: shown() });
        };
        let value: u64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| invalid())? };
        let part = value.checked_mul(*nanos).ok_or_else(invalid)?;
        total = total
            .checked_add(part)
            .and_then(|total| total.checked_add(fraction_of(fraction, *nanos)))
            .filter(|total| *total <= i64::MAX as u64 + u64::from(is_negative))
            .ok_or_else(invalid)?;
        rest = next;
    }
    Ok(if is_negative { Duration::ZERO } else { Duration::from_nanos(total) })
}

fn digits(text: &str) -> usize {
    text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len())
}

/// That part of a unit, in nanoseconds.
fn fraction_of(digits: &str, nanos: u64) -> u64 {
    let (mut value, mut scale) = (0_u128, 1_u128);
    // More digits than these do not count: a nanosecond is the least.
    for digit in digits.bytes().take(18) {
        value = value * 10 + u128::from(digit - b'0');
        scale *= 10;
    }
    u64::try_from(value * u128::from(nanos) / scale).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_does() {
        for (text, nanos) in [
            ("0", 0),
            ("5s", 5_000_000_000),
            ("1m30s", 90_000_000_000),
            ("1.5s", 1_500_000_000),
            (".5ms", 500_000),
            ("1.h", 3_600_000_000_000),
            ("+2us", 2_000),
            ("3µs", 3_000),
            ("-1s", 0),
        ] {
            assert_eq!(parse_duration(text), Ok(Duration::from_nanos(nanos)), "{text}");
        }
        for (text, error) in [
            ("", "time: invalid duration \"\""),
            ("x", "time: invalid duration \"x\""),
            (".s", "time: invalid duration \".s\""),
            ("10", "time: missing unit in duration \"10\""),
            ("10x", "time: unknown unit \"x\" in duration \"10x\""),
            ("9223372036854775808ns", "time: invalid duration \"9223372036854775808ns\""),
        ] {
            assert_eq!(parse_duration(text).unwrap_err().to_string(), error, "{text}");
        }
        let long = parse_duration(&format!("5{}", "q".repeat(3000))).unwrap_err().to_string();
        assert!(long.len() < 300, "{long}");
    }
}
