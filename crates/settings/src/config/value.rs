//! Types of setting values. Each has one text form (flags, environment, `config show`) and one TOML form.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use esker_primitives::excerpt;
use ipnet::{IpNet, Ipv4Net};
use toml::de::DeValue;

use super::value_error::ValueError;
use crate::logging::{LogFormat, LogLevel};

/// A type of setting values.
pub trait Value: Sized {
    /// The form of the value, for help and documentation: `true or false`.
    const KIND: &'static str;

    /// Whether the flag without a value means `true`.
    const IS_SWITCH: bool = false;

    /// Whether the flag may be given several times, each with entries of the list.
    const IS_REPEATABLE: bool = false;

    /// What separates the entries of a list that is given several times.
    const SEPARATOR: char = ',';

    /// Parses the text form. The caller adds the setting's name to the error.
    fn parse(text: &str) -> Result<Self, ValueError>;

    /// The text form, which `parse` accepts.
    fn text(&self) -> String;

    /// The text form of a TOML value.
    fn text_of_toml(value: &DeValue<'_>) -> Result<String, ValueError> {
        match value {
            DeValue::String(text) => Ok(text.to_string()),
            other => Err(other_type("a string", other)),
        }
    }
}

fn other_type(expected: &'static str, found: &DeValue<'_>) -> ValueError {
    ValueError::Type { expected, found: found.type_str() }
}

impl Value for bool {
    const KIND: &'static str = "true or false";
    const IS_SWITCH: Self = true;

    fn parse(text: &str) -> Result<Self, ValueError> {
        match text {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(ValueError::Form(Self::KIND)),
        }
    }

    fn text(&self) -> String {
        self.to_string()
    }

    fn text_of_toml(value: &DeValue<'_>) -> Result<String, ValueError> {
        match value {
            DeValue::Boolean(b) => Ok(b.to_string()),
            other => Err(other_type("true or false", other)),
        }
    }
}

fn integer_text(value: &DeValue<'_>) -> Result<String, ValueError> {
    match value {
        DeValue::Integer(n) => {
            let n = i128::from_str_radix(n.as_str(), n.radix());
            n.map(|n| n.to_string()).map_err(|_| ValueError::LargeNumber)
        }
        other => Err(other_type("a whole number", other)),
    }
}

macro_rules! whole_number {
    ($($ty:ty),+) => {$(
        impl Value for $ty {
            const KIND: &'static str = "whole number";

            fn parse(text: &str) -> Result<Self, ValueError> {
                let limits =
                    ValueError::Number { least: Self::MIN.into(), most: Self::MAX.into() };
                text.parse().map_err(|_| limits)
            }

            fn text(&self) -> String {
                self.to_string()
            }

            fn text_of_toml(value: &DeValue<'_>) -> Result<String, ValueError> {
                integer_text(value)
            }
        }
    )+};
}

whole_number!(u16, u32, u64);

/// A whole number of at least one, for limits that would refuse everything at zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Positive(pub u64);

impl Value for Positive {
    const KIND: &'static str = "whole number from 1";

    fn parse(text: &str) -> Result<Self, ValueError> {
        match text.parse() {
            Ok(0) | Err(_) => Err(ValueError::Number { least: 1, most: u64::MAX }),
            Ok(n) => Ok(Self(n)),
        }
    }

    fn text(&self) -> String {
        self.0.to_string()
    }

    fn text_of_toml(value: &DeValue<'_>) -> Result<String, ValueError> {
        integer_text(value)
    }
}

impl Positive {
    /// The number as a `usize`.
    pub fn count(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl Value for String {
    const KIND: &'static str = "text";

    fn parse(text: &str) -> Result<Self, ValueError> {
        Ok(text.to_owned())
    }

    fn text(&self) -> String {
        self.clone()
    }
}

/// A path; empty means none.
impl Value for Option<PathBuf> {
    const KIND: &'static str = "path";

    fn parse(text: &str) -> Result<Self, ValueError> {
        Ok((!text.is_empty()).then(|| PathBuf::from(text)))
    }

    fn text(&self) -> String {
        self.as_ref().map(|path| path.display().to_string()).unwrap_or_default()
    }
}

macro_rules! whole_number_or_none {
    ($($ty:ty),+) => {$(
        /// A whole number, or empty for none.
        impl Value for Option<$ty> {
            const KIND: &'static str = <$ty>::KIND;

            fn parse(text: &str) -> Result<Self, ValueError> {
                if text.is_empty() { Ok(None) } else { <$ty>::parse(text).map(Some) }
            }

            fn text(&self) -> String {
                self.map(|n| n.to_string()).unwrap_or_default()
            }

            fn text_of_toml(value: &DeValue<'_>) -> Result<String, ValueError> {
                match value {
                    DeValue::String(text) if text.is_empty() => Ok(String::new()),
                    other => integer_text(other),
                }
            }
        }
    )+};
}

whole_number_or_none!(u16, u64);

/// On, off, or automatic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// The node decides.
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

impl Value for Switch {
    const KIND: &'static str = "true, false or auto";
    const IS_SWITCH: bool = true;

    fn parse(text: &str) -> Result<Self, ValueError> {
        match text {
            "auto" => Ok(Self::Auto),
            "true" => Ok(Self::On),
            "false" => Ok(Self::Off),
            _ => Err(ValueError::Form(Self::KIND)),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Auto => "auto",
            Self::On => "true",
            Self::Off => "false",
        }
        .to_owned()
    }

    fn text_of_toml(value: &DeValue<'_>) -> Result<String, ValueError> {
        match value {
            DeValue::Boolean(b) => Ok(b.to_string()),
            DeValue::String(text) => Ok(text.to_string()),
            other => Err(other_type("true, false or \"auto\"", other)),
        }
    }
}

/// Names separated by commas; in TOML also an array of strings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommaList(pub Vec<String>);

/// Words separated by spaces; in TOML also an array of strings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpaceList(pub Vec<String>);

/// Texts that may hold commas, one a line; in TOML also an array of strings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineList(pub Vec<String>);

/// Paths separated by commas; in TOML also an array of strings. A comma within a path has a backslash before it, as has a
/// backslash before a comma or at the end of a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathList(pub Vec<PathBuf>);

impl PathList {
    /// A path as a part of the list.
    pub fn escape(path: &str) -> String {
        let mut out = String::with_capacity(path.len());
        let mut rest = path.chars().peekable();
        while let Some(next) = rest.next() {
            let is_special =
                next == ',' || next == '\\' && matches!(rest.peek(), None | Some(',' | '\\'));
            if is_special {
                out.push('\\');
            }
            out.push(next);
        }
        out
    }

    /// The paths of a list, without their escapes.
    fn split(text: &str) -> Vec<PathBuf> {
        let (mut paths, mut path) = (Vec::new(), String::new());
        let mut rest = text.chars().peekable();
        while let Some(next) = rest.next() {
            match (next, rest.peek().copied()) {
                ('\\', Some(escaped @ (',' | '\\'))) => {
                    path.push(escaped);
                    rest.next();
                }
                (',', _) => paths.push(std::mem::take(&mut path)),
                _ => path.push(next),
            }
        }
        paths.push(path);
        paths.into_iter().filter(|path| !path.is_empty()).map(PathBuf::from).collect()
    }
}

/// The text form of a TOML array of strings, or of a string.
pub(super) fn list_text(value: &DeValue<'_>, separator: char) -> Result<String, ValueError> {
    let array = match value {
        DeValue::String(text) => return Ok(text.to_string()),
        DeValue::Array(array) => array,
        other => return Err(other_type("a list of strings", other)),
    };
    let mut parts = Vec::with_capacity(array.len());
    for item in array.iter() {
        match item.get_ref() {
            DeValue::String(text) if text.contains(separator) => {
                return Err(ValueError::Separator(separator));
            }
            DeValue::String(text) => parts.push(text.to_string()),
            other => return Err(ValueError::EntryType(other.type_str())),
        }
    }
    Ok(parts.join(&separator.to_string()))
}

impl Value for CommaList {
    const KIND: &'static str = "names separated by commas";

    fn parse(text: &str) -> Result<Self, ValueError> {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        Ok(Self(names.map(str::to_owned).collect()))
    }

    fn text(&self) -> String {
        self.0.join(",")
    }

    fn text_of_toml(value: &DeValue<'_>) -> Result<String, ValueError> {
        list_text(value, ',')
    }
}

impl Value for LineList {
    const KIND: &'static str = "texts, one a line";
    const IS_REPEATABLE: bool = true;
    const SEPARATOR: char = '\n';

    fn parse(text: &str) -> Result<Self, ValueError> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        Ok(Self(lines.map(str::to_owned).collect()))
    }

    fn text(&self) -> String {
        self.0.join("\n")
    }

    fn text_of_toml(value: &DeValue<'_>) -> Result<String, ValueError> {
        list_text(value, Self::SEPARATOR)
    }
}

impl Value for PathList {
    const KIND: &'static str = "paths separated by commas";
    const IS_REPEATABLE: bool = true;

    fn parse(text: &str) -> Result<Self, ValueError> {
        Ok(Self(Self::split(text)))
    }

    fn text(&self) -> String {
        let paths = self.0.iter().map(|path| Self::escape(&path.display().to_string()));
        paths.collect::<Vec<_>>().join(",")
    }

    fn text_of_toml(value: &DeValue<'_>) -> Result<String, ValueError> {
        // A string is a list, an entry of an array one path.
        let DeValue::Array(array) = value else { return list_text(value, ',') };
        let paths = array.iter().map(|item| match item.get_ref() {
            DeValue::String(text) => Ok(Self::escape(text)),
            other => Err(ValueError::EntryType(other.type_str())),
        });
        Ok(paths.collect::<Result<Vec<_>, _>>()?.join(","))
    }
}

/// IP addresses and ranges of them, separated by commas; in TOML also an array of strings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IpRanges(pub Vec<IpNet>);

/// Converts a range of IPv4 addresses within IPv6 (`::ffff:10.0.0.0/104`) to IPv4, the form in which clients'
/// addresses are compared.
fn canonical(range: IpNet) -> IpNet {
    const MAPPED_PREFIX: u8 = 96;
    let IpNet::V6(within) = range else { return range };
    let bare = within.addr().to_ipv4_mapped().zip(within.prefix_len().checked_sub(MAPPED_PREFIX));
    bare.and_then(|(address, length)| Ipv4Net::new(address, length).ok()).map_or(range, IpNet::V4)
}

impl Value for IpRanges {
    const KIND: &'static str = "IP addresses or ranges, separated by commas";

    fn parse(text: &str) -> Result<Self, ValueError> {
        let ranges = CommaList::parse(text)?.0.into_iter().map(|range| {
            let address =
                range.parse::<IpAddr>().map(|address| IpNet::from(address.to_canonical()));
            let range_or_address = address.ok().or_else(|| range.parse().ok().map(canonical));
            range_or_address.ok_or_else(|| ValueError::IpRange(excerpt(&range).into_owned()))
        });
        ranges.collect::<Result<_, _>>().map(Self)
    }

    fn text(&self) -> String {
        let ranges =
            self.0.iter().map(|range| match range.prefix_len() == range.max_prefix_len() {
                true => range.addr().to_string(),
                false => range.to_string(),
            });
        ranges.collect::<Vec<_>>().join(",")
    }

    fn text_of_toml(value: &DeValue<'_>) -> Result<String, ValueError> {
        list_text(value, ',')
    }
}

impl Value for SpaceList {
    const KIND: &'static str = "words separated by spaces";

    fn parse(text: &str) -> Result<Self, ValueError> {
        Ok(Self(text.split_whitespace().map(str::to_owned).collect()))
    }

    fn text(&self) -> String {
        self.0.join(" ")
    }

    fn text_of_toml(value: &DeValue<'_>) -> Result<String, ValueError> {
        list_text(value, ' ')
    }
}

/// Longest duration of a setting: a hundred years, so that sums never overflow.
const MAX_DURATION: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Numbers with units, as in the reference: `30s`, `1m30s`, `500ms`.
impl Value for Duration {
    const KIND: &'static str = "time such as 30s, 2m or 500ms";

    fn parse(text: &str) -> Result<Self, ValueError> {
        let fault = || ValueError::Form("a time such as 30s, 2m or 500ms");
        if text == "0" {
            return Ok(Self::ZERO);
        }
        let (mut rest, mut total) = (text, Self::ZERO);
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(fault)?;
            let unit_end = rest[digits..]
                .find(|c: char| c.is_ascii_digit())
                .map_or(rest.len(), |n| digits + n);
            let number: u64 = rest[..digits].parse().map_err(|_| fault())?;
            let unit_ms: u64 = match &rest[digits..unit_end] {
                "ms" => 1,
                "s" => 1000,
                "m" => 60_000,
                "h" => 3_600_000,
                _ => return Err(fault()),
            };
            let part = number.checked_mul(unit_ms).map(Self::from_millis);
            total = part
                .and_then(|part| total.checked_add(part))
                .filter(|total| *total <= MAX_DURATION)
                .ok_or(ValueError::LongTime)?;
            rest = &rest[unit_end..];
        }
        if text.is_empty() { Err(fault()) } else { Ok(total) }
    }

    fn text(&self) -> String {
        let ms = self.as_millis();
        match ms {
            ms if ms % 1000 != 0 => format!("{ms}ms"),
            ms if ms % 60_000 == 0 && ms > 0 => format!("{}m", ms / 60_000),
            ms => format!("{}s", ms / 1000),
        }
    }

    fn text_of_toml(value: &DeValue<'_>) -> Result<String, ValueError> {
        match value {
            DeValue::String(text) => Ok(text.to_string()),
            DeValue::Integer(_) => Err(ValueError::NoUnit),
            other => Err(other_type("a time such as \"30s\"", other)),
        }
    }
}

/// A time whose unit defaults to seconds, as in other development nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seconds(pub Duration);

impl Value for Seconds {
    const KIND: &'static str = "time such as 2s or 500ms, or a number of seconds";

    fn parse(text: &str) -> Result<Self, ValueError> {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let parsed =
            if is_number { Duration::parse(&format!("{text}s")) } else { Duration::parse(text) };
        parsed.map(Self)
    }

    fn text(&self) -> String {
        self.0.text()
    }

    fn text_of_toml(value: &DeValue<'_>) -> Result<String, ValueError> {
        match value {
            DeValue::Integer(_) => integer_text(value),
            other => Duration::text_of_toml(other),
        }
    }
}

impl Value for LogLevel {
    const KIND: &'static str = "off, fatal, error, warn, info, trace, debug or verbo";

    fn parse(text: &str) -> Result<Self, ValueError> {
        text.parse().map_err(|_| ValueError::Form(Self::KIND))
    }

    fn text(&self) -> String {
        self.name().to_ascii_lowercase()
    }
}

/// A level, or empty for the node's level.
impl Value for Option<LogLevel> {
    const KIND: &'static str = LogLevel::KIND;

    fn parse(text: &str) -> Result<Self, ValueError> {
        if text.is_empty() { Ok(None) } else { LogLevel::parse(text).map(Some) }
    }

    fn text(&self) -> String {
        self.as_ref().map(Value::text).unwrap_or_default()
    }
}

impl Value for LogFormat {
    const KIND: &'static str = "auto, text, colors or json";

    /// `plain` is the reference's word for `text`.
    fn parse(text: &str) -> Result<Self, ValueError> {
        match text {
            "auto" => Ok(Self::Auto),
            "text" | "plain" => Ok(Self::Plain),
            "colors" => Ok(Self::Colors),
            "json" => Ok(Self::Json),
            _ => Err(ValueError::Form(Self::KIND)),
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Auto => "auto",
            Self::Plain => "text",
            Self::Colors => "colors",
            Self::Json => "json",
        }
        .to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip<T: Value + PartialEq + std::fmt::Debug>(text: &str, value: &T) {
        assert_eq!(T::parse(text).as_ref(), Ok(value), "{text}");
        assert_eq!(T::parse(&value.text()).as_ref(), Ok(value), "{text}");
    }

    #[test]
    fn texts() {
        round_trip("true", &true);
        round_trip("65535", &65_535_u16);
        round_trip("a, b,,", &CommaList(vec!["a".into(), "b".into()]));
        round_trip("a: 1,2\n\n b: 3", &LineList(vec!["a: 1,2".into(), "b: 3".into()]));
        let paths = |paths: &[&str]| PathList(paths.iter().map(PathBuf::from).collect());
        round_trip("a, b,,c", &paths(&["a", " b", "c"]));
        round_trip(r"a\,b,c\d,e\\,f\", &paths(&["a,b", r"c\d", r"e\", r"f\"]));
        round_trip(r"\\\,,\x", &paths(&[r"\,", r"\x"]));
        assert_eq!(PathList::escape(r"x\,y\"), r"x\\\,y\\");
        round_trip(" a  b ", &SpaceList(vec!["a".into(), "b".into()]));
        round_trip("auto", &Switch::Auto);
        round_trip("plain", &LogFormat::Plain);
        round_trip("VERBO", &LogLevel::Verbo);
        round_trip("", &None::<PathBuf>);
        assert!(u16::parse("65536").is_err());
        assert!(u16::parse("-1").is_err());
        assert!(Positive::parse("0").is_err());
        assert!(bool::parse("yes").is_err());
        round_trip(
            "::1, 10.0.0.0/8",
            &IpRanges(vec!["::1/128".parse().unwrap(), "10.0.0.0/8".parse().unwrap()]),
        );
        round_trip(
            "::ffff:10.0.0.0/104, ::ffff:10.0.0.1/128",
            &IpRanges(vec!["10.0.0.0/8".parse().unwrap(), "10.0.0.1/32".parse().unwrap()]),
        );
        round_trip("::ffff:0.0.0.0/95", &IpRanges(vec!["::ffff:0.0.0.0/95".parse().unwrap()]));
        for bad in ["10.0.0.0/33", "10.0.0", "proxy.example", "10.0.0.1:80"] {
            assert!(IpRanges::parse(bad).is_err(), "{bad}");
        }
        assert!(LogLevel::parse("loud").is_err());
    }

    #[test]
    fn durations() {
        for (text, ms) in [
            ("30s", 30_000),
            ("1m30s", 90_000),
            ("500ms", 500),
            ("2m", 120_000),
            ("1h", 3_600_000),
            ("0", 0),
            ("0s", 0),
        ] {
            round_trip(text, &Duration::from_millis(ms));
        }
        for (text, ms) in [("1", 1000), ("0", 0), ("90", 90_000), ("500ms", 500), ("1m30s", 90_000)]
        {
            round_trip(text, &Seconds(Duration::from_millis(ms)));
        }
        for bad in ["", "-1", "1.5", "+1", " 1", "99999999999999999999", "1x"] {
            assert!(Seconds::parse(bad).is_err(), "{bad}");
        }
        for bad in ["", "30", "s", "3x", "-1s", "1.5s", "99999999999999999999s", "9999999999h"] {
            assert!(Duration::parse(bad).is_err(), "{bad}");
        }
    }
}
