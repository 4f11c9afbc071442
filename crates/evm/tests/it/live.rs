//! The chain under the machine: transactions from the pool in blocks, blocks of other nodes, restarts.

use std::sync::Arc;

use alloy_consensus::{SignableTransaction, TxEip1559};
use alloy_primitives::{Address, B256, Signature, TxKind, U256, address};
use bytes::Bytes;
use esker_chain::{
    BuildContext, Built, Bundle, ChainError, ChainMachine, ChainVm, Machine, MachineConfig,
    ProposeCtx, Undo, UndoLimits, Verdict,
};
use esker_evm::chain::{BuildMode, Evm, EvmConfig};
use esker_evm::extension::NoExtension;
use esker_evm::view::{ChainEvents, ChainReader};
use esker_evm_execution::executor::ChainParams;
use esker_evm_execution::genesis::Genesis;
use esker_evm_execution::rules::{CChainRules, FeeOverrides, ForkSchedule};
use esker_evm_state::blocks::History;
use esker_evm_state::logs::{LogQuery, SECTION};
use esker_evm_state::types::{SealedBlock, Transaction};
use esker_primitives::Id;
use esker_primitives::clock::{Clock, ManualClock};
use esker_primitives::keys::PrivateKey;
use esker_storage::{KvStore, MemoryStore, Scope, Store};
use esker_testkit::context::chain_context;
use esker_testkit::vectors::recorded;

const FUNDED: Address = address!("0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC");
pub(crate) const START_MS: u64 = 1_800_000_000_000;
const GWEI: u128 = 1_000_000_000;

pub(crate) struct World {
    pub(crate) evm: Arc<Evm>,
    machine: Arc<Machine>,
    clock: Arc<ManualClock>,
}

fn genesis() -> Genesis {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/genesis/local-c.json");
    Genesis::parse(&std::fs::read(path).unwrap()).unwrap()
}

/// A chain over a store, not opened yet.
pub(crate) fn chain(
    store: Store,
    clock: &Arc<ManualClock>,
    config: EvmConfig,
    overrides: FeeOverrides,
) -> Result<Arc<Evm>, ChainError> {
    let context =
        chain_context(Id::sha256(b"C"), Scope(2), Arc::clone(clock) as Arc<dyn Clock>, store);
    let rules = CChainRules::new(43112, ForkSchedule::LOCAL, overrides);
    let params = ChainParams::new(Arc::new(rules), 12345, context.chain_id);
    Evm::new(context, params, config, genesis(), Arc::new(NoExtension), None)
}

/// A node's chain over a store; exact rules, or those of the development network.
pub(crate) fn open(
    kv: Arc<dyn KvStore>,
    config: EvmConfig,
    overrides: FeeOverrides,
) -> Result<World, ChainError> {
    let clock = Arc::new(ManualClock::new(START_MS));
    let store = Store::new(kv).unwrap();
    let evm = chain(store.clone(), &clock, config, overrides)?;
    let work = Arc::clone(&evm.context().work);
    let chains = vec![Arc::clone(&evm) as Arc<dyn ChainVm>];
    let checked =
        MachineConfig { check_proposals: true, decides_alone: true, ..MachineConfig::default() };
    let machine = Machine::open(chains, store, clock.clone(), work, checked)?;
    Ok(World { evm, machine, clock })
}

fn world(config: EvmConfig, overrides: FeeOverrides) -> World {
    open(Arc::new(MemoryStore::new()), config, overrides).unwrap()
}

/// No block gas cost and a low base fee, as on the development network.
pub(crate) fn easy() -> FeeOverrides {
    FeeOverrides {
        min_base_fee: Some(1_000_000_000),
        target_gas: Some(u64::MAX),
        block_gas_cost_step: Some(0),
        gas_limit: None,
    }
}

fn transfer(nonce: u64, fee_cap: u128, tip: u128, value: u64) -> Transaction {
    signed(TxEip1559 {
        chain_id: 43112,
        nonce,
        gas_limit: 21_000,
        max_fee_per_gas: fee_cap,
        max_priority_fee_per_gas: tip,
        to: TxKind::Call(Address::repeat_byte(7)),
        value: U256::from(value),
        ..Default::default()
    })
}

fn signed(tx: TxEip1559) -> Transaction {
    let key: PrivateKey =
        "PrivateKey-ewoqjP7PxY4yr3iLTpLisriqt94hdyDFNgchSxGGztUrTXtNN".parse().unwrap();
    let signed = key.sign_hash(&tx.signature_hash().0);
    let bytes = signed.as_bytes();
    let signature = Signature::from_bytes_and_parity(&bytes[..64], bytes[64] == 1);
    tx.into_signed(signature).into()
}

async fn propose(world: &World) -> Bundle {
    let (height, parent) = world.machine.last_final();
    let at = ProposeCtx { height: height + 1, parent, ancestry: &[], wait_until_ms: u64::MAX };
    world.machine.propose(at).await.unwrap().unwrap()
}

async fn accept(world: &World) -> Bundle {
    let bundle = propose(world).await;
    world.machine.finalize(&bundle, None).await.unwrap();
    bundle
}

fn stored(world: &World, height: u64) -> Option<Arc<SealedBlock>> {
    ChainReader::block_at(world.evm.as_ref(), height).unwrap()
}

fn balance(world: &World, address: Address) -> U256 {
    let head = ChainReader::head(world.evm.as_ref());
    let state = world.evm.state_after(&head).unwrap();
    state.view().account(&address).unwrap().unwrap_or_default().balance
}

#[tokio::test]
async fn transactions_become_blocks_with_receipts_and_state() {
    let world = world(EvmConfig::default(), easy());
    let before = balance(&world, FUNDED);
    for nonce in [2, 0, 1] {
        world.evm.submit(transfer(nonce, 2 * GWEI, GWEI, 5)).unwrap();
    }
    accept(&world).await;
    let head = ChainReader::head(world.evm.as_ref());
    assert_eq!((head.header.number, head.header.gas_used), (1, 63_000));
    assert_eq!(balance(&world, Address::repeat_byte(7)), U256::from(15));
    let paid = U256::from(63_000u64) * U256::from(2 * GWEI) + U256::from(15);
    assert_eq!(before - balance(&world, FUNDED), paid);
    assert_eq!(world.evm.pool().counts(), (0, 0));

    let tx = transfer(1, 2 * GWEI, GWEI, 5);
    let at = world.evm.location(*tx.tx_hash()).unwrap().unwrap();
    assert_eq!((at.height, at.index), (1, 1));
    let receipts = world.evm.receipts_at(1).unwrap();
    assert_eq!((receipts[1].from, receipts[1].cumulative_gas_used), (FUNDED, 42_000));
    let known = world.evm.submit(transfer(0, 2 * GWEI, GWEI, 5)).unwrap_err();
    assert_eq!(known.to_string(), "nonce too low: next nonce 3, tx nonce 0");
    let block = stored(&world, 1).unwrap();
    assert_eq!((block.hash, block.block.transactions.len()), (head.hash, 3));
    assert_eq!(world.evm.height_of(head.hash).unwrap(), Some(1));
    assert!(stored(&world, 2).is_none());
}

#[tokio::test]
async fn a_block_is_shown_once_it_is_the_head() {
    let world = world(EvmConfig::default(), easy());
    let tx = transfer(0, 2 * GWEI, GWEI, 5);
    let hash = *tx.tx_hash();
    world.evm.submit(tx).unwrap();
    let evm = world.evm.as_ref();
    let store = &evm.context().store;
    let parent = store.snapshot().unwrap();
    let at = BuildContext { now_ms: START_MS, ..BuildContext::default() };
    let Built::Block(block) = evm.build(parent.as_ref(), &at).unwrap() else { panic!("a block") };
    let block_hash = B256::new(*block.id.as_bytes());
    let block = Arc::new(*block);
    // The block is in the store, but the chain was not notified yet.
    store.kv.write(&block.writes).unwrap();
    assert_eq!(evm.location(hash).unwrap(), None);
    assert_eq!(evm.height_of(block_hash).unwrap(), None);
    assert!(stored(&world, 1).is_none());
    assert_eq!(balance(&world, Address::repeat_byte(7)), U256::ZERO);
    evm.on_accepted(&block, START_MS);
    assert!(evm.location(hash).unwrap().is_some());
    assert_eq!(evm.height_of(block_hash).unwrap(), Some(1));
    assert_eq!(stored(&world, 1).unwrap().hash, block_hash);
    assert_eq!(balance(&world, Address::repeat_byte(7)), U256::from(5));
}

#[tokio::test]
async fn blocks_in_quick_succession_wait_until_their_tips_pay() {
    let world = world(EvmConfig::default(), FeeOverrides::default());
    world.evm.submit(transfer(0, 300 * GWEI, 0, 1)).unwrap();
    accept(&world).await;
    world.evm.submit(transfer(1, 300 * GWEI, 0, 1)).unwrap();
    let waiting = {
        let machine = Arc::clone(&world.machine);
        let (height, parent) = machine.last_final();
        tokio::spawn(async move {
            let at =
                ProposeCtx { height: height + 1, parent, ancestry: &[], wait_until_ms: u64::MAX };
            machine.propose(at).await.unwrap().unwrap()
        })
    };
    tokio::task::yield_now().await;
    world.clock.advance(1_000);
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished(), "no tip, so not within two seconds");
    world.clock.advance(1_000);
    let bundle = waiting.await.unwrap();
    world.machine.finalize(&bundle, None).await.unwrap();
    // A transaction that pays the block gas cost is included at once.
    world.evm.submit(transfer(2, 20_000 * GWEI, 19_000 * GWEI, 1)).unwrap();
    accept(&world).await;
    assert_eq!(ChainReader::head(world.evm.as_ref()).header.number, 3);
}

#[tokio::test]
async fn an_interval_gathers_transactions() {
    let config = EvmConfig { mode: BuildMode::Interval(5_000), ..EvmConfig::default() };
    let world = world(config, easy());
    world.evm.submit(transfer(0, 2 * GWEI, 0, 1)).unwrap();
    accept(&world).await;
    world.evm.submit(transfer(1, 2 * GWEI, 0, 1)).unwrap();
    world.evm.submit(transfer(2, 2 * GWEI, 0, 1)).unwrap();
    world.clock.advance(5_000);
    accept(&world).await;
    assert_eq!(stored(&world, 2).unwrap().block.transactions.len(), 2);
}

#[tokio::test]
async fn a_restart_finds_the_tip_and_refuses_another_genesis() {
    let disk: Arc<dyn KvStore> = Arc::new(MemoryStore::new());
    let world = open(Arc::clone(&disk), EvmConfig::default(), easy()).unwrap();
    world.evm.submit(transfer(0, 2 * GWEI, 0, 1)).unwrap();
    accept(&world).await;
    let head = ChainReader::head(world.evm.as_ref());
    drop(world);

    let again = open(Arc::clone(&disk), EvmConfig::default(), easy()).unwrap();
    assert_eq!(ChainReader::head(again.evm.as_ref()), head);
    again.evm.submit(transfer(1, 2 * GWEI, 0, 1)).unwrap();
    accept(&again).await;
    assert_eq!(ChainReader::head(again.evm.as_ref()).header.number, 2);
}

#[tokio::test]
async fn an_archive_may_begin_to_prune_but_not_the_other_way() {
    let disk: Arc<dyn KvStore> = Arc::new(MemoryStore::new());
    let as_mode = |history| {
        let config = EvmConfig { history, ..EvmConfig::default() };
        open(Arc::clone(&disk), config, easy())
    };
    for (from, history) in [(0, History::Archive), (6, History::Window(3))] {
        let world = as_mode(history).unwrap();
        for nonce in from..from + 6 {
            world.evm.submit(transfer(nonce, 2 * GWEI, 0, 1)).unwrap();
            accept(&world).await;
        }
        let oldest = world.evm.header_at(8).unwrap();
        let is_gone = oldest.is_some_and(|header| world.evm.state_after(&header).is_err());
        assert_eq!(is_gone, from == 6);
    }
    let refused = as_mode(History::Archive).err().unwrap().to_string();
    assert!(refused.contains("set pruning-enabled = true"), "{refused}");
}

#[tokio::test]
async fn a_pruning_chain_keeps_its_window_and_an_archive_everything() {
    for (history, oldest) in [(History::Window(4), 6), (History::Archive, 0)] {
        let config = EvmConfig { history, ..EvmConfig::default() };
        let world = world(config, easy());
        for nonce in 0..10 {
            world.evm.submit(transfer(nonce, 2 * GWEI, 0, 1)).unwrap();
            accept(&world).await;
        }
        for height in 0..=10 {
            let header = world.evm.header_at(height).unwrap().unwrap();
            let state = world.evm.state_after(&header);
            assert_eq!(state.is_ok(), height >= oldest, "{history:?} {height}");
            if let Ok(state) = state {
                assert_eq!(state.view().root().unwrap(), header.header.state_root);
                let received = state.view().account(&Address::repeat_byte(7)).unwrap();
                assert_eq!(received.unwrap_or_default().balance, U256::from(height));
            }
        }
    }
}

#[tokio::test]
async fn a_recorded_chain_is_verified_block_by_block() {
    let world = world(EvmConfig::default(), FeeOverrides::default());
    let mut accepted = 0;
    for bytes in recorded("C") {
        let block = esker_evm_state::types::Block::parse(&bytes).unwrap();
        let (height, parent) = world.machine.last_final();
        let blocks = vec![(Id::sha256(b"C"), bytes.into())];
        let timestamp_ms = START_MS;
        let bundle = Bundle {
            version: 0,
            commitment: Id::ZERO,
            parent,
            height: height + 1,
            timestamp_ms,
            blocks,
        };
        let verdict = world.machine.verify(&[], &bundle).await.unwrap();
        if !block.ext_data.is_empty() {
            // Atomic transactions belong to another crate. Here they are refused, and the block is kept as a bad
            // block.
            assert!(matches!(verdict, Verdict::Invalid(_)));
            assert_eq!(world.evm.bad_blocks()[0].block.hash, block.hash());
            break;
        }
        assert_eq!(verdict, Verdict::Valid, "block {}", block.header.number);
        world.machine.finalize(&bundle, None).await.unwrap();
        accepted += 1;
    }
    assert!(accepted > 0);
    let head = ChainReader::head(world.evm.as_ref());
    assert_eq!(head.header.number, accepted);
    assert_ne!(head.hash, B256::ZERO);
}

/// A block of another node. `changed` is a position from the end at which one byte is changed.
async fn foreign_block(changed: Option<usize>) -> Bytes {
    let maker = world(EvmConfig::default(), easy());
    for nonce in 0..40 {
        maker.evm.submit(transfer(nonce, 50 * GWEI, GWEI, 5)).unwrap();
    }
    let mut block = propose(&maker).await.blocks[0].1.to_vec();
    if let Some(at) = changed {
        let at = block.len() - at;
        block[at] ^= 1;
    }
    block.into()
}

/// The verdicts on a block that was prepared and on one that was not are the same.
#[tokio::test]
async fn preparing_a_block_does_not_change_its_verdict() {
    // The block as it is; with other ext data, another signature, another transaction.
    for changed in [None, Some(1), Some(10), Some(40), Some(400)] {
        let bytes = foreign_block(changed).await;
        let mut found = Vec::new();
        for is_prepared in [false, true] {
            let node = world(EvmConfig::default(), easy());
            let reader = node.evm.context().store.snapshot().unwrap();
            if is_prepared {
                node.evm.prepare(&bytes);
            }
            let verify = || {
                let at = BuildContext { now_ms: node.clock.now_ms(), ..BuildContext::default() };
                let executed = node.evm.verify(reader.as_ref(), &bytes, &at);
                executed.map(|block| (block.id, block.writes)).map_err(|error| error.to_string())
            };
            // The second time the block is no longer prepared.
            found.extend([verify(), verify()]);
        }
        for verdict in &found {
            assert_eq!(verdict, &found[0]);
            assert_eq!(verdict.is_err(), changed.is_some());
        }
    }
}

#[tokio::test]
async fn transactions_of_a_dropped_block_return() {
    let world = world(EvmConfig::default(), easy());
    world.evm.submit(transfer(0, 2 * GWEI, 0, 1)).unwrap();
    let ours = propose(&world).await;
    let (height, parent) = world.machine.last_final();
    let beat = Bundle {
        version: 0,
        commitment: Id::ZERO,
        parent,
        height: height + 1,
        timestamp_ms: START_MS,
        blocks: Vec::new(),
    };
    world.machine.finalize(&beat, None).await.unwrap();
    assert_eq!(ChainReader::head(world.evm.as_ref()).header.number, 0);
    let again = accept(&world).await;
    assert_ne!(again.id(), ours.id());
    assert_eq!(balance(&world, Address::repeat_byte(7)), U256::from(1));
}

#[tokio::test]
async fn subscribers_get_executable_transactions_and_their_block() {
    let world = world(EvmConfig::default(), easy());
    let (mut accepted, mut pending) = (world.evm.blocks(), world.evm.pending_transactions());
    let mut announced =
        || std::iter::from_fn(|| pending.try_recv().ok()).map(|tx| tx.hash()).collect::<Vec<_>>();
    let tx = |nonce| transfer(nonce, 2 * GWEI, GWEI, 5);
    let hash = |nonce| *tx(nonce).tx_hash();

    world.evm.submit(tx(1)).unwrap();
    assert!(announced().is_empty(), "it waits for the nonce before it");
    world.evm.submit(tx(0)).unwrap();
    assert_eq!(announced(), [hash(0), hash(1)]);
    let dearer = transfer(1, 3 * GWEI, 2 * GWEI, 6);
    world.evm.submit(dearer.clone()).unwrap();
    assert_eq!(announced(), [*dearer.tx_hash()], "a replacement is news");
    assert!(world.evm.submit(tx(0)).is_err());
    assert!(announced().is_empty(), "what is refused is not");

    assert!(accepted.try_recv().is_err(), "no block yet");
    accept(&world).await;
    let block = accepted.try_recv().unwrap();
    let block = block.accepted().unwrap().block;
    assert_eq!(block.hash, ChainReader::head(world.evm.as_ref()).hash);
    let hashes: Vec<B256> = block.block.transactions.iter().map(|tx| *tx.tx_hash()).collect();
    assert_eq!(hashes, [hash(0), *dearer.tx_hash()]);
    assert_eq!(block.receipts.len(), 2);
}

/// Heights of blocks that may hold a log of a topic.
fn heights_with(world: &World, topic: B256) -> Vec<u64> {
    let query = LogQuery::any().one_of([topic]);
    let tip = ChainReader::head(world.evm.as_ref()).header.number;
    let (mut heights, mut next) = (Vec::new(), Some(0));
    while let Some(from) = next {
        let found = world.evm.blocks_with_logs(&query, from, tip).unwrap();
        heights.extend(found.heights);
        next = found.next;
    }
    heights
}

#[tokio::test]
async fn logs_are_found_in_whole_sections_and_after_them() {
    let kv: Arc<dyn KvStore> = Arc::new(MemoryStore::new());
    let world = open(Arc::clone(&kv), EvmConfig::default(), easy()).unwrap();
    let with_logs = [1, 2_000, SECTION - 1, SECTION, SECTION + 1];
    for height in 1..=SECTION + 2 {
        let nonce = height - 1;
        world
            .evm
            .submit(match with_logs.contains(&height) {
                true => log_42(nonce),
                false => transfer(nonce, 2 * GWEI, 0, 1),
            })
            .unwrap();
        accept(&world).await;
    }
    let topic = B256::with_last_byte(42);
    assert_eq!(heights_with(&world, topic), with_logs);
    assert!(heights_with(&world, B256::with_last_byte(43)).is_empty());
    // A restart reads the complete section from the store, and the rest from its blocks.
    drop(world);
    let world = open(kv, EvmConfig::default(), easy()).unwrap();
    assert_eq!(heights_with(&world, topic), with_logs);

    // The same is true after blocks are taken back down into the section.
    let undo = Undo::Keep(UndoLimits::bundles(10));
    world.machine.set_undo(undo).await.unwrap();
    world.evm.submit(transfer(SECTION + 2, 2 * GWEI, 0, 1)).unwrap();
    accept(&world).await;
    world.machine.rewind(SECTION + 2).await.unwrap();
    assert_eq!(heights_with(&world, topic), with_logs);
}

/// A transaction whose init code logs the topic 42: LOG1.
fn log_42(nonce: u64) -> Transaction {
    signed(TxEip1559 {
        chain_id: 43112,
        nonce,
        gas_limit: 100_000,
        max_fee_per_gas: 2 * GWEI,
        to: TxKind::Create,
        input: [0x60, 42, 0x60, 0, 0x60, 0, 0xa1].into(),
        ..Default::default()
    })
}

/// The rows of a section are written with its last block and removed with it.
#[tokio::test]
async fn a_section_of_logs_is_taken_back() {
    let kv: Arc<dyn KvStore> = Arc::new(MemoryStore::new());
    let world = open(Arc::clone(&kv), EvmConfig::default(), easy()).unwrap();
    world.machine.set_undo(Undo::Keep(UndoLimits::bundles(10))).await.unwrap();
    // The row with the number of sections.
    let sections = || {
        let row = kv.snapshot().unwrap().get(&[0, 2, 0x56]).unwrap();
        row.map(|row| u64::from_be_bytes(row.try_into().unwrap()))
    };
    for nonce in 0..=SECTION {
        let is_logging = nonce >= SECTION - 3;
        let tx = if is_logging { log_42(nonce) } else { transfer(nonce, 2 * GWEI, 0, 1) };
        world.evm.submit(tx).unwrap();
        accept(&world).await;
    }
    let topic = B256::with_last_byte(42);
    let last = [SECTION - 2, SECTION - 1, SECTION, SECTION + 1];
    assert_eq!((heights_with(&world, topic), sections()), (last.to_vec(), Some(1)));
    world.machine.rewind(SECTION - 2).await.unwrap();
    assert_eq!((heights_with(&world, topic), sections()), (last[..1].to_vec(), None));
    // Other blocks replace them.
    for (nonce, tx) in (SECTION - 2..=SECTION).zip([
        transfer(SECTION - 2, 2 * GWEI, 0, 1),
        log_42(SECTION - 1),
        transfer(SECTION, 2 * GWEI, 0, 1),
    ]) {
        assert_eq!(alloy_consensus::Transaction::nonce(&tx), nonce);
        world.evm.submit(tx).unwrap();
        accept(&world).await;
    }
    assert_eq!((heights_with(&world, topic), sections()), (vec![SECTION - 2, SECTION], Some(1)));
}
