//! The encoding of rows of the state.

use alloy_primitives::{B256, U256, U512};
use alloy_trie::{EMPTY_ROOT_HASH, KECCAK_EMPTY};
use esker_storage::ValueCodec;

use crate::types::Account;

/// A stored account. The two hashes are left out if they are those of an account without storage or code.
///
/// `flags u8 | nonce: length u8, bytes | balance: length u8, bytes | [storage root 32] | [code hash 32]`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredAccount(pub Account);

const HAS_STORAGE: u8 = 1;
const HAS_CODE: u8 = 2;
const IS_MULTI_COIN: u8 = 4;

impl ValueCodec for StoredAccount {
    fn encode_value(&self, out: &mut Vec<u8>) {
        let Account { nonce, balance, storage_root, code_hash, is_multi_coin } = self.0;
        let (has_storage, has_code) = (storage_root != EMPTY_ROOT_HASH, code_hash != KECCAK_EMPTY);
        out.push(
            u8::from(has_storage) * HAS_STORAGE
                + u8::from(has_code) * HAS_CODE
                + u8::from(is_multi_coin) * IS_MULTI_COIN,
        );
        put_number(out, U256::from(nonce));
        put_number(out, balance);
        if has_storage {
            out.extend_from_slice(storage_root.as_slice());
        }
        if has_code {
            out.extend_from_slice(code_hash.as_slice());
        }
    }

    fn decode_value(mut bytes: &[u8]) -> Option<Self> {
        let (&flags, rest) = bytes.split_first()?;
        bytes = rest;
        let nonce = take_number(&mut bytes)?.try_into().ok()?;
        let balance = take_number(&mut bytes)?;
        let mut hash = |flag: u8, default: B256| -> Option<B256> {
            if flags & flag == 0 {
                return Some(default);
            }
            let (hash, rest) = bytes.split_first_chunk::<32>()?;
            bytes = rest;
            Some(B256::from(*hash))
        };
        let storage_root = hash(HAS_STORAGE, EMPTY_ROOT_HASH)?;
        let code_hash = hash(HAS_CODE, KECCAK_EMPTY)?;
        let is_multi_coin = flags & IS_MULTI_COIN != 0;
        let account = Account { nonce, balance, storage_root, code_hash, is_multi_coin };
        bytes.is_empty().then_some(Self(account))
    }
}

fn put_number(out: &mut Vec<u8>, number: U256) {
    let bytes = number.to_be_bytes_trimmed_vec();
    out.push(u8::try_from(bytes.len()).expect("a number has at most 32 bytes"));
    out.extend_from_slice(&bytes);
}

fn take_number(bytes: &mut &[u8]) -> Option<U256> {
    let (&length, rest) = bytes.split_first()?;
    let (number, rest) = rest.split_at_checked(usize::from(length))?;
    *bytes = rest;
    U256::try_from_be_slice(number)
}

/// A storage value without its leading zeros; never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredSlot(pub U256);

impl ValueCodec for StoredSlot {
    fn encode_value(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0.to_be_bytes_trimmed_vec());
    }

    fn decode_value(bytes: &[u8]) -> Option<Self> {
        U256::try_from_be_slice(bytes).map(Self)
    }
}

/// A sum of amounts without its leading zeros; never zero. Amounts of 256 bits may add up to more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredSum(pub U512);

impl ValueCodec for StoredSum {
    fn encode_value(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0.to_be_bytes_trimmed_vec());
    }

    fn decode_value(bytes: &[u8]) -> Option<Self> {
        U512::try_from_be_slice(bytes).map(Self)
    }
}

/// Keys of undo rows, complete: a list of `length u16 | key`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UndoKeys(pub Vec<Vec<u8>>);

impl ValueCodec for UndoKeys {
    fn encode_value(&self, out: &mut Vec<u8>) {
        for key in &self.0 {
            let length = u16::try_from(key.len()).expect("a key of the store is short");
            out.extend_from_slice(&length.to_be_bytes());
            out.extend_from_slice(key);
        }
    }

    fn decode_value(mut bytes: &[u8]) -> Option<Self> {
        let mut keys = Vec::new();
        while let Some((length, rest)) = bytes.split_first_chunk::<2>() {
            let (key, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
            keys.push(key.to_vec());
            bytes = rest;
        }
        bytes.is_empty().then_some(Self(keys))
    }
}
