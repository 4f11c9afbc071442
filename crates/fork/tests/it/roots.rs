//! Properties: what a fork reads equals the model, and roots after changes equal those of the whole trie.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_trie::{EMPTY_ROOT_HASH, Nibbles};
use esker_evm_state::trie::{TrieUpdate, prove};
use esker_evm_state::types::Account;
use esker_fork::state::Lookup;
use esker_fork::{BaseView, Fork, ForkError, ForkOptions, Misses, Want, verify_proof};
use proptest::prelude::*;

use crate::server::{Server, within};
use crate::world::{Entries, Entry, World, address, leaf, trie};

/// A change of an account; `None` deletes it.
type Change = Option<(U256, BTreeMap<U256, U256>)>;

fn entries() -> impl Strategy<Value = Entries> {
    let slots = prop::collection::btree_map(0u64..40, 1u64..1000, 0..12);
    let entry = (1u64..9, any::<u64>(), slots, any::<bool>()).prop_map(
        |(nonce, balance, slots, has_code)| Entry {
            nonce,
            balance: U256::from(balance),
            code: if has_code { Bytes::from(vec![1, nonce as u8]) } else { Bytes::new() },
            slots: slots
                .into_iter()
                .map(|(slot, value)| (U256::from(slot), U256::from(value)))
                .collect(),
        },
    );
    prop::collection::btree_map(0u64..60, entry, 0..25)
        .prop_map(|all| all.into_iter().map(|(n, entry)| (address(n), entry)).collect())
}

fn changes() -> impl Strategy<Value = BTreeMap<Address, Change>> {
    let value = prop_oneof![2 => Just(0u64), 1 => 1u64..1000];
    let slots = prop::collection::btree_map(0u64..40, value, 0..20).prop_map(|slots| {
        slots.into_iter().map(|(slot, value)| (U256::from(slot), U256::from(value))).collect()
    });
    let change = prop::option::weighted(0.5, (any::<u64>().prop_map(U256::from), slots));
    prop::collection::btree_map(0u64..60, change, 0..40)
        .prop_map(|all| all.into_iter().map(|(n, change)| (address(n), change)).collect())
}

/// The model after changes.
fn changed(entries: &Entries, changes: &BTreeMap<Address, Change>) -> Entries {
    let mut entries = entries.clone();
    for (address, change) in changes {
        match change {
            None => drop(entries.remove(address)),
            Some((balance, slots)) => {
                let entry = entries.entry(*address).or_default();
                entry.balance = *balance;
                for (slot, value) in slots {
                    match value.is_zero() {
                        true => entry.slots.remove(slot),
                        false => entry.slots.insert(*slot, *value),
                    };
                }
            }
        }
    }
    entries
}

/// The root after changes, over what is known; `None` if something is missing.
fn root_over(
    view: BaseView<'_>,
    root: B256,
    changes: &BTreeMap<Address, Change>,
    is_c_chain: bool,
) -> Option<B256> {
    let mut accounts = TrieUpdate::new(view.account_nodes(), root);
    let mut is_whole = true;
    for (address, change) in changes {
        let Lookup::Known(before) = view.account(address) else {
            is_whole = false;
            continue;
        };
        let updated = match change {
            None => accounts.remove(keccak256(address)),
            Some((balance, slots)) => {
                let storage = before.map_or(EMPTY_ROOT_HASH, |b| b.storage_root.unwrap());
                let mut storage = TrieUpdate::new(view.storage_nodes(*address), storage);
                for (slot, value) in slots {
                    // As a run: a slot is read before it is written.
                    is_whole &= view.slot(address, *slot).known().is_some();
                    let key = keccak256(B256::from(*slot));
                    let set = match value.is_zero() {
                        true => storage.remove(key),
                        false => storage.insert(key, alloy_rlp::encode(value)),
                    };
                    if set.is_err() {
                        return None;
                    }
                }
                let before = before.map(|b| b.parts);
                let account = Account {
                    nonce: before.map_or(0, |b| b.nonce),
                    balance: *balance,
                    storage_root: storage.root(),
                    code_hash: before.map_or(keccak256([]), |b| b.code_hash),
                    is_multi_coin: false,
                };
                accounts.insert(keccak256(address), leaf(&account, is_c_chain))
            }
        };
        if updated.is_err() {
            return None;
        }
    }
    is_whole.then(|| accounts.root())
}

/// Runs until nothing is missing.
async fn root_of(fork: &Fork, changes: &BTreeMap<Address, Change>, is_c_chain: bool) -> B256 {
    for _ in 0..1000 {
        let misses = Misses::default();
        let root = fork.pin().header.state_root;
        if let Some(root) = root_over(fork.view(&misses), root, changes, is_c_chain) {
            return root;
        }
        assert!(!misses.is_empty(), "a run fails only with misses");
        within("a fetch", fork.fetch(&misses)).await.unwrap();
    }
    panic!("the misses do not end");
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn roots_after_changes_are_true(
        entries in entries(),
        changes in changes(),
        is_c_chain in any::<bool>(),
    ) {
        let make = if is_c_chain { World::c_chain } else { World::new };
        let (world, after) = (make(entries.clone()), make(changed(&entries, &changes)));
        let root = runtime().block_on(async {
            let server = Server::start(move |request, _| world.act(request)).await;
            let fork = server.fork(ForkOptions::default()).await;
            root_of(&fork, &changes, is_c_chain).await
        });
        prop_assert_eq!(root, after.root);
    }

    #[test]
    fn reads_equal_the_model(
        entries in entries(),
        reads in prop::collection::vec((0u64..60, 0u64..40), 0..60),
    ) {
        let model = World::new(entries);
        let world = model.clone();
        runtime().block_on(async {
            let server = Server::start(move |request, _| world.act(request)).await;
            let fork = server.fork(ForkOptions::default()).await;
            let misses = Misses::default();
            for (n, slot) in &reads {
                misses.add(Want::Account(address(*n)));
                misses.add(Want::Slot(address(*n), U256::from(*slot)));
            }
            within("a fetch", fork.fetch(&misses)).await.unwrap();
            let view = fork.view(&misses);
            for (n, slot) in &reads {
                let at = address(*n);
                let account = view.account(&at).known().unwrap();
                let expected = model.account(&at);
                assert_eq!(account, expected.map(Into::into));
                let slot = U256::from(*slot);
                assert_eq!(view.slot(&at, slot).known().unwrap(), model.slot(&at, slot));
                if let Some(expected) = expected {
                    let code = view.code(expected.code_hash).known().unwrap();
                    assert_eq!(code, model.entries[&at].code);
                }
            }
            assert!(misses.is_empty());
        });
    }

    /// Keys with long common prefixes, so that nodes are embedded in their parents.
    #[test]
    fn proofs_are_verified(
        leaves in prop::collection::btree_map((0u8..3, any::<u8>()), 1u64..300, 0..40),
        key in (0u8..3, any::<u8>()),
        changed in any::<prop::sample::Index>(),
    ) {
        let at = |(first, last): (u8, u8)| {
            let mut key = B256::ZERO;
            (key[0], key[31]) = (first, last);
            key
        };
        let (root, rows) = trie(leaves.iter().map(|(key, value)| (at(*key), alloy_rlp::encode(value))));
        let proof = prove(&rows, root, at(key)).unwrap();
        let proven = verify_proof(root, at(key), &proof.nodes).unwrap();
        prop_assert_eq!(&proven.value, &leaves.get(&key).map(alloy_rlp::encode));
        let nodes: Vec<_> = proven.nodes.iter().map(|(_, rlp)| rlp.clone()).collect();
        prop_assert_eq!(&nodes, &proof.nodes);
        for (path, _) in &proven.nodes {
            prop_assert!(Nibbles::unpack(at(key)).starts_with(path));
        }
        if proof.nodes.is_empty() {
            return Ok(());
        }
        let node = changed.index(proof.nodes.len());
        let mut wrong = proof.nodes.clone();
        let mut bytes = wrong[node].to_vec();
        let byte = changed.index(bytes.len());
        bytes[byte] ^= 1;
        wrong[node] = bytes.into();
        prop_assert!(verify_proof(root, at(key), &wrong).is_err());
        prop_assert!(verify_proof(root, at(key), &proof.nodes[..node]).is_err());
        prop_assert!(verify_proof(B256::ZERO, at(key), &proof.nodes).is_err());
    }
}

#[tokio::test]
async fn a_node_without_a_key_is_an_error() {
    let world = World::new(crate::world::sample());
    let server = Server::start(move |request, _| world.act(request)).await;
    let fork = server.fork(ForkOptions::default()).await;
    for (path, text) in
        [(vec![1; 7], "more than 6 nibbles"), (vec![1; 4], "the trie has no node of its own there")]
    {
        let misses = Misses::default();
        misses.add(Want::AccountNode(Nibbles::from_nibbles(&path)));
        let error = within("a fetch", fork.fetch(&misses)).await.unwrap_err();
        assert!(matches!(error, ForkError::NoProofOfNode { .. }), "{error}");
        assert!(error.to_string().contains(text), "{error}");
    }
}
