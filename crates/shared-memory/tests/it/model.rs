//! Random blocks over the real layers, compared with a plain map.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use esker_primitives::ids::{ChainId, Id};
use esker_shared_memory::{Cursor, Element, Requests, apply, get, indexed};
use esker_storage::{KvRead, KvStore, MemoryStore, Overlay, PendingWrites, WriteSet};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;

const CHAINS: u8 = 3;
const KEYS: u8 = 5;
const TRAITS: u8 = 4;

fn chain(number: u8) -> ChainId {
    Id::new([number; 32])
}

/// The content of each space (destination, source) under each key: value and traits, or a tombstone.
type Model = BTreeMap<(ChainId, ChainId), BTreeMap<Vec<u8>, Option<Element>>>;

/// A short second implementation of the rules.
fn apply_to_model(
    model: &Model,
    this: ChainId,
    requests: &BTreeMap<ChainId, Requests>,
) -> Option<Model> {
    let mut model = model.clone();
    for (peer, requests) in requests {
        let incoming = model.entry((this, *peer)).or_default();
        for key in &requests.removes {
            match incoming.remove(key) {
                None => incoming.insert(key.clone(), None),
                Some(Some(_)) => None,
                Some(None) => return None,
            };
        }
        let outgoing = model.entry((*peer, this)).or_default();
        for element in &requests.puts {
            match outgoing.remove(&element.key) {
                None => outgoing.insert(element.key.clone(), Some(element.clone())),
                Some(None) => None,
                Some(Some(_)) => return None,
            };
        }
    }
    Some(model)
}

/// The whole order of a query: trait and key of each element.
fn listed(
    space: &BTreeMap<Vec<u8>, Option<Element>>,
    traits: &BTreeSet<Vec<u8>>,
) -> Vec<(Cursor, Vec<u8>)> {
    let mut list: Vec<_> = space
        .values()
        .flatten()
        .filter_map(|element| {
            let name = element.traits.iter().filter(|name| traits.contains(*name)).min()?.clone();
            Some((Cursor { name, key: element.key.clone() }, element.value.clone()))
        })
        .collect();
    list.sort();
    list
}

fn check_get(reader: &dyn KvRead, model: &Model, this: ChainId, peer: ChainId) {
    for key in 0..KEYS {
        let expected = model.get(&(this, peer)).and_then(|space| space.get(&vec![key])?.as_ref());
        let found = get(reader, &this, &peer, &[vec![key]]).ok();
        assert_eq!(found, expected.map(|element| vec![element.value.clone()]));
    }
}

/// Walks all pages of `limit`, and checks them against the model.
fn check_walk(
    reader: &dyn KvRead,
    model: &Model,
    (this, peer): (ChainId, ChainId),
    traits: &BTreeSet<Vec<u8>>,
    limit: usize,
) {
    let empty = BTreeMap::new();
    let expected = listed(model.get(&(this, peer)).unwrap_or(&empty), traits);
    let mut walked = Vec::new();
    let mut start = None;
    loop {
        let page = indexed(reader, &this, &peer, traits, start.as_ref(), limit).unwrap();
        assert!(page.keys.len() <= limit);
        walked.extend(page.keys.into_iter().zip(page.values));
        assert!(walked.len() <= expected.len());
        match page.last {
            Some(last) => start = Some(last),
            None => break,
        }
    }
    let expected: Vec<_> =
        expected.into_iter().map(|(cursor, value)| (cursor.key, value)).collect();
    assert_eq!(walked, expected);
}

fn some_element() -> impl Strategy<Value = Element> {
    let traits = vec(vec(0..TRAITS, 1..=2), 0..4);
    (0..KEYS, vec(any::<u8>(), 0..3), traits).prop_map(|(key, value, traits)| Element {
        key: vec![key],
        value,
        traits,
    })
}

fn some_requests() -> impl Strategy<Value = Requests> {
    let removes = vec((0..KEYS).prop_map(|key| vec![key]), 0..3);
    (vec(some_element(), 0..4), removes).prop_map(|(puts, removes)| Requests { puts, removes })
}

#[derive(Clone, Debug)]
struct Step {
    this: u8,
    requests: BTreeMap<u8, Requests>,
    /// Whether the oldest undecided block is committed afterwards.
    commits: bool,
    traits: BTreeSet<Vec<u8>>,
    limit: usize,
}

fn some_step() -> impl Strategy<Value = Step> {
    let requests = btree_map(0..CHAINS, some_requests(), 0..3);
    let traits = btree_set(vec(0..TRAITS, 1..=2), 0..5);
    (0..CHAINS, requests, any::<bool>(), traits, 1..4_usize).prop_map(
        |(this, requests, commits, traits, limit)| Step { this, requests, commits, traits, limit },
    )
}

proptest! {
    #[test]
    fn blocks_match_the_model(steps in vec(some_step(), 1..12)) {
        let store = MemoryStore::new();
        let mut layers: Vec<Arc<WriteSet>> = Vec::new();
        let mut model = Model::new();
        for step in steps {
            let this = chain(step.this);
            let requests: BTreeMap<_, _> = step
                .requests
                .into_iter()
                // No chain exchanges with itself.
                .filter(|(peer, _)| *peer != step.this)
                .map(|(peer, requests)| (chain(peer), requests))
                .collect();
            let overlay = Overlay::new(store.snapshot().unwrap(), layers.clone());
            let mut pending = PendingWrites::new(&overlay);
            match (apply(&mut pending, &this, &requests), apply_to_model(&model, this, &requests)) {
                (Ok(()), Some(after)) => model = after,
                (Err(_), None) => prop_assert!(pending.writes.is_empty()),
                (outcome, model) => panic!("{outcome:?}, but the model says {model:?}"),
            }
            for this in (0..CHAINS).map(chain) {
                for peer in (0..CHAINS).map(chain) {
                    check_get(&pending, &model, this, peer);
                    check_walk(&pending, &model, (this, peer), &step.traits, step.limit);
                }
            }
            let writes = pending.into_writes();
            layers.insert(0, Arc::new(writes));
            if step.commits && let Some(oldest) = layers.pop() {
                store.write(&oldest).unwrap();
            }
        }
        // A space that everything was removed from leaves nothing behind.
        while let Some(oldest) = layers.pop() {
            store.write(&oldest).unwrap();
        }
        if model.values().all(BTreeMap::is_empty) {
            prop_assert!(store.snapshot().unwrap().seek(&[]).unwrap().is_none());
        }
    }

    #[test]
    fn any_bytes_in_the_index_are_an_error_or_a_page(key in vec(any::<u8>(), 0..80), value in vec(any::<u8>(), 0..40)) {
        let store = MemoryStore::new();
        let mut set = WriteSet::new();
        set.put(&[&[0, 0, 0x20][..], &key].concat(), &value);
        set.put(&[&[0, 0, 0x21][..], &[0; 64], &[1, 7], &key].concat(), &[]);
        store.write(&set).unwrap();
        let reader = store.snapshot().unwrap();
        let traits = BTreeSet::from([vec![7]]);
        let _ = indexed(&*reader, &Id::ZERO, &Id::ZERO, &traits, None, 10);
        let _ = get(&*reader, &Id::ZERO, &Id::ZERO, &[key]);
    }
}
