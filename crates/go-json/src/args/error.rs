//! The reasons why an argument does not decode.

use std::{borrow::Cow, fmt};

use esker_primitives::thread_memory;

use crate::kind::Kind;

/// The reason why an argument does not decode; its text is Go's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArgumentError {
    /// Go's `json.UnmarshalTypeError`: within a struct its text names the field.
    Type {
        /// The value that was found: its kind, or its fault.
        found: Cow<'static, str>,
        /// Go's name of the type that was wanted.
        wanted: Cow<'static, str>,
        /// The field that it was found in.
        field: Option<FieldPath>,
        /// Whether Go reads on and reports this error only if nothing worse follows. True for a value of the
        /// wrong kind, false for an error of a type's own decoder.
        deferred: bool,
    },
    /// Any other text of a decoder.
    Text(Cow<'static, str>),
}

/// A field of a struct, or of one within it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldPath {
    /// The struct.
    of: String,
    /// The way to the field, joined by dots.
    path: String,
    /// Whether a decoder of the struct's own found it. Then the caller of that decoder adds the struct's name.
    is_own: bool,
}

impl ArgumentError {
    /// A value of the wrong kind.
    pub fn kind(found: Kind, wanted: impl Into<Cow<'static, str>>) -> Self {
        let found = Cow::Owned(found.to_string());
        Self::Type { found, wanted: wanted.into(), field: None, deferred: true }
    }

    /// A number that Go's `float64` does not hold, where any value is taken.
    pub fn overflow(literal: &str) -> Self {
        let found = Cow::Owned(format!("number {}", esker_primitives::excerpt(literal)));
        Self::Type { found, wanted: Cow::Borrowed("float64"), field: None, deferred: true }
    }

    /// The error of a type with a decoder of its own, such as `hex string of odd length`.
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

    /// The same error, of a struct's field. Go names the innermost struct, and the way to the field from the
    /// outermost one.
    #[must_use]
    pub fn in_field(self, of: &str, name: &str) -> Self {
        let Self::Type { found, wanted, deferred, field } = self else { return self };
        let field = match field {
            None => FieldPath { of: of.to_owned(), path: name.to_owned(), is_own: false },
            Some(inner) => FieldPath {
                of: if inner.is_own { of.to_owned() } else { inner.of },
                path: format!("{name}.{}", inner.path),
                is_own: false,
            },
        };
        Self::Type { found, wanted, deferred, field: Some(field) }
    }

    /// The same error, reported by a type that has a decoder of its own in Go. Reading ends with it, and a field of the
    /// type is reported as a field of the struct that contains the type.
    #[must_use]
    pub fn of_own_decoder(self) -> Self {
        let Self::Type { found, wanted, field, .. } = self else { return self };
        let field = field.map(|field| FieldPath { is_own: true, ..field });
        Self::Type { found, wanted, deferred: false, field }
    }

    /// Whether Go reads on after it.
    pub const fn is_deferred(&self) -> bool {
        matches!(self, Self::Type { deferred: true, .. })
    }
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Type { found, wanted, field: None, .. } => {
                write!(f, "json: cannot unmarshal {found} into Go value of type {wanted}")
            }
            Self::Type { found, wanted, field: Some(FieldPath { of, path, .. }), .. } => {
                write!(
                    f,
                    "json: cannot unmarshal {found} into Go struct field {of}.{path} of type {wanted}"
                )
            }
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for ArgumentError {}

/// To be called by a decoder for each part of an argument that may have many: `bytes` is what it is about to take at
/// once, such as a list that grows.
///
/// # Errors
/// Decoding takes more memory than is available. The call is decoded again when there is more.
pub fn check_memory(bytes: usize) -> Result<(), ArgumentError> {
    match thread_memory::is_exceeded_by(bytes) {
        false => Ok(()),
        true => Err(ArgumentError::text("the arguments take too much memory")),
    }
}
