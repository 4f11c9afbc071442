//! Blocks as lines: `{"chain":"X","height":1,"bytes":"0x..."}`. The chain is an alias or an ID; the bytes are the
//! chain's encoding of the block. In a file of a development network the first line says when it began:
//! `{"start":1700000000,"chainID":"2BWj..."}`.

use std::borrow::Cow;
use std::io::{self, BufRead, Read as _, Write};

use bytes::Bytes;
use esker_chain::MAX_BUNDLE_SIZE;
use esker_primitives::hexfmt::{self, HexError};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Most bytes of a line: the hex of the largest block of a bundle, with room for the rest of the line.
pub const MAX_LINE_BYTES: usize = 2 * MAX_BUNDLE_SIZE + 4096;

/// An accepted block of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockLine {
    /// The chain, by alias or ID.
    pub chain: String,
    /// The block's height.
    pub height: u64,
    /// The block, in its chain's encoding.
    pub bytes: Bytes,
}

/// When a development network began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartLine {
    /// Time of the C-Chain's block 0, Unix seconds.
    pub start: u64,
    /// Whether the extra data of that block is a fee window. Files of earlier versions do not have the member: theirs is a
    /// single byte.
    #[serde(rename = "feeWindow", default, skip_serializing_if = "std::ops::Not::not")]
    pub has_fee_window: bool,
    /// ID of the C-Chain, which follows from the network's accounts.
    #[serde(rename = "chainID")]
    pub chain_id: String,
}

impl StartLine {
    /// The first bytes of every such line.
    const BEGINNING: &[u8] = b"{\"start\":";

    /// Takes the line off the front of an input, where one is, and returns an input with all lines.
    ///
    /// # Errors
    /// The input can't be read.
    pub fn peek(
        mut input: Box<dyn BufRead + Send>,
    ) -> io::Result<(Option<Self>, Box<dyn BufRead + Send>)> {
        let mut first = Vec::new();
        (&mut input).take(MAX_START_BYTES).read_until(b'\n', &mut first)?;
        let start = serde_json::from_slice(&first).ok();
        Ok((start, Box::new(io::Cursor::new(first).chain(input))))
    }

    /// Writes the line with its line end.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer(&mut *out, self)?;
        out.write_all(b"\n")
    }
}

/// Most bytes of the line that says when a network began.
const MAX_START_BYTES: u64 = 512;

/// The reason why a line is not a block.
#[derive(Debug, Error)]
pub enum LineError {
    /// It is too long.
    #[error("longer than {0} bytes")]
    TooLong(usize),
    /// It is not an object of this form.
    #[error("expected {{\"chain\":\"X\",\"height\":1,\"bytes\":\"0x...\"}}: {0}")]
    Json(serde_json::Error),
    /// The bytes are not hex.
    #[error("bytes: {0}")]
    Hex(#[from] HexError),
    /// The bytes are empty.
    #[error("bytes: expected a block")]
    Empty,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire<'a> {
    #[serde(borrow)]
    chain: Cow<'a, str>,
    height: u64,
    #[serde(borrow)]
    bytes: Cow<'a, str>,
}

impl BlockLine {
    /// Parses a line, with or without its line end.
    pub fn parse(line: &[u8]) -> Result<Self, LineError> {
        let wire: Wire<'_> = serde_json::from_slice(line).map_err(LineError::Json)?;
        let bytes = hexfmt::decode_plain(&wire.bytes)?;
        if bytes.is_empty() {
            return Err(LineError::Empty);
        }
        Ok(Self { chain: wire.chain.into_owned(), height: wire.height, bytes: bytes.into() })
    }

    /// Writes the line with its line end.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let bytes = Cow::Owned(hexfmt::encode_plain(&self.bytes));
        let wire = Wire { chain: Cow::Borrowed(&self.chain), height: self.height, bytes };
        serde_json::to_writer(&mut *out, &wire)?;
        out.write_all(b"\n")
    }
}

/// The reason why reading a block failed.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The input failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The line of that number is not a block.
    #[error("line {0}: {1}")]
    Line(u64, LineError),
}

/// Reads blocks from an input, one line at a time; skips empty lines.
#[derive(Debug)]
pub struct Lines<R> {
    input: R,
    max: usize,
    number: u64,
    /// Bytes read so far.
    read: u64,
    line: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    /// A reader of lines of at most [`MAX_LINE_BYTES`].
    pub fn new(input: R) -> Self {
        Self::with_max(input, MAX_LINE_BYTES)
    }

    /// A reader of lines of at most this many bytes.
    pub fn with_max(input: R, max: usize) -> Self {
        Self { input, max, number: 0, read: 0, line: Vec::new() }
    }

    /// Bytes of the input read so far.
    pub fn bytes_read(&self) -> u64 {
        self.read
    }

    /// The next block and the number of its line, from 1; `None` at the end.
    pub fn next_block(&mut self) -> Result<Option<(u64, BlockLine)>, ReadError> {
        loop {
            self.line.clear();
            // The line, a line end of one or two bytes, and one byte to detect a longer line.
            let most = u64::try_from(self.max).unwrap_or(u64::MAX).saturating_add(3);
            let taken = (&mut self.input).take(most).read_until(b'\n', &mut self.line)?;
            if taken == 0 {
                return Ok(None);
            }
            self.number += 1;
            self.read += taken as u64;
            let refused = |error| ReadError::Line(self.number, error);
            if self.line.trim_ascii_end().len() > self.max || taken > self.max && !self.at_end() {
                return Err(refused(LineError::TooLong(self.max)));
            }
            let line = self.line.trim_ascii();
            // It was read before the others.
            if self.number == 1 && line.starts_with(StartLine::BEGINNING) {
                let _start: StartLine = serde_json::from_slice(line)
                    .map_err(|error| refused(LineError::Json(error)))?;
                continue;
            }
            if !line.is_empty() {
                let block = BlockLine::parse(line).map_err(refused)?;
                return Ok(Some((self.number, block)));
            }
        }
    }

    /// Whether the input is at its end.
    fn at_end(&self) -> bool {
        self.line.ends_with(b"\n")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BLOCK: &str = r#"{"chain":"X","height":1,"bytes":"0x00ff"}"#;

    fn read(text: &str, max: usize) -> Result<Vec<(u64, BlockLine)>, String> {
        let mut lines = Lines::with_max(text.as_bytes(), max);
        let mut found = Vec::new();
        while let Some(block) = lines.next_block().map_err(|error| error.to_string())? {
            found.push(block);
        }
        assert_eq!(lines.bytes_read(), text.len() as u64);
        Ok(found)
    }

    #[test]
    fn blocks_with_all_kinds_of_ends() {
        let block =
            BlockLine { chain: "X".into(), height: 1, bytes: Bytes::from_static(&[0, 255]) };
        let text = format!("{BLOCK}\n\n  {BLOCK} \r\n{BLOCK}");
        let found = read(&text, 100).unwrap();
        assert_eq!(found, [(1, block.clone()), (3, block.clone()), (4, block)]);
        assert_eq!(read("", 100).unwrap(), []);
    }

    #[test]
    fn what_is_no_block() {
        for (line, error) in [
            ("{", "line 2: expected {\"chain\":\"X\",\"height\":1,\"bytes\":\"0x...\"}: EOF"),
            ("[]", "line 2: expected {"),
            (r#"{"chain":"X","height":1}"#, "missing field `bytes`"),
            (r#"{"chain":"X","height":"1","bytes":"0x00"}"#, "invalid type: string \"1\""),
            (r#"{"chain":"X","height":-1,"bytes":"0x00"}"#, "invalid value: integer `-1`"),
            (r#"{"chain":"X","height":1,"bytes":"00"}"#, "line 2: bytes: missing 0x prefix"),
            (r#"{"chain":"X","height":1,"bytes":"0x0"}"#, "odd length"),
            (r#"{"chain":"X","height":1,"bytes":"0x"}"#, "line 2: bytes: expected a block"),
            (r#"{"chain":"X","height":1,"bytes":"0x00","more":1}"#, "unknown field `more`"),
            (r#"{"chain":"X","chain":"C","height":1,"bytes":"0x00"}"#, "duplicate field `chain`"),
            (&BLOCK[..20], "EOF while parsing"),
        ] {
            let refusal = read(&format!("{BLOCK}\n{line}"), 200).unwrap_err();
            assert!(refusal.contains(error), "{line}: {refusal}");
        }
    }

    #[test]
    fn the_first_line_may_say_when_the_network_began() {
        let written = |has_fee_window| {
            let chain_id = "2BWj".to_owned();
            let start = StartLine { start: 1_700_000_000, has_fee_window, chain_id };
            let mut line = Vec::new();
            start.write(&mut line).unwrap();
            (start, String::from_utf8(line).unwrap())
        };
        let (earlier, line_of_earlier) = written(false);
        assert_eq!(line_of_earlier, "{\"start\":1700000000,\"chainID\":\"2BWj\"}\n");
        let (start, line) = written(true);
        assert_eq!(line, "{\"start\":1700000000,\"feeWindow\":true,\"chainID\":\"2BWj\"}\n");
        let peek = |text: &str| {
            let text = io::Cursor::new(text.to_owned());
            let (start, mut input) = StartLine::peek(Box::new(text)).unwrap();
            let mut rest = String::new();
            io::Read::read_to_string(&mut input, &mut rest).unwrap();
            (start, rest)
        };
        for (text, found) in [
            (format!("{line}{BLOCK}"), Some(start)),
            (format!("{line_of_earlier}{BLOCK}"), Some(earlier)),
            (BLOCK.to_owned(), None),
            (String::new(), None),
            (format!("{BLOCK}\n{line}"), None),
            (" ".repeat(2000) + &line, None),
        ] {
            assert_eq!(peek(&text), (found, text.clone()));
        }
        // Like all others it is counted. It is not a block; elsewhere it is refused.
        assert_eq!(read(&format!("{line}{BLOCK}"), 100).unwrap()[0].0, 2);
        let refusal = read(&format!("{BLOCK}\n{line}"), 100).unwrap_err();
        assert!(refusal.starts_with("line 2: expected {"), "{refusal}");
        let refusal = read("{\"start\":-1}\n", 100).unwrap_err();
        assert!(refusal.starts_with("line 1: expected {"), "{refusal}");
    }

    #[test]
    fn the_length_of_a_line_is_bounded() {
        let long = format!("{BLOCK}\n");
        for end in ["", "\n", "\r\n"] {
            assert_eq!(read(&format!("{BLOCK}{end}"), BLOCK.len()).unwrap().len(), 1, "{end:?}");
            let refused = read(&format!("{long}{BLOCK}{end}"), BLOCK.len() - 1).unwrap_err();
            assert_eq!(refused, format!("line 1: longer than {} bytes", BLOCK.len() - 1));
        }
        // A line without an end is not read completely.
        struct Endless;
        impl io::Read for Endless {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                buffer.fill(b' ');
                Ok(buffer.len())
            }
        }
        let mut lines = Lines::with_max(io::BufReader::new(Endless), 1000);
        assert!(matches!(lines.next_block(), Err(ReadError::Line(1, LineError::TooLong(1000)))));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            chain in ".{0,20}",
            height: u64,
            bytes in prop::collection::vec(any::<u8>(), 1..200),
        ) {
            let block = BlockLine { chain, height, bytes: bytes.into() };
            let mut line = Vec::new();
            block.write(&mut line).unwrap();
            prop_assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
            let mut lines = Lines::new(line.as_slice());
            prop_assert_eq!(lines.next_block().unwrap(), Some((1, block)));
            prop_assert!(lines.next_block().unwrap().is_none());
        }

        #[test]
        fn any_bytes_do(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut lines = Lines::with_max(bytes.as_slice(), 100);
            while let Ok(Some(_)) = lines.next_block() {}
        }
    }
}
