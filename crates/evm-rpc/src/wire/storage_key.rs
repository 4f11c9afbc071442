//! Storage keys, which may be written short.

use alloy_primitives::{B256, U256};
use serde::{Serialize, Serializer};

use super::hexutil::{self, without_prefix};
use super::{Big, HexRef};

/// A storage key, and how its proof shows it: all 32 bytes where all were given, else as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StorageKey {
    /// The key.
    pub key: B256,
    is_whole: bool,
}

/// The reason why a text is no storage key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// A character is not a digit.
    #[error("hex string invalid")]
    Invalid,
    /// More than 32 bytes.
    #[error("hex string too long, want at most 32 bytes")]
    TooLong,
}

impl StorageKey {
    /// Reads hex with or without prefix, of any number of digits up to 64.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let digits = without_prefix(text.as_bytes()).unwrap_or(text.as_bytes());
        // An odd number of digits lacks a leading zero.
        let mut even = Vec::with_capacity(digits.len() + 1);
        if digits.len() % 2 == 1 {
            even.push(b'0');
        }
        even.extend_from_slice(digits);
        let bytes = hexutil::plain_bytes(&even).map_err(|_| KeyError::Invalid)?;
        if bytes.len() > 32 {
            return Err(KeyError::TooLong);
        }
        Ok(Self { key: B256::left_padding_from(&bytes), is_whole: bytes.len() == 32 })
    }
}

esker_rpc::text_schema!(
    StorageKey,
    "StorageKey",
    "storage key",
    "^0x[0-9a-f]{1,64}$",
    "A slot: all 32 bytes where all were given, else a number."
);

impl Serialize for StorageKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_whole {
            return HexRef(self.key.as_slice()).serialize(serializer);
        }
        Big(U256::from_be_bytes(self.key.0)).serialize(serializer)
    }
}
