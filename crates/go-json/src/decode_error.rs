//! The reasons why a value does not decode.

use std::fmt;

use serde::de;

use crate::scan::SyntaxError;

/// The reason why a value does not decode into a type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes are no JSON.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// The value is not what the type takes.
    #[error("{0}")]
    Type(String),
}

impl de::Error for DecodeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::Type(message.to_string())
    }
}
