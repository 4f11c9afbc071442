//! The commitment of bundles over the real chains: X, C and what they exchange.

use std::ops::ControlFlow;
use std::sync::Arc;

use esker_chain::ChainVm;
use esker_chain::audit::audit_state;
use esker_chain::commitment::{SHARED_PART, StateSummary, StateTables, StoredTable};
use esker_storage::audit::Finding;
use esker_storage::{Entry, WriteSet};
use esker_testkit::chains::world::{ONE, World, account, evm_transfer, key, output};
use esker_utxo::OutputOwners;

fn chains(world: &World) -> Vec<Arc<dyn ChainVm>> {
    vec![world.x.clone(), world.evm().clone()]
}

fn findings(world: &World) -> Vec<String> {
    let mut findings = Vec::new();
    let reader = world.store.snapshot().unwrap();
    audit_state(&chains(world), reader.as_ref(), &mut findings).unwrap();
    findings.iter().map(Finding::to_string).collect()
}

fn summary(world: &World) -> StateSummary {
    StateSummary::read(world.store.snapshot().unwrap().as_ref()).unwrap().unwrap()
}

/// All rows of a table.
fn rows(world: &World, table: &StoredTable) -> Vec<Entry> {
    let mut rows = Vec::new();
    let mut visit = |key: &[u8], value: &[u8]| {
        if table.key(key).is_some() {
            rows.push((key.to_vec(), value.to_vec()));
        }
        ControlFlow::Continue(())
    };
    world.store.snapshot().unwrap().scan(&table.prefix, None, &mut visit).unwrap();
    rows
}

/// One UTXO waits on C, another was imported there, and the last bundle has blocks of both chains.
async fn busy() -> World {
    let world = World::easy();
    let (alice, bob) = (key(1), key(2));
    let utxos = world.fund(&alice, &[5 * ONE]).await;
    world.nat.submit(world.import(&utxos, &alice, account(&alice), ONE / 100)).unwrap();
    world.settle().await;
    assert_eq!(findings(&world), Vec::<String>::new());
    let before = summary(&world);
    let to_c = vec![output(world.native(), ONE, OutputOwners::single(bob.address()))];
    world.x.issue(world.x_export(to_c).bytes()).unwrap();
    world.nat.submit(world.export(&alice, 0, ONE, ONE / 100, bob.address())).unwrap();
    assert!(world.step().await);
    let last = world.last();
    assert_eq!(last.blocks.len(), 2, "X and C");
    assert_eq!(last.state_commitment(), Some(summary(&world).commitment()));
    let after = summary(&world);
    assert_ne!(after.shared, before.shared);
    let (x, c) = (world.x_id(), world.c_id());
    assert_ne!(after.chains[&x].checksum, before.chains[&x].checksum);
    // The block's state root stands for the state of C.
    assert_eq!(after.chains[&c].checksum, before.chains[&c].checksum);
    assert_ne!(after.chains[&c].block_id, before.chains[&c].block_id);
    world
}

/// A block of transfers on C alone changes no row that is hashed.
#[tokio::test]
async fn transfers_on_c_change_its_last_block_alone() {
    let world = busy().await;
    world.settle().await;
    let (before, parts) = (summary(&world), part_rows(&world));
    world
        .evm()
        .submit(evm_transfer(&key(1), world.nonce(account(&key(1))), account(&key(3))))
        .unwrap();
    assert!(world.step().await);
    let mut after = summary(&world);
    assert_ne!(after.commitment(), before.commitment());
    after.chains.insert(world.c_id(), before.chains[&world.c_id()]);
    assert_eq!(after, before);
    assert_eq!(part_rows(&world), parts);
}

fn part_rows(world: &World) -> Vec<Entry> {
    let prefix = esker_chain::tables::STATE_PARTS.prefix(esker_storage::Scope::NODE);
    world.rows().into_iter().filter(|(key, _)| key.starts_with(&prefix)).collect()
}

#[tokio::test]
async fn a_wrong_row_of_any_hashed_table_is_found() {
    let world = busy().await;
    assert_eq!(findings(&world), Vec::<String>::new());
    let tables = StateTables::from_chains(&chains(&world)).unwrap();
    let tables: Vec<_> = tables.iter().copied().collect();
    let shown: Vec<_> = tables.iter().map(|table| (table.part, table.tag, table.key_len)).collect();
    let x = world.x_id();
    let mut expected = [(SHARED_PART, 0x20, None), (x, 0x06, Some(36)), (x, 0x09, None)];
    expected.sort_unstable();
    assert_eq!(shown, expected);
    let kv = world.store.kv.as_ref();
    for table in &tables {
        let (key, value) = rows(&world, table).swap_remove(0);
        let mut other_value = value.clone();
        *other_value.last_mut().unwrap() ^= 1;
        let mut other_key = key.clone();
        *other_key.last_mut().unwrap() ^= 0x80;
        let name = if table.part == x { "X" } else { "shared memory" };
        for (key, new) in [(&key, Some(&other_value)), (&key, None), (&other_key, Some(&value))] {
            let old = world.rows().get(key.as_slice()).cloned();
            let change = |value: Option<&Vec<u8>>| {
                let mut set = WriteSet::new();
                match value {
                    Some(value) => set.put(key, value),
                    None => set.delete(key),
                }
                kv.write(&set).unwrap();
            };
            change(new);
            let found = findings(&world);
            let place = format!("state commitment of {name}: expected ");
            assert!(found.iter().any(|line| line.starts_with(&place)), "{table:?}: {found:?}");
            change(old.as_ref());
            assert_eq!(findings(&world), Vec::<String>::new());
        }
    }
}
