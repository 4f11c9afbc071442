//! Figures of a validator.

use std::sync::Weak;

use esker_chain::Engine as _;
use esker_engine_bft::BftEngine;
use prometheus::{IntCounterVec, IntGauge, Registry};

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

    /// Weak, so that metrics keep no engine.
    pub(super) fn collect(&self, validator: Option<&Weak<BftEngine>>) {
        let Some(validator) = validator.and_then(Weak::upgrade) else { return };
        let stats = validator.stats();
        self.peers.set(to_i64(validator.status().peers));
        self.quorum.set(to_i64(stats.quorum));
        self.voting.set(i64::from(stats.votes));
        self.round.set(to_i64(stats.round));
        for (result, rounds) in
            [("notarized", stats.notarized), ("final", stats.finalized), ("skipped", stats.skipped)]
        {
            count(&self.rounds.with_label_values(&[result]), rounds);
        }
        let seen = stats.votes_seen;
        for (kind, votes) in [
            ("notarize", seen.notarize),
            ("finalize", seen.finalize),
            ("skip", seen.skip),
            ("conflicting", seen.conflicting),
        ] {
            count(&self.votes.with_label_values(&[kind]), votes);
        }
        for (key, votes) in validator.votes_by_validator() {
            count(&self.votes_by_validator.with_label_values(&[&key.to_string()]), votes);
        }
    }
}
