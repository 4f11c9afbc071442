//! The configuration of a chain.

use alloy_primitives::{Address, Bytes, U256};
use esker_evm_execution::rules::ExecutionLimits;

use super::blob_schedule::BlobSchedule;
use super::fork::Fork;

/// Extra data of the first ten blocks of the DAO fork.
pub const DAO_EXTRA: &[u8] = b"dao-hard-fork";

/// Number of blocks with [`DAO_EXTRA`].
const DAO_EXTRA_RANGE: u64 = 10;

/// A change of the rules that begins at a height.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockRule {
    /// [`Fork::Homestead`].
    Homestead,
    /// The DAO fork.
    Dao,
    /// [`Fork::TangerineWhistle`].
    Eip150,
    /// Signatures with a chain ID.
    Eip155,
    /// [`Fork::SpuriousDragon`].
    Eip158,
    /// [`Fork::Byzantium`].
    Byzantium,
    /// [`Fork::Constantinople`].
    Constantinople,
    /// [`Fork::Petersburg`].
    Petersburg,
    /// [`Fork::Istanbul`].
    Istanbul,
    /// [`Fork::MuirGlacier`].
    MuirGlacier,
    /// [`Fork::Berlin`].
    Berlin,
    /// [`Fork::London`].
    London,
    /// [`Fork::ArrowGlacier`].
    ArrowGlacier,
    /// [`Fork::GrayGlacier`].
    GrayGlacier,
    /// A height after the merge; it changes the fork ID only.
    MergeNetsplit,
}

impl BlockRule {
    /// All rules in their order.
    pub const ALL: [Self; Self::MergeNetsplit as usize + 1] = [
        Self::Homestead,
        Self::Dao,
        Self::Eip150,
        Self::Eip155,
        Self::Eip158,
        Self::Byzantium,
        Self::Constantinople,
        Self::Petersburg,
        Self::Istanbul,
        Self::MuirGlacier,
        Self::Berlin,
        Self::London,
        Self::ArrowGlacier,
        Self::GrayGlacier,
        Self::MergeNetsplit,
    ];

    /// The fork that begins with the rule.
    pub(super) const fn fork(self) -> Option<Fork> {
        Some(match self {
            Self::Homestead => Fork::Homestead,
            Self::Dao | Self::Eip155 | Self::MergeNetsplit => return None,
            Self::Eip150 => Fork::TangerineWhistle,
            Self::Eip158 => Fork::SpuriousDragon,
            Self::Byzantium => Fork::Byzantium,
            Self::Constantinople => Fork::Constantinople,
            Self::Petersburg => Fork::Petersburg,
            Self::Istanbul => Fork::Istanbul,
            Self::MuirGlacier => Fork::MuirGlacier,
            Self::Berlin => Fork::Berlin,
            Self::London => Fork::London,
            Self::ArrowGlacier => Fork::ArrowGlacier,
            Self::GrayGlacier => Fork::GrayGlacier,
        })
    }
}

/// When each change of the rules begins, and what the rules need besides: `config` of a genesis file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChainConfig {
    /// EIP-155 number.
    pub chain_id: u64,
    /// Heights of [`BlockRule::ALL`].
    pub(crate) blocks: [Option<u64>; BlockRule::ALL.len()],
    /// Times of [`Fork::TIMED`], Unix s.
    pub(crate) times: [Option<u64>; Fork::TIMED.len()],
    /// Whether the DAO's accounts are drained at the height of the DAO fork.
    pub dao_fork_support: bool,
    /// The sum of all difficulties from which on blocks have none; 0 for a chain without proof of work.
    pub terminal_total_difficulty: Option<U256>,
    /// Whether the chain is known to have reached the terminal total difficulty. Then the sum is not compared.
    pub terminal_total_difficulty_passed: bool,
    /// The contract whose logs are deposits (EIP-6110).
    pub deposit_contract: Address,
    /// Parameters of blob gas, by fork.
    pub blobs: BlobSchedule,
    /// Limits that differ from Ethereum's on a development chain. A genesis file has none.
    pub limits: ExecutionLimits,
}

impl ChainConfig {
    /// The height at which a rule begins.
    pub const fn block(&self, rule: BlockRule) -> Option<u64> {
        self.blocks[rule as usize]
    }

    /// Whether a rule applies at a height.
    pub fn is_active(&self, rule: BlockRule, number: u64) -> bool {
        self.block(rule).is_some_and(|begin| begin <= number)
    }

    /// The time at which a fork begins, Unix s; `None` for one that is not scheduled or that begins at a height.
    pub fn time(&self, fork: Fork) -> Option<u64> {
        fork.timed_index().and_then(|index| self.times[index])
    }

    /// The fork of a block. `is_merged` says whether it is one without proof of work: its difficulty is 0.
    pub fn fork_at(&self, number: u64, time: u64, is_merged: bool) -> Fork {
        if is_merged && self.is_active(BlockRule::London, number) {
            let begun = |fork: &Fork| self.time(*fork).is_some_and(|begin| begin <= time);
            return Fork::TIMED.into_iter().rev().find(begun).unwrap_or(Fork::Paris);
        }
        let begun = |rule: &BlockRule| self.is_active(*rule, number);
        let mut rules = BlockRule::ALL.into_iter().rev().filter(begun);
        rules.find_map(BlockRule::fork).unwrap_or(Fork::Frontier)
    }

    /// Whether blocks with proof of work end at a sum of difficulties that the chain has to reach.
    pub fn counts_difficulty(&self) -> bool {
        let terminal = self.terminal_total_difficulty.unwrap_or_default();
        !terminal.is_zero() && !self.terminal_total_difficulty_passed
    }

    /// Whether a block that is to be built has no proof of work. `parent_total_difficulty` is the sum of the
    /// difficulties up to its parent.
    pub fn is_merged(&self, number: u64, time: u64, parent_total_difficulty: U256) -> bool {
        self.terminal_total_difficulty.is_some_and(|terminal| parent_total_difficulty >= terminal)
            || self.terminal_total_difficulty_passed
            || self.is_active(BlockRule::MergeNetsplit, number)
            || self.time(Fork::Shanghai).is_some_and(|begin| begin <= time)
    }

    /// Whether a block is the one at which the DAO's accounts are drained.
    pub fn is_dao_block(&self, number: u64) -> bool {
        self.dao_fork_support && self.block(BlockRule::Dao) == Some(number)
    }

    /// Whether a block is among the first ten of the DAO fork, where only the chain that drains the accounts has
    /// [`DAO_EXTRA`] as extra data.
    pub fn marks_dao_fork(&self, number: u64) -> bool {
        let begin = self.block(BlockRule::Dao);
        begin.is_some_and(|begin| (begin..begin.saturating_add(DAO_EXTRA_RANGE)).contains(&number))
    }

    /// The extra data of a block that this node makes, unless something else is asked for.
    pub fn usual_extra(&self, number: u64) -> Bytes {
        match self.dao_fork_support && self.marks_dao_fork(number) {
            true => Bytes::from_static(DAO_EXTRA),
            false => Bytes::new(),
        }
    }

    /// Sets the height of a rule.
    #[must_use]
    pub const fn with_block(mut self, rule: BlockRule, number: u64) -> Self {
        self.blocks[rule as usize] = Some(number);
        self
    }

    /// Sets the time of a fork, Unix s. A fork that begins at a height stays as it is.
    #[must_use]
    pub fn with_time(mut self, fork: Fork, time: u64) -> Self {
        if let Some(index) = fork.timed_index() {
            self.times[index] = Some(time);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(config: &ChainConfig, number: u64, time: u64) -> Fork {
        config.fork_at(number, time, config.is_merged(number, time, U256::ZERO))
    }

    #[test]
    fn heights_come_before_times() {
        let mainnet = ChainConfig::mainnet();
        for (number, fork) in [
            (0, Fork::Frontier),
            (1_149_999, Fork::Frontier),
            (1_150_000, Fork::Homestead),
            (1_920_000, Fork::Homestead),
            (2_463_000, Fork::TangerineWhistle),
            (2_675_000, Fork::SpuriousDragon),
            (4_370_000, Fork::Byzantium),
            (7_280_000, Fork::Petersburg),
            (9_069_000, Fork::Istanbul),
            (9_200_000, Fork::MuirGlacier),
            (12_244_000, Fork::Berlin),
            (12_965_000, Fork::London),
            (13_773_000, Fork::ArrowGlacier),
            (15_050_000, Fork::GrayGlacier),
        ] {
            assert_eq!(mainnet.fork_at(number, 0, false), fork, "{number}");
        }
        for (time, fork) in [
            (1_663_224_179, Fork::Paris),
            (1_681_338_454, Fork::Paris),
            (1_681_338_455, Fork::Shanghai),
            (1_710_338_135, Fork::Cancun),
            (1_746_612_311, Fork::Prague),
            (1_764_798_551, Fork::Osaka),
            (1_765_290_071, Fork::Bpo1),
            (1_767_747_671, Fork::Bpo2),
            (u64::MAX, Fork::Bpo2),
        ] {
            assert_eq!(mainnet.fork_at(20_000_000, time, true), fork, "{time}");
        }
        // A header of the past does not become a later one by its time.
        assert_eq!(mainnet.fork_at(5_000_000, u64::MAX, false), Fork::Byzantium);
        assert_eq!(mainnet.fork_at(5_000_000, u64::MAX, true), Fork::Byzantium);
    }

    #[test]
    fn a_chain_is_merged_by_difficulty_height_or_time() {
        let terminal = U256::from(100);
        let config = ChainConfig {
            terminal_total_difficulty: Some(terminal),
            ..ChainConfig::development(1, Fork::GrayGlacier)
        };
        assert!(!config.is_merged(5, 0, U256::from(99)));
        assert!(config.is_merged(5, 0, terminal));
        let by_height = config.clone().with_block(BlockRule::MergeNetsplit, 5);
        assert!(!by_height.is_merged(4, 0, U256::ZERO));
        assert!(by_height.is_merged(5, 0, U256::ZERO));
        assert!(config.with_time(Fork::Shanghai, 7).is_merged(1, 7, U256::ZERO));
    }

    #[test]
    fn a_development_chain_has_its_fork_from_the_first_block_on() {
        for fork in Fork::ALL {
            // The glaciers of a merged chain are of no consequence.
            assert_eq!(at(&ChainConfig::development(31337, fork), 0, 0), fork);
            assert_eq!(at(&ChainConfig::development(31337, fork), 9, 9), fork);
        }
    }

    #[test]
    fn the_dao_fork_is_one_block() {
        let mainnet = ChainConfig::mainnet();
        assert!(mainnet.is_dao_block(1_920_000) && !mainnet.is_dao_block(1_920_001));
        let opposed = ChainConfig { dao_fork_support: false, ..mainnet };
        assert!(!opposed.is_dao_block(1_920_000));
    }

    #[test]
    fn the_dao_fork_is_marked_in_ten_blocks() {
        let mainnet = ChainConfig::mainnet();
        let opposed = ChainConfig { dao_fork_support: false, ..mainnet.clone() };
        for (number, extra) in [
            (1_919_999, &b""[..]),
            (1_920_000, b"dao-hard-fork"),
            (1_920_009, b"dao-hard-fork"),
            (1_920_010, b""),
        ] {
            assert_eq!(*mainnet.usual_extra(number), *extra);
            assert!(opposed.usual_extra(number).is_empty());
        }
        assert!(ChainConfig::default().usual_extra(1_920_000).is_empty());
    }
}
