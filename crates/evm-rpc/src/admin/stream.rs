//! Blocks in a file: their RLP one after the other, compressed where the name ends with `.gz`.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use thiserror::Error;

use crate::files::{open_file, system_text};

/// Most bytes of a block: a bundle has no more.
const MAX_BLOCK_BYTES: usize = 64 << 20;

/// Size of the write buffer, bytes.
const BUFFER: usize = 1 << 18;

pub(super) fn is_compressed(name: &str) -> bool {
    name.ends_with(".gz")
}

/// A file that blocks are written to.
#[derive(Debug)]
pub(super) enum Output {
    Plain(BufWriter<File>),
    Compressed(GzEncoder<BufWriter<File>>),
}

impl Output {
    pub(super) fn create(path: &Path, is_compressed: bool) -> io::Result<Self> {
        let file = File::options().write(true).create_new(true).open(path)?;
        let file = BufWriter::with_capacity(BUFFER, file);
        Ok(match is_compressed {
            true => Self::Compressed(GzEncoder::new(file, Compression::default())),
            false => Self::Plain(file),
        })
    }

    pub(super) fn write(&mut self, block: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.write_all(block),
            Self::Compressed(file) => file.write_all(block),
        }
    }

    /// Writes the rest of the buffer to the disk.
    pub(super) fn finish(self) -> io::Result<()> {
        let file = match self {
            Self::Plain(file) => file,
            Self::Compressed(file) => file.finish()?,
        };
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    }
}

/// The reason why a block can't be read.
#[derive(Debug, Error)]
pub enum BlockFileError {
    /// The system's error.
    #[error("{}", system_text(.0))]
    Io(#[from] io::Error),
    /// The file ends within a block.
    #[error("unexpected EOF")]
    Cut,
    /// The bytes are no list.
    #[error("rlp: expected List")]
    NoList,
    /// The length of the block has another form.
    #[error("rlp: non-canonical size information")]
    NonCanonical,
    /// The block is larger than any.
    #[error("the block has {0} bytes, at most {MAX_BLOCK_BYTES}")]
    TooLarge(u64),
}

/// A file that blocks are read from.
pub struct BlockFile {
    input: Box<dyn Read + Send>,
    position: u64,
    /// Bytes of the file if it is not compressed.
    size: Option<u64>,
}

impl std::fmt::Debug for BlockFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BlockFile(at byte {})", self.position)
    }
}

impl BlockFile {
    /// Opens a file. One whose name ends with `.gz` is compressed.
    ///
    /// # Errors
    /// It can't be read, or is a pipe or a device.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::open_as(path, is_compressed(&path.to_string_lossy()))
    }

    pub(super) fn open_as(path: &Path, is_compressed: bool) -> io::Result<Self> {
        let file = open_file(path)?;
        let size = if is_compressed { None } else { Some(file.metadata()?.len()) };
        let file = BufReader::with_capacity(BUFFER, file);
        let input: Box<dyn Read + Send> = match is_compressed {
            true => Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(file))),
            false => Box::new(file),
        };
        Ok(Self { size, ..Self::new(input) })
    }

    fn new(input: Box<dyn Read + Send>) -> Self {
        Self { input, position: 0, size: None }
    }

    /// Bytes of the file; `None` if it is compressed.
    pub const fn size(&self) -> Option<u64> {
        self.size
    }

    /// Where the next block begins, in bytes that are not compressed.
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// The bytes of the next block; `None` at the end.
    ///
    /// # Errors
    /// The rest of the file begins with no block.
    pub fn next_block(&mut self) -> Result<Option<Vec<u8>>, BlockFileError> {
        let block = self.read_block()?;
        self.position += block.as_ref().map_or(0, |bytes| bytes.len() as u64);
        Ok(block)
    }

    fn read_block(&mut self) -> Result<Option<Vec<u8>>, BlockFileError> {
        let mut bytes = vec![0];
        loop {
            match self.input.read(&mut bytes) {
                Ok(0) => return Ok(None),
                Ok(_) => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        let length = match bytes[0] {
            first @ 0xc0..=0xf7 => u64::from(first - 0xc0),
            first @ 0xf8..=0xff => {
                let of_length = usize::from(first - 0xf7);
                self.append(&mut bytes, of_length)?;
                let mut length = [0; 8];
                length[8 - of_length..].copy_from_slice(&bytes[1..]);
                let length = u64::from_be_bytes(length);
                if bytes[1] == 0 || length < 56 {
                    return Err(BlockFileError::NonCanonical);
                }
                length
            }
            _ => return Err(BlockFileError::NoList),
        };
        match usize::try_from(length) {
            Ok(length) if length <= MAX_BLOCK_BYTES => self.append(&mut bytes, length)?,
            _ => return Err(BlockFileError::TooLarge(length)),
        }
        Ok(Some(bytes))
    }

    fn append(&mut self, bytes: &mut Vec<u8>, length: usize) -> Result<(), BlockFileError> {
        // Memory grows with the bytes in the file, not with the declared length.
        let read = (&mut self.input).take(length as u64).read_to_end(bytes)?;
        if read < length { Err(BlockFileError::Cut) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(bytes: &'static [u8]) -> Result<Vec<Vec<u8>>, String> {
        let mut input = BlockFile::new(Box::new(bytes));
        let mut found = Vec::new();
        while let Some(block) = input.next_block().map_err(|error| error.to_string())? {
            found.push(block);
        }
        Ok(found)
    }

    #[test]
    fn lists_are_read_one_after_the_other() {
        assert_eq!(blocks(&[]), Ok(Vec::new()));
        assert_eq!(blocks(&[0xc0, 0xc1, 5]), Ok(vec![vec![0xc0], vec![0xc1, 5]]));
        static LONG: [u8; 58] = {
            let mut long = [7; 58];
            (long[0], long[1]) = (0xf8, 56);
            long
        };
        assert_eq!(blocks(&LONG), Ok(vec![LONG.to_vec()]));
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for (bytes, error) in [
            (&[0x80][..], "rlp: expected List"),
            (&[0xc2, 1], "unexpected EOF"),
            (&[0xf8], "unexpected EOF"),
            (&[0xf8, 55], "rlp: non-canonical size information"),
            (&[0xf9, 0, 200], "rlp: non-canonical size information"),
            (&[0xf8, 56, 1], "unexpected EOF"),
            (&[0xfc, 1, 0, 0, 0, 0], "the block has 4294967296 bytes, at most 67108864"),
            (
                &[0xff, 255, 255, 255, 255, 255, 255, 255, 255],
                "the block has 18446744073709551615 bytes, at most 67108864",
            ),
        ] {
            assert_eq!(blocks(bytes), Err(error.to_owned()), "{bytes:?}");
        }
    }
}
