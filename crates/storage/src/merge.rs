//! Lookups and ordered scans through layers of changes over a reader.

use std::collections::btree_map;
use std::iter::Peekable;
use std::ops::{Bound, ControlFlow};

use crate::error::StorageResult;
use crate::rows::{Entry, KvRead, Visitor};
use crate::write_set::WriteSet;

/// Layers of changes, the newest first, over a reader.
pub(crate) struct Layered<'a, L> {
    pub(crate) layers: L,
    pub(crate) base: &'a dyn KvRead,
}

type Range<'a> = Peekable<btree_map::Range<'a, Box<[u8]>, Option<Box<[u8]>>>>;

impl<'a, L> Layered<'a, L>
where
    L: Iterator<Item = &'a WriteSet> + Clone,
{
    /// Like [`KvRead::get_with`].
    pub(crate) fn get_with(&self, key: &[u8], f: &mut dyn FnMut(&[u8])) -> StorageResult<bool> {
        match self.changed(key) {
            Some(Some(value)) => {
                f(value);
                Ok(true)
            }
            Some(None) => Ok(false),
            None => self.base.get_with(key, f),
        }
    }

    /// Like [`KvRead::seek_back`]: the base is read again for each entry that a layer hides.
    pub(crate) fn seek_back(&self, key: &[u8]) -> StorageResult<Option<Entry>> {
        let ours = self.last_live(key);
        let mut theirs = self.base.seek_back(key)?;
        while let Some((found, _)) = &theirs {
            if ours.is_some_and(|(key, _)| key >= found.as_slice()) {
                break;
            }
            if self.changed(found).is_none() {
                return Ok(theirs);
            }
            theirs = self.below(found)?;
        }
        Ok(ours.map(|(key, value)| (key.to_vec(), value.to_vec())))
    }

    /// Like [`KvRead::scan`]: one walk of the base, with the layers' changes merged in.
    pub(crate) fn scan(
        &self,
        prefix: &[u8],
        from: Option<&[u8]>,
        visit: &mut Visitor<'_>,
    ) -> StorageResult<()> {
        let start = from.map_or(prefix, |from| from.max(prefix));
        let mut ranges = self.ranges(start);
        let mut pending = next_change(&mut ranges).filter(|(key, _)| key.starts_with(prefix));
        let mut ended = false;
        self.base.scan(prefix, Some(start), &mut |base_key, base_value| {
            let mut hidden = false;
            while let Some((key, value)) = pending {
                if key > base_key {
                    break;
                }
                hidden = key == base_key;
                if let Some(value) = value
                    && visit(key, value).is_break()
                {
                    ended = true;
                    return ControlFlow::Break(());
                }
                pending = next_change(&mut ranges).filter(|(key, _)| key.starts_with(prefix));
            }
            if !hidden && visit(base_key, base_value).is_break() {
                ended = true;
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        while !ended && let Some((key, value)) = pending {
            if let Some(value) = value {
                ended = visit(key, value).is_break();
            }
            pending = next_change(&mut ranges).filter(|(key, _)| key.starts_with(prefix));
        }
        Ok(())
    }

    /// The newest change of `key` in the layers.
    fn changed(&self, key: &[u8]) -> Option<Option<&'a [u8]>> {
        self.layers.clone().find_map(|layer| layer.get(key))
    }

    fn ranges(&self, from: &[u8]) -> Vec<Range<'a>> {
        let bounds = (Bound::Included(from), Bound::Unbounded);
        self.layers.clone().map(|layer| layer.map().range::<[u8], _>(bounds).peekable()).collect()
    }

    /// Last key at or below `key` that the layers set, unless a newer layer deletes it.
    fn last_live(&self, key: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
        let mut bound = Bound::Included(key);
        loop {
            let last = self
                .layers
                .clone()
                .filter_map(|layer| {
                    layer.map().range::<[u8], _>((Bound::Unbounded, bound)).next_back()
                })
                .map(|(key, _)| &**key)
                .max()?;
            if let Some(Some(value)) = self.changed(last) {
                return Some((last, value));
            }
            bound = Bound::Excluded(last);
        }
    }

    /// Last base entry strictly below `key`.
    fn below(&self, key: &[u8]) -> StorageResult<Option<Entry>> {
        let Some(at_most) = predecessor_bound(key) else { return Ok(None) };
        let found = self.base.seek_back(&at_most)?;
        debug_assert!(found.as_ref().is_none_or(|(found, _)| found.as_slice() < key));
        Ok(found)
    }
}

/// The lowest key of all ranges with its newest change, stepping every range that has the key.
fn next_change<'a>(ranges: &mut [Range<'a>]) -> Option<(&'a [u8], Option<&'a [u8]>)> {
    let lowest =
        ranges.iter_mut().filter_map(|range| range.peek().map(|(key, _)| &***key)).min()?;
    let mut newest = None;
    for range in ranges {
        if let Some((_, value)) = range.next_if(|(key, _)| &***key == lowest) {
            newest = newest.or(Some(value.as_deref()));
        }
    }
    newest.map(|value| (lowest, value))
}

/// The greatest key below `key` that a store can have; `None` if there is none.
fn predecessor_bound(key: &[u8]) -> Option<Vec<u8>> {
    let (last, head) = key.split_last()?;
    let mut bound = head.to_vec();
    if let Some(lower) = last.checked_sub(1) {
        bound.push(lower);
        bound.resize(crate::rows::MAX_KEY_LEN, 0xff);
    }
    (!bound.is_empty()).then_some(bound)
}
