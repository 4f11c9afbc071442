//! The base under a chain's state: what has no row and no undo row falls through to it.

use alloy_primitives::{B256, U256, keccak256};
use alloy_trie::Nibbles;
use esker_evm_state::state::tables::{
    ACCOUNT_UNDO, ACCOUNTS, CODE, NODE_UNDO, NODES, PathKey, SLOT_UNDO, SLOTS,
};
use esker_evm_state::state::{
    AccountNodes, StateError, StateVersion, StateView, StorageNodes, StoredAccount, StoredSlot,
};
use esker_evm_state::trie::NodeSource as _;
use esker_evm_state::types::Account;
use esker_fork::state::ForkBase;
use esker_fork::{Fork, ForkOptions, Misses, Want};
use esker_storage::{KvStore as _, MemoryStore, Scope, ValueCodec as _, WriteSet};

use crate::server::{Server, within};
use crate::world::{World, address, sample};

const SCOPE: Scope = Scope(3);

/// A fork that knows account 6 with two slots.
async fn fork(world: &World) -> (Server, Fork) {
    let answers = world.clone();
    let server = Server::start(move |request, _| answers.act(request)).await;
    let fork = server.fork(ForkOptions::default()).await;
    let misses = Misses::default();
    misses.add(Want::Account(address(6)));
    misses.add(Want::Slot(address(6), U256::from(3)));
    misses.add(Want::Slot(address(6), U256::from(50)));
    within("a fetch", fork.fetch(&misses)).await.unwrap();
    (server, fork)
}

fn written(write: impl FnOnce(&mut WriteSet)) -> MemoryStore {
    let (store, mut set) = (MemoryStore::new(), WriteSet::new());
    write(&mut set);
    store.write(&set).unwrap();
    store
}

#[tokio::test]
async fn absent_keys_fall_through_at_every_height() {
    let world = World::new(sample());
    let (_server, fork) = fork(&world).await;
    let (store, misses) = (MemoryStore::new(), Misses::default());
    let reader = store.snapshot().unwrap();
    let base = ForkBase(fork.view(&misses));
    let (at, code) = (address(6), world.entries[&address(6)].code.clone());
    for version in [StateVersion::Latest, StateVersion::AtHeight(0), StateVersion::AtHeight(9)] {
        let bare = StateView::new(&*reader, SCOPE, version);
        assert_eq!(bare.account(&at).unwrap(), None);
        let view = bare.with_base(&base);
        let account = view.account(&at).unwrap();
        assert_eq!(account, world.account(&at));
        assert_eq!(view.account_by_hash(keccak256(at)).unwrap(), account);
        assert_eq!(view.storage(&at, U256::from(3)).unwrap(), U256::from(4));
        assert_eq!(view.storage(&at, U256::from(50)).unwrap(), U256::ZERO);
        let hashed = keccak256(B256::from(U256::from(3)));
        assert_eq!(view.storage_by_hash(keccak256(at), hashed).unwrap(), U256::from(4));
        assert_eq!(view.code(keccak256(&code)).unwrap(), code);
        assert_eq!(view.root().unwrap(), world.root);
        let root = StorageNodes { view, account: keccak256(at) }.node(&Nibbles::new()).unwrap();
        assert_eq!(root.map(keccak256), account.map(|account| account.storage_root));
        assert!(view.prove_account(world.root, &at).unwrap().value.is_some());
    }
    assert!(misses.is_empty());
}

#[tokio::test]
async fn changed_keys_never_fall_through() {
    let world = World::new(sample());
    let (_server, fork) = fork(&world).await;
    let (at, key) = (address(6), keccak256(address(6)).0);
    let slot = keccak256(B256::from(U256::from(3))).0;
    let path = PathKey(Nibbles::new());
    let old = Account { nonce: 50, ..Account::default() };
    let new = Account { nonce: 90, ..Account::default() };
    let bytes = |account| {
        let mut bytes = Vec::new();
        StoredAccount(account).encode_value(&mut bytes);
        bytes
    };
    // Changed by block 5, deleted by block 7, made again by block 9.
    let store = written(|set| {
        ACCOUNTS.put(set, SCOPE, &key, &StoredAccount(new));
        SLOTS.put(set, SCOPE, &(key, slot), &StoredSlot(U256::from(90)));
        NODES.put(set, SCOPE, &path, &vec![90]);
        for (height, account, value) in
            [(5, Vec::new(), vec![]), (7, bytes(old), vec![50]), (9, Vec::new(), vec![])]
        {
            ACCOUNT_UNDO.put(set, SCOPE, &(key, height), &account);
            SLOT_UNDO.put(set, SCOPE, &(key, slot, height), &value);
            NODE_UNDO.put(set, SCOPE, &(path, height), &value);
        }
    });
    let deleted = written(|set| {
        ACCOUNT_UNDO.put(set, SCOPE, &(key, 5), &Vec::new());
        SLOT_UNDO.put(set, SCOPE, &(key, slot, 5), &Vec::new());
        NODE_UNDO.put(set, SCOPE, &(path, 5), &Vec::new());
    });
    let misses = Misses::default();
    let base = ForkBase(fork.view(&misses));
    let read = |store: &MemoryStore, version| {
        let reader = store.snapshot().unwrap();
        let view = StateView::new(&*reader, SCOPE, version).with_base(&base);
        let nonce = view.account(&at).unwrap().map(|account| account.nonce);
        let value: u64 = view.storage(&at, U256::from(3)).unwrap().to();
        let node = AccountNodes(view).node(&path.0).unwrap();
        (nonce, value, node.map(|node| if node.len() == 1 { u64::from(node[0]) } else { 6 }))
    };
    let below = (Some(6), 4, Some(6));
    for (version, expected) in [
        (StateVersion::AtHeight(0), below),
        (StateVersion::AtHeight(4), below),
        (StateVersion::AtHeight(5), (Some(50), 50, Some(50))),
        (StateVersion::AtHeight(6), (Some(50), 50, Some(50))),
        (StateVersion::AtHeight(7), (None, 0, None)),
        (StateVersion::AtHeight(8), (None, 0, None)),
        (StateVersion::AtHeight(9), (Some(90), 90, Some(90))),
        (StateVersion::Latest, (Some(90), 90, Some(90))),
    ] {
        assert_eq!(read(&store, version), expected, "{version:?}");
    }
    assert_eq!(read(&deleted, StateVersion::Latest), (None, 0, None));
    assert_eq!(read(&deleted, StateVersion::AtHeight(5)), (None, 0, None));
    assert_eq!(read(&deleted, StateVersion::AtHeight(4)), below);
    assert!(misses.is_empty());
}

#[tokio::test]
async fn what_is_not_fetched_is_an_error_and_a_miss() {
    let world = World::new(sample());
    let (_server, fork) = fork(&world).await;
    let own = alloy_primitives::Bytes::from_static(&[1, 2, 3]);
    let store = written(|set| CODE.put(set, SCOPE, &keccak256(&own).0, &own.to_vec()));
    let misses = Misses::default();
    let base = ForkBase(fork.view(&misses));
    let reader = store.snapshot().unwrap();
    let view = StateView::new(&*reader, SCOPE, StateVersion::Latest).with_base(&base);
    assert_eq!(view.code(keccak256(&own)).unwrap(), own);
    let account = view.account(&address(7)).unwrap_err();
    assert!(matches!(account, StateError::NotFetched(_)), "{account}");
    let slot = view.storage(&address(6), U256::from(9)).unwrap_err();
    assert!(matches!(slot, StateError::NotFetched(_)), "{slot}");
    assert!(view.account_by_hash(B256::ZERO).is_err());
    let wanted = [Want::Account(address(7)), Want::Slot(address(6), U256::from(9))];
    assert_eq!(misses.take().into_iter().collect::<Vec<_>>(), wanted);
}
