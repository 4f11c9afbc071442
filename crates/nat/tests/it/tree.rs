//! The machine under an engine that has several bundles in flight: random trees of bundles over the real X-Chain and
//! C-Chain, with transfers between them, against a model.
//!
//! Two nodes make, verify and drop bundles in any order, and follow one chain of final bundles, each at its own pace,
//! over stores that fail, with calls that are given up and restarts. A third node, the reference, sees nothing but the
//! final bundles, one by one. After each step the model knows every verdict, what each transaction's status is, and
//! that a node's rows are those of the reference at the same height; all rows are audited.
//!
//! `TREE_CASES=1000 cargo test -p esker-nat --test it tree` runs more cases.

mod model;
mod network;
mod rewind;
mod txs;

use proptest::prelude::*;

use network::Network;
use txs::What;

/// A node of the two.
type Who = usize;

/// Something that happens. Numbers choose among what there is.
#[derive(Clone, Debug)]
enum Step {
    /// A user gives a node a transaction.
    Submit { who: Who, what: What, by: u8, choice: u8 },
    /// A node builds on a bundle.
    Propose { who: Who, on: u8 },
    /// A node verifies a bundle, with or without those that lead to it.
    Verify { who: Who, bundle: u8, with_ancestry: bool },
    /// A node verifies the blocks of a bundle on the parent of another.
    Transplant { who: Who, blocks: u8, onto: u8 },
    /// Two proposals, a verify and a finalization at once.
    AtOnce { who: Who, on: [u8; 2], bundle: u8 },
    /// The caller goes away after a while.
    GiveUpPropose { who: Who, on: u8, polls: u8 },
    /// The same of a verify.
    GiveUpVerify { who: Who, bundle: u8, polls: u8 },
    /// The same of a finalization.
    GiveUpCatchUp { who: Who, count: u8, polls: u8 },
    /// A read of the store fails during a proposal.
    FailPropose { who: Who, on: u8, nth: u8 },
    /// The same of a verify.
    FailVerify { who: Who, bundle: u8, nth: u8 },
    /// The write of a finalization fails: nothing is written, or all, and the node dies of it.
    FailCatchUp { who: Who, count: u8, dies: bool },
    /// The engine says that a bundle is dead.
    Abandon { who: Who, bundle: u8 },
    /// A quorum voted for a bundle.
    Notarize { who: Who, bundle: u8 },
    /// A bundle is decided, with those that lead to it.
    Decide { bundle: u8 },
    /// A node makes bundles final that were decided.
    CatchUp { who: Who, count: u8 },
    /// A node stops and starts again, with or without what waited.
    Restart { who: Who, keeps_pools: bool },
    /// Time passes.
    Wait(u8),
}

fn steps() -> impl Strategy<Value = Step> {
    let who = || 0..2usize;
    let any_u8 = any::<u8>;
    let by = || 1..=3u8;
    prop_oneof![
        14 => (who(), txs::what(), by(), any_u8())
            .prop_map(|(who, what, by, choice)| Step::Submit { who, what, by, choice }),
        10 => (who(), any_u8()).prop_map(|(who, on)| Step::Propose { who, on }),
        8 => (who(), any_u8(), any::<bool>())
            .prop_map(|(who, bundle, with_ancestry)| Step::Verify { who, bundle, with_ancestry }),
        2 => (who(), any_u8(), any_u8())
            .prop_map(|(who, blocks, onto)| Step::Transplant { who, blocks, onto }),
        3 => (who(), any::<[u8; 2]>(), any_u8())
            .prop_map(|(who, on, bundle)| Step::AtOnce { who, on, bundle }),
        2 => (who(), any_u8(), any_u8())
            .prop_map(|(who, on, polls)| Step::GiveUpPropose { who, on, polls }),
        2 => (who(), any_u8(), any_u8())
            .prop_map(|(who, bundle, polls)| Step::GiveUpVerify { who, bundle, polls }),
        2 => (who(), 1..4u8, any_u8())
            .prop_map(|(who, count, polls)| Step::GiveUpCatchUp { who, count, polls }),
        2 => (who(), any_u8(), 1..60u8).prop_map(|(who, on, nth)| Step::FailPropose { who, on, nth }),
        2 => (who(), any_u8(), 1..40u8)
            .prop_map(|(who, bundle, nth)| Step::FailVerify { who, bundle, nth }),
        2 => (who(), 1..4u8, any::<bool>())
            .prop_map(|(who, count, dies)| Step::FailCatchUp { who, count, dies }),
        2 => (who(), any_u8()).prop_map(|(who, bundle)| Step::Abandon { who, bundle }),
        1 => (who(), any_u8()).prop_map(|(who, bundle)| Step::Notarize { who, bundle }),
        5 => any_u8().prop_map(|bundle| Step::Decide { bundle }),
        8 => (who(), 1..4u8).prop_map(|(who, count)| Step::CatchUp { who, count }),
        1 => (who(), any::<bool>()).prop_map(|(who, keeps_pools)| Step::Restart { who, keeps_pools }),
        2 => (1..4u8).prop_map(Step::Wait),
    ]
}

async fn run(network: &mut Network, step: &Step) {
    match *step {
        Step::Submit { who, what, by, choice } => network.submit(who, what, by, choice),
        Step::Propose { who, on } => network.propose(who, on).await,
        Step::Verify { who, bundle, with_ancestry } => {
            network.verify(who, bundle, with_ancestry).await;
        }
        Step::Transplant { who, blocks, onto } => network.transplant(who, blocks, onto).await,
        Step::AtOnce { who, on, bundle } => network.at_once(who, on, bundle).await,
        Step::GiveUpPropose { who, on, polls } => network.give_up_propose(who, on, polls).await,
        Step::GiveUpVerify { who, bundle, polls } => {
            network.give_up_verify(who, bundle, polls).await;
        }
        Step::GiveUpCatchUp { who, count, polls } => {
            network.give_up_catch_up(who, count, polls).await;
        }
        Step::FailPropose { who, on, nth } => network.fail_propose(who, on, nth).await,
        Step::FailVerify { who, bundle, nth } => network.fail_verify(who, bundle, nth).await,
        Step::FailCatchUp { who, count, dies } => network.fail_catch_up(who, count, dies).await,
        Step::Abandon { who, bundle } => network.abandon(who, bundle).await,
        Step::Notarize { who, bundle } => network.notarize(who, bundle).await,
        Step::Decide { bundle } => network.decide(bundle).await,
        Step::CatchUp { who, count } => network.catch_up(who, count).await,
        Step::Restart { who, keeps_pools } => network.restart(who, keeps_pools),
        Step::Wait(seconds) => network.wait_s(u64::from(seconds)),
    }
    network.check();
}

/// The machines have threads of their own, so that callers and machines overlap. A case that hangs is a failure.
fn in_time<F: Future<Output = ()>>(test: F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let patience = std::time::Duration::from_secs(120);
    runtime.block_on(async { tokio::time::timeout(patience, test).await }).expect("it ends");
}

fn cases() -> u32 {
    std::env::var("TREE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_iters: 400, ..ProptestConfig::default() })]

    #[test]
    fn nodes_agree_with_the_model(steps in prop::collection::vec(steps(), 1..80)) {
        in_time(async {
            let mut network = Network::new();
            for step in &steps {
                run(&mut network, step).await;
            }
            network.drain().await;
        });
    }
}

/// A schedule in which the model's cases occur, so that the property is not held by what is passed over.
#[test]
fn the_model_meets_its_cases() {
    in_time(async {
        let mut network = Network::new();
        // Node 0 and node 1 spend the same, in blocks beside each other.
        for (who, what, choice) in [
            (0, What::Transfer, 0),
            (0, What::ImportOnC, 0),
            (0, What::ExportFromC, 0),
            (1, What::ExportFromX, 0),
            // The same UTXO, to another account.
            (1, What::ImportOnC, 8),
            (1, What::Send, 0),
            (1, What::ImportOnX, 0),
        ] {
            let step = Step::Submit { who, what, by: 1, choice };
            run(&mut network, &step).await;
        }
        assert_eq!(network.submitted(), 7);
        for step in [
            Step::Propose { who: 0, on: 0 },
            Step::Wait(1),
            Step::Propose { who: 1, on: 0 },
            Step::Verify { who: 0, bundle: 2, with_ancestry: false },
            Step::Verify { who: 1, bundle: 1, with_ancestry: false },
            Step::Submit { who: 0, what: What::Send, by: 2, choice: 0 },
            Step::Propose { who: 0, on: 1 },
            Step::Propose { who: 0, on: 2 },
            Step::Verify { who: 1, bundle: 3, with_ancestry: true },
        ] {
            run(&mut network, &step).await;
        }
        assert_eq!((network.bundles(), network.undecided(0), network.undecided(1)), (4, 4, 3));
        for step in [
            Step::Decide { bundle: 4 },
            Step::FailCatchUp { who: 0, count: 2, dies: false },
            Step::CatchUp { who: 0, count: 2 },
            Step::FailCatchUp { who: 1, count: 1, dies: true },
            Step::CatchUp { who: 1, count: 1 },
        ] {
            run(&mut network, &step).await;
        }
        assert_eq!((network.undecided(0), network.undecided(1), network.decided()), (0, 0, 2));
        assert_eq!(network.lost_to_conflicts(0), 3);
        network.drain().await;
    });
}
