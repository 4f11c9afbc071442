//! Passwords in memory.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use zeroize::Zeroizing;

/// A password in memory: wiped when dropped, never shown.
#[derive(Clone, Default, Deserialize)]
#[serde(from = "String")]
pub struct Password(Zeroizing<String>);

impl JsonSchema for Password {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Password")
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "title": "text", "description": "A password.", "type": "string" })
    }
}

impl Password {
    /// Its text.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl From<String> for Password {
    fn from(text: String) -> Self {
        Self(Zeroizing::new(text))
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        assert_eq!(format!("{:?}", Password::from("hunter2".to_owned())), "Password(..)");
    }
}
