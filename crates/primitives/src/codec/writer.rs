//! Writing consensus bytes.

use super::Encode;
use crate::ids::{Id, ShortId};

/// Consensus bytes under construction.
#[derive(Debug, Clone, Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// Nothing written yet.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Nothing written yet, with room for `capacity` bytes.
    pub fn with_capacity(capacity: usize) -> Self {
        Self(Vec::with_capacity(capacity))
    }

    /// What was written.
    pub fn into_vec(self) -> Vec<u8> {
        self.0
    }

    /// What was written.
    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }

    /// One byte.
    pub fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    /// Two bytes.
    pub fn u16(&mut self, value: u16) {
        self.fixed(&value.to_be_bytes());
    }

    /// Four bytes.
    pub fn u32(&mut self, value: u32) {
        self.fixed(&value.to_be_bytes());
    }

    /// Eight bytes.
    pub fn u64(&mut self, value: u64) {
        self.fixed(&value.to_be_bytes());
    }

    /// One byte, 0 or 1.
    pub fn boolean(&mut self, value: bool) {
        self.u8(u8::from(value));
    }

    /// The bytes alone: their number is fixed by the type.
    pub fn fixed(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// The number of bytes (u32) and the bytes.
    ///
    /// # Panics
    /// Above 2^32-1 bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.len(bytes.len());
        self.fixed(bytes);
    }

    /// The number of bytes (u16) and the bytes of a string.
    ///
    /// # Panics
    /// Above 65535 bytes: no rule lets a string of a transaction or a genesis come near.
    pub fn string_bytes(&mut self, bytes: &[u8]) {
        self.u16(u16::try_from(bytes.len()).expect("a string takes at most 65535 bytes"));
        self.fixed(bytes);
    }

    /// The number of elements of a slice.
    ///
    /// # Panics
    /// Above 2^32-1.
    pub fn len(&mut self, len: usize) {
        self.u32(u32::try_from(len).expect("a slice has fewer than 2^32 elements"));
    }

    /// The number of elements and each element's bytes.
    pub fn values<T: Encode>(&mut self, values: &[T]) {
        self.len(values.len());
        for value in values {
            value.encode(self);
        }
    }

    /// The type id in front of a value whose type is open.
    pub fn type_id(&mut self, type_id: u32) {
        self.u32(type_id);
    }

    /// A 32-byte identifier.
    pub fn id(&mut self, id: &Id) {
        self.fixed(id.as_bytes());
    }

    /// A 20-byte identifier.
    pub fn short_id(&mut self, id: &ShortId) {
        self.fixed(id.as_bytes());
    }
}
