//! The status of transactions, over a store that fails or starts again.

use esker_storage::{KvRead, KvStore, MemoryStore};
use esker_xvm::TxStatus;
use std::sync::Arc;

use super::world::{Setup, World, balance, native_id, some_id, status, transfer};

#[tokio::test]
async fn unknown_ones_are_unknown() {
    let world = World::new();
    assert_eq!(status(&world.x, some_id("nothing")), TxStatus::Unknown);
}

#[tokio::test]
async fn a_restart_keeps_what_was_accepted_and_forgets_what_waited() {
    let kv: Arc<dyn KvStore> = Arc::new(MemoryStore::new());
    let mut world = World::with(Setup { kv: kv.clone(), ..Setup::default() });
    let native = native_id(&world.x);
    let accepted = transfer(&world.x, 1, native, 10, 9);
    world.x.issue(accepted.bytes()).unwrap();
    world.settle().await;
    let waiting = transfer(&world.x, 2, native, 20, 9);
    world.x.issue(waiting.bytes()).unwrap();
    drop(world);
    let world = World::with(Setup { kv, ..Setup::default() });
    assert_eq!(status(&world.x, accepted.id()), TxStatus::Accepted);
    assert_eq!(status(&world.x, waiting.id()), TxStatus::Unknown);
    assert_eq!(world.x.accepted_height(), 1);
    assert_eq!(balance(&world.x, 9, native), 10);
}

#[tokio::test]
async fn another_genesis_is_refused() {
    use esker_chain::{ChainVm, Machine, MachineConfig};
    use esker_xvm::genesis::define::{self, AssetDefinition};
    use esker_xvm::genesis::primary::fresh_genesis_block;
    use esker_xvm::{Xvm, XvmConfig};

    let world = World::new();
    let context = world.x.context().clone();
    let other = AssetDefinition { alias: "A".into(), ..AssetDefinition::default() };
    let genesis = define::genesis(1, [other]).unwrap();
    let block = fresh_genesis_block(context.chain_id);
    let vm = Xvm::new(context, XvmConfig::default(), genesis, block).unwrap();
    let reader = world.store.snapshot().unwrap();
    let error = ChainVm::check(vm.as_ref(), reader.as_ref()).unwrap_err();
    assert_eq!(error.to_string(), "the data of chain X belongs to another genesis");
    let chains: Vec<Arc<dyn ChainVm>> = vec![vm];
    let work = Arc::new(tokio::sync::Notify::new());
    let opened = Machine::open(
        chains,
        world.store.clone(),
        world.clock.clone(),
        work,
        MachineConfig::default(),
    );
    assert!(opened.is_err());
}

#[tokio::test]
async fn a_damaged_last_block_is_noticed() {
    use esker_chain::ChainVm;
    use esker_storage::WriteSet;
    use esker_xvm::state::tables::BLOCKS;

    let mut world = World::new();
    let tx = transfer(&world.x, 1, native_id(&world.x), 10, 9);
    world.x.issue(tx.bytes()).unwrap();
    world.settle().await;
    let scope = world.x.context().scope;
    let reader: Box<dyn KvRead> = world.store.snapshot().unwrap();
    let mut block = BLOCKS.get(reader.as_ref(), scope, &1).unwrap().unwrap();
    block[100] ^= 1;
    let mut out = WriteSet::new();
    BLOCKS.put(&mut out, scope, &1, &block);
    world.store.writer.commit_blocking(out).unwrap();
    let reader = world.store.snapshot().unwrap();
    let error = ChainVm::check(world.x.as_ref(), reader.as_ref()).unwrap_err();
    assert!(error.to_string().contains("block 1 of chain X is missing or damaged"), "{error}");
}

/// 296,910 bytes of genesis, whose only asset is a transaction longer than the codec takes from outside.
#[tokio::test]
async fn the_main_networks_genesis_is_served() {
    use esker_chain::{ChainVm, Machine, MachineConfig};
    use esker_xvm::genesis::Genesis;
    use esker_xvm::genesis::primary::{x_chain_id, x_genesis_block};
    use esker_xvm::{Xvm, XvmConfig};

    let bytes = crate::vectors::test_file("vectors/genesis/main-x.bin");
    let genesis = Genesis::parse(&bytes).unwrap();
    let native = genesis.fee_asset_id().unwrap();
    let chain_id = x_chain_id(1, &bytes);
    let context = World::new().x.context().clone();
    let store = esker_storage::Store::memory().unwrap();
    let clock = context.clock.clone();
    let context = esker_chain::ChainContext {
        network_id: 1,
        hrp: "avax".into(),
        chain_id,
        native_asset_id: native,
        store: store.clone(),
        ..context
    };
    let block = x_genesis_block(1, chain_id);
    let vm = Xvm::new(context, XvmConfig::default(), genesis, block).unwrap();
    let work = vm.context().work.clone();
    let chains: Vec<Arc<dyn ChainVm>> = vec![vm.clone()];
    Machine::open(chains, store, clock, work, MachineConfig::default()).unwrap();
    let view = vm.view().unwrap();
    let tx = view.tx(&native).unwrap().unwrap();
    assert_eq!(tx.id(), native);
    assert!(tx.bytes().len() > 262_144);
    let holdings: u64 = tx
        .produced_utxos()
        .map(|utxo| {
            assert_eq!(view.utxo(&utxo.utxo_id).unwrap().as_ref(), Some(&utxo));
            utxo.output.as_transfer().unwrap().amount
        })
        .sum();
    assert!(holdings > 0);
    let id = view.last_accepted().unwrap().to_string();
    assert_eq!(id, "V8kYdATLoVjUBazVjEHy1dWurk2PcnhERSWnwmcNwirdsBb1S");
}
