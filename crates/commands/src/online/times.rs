//! Times and durations as people write them.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, SpanRelativeTo, Timestamp};

use super::{OnlineError, TimeAction};

/// Most characters of a time.
const MAX_CHARS: usize = 100;

/// A change of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// Forward by so many seconds.
    By(u64),
    /// To Unix seconds.
    To(u64),
}

/// Reads the argument of a command that moves the clock; none of the one that shows it.
pub(super) fn parse(action: &TimeAction) -> Result<Option<Move>, OnlineError> {
    let (name, text, parsed) = match action {
        TimeAction::Get => return Ok(None),
        TimeAction::Increase(text) => ("DURATION", text, duration(text).map(Move::By)),
        TimeAction::Set(text) => ("TIME", text, time(text).map(Move::To)),
        TimeAction::Move(text) => ("TIME", text, either(text)),
    };
    let fault = |reason: &str| OnlineError::Argument {
        name,
        text: esker_primitives::excerpt(text).into_owned(),
        reason: reason.to_owned(),
    };
    parsed.map(Some).map_err(fault)
}

fn either(text: &str) -> Result<Move, &'static str> {
    match text.strip_prefix('+') {
        Some(text) => duration(text).map(Move::By),
        None if text.starts_with('-') => {
            Err("the clock moves forward only: +1h, or a time such as 2030-01-01")
        }
        None => time(text).map(Move::To).map_err(
            |_| "expected +1h, +90 (seconds), 2030-01-01, 2030-01-01T12:30:00Z or Unix seconds",
        ),
    }
}

/// `3600`, `1h`, `1h30m`, `2d`: seconds.
fn duration(text: &str) -> Result<u64, &'static str> {
    const EXPECTED: &str = "expected seconds, or a duration such as 90s, 1h30m or 2d";
    let text = text.strip_prefix('+').unwrap_or(text);
    if is_digits(text) {
        return text.parse().map_err(|_| EXPECTED);
    }
    let span: Span = Some(text)
        .filter(|text| text.len() <= MAX_CHARS)
        .and_then(|text| text.parse().ok())
        .ok_or(EXPECTED)?;
    let duration: SignedDuration =
        span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| EXPECTED)?;
    if duration.subsec_nanos() != 0 {
        return Err("the clock moves by whole seconds");
    }
    u64::try_from(duration.as_secs()).map_err(|_| "the clock moves forward only")
}

/// `1900000000`, `2030-01-01`, `2030-01-01T12:30:00`, `2030-01-01T12:30:00+02:00`: Unix seconds; UTC if nothing else is
/// said.
fn time(text: &str) -> Result<u64, &'static str> {
    const EXPECTED: &str =
        "expected Unix seconds, or a time such as 2030-01-01 or 2030-01-01T12:30:00Z";
    if is_digits(text) {
        return text.parse().map_err(|_| EXPECTED);
    }
    let text = Some(text).filter(|text| text.len() <= MAX_CHARS).ok_or(EXPECTED)?;
    let of_utc = |time: DateTime| time.to_zoned(TimeZone::UTC).ok().map(|time| time.timestamp());
    let timestamp: Timestamp = (text.parse::<Timestamp>().ok())
        .or_else(|| text.parse::<DateTime>().ok().and_then(of_utc))
        .or_else(|| {
            text.parse::<Date>().ok().and_then(|date| of_utc(date.to_datetime(Default::default())))
        })
        .ok_or(EXPECTED)?;
    if timestamp.subsec_nanosecond() != 0 {
        return Err("the clock has whole seconds");
    }
    u64::try_from(timestamp.as_second()).map_err(|_| "the clock begins in 1970")
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_times() {
        for (text, expected) in [
            ("+1h", Move::By(3600)),
            ("+3600", Move::By(3600)),
            ("+1h30m", Move::By(5400)),
            ("+2d", Move::By(172_800)),
            ("+1w", Move::By(604_800)),
            ("+90s", Move::By(90)),
            ("4000000000", Move::To(4_000_000_000)),
            ("2030-01-01", Move::To(1_893_456_000)),
            ("2030-01-01T12:30:00", Move::To(1_893_501_000)),
            ("2030-01-01 12:30:00", Move::To(1_893_501_000)),
            ("2030-01-01T12:30:00Z", Move::To(1_893_501_000)),
            ("2030-01-01T14:30:00+02:00", Move::To(1_893_501_000)),
        ] {
            assert_eq!(either(text), Ok(expected), "{text}");
        }
        assert_eq!(duration("1h"), Ok(3600));
        assert_eq!(duration("60"), Ok(60));
        assert_eq!(time("2100-02-28"), Ok(4_107_456_000));
    }

    #[test]
    fn texts_that_are_neither() {
        for text in [
            "",
            "+",
            "-1h",
            "1h",
            "soon",
            "+soon",
            "+1month",
            "+1y",
            "+-1h",
            "+1.5s",
            "+1ms",
            "2030",
            "2030-13-01",
            "1969-12-31",
            "2030-01-01T12:30:00.5Z",
            "99999999999999999999",
            "+99999999999999999999",
            "+1h ago",
        ] {
            // A year alone is Unix seconds.
            assert!(text == "2030" || either(text).is_err(), "{text}");
        }
        assert!(either(&"1".repeat(1000)).is_err() && either(&"+1h".repeat(1000)).is_err());
    }
}
