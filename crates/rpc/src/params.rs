//! Arguments of a call, as a dialect hands them to a method.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, IgnoredAny, MapAccess, Visitor},
};

use esker_go_json::Document;

/// The arguments of one call, still as text. A dialect chooses the variant, a method decodes it.
#[derive(Debug, Clone, Copy)]
pub enum Params<'a> {
    /// None were given: every argument has its default.
    Absent,
    /// Arguments by name: one JSON object.
    Named(Document<'a>),
    /// Arguments by position: one JSON array.
    List(Document<'a>),
}

/// The reason why the arguments do not fit the method. Each dialect has its own error texts for this.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParamsError {
    /// The method takes arguments by name and was given a list.
    #[error("expected named parameters, got a list")]
    ExpectedNamed,
    /// The method takes a list of arguments and was given an object.
    #[error("expected a list of parameters, got named ones")]
    ExpectedList,
    /// An argument given by name, or the whole object, does not decode.
    #[error("{0}")]
    Named(String),
    /// The argument at this position (from 0) does not decode.
    #[error("invalid argument {index}: {text}")]
    Argument {
        /// Position from 0.
        index: usize,
        /// The decoder's text.
        text: String,
    },
    /// A required argument at this position (from 0) is not there.
    #[error("missing value for required argument {0}")]
    Missing(usize),
    /// More arguments than the method has.
    #[error("too many arguments, want at most {0}")]
    TooMany(usize),
}

impl<'a> Params<'a> {
    /// The arguments as they were written; empty if none were given.
    pub(crate) fn text(self) -> &'a [u8] {
        match self {
            Self::Absent => &[],
            Self::Named(document) | Self::List(document) => document.as_bytes(),
        }
    }

    /// The same kind of arguments, written in these bytes, which are those of [`Self::text`].
    pub(crate) fn of_text<'t>(self, text: &'t [u8]) -> Params<'t> {
        match self {
            Self::Absent => Params::Absent,
            Self::Named(object) => Params::Named(object.at(text)),
            Self::List(list) => Params::List(list.at(text)),
        }
    }

    /// The same arguments, whose numbers may have any form if they are given by position.
    pub(crate) const fn with_any_number_form(self) -> Self {
        match self {
            Self::List(list) => Self::List(list.with_any_number_form()),
            other => other,
        }
    }

    /// Decodes arguments by name into `P`; absent ones leave `P`'s defaults.
    pub fn named<P: DeserializeOwned>(self) -> Result<P, ParamsError> {
        let object = match self {
            Self::Absent => Document::EMPTY_OBJECT,
            Self::Named(object) => object,
            Self::List(_) => return Err(ParamsError::ExpectedNamed),
        };
        object
            .decode()
            .map_err(|error: esker_go_json::DecodeError| ParamsError::Named(error.to_string()))
    }
}

/// Arguments of a method that takes none: any object is fine, its members are ignored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NoArgs;

crate::schema!(NoArgs, "NoArguments", { "type": "object" });

impl<'de> Deserialize<'de> for NoArgs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Ignore;
        impl<'de> Visitor<'de> for Ignore {
            type Value = NoArgs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<NoArgs, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(NoArgs)
            }
        }
        deserializer.deserialize_struct("NoArgs", &[], Ignore)
    }
}
