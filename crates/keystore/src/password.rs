//! The rules for names and passwords.

use esker_primitives::Password;

use crate::error::KeystoreError;

/// Longest name, in characters (docs/decisions.md, "Lengths of names and passwords").
pub const MAX_NAME_CHARS: usize = 1024;

/// Longest password, in characters.
pub const MAX_PASSWORD_CHARS: usize = 1024;

/// Fewest characters of a new password (docs/decisions.md, "Password strength").
const MIN_PASSWORD_CHARS: usize = 8;

/// A name may be any text but the empty one, of at most [`MAX_NAME_CHARS`].
pub fn check_name(name: &str) -> Result<(), KeystoreError> {
    if name.is_empty() {
        Err(KeystoreError::EmptyName)
    } else if is_longer(name, MAX_NAME_CHARS) {
        Err(KeystoreError::LongName)
    } else {
        Ok(())
    }
}

/// The rule for a new password (docs/decisions.md, "Password strength"): at least 8 characters, with upper
/// case, lower case, a digit and a symbol. A symbol is whatever is no letter, no digit and no control
/// character; a space counts.
pub fn check_strength(password: &Password) -> Result<(), KeystoreError> {
    let text = password.text();
    if text.is_empty() {
        return Err(KeystoreError::EmptyPassword);
    }
    if is_longer(text, MAX_PASSWORD_CHARS) {
        return Err(KeystoreError::LongPassword);
    }
    let has = |test: fn(char) -> bool| text.chars().any(test);
    let symbol = |c: char| !c.is_alphanumeric() && !c.is_control();
    let strong = text.chars().nth(MIN_PASSWORD_CHARS - 1).is_some()
        && has(char::is_uppercase)
        && has(char::is_lowercase)
        && has(char::is_numeric)
        && has(symbol);
    if strong { Ok(()) } else { Err(KeystoreError::WeakPassword) }
}

/// Whether a text has more characters than these. Combining characters count by themselves.
fn is_longer(text: &str, chars: usize) -> bool {
    text.chars().nth(chars).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strength(text: &str) -> String {
        check_strength(&text.to_owned().into()).err().map(|e| e.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_password_needs_all_four_kinds_and_eight_characters() {
        for good in
            ["Str0ng-Pass-W0rd!", "Aa1!Aa1!", "0ther_Long?Secret9", "Éé1 ÉÉÉÉ", "pässWÖRD1€"]
        {
            assert_eq!(strength(good), "", "{good}");
        }
        for weak in ["x", "Aa1!Aa1", "AA1!AA1!", "aa1!aa1!", "Aaa!Aaa!", "Aa11Aa11", "password"] {
            assert_eq!(strength(weak), "password is too weak", "{weak}");
        }
        assert_eq!(strength(""), "empty password");
    }

    #[test]
    fn lengths_count_characters() {
        let longest = format!("{}Aa1!", "😀".repeat(1020));
        assert_eq!((longest.chars().count(), strength(&longest).as_str()), (1024, ""));
        for long in [format!("{longest}x"), format!("{longest}😀")] {
            assert_eq!(strength(&long), "password exceeds maximum length of 1024 chars");
        }
        for name in ["😀".repeat(1024), "x".repeat(1024), "é".repeat(1023)] {
            check_name(&name).unwrap();
            let long = check_name(&format!("{name}éx")).unwrap_err();
            assert_eq!(long.to_string(), "username exceeds maximum length of 1024 chars");
        }
        check_name("").unwrap_err();
    }
}
