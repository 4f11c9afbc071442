//! One argument, and the plain types.

use std::borrow::Cow;

use esker_primitives::excerpt;
use schemars::JsonSchema;

use super::{ArgumentError, check_memory};
use crate::document::Document;
use crate::kind::Kind;

/// A type that an argument decodes into.
pub trait Argument: JsonSchema + Sized {
    /// Go's name of the type, as texts show it.
    fn go_type() -> Cow<'static, str>;

    /// Reads a value of any kind.
    fn decode(value: Document<'_>) -> Result<Self, ArgumentError>;

    /// The value of an argument that is not given; `None`: the argument is required.
    fn absent() -> Option<Self> {
        None
    }

    /// Whether documents name the argument as required.
    fn is_required() -> bool {
        Self::absent().is_none()
    }
}

/// Go's pointer: `null` and a missing argument become `None`.
impl<T: Argument> Argument for Option<T> {
    fn go_type() -> Cow<'static, str> {
        T::go_type()
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        if value.kind() == Kind::Null { Ok(None) } else { T::decode(value).map(Some) }
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

/// Go's slice: `null` is an empty one.
impl<T: Argument> Argument for Vec<T> {
    fn go_type() -> Cow<'static, str> {
        Cow::Owned(format!("[]{}", T::go_type()))
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        match value.kind() {
            Kind::Null => Ok(Self::new()),
            Kind::Array => {
                let mut deferred = None;
                let mut list = Self::new();
                for element in value.elements() {
                    // A list that is full doubles, and is there twice meanwhile.
                    let is_full = list.len() == list.capacity();
                    let grows = if is_full { 2 * list.len() * size_of::<T>() } else { 0 };
                    check_memory(grows)?;
                    match T::decode(element) {
                        Ok(element) => list.push(element),
                        Err(error) if error.is_deferred() => {
                            deferred.get_or_insert(error);
                        }
                        Err(error) => return Err(error),
                    }
                }
                deferred.map_or(Ok(list), Err)
            }
            kind => Err(ArgumentError::kind(kind, Self::go_type())),
        }
    }
}

impl Argument for String {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("string")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        match (value.as_str(), value.kind()) {
            (Some(text), _) => Ok(text.into_owned()),
            (None, Kind::Null) => Ok(Self::new()),
            (None, kind) => Err(ArgumentError::kind(kind, Self::go_type())),
        }
    }
}

impl Argument for bool {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("bool")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        match value.kind() {
            Kind::Bool | Kind::Null => Ok(value.as_bytes() == b"true"),
            kind => Err(ArgumentError::kind(kind, Self::go_type())),
        }
    }
}

/// A JSON number, decoded from its literal; `null` is zero.
fn number<T: std::str::FromStr + Default>(
    value: Document<'_>,
    wanted: &'static str,
) -> Result<T, ArgumentError> {
    match value.kind() {
        Kind::Null => Ok(T::default()),
        Kind::Number => {
            let literal = std::str::from_utf8(value.as_bytes()).unwrap_or_default();
            literal.parse().map_err(|_| ArgumentError::Type {
                found: Cow::Owned(format!("number {}", excerpt(literal))),
                wanted: Cow::Borrowed(wanted),
                field: None,
                deferred: true,
            })
        }
        kind => Err(ArgumentError::kind(kind, wanted)),
    }
}

macro_rules! numbers {
    ($($of:ty, $name:literal;)*) => {$(
        impl Argument for $of {
            fn go_type() -> Cow<'static, str> {
                Cow::Borrowed($name)
            }

            fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
                number(value, $name)
            }
        }
    )*};
}

numbers! {
    u64, "uint64";
    i64, "int";
    usize, "uint";
}

impl Argument for f64 {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("float64")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let read: Self = number(value, "float64")?;
        // Go refuses what Rust reads as infinite.
        if read.is_finite() {
            return Ok(read);
        }
        let literal = String::from_utf8_lossy(value.as_bytes());
        Err(ArgumentError::Type {
            found: Cow::Owned(format!("number {}", excerpt(&literal))),
            wanted: Self::go_type(),
            field: None,
            deferred: true,
        })
    }
}

#[cfg(test)]
mod tests {
    use esker_primitives::thread_memory;

    use super::*;

    #[test]
    fn a_list_ends_before_it_takes_too_much() {
        let text = format!("[{}]", vec!["1"; 1000].join(","));
        let list = Document::first(text.as_bytes()).unwrap();
        let (decoded, is_exceeded) = thread_memory::limited(64 * 1024, || Vec::<u64>::decode(list));
        assert!(decoded.is_ok_and(|list| list.len() == 1000) && !is_exceeded);
        // It would double from 512 elements.
        let (decoded, is_exceeded) = thread_memory::limited(8191, || Vec::<u64>::decode(list));
        assert_eq!(decoded, Err(ArgumentError::text("the arguments take too much memory")));
        assert!(is_exceeded);
        let text = format!("[{}]", vec!["null"; 1000].join(","));
        let list = Document::first(text.as_bytes()).unwrap();
        let decode = || list.decode::<Vec<Option<u64>>>();
        assert!(thread_memory::limited(64 * 1024, decode).0.is_ok());
        let (decoded, is_exceeded) = thread_memory::limited(8191, decode);
        assert!(decoded.is_err() && is_exceeded);
    }
}
