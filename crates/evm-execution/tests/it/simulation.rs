//! Costs of simulated blocks.

use std::sync::atomic::{AtomicU64, Ordering};

use alloy_primitives::{Address, B256, KECCAK256_EMPTY, U256, keccak256};
use esker_evm_execution::call::{AccountOverride, CallLimits, CallRequest, StateOverrides};
use esker_evm_execution::executor::NoHashes;
use esker_evm_execution::simulate::{
    BlockRequest, SimulatedState, SimulationEnv, SimulationOptions, simulate,
};
use esker_evm_state::state::{
    AccountChange, AccountParts, StateChanges, StateTries, StateVersion, StateView,
};
use esker_evm_state::types::SealedHeader;
use esker_storage::{Entry, KvRead, StorageResult, Visitor};
use esker_testkit::first_block::SCOPE;

use crate::ledger::Ledger;

/// Accounts that are new in each block.
const NEW: usize = 200;

/// A reader that counts reads.
struct CountingReader<'a>(&'a dyn KvRead, AtomicU64);

impl KvRead for CountingReader<'_> {
    fn get_with(&self, key: &[u8], f: &mut dyn FnMut(&[u8])) -> StorageResult<bool> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.get_with(key, f)
    }

    fn seek_back(&self, key: &[u8]) -> StorageResult<Option<Entry>> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.seek_back(key)
    }

    fn scan(
        &self,
        prefix: &[u8],
        from: Option<&[u8]>,
        visit: &mut Visitor<'_>,
    ) -> StorageResult<()> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.scan(prefix, from, visit)
    }
}

fn address(block: usize, n: usize) -> Address {
    Address::from_word(keccak256([block.to_be_bytes(), n.to_be_bytes()].concat()))
}

/// Reads of the store that a simulation of so many blocks needs, and its last state root.
fn reads(chain: &Ledger, blocks: usize) -> (u64, B256) {
    let balance = Some(U256::from(7));
    let account = AccountOverride { balance, ..Default::default() };
    let contract = Address::repeat_byte(0xc0);
    let request = |block| {
        let mut accounts: StateOverrides =
            StateOverrides((0..NEW).map(|n| (address(block, n), account.clone())).collect());
        // SSTORE(CALLDATALOAD(0), 1): a slot of its own in every block.
        let code = Some(vec![0x60, 1, 0x60, 0, 0x35, 0x55].into());
        accounts.0.insert(contract, AccountOverride { code, ..Default::default() });
        let state = SimulatedState { accounts, ..Default::default() };
        let input = U256::from(block + 1).to_be_bytes_vec().into();
        let call = CallRequest { to: Some(contract), input, ..Default::default() };
        BlockRequest { state, calls: vec![call], ..Default::default() }
    };
    let reader = chain.reader();
    let reader = CountingReader(&*reader, AtomicU64::new(0));
    let base = SealedHeader { header: chain.tip.clone(), hash: chain.tip.parent_hash };
    let env = SimulationEnv {
        chain: &chain.params,
        view: StateView::new(&reader, SCOPE, StateVersion::Latest),
        base: &base,
        hashes: &NoHashes,
    };
    let requests = (0..blocks).map(request).collect();
    let options = SimulationOptions::default();
    let simulated = simulate(&env, requests, options, &CallLimits::default()).unwrap();
    let root = simulated.last().unwrap().block.block.header.state_root;
    (reader.1.load(Ordering::Relaxed), root)
}

#[test]
fn a_block_costs_what_it_changes() {
    let chain = Ledger::local();
    let ((few, _), (many, root)) = (reads(&chain, 50), reads(&chain, 200));
    assert!(many < 5 * few, "four times the blocks read {many} times instead of {few}");
    // The root is that of all changes at once.
    let parts = AccountParts {
        nonce: 0,
        balance: U256::from(7),
        code_hash: KECCAK256_EMPTY,
        is_multi_coin: false,
    };
    let account = AccountChange { account: Some(parts), ..Default::default() };
    let all = (0..200).flat_map(|block| (0..NEW).map(move |n| address(block, n)));
    let mut changes: StateChanges = all.map(|address| (address, account.clone())).collect();
    let code_hash = keccak256([0x60, 1, 0x60, 0, 0x35, 0x55]);
    let contract = AccountChange {
        account: Some(AccountParts { balance: U256::ZERO, code_hash, ..parts }),
        slots: (1..=200).map(|slot| (U256::from(slot), U256::ONE)).collect(),
        ..Default::default()
    };
    changes.insert(Address::repeat_byte(0xc0), contract);
    // The caller, without a nonce before.
    let caller = AccountParts { nonce: 200, balance: U256::ZERO, ..parts };
    let caller = AccountChange { account: Some(caller), ..Default::default() };
    changes.insert(Address::ZERO, caller);
    let reader = chain.reader();
    let view = StateView::new(&*reader, SCOPE, StateVersion::Latest);
    let mut tries = StateTries::new(&*chain.params.rules, view, chain.tip.state_root).unwrap();
    assert_eq!(tries.apply(&changes).unwrap(), root);
}

#[test]
fn nodes_are_hashed_once_for_each_change() {
    let chain = Ledger::local();
    let reader = chain.reader();
    let view = StateView::new(&*reader, SCOPE, StateVersion::Latest);
    let hashed = |blocks: usize| {
        let mut tries = StateTries::new(&*chain.params.rules, view, chain.tip.state_root).unwrap();
        for block in 0..blocks {
            let parts = AccountParts {
                nonce: 1,
                balance: U256::ZERO,
                code_hash: KECCAK256_EMPTY,
                is_multi_coin: false,
            };
            let account = AccountChange { account: Some(parts), ..Default::default() };
            let changes = (0..NEW).map(|n| (address(block, n), account.clone())).collect();
            tries.apply(&changes).unwrap();
            // A slot more of one contract.
            let slots = [(U256::from(block), U256::ONE)].into();
            let contract = AccountChange { slots, ..account };
            tries.apply(&[(Address::repeat_byte(0xc0), contract)].into()).unwrap();
        }
        tries.hashed_nodes()
    };
    let (few, many) = (hashed(50), hashed(200));
    assert!(many < 6 * few, "four times the blocks hashed {many} nodes instead of {few}");
    assert!(many > 200 * NEW as u64);
}
