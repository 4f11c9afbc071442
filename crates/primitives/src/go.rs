//! Text in the form of Go's standard library, for messages of the reference.

use std::fmt::Write;

use crate::excerpt::{CUT, MAX_QUOTED_CHARS};

/// `strconv.Quote`, the verb `%q` of a string, for errors about clients' texts: only the first [`MAX_QUOTED_CHARS`]
/// characters of a longer text, and `...` after the quotes.
pub fn quote(text: &str) -> String {
    quote_bytes(text.as_bytes())
}

/// [`quote`] of a Go string, which may have any bytes. Bytes that are not UTF-8 become `\xNN`.
pub fn quote_bytes(text: &[u8]) -> String {
    let mut out = String::from('"');
    let mut room = MAX_QUOTED_CHARS;
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            if !take(&mut room) {
                return cut(out);
            }
            escape(&mut out, c, '"');
        }
        for byte in chunk.invalid() {
            if !take(&mut room) {
                return cut(out);
            }
            push(&mut out, format_args!("\\x{byte:02x}"));
        }
    }
    out.push('"');
    out
}

/// [`quote`] without a limit of the length.
pub fn quote_whole(text: &str) -> String {
    let mut out = String::from('"');
    text.chars().for_each(|c| escape(&mut out, c, '"'));
    out.push('"');
    out
}

/// Takes one from the room. Returns whether there was room.
fn take(room: &mut usize) -> bool {
    let taken = room.checked_sub(1);
    *room = taken.unwrap_or_default();
    taken.is_some()
}

fn cut(mut quoted: String) -> String {
    quoted.push('"');
    quoted.push_str(CUT);
    quoted
}

/// `strconv.QuoteRune`, the verb `%q` of a character; also how `encoding/json` quotes a byte (as the character
/// of that number) in its syntax errors.
pub fn quote_char(c: char) -> String {
    let mut out = String::from('\'');
    escape(&mut out, c, '\'');
    out.push('\'');
    out
}

/// The verb `%#U`: `U+0067 'g'`, without the character when it can't be printed.
pub fn unicode(c: char) -> String {
    let mut out = format!("U+{:04X}", u32::from(c));
    if is_print(c) {
        push(&mut out, format_args!(" '{c}'"));
    }
    out
}

/// `strconv.IsPrint`: letters, marks, numbers, punctuation, symbols and the ASCII space.
///
/// Rust's debug escaping of text follows the same rule, so its tables are used. They may be of a newer Unicode
/// version than the reference's, which matters for characters that were unassigned before.
pub fn is_print(c: char) -> bool {
    if c.is_ascii() {
        return c == ' ' || c.is_ascii_graphic();
    }
    // A first character is needed, since a combining mark at the start is escaped.
    let mut buffer = [b'a'; 5];
    let len = c.encode_utf8(&mut buffer[1..]).len();
    let text = str::from_utf8(&buffer[..=len]).expect("one letter and one character");
    text.escape_debug().nth(1) == Some(c)
}

fn escape(out: &mut String, c: char, quote: char) {
    if c == quote || c == '\\' {
        out.push('\\');
        out.push(c);
        return;
    }
    if is_print(c) {
        out.push(c);
        return;
    }
    match c {
        '\x07' => out.push_str("\\a"),
        '\x08' => out.push_str("\\b"),
        '\x0c' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\x0b' => out.push_str("\\v"),
        ..' ' | '\x7f' => push(out, format_args!("\\x{:02x}", u32::from(c))),
        ..='\u{ffff}' => push(out, format_args!("\\u{:04x}", u32::from(c))),
        _ => push(out, format_args!("\\U{:08x}", u32::from(c))),
    }
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to a String does not fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut() {
        let quoted = |length: usize| quote(&"q".repeat(length));
        assert_eq!(quoted(100), format!("\"{}\"", "q".repeat(100)));
        assert_eq!(quoted(101), format!("\"{}\"...", "q".repeat(100)));
        assert_eq!(quote_bytes(&[0xff; 200]), format!("\"{}\"...", "\\xff".repeat(100)));
        assert_eq!(quote(&"\n".repeat(101)), format!("\"{}\"...", "\\n".repeat(100)));
        assert_eq!(quote_whole(&"q".repeat(101)).len(), 103);
    }
}
