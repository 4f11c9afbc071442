//! Roots of lists, compared with those in a header.

use alloy_primitives::B256;
use alloy_rlp::BufMut;
use alloy_trie::root::ordered_trie_root_with_encoder;
use thiserror::Error;

use crate::json::FieldError;

/// The reason why a list is not that of its block.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BodyFault {
    /// A field is missing or has another form.
    #[error("entry {index} of the {list}: {fault}")]
    Form {
        /// What the list has.
        list: &'static str,
        /// The position, from 0.
        index: usize,
        /// The field.
        fault: FieldError,
    },
    /// The fields give another root.
    #[error(
        "the {list} give the root {found}, and the header of the block has {expected}: an entry is wrong or missing"
    )]
    Root {
        /// What the list has.
        list: &'static str,
        /// The root of the list.
        found: B256,
        /// The root in the header.
        expected: B256,
    },
    /// The fields of a transaction give another hash.
    #[error(
        "entry {index} of the transactions: the hash is {claimed}, and the fields give {found}"
    )]
    Hash {
        /// The position, from 0.
        index: usize,
        /// The hash that the source gives.
        claimed: B256,
        /// The hash of the fields.
        found: B256,
    },
}

/// Compares the root of encoded entries.
pub(super) fn check_root(
    list: &'static str,
    entries: &[Vec<u8>],
    expected: B256,
) -> Result<(), BodyFault> {
    let found = ordered_trie_root_with_encoder(entries, |entry, out: &mut Vec<u8>| {
        out.put_slice(entry);
    });
    match found == expected {
        true => Ok(()),
        false => Err(BodyFault::Root { list, found, expected }),
    }
}
