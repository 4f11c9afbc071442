//! Figures of a validator.

use std::sync::Weak;

use esker_validators::ValidatorEngine;
use prometheus::{IntCounter, IntCounterVec, IntGauge};

use super::registry::Registry;
use super::{count, families as f, to_i64};

/// The gauges and counters, which stay 0 on other nodes.
pub(super) struct ValidatorMetrics {
    peers: IntGauge,
    quorum: IntGauge,
    voting: IntGauge,
    round: IntGauge,
    rounds: IntCounterVec,
    votes: IntCounterVec,
    votes_by_validator: IntCounterVec,
}

impl ValidatorMetrics {
    pub(super) fn new(registry: &Registry) -> Self {
        Self {
            peers: f::VALIDATOR_PEERS.int_gauge(registry),
            quorum: f::VALIDATOR_QUORUM.int_gauge(registry),
            voting: f::VALIDATOR_VOTING.int_gauge(registry),
            round: f::VALIDATOR_ROUND.int_gauge(registry),
            rounds: f::VALIDATOR_ROUNDS.int_counters(registry),
            votes: f::VALIDATOR_VOTES.int_counters(registry),
            votes_by_validator: f::VALIDATOR_VOTES_BY_VALIDATOR.int_counters(registry),
        }
    }

    /// Weak, so that metrics keep no engine alive.
    pub(super) fn collect(&self, validator: Option<&Weak<dyn ValidatorEngine>>) {
        let Some(validator) = validator.and_then(Weak::upgrade) else { return };
        let stats = validator.stats();
        self.peers.set(to_i64(validator.status().peers));
        self.quorum.set(if stats.is_member { to_i64(stats.quorum) } else { 0 });
        self.voting.set(i64::from(stats.votes));
        self.round.set(to_i64(stats.round));
        for (result, rounds) in
            [("notarized", stats.notarized), ("final", stats.finalized), ("skipped", stats.skipped)]
        {
            set(&self.rounds.with_label_values(&[result]), rounds);
        }
        let seen = stats.votes_seen;
        for (kind, votes) in [
            ("notarize", seen.notarize),
            ("finalize", seen.finalize),
            ("skip", seen.skip),
            ("conflicting", seen.conflicting),
        ] {
            set(&self.votes.with_label_values(&[kind]), votes);
        }
        // Validators that left the set disappear.
        self.votes_by_validator.reset();
        for (key, votes) in validator.votes_by_validator() {
            set(&self.votes_by_validator.with_label_values(&[&key.to_string()]), votes);
        }
    }
}

/// Shows the engine's count. It begins at 0 when the engine starts anew, which Prometheus takes for a restart.
fn set(counter: &IntCounter, now: u64) {
    if now < counter.get() {
        counter.reset();
    }
    count(counter, now);
}
