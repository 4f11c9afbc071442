//! Blocks: what is refused in them, siblings, overlays.

use esker_chain::{BlockError, BuildContext, Built, Bundle, ChainMachine, ChainVm, Verdict};
use esker_primitives::Id;
use esker_transactions::xvm::{Block, Tx, UnsignedTx};
use esker_xvm::{TxStatus, Xvm};

use super::world::{
    FEE, START_MS, World, address, balance, base, fund, native_id, output, output_of, rejected,
    sign, spend, status, transfer,
};

const START_S: u64 = START_MS / 1000;

/// The first bundle, as another node would make it of these transactions.
fn foreign_bundle(world: &World, txs: Vec<Tx>) -> Bundle {
    let (genesis, vm) = (world.machine.genesis(), &world.x);
    let block = Block::new(vm.view().unwrap().tip().unwrap().id, 1, START_S, txs);
    Bundle {
        parent: genesis.id(),
        height: 1,
        timestamp_ms: START_MS,
        blocks: vec![(vm.context().chain_id, block.bytes().clone())],
        ..genesis
    }
}

fn verify(vm: &Xvm, block: &[u8]) -> Result<Id, BlockError> {
    let reader = vm.context().store.snapshot().unwrap();
    let at = BuildContext { now_ms: START_MS, ..BuildContext::default() };
    vm.verify(reader.as_ref(), block, &at).map(|block| block.id)
}

fn invalid(vm: &Xvm, block: &Block) -> String {
    match verify(vm, block.bytes()) {
        Err(BlockError::Invalid(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn block_rules_are_checked_in_order() {
    let mut world = World::new();
    let vm = world.x.clone();
    let native = native_id(&vm);
    let first = transfer(&vm, 1, native, 10, 9);
    vm.issue(first.bytes()).unwrap();
    world.settle().await;
    let tip = vm.view().unwrap().tip().unwrap();
    let good = transfer(&vm, 2, native, 10, 9);
    let block = |parent, height, time_s, txs: &[&Tx]| {
        Block::new(parent, height, time_s, txs.iter().map(|tx| (*tx).clone()).collect())
    };
    verify(&vm, block(tip.id, 2, START_S, &[&good]).bytes()).unwrap();

    // Merkle root: before everything else.
    let mut bytes = block(some_parent(), 9, 0, &[]).bytes().to_vec();
    bytes[58] = 1;
    assert!(invalid(&vm, &Block::parse(&bytes).unwrap()).starts_with("unexpected merkle root: "));
    assert_eq!(invalid(&vm, &block(some_parent(), 9, 0, &[])), "block contains no transactions");
    // The rules of transactions without state come before the block's place.
    let mut unsigned = good.unsigned().base().clone();
    unsigned.memo = vec![0; 257];
    let long_memo = sign(UnsignedTx::Base(unsigned), 2);
    assert_eq!(
        invalid(&vm, &block(some_parent(), 9, 0, &[&long_memo])),
        "memo exceeds maximum length: 257 > 256"
    );
    assert!(invalid(&vm, &block(some_parent(), 9, 0, &[&good])).starts_with("parent block "));
    assert_eq!(
        invalid(&vm, &block(tip.id, 3, 0, &[&good])),
        "block has incorrect height: expected height 2, got height 3"
    );
    assert_eq!(
        invalid(&vm, &block(tip.id, 2, START_S - 1, &[&first])),
        format!(
            "proposed timestamp before current chain time: proposed timestamp ({}), chain time ({START_S})",
            START_S - 1
        )
    );
    assert_eq!(invalid(&vm, &block(tip.id, 2, START_S, &[&first])), "not found");
    assert_eq!(invalid(&vm, &block(tip.id, 2, START_S, &[&good, &good])), "not found");
    assert!(matches!(verify(&vm, &bytes[..89]), Err(BlockError::Invalid(_))));
}

fn some_parent() -> Id {
    Id::sha256(b"parent")
}

#[tokio::test]
async fn a_block_ahead_of_the_clock_is_waited_for() {
    let world = World::new();
    let vm = &world.x;
    let tip = vm.view().unwrap().tip().unwrap();
    let tx = transfer(vm, 1, native_id(vm), 10, 9);
    let block = |time_s| Block::new(tip.id, 1, time_s, vec![tx.clone()]);
    verify(vm, block(START_S + 10).bytes()).unwrap();
    match verify(vm, block(START_S + 11).bytes()) {
        Err(BlockError::NotYet { until_ms, .. }) => assert_eq!(until_ms, START_MS + 1000),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn in_a_block_its_own_time_counts_for_locktimes() {
    let mut world = World::new();
    let vm = world.x.clone();
    let native = native_id(&vm);
    let (inputs, mut outputs) = fund(&vm, 1, &[(native, 5000 + FEE)]);
    let mut locked = output(native, 5000, address(9));
    locked.output.owners.locktime = START_S + 5;
    outputs.push(locked);
    let tx = sign(UnsignedTx::Base(base(&vm, inputs, outputs)), 1);
    vm.issue(tx.bytes()).unwrap();
    world.settle().await;
    let tip = vm.view().unwrap().tip().unwrap();
    let child = spend(&vm, &output_of(&tx, 9), 9, 100, 8);
    let block = |time_s| Block::new(tip.id, 2, time_s, vec![child.clone()]);
    // The clock of the one who verifies plays no part.
    assert_eq!(invalid(&vm, &block(START_S + 4)), "output is time locked");
    verify(&vm, block(START_S + 5).bytes()).unwrap();
}

#[tokio::test]
async fn a_transaction_that_came_after_a_block_was_begun_waits_for_the_next_one() {
    let mut world = World::new();
    let vm = world.x.clone();
    let native = native_id(&vm);
    let (inputs, mut outputs) = fund(&vm, 1, &[(native, 5000 + FEE)]);
    let mut locked = output(native, 5000, address(9));
    locked.output.owners.locktime = START_S + 5;
    outputs.push(locked);
    let tx = sign(UnsignedTx::Base(base(&vm, inputs, outputs)), 1);
    vm.issue(tx.bytes()).unwrap();
    world.settle().await;
    let child = spend(&vm, &output_of(&tx, 9), 9, 100, 8);
    // A block begins before the clock moves on, and looks at the pool afterwards.
    let at = BuildContext { now_ms: START_MS, ..BuildContext::default() };
    world.clock.advance(5_000);
    vm.issue(child.bytes()).unwrap();
    let reader = vm.context().store.snapshot().unwrap();
    assert!(matches!(vm.build(reader.as_ref(), &at), Ok(Built::Nothing)));
    drop(reader);
    assert_eq!(status(&vm, child.id()), TxStatus::Processing);
    world.settle().await;
    assert_eq!(status(&vm, child.id()), TxStatus::Accepted);
}

#[tokio::test]
async fn siblings_exclude_each_other_and_return_their_transactions() {
    let mut world = World::new();
    let vm = world.x.clone();
    let native = native_id(&vm);
    let genesis = world.last();
    let (a, b) = (transfer(&vm, 1, native, 10, 9), transfer(&vm, 2, native, 20, 9));
    vm.issue(a.bytes()).unwrap();
    let left = world.propose_on(&genesis).await.unwrap();
    vm.issue(b.bytes()).unwrap();
    let right = world.propose_on(&genesis).await.unwrap();
    assert_ne!(left.id(), right.id());
    assert_eq!(world.machine.undecided(), 2);
    assert_eq!(status(&vm, b.id()), TxStatus::Processing);
    // Undecided blocks can be looked at.
    let block = Block::parse(&right.blocks[0].1).unwrap();
    assert_eq!(block.txs().iter().map(Tx::id).collect::<Vec<_>>(), [a.id(), b.id()]);
    assert_eq!(vm.view().unwrap().block_by_id(&block.id()).unwrap().unwrap(), *block.bytes());
    world.finalize(&left).await;
    assert_eq!(status(&vm, a.id()), TxStatus::Accepted);
    assert_eq!(status(&vm, b.id()), TxStatus::Processing);
    assert_eq!(vm.view().unwrap().block_by_id(&block.id()).unwrap(), None);
    world.settle().await;
    assert_eq!(status(&vm, b.id()), TxStatus::Accepted);
    assert_eq!(balance(&vm, 9, native), 30);
}

#[tokio::test]
async fn blocks_stand_on_undecided_blocks() {
    let mut world = World::new();
    let vm = world.x.clone();
    let native = native_id(&vm);
    let genesis = world.last();
    let parent = transfer(&vm, 1, native, 50_000, 9);
    vm.issue(parent.bytes()).unwrap();
    let first = world.propose_on(&genesis).await.unwrap();
    // A transaction of an undecided block is not built again on top of it.
    assert_eq!(world.propose_on(&first).await, None);
    // A child of the undecided transaction: only the wallet's way takes it in.
    let child = spend(&vm, &output_of(&parent, 9), 9, 20_000, 8);
    assert_eq!(vm.issue(child.bytes()).unwrap_err().to_string(), "not found");
    vm.issue_unverified(child.bytes()).unwrap();
    let second = world.propose_on(&first).await.unwrap();
    let other = transfer(&vm, 2, native, 5, 9);
    vm.issue(other.bytes()).unwrap();
    let third = world.propose_on(&second).await.unwrap();
    assert_eq!(Block::parse(&third.blocks[0].1).unwrap().txs(), std::slice::from_ref(&other));
    world.machine.notarized(&third.id()).await.unwrap();
    assert_eq!(world.machine.undecided(), 3);
    assert_eq!(vm.view().unwrap().height().unwrap(), 0);
    for bundle in [&first, &second, &third] {
        world.finalize(bundle).await;
    }
    assert_eq!(balance(&vm, 8, native), 20_000);
    assert_eq!(balance(&vm, 9, native), 30_000 - FEE + 5);
    assert_eq!(vm.view().unwrap().height().unwrap(), 3);
    assert_eq!(world.propose_on(&third).await, None);
}

#[tokio::test]
async fn conflicts_with_undecided_blocks_wait() {
    let mut world = World::new();
    let vm = world.x.clone();
    let native = native_id(&vm);
    let genesis = world.last();
    // Another node's block spends what a waiting transaction spends too.
    let (theirs, ours) = (transfer(&vm, 1, native, 10, 9), transfer(&vm, 1, native, 20, 9));
    let foreign = foreign_bundle(&world, vec![theirs.clone()]);
    assert_eq!(world.machine.verify(&[], &foreign).await.unwrap(), Verdict::Valid);
    vm.issue(ours.bytes()).unwrap();
    assert_eq!(world.propose_on(&foreign).await, None);
    assert_eq!(status(&vm, ours.id()), TxStatus::Processing);
    assert_eq!(status(&vm, theirs.id()), TxStatus::Processing);
    // Theirs is abandoned for ours; it comes back, and is found to be impossible.
    let own = world.propose_on(&genesis).await.unwrap();
    world.finalize(&own).await;
    assert_eq!(status(&vm, ours.id()), TxStatus::Accepted);
    world.settle().await;
    assert_eq!(status(&vm, theirs.id()), rejected("not found"));
}

#[tokio::test]
async fn a_transaction_of_an_abandoned_block_is_rejected_for_one_that_waits() {
    let mut world = World::new();
    let vm = world.x.clone();
    let native = native_id(&vm);
    let (theirs, ours) = (transfer(&vm, 1, native, 10, 9), transfer(&vm, 1, native, 20, 9));
    let foreign = |txs| foreign_bundle(&world, txs);
    // Two blocks of other nodes have one, and a third, which is accepted, does not.
    let more = transfer(&vm, 2, native, 5, 9);
    let both = foreign(vec![theirs.clone(), more]);
    let accepted = transfer(&vm, 3, native, 5, 9);
    let bundles = [foreign(vec![theirs.clone()]), both, foreign(vec![accepted])];
    for bundle in &bundles {
        assert_eq!(world.machine.verify(&[], bundle).await.unwrap(), Verdict::Valid);
    }
    vm.issue(ours.bytes()).unwrap();
    assert_eq!(status(&vm, theirs.id()), TxStatus::Processing);
    world.finalize(&bundles[2]).await;
    let reason = format!("its block was abandoned: tx conflicts with other tx: {}", theirs.id());
    assert_eq!(status(&vm, theirs.id()), rejected(&reason));
    world.settle().await;
    assert_eq!(status(&vm, ours.id()), TxStatus::Accepted);
    assert_eq!(status(&vm, theirs.id()), rejected(&reason));
}

#[tokio::test]
async fn a_transaction_of_an_undecided_block_has_a_record_after_a_restart() {
    let world = World::new();
    let vm = world.x.clone();
    let native = native_id(&vm);
    let (theirs, ours) = (transfer(&vm, 1, native, 10, 9), transfer(&vm, 1, native, 20, 9));
    vm.issue(ours.bytes()).unwrap();
    let foreign = foreign_bundle(&world, vec![theirs.clone()]);
    assert_eq!(world.machine.verify(&[], &foreign).await.unwrap(), Verdict::Valid);
    // A client sends it here, too.
    vm.issue(theirs.bytes()).unwrap();
    let waiting = vm.waiting_txs();
    let again = World::new();
    assert_eq!((waiting.len(), again.x.restore_txs(waiting)), (2, 1));
    assert_eq!(status(&again.x, ours.id()), TxStatus::Processing);
    let conflict = format!("refused after a restart: tx conflicts with other tx: {}", theirs.id());
    assert_eq!(status(&again.x, theirs.id()), rejected(&conflict));
}

#[tokio::test]
async fn a_finished_bundle_again_changes_nothing() {
    let mut world = World::new();
    let vm = world.x.clone();
    let tx = transfer(&vm, 1, native_id(&vm), 10, 9);
    vm.issue(tx.bytes()).unwrap();
    world.step().await;
    let before = vm.view().unwrap().tip().unwrap();
    let bundle = world.last();
    world.machine.finalize(&bundle, None).await.unwrap();
    assert_eq!(vm.view().unwrap().tip().unwrap(), before);
}

#[tokio::test]
async fn genesis_assets_are_transactions() {
    let world = World::new();
    let view = world.x.view().unwrap();
    for alias in ["AVAX", "NFT", "PRP", "VAR", "NAT"] {
        let id = world.x.assets().lookup(alias).unwrap();
        let tx = view.tx(&id).unwrap().unwrap();
        assert_eq!(tx.id(), id);
        assert_eq!(Id::sha256(&view.tx_bytes(&id).unwrap().unwrap()), id);
        assert_eq!(status(&world.x, id), TxStatus::Accepted);
        assert!(view.asset(&id).unwrap().is_some());
    }
    let native = native_id(&world.x);
    assert_eq!(world.x.assets().lookup("NAT"), Some(native));
    assert_eq!(world.x.assets().lookup(&native.to_string()), Some(native));
    assert_eq!(world.x.assets().alias(&native), Some("AVAX"));
    assert_eq!(world.x.assets().lookup("nat"), None);
    assert_eq!(world.x.assets().lookup(""), None);
    // The other chain has no NFT; the native asset it knows by any of its names.
    assert_eq!(world.y.assets().lookup("NFT"), None);
    assert_eq!(world.y.assets().lookup("NAT"), Some(native));
    let record = view.asset(&native).unwrap().unwrap();
    assert_eq!((record.name.as_str(), record.symbol.as_str()), ("Avalanche", "AVAX"));
    assert_eq!(record.denomination, 9);
}
