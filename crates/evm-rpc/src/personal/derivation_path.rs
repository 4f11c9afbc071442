//! Paths of keys in a hardware wallet: `m/44'/60'/0'/0/0`. No wallet here derives any; wrong paths are refused first,
//! as in the reference.

use esker_primitives::excerpt;
use thiserror::Error;

/// The offset of a hardened component.
const HARDENED: u32 = 0x8000_0000;

/// The reason why a text is no path. The texts are the reference's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum PathError {
    #[error(
        "ambiguous path: use 'm/' prefix for absolute paths, or no leading '/' for relative ones"
    )]
    Ambiguous,
    #[error("empty derivation path")]
    Empty,
    #[error("invalid component: {}", excerpt(.0))]
    Component(String),
    #[error("component {} out of allowed {kind}range [0, {most}]", excerpt(.number))]
    Range { number: String, kind: &'static str, most: u32 },
}

/// Checks a path, absolute or relative.
pub(super) fn check(path: &str) -> Result<(), PathError> {
    let mut components = path.split('/').peekable();
    match components.peek().map(|first| first.trim()) {
        None | Some("") => return Err(PathError::Ambiguous),
        Some("m") => {
            components.next();
        }
        Some(_) => {}
    }
    if components.peek().is_none() {
        return Err(PathError::Empty);
    }
    components.try_for_each(check_component)
}

fn check_component(component: &str) -> Result<(), PathError> {
    let component = component.trim();
    let (number, kind, most) = match component.strip_suffix('\'') {
        Some(hardened) => (hardened.trim(), "hardened ", u32::MAX - HARDENED),
        None => (component, "", u32::MAX),
    };
    let invalid = || PathError::Component(number.to_owned());
    let (is_negative, value) = go_integer(number).ok_or_else(invalid)?;
    match value {
        Some(value) if value <= u128::from(most) && (!is_negative || value == 0) => Ok(()),
        Some(value) => {
            let number = format!("{}{value}", if is_negative { "-" } else { "" });
            Err(PathError::Range { number, kind, most })
        }
        None => Err(PathError::Range { number: number.to_owned(), kind, most }),
    }
}

/// An integer as Go's `big.Int.SetString` reads it with base 0: a sign, a prefix, underscores between digits. The value is
/// `None` where it is larger than 128 bits.
fn go_integer(text: &str) -> Option<(bool, Option<u128>)> {
    let (is_negative, bare) = match text.strip_prefix('-') {
        Some(bare) => (true, bare),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = bare.to_ascii_lowercase();
    let (base, digits, has_prefix) = match lower.as_bytes() {
        [b'0', b'x', ..] => (16, &lower[2..], true),
        [b'0', b'b', ..] => (2, &lower[2..], true),
        [b'0', b'o', ..] => (8, &lower[2..], true),
        [b'0', _, ..] => (8, &lower[1..], true),
        _ => (10, lower.as_str(), false),
    };
    // An underscore separates digits, or the prefix from them.
    let digits = if has_prefix { digits.strip_prefix('_').unwrap_or(digits) } else { digits };
    let parts_are_numbers = digits
        .split('_')
        .all(|part| !part.is_empty() && part.chars().all(|digit| digit.is_digit(base)));
    if !parts_are_numbers {
        return None;
    }
    Some((is_negative, u128::from_str_radix(&digits.replace('_', ""), base).ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        let check = |path: &str, expected: &str| {
            let found = check(path).err().map(|error| error.to_string());
            assert_eq!(found.as_deref().unwrap_or(""), expected, "{path:?}");
        };
        for good in [
            "m/44'/60'/0'/0/0",
            "m/44'/60'/0'/128",
            "0",
            "m/2147483692/0x3c'/ 0 ' /0b1",
            " m / 1",
            "m/010/1_0/0x_f",
            "m/-0",
        ] {
            check(good, "");
        }
        let ambiguous = "ambiguous path: use 'm/' prefix for absolute paths, or no leading '/' for relative ones";
        check("", ambiguous);
        check("/44'", ambiguous);
        check("m", "empty derivation path");
        check("m/", "invalid component: ");
        check("x", "invalid component: x");
        check("m/1__0", "invalid component: 1__0");
        check("m/08", "invalid component: 08");
        check("m/4294967296", "component 4294967296 out of allowed range [0, 4294967295]");
        check(
            "m/2147483648'",
            "component 2147483648 out of allowed hardened range [0, 2147483647]",
        );
        check("m/-1'", "component -1 out of allowed hardened range [0, 2147483647]");
    }
}
