//! The trie against two other implementations and against itself built afresh.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use alloy_primitives::{B256, keccak256};
use alloy_trie::proof::verify_proof;
use alloy_trie::{EMPTY_ROOT_HASH, HashBuilder, Nibbles};
use esker_evm_state::trie::{NodeSource, TrieError, TrieUpdate, prove};
use eth_trie::{EthTrie, MemoryDB, Trie};
use proptest::prelude::*;

#[derive(Default)]
struct Rows(RefCell<BTreeMap<Nibbles, Vec<u8>>>);

impl NodeSource for Rows {
    fn node(&self, path: &Nibbles) -> Result<Option<Vec<u8>>, TrieError> {
        Ok(self.0.borrow().get(path).cloned())
    }
}

impl Rows {
    /// Applies one batch, as a block does, and gives the new root.
    fn apply(&self, root: B256, batch: &[(B256, Option<Vec<u8>>)]) -> B256 {
        let mut update = TrieUpdate::new(self, root);
        for (key, value) in batch {
            match value {
                Some(value) => update.insert(*key, value.clone()).unwrap(),
                None => update.remove(*key).unwrap(),
            }
        }
        let (root, changes) = update.finish();
        let mut rows = self.0.borrow_mut();
        for (path, rlp) in changes {
            match rlp {
                Some(rlp) => drop(rows.insert(path, rlp)),
                None => assert!(rows.remove(&path).is_some(), "deleted a row that is not there"),
            }
        }
        root
    }
}

fn root_of(model: &BTreeMap<B256, Vec<u8>>) -> B256 {
    if model.is_empty() {
        return EMPTY_ROOT_HASH;
    }
    let mut builder = HashBuilder::default();
    for (key, value) in model {
        builder.add_leaf(Nibbles::unpack(key), value);
    }
    builder.root()
}

/// Checks a trie against the model: root, rows, proofs.
fn check(rows: &Rows, root: B256, model: &BTreeMap<B256, Vec<u8>>, absent: &[B256]) {
    assert_eq!(root, root_of(model));
    let fresh = Rows::default();
    let all: Vec<_> = model.iter().map(|(key, value)| (*key, Some(value.clone()))).collect();
    assert_eq!(fresh.apply(EMPTY_ROOT_HASH, &all), root);
    assert_eq!(*fresh.0.borrow(), *rows.0.borrow(), "rows differ from a trie built afresh");
    for key in model.keys().chain(absent) {
        let proof = prove(rows, root, *key).unwrap();
        assert_eq!(proof.value.as_ref(), model.get(key));
        if root != EMPTY_ROOT_HASH {
            verify_proof(root, Nibbles::unpack(key), proof.value, &proof.nodes).unwrap();
        }
    }
}

/// Keys that share prefixes of every length, so that extensions, short nodes and collapses occur.
fn keys() -> impl Strategy<Value = B256> {
    let close = (0u8..4, 0u8..4, 0u8..3, 0u8..16).prop_map(|(first, second, deep, last)| {
        let mut key = B256::repeat_byte(0x11);
        key[0] = first * 0x10 + second;
        if deep > 0 {
            key[31] = last;
        }
        if deep > 1 {
            key[15] = 0x20 + last % 2;
        }
        key
    });
    let far = any::<u8>().prop_map(|n| keccak256([n]));
    prop_oneof![3 => close, 1 => far]
}

fn batches() -> impl Strategy<Value = Vec<Vec<(B256, Option<Vec<u8>>)>>> {
    // As in a state: RLP of numbers and of lists. One of the oracles accepts nothing else.
    let value = prop_oneof![
        1 => (1u64..300).prop_map(alloy_rlp::encode),
        1 => any::<u64>().prop_map(|n| alloy_rlp::encode(n | 1)),
        1 => proptest::collection::vec(any::<u64>(), 4..9).prop_map(alloy_rlp::encode),
    ];
    let change = (keys(), proptest::option::weighted(0.6, value));
    proptest::collection::vec(proptest::collection::vec(change, 1..12), 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn any_history_gives_the_oracles_roots(batches in batches()) {
        let rows = Rows::default();
        let mut model = BTreeMap::new();
        let mut root = EMPTY_ROOT_HASH;
        let mut other = EthTrie::new(Arc::new(MemoryDB::new(false)));
        // This trie is never written: its changes stay in memory, over the trie of the first half of the batches.
        let half = batches.len() / 2;
        let base = Rows::default();
        let base_root = batches[..half].iter().fold(root, |root, batch| base.apply(root, batch));
        let mut in_memory = TrieUpdate::new(&base, base_root);
        for (at, batch) in batches.iter().enumerate() {
            root = rows.apply(root, batch);
            if at >= half {
                for (key, value) in batch {
                    match value {
                        Some(value) => in_memory.insert(*key, value.clone()).unwrap(),
                        None => in_memory.remove(*key).unwrap(),
                    }
                }
                prop_assert_eq!(in_memory.root(), root);
                let hashed = in_memory.hashed_nodes();
                prop_assert_eq!((in_memory.root(), in_memory.hashed_nodes()), (root, hashed));
            }
            for (key, value) in batch {
                match value {
                    Some(value) => {
                        model.insert(*key, value.clone());
                        other.insert(key.as_slice(), value).unwrap();
                    }
                    None => {
                        model.remove(key);
                        other.remove(key.as_slice()).unwrap();
                    }
                }
            }
            let oracle = other.root_hash().unwrap();
            prop_assert_eq!(root.as_slice(), oracle.as_slice());
            let absent: Vec<_> = batch.iter().map(|(key, _)| *key).collect();
            check(&rows, root, &model, &absent);
        }
    }
}

/// A long life of one trie: 10,000 blocks of puts and deletes.
#[test]
fn slow_ten_thousand_blocks_end_at_the_oracle_root() {
    let rows = Rows::default();
    let mut model = BTreeMap::new();
    let mut root = EMPTY_ROOT_HASH;
    for block in 0u32..10_000 {
        let batch: Vec<_> = (0u32..4)
            .map(|i| {
                let seed = keccak256([block.to_be_bytes(), i.to_be_bytes()].concat());
                let key = keccak256([seed[0], seed[1] % 4]);
                let value =
                    (seed[2] % 3 > 0).then(|| seed[..1 + usize::from(seed[3] % 32)].to_vec());
                (key, value)
            })
            .collect();
        root = rows.apply(root, &batch);
        for (key, value) in batch {
            match value {
                Some(value) => drop(model.insert(key, value)),
                None => drop(model.remove(&key)),
            }
        }
        if block % 1_000 == 0 {
            assert_eq!(root, root_of(&model), "block {block}");
        }
    }
    check(&rows, root, &model, &[B256::ZERO]);
    let empty: Vec<_> = model.keys().map(|key| (*key, None)).collect();
    assert_eq!(rows.apply(root, &empty), EMPTY_ROOT_HASH);
    assert!(rows.0.borrow().is_empty(), "an empty trie leaves no rows");
}

#[test]
fn a_missing_node_is_named() {
    let rows = Rows::default();
    let batch: Vec<_> = (0u8..50).map(|n| (keccak256([n]), Some(vec![n; 40]))).collect();
    let root = rows.apply(EMPTY_ROOT_HASH, &batch);
    let first = *rows.0.borrow().keys().find(|path| path.len() == 1).unwrap();
    rows.0.borrow_mut().remove(&first);
    let key = (0u8..50).map(|n| keccak256([n])).find(|k| k[0] >> 4 == first.get_unchecked(0));
    let refused = prove(&rows, root, key.unwrap()).unwrap_err().to_string();
    assert!(refused.starts_with("missing trie node "), "{refused}");
    let mut update = TrieUpdate::new(&rows, root);
    assert!(matches!(update.remove(key.unwrap()), Err(TrieError::Missing { .. })));
}
