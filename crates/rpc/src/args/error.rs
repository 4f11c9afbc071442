//! Why an argument does not decode.

use std::{borrow::Cow, fmt};

/// Why an argument does not decode; its text is Go's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArgumentError {
    /// Go's `json.UnmarshalTypeError`: within a struct its text names the field.
    Type {
        /// What was found: a kind of value, or what is wrong with it.
        found: Cow<'static, str>,
        /// Go's name of the type that was wanted.
        wanted: Cow<'static, str>,
        /// The struct and the path to the field in it, joined by dots.
        field: Option<String>,
        /// Whether Go reads on after it and tells it only if nothing worse follows: so for kinds of
        /// values, not for what a type says of its own text.
        deferred: bool,
    },
    /// Any other text of a decoder.
    Text(Cow<'static, str>),
}

impl ArgumentError {
    /// A value of the wrong kind.
    pub fn kind(found: crate::go_json::Kind, wanted: impl Into<Cow<'static, str>>) -> Self {
        let found = Cow::Owned(found.to_string());
        Self::Type { found, wanted: wanted.into(), field: None, deferred: true }
    }

    /// What a type with a decoder of its own says of a value, such as `hex string of odd length`.
    pub fn refused(found: &'static str, wanted: impl Into<Cow<'static, str>>) -> Self {
        Self::Type {
            found: Cow::Borrowed(found),
            wanted: wanted.into(),
            field: None,
            deferred: false,
        }
    }

    /// A text that stands for itself.
    pub fn text(text: impl Into<Cow<'static, str>>) -> Self {
        Self::Text(text.into())
    }

    /// The same error, of a struct's field. A field of an inner struct is told as one of the outer one
    /// if the inner struct has a decoder of its own in Go, so the caller chooses.
    #[must_use]
    pub fn in_field(self, of: &str, name: &str) -> Self {
        match self {
            Self::Type { found, wanted, deferred, .. } => {
                Self::Type { found, wanted, deferred, field: Some(format!("{of}.{name}")) }
            }
            text @ Self::Text(_) => text,
        }
    }

    /// Whether Go reads on after it.
    pub(super) const fn is_deferred(&self) -> bool {
        matches!(self, Self::Type { deferred: true, .. })
    }
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Type { found, wanted, field: None, .. } => {
                write!(f, "json: cannot unmarshal {found} into Go value of type {wanted}")
            }
            Self::Type { found, wanted, field: Some(field), .. } => {
                write!(
                    f,
                    "json: cannot unmarshal {found} into Go struct field {field} of type {wanted}"
                )
            }
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for ArgumentError {}
