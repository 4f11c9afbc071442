//! The base under a chain's state: what has no row and no undo row falls through to it.

use alloy_primitives::{B256, KECCAK256_EMPTY, U256, keccak256};
use alloy_rlp::{Encodable, encode_list};
use alloy_trie::Nibbles;
use esker_evm_state::state::tables::{
    ACCOUNT_UNDO, ACCOUNTS, CODE, NODE_UNDO, NODES, PathKey, SLOT_UNDO, SLOTS,
};
use esker_evm_state::state::{
    AccountChange, AccountNodes, AccountParts, ApplyOptions, BlockState, StateChanges, StateError,
    StateVersion, StateView, StorageNodes, StoredAccount, StoredSlot,
};
use esker_evm_state::trie::NodeSource as _;
use esker_evm_state::types::{Account, AccountCodec};
use esker_fork::{Fork, ForkBase, ForkOptions, Misses, Want};
use esker_storage::{KvStore as _, MemoryStore, Scope, ValueCodec as _, WriteSet};
use tokio::runtime::Handle;

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
    let store = MemoryStore::new();
    let reader = store.snapshot().unwrap();
    let base = ForkBase::new(fork, Handle::current());
    let (at, code) = (address(6), world.entries[&address(6)].code.clone());
    for version in [StateVersion::Latest, StateVersion::AtHeight(0), StateVersion::AtHeight(9)] {
        let bare = StateView::new(&*reader, SCOPE, version);
        assert_eq!(bare.account(&at).unwrap(), None);
        let view = bare.with_base(Some(&base));
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
    let base = ForkBase::new(fork, Handle::current());
    let read = |store: &MemoryStore, version| {
        let reader = store.snapshot().unwrap();
        let view = StateView::new(&*reader, SCOPE, version).with_base(Some(&base));
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
}

#[tokio::test]
async fn what_is_not_fetched_is_an_error_and_a_miss() {
    let world = World::new(sample());
    let (_server, fork) = fork(&world).await;
    let own = alloy_primitives::Bytes::from_static(&[1, 2, 3]);
    let store = written(|set| CODE.put(set, SCOPE, &keccak256(&own).0, &own.to_vec()));
    let base = ForkBase::new(fork, Handle::current());
    let reader = store.snapshot().unwrap();
    let view = StateView::new(&*reader, SCOPE, StateVersion::Latest).with_base(Some(&base));
    assert_eq!(view.code(keccak256(&own)).unwrap(), own);
    let account = view.account(&address(7)).unwrap_err();
    let slot = view.storage(&address(6), U256::from(5)).unwrap_err();
    let mut lacking = account.not_fetched().unwrap().clone();
    lacking.add(slot.not_fetched().unwrap());
    let wanted = [Want::Account(address(7)), Want::Slot(address(6), U256::from(5))];
    assert!(lacking.wants().iter().eq(&wanted), "{lacking:?}");
    assert!(
        lacking.to_string().ends_with("and 1 more parts of the forked state are not fetched yet")
    );
    assert!(matches!(view.account_by_hash(B256::ZERO), Err(StateError::MissingPreimage(_))));
    assert!(matches!(view.walk_accounts(B256::ZERO, 9), Err(StateError::NotWhole)));

    within("a fetch", lacking.fetch()).await.unwrap();
    assert_eq!(view.account(&address(7)).unwrap(), world.account(&address(7)));
    assert_eq!(view.storage(&address(6), U256::from(5)).unwrap(), U256::from(6));
}

/// Accounts as Ethereum has them.
#[derive(Debug)]
struct FourFields;

impl AccountCodec for FourFields {
    fn encode_account(&self, account: &Account, out: &mut Vec<u8>) {
        let Account { nonce, balance, storage_root, code_hash, .. } = account;
        let fields: [&dyn Encodable; 4] = [nonce, balance, storage_root, code_hash];
        encode_list::<_, dyn Encodable>(&fields, out);
    }
}

/// Applies the changes of a block, and writes its rows. What the roots need is fetched. Returns the root.
async fn apply(
    store: &MemoryStore,
    base: &ForkBase,
    (root, height): (B256, u64),
    changes: &StateChanges,
) -> B256 {
    loop {
        let reader = store.snapshot().unwrap();
        let state = BlockState {
            codec: &FourFields,
            below: &*reader,
            scope: SCOPE,
            root,
            height,
            options: ApplyOptions::default(),
            base: Some(base),
        };
        let mut out = WriteSet::new();
        match state.apply(changes, &mut out) {
            Ok(root) => {
                store.write(&out).unwrap();
                return root;
            }
            Err(error) => {
                let lacking = error.not_fetched().expect("only nodes are lacking").clone();
                drop(reader);
                within("a fetch", lacking.fetch()).await.unwrap();
            }
        }
    }
}

#[tokio::test]
async fn cleared_storage_of_the_base_is_gone_until_its_block_is_undone() {
    let world = World::new(sample());
    let (_server, fork) = fork(&world).await;
    let (store, base, at) =
        (MemoryStore::new(), ForkBase::new(fork, Handle::current()), address(6));
    let code_hash = KECCAK256_EMPTY;
    let parts = AccountParts { nonce: 1, balance: U256::ZERO, code_hash, is_multi_coin: false };
    let again = AccountChange {
        account: Some(parts),
        wiped: true,
        slots: [(U256::from(50), U256::from(7))].into(),
        code: None,
    };
    let gone = [(at, AccountChange::default())].into();
    let root = apply(&store, &base, (world.root, 5), &gone).await;
    let root = apply(&store, &base, (root, 6), &[(at, again)].into()).await;
    let reader = store.snapshot().unwrap();
    let read = |version| {
        let view = StateView::new(&*reader, SCOPE, version).with_base(Some(&base));
        let slots = [3, 50].map(|slot| view.storage(&at, U256::from(slot)).unwrap().to::<u64>());
        (view.account(&at).unwrap().map(|account| account.nonce), slots)
    };
    assert_eq!(read(StateVersion::AtHeight(4)), (Some(6), [4, 0]));
    assert_eq!(read(StateVersion::AtHeight(5)), (None, [0, 0]));
    assert_eq!(read(StateVersion::Latest), (Some(1), [0, 7]));
    let view = StateView::new(&*reader, SCOPE, StateVersion::Latest).with_base(Some(&base));
    assert_eq!(view.root().unwrap(), root);
}
