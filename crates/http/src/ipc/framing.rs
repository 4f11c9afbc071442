//! Values of JSON in a stream of bytes that nothing else separates.

use std::io;

use bytes::{Bytes, BytesMut};

/// The bytes that were received and belong to no whole value yet.
#[derive(Debug)]
pub(super) struct Frames {
    bytes: BytesMut,
    /// Most bytes of a value.
    limit: usize,
    /// Bytes of the value that were looked at.
    scanned: usize,
    /// Objects and lists that are open.
    depth: usize,
    is_in_text: bool,
    is_escaped: bool,
}

impl Frames {
    pub(super) fn new(limit: usize) -> Self {
        let bytes = BytesMut::new();
        Self { bytes, limit, scanned: 0, depth: 0, is_in_text: false, is_escaped: false }
    }

    /// Where received bytes are added.
    pub(super) fn buffer(&mut self) -> &mut BytesMut {
        &mut self.bytes
    }

    /// Takes the next whole value: an object, a list, or the rest of a line.
    ///
    /// # Errors
    /// It is too long.
    pub(super) fn take(&mut self) -> io::Result<Option<Bytes>> {
        while let Some(byte) = self.bytes.get(self.scanned).copied() {
            self.scanned += 1;
            if !self.is_end(byte) {
                continue;
            }
            let value = self.bytes.split_to(self.scanned).freeze();
            self.scanned = 0;
            if !value.trim_ascii().is_empty() {
                return Ok(Some(value));
            }
        }
        match self.bytes.len() > self.limit {
            true => Err(io::Error::other(format!("a request has more than {} bytes", self.limit))),
            false => Ok(None),
        }
    }

    /// Whether a byte is the last one of a value.
    fn is_end(&mut self, byte: u8) -> bool {
        if self.is_in_text {
            self.is_in_text = self.is_escaped || byte != b'"';
            self.is_escaped = !self.is_escaped && byte == b'\\';
            return false;
        }
        match byte {
            b'"' => self.is_in_text = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                return self.depth == 0;
            }
            b'\n' => return self.depth == 0,
            _ => {}
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(parts: &[&str]) -> Vec<String> {
        let mut frames = Frames::new(100);
        let mut values = Vec::new();
        for part in parts {
            frames.buffer().extend_from_slice(part.as_bytes());
            while let Some(value) = frames.take().unwrap() {
                values.push(String::from_utf8(value.to_vec()).unwrap());
            }
        }
        values
    }

    #[test]
    fn values_are_found_wherever_reads_end() {
        let text = r#"{"a":"}\"{"}[{"b":[1]},2]  {"c":"\\"}"#;
        let expected = [r#"{"a":"}\"{"}"#, r#"[{"b":[1]},2]"#, r#"  {"c":"\\"}"#];
        assert_eq!(values(&[text]), expected);
        let bytes: Vec<_> = text.chars().map(String::from).collect();
        assert_eq!(values(&bytes.iter().map(String::as_str).collect::<Vec<_>>()), expected);
    }

    #[test]
    fn what_is_no_object_ends_with_its_line() {
        assert_eq!(values(&["\n \n", "hello\n{}", "\n"]), ["hello\n", "{}"]);
        assert_eq!(values(&["}{\"a\":1}"]), ["}", "{\"a\":1}"]);
        assert!(values(&["7", "\"\n"]).is_empty());
    }

    #[test]
    fn a_long_value_is_refused() {
        let mut frames = Frames::new(10);
        frames.buffer().extend_from_slice(b"[1,2,3,4,5");
        assert_eq!(frames.take().unwrap(), None);
        frames.buffer().extend_from_slice(b",");
        let refused = frames.take().unwrap_err();
        assert_eq!(refused.to_string(), "a request has more than 10 bytes");
    }
}
