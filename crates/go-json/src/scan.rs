//! The scanner: finds the end of the first JSON value of some bytes, or returns the error of Go's
//! `encoding/json`.

use std::{fmt, ops::Range};

use esker_primitives::go;

use super::text;

/// Containers that may be open at once; one more is an error. Go's limit.
pub const MAX_NESTING: usize = 10_000;

/// The reason why bytes are no JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyntaxError {
    /// There is nothing but white space.
    Eof,
    /// The value does not end, in a stream.
    UnexpectedEof,
    /// The value does not end, or there is none, in bytes that are to hold just one.
    UnexpectedEnd,
    /// A byte that cannot stand where it does.
    Invalid {
        /// The byte.
        byte: u8,
        /// Its context, in Go's words.
        context: &'static str,
        /// Bytes read up to and including it.
        offset: usize,
    },
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Eof => f.write_str("EOF"),
            Self::UnexpectedEof => f.write_str("unexpected EOF"),
            Self::UnexpectedEnd => f.write_str("unexpected end of JSON input"),
            Self::Invalid { byte, context, .. } => {
                write!(f, "invalid character {} {context}", go::quote_char(char::from(byte)))
            }
        }
    }
}

impl std::error::Error for SyntaxError {}

/// Finds the first value of `bytes`: its place without white space around it. What follows the
/// value is not looked at.
///
/// Calls `on_member` for each member of an outermost object, in order, with the range of its name with the
/// quotes and the range of its value.
pub(super) fn first_value(
    bytes: &[u8],
    mut on_member: impl FnMut(Range<usize>, Range<usize>),
) -> Result<Range<usize>, SyntaxError> {
    let mut scanner = Scanner { bytes, at: 0, open: Open::default() };
    scanner.skip_space();
    let start = scanner.at;
    if start == bytes.len() {
        return Err(SyntaxError::Eof);
    }
    // Name and value start of the outermost object's current member.
    let mut member = (0..0, 0);
    let mut next = Next::Value;
    loop {
        next = match next {
            Next::Value => scanner.value()?,
            Next::ValueOrEnd => scanner.end_or(b']').map_or_else(|| scanner.value(), Ok)?,
            Next::NameOrEnd | Next::Name => {
                let ended = matches!(next, Next::NameOrEnd).then(|| scanner.end_or(b'}')).flatten();
                if let Some(after) = ended {
                    after
                } else {
                    let name = scanner.name()?;
                    if scanner.open.depth == 1 {
                        scanner.skip_space();
                        member = (name, scanner.at);
                    }
                    Next::Value
                }
            }
            Next::After => {
                match scanner.open.depth {
                    0 => return Ok(start..scanner.at),
                    1 if scanner.open.in_object() => {
                        on_member(member.0.clone(), member.1..scanner.at);
                    }
                    _ => {}
                }
                scanner.separator()?
            }
        };
    }
}

/// The end of the value that starts at `at`, in text that [`first_value`] has accepted.
pub(super) fn skip_value(bytes: &[u8], mut at: usize) -> usize {
    let mut depth = 0_usize;
    while let Some(&byte) = bytes.get(at) {
        at = match byte {
            b'"' => skip_string(bytes, at),
            b'{' | b'[' => {
                depth += 1;
                at + 1
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                at + 1
            }
            b',' | b':' | b' ' | b'\t' | b'\r' | b'\n' => {
                at += 1;
                continue;
            }
            _ => skip_scalar(bytes, at),
        };
        if depth == 0 {
            break;
        }
    }
    at
}

/// The end of the string that starts with the quote at `at`, in accepted text.
pub(super) fn skip_string(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    loop {
        at = text::find_special(bytes, at);
        match bytes.get(at) {
            Some(b'\\') => at += 2,
            Some(b'"') => return at + 1,
            Some(_) => at += 1,
            None => return bytes.len(),
        }
    }
}

/// Whether this is white space of JSON.
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn skip_scalar(bytes: &[u8], at: usize) -> usize {
    let ends = |byte: &u8| matches!(byte, b',' | b':' | b']' | b'}') || is_space(*byte);
    bytes.get(at..).and_then(|rest| rest.iter().position(ends)).map_or(bytes.len(), |len| at + len)
}

/// The bytes that may come next.
enum Next {
    /// A value.
    Value,
    /// A value, or the end of the array just opened.
    ValueOrEnd,
    /// A member's name.
    Name,
    /// A member's name, or the end of the object just opened.
    NameOrEnd,
    /// The bytes after a value.
    After,
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    open: Open,
}

impl Scanner<'_> {
    fn skip_space(&mut self) {
        while self.bytes.get(self.at).is_some_and(|byte| is_space(*byte)) {
            self.at += 1;
        }
    }

    /// The next byte; it stays to be read.
    fn peek(&self) -> Result<u8, SyntaxError> {
        self.bytes.get(self.at).copied().ok_or(SyntaxError::UnexpectedEof)
    }

    fn invalid(&self, byte: u8, context: &'static str) -> SyntaxError {
        SyntaxError::Invalid { byte, context, offset: self.at + 1 }
    }

    fn value(&mut self) -> Result<Next, SyntaxError> {
        self.skip_space();
        match self.peek()? {
            byte @ b'{' => self.push(byte, true).map(|()| Next::NameOrEnd),
            byte @ b'[' => self.push(byte, false).map(|()| Next::ValueOrEnd),
            b'"' => self.string().map(|()| Next::After),
            b'-' | b'0'..=b'9' => self.number().map(|()| Next::After),
            b't' => self.literal(&TRUE).map(|()| Next::After),
            b'f' => self.literal(&FALSE).map(|()| Next::After),
            b'n' => self.literal(&NULL).map(|()| Next::After),
            byte => Err(self.invalid(byte, "looking for beginning of value")),
        }
    }

    fn push(&mut self, byte: u8, object: bool) -> Result<(), SyntaxError> {
        if !self.open.push(object) {
            return Err(self.invalid(byte, "exceeded max depth"));
        }
        self.at += 1;
        Ok(())
    }

    /// The end of the container just opened, if that is what comes next.
    fn end_or(&mut self, end: u8) -> Option<Next> {
        self.skip_space();
        (self.bytes.get(self.at) == Some(&end)).then(|| {
            self.at += 1;
            self.open.pop();
            Next::After
        })
    }

    /// A member's name and the colon; returns the place of the name.
    fn name(&mut self) -> Result<Range<usize>, SyntaxError> {
        self.skip_space();
        let start = self.at;
        match self.peek()? {
            b'"' => self.string()?,
            byte => return Err(self.invalid(byte, "looking for beginning of object key string")),
        }
        let name = start..self.at;
        self.skip_space();
        match self.peek()? {
            b':' => self.at += 1,
            byte => return Err(self.invalid(byte, "after object key")),
        }
        Ok(name)
    }

    /// Reads the byte after a value inside a container.
    fn separator(&mut self) -> Result<Next, SyntaxError> {
        self.skip_space();
        let in_object = self.open.in_object();
        let next = match (self.peek()?, in_object) {
            (b',', true) => Next::Name,
            (b',', false) => Next::Value,
            (b'}', true) | (b']', false) => {
                self.open.pop();
                Next::After
            }
            (byte, true) => return Err(self.invalid(byte, "after object key:value pair")),
            (byte, false) => return Err(self.invalid(byte, "after array element")),
        };
        self.at += 1;
        Ok(next)
    }

    fn string(&mut self) -> Result<(), SyntaxError> {
        self.at += 1;
        loop {
            self.at = text::find_special(self.bytes, self.at);
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' => self.escape()?,
                byte => return Err(self.invalid(byte, "in string literal")),
            }
        }
    }

    fn escape(&mut self) -> Result<(), SyntaxError> {
        self.at += 1;
        match self.peek()? {
            b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => self.at += 1,
            b'u' => {
                self.at += 1;
                for _ in 0..4 {
                    let byte = self.peek()?;
                    if !byte.is_ascii_hexdigit() {
                        return Err(self.invalid(byte, "in \\u hexadecimal character escape"));
                    }
                    self.at += 1;
                }
            }
            byte => return Err(self.invalid(byte, "in string escape code")),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), SyntaxError> {
        if self.peek()? == b'-' {
            self.at += 1;
        }
        match self.peek()? {
            // A digit after a leading zero is left to what follows the number.
            b'0' => self.at += 1,
            b'1'..=b'9' => self.skip_digits(),
            byte => return Err(self.invalid(byte, "in numeric literal")),
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits("after decimal point in numeric literal")?;
        }
        if matches!(self.bytes.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek()?, b'+' | b'-') {
                self.at += 1;
            }
            self.digits("in exponent of numeric literal")?;
        }
        Ok(())
    }

    /// At least one digit.
    fn digits(&mut self, context: &'static str) -> Result<(), SyntaxError> {
        let byte = self.peek()?;
        if !byte.is_ascii_digit() {
            return Err(self.invalid(byte, context));
        }
        self.skip_digits();
        Ok(())
    }

    fn skip_digits(&mut self) {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
    }

    fn literal(&mut self, rest: &[(u8, &'static str)]) -> Result<(), SyntaxError> {
        self.at += 1;
        for (expected, context) in rest {
            let byte = self.peek()?;
            if byte != *expected {
                return Err(self.invalid(byte, context));
            }
            self.at += 1;
        }
        Ok(())
    }
}

const TRUE: [(u8, &str); 3] = [
    (b'r', "in literal true (expecting 'r')"),
    (b'u', "in literal true (expecting 'u')"),
    (b'e', "in literal true (expecting 'e')"),
];
const FALSE: [(u8, &str); 4] = [
    (b'a', "in literal false (expecting 'a')"),
    (b'l', "in literal false (expecting 'l')"),
    (b's', "in literal false (expecting 's')"),
    (b'e', "in literal false (expecting 'e')"),
];
const NULL: [(u8, &str); 3] = [
    (b'u', "in literal null (expecting 'u')"),
    (b'l', "in literal null (expecting 'l')"),
    (b'l', "in literal null (expecting 'l')"),
];

/// The containers that are open: one bit each, set for an object. No allocation for any input.
struct Open {
    depth: usize,
    objects: [u64; MAX_NESTING.div_ceil(64)],
}

impl Default for Open {
    fn default() -> Self {
        Self { depth: 0, objects: [0; MAX_NESTING.div_ceil(64)] }
    }
}

impl Open {
    /// False when there is one too many.
    fn push(&mut self, object: bool) -> bool {
        if self.depth == MAX_NESTING {
            return false;
        }
        let (word, bit) = (self.depth / 64, 1 << (self.depth % 64));
        if object {
            self.objects[word] |= bit;
        } else {
            self.objects[word] &= !bit;
        }
        self.depth += 1;
        true
    }

    fn pop(&mut self) {
        self.depth -= 1;
    }

    /// Whether the innermost open container is an object.
    fn in_object(&self) -> bool {
        let at = self.depth - 1;
        self.objects[at / 64] >> (at % 64) & 1 == 1
    }
}
