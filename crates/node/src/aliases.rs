//! Chain aliases. The text of a chain's ID is always an alias; the first alias is the primary one.

use std::collections::HashMap;

use esker_chain::Aliases;
use esker_primitives::sync::RwLock;
use esker_primitives::{ChainId, excerpt};
use esker_settings::networks::MAX_ALIAS_BYTES;
use thiserror::Error;

/// Most aliases of a node, configured and added.
pub const MAX_ALIASES: usize = 16_384;

/// The reason why an alias was not added. The texts are the reference's if it has them.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum AliasError {
    /// A chain has this alias already.
    #[error("alias already mapped to an ID: {}", excerpt(.0))]
    Taken(String),
    /// The alias is longer than [`MAX_ALIAS_BYTES`].
    #[error("alias length is too long")]
    TooLong,
    /// The table has [`MAX_ALIASES`] aliases.
    #[error("too many aliases: {MAX_ALIASES}")]
    Full,
}

#[derive(Debug, Default)]
struct Names {
    ids: HashMap<String, ChainId>,
    /// In the order of registration.
    aliases: HashMap<ChainId, Vec<String>>,
}

/// Aliases to blockchain IDs and back. Aliases may be added while the node runs; none is ever removed.
#[derive(Debug)]
pub struct AliasTable {
    names: RwLock<Names>,
}

impl Default for AliasTable {
    fn default() -> Self {
        Self { names: RwLock::new(Names::default()) }
    }
}

impl AliasTable {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers a chain: its aliases in order, then its ID's text. The first is the primary alias, so the addresses
    /// of a chain without aliases have its ID as their prefix.
    pub fn add_chain<S: AsRef<str>>(
        &self,
        chain: ChainId,
        aliases: &[S],
    ) -> Result<(), AliasError> {
        for alias in aliases {
            self.add(chain, alias.as_ref())?;
        }
        self.add(chain, &chain.to_string())
    }

    /// Adds an alias of a chain, known or not.
    pub fn add(&self, chain: ChainId, alias: &str) -> Result<(), AliasError> {
        if alias.len() > MAX_ALIAS_BYTES {
            return Err(AliasError::TooLong);
        }
        let mut names = self.names.write();
        if names.ids.contains_key(alias) {
            return Err(AliasError::Taken(alias.to_owned()));
        }
        if names.ids.len() >= MAX_ALIASES {
            return Err(AliasError::Full);
        }
        names.ids.insert(alias.to_owned(), chain);
        names.aliases.entry(chain).or_default().push(alias.to_owned());
        Ok(())
    }
}

impl Aliases for AliasTable {
    fn lookup(&self, alias_or_id: &str) -> Option<ChainId> {
        self.names.read().ids.get(alias_or_id).copied()
    }

    fn primary_alias(&self, chain: &ChainId) -> Option<String> {
        self.names.read().aliases.get(chain).and_then(|all| all.first().cloned())
    }

    fn aliases(&self, chain: &ChainId) -> Vec<String> {
        self.names.read().aliases.get(chain).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u8) -> ChainId {
        ChainId::new([n; 32])
    }

    #[test]
    fn the_first_name_is_the_primary_one_and_the_id_is_a_name() {
        let table = AliasTable::new();
        table.add_chain(id(1), &["X", "xvm", "avm"]).unwrap();
        table.add_chain::<&str>(id(2), &[]).unwrap();
        assert_eq!(table.lookup("avm"), Some(id(1)));
        assert_eq!(table.lookup(&id(1).to_string()), Some(id(1)));
        assert_eq!(table.lookup("x"), None, "names are case-sensitive");
        assert_eq!(table.primary_alias(&id(1)).as_deref(), Some("X"));
        assert_eq!(table.primary_alias(&id(2)), Some(id(2).to_string()));
        assert_eq!(table.aliases(&id(1)), ["X", "xvm", "avm", &id(1).to_string()]);
        assert!(table.aliases(&id(3)).is_empty());
    }

    #[test]
    fn names_are_added_while_running_and_never_taken_over() {
        let table = AliasTable::new();
        table.add_chain(id(1), &["X"]).unwrap();
        table.add(id(1), "mine").unwrap();
        assert_eq!(table.lookup("mine"), Some(id(1)));
        assert_eq!(table.primary_alias(&id(1)).as_deref(), Some("X"));
        assert_eq!(
            table.add(id(2), "mine").unwrap_err().to_string(),
            "alias already mapped to an ID: mine"
        );
        assert_eq!(table.add(id(1), &"a".repeat(513)), Err(AliasError::TooLong));
    }
}
