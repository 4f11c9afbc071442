//! Differences from Ethereum's machine (docs/protocol/c-chain-execution.md, "Differences from Ethereum"), one test
//! for each.

mod assets;
mod bounds;
mod fees;
mod order;
mod phases;
mod refused;
mod roots;
mod stops;
mod storage;
mod texts;
mod tries;

use alloy_consensus::{SignableTransaction, TxLegacy};
use alloy_primitives::{Address, Bytes, Signature, TxKind, U256, address, keccak256};
use esker_evm_execution::call::{
    BlockOverrides, CallEnv, CallLimits, CallOutcome, CallRequest, StateOverrides, call,
};
use esker_evm_execution::executor::{
    BlockBody, BlockContext, BlockExecutionOutput, BlockExecutor, ChainParams, NoHashes, TxError,
};
use esker_evm_execution::genesis::{Genesis, GenesisAccount};
use esker_evm_execution::rules::{
    BaseFeeUse, ExecutionLimits, ExecutionRules, ForkSchedule, NativeAsset, Phase, Revision,
    StorageKeys, UNSCHEDULED,
};
use esker_evm_state::state::{BlockState, StateVersion, StateView};
use esker_evm_state::types::{Header, Receipt, Transaction};
use esker_storage::{KvRead, KvStore, MemoryStore, WriteSet};
use esker_testkit::first_block::{SCOPE, first_block, params};

/// Start time of the phase under test, and time of the block under test, Unix s.
pub(crate) const TIME: u64 = 2_000_000_000;

pub(crate) const ALICE: Address = address!("0xa11ce00000000000000000000000000000000001");
pub(crate) const CODE: Address = address!("0xc0de000000000000000000000000000000000001");
pub(crate) const PRICE: u64 = 300_000_000_000;

/// A schedule in which a phase is the last one.
pub(crate) fn until(phase: Phase) -> ForkSchedule {
    let mut schedule = ForkSchedule::LOCAL;
    for later in Phase::ALL {
        schedule.phases[later as usize] = if later <= phase { 0 } else { UNSCHEDULED };
    }
    schedule.history = [0; 4];
    schedule
}

/// The state of a genesis for tests of single blocks and calls.
pub(crate) struct Lab {
    pub(crate) params: ChainParams,
    store: MemoryStore,
    parent: Header,
    pub(crate) time: u64,
    /// Rules of execution instead of those of the phase.
    rules: Option<ExecutionRules>,
}

impl Lab {
    /// A lab in which Alice has a thousand coins, and `code` is the code of [`CODE`].
    pub(crate) fn new(phase: Phase, code: &[u8]) -> Self {
        let code = GenesisAccount { code: code.to_vec().into(), ..Default::default() };
        Self::with(until(phase), [(CODE, code)])
    }

    /// A lab whose transactions run under Ethereum's rules of a revision.
    pub(crate) fn of_revision(revision: Revision, refunds: bool, code: &[u8]) -> Self {
        let rules = ExecutionRules {
            revision,
            native_asset: NativeAsset::Absent,
            warp: false,
            storage_keys: StorageKeys::Whole,
            reserves_addresses: false,
            base_fee: BaseFeeUse::Burnt,
            refunds,
            blobs: None,
            limits: ExecutionLimits::USUAL,
        };
        Self { rules: Some(rules), ..Self::new(Phase::Etna, code) }
    }

    pub(crate) fn with(
        schedule: ForkSchedule,
        accounts: impl IntoIterator<Item = (Address, GenesisAccount)>,
    ) -> Self {
        let params = params(43112, schedule);
        let json = br#"{"config":{},"gasLimit":"0x0","difficulty":"0x0","timestamp":1,"alloc":{}}"#;
        let mut genesis = Genesis::parse(json).unwrap();
        let balance = U256::from(10).pow(U256::from(21));
        genesis.alloc.insert(ALICE, GenesisAccount { balance, ..Default::default() });
        genesis.alloc.extend(accounts);
        let (store, block) = first_block(&params, &genesis);
        Self { params, store, parent: block.header, time: TIME, rules: None }
    }

    pub(crate) fn block(&self) -> BlockContext {
        let terms = self.params.rules.child_terms(&self.parent, self.time).unwrap();
        let block = BlockContext::child(&self.parent, self.time, &terms);
        BlockContext { rules: self.rules.unwrap_or(block.rules), ..block }
    }

    /// Calls `run` in a new block and keeps the state after it.
    pub(crate) fn in_block<T>(&mut self, run: impl FnOnce(&mut BlockExecutor<'_>) -> T) -> T {
        let reader = self.store.snapshot().unwrap();
        let view = StateView::new(&*reader, SCOPE, StateVersion::Latest);
        let block = self.block();
        let (params, gas) = (&self.params, block.gas_limit);
        let mut executor = BlockExecutor::new(
            params,
            view,
            &NoHashes,
            &self.parent,
            (block, BlockBody::default()),
            gas,
        )
        .unwrap();
        let value = run(&mut executor);
        let changes = executor.finish(Default::default()).unwrap().changes;
        let mut out = WriteSet::default();
        let state = BlockState {
            codec: &*params.rules,
            below: &*reader,
            scope: SCOPE,
            root: self.parent.state_root,
            height: self.parent.number + 1,
            options: Default::default(),
            base: None,
        };
        self.parent.state_root = state.apply(&changes, &mut out).unwrap();
        self.store.write(&out).unwrap();
        value
    }

    /// The results of a block of Alice's transactions, which changes nothing.
    pub(crate) fn execute_block(&self, txs: &[Transaction]) -> BlockExecutionOutput {
        let reader = self.store.snapshot().unwrap();
        let view = StateView::new(&*reader, SCOPE, StateVersion::Latest);
        let block = (self.block(), BlockBody::default());
        let (params, gas) = (&self.params, block.0.gas_limit);
        let mut executor =
            BlockExecutor::new(params, view, &NoHashes, &self.parent, block, gas).unwrap();
        for tx in txs {
            executor.execute(tx, Some(ALICE)).unwrap();
        }
        executor.finish(Default::default()).unwrap()
    }

    /// Executes a transaction of Alice in a block of its own.
    pub(crate) fn transact(&mut self, to: Option<Address>, input: &[u8]) -> Receipt {
        let nonce = self.nonce(ALICE);
        let tx = legacy(nonce, to, input, 0);
        self.in_block(|block| block.execute(&tx, Some(ALICE)).unwrap().clone())
    }

    pub(crate) fn refuse(&mut self, tx: &Transaction, sender: Address) -> TxError {
        self.in_block(|block| block.execute(tx, Some(sender)).unwrap_err())
    }

    pub(crate) fn view<T>(&self, look: impl FnOnce(StateView<'_>) -> T) -> T {
        let reader = self.store.snapshot().unwrap();
        look(StateView::new(&*reader, SCOPE, StateVersion::Latest))
    }

    pub(crate) fn balance(&self, address: Address) -> U256 {
        self.view(|view| view.account(&address).unwrap().map_or(U256::ZERO, |a| a.balance))
    }

    pub(crate) fn nonce(&self, address: Address) -> u64 {
        self.view(|view| view.account(&address).unwrap().map_or(0, |a| a.nonce))
    }

    pub(crate) fn slot(&self, address: Address, slot: U256) -> U256 {
        self.view(|view| view.storage(&address, slot).unwrap())
    }

    /// The environment of calls at the tip; `reader` reads the lab's store.
    pub(crate) fn env<'a>(&'a self, reader: &'a dyn KvRead) -> CallEnv<'a> {
        let block = self.block();
        CallEnv {
            chain: &self.params,
            view: StateView::new(reader, SCOPE, StateVersion::Latest),
            state_point: block.point(),
            block,
            hashes: &NoHashes,
        }
    }

    pub(crate) fn with_env<T>(&self, run: impl FnOnce(&CallEnv<'_>) -> T) -> T {
        run(&self.env(&*self.store.snapshot().unwrap()))
    }

    pub(crate) fn call_with(
        &self,
        request: &CallRequest,
        overrides: &BlockOverrides,
        limits: &CallLimits<'_>,
    ) -> CallOutcome {
        let state = StateOverrides::default();
        self.with_env(|env| call(env, request, &state, overrides, limits).unwrap())
    }

    /// Calls [`CODE`] with a million gas.
    pub(crate) fn call(&self, input: &[u8]) -> CallOutcome {
        let input = input.to_vec().into();
        let (to, gas) = (Some(CODE), Some(1_000_000));
        let request = CallRequest { to, gas, input, ..Default::default() };
        self.call_with(&request, &BlockOverrides::default(), &CallLimits::default())
    }

    /// The word that a call to [`CODE`] returns.
    pub(crate) fn word(&self) -> U256 {
        let outcome = self.call(&[]);
        assert_eq!(outcome.error, None);
        U256::from_be_slice(&outcome.output)
    }
}

pub(crate) fn legacy(nonce: u64, to: Option<Address>, input: &[u8], value: u64) -> Transaction {
    let tx = TxLegacy {
        chain_id: Some(43112),
        nonce,
        gas_price: PRICE.into(),
        gas_limit: 1_000_000,
        to: to.map_or(TxKind::Create, TxKind::Call),
        value: U256::from(value),
        input: input.to_vec().into(),
    };
    tx.into_signed(Signature::test_signature()).into()
}

/// Code that returns the word on top of the stack after `code`.
pub(crate) fn returning(code: &[u8]) -> Vec<u8> {
    [code, &[0x60, 0, 0x52, 0x60, 32, 0x60, 0, 0xf3]].concat()
}

/// Init code that deploys `code`.
pub(crate) fn deploying(code: &[u8]) -> Bytes {
    let length = u8::try_from(code.len()).unwrap();
    [&[0x60, length, 0x60, 12, 0x60, 0, 0x39, 0x60, length, 0x60, 0, 0xf3], code].concat().into()
}

/// PUSH32
pub(crate) fn push(word: U256) -> Vec<u8> {
    [&[0x7f][..], &word.to_be_bytes::<32>()].concat()
}

/// A key whose first byte is odd. Its slot is the key without that bit.
pub(crate) fn odd(n: u64) -> U256 {
    (U256::ONE << 248) | U256::from(n)
}

pub(crate) fn word_of(text: &str) -> U256 {
    keccak256(text).into()
}
