//! Configurations of known chains and of development chains.

use alloy_eips::eip6110::MAINNET_DEPOSIT_CONTRACT_ADDRESS;
use alloy_primitives::{Address, U256, address};

use super::blob_schedule::BlobSchedule;
use super::config::{BlockRule, ChainConfig};
use super::fork::Fork;

/// Sum of the main network's difficulties from which on its blocks have none: 58750 * 10^18.
const MAINNET_TERMINAL: U256 = U256::from_limbs([15_566_869_308_787_654_656, 3184, 0, 0]);

impl ChainConfig {
    /// The configurations of public networks.
    pub const PUBLIC: [fn() -> Self; 4] =
        [Self::mainnet, Self::sepolia, Self::holesky, Self::hoodi];

    /// A development chain, which has the rules of a fork from its first block on.
    pub fn development(chain_id: u64, fork: Fork) -> Self {
        let terminal = (fork >= Fork::Paris).then_some(U256::ZERO);
        let mut config = Self {
            chain_id,
            terminal_total_difficulty: terminal,
            deposit_contract: MAINNET_DEPOSIT_CONTRACT_ADDRESS,
            ..Self::default()
        };
        for rule in BlockRule::ALL {
            if rule.first_fork().is_some_and(|first| first <= fork) {
                config = config.with_block(rule, 0);
            }
        }
        for timed in Fork::TIMED.into_iter().filter(|timed| *timed <= fork) {
            config = config.with_time(timed, 0);
            // Changes that no public network has scheduled keep the last parameters.
            if let Some(params) = BlobSchedule::mainnet().at(timed) {
                config.blobs.set(timed, params);
            }
        }
        config
    }

    /// The main network.
    pub fn mainnet() -> Self {
        let heights = [
            (BlockRule::Homestead, 1_150_000),
            (BlockRule::Dao, 1_920_000),
            (BlockRule::Eip150, 2_463_000),
            (BlockRule::Eip155, 2_675_000),
            (BlockRule::Eip158, 2_675_000),
            (BlockRule::Byzantium, 4_370_000),
            (BlockRule::Constantinople, 7_280_000),
            (BlockRule::Petersburg, 7_280_000),
            (BlockRule::Istanbul, 9_069_000),
            (BlockRule::MuirGlacier, 9_200_000),
            (BlockRule::Berlin, 12_244_000),
            (BlockRule::London, 12_965_000),
            (BlockRule::ArrowGlacier, 13_773_000),
            (BlockRule::GrayGlacier, 15_050_000),
        ];
        let config = Self {
            chain_id: 1,
            dao_fork_support: true,
            terminal_total_difficulty: Some(MAINNET_TERMINAL),
            deposit_contract: MAINNET_DEPOSIT_CONTRACT_ADDRESS,
            blobs: BlobSchedule::mainnet(),
            ..Self::default()
        };
        let config =
            heights.into_iter().fold(config, |c, (rule, number)| c.with_block(rule, number));
        config.with_times([
            1_681_338_455,
            1_710_338_135,
            1_746_612_311,
            1_764_798_551,
            1_765_290_071,
            1_767_747_671,
        ])
    }

    /// The test network Sepolia.
    pub fn sepolia() -> Self {
        let terminal = U256::from(17_000_000_000_000_000_u64);
        test_network(11_155_111, terminal, address!("7f02c3e3c98b133055b8b348b2ac625669ed295d"))
            .with_block(BlockRule::MuirGlacier, 0)
            .with_block(BlockRule::MergeNetsplit, 1_735_371)
            .with_times([
                1_677_557_088,
                1_706_655_072,
                1_741_159_776,
                1_760_427_360,
                1_761_017_184,
                1_761_607_008,
            ])
    }

    /// The test network Holesky.
    pub fn holesky() -> Self {
        let deposits = address!("4242424242424242424242424242424242424242");
        test_network(17000, U256::ZERO, deposits).with_times([
            1_696_000_704,
            1_707_305_664,
            1_740_434_112,
            1_759_308_480,
            1_759_800_000,
            1_760_389_824,
        ])
    }

    /// The test network Hoodi.
    pub fn hoodi() -> Self {
        test_network(560_048, U256::ZERO, MAINNET_DEPOSIT_CONTRACT_ADDRESS)
            .with_block(BlockRule::MuirGlacier, 0)
            .with_block(BlockRule::MergeNetsplit, 0)
            .with_times([0, 0, 1_742_999_832, 1_761_677_592, 1_762_365_720, 1_762_955_544])
    }

    /// Sets the times of Shanghai to the second change of blob parameters.
    fn with_times(self, times: [u64; 6]) -> Self {
        Fork::TIMED.into_iter().zip(times).fold(self, |c, (fork, time)| c.with_time(fork, time))
    }
}

impl BlockRule {
    /// The first fork of a development chain with the rule. One without it lacks the DAO fork and has no height of
    /// the merge.
    const fn first_fork(self) -> Option<Fork> {
        match self {
            Self::Eip155 => Some(Fork::SpuriousDragon),
            rule => rule.fork(),
        }
    }
}

/// A test network with the rules of London from its first block on.
fn test_network(chain_id: u64, terminal: U256, deposit_contract: Address) -> ChainConfig {
    let mut config = ChainConfig {
        chain_id,
        dao_fork_support: true,
        terminal_total_difficulty: Some(terminal),
        deposit_contract,
        blobs: BlobSchedule::mainnet(),
        ..ChainConfig::default()
    };
    for rule in BlockRule::ALL {
        let is_glacier = matches!(rule, BlockRule::MuirGlacier);
        if rule.first_fork().is_some_and(|fork| fork <= Fork::London) && !is_glacier {
            config = config.with_block(rule, 0);
        }
    }
    config
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terminal_difficulty_of_the_main_network_has_its_digits() {
        assert_eq!(MAINNET_TERMINAL.to_string(), "58750000000000000000000");
    }

    #[test]
    fn a_development_chain_has_no_later_fork() {
        let config = ChainConfig::development(31337, Fork::London);
        assert_eq!(config.block(BlockRule::London), Some(0));
        assert_eq!(config.block(BlockRule::Dao), None);
        assert_eq!(config.block(BlockRule::ArrowGlacier), None);
        assert_eq!(config.terminal_total_difficulty, None);
        let config = ChainConfig::development(31337, Fork::Prague);
        assert_eq!(config.time(Fork::Prague), Some(0));
        assert_eq!(config.time(Fork::Osaka), None);
        assert_eq!(config.terminal_total_difficulty, Some(U256::ZERO));
    }
}
