//! What is known of one part, with what proves it.

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_trie::Nibbles;

use super::facts::{Fact, Trie};
use super::known::Tables;
use crate::misses::Want;

impl Tables {
    /// The facts of a part, after the nodes that prove it; `None` if it is not known.
    pub(super) fn facts_about(&self, want: &Want) -> Option<Vec<Fact>> {
        match want {
            Want::Account(address) => self.account_facts(address),
            Want::Slot(address, slot) => self.slot_facts(address, *slot),
            Want::Code(hash) => {
                let code = self.codes.get(hash)?.clone();
                Some(vec![Fact::Code { hash: *hash, code }])
            }
            Want::BlockHash(number) => self.ancestor_facts(*number),
            // A node alone is proved by nothing: it comes with a key below it.
            Want::AccountNode(path) => {
                self.nodes.get(&(Trie::Accounts, *path))?;
                let mut below = self.addresses.iter().filter(|(hash, _)| is_below(path, hash));
                below.find_map(|(_, address)| self.account_facts(address))
            }
            Want::StorageNode(address, path) => {
                self.nodes.get(&(Trie::Storage(keccak256(address)), *path))?;
                let mut below = self.slot_keys.iter().filter(|(hash, _)| is_below(path, hash));
                below.find_map(|(_, slot)| self.slot_facts(address, *slot))
            }
        }
    }

    fn account_facts(&self, address: &Address) -> Option<Vec<Fact>> {
        let (account, is_proven) = *self.accounts.get(address)?;
        let mut facts: Vec<Fact> = self.node_facts(Trie::Accounts, keccak256(address)).collect();
        facts.push(Fact::Account { address: *address, account, is_proven });
        let hash = account.map(|account| account.parts.code_hash);
        if let Some((hash, code)) = hash.and_then(|hash| self.codes.get_key_value(&hash)) {
            facts.push(Fact::Code { hash: *hash, code: code.clone() });
        }
        Some(facts)
    }

    fn slot_facts(&self, address: &Address, slot: U256) -> Option<Vec<Fact>> {
        let (value, is_proven) = *self.slots.get(&(*address, slot))?;
        // A slot is proved by its account.
        let mut facts = self.account_facts(address).unwrap_or_default();
        let key = keccak256(B256::from(slot));
        facts.extend(self.node_facts(Trie::Storage(keccak256(address)), key));
        facts.push(Fact::Slot { address: *address, slot, value, is_proven });
        Some(facts)
    }

    fn ancestor_facts(&self, number: u64) -> Option<Vec<Fact>> {
        let above = number.checked_add(1)?;
        self.ancestors.get(&above)?;
        let headers = self.ancestors.range(above..).rev();
        Some(
            headers
                .map(|(number, (parent, json))| Fact::Ancestor {
                    number: *number,
                    parent: *parent,
                    json: json.clone(),
                })
                .collect(),
        )
    }

    /// The known nodes on the way to a key, with their paths.
    pub(super) fn nodes_along(
        &self,
        trie: Trie,
        key: B256,
    ) -> impl Iterator<Item = (Nibbles, &Bytes)> {
        let key = Nibbles::unpack(key);
        (0..=key.len()).filter_map(move |length| {
            let path = key.slice(..length);
            Some((path, self.nodes.get(&(trie, path))?))
        })
    }

    fn node_facts(&self, trie: Trie, key: B256) -> impl Iterator<Item = Fact> {
        let nodes = self.nodes_along(trie, key);
        nodes.map(move |(path, rlp)| Fact::Node { trie, path, rlp: rlp.clone() })
    }
}

fn is_below(path: &Nibbles, hash: &B256) -> bool {
    Nibbles::unpack(hash).starts_with(path)
}
