//! Passwords as arguments.

use std::borrow::Cow;

use esker_go_json::Document;
use esker_go_json::args::{Argument, ArgumentError};
use esker_primitives::Password;

/// A text that is never shown and is wiped after use.
#[derive(Clone, Debug)]
pub(super) struct PasswordArg(pub(super) Password);

/// One that may be left out. `null` is the empty password.
#[derive(Clone, Debug)]
pub(super) struct GivenPassword(pub(super) Option<Password>);

esker_rpc::schema_as!(PasswordArg, "Password", Password);
esker_rpc::schema_as!(GivenPassword, "Password", Password);

impl Argument for PasswordArg {
    fn go_type() -> Cow<'static, str> {
        String::go_type()
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        String::decode(value).map(|text| Self(text.into()))
    }
}

impl Argument for GivenPassword {
    fn go_type() -> Cow<'static, str> {
        String::go_type()
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        PasswordArg::decode(value).map(|PasswordArg(password)| Self(Some(password)))
    }

    fn absent() -> Option<Self> {
        Some(Self(None))
    }
}
