//! The linear codec, version 0: consensus bytes of transactions, UTXOs, blocks and genesis.
//!
//! Integers are big-endian. A [`Reader`] fails with the reference's texts; a [`Writer`] can't fail. Types
//! implement [`Encode`] and [`Decode`] without the version, which only the outermost value carries.

mod error;
mod reader;
mod writer;

use crate::ids::{Id, ShortId};

pub use error::CodecError;
pub use reader::Reader;
pub use writer::Writer;

/// The only version.
pub const VERSION: u16 = 0;
/// Bytes of the version prefix.
pub const VERSION_LEN: usize = 2;
/// Most bytes of a transaction, UTXO or block.
pub const MAX_SIZE: usize = 262_144;
/// Most bytes of a genesis.
pub const MAX_GENESIS_SIZE: usize = i32::MAX as usize;
/// Most elements of a slice, bytes included.
pub const MAX_SLICE_LEN: usize = i32::MAX as usize;

/// A value with consensus bytes.
pub trait Encode {
    /// Appends the value's bytes, without version.
    fn encode(&self, w: &mut Writer);

    /// The version and the value's bytes.
    fn to_versioned_bytes(&self) -> Vec<u8> {
        let mut w = Writer::new();
        w.u16(VERSION);
        self.encode(&mut w);
        w.into_vec()
    }
}

/// A value that is read from consensus bytes. Any bytes give a value or an error.
pub trait Decode: Sized {
    /// Reads the value, without version, and leaves the reader behind it.
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError>;

    /// Reads the version and the value. `max` is the most allowed bytes, and no bytes may be left over.
    fn from_versioned_bytes(bytes: &[u8], max: usize) -> Result<Self, CodecError> {
        let mut r = Reader::versioned(bytes, max)?;
        let value = Self::decode(&mut r)?;
        r.finish()?;
        Ok(value)
    }
}

/// Implements the traits with one method of the reader and one of the writer.
macro_rules! by_method {
    ($($type:ty, $method:ident, [$($deref:tt)?]);*) => {
        $(
            impl Encode for $type {
                fn encode(&self, w: &mut Writer) {
                    w.$method($($deref)? self);
                }
            }

            impl Decode for $type {
                fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
                    r.$method()
                }
            }
        )*
    };
}

by_method!(u32, u32, [*]; u64, u64, [*]; Id, id, []; ShortId, short_id, []);
