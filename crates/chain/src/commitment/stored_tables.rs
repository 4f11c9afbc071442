//! The tables of the committed state in a node's store.

use std::sync::Arc;

use esker_primitives::ChainId;
use esker_storage::Scope;

use super::{SHARED_PART, StateTable};
use crate::error::ChainError;
use crate::vm::ChainVm;

/// A table of the committed state in this node's store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoredTable {
    /// The part that its rows belong to: a chain, or [`SHARED_PART`].
    pub part: ChainId,
    /// The table's tag.
    pub tag: u8,
    /// The first bytes of the stored keys: scope and tag.
    pub prefix: [u8; 3],
    /// Length of the keys without the prefix, if rows of another table share the tag.
    pub key_len: Option<usize>,
}

impl StoredTable {
    /// The key of a row without scope and tag; `None` if the stored key is of another table.
    #[must_use]
    pub fn key<'a>(&self, stored: &'a [u8]) -> Option<&'a [u8]> {
        let key = stored.strip_prefix(&self.prefix)?;
        self.key_len.is_none_or(|len| key.len() == len).then_some(key)
    }
}

/// The tables of the committed state of all chains of a node, by part and tag.
#[derive(Clone, Debug)]
pub struct StateTables {
    tables: Vec<StoredTable>,
}

impl StateTables {
    /// The tables that these chains declare.
    ///
    /// # Errors
    /// A chain with the ID of [`SHARED_PART`] has tables of its own.
    pub fn from_chains(chains: &[Arc<dyn ChainVm>]) -> Result<Self, ChainError> {
        let mut tables = Vec::new();
        for chain in chains {
            let context = chain.context();
            for StateTable { is_node_wide, tag, key_len } in chain.state_tables() {
                let (part, scope) = match is_node_wide {
                    true => (SHARED_PART, Scope::NODE),
                    false => (context.chain_id, context.scope),
                };
                if part == SHARED_PART && !is_node_wide {
                    let name = chain.name();
                    return Err(ChainError::Mismatch(format!(
                        "chain {name} has the zero ID and can have no committed tables of its own"
                    )));
                }
                let [high, low] = scope.0.to_be_bytes();
                tables.push(StoredTable { part, tag, prefix: [high, low, tag], key_len });
            }
        }
        tables.sort_unstable();
        tables.dedup();
        Ok(Self { tables })
    }

    /// The tables, ascending by part and tag.
    pub fn iter(&self) -> impl Iterator<Item = &StoredTable> {
        self.tables.iter()
    }

    /// The table of a part and tag that rows of this key length are in.
    #[must_use]
    pub fn find(&self, part: &ChainId, tag: u8, key_len: usize) -> Option<&StoredTable> {
        self.tables.iter().find(|table| {
            table.part == *part
                && table.tag == tag
                && table.key_len.is_none_or(|wanted| wanted == key_len)
        })
    }
}
