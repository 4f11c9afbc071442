//! Writing JSON byte for byte as Go's encoder does.

use std::io;

use serde::Serialize;
use serde_json::ser::{CharEscape, Formatter};

use super::{scan::is_space, text::find_escaped};

/// The value as JSON text, compact, as Go's encoder writes it: `<`, `>`, `&`, U+2028 and U+2029
/// are escaped, floats have Go's form. Fails only where a `Serialize` implementation does, or for
/// a map whose keys are no strings.
///
/// ```
/// let text = esker_go_json::to_go_vec(&("<é>", 1e21, 0.5))?;
/// assert_eq!(text, "[\"\\u003cé\\u003e\",1e+21,0.5]".as_bytes());
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn to_go_vec(value: &(impl Serialize + ?Sized)) -> Result<Vec<u8>, serde_json::Error> {
    let mut out = Vec::with_capacity(128);
    write(value, &mut out)?;
    Ok(out)
}

/// Appends the value to `out` in the form of [`to_go_vec`]. After an error `out` ends anywhere.
pub fn write(
    value: &(impl Serialize + ?Sized),
    out: &mut Vec<u8>,
) -> Result<(), serde_json::Error> {
    let out = Output(out);
    value.serialize(&mut serde_json::Serializer::with_formatter(out, GoFormatter))
}

/// A piece of this size, in bytes, gets the memory that it needs; for smaller ones the buffer grows by doubling.
const LARGE_PIECE: usize = 64 * 1024;
/// The bytes that follow such a piece.
const AFTER_LARGE_PIECE: usize = 1024;

/// Where text is appended. A long string does not take twice its size.
struct Output<'a>(&'a mut Vec<u8>);

impl io::Write for Output<'_> {
    #[inline]
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.write_all(piece).map(|()| piece.len())
    }

    #[inline]
    fn write_all(&mut self, piece: &[u8]) -> io::Result<()> {
        if piece.len() >= LARGE_PIECE && self.0.capacity() - self.0.len() < piece.len() {
            self.0.reserve_exact(piece.len() + AFTER_LARGE_PIECE);
        }
        self.0.extend_from_slice(piece);
        Ok(())
    }

    #[inline]
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Appends `text` as a JSON string in the form of [`to_go_vec`].
pub fn write_str(text: &str, out: &mut Vec<u8>) {
    write(text, out).expect("a string has a JSON form and memory takes any bytes");
}

/// Appends a valid value without white space between its tokens and with Go's escapes. Bytes that
/// are no UTF-8 stay.
pub(super) fn compact(value: &[u8], out: &mut Vec<u8>) {
    out.reserve(value.len());
    let mut in_string = false;
    let mut rest = value;
    while let Some((&byte, after)) = rest.split_first() {
        let taken = match byte {
            b'\\' if in_string => {
                let pair = &rest[..rest.len().min(2)];
                out.extend_from_slice(pair);
                pair.len()
            }
            _ if !in_string && is_space(byte) => 1,
            _ => {
                in_string ^= byte == b'"';
                match escape_of(rest) {
                    Some((escape, len)) => {
                        out.extend_from_slice(escape);
                        len
                    }
                    None => {
                        out.push(byte);
                        1
                    }
                }
            }
        };
        rest = if taken == 1 { after } else { &rest[taken..] };
    }
}

/// The escape for the start of `text` and the number of bytes it stands for, if Go escapes it.
fn escape_of(text: &[u8]) -> Option<(&'static [u8], usize)> {
    match text {
        [b'<', ..] => Some((b"\\u003c", 1)),
        [b'>', ..] => Some((b"\\u003e", 1)),
        [b'&', ..] => Some((b"\\u0026", 1)),
        [0xe2, 0x80, 0xa8, ..] => Some((b"\\u2028", 3)),
        [0xe2, 0x80, 0xa9, ..] => Some((b"\\u2029", 3)),
        _ => None,
    }
}

struct GoFormatter;

impl Formatter for GoFormatter {
    fn write_string_fragment<W>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()>
    where
        W: ?Sized + io::Write,
    {
        let bytes = fragment.as_bytes();
        let (mut written, mut at) = (0, 0);
        loop {
            at = find_escaped(bytes, at);
            if at == bytes.len() {
                break;
            }
            match escape_of(&bytes[at..]) {
                Some((escape, len)) => {
                    writer.write_all(&bytes[written..at])?;
                    writer.write_all(escape)?;
                    at += len;
                    written = at;
                }
                // Another character that starts with the same byte.
                None => at += 1,
            }
        }
        writer.write_all(&bytes[written..])
    }

    fn write_char_escape<W>(&mut self, writer: &mut W, escape: CharEscape) -> io::Result<()>
    where
        W: ?Sized + io::Write,
    {
        match escape {
            CharEscape::Quote => writer.write_all(b"\\\""),
            CharEscape::ReverseSolidus => writer.write_all(b"\\\\"),
            CharEscape::Solidus => writer.write_all(b"/"),
            CharEscape::Backspace => writer.write_all(b"\\b"),
            CharEscape::FormFeed => writer.write_all(b"\\f"),
            CharEscape::LineFeed => writer.write_all(b"\\n"),
            CharEscape::CarriageReturn => writer.write_all(b"\\r"),
            CharEscape::Tab => writer.write_all(b"\\t"),
            CharEscape::AsciiControl(byte) => write!(writer, "\\u{byte:04x}"),
        }
    }

    fn write_f32<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f32) -> io::Result<()> {
        let exponent = uses_exponent(f64::from(value.abs()), 1e-6_f32.into(), 1e21_f32.into());
        write_float(writer, exponent, &value, &format_args!("{value:e}"))
    }

    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        let exponent = uses_exponent(value.abs(), 1e-6, 1e21);
        write_float(writer, exponent, &value, &format_args!("{value:e}"))
    }

    fn write_raw_fragment<W>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()>
    where
        W: ?Sized + io::Write,
    {
        let mut text = Vec::new();
        compact(fragment.as_bytes(), &mut text);
        writer.write_all(&text)
    }
}

/// Go takes the exponent form outside these bounds, as JavaScript does.
fn uses_exponent(size: f64, below: f64, from: f64) -> bool {
    size != 0.0 && (size < below || size >= from)
}

fn write_float<W: ?Sized + io::Write>(
    writer: &mut W,
    exponent: bool,
    plain: &dyn std::fmt::Display,
    scientific: &dyn std::fmt::Display,
) -> io::Result<()> {
    if !exponent {
        return write!(writer, "{plain}");
    }
    // Both languages write the shortest digits that read back; Go shows the sign of the exponent.
    let text = scientific.to_string();
    match text.split_once('e') {
        Some((digits, power)) if !power.starts_with('-') => write!(writer, "{digits}e+{power}"),
        _ => writer.write_all(text.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compacted(value: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        compact(value, &mut out);
        out
    }

    #[test]
    fn a_long_string_takes_little_more_than_its_size() {
        let long = "x".repeat(1_000_000);
        let text = to_go_vec(&[&long, &long]).unwrap();
        assert_eq!(text.len(), 2 * long.len() + 7);
        assert!(text.capacity() < text.len() + 4 * AFTER_LARGE_PIECE, "{}", text.capacity());
        let some = vec!["<a>"; 50_000];
        assert_eq!(to_go_vec(&some.concat()).unwrap().len(), 50_000 * 13 + 2);
    }

    #[test]
    fn text_has_the_escapes_of_go() {
        let check = |text: &str, json: &str| {
            assert_eq!(String::from_utf8(to_go_vec(text).unwrap()).unwrap(), json);
        };
        check("<b>&amp;</b>", r#""\u003cb\u003e\u0026amp;\u003c/b\u003e""#);
        check("\u{2028}\u{2029}\u{2027}‰€", "\"\\u2028\\u2029\u{2027}‰€\"");
        check(
            "\0\u{1f}\u{7f}\u{8}\u{c}\t\n\r\"\\/",
            "\"\\u0000\\u001f\u{7f}\\b\\f\\t\\n\\r\\\"\\\\/\"",
        );
        check("é日本😀\u{fffd}", "\"é日本😀\u{fffd}\"");
    }

    #[test]
    fn floats_have_the_form_of_go() {
        let check = |value: f64, json: &str| {
            assert_eq!(String::from_utf8(to_go_vec(&value).unwrap()).unwrap(), json);
        };
        check(0.0, "0");
        check(1.0, "1");
        check(-0.5, "-0.5");
        check(100.0, "100");
        check(1e20, "100000000000000000000");
        check(1e21, "1e+21");
        check(1.5e300, "1.5e+300");
        check(0.000_001, "0.000001");
        check(1e-7, "1e-7");
        check(-2.5e-9, "-2.5e-9");
        assert_eq!(to_go_vec(&0.1_f32).unwrap(), b"0.1");
        assert_eq!(to_go_vec(&1e21_f32).unwrap(), b"1e+21");
    }

    #[test]
    fn raw_values_are_compacted_and_escaped() {
        let check = |value: &[u8], json: &[u8]| assert_eq!(compacted(value), json);
        check(b" 1.50 ", b"1.50");
        check(b"{ \"a\" :\t[ 1 ,\r\n2 ] }", br#"{"a":[1,2]}"#);
        check(br#""a b\" c\\" "#, br#""a b\" c\\""#);
        check(br#"["<x>", "&"]"#, br#"["\u003cx\u003e","\u0026"]"#);
        check("\"\u{2028}é\"".as_bytes(), "\"\\u2028é\"".as_bytes());
        check(b"\"\xff \xe2\x80\"", b"\"\xff \xe2\x80\"");
        // Escapes stay as they are.
        check(br#""\u003C\/""#, br#""\u003C\/""#);
    }
}
