//! A store that joined from a snapshot: its history begins above height 0.

use std::sync::Arc;

use esker_chain::audit::audit_bundles;
use esker_chain::tables::{BUNDLES, BundleRecord, HISTORY_START, HistoryStart};
use esker_chain::{Bundle, ChainMachine, ChainVm, FinalizeError, Machine, Verdict};
use esker_storage::audit::Finding;
use esker_storage::{Scope, WriteSet};
use esker_testkit::toy::{BLOCKS, Toy, World};

use crate::machine::{foreign, open, propose, world};

/// Final bundles above height 0.
const FINAL: u64 = 5;
/// Height of the first of them that is stored.
const FIRST: u64 = 3;

/// A store of two chains without bundles 1 and 2, and all its bundles. The second chain has block 1 only, in bundle 4.
async fn joined() -> (World, Vec<Arc<Toy>>, Arc<Machine>, Vec<Bundle>) {
    let (world, toys, machine) = world(2);
    let mut bundles = vec![machine.genesis()];
    for height in 1..=FINAL {
        toys[0].set(height, 10);
        if height == FIRST + 1 {
            toys[1].set(1, 10);
        }
        let bundle = propose(&machine).await;
        machine.finalize(&bundle, None).await.unwrap();
        bundles.push(bundle);
    }
    drop(machine);
    let mut rows = WriteSet::new();
    for height in 1..FIRST {
        BUNDLES.delete(&mut rows, Scope::NODE, &height);
        BLOCKS.delete(&mut rows, toys[0].context().scope, &height);
    }
    let start = HistoryStart { bundle: FIRST, blocks: vec![(toys[0].id(), FIRST)] };
    HISTORY_START.put(&mut rows, Scope::NODE, &(), &start);
    world.store.writer.commit(rows).await.unwrap();
    let machine = open(&world, &toys);
    (world, toys, machine, bundles)
}

fn audit(world: &World, toys: &[Arc<Toy>]) -> Vec<String> {
    let chains: Vec<_> = toys.iter().map(|toy| Arc::clone(toy) as Arc<dyn ChainVm>).collect();
    let mut findings = Vec::new();
    audit_bundles(&chains, world.store.snapshot().unwrap().as_ref(), &mut findings).unwrap();
    findings.iter().map(Finding::to_string).collect()
}

#[tokio::test]
async fn bundles_before_the_history_are_final_and_unknown() {
    let (_world, toys, machine, bundles) = joined().await;
    assert_eq!(machine.history_start().unwrap(), FIRST);
    for (height, bundle) in (0..).zip(&bundles) {
        let is_stored = height == 0 || height >= FIRST;
        assert_eq!(machine.bundle_at(height).unwrap().is_some(), is_stored, "{height}");
        // The ID of the bundle before the first one is its parent.
        let verdict = match is_stored || height + 1 == FIRST {
            true => Verdict::AlreadyFinal,
            false => Verdict::Abandoned,
        };
        assert_eq!(machine.verify(&[], bundle).await.unwrap(), verdict, "{height}");
        let repeated = machine.finalize(bundle, None).await;
        match verdict {
            Verdict::AlreadyFinal => repeated.unwrap(),
            _ => assert!(matches!(repeated, Err(FinalizeError::Conflict { .. })), "{repeated:?}"),
        }
    }
    let other = Bundle { height: 1, parent: bundles[0].id(), ..foreign(&toys[0], &machine, 9) };
    let refused = machine.finalize(&other, None).await;
    assert!(matches!(refused, Err(FinalizeError::Conflict { height: 1, .. })), "{refused:?}");
    toys[0].set(9, 10);
    let next = propose(&machine).await;
    machine.finalize(&next, None).await.unwrap();
    assert_eq!(machine.last_final(), (FINAL + 1, next.id()));
}

/// The findings after a change of a bundle's record.
async fn findings_with(
    height: u64,
    change: impl FnOnce(&mut WriteSet, BundleRecord),
) -> Vec<String> {
    let (world, toys, _machine, _) = joined().await;
    let reader = world.store.snapshot().unwrap();
    let record = BUNDLES.get(reader.as_ref(), Scope::NODE, &height).unwrap().unwrap();
    drop(reader);
    let mut rows = WriteSet::new();
    change(&mut rows, record);
    world.store.writer.commit(rows).await.unwrap();
    audit(&world, &toys)
}

#[tokio::test]
async fn an_audit_begins_with_the_history() {
    assert_eq!(findings_with(FIRST, |_, _| ()).await, [] as [&str; 0]);
    let stray = |rows: &mut WriteSet, record| {
        BUNDLES.put(rows, Scope::NODE, &(FIRST - 1), &record);
    };
    assert_eq!(
        findings_with(FIRST, stray).await,
        ["bundles: bundle 2: expected nothing, found a bundle before the start of the history"]
    );
    let removed = |rows: &mut WriteSet, _| BUNDLES.delete(rows, Scope::NODE, &FIRST);
    assert_eq!(
        findings_with(FIRST, removed).await,
        ["bundles: bundle 3: expected a bundle, found nothing"]
    );
    let gap = |rows: &mut WriteSet, mut record: BundleRecord| {
        record.blocks[0].1 = FINAL + 1;
        BUNDLES.put(rows, Scope::NODE, &FINAL, &record);
    };
    let found = findings_with(FINAL, gap).await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("bundles: bundle 5 block of chain "), "{found:?}");
    assert!(found[0].ends_with(": expected 5, found 6"), "{found:?}");
}
