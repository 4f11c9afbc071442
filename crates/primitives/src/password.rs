//! Passwords in memory.

use std::fmt;

use serde::Deserialize;
use zeroize::Zeroizing;

/// A password in memory: wiped when dropped, never shown.
#[derive(Clone, Default, Deserialize)]
#[serde(from = "String")]
pub struct Password(Zeroizing<String>);

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
