//! Puts and removals of one block.

use std::collections::BTreeMap;

use esker_primitives::ids::{ChainId, Id, ShortId};
use esker_storage::PendingWrites;

use crate::error::{SharedMemoryError, SharedMemoryResult};
use crate::tables::{BY_TRAIT, ELEMENTS, SCOPE, Slot, Space};

/// A value that a chain leaves for a peer chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Element {
    /// Name within the space; for a UTXO its input ID.
    pub key: Vec<u8>,
    /// For a UTXO its bytes with the codec's version.
    pub value: Vec<u8>,
    /// Traits that it is listed under; for a UTXO the addresses of its owners. In any order.
    pub traits: Vec<Vec<u8>>,
}

impl Element {
    /// The element of an exported UTXO: found under its ID, and listed for each of its owners.
    pub fn for_owners(id: &Id, value: Vec<u8>, owners: &[ShortId]) -> Self {
        Self {
            key: id.as_bytes().to_vec(),
            value,
            traits: owners.iter().map(|owner| owner.as_bytes().to_vec()).collect(),
        }
    }
}

/// The changes of one block to shared memory with one peer chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// Elements for the peer.
    pub puts: Vec<Element>,
    /// Keys of elements that the peer put and this chain consumes.
    pub removes: Vec<Vec<u8>>,
}

impl Requests {
    /// Adds the changes of a later transaction of the same block with the same peer.
    pub fn merge(&mut self, later: Self) {
        self.puts.extend(later.puts);
        self.removes.extend(later.removes);
    }
}

/// Applies the changes of a block of `this` chain, by peer: first the removals, then the puts. After an error the
/// pending writes are unchanged.
///
/// - A put of a key that is there is an error; of a key whose removal came before it, it ends that removal's note.
/// - A removal of a key that is not there is noted; of a key whose removal is already noted, it is an error.
pub fn apply(
    pending: &mut PendingWrites<'_>,
    this: &ChainId,
    requests: &BTreeMap<ChainId, Requests>,
) -> SharedMemoryResult<()> {
    let mut inner = PendingWrites::new(&*pending);
    for (peer, requests) in requests {
        let incoming = Space { destination: *this, source: *peer };
        for key in &requests.removes {
            remove(&mut inner, &incoming, key)?;
        }
        let outgoing = Space { destination: *peer, source: *this };
        for element in &requests.puts {
            put(&mut inner, &outgoing, element)?;
        }
    }
    let writes = inner.into_writes();
    pending.writes.merge(&writes);
    Ok(())
}

fn put(
    pending: &mut PendingWrites<'_>,
    space: &Space,
    element: &Element,
) -> SharedMemoryResult<()> {
    let key = space.key(&element.key)?;
    match ELEMENTS.get(pending, SCOPE, &key)? {
        Some(Slot::Tombstone) => ELEMENTS.delete(pending, SCOPE, &key),
        Some(Slot::Present { .. }) => {
            return Err(SharedMemoryError::DuplicatePut {
                key: element.key.clone(),
                value: element.value.clone(),
            });
        }
        None => {
            let mut traits = element.traits.clone();
            traits.sort_unstable();
            traits.dedup();
            for name in &traits {
                BY_TRAIT.put(pending, SCOPE, &space.trait_key(name, &element.key)?, &());
            }
            let slot = Slot::Present { traits, value: element.value.clone() };
            ELEMENTS.put(pending, SCOPE, &key, &slot);
        }
    }
    Ok(())
}

fn remove(pending: &mut PendingWrites<'_>, space: &Space, key: &[u8]) -> SharedMemoryResult<()> {
    let stored = space.key(key)?;
    match ELEMENTS.get(pending, SCOPE, &stored)? {
        Some(Slot::Present { traits, .. }) => {
            for name in &traits {
                BY_TRAIT.delete(pending, SCOPE, &space.trait_key(name, key)?);
            }
            ELEMENTS.delete(pending, SCOPE, &stored);
        }
        Some(Slot::Tombstone) => {
            return Err(SharedMemoryError::DuplicateRemove { key: key.to_vec() });
        }
        None => ELEMENTS.put(pending, SCOPE, &stored, &Slot::Tombstone),
    }
    Ok(())
}
