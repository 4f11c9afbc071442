//! The excess of blob gas (EIP-4844, EIP-7918).

use alloy_consensus::Header;
use alloy_eips::eip4844::DATA_GAS_PER_BLOB;
use alloy_eips::eip7840::BLOB_BASE_COST;
use alloy_primitives::U256;

use crate::forks::{BlobParams, Fork};

/// Excess blob gas of a child with this fork and these parameters.
pub fn child_excess_blob_gas(fork: Fork, params: &BlobParams, parent: &Header) -> u64 {
    let excess = parent.excess_blob_gas.unwrap_or(0);
    let used = parent.blob_gas_used.unwrap_or(0);
    let sum = excess.saturating_add(used);
    let Some(above_target) = sum.checked_sub(params.target_gas()) else { return 0 };
    if fork >= Fork::Osaka && is_below_reserve(params, parent, excess) {
        // The execution of a blob's transaction costs more than the blob: the price does not fall (EIP-7918).
        return excess.saturating_add(scaled(used, params));
    }
    above_target
}

fn is_below_reserve(params: &BlobParams, parent: &Header, excess: u64) -> bool {
    let base_fee = U256::from(parent.base_fee_per_gas.unwrap_or(0));
    let blob_price = U256::from(DATA_GAS_PER_BLOB) * U256::from(params.base_fee(excess));
    U256::from(BLOB_BASE_COST) * base_fee > blob_price
}

/// `used * (max - target) / max`.
fn scaled(used: u64, params: &BlobParams) -> u64 {
    let room = u128::from(params.max.saturating_sub(params.target));
    let scaled = u128::from(used) * room / u128::from(params.max.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forks::ChainConfig;

    const BLOB: u64 = DATA_GAS_PER_BLOB;

    fn parent(excess: u64, blobs: u64, base_fee: u64) -> Header {
        Header {
            excess_blob_gas: Some(excess),
            blob_gas_used: Some(blobs * BLOB),
            base_fee_per_gas: Some(base_fee),
            ..Header::default()
        }
    }

    #[test]
    fn excess_is_what_lies_above_the_target() {
        let target = 3 * BLOB;
        for (excess, blobs, expected) in [
            (0, 0, 0),
            (0, 3, 0),
            (0, 4, BLOB),
            (1, 4, BLOB + 1),
            (1, 5, 2 * BLOB + 1),
            (target, 3, target),
            (target, 2, target - BLOB),
            (BLOB - 1, 2, 0),
        ] {
            let parent = parent(excess, blobs, 1_000_000_000);
            let child = child_excess_blob_gas(Fork::Cancun, &BlobParams::CANCUN, &parent);
            assert_eq!(child, expected, "{excess} {blobs}");
        }
        assert_eq!(child_excess_blob_gas(Fork::Cancun, &BlobParams::CANCUN, &Header::default()), 0);
    }

    #[test]
    fn the_price_does_not_fall_below_the_reserve_from_osaka_on() {
        let params = BlobParams::PRAGUE;
        // A unit of gas costs 1 Gwei, one of blob gas 1 wei: 8192 Gwei for the reserve, 131072 wei for the blob.
        let cheap = parent(10 * BLOB, 6, 1_000_000_000);
        assert_eq!(child_excess_blob_gas(Fork::Prague, &params, &cheap), 10 * BLOB);
        assert_eq!(child_excess_blob_gas(Fork::Osaka, &params, &cheap), 12 * BLOB);
        // 16 wei a unit of gas are as much as 1 wei a unit of blob gas.
        let even = parent(10 * BLOB, 6, 16);
        assert_eq!(child_excess_blob_gas(Fork::Osaka, &params, &even), 10 * BLOB);
        let dear = parent(10 * BLOB, 6, 17);
        assert_eq!(child_excess_blob_gas(Fork::Osaka, &params, &dear), 12 * BLOB);
        // Below the target there is no reserve.
        assert_eq!(child_excess_blob_gas(Fork::Osaka, &params, &parent(0, 5, u64::MAX)), 0);
        let full = parent(u64::MAX, 9, u64::MAX);
        assert_eq!(child_excess_blob_gas(Fork::Osaka, &params, &full), u64::MAX - 6 * BLOB);
    }

    #[test]
    fn parameters_of_a_block_follow_from_its_time() {
        let mainnet = ChainConfig::mainnet();
        let params = |time| mainnet.blobs.at(mainnet.fork_at(20_000_000, time, true));
        assert_eq!(params(1_710_338_134), None);
        assert_eq!(params(1_710_338_135), Some(BlobParams::CANCUN));
        assert_eq!(params(1_765_290_071), Some(BlobParams::BPO1));
    }
}
