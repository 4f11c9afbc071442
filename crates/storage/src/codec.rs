//! Encoding of keys and values. Encoded keys sort like their values: integers are big-endian.

use esker_primitives::ids::{Id, ShortId};

/// A key, or a part of one. The encoding of a type has a fixed length, except for byte strings, which can only be the
/// last part.
pub trait KeyCodec {
    /// Appends the key's bytes.
    fn encode_key(&self, out: &mut Vec<u8>);
    /// Decodes a key at the front of `bytes` and removes it; `None` if they are invalid.
    fn decode_key(bytes: &mut &[u8]) -> Option<Self>
    where
        Self: Sized;
}

/// A value of a table.
pub trait ValueCodec: Sized {
    /// Appends the value's bytes.
    fn encode_value(&self, out: &mut Vec<u8>);
    /// Decodes all of `bytes`; `None` if they are invalid.
    fn decode_value(bytes: &[u8]) -> Option<Self>;
}

impl<const N: usize> KeyCodec for [u8; N] {
    fn encode_key(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }

    fn decode_key(bytes: &mut &[u8]) -> Option<Self> {
        let (head, tail) = bytes.split_first_chunk()?;
        *bytes = tail;
        Some(*head)
    }
}

impl<const N: usize> ValueCodec for [u8; N] {
    fn encode_value(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }

    fn decode_value(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok()
    }
}

macro_rules! integers {
    ($($integer:ty),*) => {$(
        impl KeyCodec for $integer {
            fn encode_key(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_be_bytes());
            }

            fn decode_key(bytes: &mut &[u8]) -> Option<Self> {
                KeyCodec::decode_key(bytes).map(Self::from_be_bytes)
            }
        }

        impl ValueCodec for $integer {
            fn encode_value(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_be_bytes());
            }

            fn decode_value(bytes: &[u8]) -> Option<Self> {
                ValueCodec::decode_value(bytes).map(Self::from_be_bytes)
            }
        }
    )*};
}
integers!(u8, u16, u32, u64, u128);

impl KeyCodec for () {
    fn encode_key(&self, _: &mut Vec<u8>) {}

    fn decode_key(_: &mut &[u8]) -> Option<Self> {
        Some(())
    }
}

impl ValueCodec for () {
    fn encode_value(&self, _: &mut Vec<u8>) {}

    fn decode_value(bytes: &[u8]) -> Option<Self> {
        bytes.is_empty().then_some(())
    }
}

impl KeyCodec for [u8] {
    fn encode_key(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }
}

impl KeyCodec for Vec<u8> {
    fn encode_key(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }

    fn decode_key(bytes: &mut &[u8]) -> Option<Self> {
        Some(std::mem::take(bytes).to_vec())
    }
}

impl ValueCodec for Vec<u8> {
    fn encode_value(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }

    fn decode_value(bytes: &[u8]) -> Option<Self> {
        Some(bytes.to_vec())
    }
}

impl ValueCodec for bytes::Bytes {
    fn encode_value(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }

    fn decode_value(bytes: &[u8]) -> Option<Self> {
        Some(Self::copy_from_slice(bytes))
    }
}

impl ValueCodec for String {
    fn encode_value(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_bytes());
    }

    fn decode_value(bytes: &[u8]) -> Option<Self> {
        std::str::from_utf8(bytes).ok().map(str::to_owned)
    }
}

macro_rules! tuples {
    ($(($($part:ident $index:tt),*)),*) => {$(
        impl<$($part: KeyCodec),*> KeyCodec for ($($part,)*) {
            fn encode_key(&self, out: &mut Vec<u8>) {
                $(self.$index.encode_key(out);)*
            }

            fn decode_key(bytes: &mut &[u8]) -> Option<Self> {
                Some(($($part::decode_key(bytes)?,)*))
            }
        }
    )*};
}
tuples!((A 0, B 1), (A 0, B 1, C 2), (A 0, B 1, C 2, D 3));

macro_rules! identifiers {
    ($($id:ty),*) => {$(
        impl KeyCodec for $id {
            fn encode_key(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(self.as_bytes());
            }

            fn decode_key(bytes: &mut &[u8]) -> Option<Self> {
                KeyCodec::decode_key(bytes).map(Self::new)
            }
        }

        impl ValueCodec for $id {
            fn encode_value(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(self.as_bytes());
            }

            fn decode_value(bytes: &[u8]) -> Option<Self> {
                ValueCodec::decode_value(bytes).map(Self::new)
            }
        }
    )*};
}
identifiers!(Id, ShortId);
