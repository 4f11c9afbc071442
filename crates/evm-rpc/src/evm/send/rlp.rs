//! RLP read the way go-ethereum reads it, with its texts.
//!
//! Clients see what is wrong with a transaction in the words of Go's decoder, which differ by what was read,
//! into what type, and how far the input reaches. Nothing is copied: values are slices of the input.

use std::fmt;

use alloy_primitives::U256;

/// The error of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RlpError {
    /// Shown as it is.
    Plain(&'static str),
    /// Shown with the Go type that was read into, and the field, if it is not the whole.
    Typed { what: &'static str, of: &'static str, field: Option<(&'static str, String)> },
}

impl std::error::Error for RlpError {}

impl fmt::Display for RlpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(text) => f.write_str(text),
            Self::Typed { what, of, field: None } => write!(f, "rlp: {what} for {of}"),
            Self::Typed { what, of, field: Some((whole, path)) } => {
                write!(f, "rlp: {what} for {of}, decoding into ({whole}){path}")
            }
        }
    }
}

const TOO_SHORT: &str = "rlp: value size exceeds available input length";
const TOO_LARGE: &str = "rlp: element is larger than containing list";
const TOO_MANY_VALUES: &str = "rlp: input contains more than one value";

const EXPECTED_LIST: &str = "expected input list";
const EXPECTED_STRING: &str = "expected input string or byte";
const LEADING_ZEROS: &str = "non-canonical integer (leading zero bytes)";
const BAD_SIZE: &str = "non-canonical size information";
const TOO_LONG: &str = "input string too long";
const TOO_SHORT_STRING: &str = "input string too short";
const WRONG_EMPTY: &str = "wrong kind of empty value (got List, want String)";
const TOO_FEW: &str = "too few elements";
const TOO_MANY: &str = "input list has too many elements";

/// One value.
enum Item<'a> {
    String { bytes: &'a [u8], is_byte: bool },
    List(&'a [u8]),
}

/// An error, before the type that was read is known.
enum Fault {
    /// There is nothing more in the list.
    End,
    /// Shown as it is.
    Plain(&'static str),
    /// Shown with the type.
    Typed(&'static str),
}

/// Elements of a list, read one after the other into the fields of a Go struct.
pub(super) struct Fields<'a> {
    all: &'a [u8],
    rest: &'a [u8],
    /// Go's name of the outermost struct, and of the one whose fields are read.
    whole: &'static str,
    of: &'static str,
    /// Its place in the outermost list: empty for the list itself.
    path: String,
}

/// The fields of the struct that the whole input is.
pub(super) fn root_fields<'a>(input: &'a [u8], of: &'static str) -> Result<Fields<'a>, RlpError> {
    let mut rest = input;
    let typed = |what| RlpError::Typed { what, of, field: None };
    let item = next(&mut rest, TOO_SHORT).map_err(|fault| match fault {
        Fault::End => RlpError::Plain("EOF"),
        Fault::Plain(text) => RlpError::Plain(text),
        Fault::Typed(what) => typed(what),
    })?;
    let Item::List(list) = item else { return Err(typed(EXPECTED_LIST)) };
    let fields = Fields { all: list, rest: list, whole: of, of, path: String::new() };
    // Trailing bytes are an error only after a value that is good otherwise, so the caller checks them at the end.
    Ok(fields)
}

/// Is the input a list with an element? `of` is Go's name of the struct that it is read into.
pub(crate) fn check_list(input: &[u8], of: &'static str) -> Result<(), RlpError> {
    match root_fields(input, of)?.all {
        [] => Err(RlpError::Typed { what: TOO_FEW, of, field: None }),
        _ => Ok(()),
    }
}

/// Is the first element of the list that the input is a list itself? The errors are those of Go's functions that split
/// raw values, which differ from those of its decoder.
pub(super) fn begins_with_list(input: &[u8]) -> Result<bool, RlpError> {
    let Split::List(content) = split(input)? else {
        return Err(RlpError::Plain("rlp: expected List"));
    };
    Ok(matches!(split(content)?, Split::List(_)))
}

/// A value that was split off.
enum Split<'a> {
    String,
    List(&'a [u8]),
}

fn split(input: &[u8]) -> Result<Split<'_>, RlpError> {
    const EARLY_END: RlpError = RlpError::Plain("unexpected EOF");
    const SIZE: RlpError = RlpError::Plain("rlp: non-canonical size information");
    let (tag, after) = input.split_first().ok_or(EARLY_END)?;
    let (is_list, size, after) = match tag {
        0..0x80 => return Ok(Split::String),
        0x80..0xb8 => (false, usize::from(tag - 0x80), after),
        0xc0..0xf8 => (true, usize::from(tag - 0xc0), after),
        0xb8..0xc0 | 0xf8.. => {
            let is_list = *tag >= 0xf8;
            let len = usize::from(tag - if is_list { 0xf7 } else { 0xb7 });
            let (bytes, after) = after.split_at_checked(len).ok_or(EARLY_END)?;
            let size = bytes.iter().fold(0u64, |size, byte| size << 8 | u64::from(*byte));
            if size < 56 || bytes.first() == Some(&0) {
                return Err(SIZE);
            }
            (is_list, usize::try_from(size).unwrap_or(usize::MAX), after)
        }
    };
    if *tag == 0x81 && after.first().is_some_and(|byte| *byte < 0x80) {
        return Err(SIZE);
    }
    let content = after.get(..size).ok_or(RlpError::Plain(TOO_SHORT))?;
    Ok(if is_list { Split::List(content) } else { Split::String })
}

/// The value at the front of the input, without what follows it.
pub(crate) fn front(input: &[u8]) -> &[u8] {
    let mut rest = input;
    let is_value = next(&mut rest, TOO_SHORT).is_ok();
    if is_value { &input[..input.len() - rest.len()] } else { input }
}

/// Nothing may follow the value at the front of the input.
pub(crate) fn alone(input: &[u8]) -> Result<(), RlpError> {
    let mut rest = input;
    match next(&mut rest, TOO_SHORT) {
        Ok(_) if !rest.is_empty() => Err(RlpError::Plain(TOO_MANY_VALUES)),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Takes the value at the front. `beyond`: what is said of one that reaches beyond the end.
fn next<'a>(rest: &mut &'a [u8], beyond: &'static str) -> Result<Item<'a>, Fault> {
    let Some((tag, after)) = rest.split_first() else { return Err(Fault::End) };
    let (is_list, size, after) = match tag {
        0..0x80 => {
            let bytes = &rest[..1];
            *rest = after;
            return Ok(Item::String { bytes, is_byte: true });
        }
        0x80..0xb8 => (false, usize::from(tag - 0x80), after),
        0xb8..0xc0 => {
            let (size, after) = long_size(after, usize::from(tag - 0xb7), beyond)?;
            (false, size, after)
        }
        0xc0..0xf8 => (true, usize::from(tag - 0xc0), after),
        0xf8.. => {
            let (size, after) = long_size(after, usize::from(tag - 0xf7), beyond)?;
            (true, size, after)
        }
    };
    let Some((bytes, after)) = after.split_at_checked(size) else {
        return Err(Fault::Plain(beyond));
    };
    *rest = after;
    Ok(if is_list { Item::List(bytes) } else { Item::String { bytes, is_byte: false } })
}

/// A size of more than 55 bytes, in `len` bytes without leading zeros.
fn long_size<'a>(
    after: &'a [u8],
    len: usize,
    beyond: &'static str,
) -> Result<(usize, &'a [u8]), Fault> {
    let Some((size, after)) = after.split_at_checked(len) else {
        return Err(Fault::Plain(beyond));
    };
    if size.first() == Some(&0) {
        return Err(Fault::Typed(BAD_SIZE));
    }
    let size = size.iter().fold(0u64, |size, byte| size << 8 | u64::from(*byte));
    if size < 56 {
        return Err(Fault::Typed(BAD_SIZE));
    }
    Ok((usize::try_from(size).unwrap_or(usize::MAX), after))
}

impl<'a> Fields<'a> {
    /// The error about a field of this type.
    fn error(&self, fault: Fault, of: &'static str, field: &str) -> RlpError {
        match fault {
            Fault::End => self.struct_error(TOO_FEW),
            Fault::Plain(text) => RlpError::Plain(text),
            Fault::Typed(what) => {
                let path = format!("{}{field}", self.path);
                RlpError::Typed { what, of, field: Some((self.whole, path)) }
            }
        }
    }

    /// An error about the struct itself.
    fn struct_error(&self, what: &'static str) -> RlpError {
        let field = (!self.path.is_empty()).then(|| (self.whole, self.path.clone()));
        RlpError::Typed { what, of: self.of, field }
    }

    fn item(&mut self, of: &'static str, field: &str) -> Result<Item<'a>, RlpError> {
        next(&mut self.rest, TOO_LARGE).map_err(|fault| self.error(fault, of, field))
    }

    fn string(&mut self, of: &'static str, field: &str) -> Result<(&'a [u8], bool), RlpError> {
        match self.item(of, field)? {
            Item::String { bytes, is_byte } => Ok((bytes, is_byte)),
            Item::List(_) => Err(self.error(Fault::Typed(EXPECTED_STRING), of, field)),
        }
    }

    /// A `uint64`.
    pub(super) fn uint(&mut self, field: &str) -> Result<u64, RlpError> {
        const OF: &str = "uint64";
        let (bytes, is_byte) = self.string(OF, field)?;
        let fault = match bytes {
            [0..0x80] if !is_byte => BAD_SIZE,
            [_, _, _, _, _, _, _, _, _, ..] => TOO_LONG,
            [0, ..] => LEADING_ZEROS,
            _ => return Ok(bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))),
        };
        Err(self.error(Fault::Typed(fault), OF, field))
    }

    /// A `*big.Int` of any length, big-endian.
    pub(super) fn big(&mut self, field: &str) -> Result<&'a [u8], RlpError> {
        const OF: &str = "*big.Int";
        let (bytes, is_byte) = self.string(OF, field)?;
        let fault = match bytes {
            [0..0x80] if !is_byte => BAD_SIZE,
            [0, ..] => LEADING_ZEROS,
            _ => return Ok(bytes),
        };
        Err(self.error(Fault::Typed(fault), OF, field))
    }

    /// A `*uint256.Int`.
    pub(super) fn uint256(&mut self, field: &str) -> Result<U256, RlpError> {
        const OF: &str = "*uint256.Int";
        let (bytes, is_byte) = self.string(OF, field)?;
        let fault = match bytes {
            [0..0x80] if !is_byte => BAD_SIZE,
            _ if bytes.len() > 32 => TOO_LONG,
            [0, ..] => LEADING_ZEROS,
            _ => return Ok(U256::from_be_slice(bytes)),
        };
        Err(self.error(Fault::Typed(fault), OF, field))
    }

    /// A `[]byte`.
    pub(super) fn bytes(&mut self, field: &str) -> Result<&'a [u8], RlpError> {
        const OF: &str = "[]uint8";
        match self.string(OF, field)? {
            ([0..0x80], false) => Err(self.error(Fault::Typed(BAD_SIZE), OF, field)),
            (bytes, _) => Ok(bytes),
        }
    }

    /// An array of bytes; Go's name of its type is `of`.
    pub(super) fn array<const N: usize>(
        &mut self,
        of: &'static str,
        field: &str,
    ) -> Result<[u8; N], RlpError> {
        let (bytes, _) = self.string(of, field)?;
        let fault = if bytes.len() < N { TOO_SHORT_STRING } else { TOO_LONG };
        bytes.try_into().map_err(|_| self.error(Fault::Typed(fault), of, field))
    }

    /// An array that is the element of a list at this place.
    pub(super) fn element<const N: usize>(
        &mut self,
        of: &'static str,
        at: usize,
    ) -> Result<[u8; N], RlpError> {
        let before = self.rest;
        self.array(of, "").or_else(|_| {
            // Again, this time with the place for the error.
            self.rest = before;
            self.array(of, &format!("[{at}]"))
        })
    }

    /// An array behind a pointer that an empty string makes nil; `of` begins with Go's star.
    pub(super) fn optional_array<const N: usize>(
        &mut self,
        of: &'static str,
        field: &str,
    ) -> Result<Option<[u8; N]>, RlpError> {
        let mut ahead = self.rest;
        match next(&mut ahead, TOO_LARGE) {
            Ok(Item::String { bytes: [], .. }) => {
                self.rest = ahead;
                Ok(None)
            }
            Ok(Item::List([])) => Err(self.error(Fault::Typed(WRONG_EMPTY), of, field)),
            Ok(_) | Err(_) => self.array(of.trim_start_matches('*'), field).map(Some),
        }
    }

    /// A list of the type `of`, whose elements the caller takes while [`Self::has_more`].
    pub(super) fn list(&mut self, of: &'static str, field: &str) -> Result<Self, RlpError> {
        match self.item(of, field)? {
            Item::List(rest) => {
                let path = format!("{}{field}", self.path);
                Ok(Fields { all: rest, rest, whole: self.whole, of, path })
            }
            Item::String { .. } => Err(self.error(Fault::Typed(EXPECTED_LIST), of, field)),
        }
    }

    /// The encoded bytes of the elements read so far.
    pub(super) fn consumed(&self) -> &'a [u8] {
        &self.all[..self.all.len() - self.rest.len()]
    }

    /// Whether there is another element.
    pub(super) fn has_more(&self) -> bool {
        !self.rest.is_empty()
    }

    /// All fields are read: there must be no more elements.
    pub(super) fn end(self) -> Result<(), RlpError> {
        if self.has_more() { Err(self.struct_error(TOO_MANY)) } else { Ok(()) }
    }
}
