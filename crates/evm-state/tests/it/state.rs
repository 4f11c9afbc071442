//! The state against a plain model: latest rows, any height, roots, wipes, pruning.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_rlp::Encodable as _;
use alloy_trie::{EMPTY_ROOT_HASH, HashBuilder, KECCAK_EMPTY, Nibbles};
use esker_evm_state::state::{
    AccountChange, AccountParts, ApplyOptions, BlockState, StateChanges, StateTries, StateVersion,
    StateView, prune, tables,
};
use esker_evm_state::types::{Account, AccountCodec};
use esker_storage::{KvRead, KvStore, MemoryStore, Overlay, Scope, WriteSet};
use proptest::prelude::*;

const SCOPE: Scope = Scope(3);

/// Leaves of all five fields.
#[derive(Debug)]
struct FiveFields;

impl AccountCodec for FiveFields {
    fn encode_account(&self, account: &Account, out: &mut Vec<u8>) {
        account.encode(out);
    }
}

/// Accounts with their storage, as a map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Model(BTreeMap<Address, (AccountParts, BTreeMap<U256, U256>)>);

impl Model {
    fn apply(&mut self, changes: &StateChanges) {
        for (address, change) in changes {
            let Some(parts) = change.account else {
                self.0.remove(address);
                continue;
            };
            let entry = self.0.entry(*address).or_insert((parts, BTreeMap::new()));
            entry.0 = parts;
            if change.wiped {
                entry.1.clear();
            }
            for (slot, value) in &change.slots {
                if value.is_zero() {
                    entry.1.remove(slot)
                } else {
                    entry.1.insert(*slot, *value)
                };
            }
        }
    }

    fn account(&self, address: &Address) -> Option<Account> {
        let (parts, slots) = self.0.get(address)?;
        let leaves = slots
            .iter()
            .map(|(slot, value)| (keccak256(B256::from(*slot)), alloy_rlp::encode(value)));
        Some(Account {
            nonce: parts.nonce,
            balance: parts.balance,
            storage_root: root_of(leaves.collect()),
            code_hash: parts.code_hash,
            is_multi_coin: parts.is_multi_coin,
        })
    }

    fn root(&self) -> B256 {
        let leaf = |address: &Address| {
            let mut leaf = Vec::new();
            FiveFields.encode_account(&self.account(address).unwrap(), &mut leaf);
            (keccak256(address), leaf)
        };
        root_of(self.0.keys().map(leaf).collect())
    }
}

fn root_of(leaves: BTreeMap<B256, Vec<u8>>) -> B256 {
    let mut builder = HashBuilder::default();
    for (key, value) in &leaves {
        builder.add_leaf(Nibbles::unpack(key), value);
    }
    if leaves.is_empty() { EMPTY_ROOT_HASH } else { builder.root() }
}

fn write(reader: &dyn KvRead, root: B256, height: u64, changes: &StateChanges) -> (B256, WriteSet) {
    let mut out = WriteSet::default();
    let options = ApplyOptions { preimages: true };
    let state = BlockState {
        codec: &FiveFields,
        below: reader,
        scope: SCOPE,
        root,
        height,
        options,
        base: None,
    };
    (state.apply(changes, &mut out).unwrap(), out)
}

fn check(reader: &dyn KvRead, at: StateVersion, model: &Model, root: B256) {
    let view = StateView::new(reader, SCOPE, at);
    assert_eq!(view.root().unwrap(), root, "{at:?}");
    for address in (0..6).map(Address::repeat_byte) {
        let account = view.account(&address).unwrap();
        assert_eq!(account, model.account(&address), "{at:?} {address}");
        for slot in (0..5).map(U256::from) {
            let want = model.0.get(&address).and_then(|(_, slots)| slots.get(&slot));
            let got = view.storage(&address, slot).unwrap();
            assert_eq!(got, want.copied().unwrap_or_default(), "{at:?} {address} {slot}");
            let storage_root = account.map_or(EMPTY_ROOT_HASH, |a| a.storage_root);
            let key = B256::from(slot);
            let proof = view.prove_storage(storage_root, &address, key).unwrap();
            let leaf = want.map(alloy_rlp::encode);
            assert_eq!(proof.value, leaf, "{at:?} {address} {slot}");
        }
        let proof = view.prove_account(root, &address).unwrap();
        assert_eq!(proof.value.is_some(), account.is_some());
    }
}

/// Checks walks in parts of any size: they return the content of the model in the order of hashes.
fn check_walks(reader: &dyn KvRead, at: StateVersion, model: &Model, steps: usize) {
    let view = StateView::new(reader, SCOPE, at);
    let found = walked(|from| {
        let part = view.walk_accounts(from, steps).unwrap();
        assert!(part.found.len() <= steps.max(1), "{at:?}");
        (part.found, part.next)
    });
    let all = model.0.keys().map(|address| (keccak256(address), model.account(address).unwrap()));
    let all: BTreeMap<_, _> = all.collect();
    assert_eq!(found, all.into_iter().collect::<Vec<_>>(), "{at:?} in parts of {steps}");
    for address in (0..6).map(Address::repeat_byte) {
        let account = keccak256(address);
        let found = walked(|from| {
            let part = view.walk_slots(account, from, steps).unwrap();
            (part.found, part.next)
        });
        let slots = model.0.get(&address).map(|(_, slots)| slots.clone()).unwrap_or_default();
        let all = slots.iter().map(|(slot, value)| (keccak256(B256::from(*slot)), *value));
        let all: BTreeMap<_, _> = all.collect();
        assert_eq!(found, all.into_iter().collect::<Vec<_>>(), "{at:?} {address} by {steps}");
        // The address of an existing account is known.
        if model.0.contains_key(&address) {
            assert_eq!(view.address_of(account).unwrap(), Some(address));
        }
        for slot in slots.keys().map(|slot| B256::from(*slot)) {
            assert_eq!(view.slot_of(keccak256(slot)).unwrap(), Some(slot));
        }
    }
}

/// The parts of a walk, put together.
fn walked<T>(part: impl Fn(B256) -> (Vec<(B256, T)>, Option<B256>)) -> Vec<(B256, T)> {
    let (mut all, mut from) = (Vec::new(), Some(B256::ZERO));
    while let Some(at) = from {
        let (found, next) = part(at);
        all.extend(found);
        assert!(next.is_none_or(|next| next > at), "the walk goes on");
        from = next;
    }
    all
}

/// Checks the accounts whose rows a block changed: all that differ from before, and perhaps more.
fn check_changed(reader: &dyn KvRead, height: u64, before: &Model, after: &Model) {
    let view = StateView::new(reader, SCOPE, StateVersion::Latest);
    let mut changed = std::collections::BTreeSet::new();
    view.changed_accounts(height, |hash| {
        changed.insert(hash);
    })
    .unwrap();
    for address in (0..6).map(Address::repeat_byte) {
        let differs = before.account(&address) != after.account(&address);
        assert!(!differs || changed.contains(&keccak256(address)), "block {height}: {address}");
    }
}

fn changes() -> impl Strategy<Value = StateChanges> {
    let parts = (0u64..4, 0u64..1000, any::<bool>()).prop_map(|(nonce, balance, has_code)| {
        let code_hash = if has_code { keccak256(b"code") } else { KECCAK_EMPTY };
        let (nonce, balance) = (nonce + 1, U256::from(balance));
        AccountParts { nonce, balance, code_hash, is_multi_coin: nonce == 4 }
    });
    let slots = proptest::collection::btree_map(
        (0u64..5).prop_map(U256::from),
        (0u64..4).prop_map(|v| U256::from(v) << (v * 40)),
        0..5,
    );
    let change = (proptest::option::weighted(0.8, parts), any::<bool>(), any::<bool>(), slots)
        .prop_map(|(account, wipe, wipe_too, slots)| AccountChange {
            account,
            code: account.map(|_| (keccak256(b"code"), Bytes::from_static(b"code"))),
            wiped: account.is_none() || (wipe && wipe_too),
            slots: if account.is_none() { BTreeMap::new() } else { slots },
        });
    let address = (0u8..6).prop_map(Address::repeat_byte);
    proptest::collection::btree_map(address, change, 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Blocks one after another, some of them still undecided, with deletes, wipes and re-creation: the
    /// latest state, every older one, and their proofs are the model's.
    #[test]
    fn every_height_reads_as_it_was(
        blocks in proptest::collection::vec(changes(), 1..10),
        undecided in 0usize..3,
        steps in 0usize..9,
    ) {
        let store = MemoryStore::new();
        let mut model = Model::default();
        let (mut root, mut history) = (EMPTY_ROOT_HASH, Vec::new());
        let mut layers = Vec::new();
        for (height, changes) in (0u64..).zip(&blocks) {
            let reader = Overlay::new(store.snapshot().unwrap(), layers.clone());
            let writes;
            (root, writes) = write(&reader, root, height, changes);
            model.apply(changes);
            prop_assert_eq!(root, model.root());
            history.push((model.clone(), root));
            if usize::try_from(height).unwrap() + undecided < blocks.len() {
                store.write(&writes).unwrap();
            } else {
                layers.insert(0, std::sync::Arc::new(writes));
            }
        }
        let reader = Overlay::new(store.snapshot().unwrap(), layers);
        check(&reader, StateVersion::Latest, &model, root);
        check_walks(&reader, StateVersion::Latest, &model, steps);
        for (height, (model, root)) in (0u64..).zip(&history) {
            check(&reader, StateVersion::AtHeight(height), model, *root);
            check_walks(&reader, StateVersion::AtHeight(height), model, steps);
        }
        for (height, pair) in (1u64..).zip(history.windows(2)) {
            check_changed(&reader, height, &pair[0].0, &pair[1].0);
        }
        // Roots of simulated blocks are computed on any state, however old.
        for (base, (_, root)) in history.iter().enumerate() {
            let view = StateView::new(&reader, SCOPE, StateVersion::AtHeight(base as u64));
            let mut tries = StateTries::new(&FiveFields, view, *root).unwrap();
            for (changes, (_, root)) in blocks.iter().zip(&history).skip(base + 1) {
                prop_assert_eq!(tries.apply(changes).unwrap(), *root);
            }
        }
        let coded = history.iter().any(|(model, _)| !model.0.is_empty());
        let code = StateView::new(&reader, SCOPE, StateVersion::Latest).code(keccak256(b"code"));
        prop_assert_eq!(code.is_ok(), coded);
    }
}

/// Ten thousand blocks over few accounts: roots at the end and on the way are the model's, pruning keeps
/// the window and leaves no undo row below it.
#[test]
fn slow_a_long_history_is_pruned_to_its_window() {
    const WINDOW: u64 = 32;
    const BLOCKS: u64 = 10_000;
    let store = MemoryStore::new();
    let mut model = Model::default();
    let (mut root, mut history) = (EMPTY_ROOT_HASH, BTreeMap::new());
    for height in 0..BLOCKS {
        let seed = keccak256(height.to_be_bytes());
        let address = Address::repeat_byte(seed[0] % 6);
        let gone = seed[1] % 16 == 0;
        let change = AccountChange {
            account: (!gone).then(|| AccountParts {
                nonce: height,
                balance: U256::from(seed[2]),
                code_hash: KECCAK_EMPTY,
                is_multi_coin: false,
            }),
            code: None,
            wiped: gone || seed[3] % 32 == 0,
            slots: (0..u64::from(seed[4] % 3))
                .filter(|_| !gone)
                .map(|i| (U256::from(seed[5] % 5) + U256::from(i), U256::from(seed[6] % 8)))
                .collect(),
        };
        let changes = BTreeMap::from([(address, change)]);
        let reader = store.snapshot().unwrap();
        let mut writes;
        (root, writes) = write(reader.as_ref(), root, height, &changes);
        if let Some(old) = height.checked_sub(WINDOW) {
            prune(reader.as_ref(), SCOPE, old, &mut writes).unwrap();
        }
        store.write(&writes).unwrap();
        model.apply(&changes);
        history.insert(height, (model.clone(), root));
        history.retain(|at, _| at + WINDOW >= height);
        if height % 1_000 == 999 {
            assert_eq!(root, model.root(), "block {height}");
        }
    }
    let reader = store.snapshot().unwrap();
    for (height, (model, root)) in &history {
        check(reader.as_ref(), StateVersion::AtHeight(*height), model, *root);
    }
    let mut undo_rows = 0;
    for prefix in [
        tables::ACCOUNT_UNDO.prefix(SCOPE),
        tables::SLOT_UNDO.prefix(SCOPE),
        tables::NODE_UNDO.prefix(SCOPE),
        tables::STORAGE_NODE_UNDO.prefix(SCOPE),
    ] {
        let mut visit = |key: &[u8], _: &[u8]| {
            let height = u64::from_be_bytes(key[key.len() - 8..].try_into().unwrap());
            assert!(height + WINDOW >= BLOCKS, "an undo row of block {height} is left");
            undo_rows += 1;
            std::ops::ControlFlow::Continue(())
        };
        reader.scan(&prefix, None, &mut visit).unwrap();
    }
    assert!(undo_rows > 0);
}
