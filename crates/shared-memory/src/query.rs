//! Reads of the destination chain.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use esker_primitives::ids::ChainId;
use esker_storage::{KvRead, StorageError};

use crate::error::{SharedMemoryError, SharedMemoryResult};
use crate::tables::{BY_TRAIT, ELEMENTS, ElementView, SCOPE, Slot, Space};

/// A place in the order of [`indexed`]: a trait and the key of an element under it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor {
    /// The trait.
    pub name: Vec<u8>,
    /// The element's key.
    pub key: Vec<u8>,
}

/// Some elements, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Keys of the elements.
    pub keys: Vec<Vec<u8>>,
    /// Values of the elements, in the same order.
    pub values: Vec<Vec<u8>>,
    /// Place of the last element: the start of the next page. `None` for a page without elements.
    pub last: Option<Cursor>,
}

/// Values that `peer` left for `this` chain under `keys`, in their order.
///
/// # Errors
/// [`SharedMemoryError::NotFound`] if there is no element under one of them.
pub fn get(
    reader: &dyn KvRead,
    this: &ChainId,
    peer: &ChainId,
    keys: &[Vec<u8>],
) -> SharedMemoryResult<Vec<Vec<u8>>> {
    let space = Space { destination: *this, source: *peer };
    keys.iter()
        .map(|key| {
            // A key that cannot be put is not there.
            let key = space.key(key).map_err(|_| SharedMemoryError::NotFound)?;
            match ELEMENTS.get(reader, SCOPE, &key)? {
                Some(Slot::Present { value, .. }) => Ok(value),
                Some(Slot::Tombstone) | None => Err(SharedMemoryError::NotFound),
            }
        })
        .collect()
}

/// Up to `limit` elements that `peer` left for `this` chain and that have one of `traits`.
///
/// In ascending order of traits, under each in ascending order of keys, beginning after `start`. An element with
/// several of the traits is listed under the lowest of them only, so that pages that follow each other list each
/// element once, without any memory of earlier pages.
pub fn indexed(
    reader: &dyn KvRead,
    this: &ChainId,
    peer: &ChainId,
    traits: &BTreeSet<Vec<u8>>,
    start: Option<&Cursor>,
    limit: usize,
) -> SharedMemoryResult<Page> {
    let space = Space { destination: *this, source: *peer };
    let mut page = Page::default();
    for name in traits {
        let after = match start {
            Some(start) if *name < start.name => continue,
            Some(start) if *name == start.name => Some(start.key.as_slice()),
            _ => None,
        };
        if page.keys.len() >= limit {
            break;
        }
        list_trait(reader, &space, traits, name, after, limit, &mut page)?;
    }
    Ok(page)
}

/// Adds the elements that are listed under the trait `name`.
fn list_trait(
    reader: &dyn KvRead,
    space: &Space,
    traits: &BTreeSet<Vec<u8>>,
    name: &[u8],
    after: Option<&[u8]>,
    limit: usize,
    page: &mut Page,
) -> SharedMemoryResult<()> {
    // A trait that cannot be put has no elements.
    let Ok(prefix) = space.trait_prefix(name) else { return Ok(()) };
    let from = after.map(|key| [&prefix, key].concat());
    let mut outcome = Ok(());
    BY_TRAIT.scan(reader, SCOPE, &prefix, from.as_deref(), |index_key, _| {
        let key = &index_key[prefix.len()..];
        if after == Some(key) {
            return ControlFlow::Continue(());
        }
        match value_if_lowest(reader, space, traits, name, key) {
            Ok(Some(value)) => {
                page.keys.push(key.to_vec());
                page.values.push(value);
                page.last = Some(Cursor { name: name.to_vec(), key: key.to_vec() });
            }
            Ok(None) => {}
            Err(error) => outcome = Err(error),
        }
        if outcome.is_err() || page.keys.len() >= limit {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    outcome
}

/// The value of an element that has the trait `name`, unless it has a lower one of `traits` too.
fn value_if_lowest(
    reader: &dyn KvRead,
    space: &Space,
    traits: &BTreeSet<Vec<u8>>,
    name: &[u8],
    key: &[u8],
) -> SharedMemoryResult<Option<Vec<u8>>> {
    let damaged = || StorageError::Corrupted("shared memory: trait without its element".to_owned());
    let found = ELEMENTS.get_with(reader, SCOPE, &space.key(key)?, |bytes| {
        let element = ElementView::parse(bytes)?;
        let lowest = element.traits().find(|found| traits.contains(*found))?;
        Some((lowest == name).then(|| element.value.to_vec()))
    })?;
    Ok(found.flatten().ok_or_else(damaged)?)
}
