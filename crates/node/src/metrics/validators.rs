//! Figures of a validator.

use std::sync::Weak;

use esker_chain::Engine as _;
use esker_engine_bft::BftEngine;
use prometheus::{IntCounterVec, IntGauge, Registry};

use super::{count, families as f, to_i64};

/// The gauges and counters, which stay 0 on other nodes.
pub(super) struct ValidatorMetrics {
    peers: IntGauge,
    round: IntGauge,
    rounds: IntCounterVec,
}

impl ValidatorMetrics {
    pub(super) fn new(registry: &Registry) -> Self {
        Self {
            peers: f::VALIDATOR_PEERS.int_gauge(registry),
            round: f::VALIDATOR_ROUND.int_gauge(registry),
            rounds: f::VALIDATOR_ROUNDS.int_counters(registry),
        }
    }

    /// Weak, so that metrics keep no engine.
    pub(super) fn collect(&self, validator: Option<&Weak<BftEngine>>) {
        let Some(validator) = validator.and_then(Weak::upgrade) else { return };
        let stats = validator.stats();
        self.peers.set(to_i64(validator.status().peers));
        self.round.set(to_i64(stats.round));
        for (result, rounds) in
            [("notarized", stats.notarized), ("final", stats.finalized), ("skipped", stats.skipped)]
        {
            count(&self.rounds.with_label_values(&[result]), rounds);
        }
    }
}
