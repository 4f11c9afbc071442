//! Writes consensus bytes.

use super::Encode;
use crate::ids::{Id, ShortId};

/// Writes consensus bytes into a buffer.
#[derive(Debug, Clone, Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// An empty writer.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// An empty writer with room for `capacity` bytes.
    pub fn with_capacity(capacity: usize) -> Self {
        Self(Vec::with_capacity(capacity))
    }

    /// The written bytes.
    pub fn into_vec(self) -> Vec<u8> {
        self.0
    }

    /// The written bytes.
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

    /// The bytes without their number, which the type fixes.
    pub fn fixed(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// The number of bytes (u32) and the bytes.
    ///
    /// # Panics
    /// There are more than 2^32-1 bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.len(bytes.len());
        self.fixed(bytes);
    }

    /// The number of bytes (u16) and the bytes of a string.
    ///
    /// # Panics
    /// There are more than 65535 bytes. The rules of transactions and of genesis only allow much shorter strings.
    pub fn string_bytes(&mut self, bytes: &[u8]) {
        self.u16(u16::try_from(bytes.len()).expect("a string takes at most 65535 bytes"));
        self.fixed(bytes);
    }

    /// The number of elements of a slice.
    ///
    /// # Panics
    /// The number is above 2^32-1.
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

    /// The type id before a value of an interface.
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
