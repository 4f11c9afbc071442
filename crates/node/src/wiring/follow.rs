//! The settings of a follower for its sources.

use esker_follow::{FollowerConfig, Timeouts};
use esker_settings::config::Config;

/// The times that a follower waits for its sources.
pub(super) fn timeouts(config: &Config) -> Timeouts {
    Timeouts { idle: config.settings.follow_idle_timeout, ..Timeouts::default() }
}

/// The settings by which a follower changes between sources.
pub(super) fn follower_config(config: &Config) -> FollowerConfig {
    let idle = config.settings.follow_idle_timeout;
    // Longer than the follower waits for a source that withholds bundles.
    let return_time = idle.saturating_add(idle / 2);
    FollowerConfig { return_time, ..FollowerConfig::default() }
}
