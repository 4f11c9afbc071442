//! Whether a configuration is one that the rules can follow.

use std::fmt;

use esker_evm_execution::genesis::JsonError;
use thiserror::Error;

use super::blob_schedule::BlobParams;
use super::config::{BlockRule, ChainConfig};
use super::fork::Fork;

/// Why a configuration is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// The JSON has another form.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// A fork is scheduled, and one before it is not.
    #[error("unsupported fork ordering: {missing} not enabled, but {later} enabled at {at}")]
    Missing {
        /// The fork that is not scheduled.
        missing: &'static str,
        /// The fork after it.
        later: &'static str,
        /// When it begins.
        at: Begin,
    },
    /// A fork would begin before the one that it follows.
    #[error(
        "unsupported fork ordering: {earlier} enabled at {earlier_at}, but {later} enabled at {later_at}"
    )]
    Order {
        /// The fork that comes first.
        earlier: &'static str,
        /// When it begins.
        earlier_at: Begin,
        /// The fork that follows.
        later: &'static str,
        /// When it begins.
        later_at: Begin,
    },
    /// The parameters of blob gas are no such.
    #[error("invalid chain configuration in blobSchedule for fork {fork:?}: {why}")]
    BlobParams {
        /// The fork in the schedule.
        fork: &'static str,
        /// What is wrong.
        why: &'static str,
    },
    /// A fork with blobs has no parameters.
    #[error("invalid chain configuration: missing entry for fork {fork:?} in blobSchedule")]
    NoBlobParams {
        /// The fork.
        fork: &'static str,
    },
    /// The rules are not implemented.
    #[error("{0} is not supported")]
    Unsupported(&'static str),
}

/// When a fork begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// At a height.
    Block(u64),
    /// At a time, Unix s.
    Timestamp(u64),
}

impl fmt::Display for Begin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Block(number) => write!(f, "block {number}"),
            Self::Timestamp(time) => write!(f, "timestamp {time}"),
        }
    }
}

/// A fork as the order is checked.
struct Step {
    name: &'static str,
    begin: Option<Begin>,
    /// Whether later forks may be scheduled without it.
    is_optional: bool,
}

/// Names of the timed forks in texts about their order.
const TIMED_NAMES: [&str; Fork::TIMED.len()] = [
    "shanghaiTime",
    "cancunTime",
    "pragueTime",
    "osakaTime",
    "bpo1",
    "bpo2",
    "bpo3",
    "bpo4",
    "bpo5",
    "amsterdam",
];

impl BlockRule {
    /// The member of the JSON with the height.
    pub(super) const fn field(self) -> &'static str {
        match self {
            Self::Homestead => "homesteadBlock",
            Self::Dao => "daoForkBlock",
            Self::Eip150 => "eip150Block",
            Self::Eip155 => "eip155Block",
            Self::Eip158 => "eip158Block",
            Self::Byzantium => "byzantiumBlock",
            Self::Constantinople => "constantinopleBlock",
            Self::Petersburg => "petersburgBlock",
            Self::Istanbul => "istanbulBlock",
            Self::MuirGlacier => "muirGlacierBlock",
            Self::Berlin => "berlinBlock",
            Self::London => "londonBlock",
            Self::ArrowGlacier => "arrowGlacierBlock",
            Self::GrayGlacier => "grayGlacierBlock",
            Self::MergeNetsplit => "mergeNetsplitBlock",
        }
    }

    const fn is_optional(self) -> bool {
        match self {
            Self::Dao
            | Self::MuirGlacier
            | Self::ArrowGlacier
            | Self::GrayGlacier
            | Self::MergeNetsplit => true,
            Self::Homestead
            | Self::Eip150
            | Self::Eip155
            | Self::Eip158
            | Self::Byzantium
            | Self::Constantinople
            | Self::Petersburg
            | Self::Istanbul
            | Self::Berlin
            | Self::London => false,
        }
    }
}

impl ChainConfig {
    /// Checks the order of the forks and the schedule of blob gas.
    ///
    /// # Errors
    /// A fork is missing before a later one, begins too early, has no blob parameters, or is not implemented.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.check_order()?;
        self.check_blobs()?;
        match self.time(Fork::Amsterdam) {
            Some(_) => Err(ConfigError::Unsupported("the Amsterdam fork")),
            None => Ok(()),
        }
    }

    fn check_order(&self) -> Result<(), ConfigError> {
        let mut last: Option<Step> = None;
        for step in self.steps() {
            if let Some(last) = &last {
                compare(last, &step)?;
            }
            if !step.is_optional || step.begin.is_some() {
                last = Some(step);
            }
        }
        Ok(())
    }

    /// The forks in their order. Those of Shanghai to Osaka build on each other, the changes of blob parameters need
    /// not all be there.
    fn steps(&self) -> impl Iterator<Item = Step> {
        let blocks = BlockRule::ALL.map(|rule| Step {
            name: rule.field(),
            begin: self.block(rule).map(Begin::Block),
            is_optional: rule.is_optional(),
        });
        let times = Fork::TIMED.into_iter().zip(TIMED_NAMES).map(move |(fork, name)| Step {
            name,
            begin: self.time(fork).map(Begin::Timestamp),
            is_optional: fork > Fork::Osaka,
        });
        blocks.into_iter().chain(times)
    }

    fn check_blobs(&self) -> Result<(), ConfigError> {
        for (fork, name) in BLOB_FORKS {
            let params = self.blobs.get(fork);
            if let Some(why) = params.and_then(BlobParams::fault) {
                return Err(ConfigError::BlobParams { fork: name, why });
            }
            if params.is_none() && self.time(fork).is_some() {
                return Err(ConfigError::NoBlobParams { fork: name });
            }
        }
        Ok(())
    }
}

/// The forks of a blob schedule and their members of the JSON.
pub(super) const BLOB_FORKS: [(Fork, &str); 9] = [
    (Fork::Cancun, "cancun"),
    (Fork::Prague, "prague"),
    (Fork::Osaka, "osaka"),
    (Fork::Bpo1, "bpo1"),
    (Fork::Bpo2, "bpo2"),
    (Fork::Bpo3, "bpo3"),
    (Fork::Bpo4, "bpo4"),
    (Fork::Bpo5, "bpo5"),
    (Fork::Amsterdam, "amsterdam"),
];

fn compare(earlier: &Step, later: &Step) -> Result<(), ConfigError> {
    let is_late = match (earlier.begin, later.begin) {
        (None, Some(at)) => {
            return Err(ConfigError::Missing { missing: earlier.name, later: later.name, at });
        }
        (Some(Begin::Block(earlier)), Some(Begin::Block(later)))
        | (Some(Begin::Timestamp(earlier)), Some(Begin::Timestamp(later))) => earlier > later,
        (_, None) | (Some(Begin::Block(_)), Some(Begin::Timestamp(_))) => false,
        // The list has heights first.
        (Some(Begin::Timestamp(_)), Some(Begin::Block(_))) => true,
    };
    match (is_late, earlier.begin, later.begin) {
        (true, Some(earlier_at), Some(later_at)) => {
            let (earlier, later) = (earlier.name, later.name);
            Err(ConfigError::Order { earlier, earlier_at, later, later_at })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(config: &ChainConfig) -> String {
        config.check().unwrap_err().to_string()
    }

    #[test]
    fn presets_are_in_order() {
        for config in ChainConfig::PUBLIC.map(|preset| preset()) {
            assert_eq!(config.check(), Ok(()), "{}", config.chain_id);
        }
        for fork in Fork::ALL.into_iter().filter(|fork| *fork < Fork::Amsterdam) {
            assert_eq!(ChainConfig::development(1, fork).check(), Ok(()), "{fork:?}");
        }
    }

    #[test]
    fn disorder_is_named() {
        let mut config = ChainConfig::mainnet().with_block(BlockRule::Byzantium, 8_000_000);
        assert_eq!(
            text(&config),
            "unsupported fork ordering: byzantiumBlock enabled at block 8000000, but \
             constantinopleBlock enabled at block 7280000"
        );
        config.blocks[BlockRule::Byzantium as usize] = None;
        assert_eq!(
            text(&config),
            "unsupported fork ordering: byzantiumBlock not enabled, but constantinopleBlock \
             enabled at block 7280000"
        );
        let mut config = ChainConfig::mainnet().with_time(Fork::Prague, 1);
        assert_eq!(
            text(&config),
            "unsupported fork ordering: cancunTime enabled at timestamp 1710338135, but \
             pragueTime enabled at timestamp 1"
        );
        config.times[Fork::Prague.timed_index().unwrap()] = None;
        assert_eq!(
            text(&config),
            "unsupported fork ordering: pragueTime not enabled, but osakaTime enabled at \
             timestamp 1764798551"
        );
    }

    #[test]
    fn forks_with_blobs_have_parameters() {
        let mut config = ChainConfig::mainnet().with_time(Fork::Bpo3, u64::MAX);
        assert_eq!(
            text(&config),
            r#"invalid chain configuration: missing entry for fork "bpo3" in blobSchedule"#
        );
        config.blobs.set(Fork::Bpo3, BlobParams { target: 1, max: 2, update_fraction: 0 });
        assert_eq!(
            text(&config),
            r#"invalid chain configuration in blobSchedule for fork "bpo3": update fraction must be defined and non-zero"#
        );
        let config = ChainConfig::development(1, Fork::Amsterdam);
        assert_eq!(text(&config), "the Amsterdam fork is not supported");
    }
}
