//! What the execution of a block needs of the state before it: enough to execute the block again without that state, and to
//! compute the root after it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_trie::EMPTY_ROOT_HASH;
use esker_evm_state::state::{StateError, StateRecorder, StateTries, StateView};
use esker_evm_state::types::{Block, Header};
use esker_primitives::sync::Mutex;
use thiserror::Error;

use crate::executor::{
    BlockBody, BlockContext, BlockExecutor, BlockHashes, ChainParams, CodeCache, ExtOutcome,
    MachineParams, TxError,
};
use crate::rules::BlockStepError;

/// Most bytes of a witness.
pub const MAX_WITNESS: usize = 64 << 20;

/// What a block needs of the state before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Witness {
    /// RLP of nodes of the account trie and of storage tries, those included that take the place of removed ones; in the
    /// order of their hashes.
    pub nodes: Vec<Bytes>,
    /// The codes that were read, in the order of their hashes.
    pub codes: Vec<Bytes>,
    /// The addresses that were read, and after each its slots, 32 bytes each.
    pub keys: Vec<Bytes>,
    /// The lowest height whose hash was read; `None`: none was.
    pub oldest_hash: Option<u64>,
}

/// Why there is no witness.
#[derive(Debug, Error)]
pub enum WitnessError {
    /// The state can't be read.
    #[error(transparent)]
    State(#[from] StateError),
    /// A transaction can't be executed again.
    #[error("transaction {index} can't be executed again: {error}")]
    Transaction {
        /// Its place in the block.
        index: usize,
        /// Why.
        error: Box<TxError>,
    },
    /// The block can't be executed again.
    #[error("the block can't be executed again: {0}")]
    Block(String),
    /// Something else than its transactions changed the state.
    #[error(
        "the block's transactions alone give the state root {found}, its header has {expected}: atomic transactions, or the \
         controls of a development network, changed the state, too"
    )]
    Root {
        /// By its transactions.
        found: B256,
        /// That of its header.
        expected: B256,
    },
    /// It is too long.
    #[error("the witness has more than {MAX_WITNESS} bytes")]
    TooLong,
    /// Nobody waits for it any more.
    #[error("execution aborted")]
    Stopped,
}

/// The state before a block, whose root is that of the parent's header.
#[derive(Clone, Copy)]
pub struct WitnessEnv<'a> {
    /// The chain.
    pub chain: &'a ChainParams,
    /// The state after the parent.
    pub view: StateView<'a>,
    /// Hashes of the parent and its ancestors.
    pub hashes: &'a dyn BlockHashes,
    /// Whether to stop, asked before each transaction and each proof.
    pub is_stopped: &'a dyn Fn() -> bool,
}

impl std::fmt::Debug for WitnessEnv<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WitnessEnv").finish_non_exhaustive()
    }
}

/// The witness of a block. `sender` knows the senders of its transactions.
///
/// # Errors
/// The state can't be read, the block does not follow from its transactions, or the witness is too long.
pub fn block_witness(
    env: &WitnessEnv<'_>,
    parent: &Header,
    block: &Block,
    sender: impl Fn(usize) -> Option<Address>,
) -> Result<Witness, WitnessError> {
    let recorder = Recorder::default();
    let view = env.view.with_recorder(&recorder);
    let oldest = Mutex::new(None);
    let hashes = |number: u64| {
        let mut oldest = oldest.lock();
        *oldest = Some(oldest.map_or(number, |oldest: u64| oldest.min(number)));
        drop(oldest);
        env.hashes.block_hash(number)
    };
    // Without the codes that others have read.
    let codes = Arc::new(CodeCache::default());
    let machine = MachineParams { codes, ..env.chain.machine.clone() };
    let chain =
        ChainParams { machine, keeps_console: false, keeps_touched: false, ..env.chain.clone() };
    let header = &block.header;
    let context = BlockContext::for_header(&chain, header);
    let context = context.map_err(|error| WitnessError::Block(error.to_string()))?;
    let body = (context, BlockBody::of(block));
    let mut executor =
        BlockExecutor::new(&chain, view, &hashes, parent, body, header.gas_limit).map_err(step)?;
    for (index, tx) in block.transactions.iter().enumerate() {
        check(env, &recorder)?;
        executor.execute(tx, sender(index)).map_err(|error| match error {
            TxError::State(error) => error.into(),
            error => WitnessError::Transaction { index, error: Box::new(error) },
        })?;
    }
    let processed = executor.finish(ExtOutcome::default()).map_err(step)?;
    let mut tries = StateTries::new(&*chain.rules, view, parent.state_root)?;
    let (found, expected) = (tries.apply(&processed.changes)?, header.state_root);
    if found != expected {
        return Err(WitnessError::Root { found, expected });
    }
    add_proofs(env, view, &recorder, parent.state_root)?;
    let oldest_hash = *oldest.lock();
    Ok(recorder.into_witness(oldest_hash))
}

fn step(error: BlockStepError) -> WitnessError {
    match error {
        BlockStepError::State(error) => error.into(),
        BlockStepError::Rule(error) => WitnessError::Block(error.to_string()),
    }
}

fn check(env: &WitnessEnv<'_>, recorder: &Recorder) -> Result<(), WitnessError> {
    match recorder.0.lock().bytes {
        _ if (env.is_stopped)() => Err(WitnessError::Stopped),
        bytes if bytes > MAX_WITNESS => Err(WitnessError::TooLong),
        _ => Ok(()),
    }
}

/// Reads the nodes on the way to everything that was read, changed or not.
fn add_proofs(
    env: &WitnessEnv<'_>,
    view: StateView<'_>,
    recorder: &Recorder,
    root: B256,
) -> Result<(), WitnessError> {
    let keys = recorder.0.lock().keys.clone();
    for (address, slots) in keys {
        check(env, recorder)?;
        view.prove_account(root, &address)?;
        let account = env.view.account(&address)?;
        let storage = account.map_or(EMPTY_ROOT_HASH, |account| account.storage_root);
        if storage == EMPTY_ROOT_HASH {
            continue;
        }
        for slot in slots {
            check(env, recorder)?;
            view.prove_storage(storage, &address, B256::from(slot))?;
        }
    }
    check(env, recorder)
}

/// Keeps what is read.
#[derive(Debug)]
struct Recorder(Mutex<Recorded>);

impl Default for Recorder {
    fn default() -> Self {
        Self(Mutex::new(Recorded::default()))
    }
}

#[derive(Debug, Default)]
struct Recorded {
    nodes: BTreeMap<B256, Bytes>,
    codes: BTreeMap<B256, Bytes>,
    keys: BTreeMap<Address, BTreeSet<U256>>,
    /// Of all of that.
    bytes: usize,
}

impl Recorded {
    /// Adds bytes under their hash, unless there is no room for them.
    fn add(&mut self, bytes: &[u8], is_code: bool) {
        let kept = if is_code { &mut self.codes } else { &mut self.nodes };
        let hash = keccak256(bytes);
        if self.bytes <= MAX_WITNESS && !kept.contains_key(&hash) {
            self.bytes += bytes.len();
            kept.insert(hash, Bytes::copy_from_slice(bytes));
        }
    }
}

impl Recorder {
    fn into_witness(self, oldest_hash: Option<u64>) -> Witness {
        let Recorded { nodes, codes, keys, .. } = std::mem::take(&mut *self.0.lock());
        let of = |(address, slots): (Address, BTreeSet<U256>)| {
            let address = Bytes::copy_from_slice(address.as_slice());
            let slots = slots.into_iter().map(|slot| Bytes::from(slot.to_be_bytes_vec()));
            std::iter::once(address).chain(slots)
        };
        Witness {
            nodes: nodes.into_values().collect(),
            codes: codes.into_values().collect(),
            keys: keys.into_iter().flat_map(of).collect(),
            oldest_hash,
        }
    }
}

impl StateRecorder for Recorder {
    fn account(&self, address: &Address) {
        let mut recorded = self.0.lock();
        if !recorded.keys.contains_key(address) {
            recorded.bytes += size_of::<Address>();
            recorded.keys.insert(*address, BTreeSet::new());
        }
    }

    fn slot(&self, address: &Address, slot: U256) {
        let mut recorded = self.0.lock();
        if recorded.keys.entry(*address).or_default().insert(slot) {
            recorded.bytes += size_of::<U256>();
        }
    }

    fn code(&self, code: &Bytes) {
        self.0.lock().add(code, true);
    }

    fn node(&self, rlp: &[u8]) {
        self.0.lock().add(rlp, false);
    }
}
