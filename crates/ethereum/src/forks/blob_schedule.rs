//! Parameters of blob gas by fork (EIP-7691, EIP-7840, EIP-7892).

use alloy_eips::eip4844::{BLOB_TX_MIN_BLOB_GASPRICE, DATA_GAS_PER_BLOB, fake_exponential};

use super::fork::Fork;

/// Parameters of blob gas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobParams {
    /// Blobs of a block at which the price stays.
    pub target: u64,
    /// Most blobs of a block.
    pub max: u64,
    /// How slowly the price moves.
    pub update_fraction: u64,
}

impl BlobParams {
    /// Cancun.
    pub const CANCUN: Self = Self { target: 3, max: 6, update_fraction: 3_338_477 };
    /// Prague and Osaka.
    pub const PRAGUE: Self = Self { target: 6, max: 9, update_fraction: 5_007_716 };
    /// The first change of blob parameters.
    pub const BPO1: Self = Self { target: 10, max: 15, update_fraction: 8_346_193 };
    /// The second change of blob parameters.
    pub const BPO2: Self = Self { target: 14, max: 21, update_fraction: 11_684_671 };

    /// Most blob gas of a block.
    pub const fn max_gas(&self) -> u64 {
        self.max.saturating_mul(DATA_GAS_PER_BLOB)
    }

    /// Blob gas of a block at which the price stays.
    pub const fn target_gas(&self) -> u64 {
        self.target.saturating_mul(DATA_GAS_PER_BLOB)
    }

    /// Wei of one unit of blob gas. A price beyond 128 bits is the highest number of that size.
    pub fn base_fee(&self, excess_blob_gas: u64) -> u128 {
        let fraction = u128::from(self.update_fraction.max(1));
        fake_exponential(BLOB_TX_MIN_BLOB_GASPRICE, excess_blob_gas.into(), fraction)
    }

    /// What is wrong with parameters of a configuration.
    pub(super) fn fault(&self) -> Option<&'static str> {
        (self.update_fraction == 0).then_some("update fraction must be defined and non-zero")
    }
}

/// Parameters of blob gas by fork.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlobSchedule([Option<BlobParams>; Fork::TIMED.len()]);

impl BlobSchedule {
    /// That of the public networks.
    pub fn mainnet() -> Self {
        let mut schedule = Self::default();
        schedule.set(Fork::Cancun, BlobParams::CANCUN);
        schedule.set(Fork::Prague, BlobParams::PRAGUE);
        schedule.set(Fork::Osaka, BlobParams::PRAGUE);
        schedule.set(Fork::Bpo1, BlobParams::BPO1);
        schedule.set(Fork::Bpo2, BlobParams::BPO2);
        schedule
    }

    /// The parameters of exactly this fork.
    pub fn get(&self, fork: Fork) -> Option<&BlobParams> {
        self.0[fork.timed_index()?].as_ref()
    }

    /// Sets the parameters of a fork. A fork without blobs has none.
    pub fn set(&mut self, fork: Fork, params: BlobParams) {
        if let Some(index) = fork.timed_index() {
            self.0[index] = Some(params);
        }
    }

    /// The parameters that apply under a fork: its own, or those of the one before it. `None` before Cancun.
    pub fn at(&self, fork: Fork) -> Option<BlobParams> {
        if fork < Fork::Cancun {
            return None;
        }
        self.0[..=fork.timed_index()?].iter().rev().find_map(|params| *params)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of go-ethereum's tests.
    #[test]
    fn prices_are_known() {
        for (excess, price) in [
            (0, 1),
            (2_314_057, 1),
            (2_314_058, 2),
            (10 * 1024 * 1024, 23),
            (148_099_578, 18_446_739_238_971_471_609),
        ] {
            assert_eq!(BlobParams::CANCUN.base_fee(excess), price);
        }
        assert_eq!(BlobParams::PRAGUE.base_fee(299_453_931), 93_359_993_185_840_258_978_230_108);
        assert_eq!(BlobParams::PRAGUE.base_fee(u64::MAX), u128::MAX);
        let none = BlobParams { update_fraction: 0, ..BlobParams::CANCUN };
        assert_eq!(none.base_fee(u64::MAX), u128::MAX);
    }

    #[test]
    fn parameters_stay_until_the_next_fork_that_has_some() {
        let mut schedule = BlobSchedule::default();
        schedule.set(Fork::Cancun, BlobParams::CANCUN);
        schedule.set(Fork::Bpo2, BlobParams::BPO2);
        schedule.set(Fork::London, BlobParams::BPO1);
        schedule.set(Fork::Shanghai, BlobParams::BPO1);
        assert_eq!(schedule.at(Fork::Paris), None);
        assert_eq!(schedule.at(Fork::Shanghai), None);
        assert_eq!(schedule.at(Fork::Bpo1), Some(BlobParams::CANCUN));
        assert_eq!(schedule.at(Fork::Bpo5), Some(BlobParams::BPO2));
    }
}
