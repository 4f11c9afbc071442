//! Four validators in one deterministic process: virtual time, a simulated network, crashes, partitions, delays and
//! restarts that follow from a seed.
//!
//! A failing seed is run again with `ESKER_BFT_SEED=N cargo test -p esker-engine-bft simulation::`.

mod machine;
mod network;
mod run;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use run::{Outcome, run_seed};

/// Seeds of an ordinary test run.
const SEEDS: u64 = 50;

/// Runs seeds on all cores.
fn run_seeds(seeds: std::ops::Range<u64>) {
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
                    if catch_unwind(AssertUnwindSafe(|| run_seed(seed))).is_err() {
                        failed.fetch_min(seed, Ordering::SeqCst);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner();
    assert!(
        failed == u64::MAX,
        "seed {failed} failed (above); again: ESKER_BFT_SEED={failed} cargo test -p esker-engine-bft simulation::"
    );
}

#[test]
fn validators_agree_through_crashes_partitions_and_delays() {
    match std::env::var("ESKER_BFT_SEED") {
        Ok(seed) => {
            let seed: u64 = seed.parse().expect("ESKER_BFT_SEED is a number");
            let outcome = run_seed(seed);
            assert_eq!(outcome, run_seed(seed), "the seed decides the run");
        }
        Err(_) => run_seeds(0..SEEDS),
    }
}

/// `ESKER_BFT_SEEDS`: how many; 1,000 without it.
#[test]
#[ignore = "takes minutes: just bft-seeds"]
fn slow_validators_agree_in_many_runs() {
    let seeds = std::env::var("ESKER_BFT_SEEDS").ok();
    let seeds = seeds.map_or(1_000, |seeds| seeds.parse().expect("ESKER_BFT_SEEDS is a number"));
    run_seeds(0..seeds);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let first: Outcome = run_seed(7);
    assert_eq!(run_seed(7), first);
    assert!(first.height > 0, "{first:?}");
}
