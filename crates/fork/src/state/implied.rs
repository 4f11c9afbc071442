//! What known nodes prove besides the parts they were read for: a branch without a child proves that no key below it has a value.

use alloy_primitives::{Address, B256, keccak256};
use alloy_trie::EMPTY_ROOT_HASH;

use super::facts::{BaseAccount, Fact, Trie, decode_account, decode_slot};
use super::known::Tables;
use crate::misses::Want;
use crate::proof::verify_proof;

impl Tables {
    /// The account or slot that is wanted, if the known nodes prove it from the state root on.
    pub(super) fn implied(&self, state_root: B256, want: &Want) -> Option<Fact> {
        match want {
            Want::Account(address) => {
                let account = self.implied_account(state_root, *address)?;
                Some(Fact::Account { address: *address, account, is_proven: true })
            }
            Want::Slot(address, slot) => {
                let storage_root = self.storage_root(state_root, *address)?;
                let trie = Trie::Storage(keccak256(address));
                let leaf = self.leaf(storage_root, trie, keccak256(B256::from(*slot)))?;
                let value = leaf.as_deref().map(decode_slot).transpose().ok()?;
                let value = value.unwrap_or_default();
                Some(Fact::Slot { address: *address, slot: *slot, value, is_proven: true })
            }
            Want::Code(_) | Want::BlockHash(_) | Want::AccountNode(_) | Want::StorageNode(..) => {
                None
            }
        }
    }

    fn implied_account(&self, state_root: B256, address: Address) -> Option<Option<BaseAccount>> {
        let leaf = self.leaf(state_root, Trie::Accounts, keccak256(address))?;
        let account = leaf.as_deref().map(decode_account).transpose().ok()?;
        Some(account.map(BaseAccount::from))
    }

    /// The proven storage root of an account.
    fn storage_root(&self, state_root: B256, address: Address) -> Option<B256> {
        let account = match self.accounts.get(&address) {
            Some((account, true)) => *account,
            _ => self.implied_account(state_root, address)?,
        };
        account.map_or(Some(EMPTY_ROOT_HASH), |account| account.storage_root)
    }

    /// The leaf of a key, `None` in it if there is none; `None` if a node on the way is not known.
    fn leaf(&self, root: B256, trie: Trie, key: B256) -> Option<Option<Vec<u8>>> {
        let nodes: Vec<_> = self.nodes_along(trie, key).map(|(_, rlp)| rlp.clone()).collect();
        verify_proof(root, key, &nodes).ok().map(|proven| proven.value)
    }
}
