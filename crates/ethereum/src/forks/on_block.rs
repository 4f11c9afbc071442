//! The configuration of a development chain that goes on from a block of another chain.

use alloy_primitives::U256;
use esker_evm_state::types::Header;

use super::config::{BlockRule, ChainConfig};
use super::fork::Fork;

/// Heights of the first blocks without proof of work, by chain ID.
const MERGES: [(u64, u64); 2] = [(1, 15_537_394), (11_155_111, 1_450_409)];

impl ChainConfig {
    /// The configuration of a public network by its chain ID.
    pub fn public(chain_id: u64) -> Option<Self> {
        Self::PUBLIC.into_iter().map(|preset| preset()).find(|known| known.chain_id == chain_id)
    }

    /// The configuration of a chain that goes on from a block of this one: what began up to that block holds from the
    /// first block on. The sum of the difficulties up to the block is not known, so the merge has a height.
    #[must_use]
    pub fn on_block(mut self, header: &Header) -> Self {
        let merge = MERGES.into_iter().find(|(chain_id, _)| *chain_id == self.chain_id);
        if header.difficulty.is_zero() {
            self.terminal_total_difficulty = Some(U256::ZERO);
        } else if let Some((_, height)) = merge {
            self.terminal_total_difficulty = None;
            self = self.with_block(BlockRule::MergeNetsplit, height);
        }
        for rule in BlockRule::ALL {
            let marks = rule == BlockRule::Dao && self.marks_dao_fork(header.number + 1);
            if self.is_active(rule, header.number) && !marks {
                self = self.with_block(rule, 0);
            }
        }
        for fork in Fork::TIMED {
            if self.time(fork).is_some_and(|begin| begin <= header.time) {
                self = self.with_time(fork, 0);
            }
        }
        self
    }

    /// Whether a header of the chain has the fields of its fork.
    pub fn fits(&self, header: &Header) -> bool {
        // The first block of a chain may have a difficulty in any case.
        let is_merged = header.difficulty.is_zero() || header.number == 0;
        let fork = self.fork_at(header.number, header.time, is_merged);
        let fields = [
            (header.base_fee.is_some(), Fork::London),
            (header.withdrawals_root.is_some(), Fork::Shanghai),
            (header.blob_gas_used.is_some(), Fork::Cancun),
            (header.requests_hash.is_some(), Fork::Prague),
        ];
        fields.into_iter().all(|(is_there, first)| is_there == (fork >= first))
    }

    /// The fork of the first block.
    pub fn first_fork(&self) -> Fork {
        self.fork_at(0, 0, self.is_merged(0, 0, U256::ZERO))
    }

    /// The last fork that is scheduled.
    pub fn last_fork(&self) -> Fork {
        self.fork_at(u64::MAX, u64::MAX, self.is_merged(u64::MAX, u64::MAX, U256::ZERO))
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::B256;

    use super::*;

    fn main_on(header: &Header) -> ChainConfig {
        let config = ChainConfig::public(1).unwrap();
        assert!(config.fits(header), "{header:?}");
        let config = config.on_block(header);
        assert!(config.fits(header) && config.check().is_ok(), "{header:?}");
        config
    }

    fn next(config: &ChainConfig, header: &Header) -> Fork {
        let number = header.number + 1;
        let is_merged = header.difficulty.is_zero()
            || config.is_merged(number, header.time + 12, header.difficulty);
        config.fork_at(number, header.time + 12, is_merged)
    }

    #[test]
    fn old_blocks_of_the_main_network_have_their_rules() {
        let work = |number| Header { number, difficulty: U256::from(9), ..Header::default() };
        let london = |number| Header { base_fee: Some(U256::ONE), ..work(number) };
        for (header, first, then) in [
            (work(1_149_998), Fork::Frontier, Fork::Frontier),
            (work(1_149_999), Fork::Frontier, Fork::Homestead),
            (work(12_243_999), Fork::MuirGlacier, Fork::Berlin),
            (work(12_964_998), Fork::Berlin, Fork::Berlin),
            (work(12_964_999), Fork::Berlin, Fork::London),
            (london(12_965_000), Fork::London, Fork::London),
            (london(15_537_392), Fork::GrayGlacier, Fork::GrayGlacier),
            (london(15_537_393), Fork::GrayGlacier, Fork::Paris),
        ] {
            let config = main_on(&header);
            assert_eq!((config.first_fork(), next(&config, &header)), (first, then));
        }
        let paris = Header { time: 1_681_338_442, difficulty: U256::ZERO, ..london(17_034_869) };
        let config = main_on(&paris);
        assert_eq!((config.first_fork(), next(&config, &paris)), (Fork::Paris, Fork::Paris));
        let paris = Header { time: 1_681_338_443, ..paris };
        assert_eq!(next(&main_on(&paris), &paris), Fork::Shanghai);
        let shanghai = Header { time: 1_700_000_000, withdrawals_root: Some(B256::ZERO), ..paris };
        let config = main_on(&shanghai);
        assert_eq!((config.first_fork(), config.last_fork()), (Fork::Shanghai, Fork::Bpo2));
    }

    #[test]
    fn the_dao_fork_keeps_its_height_while_it_marks_blocks() {
        let on = |number| {
            let header = Header { number, difficulty: U256::from(9), ..Header::default() };
            main_on(&header).block(BlockRule::Dao)
        };
        assert_eq!(on(1_919_999), Some(1_920_000));
        assert_eq!(on(1_920_008), Some(1_920_000));
        assert_eq!(on(1_920_009), Some(0));
    }

    #[test]
    fn a_header_of_another_chain_does_not_fit() {
        let header = Header { number: 5, base_fee: Some(U256::ONE), ..Header::default() };
        assert!(!ChainConfig::public(1).unwrap().fits(&header));
        assert!(ChainConfig::public(31337).is_none());
    }
}
