//! Figures of followers, and of a node that follows others.

use std::sync::{Arc, Weak};

use esker_follow::{BundleServer, Follower};
use prometheus::{Gauge, IntGauge};

use super::registry::Registry;
use super::{families as f, to_i64};

/// The gauges.
pub(super) struct FollowMetrics {
    followers: IntGauge,
    connected: IntGauge,
    lag_bundles: IntGauge,
    lag_seconds: Gauge,
}

/// The sources of the figures. They are weak, so that metrics keep no machine alive.
#[derive(Default)]
pub(super) struct FollowSources {
    pub(super) follower: Option<Weak<Follower>>,
    pub(super) server: Option<Weak<BundleServer>>,
}

impl FollowSources {
    pub(super) fn set(
        &mut self,
        follower: Option<&Arc<Follower>>,
        server: Option<&Arc<BundleServer>>,
    ) {
        self.follower = follower.map(Arc::downgrade);
        self.server = server.map(Arc::downgrade);
    }
}

impl FollowMetrics {
    pub(super) fn new(registry: &Registry) -> Self {
        Self {
            followers: f::FOLLOWERS.int_gauge(registry),
            connected: f::FOLLOW_CONNECTED.int_gauge(registry),
            lag_bundles: f::FOLLOW_LAG_BUNDLES.int_gauge(registry),
            lag_seconds: f::FOLLOW_LAG_SECONDS.gauge(registry),
        }
    }

    pub(super) fn collect(&self, sources: &FollowSources) {
        if let Some(server) = sources.server.as_ref().and_then(Weak::upgrade) {
            self.followers.set(to_i64(server.followers()));
        }
        if let Some(follower) = sources.follower.as_ref().and_then(Weak::upgrade) {
            let status = follower.follow_status();
            self.connected.set(i64::from(status.source.is_some()));
            self.lag_bundles.set(to_i64(status.lag_bundles()));
            self.lag_seconds.set(status.lag_ms as f64 / 1000.0);
        }
    }
}
