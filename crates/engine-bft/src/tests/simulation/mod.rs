//! Four validators in one deterministic process: virtual time, a simulated network, crashes, partitions, delays and
//! restarts that follow from a seed. The chains are toys, which are quick, or the X-Chain and the C-Chain. In some runs
//! a fifth node becomes a validator on the way.
//!
//! A failing seed is run again as its message says.

mod chains;
mod change;
mod machine;
pub(crate) mod network;
mod phases;
mod run;
mod scenario;
mod slow_stores;
mod toys;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use chains::{Chains, KINDS};
use esker_primitives::sync::Mutex;
use esker_testkit::chains::any_tx::What;
use run::{MakeStore, Outcome, in_memory, run_change, run_seed};
use scenario::Counts;
use slow_stores::SlowStores;
use toys::Toys;

/// Seeds of an ordinary test run.
const SEEDS: u64 = 50;

/// And of one in which the validators change, which has more nodes.
const CHANGE_SEEDS: u64 = 20;

/// A simulation, from a seed, over stores.
type Run = fn(u64, MakeStore<'_>) -> Outcome;

/// Runs seeds on all cores. `test` names the test that runs a seed again. Returns what has occurred.
fn run_seeds(run: Run, seeds: std::ops::Range<u64>, test: &str) -> Counts {
    let counts = Mutex::new_named("simulation.counts", Counts::new());
    let next = AtomicU64::new(seeds.start);
    let failed = AtomicU64::new(u64::MAX);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while failed.load(Ordering::SeqCst) == u64::MAX {
                    let seed = next.fetch_add(1, Ordering::SeqCst);
                    if seed >= seeds.end {
                        break;
                    }
                    let Ok(outcome) = catch_unwind(AssertUnwindSafe(|| run(seed, &in_memory)))
                    else {
                        failed.fetch_min(seed, Ordering::SeqCst);
                        break;
                    };
                    for (what, count) in outcome.counts {
                        *counts.lock().entry(what).or_default() += count;
                    }
                }
            });
        }
    });
    let failed = failed.into_inner();
    assert!(
        failed == u64::MAX,
        "seed {failed} failed (above); again: ESKER_BFT_SEED={failed} cargo test -p esker-engine-bft {test}"
    );
    std::mem::take(&mut *counts.lock())
}

/// Runs a seed twice, the second time over stores that take real time.
fn run_twice(run: Run, seed: u64) -> Outcome {
    let outcome = run(seed, &in_memory);
    let slow = SlowStores::new(!seed);
    let again = run(seed, &|| slow.open());
    assert!(slow.delays() > 0, "the stores of seed {seed} are not slow");
    assert_eq!(outcome, again, "seed {seed} does not decide the run");
    outcome
}

/// Runs the seed that the environment names, twice, or all of an ordinary run.
fn run_usual(run: Run, seeds: u64, test: &str) -> Counts {
    match std::env::var("ESKER_BFT_SEED") {
        Ok(seed) => {
            let seed: u64 = seed.parse().expect("ESKER_BFT_SEED is a number");
            run_twice(run, seed).counts
        }
        Err(_) => run_seeds(run, 0..seeds, test),
    }
}

/// `ESKER_BFT_SEEDS`: how many; 1,000 without it.
fn run_many(run: Run, test: &str) -> Counts {
    let seeds = std::env::var("ESKER_BFT_SEEDS").ok();
    let seeds = seeds.map_or(1_000, |seeds| seeds.parse().expect("ESKER_BFT_SEEDS is a number"));
    run_seeds(run, 0..seeds, test)
}

const TOYS: &str = "validators_agree_through_crashes_partitions_and_delays";
const CHAINS: &str = "real_chains_agree_through_crashes_partitions_and_delays";

const CHANGE: &str = "validators_change_through_crashes_partitions_and_delays";
const CHAINS_CHANGE: &str = "real_chains_go_on_while_validators_change";

/// The seeds of a run together have agreed changes, others, and faults when they come.
fn meets_changes(counts: &Counts) {
    println!("{counts:?}");
    if std::env::var("ESKER_BFT_SEED").is_ok() {
        return;
    }
    for expected in ["changed", "not changed", "crashes at the change", "cuts at the change"] {
        assert!(counts.contains_key(expected), "no {expected}: {counts:?}");
    }
}

/// The seeds of a run together have every fault, every kind of transaction, and some that others made impossible.
fn meets_all(counts: &Counts) {
    if std::env::var("ESKER_BFT_SEED").is_ok() {
        return;
    }
    let faults = ["crashes", "crashes in a write", "stops", "cuts"].map(str::to_owned);
    let accepted = KINDS.iter().map(|kind| format!("{kind:?} accepted"));
    // An output of C has one owner on X, who imports it to one address.
    let impossible = KINDS.iter().filter(|kind| !matches!(kind, What::ImportOnX));
    let impossible = impossible.map(|kind| format!("{kind:?} impossible"));
    for expected in faults.into_iter().chain(accepted).chain(impossible) {
        assert!(counts.contains_key(&expected), "no {expected}: {counts:?}");
    }
}

#[test]
fn validators_agree_through_crashes_partitions_and_delays() {
    run_usual(run_seed::<Toys>, SEEDS, TOYS);
}

#[test]
#[ignore = "takes minutes: just bft-seeds"]
fn slow_validators_agree_in_many_runs() {
    run_many(run_seed::<Toys>, TOYS);
}

#[test]
fn real_chains_agree_through_crashes_partitions_and_delays() {
    meets_all(&run_usual(run_seed::<Chains>, SEEDS, CHAINS));
}

#[test]
#[ignore = "takes minutes: just chain-seeds"]
fn slow_real_chains_agree_in_many_runs() {
    meets_all(&run_many(run_seed::<Chains>, CHAINS));
}

#[test]
fn validators_change_through_crashes_partitions_and_delays() {
    meets_changes(&run_usual(run_change::<Toys>, CHANGE_SEEDS, CHANGE));
}

#[test]
#[ignore = "takes minutes: just bft-seeds"]
fn slow_validators_change_in_many_runs() {
    meets_changes(&run_many(run_change::<Toys>, CHANGE));
}

#[test]
fn real_chains_go_on_while_validators_change() {
    meets_changes(&run_usual(run_change::<Chains>, CHANGE_SEEDS, CHAINS_CHANGE));
}

#[test]
#[ignore = "takes minutes: just chain-seeds"]
fn slow_real_chains_go_on_in_many_runs_while_validators_change() {
    meets_changes(&run_many(run_change::<Chains>, CHAINS_CHANGE));
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for run in [run_seed::<Toys>, run_seed::<Chains>, run_change::<Toys>] as [Run; 3] {
        let first = run_twice(run, 7);
        assert!(first.height > 0, "{first:?}");
    }
}

#[test]
fn a_change_of_the_validators_depends_on_the_seed_alone() {
    let toys = (0..3).map(|seed| (run_change::<Toys> as Run, seed));
    thread::scope(|scope| {
        for (run, seed) in toys.chain([(run_change::<Chains> as Run, 1)]) {
            scope.spawn(move || run_twice(run, seed));
        }
    });
}
