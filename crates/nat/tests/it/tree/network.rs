//! Two nodes, the reference, and the model that they are held against.

use std::collections::BTreeMap;
use std::sync::Arc;

use esker_chain::{
    Bundle, ChainError, ChainMachine as _, ChainVm, FinalizeError, ProposeCtx, ProposeError,
    Verdict,
};
use esker_primitives::clock::{Clock as _, ManualClock};
use esker_primitives::ids::Id;
use esker_storage::{FailPoint, FailingStore, MemoryStore, StorageError};
use esker_testkit::chains::audit::audit;
use esker_testkit::chains::funded::{self, START_MS};
use esker_testkit::chains::world::World;

use super::Who;
use super::model::{Follower, Model};
use super::txs::{AnyTx, Status, What, ids_in};

/// Rows that nodes may differ in, besides the reasons of lost transactions: when blocks were accepted. Scope and tag.
const OWN_ROWS: [[u8; 3]; 1] = [[0, 1, 0x05]];

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

struct Node {
    disk: Arc<FailingStore>,
    world: World,
    follower: Follower,
}

pub(super) struct Network {
    clock: Arc<ManualClock>,
    nodes: [Node; 2],
    reference: World,
    /// The reference's rows after each decided bundle.
    rows: Vec<Rows>,
    model: Model,
}

fn shared_rows(world: &World) -> Rows {
    world.rows_without(&OWN_ROWS)
}

fn chains(world: &World) -> [Arc<dyn ChainVm>; 2] {
    [world.x.clone() as Arc<dyn ChainVm>, world.evm().clone()]
}

/// The result of a call, unless it takes longer than this many polls of the task. Work that was begun goes on.
async fn given_up<T>(call: impl Future<Output = T>, polls: u8) -> Option<T> {
    let patience = async {
        for _ in 0..polls {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        result = call => Some(result),
        () = patience => None,
    }
}

impl Node {
    fn new(clock: &Arc<ManualClock>) -> Self {
        let disk = Arc::new(FailingStore::new(funded::store()));
        let world = funded::world(disk.clone(), clock);
        Self { disk, world, follower: Follower::default() }
    }

    /// Resolves when the machine has done what was asked of it before.
    async fn is_idle(&self) {
        self.world.machine.notarized(&Id::ZERO).await.unwrap();
    }

    fn proposal<'a>(&self, on: &Bundle, ancestry: &'a [Bundle]) -> ProposeCtx<'a> {
        ProposeCtx {
            height: on.height + 1,
            parent: on.id(),
            ancestry,
            wait_until_ms: self.world.clock.now_ms(),
        }
    }
}

impl Network {
    pub(super) fn new() -> Self {
        let clock = Arc::new(ManualClock::new(START_MS));
        let reference = funded::world(funded::store() as Arc<MemoryStore>, &clock);
        let rows = vec![shared_rows(&reference)];
        let model = Model::new(reference.last());
        Self { nodes: [Node::new(&clock), Node::new(&clock)], clock, reference, rows, model }
    }

    pub(super) fn submitted(&self) -> usize {
        self.model.txs.len()
    }

    pub(super) fn bundles(&self) -> usize {
        self.model.bundles.len() - 1
    }

    pub(super) fn undecided(&self, who: Who) -> usize {
        self.nodes[who].follower.tree.len()
    }

    pub(super) fn decided(&self) -> usize {
        self.model.decided.len() - 1
    }

    /// Transactions of a node that others have made impossible.
    pub(super) fn lost_to_conflicts(&self, who: Who) -> usize {
        let follower = &self.nodes[who].follower;
        follower.taken.iter().filter(|id| self.model.is_impossible(follower, id)).count()
    }

    pub(super) fn wait_s(&self, seconds: u64) {
        self.clock.advance(seconds * 1000);
    }

    pub(super) fn submit(&mut self, who: Who, what: What, by: u8, choice: u8) {
        let node = &mut self.nodes[who];
        let Some(tx) = AnyTx::make(&node.world, what, by, choice) else { return };
        // One that it knows from a block of the other node only is that node's to keep.
        let is_news = tx.status(&node.world) != Status::Processing;
        if tx.submit(&node.world) && is_news {
            node.follower.taken.insert(tx.id());
            self.model.txs.insert(tx.id(), tx);
        }
    }

    fn proposed(
        &mut self,
        who: Who,
        on: &Bundle,
        proposed: Result<Option<Bundle>, ProposeError>,
        expected: &[Verdict],
    ) {
        let follower = &mut self.nodes[who].follower;
        match proposed {
            Ok(built) => {
                assert!(expected.contains(&Verdict::Valid), "{expected:?}");
                self.model.executed(follower, on);
                if let Some(bundle) = built {
                    assert_eq!((bundle.parent, bundle.height), (on.id(), on.height + 1));
                    follower.tree.insert(bundle.id());
                    self.model.add(bundle);
                }
            }
            Err(ProposeError::Parent { id, verdict }) => {
                assert_eq!(id, on.id());
                assert!(expected.iter().any(|verdict| *verdict != Verdict::Valid), "{verdict:?}");
            }
            Err(other) => panic!("{other}"),
        }
    }

    /// The expected verdict for building on a bundle: that of a bundle on it.
    fn parent_verdict(&self, who: Who, on: &Bundle) -> Verdict {
        let follower = &self.nodes[who].follower;
        match self.model.is_known(follower, &on.id()) {
            true => Verdict::Valid,
            false => self.model.verdict(follower, on, true),
        }
    }

    pub(super) async fn propose(&mut self, who: Who, on: u8) {
        let on = self.model.pick(on);
        let ancestry = self.ancestry_with(&on);
        let expected = self.parent_verdict(who, &on);
        let node = &self.nodes[who];
        let proposed = node.world.machine.propose(node.proposal(&on, &ancestry)).await;
        self.proposed(who, &on, proposed, &[expected]);
    }

    /// A bundle with all below it, newest first.
    fn ancestry_with(&self, bundle: &Bundle) -> Vec<Bundle> {
        let mut ancestry = self.model.ancestry(bundle);
        ancestry.insert(0, bundle.clone());
        ancestry
    }

    fn verified(&mut self, who: Who, bundle: &Bundle, verdict: &Verdict) {
        if *verdict == Verdict::Valid {
            self.model.executed(&mut self.nodes[who].follower, bundle);
        }
    }

    pub(super) async fn verify(&mut self, who: Who, bundle: u8, with_ancestry: bool) {
        let bundle = self.model.pick(bundle);
        let ancestry = if with_ancestry { self.model.ancestry(&bundle) } else { Vec::new() };
        let node = &self.nodes[who];
        let expected = self.model.verdict(&node.follower, &bundle, with_ancestry);
        let verdict = node.world.machine.verify(&ancestry, &bundle).await.unwrap();
        assert_eq!(verdict, expected);
        self.verified(who, &bundle, &verdict);
    }

    pub(super) async fn transplant(&mut self, who: Who, blocks: u8, onto: u8) {
        let (from, parent) = (self.model.pick(blocks), self.model.pick(onto));
        let bundle = Bundle {
            parent: parent.id(),
            height: parent.height + 1,
            timestamp_ms: self.clock.now_ms().max(parent.timestamp_ms),
            ..from
        };
        let ancestry = self.ancestry_with(&parent);
        let node = &self.nodes[who];
        let is_possible = self.model.verdict(&node.follower, &bundle, true) == Verdict::Valid
            || self.parent_verdict(who, &parent) == Verdict::Valid;
        let verdict = node.world.machine.verify(&ancestry, &bundle).await.unwrap();
        match verdict {
            // The blocks are valid there, so the state after them is known.
            Verdict::Invalid(reason) if reason.starts_with("state commitment differs") => {
                let composed = node.world.machine.compose(&parent.id(), bundle.blocks).await;
                let bundle = composed.unwrap().unwrap();
                assert!(is_possible);
                self.model.add(bundle.clone());
                self.verified(who, &bundle, &Verdict::Valid);
            }
            Verdict::Valid => {
                assert!(is_possible);
                self.model.add(bundle.clone());
                self.verified(who, &bundle, &verdict);
            }
            // On that parent. The parent itself is valid.
            Verdict::Invalid(_) => {
                assert!(is_possible);
                self.model.executed(&mut self.nodes[who].follower, &parent);
            }
            Verdict::AlreadyFinal | Verdict::Abandoned => assert!(!is_possible),
            other => panic!("{other:?}"),
        }
    }

    pub(super) async fn at_once(&mut self, who: Who, on: [u8; 2], bundle: u8) {
        let on = on.map(|choice| self.model.pick(choice));
        let bundle = self.model.pick(bundle);
        let ancestries = [&on[0], &on[1], &bundle].map(|bundle| self.ancestry_with(bundle));
        let next = self.next(who, 1);
        let verdicts = |network: &Self| {
            let follower = &network.nodes[who].follower;
            [
                network.parent_verdict(who, &on[0]),
                network.parent_verdict(who, &on[1]),
                network.model.verdict(follower, &bundle, true),
            ]
        };
        let before = verdicts(self);
        let node = &self.nodes[who];
        let machine = &node.world.machine;
        let (first, second, verdict, finalized) = tokio::join!(
            machine.propose(node.proposal(&on[0], &ancestries[0])),
            machine.propose(node.proposal(&on[1], &ancestries[1])),
            machine.verify(&ancestries[2][1..], &bundle),
            machine.finalize_all(next.clone()),
        );
        finalized.unwrap();
        let verdict = verdict.unwrap();
        // The model learns what was executed before it learns what became final, which takes the rest away.
        let mut after = Follower {
            height: node.follower.height,
            tree: node.follower.tree.clone(),
            ..Follower::default()
        };
        self.model.followed(&mut after, next.len());
        std::mem::swap(&mut self.nodes[who].follower, &mut after);
        let later = verdicts(self);
        std::mem::swap(&mut self.nodes[who].follower, &mut after);
        assert!([&before[2], &later[2]].contains(&&verdict), "{verdict:?}");
        for (on, proposed, at) in [(&on[0], first, 0), (&on[1], second, 1)] {
            let expected = [before[at].clone(), later[at].clone()];
            self.proposed(who, on, proposed, &expected);
        }
        self.verified(who, &bundle, &verdict);
        self.model.followed(&mut self.nodes[who].follower, next.len());
    }

    pub(super) async fn give_up_propose(&mut self, who: Who, on: u8, polls: u8) {
        let on = self.model.pick(on);
        let ancestry = self.ancestry_with(&on);
        let expected = self.parent_verdict(who, &on);
        let node = &self.nodes[who];
        let call = node.world.machine.propose(node.proposal(&on, &ancestry));
        match given_up(call, polls).await {
            Some(proposed) => self.proposed(who, &on, proposed, &[expected]),
            None => {
                node.is_idle().await;
                self.nodes[who].follower.may_hold_more = true;
                // The ancestry may have been executed: from here on it has.
                self.settle(who, &on).await;
            }
        }
    }

    pub(super) async fn give_up_verify(&mut self, who: Who, bundle: u8, polls: u8) {
        let bundle = self.model.pick(bundle);
        let ancestry = self.model.ancestry(&bundle);
        let call = self.nodes[who].world.machine.verify(&ancestry, &bundle);
        given_up(call, polls).await;
        self.settle(who, &bundle).await;
    }

    /// A bundle that may have been executed is, if it can be.
    async fn settle(&mut self, who: Who, bundle: &Bundle) {
        let ancestry = self.model.ancestry(bundle);
        let node = &self.nodes[who];
        let expected = self.model.verdict(&node.follower, bundle, true);
        let verdict = node.world.machine.verify(&ancestry, bundle).await.unwrap();
        assert_eq!(verdict, expected);
        self.verified(who, bundle, &verdict);
    }

    pub(super) async fn fail_propose(&mut self, who: Who, on: u8, nth: u8) {
        let on = self.model.pick(on);
        let ancestry = self.ancestry_with(&on);
        let expected = self.parent_verdict(who, &on);
        let node = &self.nodes[who];
        node.disk.fail_nth_read(u64::from(nth));
        let proposed = node.world.machine.propose(node.proposal(&on, &ancestry)).await;
        node.disk.clear_failures();
        match proposed {
            Err(ProposeError::Chain(ChainError::Storage(StorageError::Injected))) => {
                self.settle(who, &on).await;
            }
            proposed => self.proposed(who, &on, proposed, &[expected]),
        }
    }

    pub(super) async fn fail_verify(&mut self, who: Who, bundle: u8, nth: u8) {
        let bundle = self.model.pick(bundle);
        let ancestry = self.model.ancestry(&bundle);
        let node = &self.nodes[who];
        let expected = self.model.verdict(&node.follower, &bundle, true);
        node.disk.fail_nth_read(u64::from(nth));
        let verdict = node.world.machine.verify(&ancestry, &bundle).await;
        node.disk.clear_failures();
        match verdict {
            Err(ChainError::Storage(StorageError::Injected)) => {}
            Ok(verdict) => assert_eq!(verdict, expected),
            Err(error) => panic!("{error}"),
        }
        self.settle(who, &bundle).await;
    }

    pub(super) async fn abandon(&mut self, who: Who, bundle: u8) {
        let id = self.model.pick(bundle).id();
        let node = &mut self.nodes[who];
        let dropped = node.world.machine.abandon(&id).await.unwrap();
        assert_eq!(dropped, self.model.abandoned(&mut node.follower, id));
    }

    pub(super) async fn notarize(&mut self, who: Who, bundle: u8) {
        let id = self.model.pick(bundle).id();
        self.nodes[who].world.machine.notarized(&id).await.unwrap();
    }

    pub(super) async fn decide(&mut self, bundle: u8) {
        let bundle = self.model.pick(bundle);
        self.decide_up_to(&bundle).await;
    }

    async fn decide_up_to(&mut self, bundle: &Bundle) {
        for bundle in self.model.undecided_path(bundle).unwrap_or_default() {
            let ids = ids_in(&self.reference, &bundle);
            assert_eq!(self.reference.machine.verify(&[], &bundle).await.unwrap(), Verdict::Valid);
            self.reference.machine.finalize(&bundle, None).await.unwrap();
            audit(&self.reference);
            self.rows.push(shared_rows(&self.reference));
            self.model.decide(bundle, &ids);
        }
    }

    /// The next decided bundles of a node.
    fn next(&self, who: Who, count: u8) -> Vec<(Bundle, Option<bytes::Bytes>)> {
        let rest = self.model.decided[self.nodes[who].follower.height + 1..].iter();
        rest.take(usize::from(count)).map(|bundle| (bundle.clone(), None)).collect()
    }

    pub(super) async fn catch_up(&mut self, who: Who, count: u8) {
        let next = self.next(who, count);
        let node = &mut self.nodes[who];
        node.world.machine.finalize_all(next.clone()).await.unwrap();
        self.model.followed(&mut node.follower, next.len());
    }

    pub(super) async fn give_up_catch_up(&mut self, who: Who, count: u8, polls: u8) {
        let next = self.next(who, count);
        let node = &mut self.nodes[who];
        let (before, _) = node.world.machine.last_final();
        if let Some(finalized) =
            given_up(node.world.machine.finalize_all(next.clone()), polls).await
        {
            finalized.unwrap();
        }
        node.is_idle().await;
        // All of it, or nothing.
        let (after, _) = node.world.machine.last_final();
        let followed = usize::try_from(after - before).unwrap();
        assert!([0, next.len()].contains(&followed), "{followed}");
        self.model.followed(&mut node.follower, followed);
    }

    pub(super) async fn fail_catch_up(&mut self, who: Who, count: u8, dies: bool) {
        let next = self.next(who, count);
        if next.is_empty() {
            return;
        }
        let node = &mut self.nodes[who];
        node.disk.fail_nth_write(1, if dies { FailPoint::After } else { FailPoint::Before });
        let failed = node.world.machine.finalize_all(next.clone()).await;
        let is_injected = |error: &FinalizeError| {
            matches!(error, FinalizeError::Chain(ChainError::Storage(StorageError::Injected)))
        };
        assert!(failed.as_ref().is_err_and(is_injected), "{failed:?}");
        // A bundle that was not executed yet is executed by then, and kept.
        for (bundle, _) in &next {
            self.model.executed(&mut node.follower, bundle);
        }
        if dies {
            self.model.followed(&mut node.follower, next.len());
            self.restart(who, true);
        }
    }

    pub(super) fn restart(&mut self, who: Who, keeps_pools: bool) {
        let node = &mut self.nodes[who];
        let waiting = chains(&node.world).map(|chain| chain.waiting_txs());
        node.world = funded::world(node.disk.clone(), &self.clock);
        node.follower.tree.clear();
        node.follower.may_hold_more = false;
        let (model, height) = (&self.model, node.follower.height);
        let follower = Follower { height, ..Follower::default() };
        node.follower.taken.retain(|id| {
            model.is_accepted(&follower, id) || keeps_pools && !model.is_impossible(&follower, id)
        });
        if keeps_pools {
            for (chain, txs) in chains(&node.world).iter().zip(waiting) {
                chain.restore_txs(txs);
            }
        }
    }

    /// Holds both nodes against the model.
    pub(super) fn check(&self) {
        for (who, node) in self.nodes.iter().enumerate() {
            let Node { world, follower, .. } = node;
            let last = self.model.last(follower);
            assert_eq!(world.machine.last_final(), (last.height, last.id()));
            let undecided = world.machine.undecided();
            let known = follower.tree.len();
            assert!(
                undecided == known || follower.may_hold_more && undecided > known,
                "{undecided}"
            );
            for id in &follower.taken {
                let tx = &self.model.txs[id];
                let status = tx.status(world);
                if self.model.is_accepted(follower, id) {
                    assert_eq!(status, Status::Accepted, "{tx:?}");
                } else if !self.model.is_impossible(follower, id) {
                    let why = world.nat.status(id).unwrap();
                    assert_eq!(status, Status::Processing, "node {who}: {why:?} {tx:?}");
                } else {
                    assert_eq!(status, Status::Lost, "node {who}: {tx:?}");
                }
            }
            let rows = shared_rows(world);
            assert!(rows == self.rows[follower.height], "other rows than the reference's");
        }
    }

    /// Decides until no node has anything to propose: all that is possible is accepted.
    pub(super) async fn drain(&mut self) {
        for who in [0, 1, 0, 1] {
            loop {
                self.catch_up(0, u8::MAX).await;
                self.catch_up(1, u8::MAX).await;
                self.wait_s(12);
                let last = self.model.decided.len() - 1;
                let last = self.model.decided[last].clone();
                let node = &self.nodes[who];
                let Some(bundle) =
                    node.world.machine.propose(node.proposal(&last, &[])).await.unwrap()
                else {
                    break;
                };
                self.nodes[who].follower.tree.insert(bundle.id());
                self.model.add(bundle.clone());
                self.decide_up_to(&bundle).await;
                self.check();
            }
        }
        self.check();
        for node in &self.nodes {
            audit(&node.world);
            for id in &node.follower.taken {
                let is_decided = self.model.is_accepted(&node.follower, id)
                    || self.model.is_impossible(&node.follower, id);
                assert!(is_decided, "{:?} is not accepted", self.model.txs[id]);
            }
            for chain in chains(&node.world) {
                assert_eq!(chain.stats().mempool_txs, 0, "{}", chain.name());
            }
            assert!(node.world.nat.pool().is_empty());
        }
    }
}
