//! Metrics of clients: open subscriptions, filters, and waiting checks of passwords.

use std::collections::BTreeMap;
use std::sync::Arc;

use esker_keystore::{HashFigures, Hasher};
use prometheus::{IntCounterVec, IntGaugeVec};

use super::registry::Registry;
use super::{families as f, to_i64};

/// Numbers by kind. The list of kinds is constant, since each kind is a series.
pub type KindCounts = Vec<(&'static str, u64)>;

/// A chain, and a function that reads its numbers.
type WatchedKinds = (String, Box<dyn Fn() -> KindCounts + Send + Sync>);

/// The sources that are read for a scrape.
#[derive(Default)]
pub(super) struct ClientSources {
    pub(super) subscriptions: Vec<WatchedKinds>,
    pub(super) filters: Vec<WatchedKinds>,
    /// By the label of their keys. Several may have the same label.
    pub(super) hashers: Vec<(&'static str, Arc<Hasher>)>,
}

pub(super) struct ClientMetrics {
    subscriptions: IntGaugeVec,
    filters: IntGaugeVec,
    hashes_running: IntGaugeVec,
    hashes_waiting: IntGaugeVec,
    hashes_refused: IntCounterVec,
}

impl ClientMetrics {
    pub(super) fn new(registry: &Registry) -> Self {
        Self {
            subscriptions: f::SUBSCRIPTIONS.int_gauges(registry),
            filters: f::FILTERS.int_gauges(registry),
            hashes_running: f::HASHES_RUNNING.int_gauges(registry),
            hashes_waiting: f::HASHES_WAITING.int_gauges(registry),
            hashes_refused: f::HASHES_REFUSED.int_counters(registry),
        }
    }

    pub(super) fn collect(&self, sources: &ClientSources) {
        for (gauges, watched) in
            [(&self.subscriptions, &sources.subscriptions), (&self.filters, &sources.filters)]
        {
            for (chain, read) in watched {
                for (kind, count) in read() {
                    gauges.with_label_values(&[chain, kind]).set(to_i64(count));
                }
            }
        }
        let mut hashes: BTreeMap<_, HashFigures> = BTreeMap::new();
        for (keys, hasher) in &sources.hashers {
            let (sum, more) = (hashes.entry(*keys).or_default(), hasher.figures());
            sum.running += more.running;
            sum.waiting += more.waiting;
            sum.refused += more.refused;
        }
        for (keys, HashFigures { running, waiting, refused }) in hashes {
            self.hashes_running.with_label_values(&[keys]).set(to_i64(running));
            self.hashes_waiting.with_label_values(&[keys]).set(to_i64(waiting));
            let counter = self.hashes_refused.with_label_values(&[keys]);
            counter.inc_by(refused.saturating_sub(counter.get()));
        }
    }
}
