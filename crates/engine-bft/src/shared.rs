//! The state that the parts of the engine share with each other and with readers of its status.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use esker_chain::{BundleId, EngineError};
use esker_primitives::sync::Mutex;
use esker_validators::VoteCounts;
use tokio::sync::mpsc;

/// Most rounds above the final one whose bundles are remembered.
const MAX_ROUNDS: usize = 1024;

/// Counts of rounds, heights, and the first error.
#[derive(Debug)]
pub(crate) struct Shared {
    tip_final: AtomicU64,
    tip_seen: AtomicU64,
    /// The last round with a result.
    round: AtomicU64,
    notarized_rounds: AtomicU64,
    skipped_rounds: AtomicU64,
    final_rounds: AtomicU64,
    /// Connected peers that are in the same epoch.
    peers_in_epoch: AtomicUsize,
    rounds: Mutex<Rounds>,
    /// The fault, if the store is older than the engine's files.
    store_behind: Mutex<Option<String>>,
    votes: Mutex<Votes>,
    failed: mpsc::Sender<EngineError>,
}

/// A kind of vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VoteKind {
    Notarize,
    Finalize,
    Skip,
}

#[derive(Debug, Default)]
struct Votes {
    counts: VoteCounts,
    /// By the validator's number in the committee.
    by_validator: BTreeMap<usize, u64>,
}

/// The undecided bundles that this node has proposed or verified, by the number of their round, with their heights.
#[derive(Debug, Default)]
struct Rounds {
    bundles: BTreeMap<u64, BTreeMap<BundleId, u64>>,
    notarized: BTreeSet<u64>,
}

impl Shared {
    /// A new state, and the receiver of the error that ends the engine.
    pub(crate) fn new(tip_final: u64) -> (Self, mpsc::Receiver<EngineError>) {
        let (failed, failure) = mpsc::channel(1);
        let shared = Self {
            tip_final: AtomicU64::new(tip_final),
            tip_seen: AtomicU64::new(tip_final),
            round: AtomicU64::new(0),
            notarized_rounds: AtomicU64::new(0),
            skipped_rounds: AtomicU64::new(0),
            final_rounds: AtomicU64::new(0),
            peers_in_epoch: AtomicUsize::new(0),
            rounds: Mutex::new_named("engine_bft.rounds", Rounds::default()),
            store_behind: Mutex::new_named("engine_bft.store_behind", None),
            votes: Mutex::new_named("engine_bft.votes", Votes::default()),
            failed,
        };
        (shared, failure)
    }

    /// Ends the engine. Only the first error counts.
    pub(crate) fn fail(&self, error: EngineError) {
        let _later = self.failed.try_send(error);
    }

    pub(crate) fn set_final(&self, height: u64) {
        self.tip_final.fetch_max(height, Ordering::Relaxed);
        self.set_seen(height);
    }

    pub(crate) fn set_seen(&self, height: u64) {
        self.tip_seen.fetch_max(height, Ordering::Relaxed);
    }

    pub(crate) fn tip_final(&self) -> u64 {
        self.tip_final.load(Ordering::Relaxed)
    }

    pub(crate) fn tip_seen(&self) -> u64 {
        self.tip_seen.load(Ordering::Relaxed)
    }

    /// Remembers a bundle of a round.
    pub(crate) fn add_bundle(&self, round: u64, id: BundleId, height: u64) {
        let mut rounds = self.rounds.lock();
        rounds.bundles.entry(round).or_default().insert(id, height);
        while rounds.bundles.len() > MAX_ROUNDS {
            rounds.bundles.pop_first();
        }
    }

    /// The height of a bundle of a round, if it is remembered.
    pub(crate) fn height(&self, round: u64, id: &BundleId) -> Option<u64> {
        self.rounds.lock().bundles.get(&round)?.get(id).copied()
    }

    pub(crate) fn set_store_behind(&self, reason: &str) {
        *self.store_behind.lock() = Some(reason.to_owned());
    }

    pub(crate) fn store_behind(&self) -> Option<String> {
        self.store_behind.lock().clone()
    }

    pub(crate) fn peers_in_epoch(&self) -> usize {
        self.peers_in_epoch.load(Ordering::Relaxed)
    }

    pub(crate) fn set_peers_in_epoch(&self, peers: usize) {
        self.peers_in_epoch.store(peers, Ordering::Relaxed);
    }

    /// Counts of rounds since the start: the last round with a result, those notarized, skipped and final.
    pub(crate) fn counts(&self) -> [u64; 4] {
        [&self.round, &self.notarized_rounds, &self.skipped_rounds, &self.final_rounds]
            .map(|count| count.load(Ordering::Relaxed))
    }

    /// Counts a vote of the validator with this number in the committee.
    pub(crate) fn voted(&self, validator: usize, kind: VoteKind) {
        let mut votes = self.votes.lock();
        let count = match kind {
            VoteKind::Notarize => &mut votes.counts.notarize,
            VoteKind::Finalize => &mut votes.counts.finalize,
            VoteKind::Skip => &mut votes.counts.skip,
        };
        *count += 1;
        *votes.by_validator.entry(validator).or_default() += 1;
    }

    /// Counts a pair of votes that contradict each other.
    pub(crate) fn contradicted(&self) {
        self.votes.lock().counts.conflicting += 1;
    }

    pub(crate) fn vote_counts(&self) -> VoteCounts {
        self.votes.lock().counts
    }

    /// The votes of the validator with this number in the committee.
    pub(crate) fn votes_of(&self, validator: usize) -> u64 {
        self.votes.lock().by_validator.get(&validator).copied().unwrap_or_default()
    }

    fn count(&self, counter: &AtomicU64, round: u64) {
        counter.fetch_add(1, Ordering::Relaxed);
        self.round.fetch_max(round, Ordering::Relaxed);
    }

    /// A quorum voted for a bundle of a round.
    pub(crate) fn notarized(&self, round: u64) {
        self.count(&self.notarized_rounds, round);
        let mut rounds = self.rounds.lock();
        rounds.notarized.insert(round);
        while rounds.notarized.len() > MAX_ROUNDS {
            rounds.notarized.pop_first();
        }
    }

    /// A quorum voted to skip a round.
    pub(crate) fn skip(&self, round: u64) {
        self.count(&self.skipped_rounds, round);
    }

    /// The bundles of a skipped round, unless a quorum voted for one.
    pub(crate) fn skipped(&self, round: u64) -> Vec<BundleId> {
        let rounds = self.rounds.lock();
        if rounds.notarized.contains(&round) {
            return Vec::new();
        }
        rounds.bundles.get(&round).into_iter().flat_map(BTreeMap::keys).copied().collect()
    }

    /// The bundles of all rounds before `round` but those of `kept`.
    pub(crate) fn bundles_before(&self, round: u64, kept: &[BundleId]) -> Vec<BundleId> {
        let rounds = self.rounds.lock();
        let ids = rounds.bundles.range(..round).flat_map(|(_, ids)| ids.keys());
        ids.filter(|id| !kept.contains(id)).copied().collect()
    }

    /// A round is final. Forgets the bundles up to it.
    pub(crate) fn finalized(&self, round: u64) {
        self.count(&self.final_rounds, round);
        let mut rounds = self.rounds.lock();
        let later = round.saturating_add(1);
        rounds.bundles = rounds.bundles.split_off(&later);
        rounds.notarized = rounds.notarized.split_off(&later);
    }
}

#[cfg(test)]
mod tests {
    use esker_primitives::Id;

    use super::*;

    #[test]
    fn bundles_of_rounds_are_found_until_a_later_round_is_final() {
        let (shared, mut failure) = Shared::new(0);
        let id = |n: u8| Id::sha256(&[n]);
        for round in 1..=4u8 {
            shared.add_bundle(u64::from(round), id(round), 7);
        }
        assert_eq!((shared.height(1, &id(1)), shared.height(2, &id(1))), (Some(7), None));
        shared.notarized(2);
        assert_eq!(shared.skipped(1), [id(1)]);
        assert_eq!(shared.skipped(2), [], "a quorum voted for it");
        assert_eq!(shared.bundles_before(4, &[id(2)]), [id(1), id(3)]);
        shared.skip(3);
        shared.finalized(3);
        assert_eq!(shared.counts(), [3, 1, 1, 1]);
        assert_eq!(shared.bundles_before(5, &[]), [id(4)]);
        for round in 0..5_000 {
            shared.add_bundle(round, id(0), round);
        }
        assert_eq!(shared.rounds.lock().bundles.len(), MAX_ROUNDS);
        assert_eq!(shared.vote_counts(), VoteCounts::default());
        for (validator, kind) in [
            (0, VoteKind::Notarize),
            (2, VoteKind::Notarize),
            (2, VoteKind::Finalize),
            (2, VoteKind::Skip),
        ] {
            shared.voted(validator, kind);
        }
        shared.contradicted();
        let counts = VoteCounts { notarize: 2, finalize: 1, skip: 1, conflicting: 1 };
        assert_eq!(shared.vote_counts(), counts);
        assert_eq!([0, 1, 2].map(|validator| shared.votes_of(validator)), [1, 0, 3]);
        shared.fail(EngineError::Protocol("first".into()));
        shared.fail(EngineError::Protocol("second".into()));
        assert_eq!(failure.try_recv().unwrap().to_string(), "first");
    }
}
