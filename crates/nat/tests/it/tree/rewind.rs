//! Taking final bundles back over both chains: at each height the store is byte for byte as it was when that bundle
//! became final, statuses, pools and heads say the same, and the same bundles can be made final again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use esker_chain::{Bundle, ChainMachine as _, ChainVm, RewindError, Undo, UndoLimits, Verdict};
use esker_evm::view::ChainReader;
use esker_primitives::clock::{Clock as _, ManualClock};
use esker_primitives::ids::Id;
use esker_storage::{FailPoint, FailingStore};
use esker_testkit::chains::audit::audit;
use esker_testkit::chains::funded::{self, START_MS};
use esker_testkit::chains::world::World;
use proptest::prelude::*;

use super::in_time;
use super::txs::{AnyTx, Status, What, ids_in, what};

/// Bundles that can be rewound.
const KEPT: u64 = 6;

/// Undo rows. Scope and tag.
const UNDO_ROWS: [[u8; 3]; 1] = [[0, 0, 0x13]];

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// The node as it was when a bundle had become final.
struct Moment {
    bundle: Bundle,
    at_ms: u64,
    rows: Rows,
    accepted: BTreeSet<Id>,
    statuses: BTreeMap<Id, Status>,
    head: Id,
}

struct Node {
    clock: Arc<ManualClock>,
    disk: Arc<FailingStore>,
    world: World,
    /// From the lowest height that a rewind can reach.
    path: Vec<Moment>,
    /// The last rewound bundles, lowest first.
    taken_back: Vec<Moment>,
    txs: BTreeMap<Id, AnyTx>,
    /// When transactions were lost, Unix ms.
    lost_ms: BTreeMap<Id, u64>,
    /// Bundles that can be rewound.
    kept: u64,
}

#[derive(Clone, Debug)]
enum Step {
    Submit {
        what: What,
        by: u8,
        choice: u8,
    },
    Block,
    Rewind {
        back: u8,
    },
    /// The first of the rewound bundles become final again.
    Again {
        count: u8,
    },
    /// A read, or the write, of a rewind fails.
    Fail {
        back: u8,
        nth_read: Option<u8>,
    },
    Restart(Stop),
    Wait(u8),
}

/// How a node ends.
#[derive(Clone, Copy, Debug)]
enum Stop {
    /// Reasons of lost transactions are saved.
    Orderly,
    /// Reasons that no commit has saved yet are gone.
    Crash,
}

fn steps() -> impl Strategy<Value = Step> {
    let submit = (what(), 1..=3u8, any::<u8>());
    prop_oneof![
        10 => submit.prop_map(|(what, by, choice)| Step::Submit { what, by, choice }),
        8 => Just(Step::Block),
        4 => (0..8u8).prop_map(|back| Step::Rewind { back }),
        3 => (1..4u8).prop_map(|count| Step::Again { count }),
        2 => (1..5u8, prop::option::of(1..200u8))
            .prop_map(|(back, nth_read)| Step::Fail { back, nth_read }),
        1 => prop_oneof![Just(Stop::Orderly), Just(Stop::Crash)].prop_map(Step::Restart),
        1 => (1..4u8).prop_map(Step::Wait),
    ]
}

fn rows(world: &World) -> Rows {
    world.rows_without(&UNDO_ROWS)
}

impl Node {
    async fn new() -> Self {
        let clock = Arc::new(ManualClock::new(START_MS));
        let disk = Arc::new(FailingStore::new(funded::store()));
        let world = funded::world(disk.clone(), &clock);
        let (path, taken_back, txs) = (Vec::new(), Vec::new(), BTreeMap::new());
        let lost_ms = BTreeMap::new();
        let mut node = Self { clock, disk, world, path, taken_back, txs, lost_ms, kept: 0 };
        node.keep().await;
        node.remember(node.world.last());
        node
    }

    async fn keep(&self) {
        let undo = Undo::Keep(UndoLimits::bundles(KEPT));
        self.world.machine.set_undo(undo).await.unwrap();
    }

    fn last(&self) -> &Moment {
        self.path.last().unwrap()
    }

    fn statuses(&self) -> BTreeMap<Id, Status> {
        self.txs.iter().map(|(id, tx)| (*id, tx.status(&self.world))).collect()
    }

    /// A bundle has become final.
    fn remember(&mut self, bundle: Bundle) {
        let mut accepted = self.path.last().map(|last| last.accepted.clone()).unwrap_or_default();
        if !self.path.is_empty() {
            accepted.extend(ids_in(&self.world, &bundle));
        }
        self.path.push(Moment {
            bundle,
            at_ms: self.clock.now_ms(),
            rows: rows(&self.world),
            accepted,
            statuses: self.statuses(),
            head: Id::new(self.world.evm().head().hash.0),
        });
    }

    /// Bundles were rewound.
    fn cut(&mut self, count: usize) {
        self.taken_back = self.path.split_off(self.path.len() - count);
        self.kept -= count as u64;
    }

    async fn run(&mut self, step: &Step) {
        match *step {
            Step::Submit { what, by, choice } => self.submit(what, by, choice),
            Step::Block => self.block().await,
            Step::Rewind { back } => self.rewind(back).await,
            Step::Again { count } => self.again(count).await,
            Step::Fail { back, nth_read } => self.fail(back, nth_read).await,
            Step::Restart(stop) => self.restart(stop).await,
            Step::Wait(seconds) => self.world.wait_s(u64::from(seconds)),
        }
        self.remember_lost();
        self.check();
    }

    fn remember_lost(&mut self) {
        let now_ms = self.clock.now_ms();
        for (id, status) in self.statuses() {
            if status == Status::Lost {
                self.lost_ms.entry(id).or_insert(now_ms);
            } else {
                self.lost_ms.remove(&id);
            }
        }
    }

    fn submit(&mut self, what: What, by: u8, choice: u8) {
        let Some(tx) = AnyTx::make(&self.world, what, by, choice) else { return };
        if tx.submit(&self.world) {
            self.txs.insert(tx.id(), tx);
        }
    }

    async fn block(&mut self) {
        self.world.wait_s(2);
        if self.world.step().await {
            self.taken_back.clear();
            self.kept = KEPT.min(self.kept + 1);
            self.remember(self.world.last());
        }
    }

    /// The height to rewind to, and the number of rewound bundles.
    fn target(&self, back: u8) -> (u64, usize) {
        let last = self.last().bundle.height;
        let to = last.saturating_sub(u64::from(back));
        (to, usize::try_from(last - to).unwrap())
    }

    async fn rewind(&mut self, back: u8) {
        let (to, count) = self.target(back);
        let last = self.last().bundle.height;
        let before = self.statuses();
        let lowest = self.world.machine.lowest_rewind().await.unwrap().unwrap_or(last);
        assert_eq!(last - lowest, self.kept, "{lowest} of {last}");
        match self.world.machine.rewind(to).await {
            Ok(rewound) => assert_eq!((rewound.from, rewound.to), (last, to)),
            Err(RewindError::BelowUndoRows { lowest: kept, .. }) => {
                assert!(to < lowest && kept == lowest);
                return;
            }
            Err(RewindError::NoUndoRows { .. }) => {
                assert_eq!(lowest, last);
                return;
            }
            Err(error) => panic!("{error}"),
        }
        if count > 0 {
            self.cut(count);
            self.check_statuses(&before);
            self.forget_lost();
        }
        audit(&self.world);
    }

    /// Checks the status of transactions after a rewind.
    fn check_statuses(&self, before: &BTreeMap<Id, Status>) {
        let gone: BTreeSet<_> = self.taken_back.iter().flat_map(|at| &at.accepted).collect();
        let since_ms = self.taken_back[0].at_ms;
        for (id, now) in self.statuses() {
            let then = self.last().statuses.get(&id);
            let tx = &self.txs[&id];
            if self.last().accepted.contains(&id) {
                assert_eq!(now, Status::Accepted, "{tx:?}");
            } else if gone.contains(&id) {
                // The reason of one that was given up before it was sent again.
                let was_lost = then == Some(&Status::Lost);
                assert!(now == Status::Unknown || now == Status::Lost && (was_lost || tx.is_evm()));
            } else if before[&id] == Status::Processing {
                assert!([Status::Processing, Status::Lost].contains(&now), "{now:?} {tx:?}");
            } else if then == Some(&Status::Lost)
                && self.lost_ms.get(&id).is_none_or(|at_ms| *at_ms < since_ms)
            {
                // A reason that is as late as the first rewound bundle goes with it: of a transaction that was lost again,
                // or before that bundle became final for the second time.
                assert_eq!(now, Status::Lost, "{tx:?}");
            } else {
                assert!([Status::Unknown, Status::Lost].contains(&now), "{now:?} {tx:?}");
            }
        }
    }

    async fn again(&mut self, count: u8) {
        let late_ms = self.clock.now_ms();
        for _ in 0..count {
            if self.taken_back.is_empty() {
                break;
            }
            let mut moment = self.taken_back.remove(0);
            // A block's row has the time of its acceptance.
            self.clock.set(moment.at_ms);
            let verdict = self.world.machine.verify(&[], &moment.bundle).await.unwrap();
            assert_eq!(verdict, Verdict::Valid);
            self.world.machine.finalize(&moment.bundle, None).await.unwrap();
            self.clock.set(late_ms);
            assert!(rows(&self.world) == moment.rows, "other rows than the first time");
            // The reason why others were lost to it is not reported again.
            moment.statuses = self.statuses();
            self.path.push(moment);
            self.kept = KEPT.min(self.kept + 1);
        }
        audit(&self.world);
    }

    async fn fail(&mut self, back: u8, nth_read: Option<u8>) {
        let (to, count) = self.target(back);
        let lowest = self.world.machine.lowest_rewind().await.unwrap();
        if count == 0 || lowest.is_none_or(|lowest| lowest > to) {
            return;
        }
        match nth_read {
            Some(nth) => self.disk.fail_nth_read(u64::from(nth)),
            None => self.disk.fail_nth_write(1, FailPoint::Before),
        }
        let before = self.statuses_untouched();
        let outcome = self.world.machine.rewind(to).await;
        self.disk.clear_failures();
        match outcome {
            Err(_) => assert_eq!(before, self.statuses_untouched()),
            // It has fewer reads than that.
            Ok(_) => {
                assert!(nth_read.is_some());
                self.cut(count);
            }
        }
    }

    /// The statuses of transactions and the sizes of pools in memory, without a read of the store, which may be set
    /// to fail.
    fn statuses_untouched(&self) -> (usize, (usize, usize), usize) {
        let world = &self.world;
        let waiting = world.x.stats().mempool_txs as usize;
        (waiting, world.evm().pool().counts(), world.nat.pool().len())
    }

    async fn restart(&mut self, stop: Stop) {
        if let Stop::Orderly = stop {
            drop(self.world.x.start_maintenance().unwrap());
            drop(self.world.evm().start_maintenance().unwrap());
        }
        let before = self.statuses();
        let chains: [Arc<dyn ChainVm>; 2] = [self.world.x.clone(), self.world.evm().clone()];
        let waiting = chains.map(|chain| chain.waiting_txs());
        self.world = funded::world(self.disk.clone(), &self.clock);
        let chains: [Arc<dyn ChainVm>; 2] = [self.world.x.clone(), self.world.evm().clone()];
        for (chain, txs) in chains.iter().zip(waiting) {
            chain.restore_txs(txs);
        }
        // The kept state is found again.
        self.keep().await;
        self.check_lost(stop, &before);
    }

    /// Transactions that were lost before a restart are lost after it, unless a crash lost the reason.
    fn check_lost(&mut self, stop: Stop, before: &BTreeMap<Id, Status>) {
        let now = self.statuses();
        let lost = before.iter().filter(|(_, status)| **status == Status::Lost);
        for id in lost.map(|(id, _)| id).filter(|id| now[*id] != Status::Lost) {
            assert!(matches!(stop, Stop::Crash), "{:?} {:?}", now[id], self.txs[id]);
            assert_eq!(now[id], Status::Unknown);
        }
        self.forget_lost();
    }

    /// A reason that is gone does not come back.
    fn forget_lost(&mut self) {
        let statuses = self.statuses();
        for (id, status) in self.path.iter_mut().flat_map(|at| &mut at.statuses) {
            if *status == Status::Lost && statuses[id] == Status::Unknown {
                *status = Status::Unknown;
            }
        }
    }

    fn check(&self) {
        let (world, last) = (&self.world, self.last());
        let height = last.bundle.height;
        assert_eq!(world.machine.last_final(), (height, last.bundle.id()));
        assert!(world.machine.bundle_at(height + 1).unwrap().is_none());
        assert!(rows(world) == last.rows, "other rows than when bundle {height} became final");
        let evm = world.evm();
        assert_eq!(Id::new(evm.head().hash.0), last.head);
        let tip = evm.position().height;
        let block_at = |height| ChainReader::block_at(evm.as_ref(), height).unwrap();
        assert!(block_at(tip).is_some_and(|block| Id::new(block.hash.0) == last.head));
        assert!(block_at(tip + 1).is_none());
        assert!(evm.receipts_at(tip + 1).unwrap().is_empty());
        evm.state_after(&evm.head()).unwrap();
        let x_tip = world.x.view().unwrap().state().tip().unwrap();
        assert_eq!(world.x.accepted_height(), x_tip.height);
        for id in &last.accepted {
            if let Some(tx) = self.txs.get(id) {
                assert_eq!(tx.status(world), Status::Accepted, "{tx:?}");
            }
        }
        for (id, status) in self.statuses() {
            assert!(status != Status::Accepted || last.accepted.contains(&id));
        }
        for (account, txs) in evm.pool().content().pending {
            let nonces: Vec<_> = txs.keys().copied().collect();
            let first = world.nonce(account);
            let expected: Vec<_> = (first..first + nonces.len() as u64).collect();
            assert_eq!(nonces, expected, "{account}");
        }
    }

    /// Blocks are made until nothing is left that can be accepted.
    async fn drain(&mut self) {
        for _ in 0..100 {
            let before = self.path.len();
            self.world.wait_s(10);
            self.block().await;
            self.check();
            if self.path.len() == before {
                break;
            }
        }
        audit(&self.world);
        assert_eq!(self.world.x.stats().mempool_txs, 0);
        assert_eq!(
            self.world.evm().pool().counts().0,
            0,
            "those that are queued miss one before them"
        );
        assert!(self.world.nat.pool().is_empty());
    }
}

fn cases() -> u32 {
    std::env::var("REWIND_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_iters: 400, ..ProptestConfig::default() })]

    #[test]
    fn at_each_height_all_is_as_it_was(steps in prop::collection::vec(steps(), 1..60)) {
        in_time(async {
            let mut node = Node::new().await;
            for step in &steps {
                node.run(step).await;
            }
            node.drain().await;
        });
    }
}

/// A schedule in which the cases occur, so that the property is not held by what is passed over.
#[test]
fn transfers_between_the_chains_are_taken_back_and_come_again() {
    in_time(async {
        let mut node = Node::new().await;
        let kinds = [
            What::Transfer,
            What::ExportFromX,
            What::ImportOnX,
            What::ImportOnC,
            What::ExportFromC,
            What::Send,
        ];
        for (by, what) in (1..=3).cycle().zip(kinds.into_iter().cycle()).take(12) {
            node.run(&Step::Submit { what, by, choice: 0 }).await;
            node.run(&Step::Block).await;
        }
        let height = node.last().bundle.height;
        assert!(node.path.len() > 10 && node.last().accepted.len() > 10);
        node.run(&Step::Rewind { back: 8 }).await;
        assert_eq!(node.last().bundle.height, height, "so many are not kept");
        node.run(&Step::Rewind { back: 5 }).await;
        assert_eq!((node.last().bundle.height, node.taken_back.len()), (height - 5, 5));
        node.run(&Step::Again { count: 3 }).await;
        node.run(&Step::Restart(Stop::Orderly)).await;
        node.run(&Step::Again { count: 2 }).await;
        assert_eq!(node.last().bundle.height, height);
        for nth_read in [None, Some(1), Some(5), Some(20)] {
            node.run(&Step::Fail { back: 2, nth_read }).await;
            assert_eq!(node.last().bundle.height, height, "{nth_read:?}");
        }
        // The same again, from the older state.
        node.run(&Step::Rewind { back: 4 }).await;
        let gone: BTreeSet<_> = node.taken_back.iter().flat_map(|at| &at.accepted).collect();
        let gone: Vec<_> =
            gone.difference(&node.last().accepted.iter().collect()).copied().copied().collect();
        assert!(gone.len() >= 4);
        for id in &gone {
            assert!(node.txs[id].submit(&node.world), "{:?}", node.txs[id]);
        }
        node.drain().await;
        for id in gone {
            assert!(node.last().accepted.contains(&id), "{:?}", node.txs[&id]);
        }
    });
}

/// A transaction whose sender's earlier one is rewound waits for that nonce.
#[test]
fn the_pool_waits_for_nonces_that_are_gone() {
    in_time(async {
        let mut node = Node::new().await;
        let send = Step::Submit { what: What::Send, by: 1, choice: 0 };
        node.run(&send).await;
        node.run(&Step::Block).await;
        let mined: Vec<_> = node.txs.keys().copied().collect();
        node.run(&send).await;
        assert_eq!(node.world.evm().pool().counts(), (1, 0));
        node.run(&Step::Rewind { back: 1 }).await;
        assert_eq!(node.world.evm().pool().counts(), (0, 1));
        assert!(node.txs[&mined[0]].submit(&node.world));
        assert_eq!(node.world.evm().pool().counts(), (2, 0));
        node.drain().await;
        assert!(node.txs.keys().all(|id| node.last().accepted.contains(id)));
    });
}

/// A transaction of later blocks that is invalid on the older state is dropped, with the reason.
#[test]
fn what_spends_what_is_gone_is_given_up() {
    in_time(async {
        let mut node = Node::new().await;
        // The import's UTXO is exported by the block before.
        let owner = esker_testkit::chains::world::key(1);
        let exported = node.world.fund(&owner, &[esker_testkit::chains::world::ONE]).await;
        node.remember(node.world.last());
        node.kept += 1;
        let to = esker_testkit::chains::world::account(&owner);
        let import =
            node.world.import(&exported, &owner, to, esker_testkit::chains::world::ONE / 50);
        node.world.nat.submit(import.clone()).unwrap();
        node.rewind(1).await;
        assert!(node.world.nat.pool().contains(&import.id()));
        assert!(!node.world.step().await);
        assert!(!node.world.nat.pool().contains(&import.id()));
        let status = node.world.nat.status(&import.id()).unwrap();
        assert!(matches!(status, Some(esker_nat::AtomicStatus::Dropped(_))), "{status:?}");
    });
}

/// A reason that no commit has saved survives an orderly stop and is gone after a crash. A rewind to that bundle brings
/// nothing else back.
#[test]
fn unsaved_reasons_survive_an_orderly_stop() {
    for (stop, expected) in [(Stop::Orderly, Status::Lost), (Stop::Crash, Status::Unknown)] {
        in_time(async {
            let mut node = Node::new().await;
            let export = Step::Submit { what: What::ExportFromC, by: 3, choice: 0 };
            let transfer = Step::Submit { what: What::Transfer, by: 1, choice: 0 };
            for step in [&export, &Step::Block] {
                node.run(step).await;
            }
            let first: BTreeSet<_> = node.txs.keys().copied().collect();
            // Its nonce is too high after the rewind.
            node.run(&export).await;
            let lost = *node.txs.keys().find(|id| !first.contains(*id)).unwrap();
            for step in [&Step::Rewind { back: 1 }, &transfer, &Step::Block] {
                node.run(step).await;
            }
            assert_eq!(node.last().statuses[&lost], Status::Lost);
            let height = node.last().bundle.height;
            node.run(&Step::Restart(stop)).await;
            assert_eq!(node.txs[&lost].status(&node.world), expected);
            for step in [&transfer, &Step::Block, &Step::Rewind { back: 1 }] {
                node.run(step).await;
            }
            assert_eq!(node.last().bundle.height, height);
            assert_eq!(node.txs[&lost].status(&node.world), expected);
        });
    }
}
