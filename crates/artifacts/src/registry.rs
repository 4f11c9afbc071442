//! Finding contracts by their code, and decoding by their names.

use std::collections::HashSet;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

use alloy_primitives::B256;
use esker_primitives::sync::Mutex;
use lru::LruCache;

use crate::catalog::Catalog;
use crate::contract::Contract;
use crate::decode::{Decoded, unnamed};
use crate::standards;

/// Codes whose contract is remembered.
const CACHED: NonZeroUsize = NonZeroUsize::new(1024).expect("it is not zero");
/// Most contracts of compilers' outputs that are kept, the newest ones.
const MAX_ADDED: usize = 10_000;
/// Most bytes of them.
const MAX_ADDED_BYTES: usize = 64 << 20;

/// The contracts that are known at the moment. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Registry(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Locked while an index is made, so that those who read wait for none.
    sources: Mutex<Sources>,
    current: Mutex<Current>,
}

/// Where contracts come from.
#[derive(Default)]
struct Sources {
    /// Of folders.
    loaded: Vec<Arc<Contract>>,
    /// Of compilers' outputs, oldest first.
    added: Vec<Arc<Contract>>,
}

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (loaded, added) = (self.loaded.len(), self.added.len());
        f.debug_struct("Sources").field("loaded", &loaded).field("added", &added).finish()
    }
}

/// The index of all of them.
struct Current {
    catalog: Arc<Catalog>,
    /// By the hash of their code.
    found: LruCache<B256, Option<Found>>,
}

impl Default for Current {
    fn default() -> Self {
        Self { catalog: Arc::default(), found: LruCache::new(CACHED) }
    }
}

impl fmt::Debug for Current {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Current").field("found", &self.found.len()).finish_non_exhaustive()
    }
}

/// The contract of a code.
#[derive(Clone, Debug)]
pub struct Found {
    /// The contract, the first one by its file.
    pub contract: Arc<Contract>,
    /// The number of further contracts with the same code and another name.
    pub others: usize,
}

impl Found {
    /// Whether it has the function of call data.
    pub fn has_function(&self, data: &[u8]) -> bool {
        let functions = &self.contract.abi.functions;
        data.first_chunk::<4>().is_some_and(|selector| functions.contains_key(selector))
    }

    /// Whether it has the event of these topics.
    pub fn has_event(&self, topics: &[B256]) -> bool {
        let events = &self.contract.abi.events;
        topics.split_first().is_some_and(|(first, rest)| events.contains_key(&(*first, rest.len())))
    }

    /// Its name, and how many others have the same code.
    pub fn label(&self) -> Arc<str> {
        match self.others {
            0 => Arc::clone(&self.contract.name),
            others => format!("{} (+{others} with the same code)", self.contract.name).into(),
        }
    }
}

impl Registry {
    /// Whether no contract with code is known.
    pub fn is_empty(&self) -> bool {
        self.catalog().is_empty()
    }

    /// Replaces the contracts of folders.
    pub fn replace(&self, contracts: Vec<Arc<Contract>>) {
        let mut sources = self.0.sources.lock();
        sources.loaded = contracts;
        self.index(&sources);
    }

    /// Adds the contracts of a compiler's output, which go before earlier ones of the same file and name.
    pub fn add(&self, contracts: Vec<Arc<Contract>>) {
        let mut sources = self.0.sources.lock();
        let added = &mut sources.added;
        let place = |one: &Arc<Contract>| (Arc::clone(&one.origin), Arc::clone(&one.name));
        let new: HashSet<_> = contracts.iter().map(place).collect();
        added.retain(|one| !new.contains(&place(one)));
        added.extend(contracts);
        let (mut kept, mut bytes) = (0, 0_usize);
        for contract in added.iter().rev().take(MAX_ADDED) {
            bytes = bytes.saturating_add(contract.size());
            if bytes > MAX_ADDED_BYTES {
                break;
            }
            kept += 1;
        }
        let dropped = added.len() - kept;
        added.drain(..dropped);
        self.index(&sources);
    }

    /// The contract of a code with this hash. `code` reads it, unless the answer is remembered.
    ///
    /// # Errors
    /// `code` fails.
    pub fn contract<C: AsRef<[u8]>, E>(
        &self,
        hash: B256,
        code: impl FnOnce() -> Result<C, E>,
    ) -> Result<Option<Found>, E> {
        let catalog = {
            let mut current = self.0.current.lock();
            if current.catalog.is_empty() {
                return Ok(None);
            }
            if let Some(found) = current.found.get(&hash) {
                return Ok(found.clone());
            }
            Arc::clone(&current.catalog)
        };
        let found =
            catalog.find(code()?.as_ref()).map(|(contract, others)| Found { contract, others });
        let mut current = self.0.current.lock();
        if Arc::ptr_eq(&catalog, &current.catalog) {
            current.found.put(hash, found.clone());
        }
        Ok(found)
    }

    /// Decodes call data: by the contract, else by any that has such a function, else by the standards. Call data of a
    /// known contract has a text in any case.
    pub fn call(&self, found: Option<&Found>, data: &[u8]) -> Option<Decoded> {
        let Some((selector, arguments)) = data.split_first_chunk::<4>() else {
            return found.map(|found| with_contract(found, Decoded::undecoded(unnamed(data))));
        };
        let own =
            found.and_then(|found| Some((found, found.contract.abi.functions.get(selector)?)));
        if let Some((found, item)) = own {
            let decoded = item.decode(arguments).unwrap_or_else(|| item.malformed(data));
            return Some(with_contract(found, decoded));
        }
        let catalog = self.catalog();
        let items = [catalog.all.functions.get(selector), standards::abi().functions.get(selector)];
        let decoded = items.into_iter().flatten().find_map(|item| item.decode(arguments));
        match found {
            None => decoded,
            Some(found) => {
                let decoded = decoded.unwrap_or_else(|| Decoded::undecoded(unnamed(data)));
                Some(with_contract(found, decoded))
            }
        }
    }

    /// Decodes the arguments with which a contract is created; `None` if it takes none, or if the data are not its init code.
    pub fn creation(&self, found: Option<&Found>, data: &[u8]) -> Option<Decoded> {
        let found = found?;
        let constructor = found.contract.abi.constructor.as_ref()?;
        let arguments = found.contract.init_code.as_ref()?.arguments(data)?;
        let decoded = constructor.decode(arguments).unwrap_or_else(|| constructor.malformed(data));
        Some(with_contract(found, decoded))
    }

    /// Decodes an event: by the contract, else by any that has such an event, else by the standards.
    pub fn event(&self, found: Option<&Found>, topics: &[B256], data: &[u8]) -> Option<Decoded> {
        let key = (*topics.first()?, topics.len() - 1);
        let catalog = self.catalog();
        let items = [
            found.and_then(|found| found.contract.abi.events.get(&key)),
            catalog.all.events.get(&key),
            standards::abi().events.get(&key),
        ];
        let decoded =
            items.into_iter().flatten().find_map(|item| item.decode_event(topics, data))?;
        Some(Decoded { contract: found.map(Found::label), ..decoded })
    }

    /// Decodes the data of a revert that is a custom error of any contract, or of the standards.
    pub fn error(&self, data: &[u8]) -> Option<Decoded> {
        let (selector, arguments) = data.split_first_chunk::<4>()?;
        let catalog = self.catalog();
        let items = [catalog.all.errors.get(selector), standards::abi().errors.get(selector)];
        items.into_iter().flatten().find_map(|item| item.decode(arguments))
    }

    fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.0.current.lock().catalog)
    }

    /// Makes the index anew. The caller holds the lock of the sources.
    fn index(&self, sources: &Sources) {
        let all = sources.loaded.iter().chain(&sources.added).cloned();
        let catalog = Arc::new(Catalog::new(all));
        let mut current = self.0.current.lock();
        current.catalog = catalog;
        current.found.clear();
    }
}

fn with_contract(found: &Found, decoded: Decoded) -> Decoded {
    Decoded { contract: Some(found.label()), ..decoded }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// A compiler's output of thousands of contracts takes long, and each failed call decodes its error.
    #[test]
    fn readers_do_not_wait_for_an_index() {
        let registry = Registry::default();
        let _indexing = registry.0.sources.lock();
        let (reader, (done, answer)) = (registry.clone(), channel());
        thread::spawn(move || {
            let error = reader.error(&[0x11, 0x8c, 0xda, 0xa7]);
            let found = reader.contract(B256::ZERO, || Ok::<_, ()>([1])).unwrap();
            done.send((error, found.is_none(), reader.is_empty())).unwrap();
        });
        let answer = answer.recv_timeout(Duration::from_secs(60));
        assert_eq!(answer, Ok((None, true, true)), "readers wait for the lock of the sources");
    }
}
