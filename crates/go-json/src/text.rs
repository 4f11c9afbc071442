//! Strings: from their literals, by the rules that replace what is not text, and names that match
//! in any letter case.

use std::borrow::Cow;

/// The first byte from `at` on that ends a plain run of a string literal: a quote, a backslash or
/// a control character; the length of `bytes` if there is none.
pub(super) fn find_special(bytes: &[u8], at: usize) -> usize {
    find_word(
        bytes,
        at,
        |word| zeros(word ^ every(b'"')) | zeros(word ^ every(b'\\')) | below_space(word),
        |byte| matches!(byte, b'"' | b'\\' | 0..0x20),
    )
}

/// The first byte from `at` on that Go escapes in text, or that starts a character which it may
/// escape; the length of `bytes` if there is none.
pub(super) fn find_escaped(bytes: &[u8], at: usize) -> usize {
    find_word(
        bytes,
        at,
        |word| {
            // `<` and `>` differ in one bit.
            zeros((word | every(2)) ^ every(b'>'))
                | zeros(word ^ every(b'&'))
                | zeros(word ^ every(0xe2))
        },
        |byte| matches!(byte, b'<' | b'>' | b'&' | 0xe2),
    )
}

/// Looks at eight bytes at a time. `found_in` sets the high bit of bytes that are looked for. It may
/// set others, but only after a byte that is looked for, so the lowest is right.
fn find_word(
    bytes: &[u8],
    mut at: usize,
    found_in: impl Fn(u64) -> u64,
    is_found: impl Fn(&u8) -> bool,
) -> usize {
    while let Some(chunk) = bytes.get(at..at + 8).and_then(|chunk| chunk.try_into().ok()) {
        let found = found_in(u64::from_le_bytes(chunk));
        if found != 0 {
            return at + (found.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().position(is_found).map_or(bytes.len(), |len| at + len)
}

const fn every(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

const fn zeros(word: u64) -> u64 {
    word.wrapping_sub(every(1)) & !word & every(0x80)
}

const fn below_space(word: u64) -> u64 {
    word.wrapping_sub(every(0x20)) & !word & every(0x80)
}

/// The text of a string literal that the scanner has accepted, given without its quotes.
///
/// A lone surrogate and each byte that is no UTF-8 become U+FFFD.
pub(super) fn unquote(literal: &[u8]) -> Cow<'_, str> {
    if !literal.contains(&b'\\')
        && let Ok(text) = std::str::from_utf8(literal)
    {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(literal.len());
    let mut rest = literal;
    while let Some(plain) = rest.iter().position(|byte| *byte == b'\\') {
        push_lossy(&mut text, &rest[..plain]);
        rest = push_escape(&mut text, &rest[plain + 1..]);
    }
    push_lossy(&mut text, rest);
    Cow::Owned(text)
}

/// Bytes as text, by the rule of [`push_lossy`].
pub(crate) fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(
        |_| {
            let mut text = String::with_capacity(bytes.len());
            push_lossy(&mut text, bytes);
            Cow::Owned(text)
        },
        Cow::Borrowed,
    )
}

/// Appends bytes as text, with U+FFFD for each byte that is no UTF-8: one for every byte, unlike
/// the standard library's one for every broken sequence.
pub(super) fn push_lossy(text: &mut String, mut bytes: &[u8]) {
    loop {
        match std::str::from_utf8(bytes) {
            Ok(valid) => return text.push_str(valid),
            Err(error) => {
                let (valid, broken) = bytes.split_at(error.valid_up_to());
                text.push_str(std::str::from_utf8(valid).expect("valid up to here"));
                text.push(char::REPLACEMENT_CHARACTER);
                bytes = &broken[1..];
            }
        }
    }
}

/// Appends the character of an escape, given from after its backslash; returns what follows it.
fn push_escape<'a>(text: &mut String, escape: &'a [u8]) -> &'a [u8] {
    let Some((code, rest)) = escape.split_first() else { return escape };
    let character = match code {
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return push_unicode_escape(text, rest),
        other => char::from(*other),
    };
    text.push(character);
    rest
}

/// Appends the character of four hex digits or, of a surrogate pair, of twice four with `\u` between;
/// returns what follows.
fn push_unicode_escape<'a>(text: &mut String, digits: &'a [u8]) -> &'a [u8] {
    let Some((first, rest)) = hex4(digits) else { return digits };
    let second = rest.strip_prefix(b"\\u").and_then(hex4);
    if let (0xd800..=0xdbff, Some((low @ 0xdc00..=0xdfff, after))) = (first, second) {
        let code = 0x1_0000 + ((first - 0xd800) << 10) + (low - 0xdc00);
        text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
        return after;
    }
    text.push(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
    rest
}

fn hex4(text: &[u8]) -> Option<(u32, &[u8])> {
    let (digits, rest) = text.split_at_checked(4)?;
    let code = std::str::from_utf8(digits).ok().map(|digits| u32::from_str_radix(digits, 16));
    Some((code?.ok()?, rest))
}

/// Whether a member's name stands for the field `field`, which is ASCII: equal in any letter case.
///
/// Two characters outside ASCII fold to ASCII letters: the Kelvin sign and the long s.
pub(super) fn same_name(name: &str, field: &str) -> bool {
    if name.is_ascii() {
        return name.eq_ignore_ascii_case(field);
    }
    let fold = |character: char| match character {
        '\u{212a}' => 'k',
        '\u{17f}' => 's',
        other => other.to_ascii_lowercase(),
    };
    name.chars().map(fold).eq(field.chars().map(fold))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_bytes_are_found_at_every_place() {
        for special in [b'"', b'\\', 0, 1, 0x1f] {
            for len in 0..40 {
                for place in 0..len {
                    let mut bytes: Vec<u8> = (0..len).map(|at| 0x20 + at as u8 * 5).collect();
                    bytes.iter_mut().for_each(|byte| *byte = (*byte).max(0x5d));
                    bytes[place] = special;
                    for from in 0..=place {
                        assert_eq!(find_special(&bytes, from), place, "{special} in {len}");
                    }
                    assert_eq!(find_special(&bytes, place + 1), len);
                }
            }
        }
        // Bytes next to the special ones, and above 0x7f, are plain.
        let plain = [0x20, 0x21, 0x23, 0x5b, 0x5d, 0x7f, 0x80, 0x9f, 0xa2, 0xdc, 0xff, 0x22 | 0x80];
        assert_eq!(find_special(&plain, 0), plain.len());
    }

    #[test]
    fn escaped_bytes_are_found_at_every_place() {
        for byte in 0..=u8::MAX {
            for place in 0..20 {
                let mut bytes = [b'a'; 20];
                bytes[place] = byte;
                let escaped = [b'<', b'>', b'&', 0xe2].contains(&byte);
                assert_eq!(find_escaped(&bytes, 0), if escaped { place } else { 20 }, "{byte:#x}");
            }
        }
    }

    #[test]
    fn literals_become_text() {
        let check = |literal: &[u8], text: &str| assert_eq!(unquote(literal), text);
        check(b"", "");
        check(b"plain", "plain");
        check(br#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{c}\n\r\t");
        check(br"\u00e9\u0041\u0000", "éA\0");
        check(br"\ud83d\ude00 \uD83D\uDE00", "😀 😀");
        check(br"\ud83d", "\u{fffd}");
        check(br"\ude00\ud83d", "\u{fffd}\u{fffd}");
        check(br"\ud83dx\u0041", "\u{fffd}xA");
        check(br"\ud83d\ud83d\ude00", "\u{fffd}😀");
        check(b"\xff", "\u{fffd}");
        // Each byte of a broken sequence counts.
        check(b"a\xe2\x82b", "a\u{fffd}\u{fffd}b");
        check(b"\xed\xa0\x80", "\u{fffd}\u{fffd}\u{fffd}");
        check(b"\xf0\x9f\x98\x80\\n\xc3", "😀\n\u{fffd}");
    }

    #[test]
    fn names_match_in_any_case() {
        assert!(same_name("JSONRPC", "jsonrpc"));
        assert!(same_name("j\u{17f}onrpc", "jsonrpc"));
        assert!(same_name("\u{212a}ey", "key"));
        assert!(same_name("\u{17f}", "S"));
        assert!(!same_name("é", "e"));
        assert!(!same_name("jsonrpc ", "jsonrpc"));
        assert!(!same_name("json", "jsonrpc"));
    }
}
