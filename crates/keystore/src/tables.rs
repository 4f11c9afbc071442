//! The keystore's rows, in the node-wide scope. Tags 0x30 to 0x3f there belong to this file.

use esker_primitives::codec::CodecError;
use esker_primitives::codec::{Decode, Encode, Reader, Writer};
use esker_storage::{Table, ValueCodec};

use crate::cipher::{NONCE_LEN, SALT_LEN};

/// sha256 of a user's name: names can be longer than a key of the store.
pub(crate) type UserKey = [u8; 32];

/// Users by [`UserKey`].
pub(crate) const USERS: Table<UserKey, UserRecord> = Table::new(0x30, "keystore user");

/// Values of users: the user's key, then the value's own, of 52 or 64 bytes (see [`crate::blob`]).
pub(crate) const VALUES: Table<(UserKey, Vec<u8>), EncryptedValue> =
    Table::new(0x31, "keystore value");

/// A user: its data key under its password's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UserRecord {
    pub(crate) name: String,
    pub(crate) salt: [u8; SALT_LEN],
    pub(crate) nonce: [u8; NONCE_LEN],
    pub(crate) wrapped: Vec<u8>,
}

/// A value under its user's data key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EncryptedValue {
    pub(crate) nonce: [u8; NONCE_LEN],
    pub(crate) ciphertext: Vec<u8>,
}

impl UserRecord {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        // A name comes from a JSON string, so it is UTF-8; damage is found by the cipher.
        let name = String::from_utf8_lossy(r.bytes()?).into_owned();
        let (salt, nonce) = (r.fixed()?, r.fixed()?);
        Ok(Self { name, salt, nonce, wrapped: r.bytes()?.to_vec() })
    }
}

impl ValueCodec for UserRecord {
    fn encode_value(&self, out: &mut Vec<u8>) {
        let mut w = Writer::default();
        w.bytes(self.name.as_bytes());
        w.fixed(&self.salt);
        w.fixed(&self.nonce);
        w.bytes(&self.wrapped);
        out.extend_from_slice(w.as_slice());
    }

    fn decode_value(bytes: &[u8]) -> Option<Self> {
        let mut r = Reader::new(bytes);
        let record = Self::decode(&mut r).ok()?;
        r.finish().ok().map(|()| record)
    }
}

impl ValueCodec for EncryptedValue {
    fn encode_value(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.nonce);
        out.extend_from_slice(&self.ciphertext);
    }

    fn decode_value(bytes: &[u8]) -> Option<Self> {
        let (nonce, ciphertext) = bytes.split_first_chunk()?;
        Some(Self { nonce: *nonce, ciphertext: ciphertext.to_vec() })
    }
}

/// The addresses of a user on one chain, in the order in which they came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AddressList(pub(crate) Vec<esker_primitives::ShortId>);

impl Encode for AddressList {
    fn encode(&self, w: &mut Writer) {
        w.len(self.0.len());
        for address in &self.0 {
            w.short_id(address);
        }
    }
}

impl Decode for AddressList {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        let n = r.slice_len()?;
        (0..n).map(|_| r.short_id()).collect::<Result<_, _>>().map(Self)
    }
}
