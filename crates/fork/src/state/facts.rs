//! What is learned about the base state.

use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_rlp::{Decodable, Header as RlpHeader};
use alloy_trie::{EMPTY_ROOT_HASH, KECCAK_EMPTY, Nibbles};
use esker_evm_state::state::AccountParts;
use esker_evm_state::types::Account;

use crate::pin::HeaderForm;

/// The bit that is set in the keys of balances of other assets: the lowest one of the first byte.
const ASSET_BIT: usize = 248;

/// An account of the base state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BaseAccount {
    /// Nonce, balance, hash of the code.
    pub parts: AccountParts,
    /// The root of its storage; `None` if the account is not proved.
    pub storage_root: Option<B256>,
}

impl BaseAccount {
    /// An account that only the source vouches for.
    pub(crate) fn claimed(nonce: u64, balance: U256, code_hash: B256) -> Self {
        let parts = AccountParts { nonce, balance, code_hash, is_multi_coin: false };
        Self { parts, storage_root: None }
    }

    /// The account as a state reads it. Without a proof the storage root is not known: it is zero if the account may
    /// have storage, so that slots are looked up, and no root can be computed over it.
    pub fn to_account(&self) -> Account {
        let may_have_storage = self.has_code() || self.parts.nonce > 0;
        let unproven = if may_have_storage { B256::ZERO } else { EMPTY_ROOT_HASH };
        self.parts.with_storage(self.storage_root.unwrap_or(unproven))
    }

    /// Whether it is proved to have no storage.
    pub fn is_without_storage(&self) -> bool {
        self.storage_root == Some(EMPTY_ROOT_HASH)
    }

    /// Whether it has code.
    pub fn has_code(&self) -> bool {
        self.parts.code_hash != KECCAK_EMPTY
    }
}

impl From<Account> for BaseAccount {
    fn from(account: Account) -> Self {
        let Account { nonce, balance, storage_root, code_hash, is_multi_coin } = account;
        let parts = AccountParts { nonce, balance, code_hash, is_multi_coin };
        Self { parts, storage_root: Some(storage_root) }
    }
}

/// Decodes a leaf of the account trie: four fields, or the C-Chain's five.
pub(crate) fn decode_account(leaf: &[u8]) -> alloy_rlp::Result<Account> {
    let mut rest = leaf;
    let mut list = RlpHeader::decode_bytes(&mut rest, true)?;
    let b = &mut list;
    let mut account = Account {
        nonce: Decodable::decode(b)?,
        balance: Decodable::decode(b)?,
        storage_root: Decodable::decode(b)?,
        code_hash: Decodable::decode(b)?,
        is_multi_coin: false,
    };
    if !b.is_empty() {
        account.is_multi_coin = Decodable::decode(b)?;
    }
    match b.is_empty() && rest.is_empty() {
        true => Ok(account),
        false => Err(alloy_rlp::Error::UnexpectedLength),
    }
}

/// Decodes a leaf of a storage trie.
pub(crate) fn decode_slot(leaf: &[u8]) -> alloy_rlp::Result<U256> {
    let mut rest = leaf;
    let value = U256::decode(&mut rest)?;
    if rest.is_empty() { Ok(value) } else { Err(alloy_rlp::Error::UnexpectedLength) }
}

/// Whether a slot of a C-Chain has the balance of another asset: code can't read it as a slot, and sources show it only in
/// proofs.
pub(crate) fn is_of_asset(form: HeaderForm, slot: U256) -> bool {
    form == HeaderForm::CChain && slot.bit(ASSET_BIT)
}

/// The trie of a node: of the accounts, or the storage of the account with a hashed address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Trie {
    Accounts,
    Storage(B256),
}

/// One thing that was read. Nodes precede what they prove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fact {
    Node {
        trie: Trie,
        path: Nibbles,
        rlp: Bytes,
    },
    Account {
        address: Address,
        account: Option<BaseAccount>,
        is_proven: bool,
    },
    Slot {
        address: Address,
        slot: U256,
        value: U256,
        is_proven: bool,
    },
    Code {
        hash: B256,
        code: Bytes,
    },
    /// The header of a block before the pinned one: its hash is the parent hash of the next one. They are kept in descending
    /// order without gaps.
    Ancestor {
        number: u64,
        parent: B256,
        json: Arc<str>,
    },
    /// What the node has to know of the chain, by a name.
    Text {
        name: Arc<str>,
        text: Arc<str>,
    },
}

impl Fact {
    /// Approximate bytes in memory.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Node { rlp, .. } => 120 + rlp.len(),
            Self::Account { .. } => 240,
            Self::Slot { .. } => 120,
            Self::Code { code, .. } => 80 + code.len(),
            Self::Ancestor { json, .. } => 80 + json.len(),
            Self::Text { name, text } => 80 + name.len() + text.len(),
        }
    }
}

/// Whether a fact is proved, or checked by its hash.
pub(crate) fn is_checked(fact: &Fact) -> bool {
    match fact {
        Fact::Account { is_proven, .. } | Fact::Slot { is_proven, .. } => *is_proven,
        Fact::Node { .. } | Fact::Code { .. } | Fact::Ancestor { .. } | Fact::Text { .. } => true,
    }
}
