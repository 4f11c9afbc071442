//! The registry of the metrics, from which single families can be read by name.

use std::collections::{BTreeMap, BTreeSet};

use esker_primitives::sync::Mutex;
use prometheus::core::Collector;
use prometheus::proto::MetricFamily;

/// Adds a metric to a registry of the library.
type Add = Box<dyn Fn(&prometheus::Registry) + Send + Sync>;

/// All metrics of a node.
#[derive(Default)]
pub(super) struct Registry {
    all: prometheus::Registry,
    by_name: Mutex<BTreeMap<&'static str, Add>>,
}

impl Registry {
    /// Adds a metric under the name of its family, which no other one has.
    pub(super) fn register<M: Collector + Clone + Sync + 'static>(
        &self,
        name: &'static str,
        metric: M,
    ) {
        let add: Add = Box::new(move |registry| {
            let added = registry.register(Box::new(metric.clone()));
            added.expect("names of the list are unique");
        });
        add(&self.all);
        self.by_name.lock().insert(name, add);
    }

    /// The families that have values now, by ascending name.
    pub(super) fn gather(&self) -> Vec<MetricFamily> {
        self.all.gather()
    }

    /// The families with these names that have values now, by ascending name. The others are not read. Names that no family
    /// has are left out.
    pub(super) fn gather_only(&self, names: &BTreeSet<String>) -> Vec<MetricFamily> {
        let chosen = prometheus::Registry::new();
        let by_name = self.by_name.lock();
        for add in names.iter().filter_map(|name| by_name.get(name.as_str())) {
            add(&chosen);
        }
        drop(by_name);
        chosen.gather()
    }
}
