//! Taking transactions in: order of checks, remembered refusals, the pool's limits.

use esker_chain::ChainVm as _;
use esker_transactions::xvm::{Block, Tx, UnsignedTx};
use esker_xvm::{MempoolLimits, TARGET_BLOCK_BYTES, TxStatus, XvmConfig};

use super::world::{
    FEE, START_MS, Setup, World, address, balance, base, fund, native_id, output, output_of,
    rejected, sign, spend, status, transfer,
};

fn refused(world: &World, tx: &Tx) -> String {
    world.x.issue(tx.bytes()).unwrap_err().to_string()
}

/// How many were refused or dropped, by the reasons that are not 0.
fn counted(figures: Vec<(&'static str, u64)>) -> Vec<(&'static str, u64)> {
    figures.into_iter().filter(|(_, count)| *count > 0).collect()
}

#[tokio::test]
async fn a_transfer_is_issued_and_accepted() {
    let mut world = World::new();
    let native = native_id(&world.x);
    let tx = transfer(&world.x, 1, native, 77, 9);
    assert_eq!(status(&world.x, tx.id()), TxStatus::Unknown);
    assert_eq!(world.x.issue(tx.bytes()).unwrap(), tx.id());
    assert_eq!(status(&world.x, tx.id()), TxStatus::Processing);
    // Again, while it waits.
    assert_eq!(world.x.issue(tx.bytes()).unwrap(), tx.id());
    world.settle().await;
    assert_eq!(status(&world.x, tx.id()), TxStatus::Accepted);
    assert_eq!(balance(&world.x, 9, native), 77);
    let view = world.x.view().unwrap();
    assert_eq!(view.height().unwrap(), 1);
    assert_eq!(view.tx_bytes(&tx.id()).unwrap().unwrap(), *tx.bytes());
    assert_eq!(view.accepted_at(1).unwrap(), Some(START_MS));
    let tip = view.tip().unwrap();
    assert_eq!((tip.height, tip.time_s), (1, START_MS / 1000));
    let stats = world.x.stats();
    assert_eq!((stats.height, stats.last_block_s), (1, START_MS / 1000));
    let block = view.block_by_height(1).unwrap().unwrap();
    assert_eq!(view.block_by_id(&tip.id).unwrap().unwrap(), block);
    // The other chain took no part.
    assert_eq!(world.y.view().unwrap().height().unwrap(), 0);
    // Again, now that its inputs are gone.
    assert_eq!(refused(&world, &tx), "not found");
    assert_eq!(status(&world.x, tx.id()), TxStatus::Accepted);
}

#[tokio::test]
async fn the_order_of_checks_is_the_references() {
    let mut world = World::new();
    let vm = world.x.clone();
    let native = native_id(&vm);
    assert_eq!(vm.issue(&[]).unwrap_err().to_string(), "couldn't unpack codec version");
    // Wrong network and missing input: the first rule without state counts.
    let mut unsigned = transfer(&vm, 1, native, 5, 9).unsigned().base().clone();
    unsigned.network_id += 1;
    assert_eq!(refused(&world, &sign(UnsignedTx::Base(unsigned), 1)), "tx has wrong network ID");
    // Another key's signature.
    let (inputs, outputs) = fund(&vm, 1, &[(native, FEE)]);
    let wrong = sign(UnsignedTx::Base(base(&vm, inputs, outputs)), 2);
    assert!(refused(&world, &wrong).starts_with("wrong signature: expected signature from "));
    // The output of a transaction that waits.
    let parent = transfer(&vm, 1, native, 5000, 9);
    vm.issue(parent.bytes()).unwrap();
    let child = spend(&vm, &output_of(&parent, 9), 9, 100, 8);
    assert_eq!(refused(&world, &child), "not found");
    // A conflict is reported after the rules; the text names the newcomer.
    let rival = transfer(&vm, 1, native, 6000, 9);
    assert_eq!(refused(&world, &rival), format!("tx conflicts with other tx: {}", rival.id()));
    let figures = vm.pool_figures();
    assert_eq!(counted(figures.refused), [("undecodable", 1), ("invalid", 3), ("conflict", 1)]);
    assert_eq!(counted(figures.dropped), []);
    world.settle().await;
    // Once its parent is accepted the child is looked at again.
    vm.issue(child.bytes()).unwrap();
    world.settle().await;
    assert_eq!(balance(&vm, 8, native), 100);
}

#[tokio::test]
async fn a_refusal_is_remembered_until_it_may_have_changed() {
    let mut world = World::new();
    let vm = world.x.clone();
    let native = native_id(&vm);
    // Locked for ten seconds from now.
    let (inputs, mut outputs) = fund(&vm, 1, &[(native, 5000 + FEE)]);
    let mut locked = output(native, 5000, address(9));
    locked.output.owners.locktime = world.now_s() + 10;
    outputs.push(locked);
    let tx = sign(UnsignedTx::Base(base(&vm, inputs, outputs)), 1);
    vm.issue(tx.bytes()).unwrap();
    world.settle().await;
    let child = spend(&vm, &output_of(&tx, 9), 9, 100, 8);
    assert_eq!(refused(&world, &child), "output is time locked");
    world.clock.advance(9_999);
    assert_eq!(refused(&world, &child), "output is time locked");
    world.clock.advance(1);
    vm.issue(child.bytes()).unwrap();
    world.settle().await;
    assert_eq!(balance(&vm, 8, native), 100);
}

#[tokio::test]
async fn the_pool_has_limits() {
    let config = XvmConfig {
        tx_fee: FEE,
        mempool: MempoolLimits { max_bytes: 700, max_tx_bytes: 600 },
        ..XvmConfig::default()
    };
    let mut world = World::with(Setup { config, ..Setup::default() });
    let vm = world.x.clone();
    let native = native_id(&vm);
    let (inputs, mut outputs) = fund(&vm, 1, &[(native, 100 + FEE)]);
    outputs.extend((0..5).map(|n| output(native, 20, address(20 + n))));
    let long = sign(UnsignedTx::Base(base(&vm, inputs, outputs)), 1);
    let (id, len) = (long.id(), long.bytes().len());
    assert_eq!(refused(&world, &long), format!("tx too large: {id} size ({len}) > max size (600)"));
    // The same text again.
    assert_eq!(refused(&world, &long), format!("tx too large: {id} size ({len}) > max size (600)"));

    let first = transfer(&vm, 1, native, 1, 9);
    let second = transfer(&vm, 2, native, 1, 9);
    vm.issue(first.bytes()).unwrap();
    let (id, len) = (second.id(), second.bytes().len());
    let available = 700 - first.bytes().len();
    assert_eq!(
        refused(&world, &second),
        format!("mempool is full: {id} size ({len}) > available space ({available})")
    );
    world.settle().await;
    let figures = vm.pool_figures();
    assert_eq!(counted(figures.refused), [("refused_before", 1), ("too_large", 1), ("full", 1)]);
    // A full pool is no reason to remember.
    vm.issue(second.bytes()).unwrap();
    world.settle().await;
    assert_eq!(status(&vm, second.id()), TxStatus::Accepted);
}

#[tokio::test]
async fn blocks_fill_up_to_their_size_in_the_order_of_arrival() {
    let mut world = World::new();
    let vm = world.x.clone();
    let native = native_id(&vm);
    // Many outputs to spend one by one.
    let mut txs = Vec::new();
    for from in [1, 2] {
        let (inputs, mut outputs) = fund(&vm, from, &[(native, 300 * 2 * FEE + FEE)]);
        outputs.extend((0..300).map(|_| output(native, 2 * FEE, address(9))));
        let many = sign(UnsignedTx::Base(base(&vm, inputs, outputs)), from);
        vm.issue(many.bytes()).unwrap();
        let owner = [address(9)];
        let small = many.produced_utxos().filter(|utxo| utxo.output.owners().addresses == owner);
        txs.extend(small.map(|utxo| spend(&vm, &utxo, 9, FEE, 8)));
    }
    world.settle().await;
    for tx in &txs {
        vm.issue(tx.bytes()).unwrap();
    }
    world.settle().await;
    let view = vm.view().unwrap();
    let tip = view.height().unwrap();
    let blocks: Vec<_> =
        (2..=tip).map(|height| view.block_by_height(height).unwrap().unwrap()).collect();
    assert!(blocks.len() > 1);
    let in_order: Vec<_> = blocks
        .iter()
        .flat_map(|bytes| Block::parse(bytes).unwrap().txs().to_vec())
        .map(|tx| tx.id())
        .collect();
    assert_eq!(in_order, txs.iter().map(Tx::id).collect::<Vec<_>>());
    let one = txs[0].bytes().len();
    for block in &blocks[..blocks.len() - 1] {
        let filled: usize =
            Block::parse(block).unwrap().txs().iter().map(|tx| tx.bytes().len()).sum();
        assert!(filled > TARGET_BLOCK_BYTES - one && filled <= TARGET_BLOCK_BYTES, "{filled}");
    }
    assert_eq!(balance(&vm, 8, native), 600 * FEE);
}

#[tokio::test]
async fn issuing_from_many_threads_takes_each_transaction_once() {
    let mut world = World::new();
    let vm = world.x.clone();
    let native = native_id(&vm);
    let txs: Vec<Tx> = [1, 2, 3].iter().map(|n| transfer(&vm, *n, native, 10, 9)).collect();
    std::thread::scope(|scope| {
        for worker in 0..6 {
            let (vm, txs) = (&vm, &txs);
            scope.spawn(move || {
                for at in 0..txs.len() {
                    let tx = &txs[(at + worker) % txs.len()];
                    assert_eq!(vm.issue(tx.bytes()).unwrap(), tx.id());
                }
            });
        }
    });
    world.settle().await;
    assert_eq!(balance(&vm, 9, native), 30);
    assert_eq!(vm.view().unwrap().height().unwrap(), 1);
}

#[tokio::test]
async fn transactions_that_a_block_conflicts_with_are_rejected() {
    let world = World::new();
    let vm = world.x.clone();
    let native = native_id(&vm);
    let winner = transfer(&vm, 1, native, 10, 9);
    let loser = transfer(&vm, 1, native, 20, 9);
    let other = transfer(&vm, 2, native, 30, 9);
    // A block of the winner, held back; then the pool forgets it by restart, and takes the loser.
    vm.issue(winner.bytes()).unwrap();
    let block = world.propose_on(&world.last()).await.unwrap();
    let twin = World::with(Setup { kv: world.store.kv.clone(), ..Setup::default() });
    twin.x.issue(loser.bytes()).unwrap();
    twin.x.issue(other.bytes()).unwrap();
    let mut world = twin;
    world.finalize(&block).await;
    let reason = format!("conflicts with accepted transaction {}", winner.id());
    assert_eq!(status(&world.x, loser.id()), rejected(&reason));
    assert_eq!(counted(world.x.pool_figures().dropped), [("conflict", 1)]);
    assert_eq!(status(&world.x, winner.id()), TxStatus::Accepted);
    assert_eq!(status(&world.x, other.id()), TxStatus::Processing);
    world.settle().await;
    assert_eq!(status(&world.x, other.id()), TxStatus::Accepted);
    // The reason survives a restart: it went into the block's commit.
    let again = World::with(Setup { kv: world.store.kv.clone(), ..Setup::default() });
    assert_eq!(status(&again.x, loser.id()), rejected(&reason));
    assert_eq!(again.x.issue(loser.bytes()).unwrap_err().to_string(), "not found");
}
