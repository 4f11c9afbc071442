//! The state of a follower, as health checks, metrics and `esker status` show it.

use esker_primitives::sync::Mutex;

/// Records of a connected source are at most this old at the tip, in ms: it sends one every second.
const FRESH_MS: u64 = 3000;

/// The state of a follower.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FollowStatus {
    /// The connected source; `None` while there is no connection.
    pub source: Option<String>,
    /// Height of the last final bundle.
    pub tip_final: u64,
    /// Greatest height that a source has reported.
    pub tip_seen: u64,
    /// The time for which it has been behind, ms; 0 at the tip of a connected source.
    pub lag_ms: u64,
    /// A fault for an operator: a source that contradicts this node or sends invalid bundles. It ends when a source
    /// served a good bundle, or has no further one.
    pub fault: Option<String>,
    /// The reason why the last connection ended.
    pub last_error: Option<String>,
}

impl FollowStatus {
    /// Bundles that are missing here, as far as is known.
    pub fn lag_bundles(&self) -> u64 {
        self.tip_seen.saturating_sub(self.tip_final)
    }
}

#[derive(Debug)]
struct Inner {
    shown: FollowStatus,
    /// The last time at the tip of a connected source, Unix ms.
    at_tip_ms: u64,
}

/// The state, as the engine updates it.
#[derive(Debug)]
pub(crate) struct StatusCell(Mutex<Inner>);

impl StatusCell {
    pub(crate) fn new(now_ms: u64) -> Self {
        let shown = FollowStatus::default();
        Self(Mutex::new_named("follow.status", Inner { shown, at_tip_ms: now_ms }))
    }

    pub(crate) fn get(&self, now_ms: u64) -> FollowStatus {
        let inner = self.0.lock();
        let age = now_ms.saturating_sub(inner.at_tip_ms);
        let is_at_tip = inner.shown.source.is_some() && inner.shown.lag_bundles() == 0;
        let lag_ms = if is_at_tip && age < FRESH_MS { 0 } else { age };
        FollowStatus { lag_ms, ..inner.shown.clone() }
    }

    /// A source is connected.
    pub(crate) fn connected(&self, source: &str, tip_final: u64) {
        let mut inner = self.0.lock();
        inner.shown.source = Some(source.to_owned());
        inner.shown.tip_final = tip_final;
        inner.shown.tip_seen = inner.shown.tip_seen.max(tip_final);
    }

    /// The connection ended, or could not be made.
    pub(crate) fn disconnected(&self, error: String, is_fault: bool) {
        let mut inner = self.0.lock();
        inner.shown.source = None;
        if is_fault {
            inner.shown.fault = Some(error.clone());
        }
        inner.shown.last_error = Some(error);
    }

    /// The source has this many bundles after the last final one.
    pub(crate) fn remaining(&self, tip_final: u64, bundles: u64, now_ms: u64) {
        let mut inner = self.0.lock();
        inner.shown.tip_final = tip_final;
        inner.shown.tip_seen = tip_final.saturating_add(bundles);
        if bundles == 0 {
            inner.at_tip_ms = now_ms;
            inner.shown.fault = None;
        }
    }

    /// Bundles up to this height became final.
    pub(crate) fn advanced(&self, tip_final: u64, now_ms: u64) {
        let mut inner = self.0.lock();
        inner.shown.tip_final = tip_final;
        inner.shown.fault = None;
        inner.shown.last_error = None;
        if inner.shown.tip_seen <= tip_final {
            inner.shown.tip_seen = tip_final;
            inner.at_tip_ms = now_ms;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lag_begins_where_the_tip_was_last_reached() {
        let cell = StatusCell::new(0);
        assert_eq!(cell.get(5000).lag_ms, 5000);
        cell.connected("s", 3);
        cell.remaining(3, 2, 6000);
        let status = cell.get(7000);
        assert_eq!((status.lag_bundles(), status.lag_ms), (2, 7000));
        cell.advanced(5, 8000);
        let status = cell.get(9000);
        assert_eq!((status.lag_bundles(), status.lag_ms), (0, 0));
        // A source that sends nothing more, and one that is gone.
        assert_eq!(cell.get(8000 + FRESH_MS).lag_ms, FRESH_MS);
        cell.disconnected("gone".into(), false);
        assert_eq!(cell.get(8100).lag_ms, 100);
    }

    #[test]
    fn a_fault_ends_with_the_next_good_bundle() {
        let cell = StatusCell::new(0);
        cell.disconnected("other network".into(), true);
        cell.disconnected("gone".into(), false);
        assert_eq!(cell.get(0).fault.as_deref(), Some("other network"));
        cell.advanced(1, 0);
        assert_eq!(cell.get(0).fault, None);
    }
}
