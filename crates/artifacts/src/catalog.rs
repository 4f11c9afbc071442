//! The index of compiled contracts by their code, and of their items by selector.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use alloy_primitives::B256;

use crate::abi::Abi;
use crate::bytecode;
use crate::contract::Contract;

/// Most lengths of appended immutables that are tried for a code.
const MAX_APPENDED: usize = 32;
/// Most contracts whose codes differ in constants only and that are compared with a code.
const MAX_ALIKE: usize = 64;

/// The index of compiled contracts. It does not change.
#[derive(Debug, Default)]
pub struct Catalog {
    /// By the code's key, in the order of their files, one for each code.
    by_code: HashMap<B256, Vec<Entry>>,
    /// The lengths of what is appended to codes.
    appended: BTreeSet<usize>,
    /// The items of all contracts. Of those with the same selector it has that of the first file.
    pub(crate) all: Abi,
}

#[derive(Debug)]
struct Entry {
    contract: Arc<Contract>,
    /// Further names of contracts with the same code.
    others: BTreeSet<Arc<str>>,
}

impl Catalog {
    /// The index of these contracts.
    pub fn new(contracts: impl IntoIterator<Item = Arc<Contract>>) -> Self {
        let mut contracts: Vec<_> = contracts.into_iter().collect();
        contracts.sort_by(|a, b| (&a.origin, &a.name).cmp(&(&b.origin, &b.name)));
        let mut catalog = Self::default();
        for contract in contracts {
            catalog.all.extend(&contract.abi);
            if !contract.code.is_empty() {
                catalog.push(contract);
            }
        }
        catalog
    }

    fn push(&mut self, contract: Arc<Contract>) {
        if self.appended.len() < MAX_APPENDED {
            self.appended.insert(contract.code.appended());
        }
        let alike = self.by_code.entry(contract.code.key()).or_default();
        let has_room = alike.len() < MAX_ALIKE;
        match alike.iter_mut().find(|entry| entry.contract.code == contract.code) {
            Some(entry) if entry.contract.name == contract.name => {}
            Some(entry) => {
                entry.others.insert(Arc::clone(&contract.name));
            }
            None if has_room => {
                alike.push(Entry { contract, others: BTreeSet::new() });
            }
            None => {}
        }
    }

    /// Whether no contract has code.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_code.is_empty()
    }

    /// The contract with this runtime code, and the number of further ones.
    pub(crate) fn find(&self, code: &[u8]) -> Option<(Arc<Contract>, usize)> {
        if self.by_code.is_empty() || code.is_empty() {
            return None;
        }
        let found = self.appended.iter().find_map(|appended| {
            let (own, _) = code.split_at_checked(code.len().checked_sub(*appended)?)?;
            let alike = self.by_code.get(&bytecode::key(own))?;
            alike.iter().find(|entry| entry.contract.code.matches(code))
        })?;
        Some((Arc::clone(&found.contract), found.others.len()))
    }
}
