//! The commitment of the state in bundles: what it covers, when it is checked, and where it comes from.

use std::ops::ControlFlow;
use std::sync::Arc;

use esker_chain::audit::audit_state;
use esker_chain::commitment::{ChainState, StatePart, StateSummary};
use esker_chain::tables::{BUNDLES, BundleRecord, STATE, STATE_PARTS};
use esker_chain::{
    Bundle, ChainMachine, ChainVm, FinalizeError, Machine, MachineConfig, RewindError, Verdict,
};
use esker_primitives::{ChainId, Id};
use esker_storage::audit::Finding;
use esker_storage::{KvStore, MemoryStore, Scope, WriteSet, meta};
use esker_testkit::toy::{Op, REGISTERS, Toy, World, block_bytes};

use crate::machine::{foreign, open, open_with, propose, world};
use crate::rewind::{keeping, rows, undo_rows};

fn findings(world: &World, toys: &[Arc<Toy>]) -> Vec<String> {
    let chains: Vec<_> = toys.iter().map(|toy| Arc::clone(toy) as Arc<dyn ChainVm>).collect();
    let mut findings = Vec::new();
    audit_state(&chains, world.store.snapshot().unwrap().as_ref(), &mut findings).unwrap();
    findings.iter().map(Finding::to_string).collect()
}

/// The commitment to the final state, by its definition.
fn expected(world: &World, toys: &[Arc<Toy>]) -> Id {
    let reader = world.store.snapshot().unwrap();
    let mut summary = StateSummary::empty();
    for toy in toys {
        let mut part = StatePart::default();
        REGISTERS
            .scan(reader.as_ref(), toy.scope(), &[], None, |key, value| {
                part.insert(&toy.id(), REGISTERS.tag(), key, value);
                ControlFlow::Continue(())
            })
            .unwrap();
        let (height, block_id) = toy.last_block(reader.as_ref()).unwrap();
        if height > 0 {
            let chain = ChainState { height, block_id, checksum: part.checksum() };
            summary.chains.insert(toy.id(), chain);
        }
    }
    summary.commitment()
}

/// Sets registers of the chains in the next bundle.
async fn accept(machine: &Machine, toys: &[Arc<Toy>], registers: &[(usize, u64)]) -> Bundle {
    for (chain, register) in registers {
        toys[*chain].set(*register, register * 10);
    }
    let bundle = propose(machine).await;
    machine.finalize(&bundle, None).await.unwrap();
    bundle
}

fn last(machine: &Machine) -> Bundle {
    machine.bundle_at(machine.last_final().0).unwrap().unwrap().0
}

#[tokio::test]
async fn a_bundle_commits_to_rows_and_last_blocks() {
    let (world, toys, machine) = world(3);
    let genesis = machine.genesis();
    assert_eq!((genesis.version, genesis.state_commitment()), (0, None));
    let mut seen = Vec::new();
    for registers in [&[(0, 1)][..], &[(0, 2), (1, 2)], &[(1, 3)], &[(0, 4), (2, 4)]] {
        let bundle = accept(&machine, &toys, registers).await;
        assert_eq!(bundle.state_commitment(), Some(expected(&world, &toys)));
        assert_eq!(last(&machine), bundle);
        seen.push(bundle.commitment);
        assert_eq!(findings(&world, &toys), Vec::<String>::new());
    }
    seen.dedup();
    assert_eq!(seen.len(), 4, "each has another one");
}

/// Undecided bundles stand on the commitment of their parents.
#[tokio::test]
async fn the_same_blocks_give_the_same_commitment_wherever_rows_are() {
    let (ours, toys, machine) = world(2);
    let theirs = World::on(Arc::new(MemoryStore::new()));
    let other_toys = vec![theirs.toy_in(1, Scope(9)), theirs.toy_in(2, Scope(3))];
    // A chain without blocks: nodes may differ in it.
    let with_third = [&other_toys[..], &[theirs.toy(7)]].concat();
    let genesis = esker_chain::GenesisBundle { chain_count: 2, ..Default::default() };
    let config = MachineConfig { genesis, ..MachineConfig::default() };
    let other = open_with(&theirs, &with_third, config);
    let mut bundles = Vec::new();
    for register in 1..=3 {
        toys[0].set(register, 1);
        toys[1].set(register, 2);
        let (height, parent) = machine.last_final();
        let parent = bundles.last().map_or(parent, Bundle::id);
        let height = height + register;
        bundles.push(crate::machine::propose_on(&machine, parent, height).await);
    }
    assert_eq!(machine.undecided(), 3);
    for bundle in &bundles {
        assert_eq!(other.verify(&[], bundle).await.unwrap(), Verdict::Valid);
    }
    other.finalize_all(bundles.into_iter().map(|bundle| (bundle, None)).collect()).await.unwrap();
    assert_eq!(last(&other).commitment, expected(&theirs, &other_toys));
    assert_eq!(findings(&theirs, &with_third), Vec::<String>::new());
    drop(ours);
}

#[tokio::test]
async fn another_commitment_is_invalid_and_changes_nothing() {
    let (world, toys, machine) = world(1);
    accept(&machine, &toys, &[(0, 1)]).await;
    let before = rows(world.store.kv.as_ref());
    let good = {
        let (height, parent) = machine.last_final();
        toys[0].set(2, 7);
        let bundle = propose(&machine).await;
        assert_eq!((bundle.height, bundle.parent), (height + 1, parent));
        machine.abandon(&bundle.id()).await.unwrap();
        bundle
    };
    toys[0].queue.lock().clear();
    toys[0].take_events();
    let wrong = Bundle { commitment: Id::sha256(b"other"), ..good.clone() };
    let reason =
        format!("state commitment differs: {}, computed {}", Id::sha256(b"other"), good.commitment);
    assert_eq!(machine.verify(&[], &wrong).await.unwrap(), Verdict::Invalid(reason.clone()));
    let refused = machine.finalize(&wrong, None).await;
    assert!(
        matches!(&refused, Err(FinalizeError::Invalid(text)) if *text == reason),
        "{refused:?}"
    );
    let without = Bundle { version: 0, commitment: Id::ZERO, ..good.clone() };
    let lower = "bundle has version 0, its parent has 1".to_owned();
    assert_eq!(machine.verify(&[], &without).await.unwrap(), Verdict::Invalid(lower));
    assert_eq!((machine.undecided(), toys[0].take_events()), (0, Vec::new()));
    assert!(rows(world.store.kv.as_ref()) == before);
    assert_eq!(machine.verify(&[], &good).await.unwrap(), Verdict::Valid);
    machine.finalize(&good, None).await.unwrap();
}

#[tokio::test]
async fn an_empty_bundle_has_the_commitment_of_its_parent() {
    let (world, toys, machine) = world(1);
    let bundle = accept(&machine, &toys, &[(0, 1)]).await;
    let empty = machine.compose(&bundle.id(), Vec::new()).await.unwrap().unwrap();
    assert_eq!((empty.commitment, empty.blocks.len()), (bundle.commitment, 0));
    machine.finalize(&empty, None).await.unwrap();
    assert_eq!(findings(&world, &toys), Vec::<String>::new());
    let other = Bundle { commitment: Id::ZERO, height: 3, parent: empty.id(), ..empty };
    let verdict = machine.verify(&[], &other).await.unwrap();
    assert!(matches!(&verdict, Verdict::Invalid(reason) if reason.contains("commitment differs")));
}

/// A source of an older version has no commitments; its followers know theirs all the same.
#[tokio::test]
async fn bundles_without_a_commitment_keep_the_hashes_up_to_date() {
    let (world, toys, machine) = world(1);
    for register in 1..=3 {
        let bundle = foreign(&toys[0], &machine, register);
        assert_eq!(bundle.version, 0);
        machine.finalize(&bundle, None).await.unwrap();
        assert_eq!(last(&machine), bundle);
        assert_eq!(findings(&world, &toys), Vec::<String>::new());
    }
    let bundle = accept(&machine, &toys, &[(0, 4)]).await;
    assert_eq!(bundle.state_commitment(), Some(expected(&world, &toys)));
    let next = foreign(&toys[0], &machine, 5);
    let refused = machine.finalize(&next, None).await.unwrap_err().to_string();
    assert_eq!(refused, "bundle is invalid: bundle has version 0, its parent has 1");
}

#[tokio::test]
async fn a_rewind_restores_the_hashes_and_the_version() {
    let world = World::on(Arc::new(MemoryStore::new()));
    let toys = vec![world.toy(1), world.toy(2)];
    let machine = open_with(&world, &toys, keeping(10));
    let first = foreign(&toys[0], &machine, 1);
    machine.finalize(&first, None).await.unwrap();
    let mut commitments = vec![expected(&world, &toys)];
    for register in 2..=4 {
        let bundle = accept(&machine, &toys, &[(register % 2, register as u64)]).await;
        commitments.push(bundle.commitment);
    }
    for height in (1..=3).rev() {
        machine.rewind(height).await.unwrap();
        let reader = world.store.snapshot().unwrap();
        let stored = StateSummary::read(reader.as_ref()).unwrap().unwrap().commitment();
        assert_eq!(stored, commitments[height as usize - 1]);
        assert_eq!(findings(&world, &toys), Vec::<String>::new());
    }
    // The last bundle has version 0 again.
    let second = foreign(&toys[0], &machine, 9);
    assert_eq!(second.version, 0);
    machine.finalize(&second, None).await.unwrap();
    assert_eq!(findings(&world, &toys), Vec::<String>::new());
}

/// Deletes what older versions did not write, and makes records those of version 0.
fn make_older(world: &World) {
    let kv = world.store.kv.as_ref();
    let mut set = WriteSet::new();
    for prefix in [STATE_PARTS.prefix(Scope::NODE), STATE.prefix(Scope::NODE)] {
        for (key, _) in rows(kv).into_iter().filter(|(key, _)| key.starts_with(&prefix)) {
            set.delete(&key);
        }
    }
    kv.write(&set).unwrap();
}

#[tokio::test]
async fn a_folder_of_an_older_version_gets_its_hashes() {
    let world = World::on(Arc::new(MemoryStore::new()));
    let toys = vec![world.toy(1), world.toy(2)];
    {
        let machine = open_with(&world, &toys, keeping(10));
        for register in 1..=3 {
            machine.finalize(&foreign(&toys[0], &machine, register), None).await.unwrap();
        }
    }
    let whole = rows(world.store.kv.as_ref());
    assert_eq!(undo_rows(world.store.kv.as_ref()), [1, 2, 3]);
    make_older(&world);
    assert_eq!(findings(&world, &toys), Vec::<String>::new(), "an older folder is not damaged");
    let machine = open_with(&world, &toys, keeping(10));
    let schema = || rows(world.store.kv.as_ref()).remove(0);
    assert_eq!(schema(), (b"\0\0\0schema".to_vec(), meta::SCHEMA_VERSION.to_be_bytes().to_vec()));
    assert!(rows(world.store.kv.as_ref())[1..] == whole);
    // They do not hold the hashes.
    assert_eq!(undo_rows(world.store.kv.as_ref()), Vec::<u64>::new());
    let refused = machine.rewind(2).await;
    assert!(matches!(refused, Err(RewindError::NoUndoRows { last: 3 })), "{refused:?}");
    let bundle = accept(&machine, &toys, &[(0, 4), (1, 4)]).await;
    assert_eq!((bundle.version, bundle.height), (1, 4));
    assert_eq!(bundle.commitment, expected(&world, &toys));
    machine.rewind(3).await.unwrap();
    assert!(rows(world.store.kv.as_ref())[1..] == whole);
    let refused = machine.rewind(2).await;
    assert!(matches!(refused, Err(RewindError::NoUndoRows { last: 3 })), "{refused:?}");
}

/// The first start of a new version may bring a new chain too.
#[tokio::test]
async fn a_chain_that_joins_later_counts_from_its_first_block() {
    let world = World::on(Arc::new(MemoryStore::new()));
    let toys = vec![world.toy(1), world.toy(2)];
    let bundle = {
        let machine = open(&world, &toys[..1]);
        accept(&machine, &toys[..1], &[(0, 1)]).await
    };
    make_older(&world);
    let machine = open(&world, &toys);
    assert_eq!(findings(&world, &toys), Vec::<String>::new());
    let empty = machine.compose(&bundle.id(), Vec::new()).await.unwrap().unwrap();
    assert_eq!(empty.commitment, bundle.commitment);
    let joined = accept(&machine, &toys, &[(1, 1)]).await;
    assert_ne!(joined.commitment, bundle.commitment);
    assert_eq!(joined.commitment, expected(&world, &toys));
}

#[tokio::test]
async fn changed_missing_and_extra_rows_are_found() {
    let (world, toys, machine) = world(2);
    accept(&machine, &toys, &[(0, 1), (1, 1)]).await;
    let bundle = accept(&machine, &toys, &[(0, 2)]).await;
    drop(machine);
    let kv = world.store.kv.as_ref();
    let damaged = |set: &WriteSet| {
        let before = rows(kv);
        kv.write(set).unwrap();
        let found = findings(&world, &toys);
        let mut back = WriteSet::new();
        set.iter().for_each(|(key, _)| back.delete(key));
        before.iter().for_each(|(key, value)| back.put(key, value));
        kv.write(&back).unwrap();
        assert_eq!(findings(&world, &toys), Vec::<String>::new());
        found
    };
    for (register, value) in [(1, Some(11)), (1, None), (3, Some(30))] {
        let mut set = WriteSet::new();
        match value {
            Some(value) => REGISTERS.put(&mut set, toys[0].scope(), &register, &value),
            None => REGISTERS.delete(&mut set, toys[0].scope(), &register),
        }
        let found = damaged(&set);
        let place = format!("state commitment of {}: expected ", toys[0].name());
        assert!(found[0].starts_with(&place), "{register} {value:?}: {found:?}");
    }
    let mut set = WriteSet::new();
    STATE_PARTS.delete(&mut set, Scope::NODE, toys[1].id().as_bytes());
    assert_eq!(damaged(&set).len(), 1);
    let mut set = WriteSet::new();
    let nobody = Id::sha256(b"nobody");
    STATE_PARTS.put(&mut set, Scope::NODE, nobody.as_bytes(), &StatePart::default());
    let unknown = format!("state commitment of {nobody}: expected nothing, found a hash of rows");
    assert_eq!(damaged(&set), [unknown]);
    let mut set = WriteSet::new();
    STATE.delete(&mut set, Scope::NODE, &());
    assert_eq!(damaged(&set), ["state commitment: expected a summary of the state, found nothing"]);
    let mut set = WriteSet::new();
    STATE.put(&mut set, Scope::NODE, &(), &StateSummary::empty());
    let found = damaged(&set);
    let empty = StateSummary::empty().commitment();
    let of_bundle =
        format!("state commitment of bundle 2: expected {empty}, found {}", bundle.commitment);
    assert_eq!((found.len(), &found[0]), (3, &of_bundle));
}

fn next_block(toy: &Toy, parent: &Id, height: u64, register: u64) -> (ChainId, bytes::Bytes) {
    let op = Op { register, value: 7, not_before_ms: 0 };
    (toy.id(), block_bytes(parent, height, &[op]))
}

#[tokio::test]
async fn blocks_become_final_in_bundles_of_their_own() {
    let (world, toys, machine) = world(1);
    let genesis = Id::sha256(&machine.genesis().blocks[0].1);
    let first = next_block(&toys[0], &genesis, 1, 1);
    let second = next_block(&toys[0], &Id::sha256(&first.1), 2, 2);
    let (_, on) = machine.last_final();
    machine.finalize_blocks(&on, vec![first.clone(), second.clone()]).await.unwrap();
    assert_eq!(machine.last_final().0, 2);
    assert_eq!(last(&machine).blocks, std::slice::from_ref(&second));
    assert_eq!(last(&machine).state_commitment(), Some(expected(&world, &toys)));
    let late = machine.finalize_blocks(&on, vec![first]).await;
    assert!(matches!(late, Err(FinalizeError::NotLast { last: 2, .. })), "{late:?}");
    // The bundles before a refused one are final.
    let third = next_block(&toys[0], &Id::sha256(&second.1), 3, 3);
    let repeated = next_block(&toys[0], &Id::sha256(&third.1), 4, 3);
    let (_, on) = machine.last_final();
    let refused = machine.finalize_blocks(&on, vec![third, repeated]).await;
    let is_set =
        |error: &FinalizeError| error.to_string() == "bundle is invalid: register 3 is set";
    assert!(refused.as_ref().is_err_and(is_set), "{refused:?}");
    assert_eq!((machine.last_final().0, machine.undecided()), (3, 0));
    let unknown = machine.compose(&Id::sha256(b"unknown"), Vec::new()).await.unwrap();
    assert_eq!(unknown, Err(Verdict::ParentMissing));
}

/// Folders have records of version 0, which must never change.
#[test]
fn records_of_both_versions_are_read() {
    let record = |version, commitment| BundleRecord {
        version,
        parent: Id::sha256(b"parent"),
        timestamp_ms: 7,
        commitment,
        blocks: vec![(Id::sha256(b"chain"), 3)],
        proof: vec![1, 2],
    };
    let store = MemoryStore::new();
    let mut set = WriteSet::new();
    let old = [
        &[0, 0][..],
        Id::sha256(b"parent").as_bytes(),
        &7u64.to_be_bytes(),
        &1u32.to_be_bytes(),
        Id::sha256(b"chain").as_bytes(),
        &3u64.to_be_bytes(),
        &2u32.to_be_bytes(),
        &[1, 2],
    ]
    .concat();
    BUNDLES.put_bytes(&mut set, Scope::NODE, &0, &old);
    let new = record(1, Id::sha256(b"state"));
    BUNDLES.put(&mut set, Scope::NODE, &1, &new);
    store.write(&set).unwrap();
    let reader = store.snapshot().unwrap();
    let stored = |height| BUNDLES.get(reader.as_ref(), Scope::NODE, &height).unwrap().unwrap();
    assert_eq!(stored(0), record(0, Id::ZERO));
    assert_eq!((stored(0).state_commitment(), stored(1)), (None, new));
}
