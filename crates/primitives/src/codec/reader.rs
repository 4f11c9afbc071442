//! Reads consensus bytes.

use super::{CodecError, Decode, MAX_SLICE_LEN, VERSION};
use crate::ids::{Id, ShortId};

/// Most memory that is allocated for elements before they are read, in bytes of the decoded type. The remaining bytes
/// bound the number of elements, but an element may be much larger in memory than in its encoding.
const MAX_PREALLOCATED: usize = 64 * 1024;

/// A position in consensus bytes. After an error the position has no meaning.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`, without a version.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    /// A reader after the version of `bytes`. There may be at most `max` bytes.
    pub fn versioned(bytes: &'a [u8], max: usize) -> Result<Self, CodecError> {
        if bytes.len() > max {
            return Err(CodecError::TooLarge { len: bytes.len(), max });
        }
        let mut r = Self::new(bytes);
        match r.u16() {
            Ok(VERSION) => Ok(r),
            Ok(_) => Err(CodecError::UnknownVersion),
            Err(_) => Err(CodecError::CantUnpackVersion),
        }
    }

    /// Bytes read so far.
    pub const fn position(&self) -> usize {
        self.position
    }

    /// Bytes not read yet.
    pub const fn remaining(&self) -> usize {
        self.bytes.len() - self.position
    }

    /// The bytes read since `start`, an earlier [`Reader::position`].
    ///
    /// # Panics
    /// If `start` lies behind the position.
    pub fn since(&self, start: usize) -> &'a [u8] {
        &self.bytes[start..self.position]
    }

    /// Checks that nothing is left over.
    pub fn finish(&self) -> Result<(), CodecError> {
        let (read, provided) = (self.position, self.bytes.len());
        if read == provided { Ok(()) } else { Err(CodecError::TrailingBytes { read, provided }) }
    }

    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let taken = self.bytes[self.position..].get(..len)?;
        self.position += len;
        Some(taken)
    }

    fn integer<const N: usize>(&mut self, kind: &'static str) -> Result<[u8; N], CodecError> {
        let taken = self.take(N).ok_or(CodecError::ShortInput(kind))?;
        Ok(taken.try_into().expect("N bytes were taken"))
    }

    /// One byte.
    pub fn u8(&mut self) -> Result<u8, CodecError> {
        self.integer("uint8").map(u8::from_be_bytes)
    }

    /// Two bytes.
    pub fn u16(&mut self) -> Result<u16, CodecError> {
        self.integer("uint16").map(u16::from_be_bytes)
    }

    /// Four bytes.
    pub fn u32(&mut self) -> Result<u32, CodecError> {
        self.integer("uint32").map(u32::from_be_bytes)
    }

    /// Eight bytes.
    pub fn u64(&mut self) -> Result<u64, CodecError> {
        self.integer("uint64").map(u64::from_be_bytes)
    }

    /// One byte, 0 or 1.
    pub fn boolean(&mut self) -> Result<bool, CodecError> {
        match self.integer("bool")? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(CodecError::BadBool),
        }
    }

    /// A fixed number of bytes.
    pub fn fixed<const N: usize>(&mut self) -> Result<[u8; N], CodecError> {
        let taken = self.take(N).ok_or(CodecError::ShortBytes)?;
        Ok(taken.try_into().expect("N bytes were taken"))
    }

    /// Bytes after their number (u32).
    pub fn bytes(&mut self) -> Result<&'a [u8], CodecError> {
        let len = self.slice_len()?;
        self.take(len).ok_or(CodecError::ShortBytes)
    }

    /// Bytes of a string after their number (u16). They need not be UTF-8.
    pub fn string_bytes(&mut self) -> Result<&'a [u8], CodecError> {
        let short = CodecError::ShortInput("string");
        let len = self.integer("string").map(u16::from_be_bytes)?;
        self.take(usize::from(len)).ok_or(short)
    }

    /// The claimed number of elements of a slice, at most [`MAX_SLICE_LEN`]; see [`Reader::slice`].
    pub fn slice_len(&mut self) -> Result<usize, CodecError> {
        let len = self.integer("slice").map(u32::from_be_bytes)?;
        if len as usize > MAX_SLICE_LEN {
            return Err(CodecError::SliceTooLong(len));
        }
        Ok(len as usize)
    }

    /// A slice: the number of elements, and the elements. `element` reads one element and must read at least one
    /// byte.
    ///
    /// Memory is allocated for at most as many elements as there are bytes left. A larger number leads to an error of
    /// an element.
    pub fn slice<T>(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<T, CodecError>,
    ) -> Result<Vec<T>, CodecError> {
        let len = self.slice_len()?;
        let most = MAX_PREALLOCATED / size_of::<T>().max(1);
        let mut elements = Vec::with_capacity(len.min(self.remaining()).min(most));
        for _ in 0..len {
            let start = self.position;
            elements.push(element(self)?);
            // Elements without bytes would allow 2^31 elements in a few bytes.
            if self.position == start {
                return Err(CodecError::ShortBytes);
            }
        }
        Ok(elements)
    }

    /// A slice of a type that reads itself.
    pub fn values<T: Decode>(&mut self) -> Result<Vec<T>, CodecError> {
        self.slice(T::decode)
    }

    /// The type id before a value of an interface.
    pub fn type_id(&mut self) -> Result<u32, CodecError> {
        self.integer("interface").map(u32::from_be_bytes)
    }

    /// A 32-byte identifier.
    pub fn id(&mut self) -> Result<Id, CodecError> {
        self.fixed().map(Id::new)
    }

    /// A 20-byte identifier.
    pub fn short_id(&mut self) -> Result<ShortId, CodecError> {
        self.fixed().map(ShortId::new)
    }
}
