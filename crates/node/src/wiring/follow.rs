//! How a follower treats its sources.

use esker_follow::{FollowerConfig, Timeouts};
use esker_settings::config::Config;

/// How long a follower waits for its sources.
pub(super) fn timeouts(config: &Config) -> Timeouts {
    Timeouts { idle: config.settings.follow_idle_timeout, ..Timeouts::default() }
}

/// How a follower goes from source to source.
pub(super) fn follower_config(config: &Config) -> FollowerConfig {
    let idle = config.settings.follow_idle_timeout;
    // Longer than a source that withholds is waited for.
    let return_time = idle.saturating_add(idle / 2);
    FollowerConfig { return_time, ..FollowerConfig::default() }
}
