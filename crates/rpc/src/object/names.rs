//! Method names: which service and method a text names, and how errors show it.

use std::borrow::Cow;

use esker_primitives::go;

use crate::error::RpcError;
use crate::method::Method;
use crate::service::{Lookup, Service};

/// Finds the method that `name` stands for; otherwise the reference's error.
pub(super) fn find<'a>(service: &'a Service, name: &str) -> Result<&'a Method, RpcError> {
    // The reference turns the first letter after the first dot into upper case before it looks for
    // the method, and its errors show that.
    let Some((namespace, method)) = name.split_once('.') else {
        return Err(ill_formed(name));
    };
    let first = method.chars().next();
    if first.is_some_and(is_upper) {
        return Err(RpcError::new("method must start with a non-uppercase letter"));
    }
    if method.contains('.') {
        return Err(ill_formed(&shown(namespace, method)));
    }
    match service.find(namespace, &registered(method, first)) {
        Lookup::Found(found) => Ok(found),
        Lookup::NoMethod => Err(unknown("method", &shown(namespace, method))),
        Lookup::NoNamespace => Err(unknown("service", &shown(namespace, method))),
    }
}

fn ill_formed(name: &str) -> RpcError {
    RpcError::new(format!("rpc: service/method request ill-formed: {}", go::quote(name)))
}

fn unknown(what: &str, name: &str) -> RpcError {
    RpcError::new(format!("rpc: can't find {what} {}", go::quote(name)))
}

fn shown(namespace: &str, method: &str) -> String {
    let mut rest = method.chars();
    match rest.next() {
        Some(first) => format!("{namespace}.{}{}", to_upper(first), rest.as_str()),
        None => format!("{namespace}."),
    }
}

/// The method's name in our tables, which start in lower case. Two letters outside ASCII have an
/// ASCII letter as their upper case, so the reference takes them for it.
fn registered(method: &str, first: Option<char>) -> Cow<'_, str> {
    match first {
        Some(letter @ ('\u{131}' | '\u{17f}')) => {
            let ascii = if letter == '\u{131}' { 'i' } else { 's' };
            Cow::Owned(format!("{ascii}{}", &method[letter.len_utf8()..]))
        }
        _ => Cow::Borrowed(method),
    }
}

/// Go's `unicode.IsUpper`: the general category Lu. Rust's property also has the capital forms of
/// numbers and symbols.
fn is_upper(letter: char) -> bool {
    let symbol = matches!(
        letter,
        '\u{2160}'..='\u{216f}'
            | '\u{24b6}'..='\u{24cf}'
            | '\u{1f130}'..='\u{1f149}'
            | '\u{1f150}'..='\u{1f169}'
            | '\u{1f170}'..='\u{1f189}'
    );
    letter.is_uppercase() && !symbol
}

/// Go's `unicode.ToUpper`: the simple mapping, one character to one.
fn to_upper(letter: char) -> char {
    let mut full = letter.to_uppercase();
    match (full.next(), full.next()) {
        (Some(upper), None) => upper,
        // Several characters: only Greek letters with a subscript iota have a single one as well.
        _ => match letter {
            '\u{1f80}'..='\u{1f87}' | '\u{1f90}'..='\u{1f97}' | '\u{1fa0}'..='\u{1fa7}' => {
                char::from_u32(u32::from(letter) + 8).unwrap_or(letter)
            }
            '\u{1fb3}' | '\u{1fc3}' | '\u{1ff3}' => {
                char::from_u32(u32::from(letter) + 9).unwrap_or(letter)
            }
            _ => letter,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_follow_the_simple_mapping() {
        for (letter, upper) in [
            ('a', 'A'),
            ('é', 'É'),
            ('ÿ', 'Ÿ'),
            ('ß', 'ß'),
            ('ŉ', 'ŉ'),
            ('ı', 'I'),
            ('ſ', 'S'),
            ('ǆ', 'Ǆ'),
            ('ǅ', 'Ǆ'),
            ('ᾳ', 'ᾼ'),
            ('ᾀ', 'ᾈ'),
            ('1', '1'),
            ('日', '日'),
        ] {
            assert_eq!(to_upper(letter), upper, "{letter}");
        }
    }

    #[test]
    fn only_letters_are_upper_case() {
        assert!(['A', 'É', 'Ω', 'Ǆ'].into_iter().all(is_upper));
        assert!(!['a', 'é', '1', 'ǅ', 'Ⓐ', 'Ⅷ', '日', '\u{fffd}'].into_iter().any(is_upper));
    }
}
