//! The rules of code and transactions in a block of each fork.

use alloy_eips::eip7594::MAX_BLOBS_PER_TX_FUSAKA;
use esker_evm_execution::rules::{
    BaseFeeUse, BlobLimits, ExecutionRules, NativeAsset, Revision, StorageKeys,
};

use crate::forks::{ChainConfig, Fork};

/// The rules of execution in a block.
pub fn execution_rules(config: &ChainConfig, fork: Fork) -> ExecutionRules {
    ExecutionRules {
        revision: revision(fork),
        native_asset: NativeAsset::Absent,
        warp: false,
        storage_keys: StorageKeys::Whole,
        reserves_addresses: false,
        base_fee: BaseFeeUse::Burnt,
        refunds: true,
        blobs: blob_limits(config, fork),
        limits: config.limits,
    }
}

fn blob_limits(config: &ChainConfig, fork: Fork) -> Option<BlobLimits> {
    let params = config.blobs.at(fork)?;
    Some(BlobLimits {
        target: params.target,
        max: params.max,
        update_fraction: params.update_fraction,
        max_a_transaction: (fork >= Fork::Osaka).then_some(MAX_BLOBS_PER_TX_FUSAKA),
    })
}

/// The instruction set and gas table of a fork.
pub const fn revision(fork: Fork) -> Revision {
    match fork {
        Fork::Frontier => Revision::Frontier,
        Fork::Homestead => Revision::Homestead,
        Fork::TangerineWhistle => Revision::TangerineWhistle,
        Fork::SpuriousDragon => Revision::SpuriousDragon,
        Fork::Byzantium => Revision::Byzantium,
        Fork::Constantinople => Revision::Constantinople,
        Fork::Petersburg => Revision::Petersburg,
        Fork::Istanbul | Fork::MuirGlacier => Revision::Istanbul,
        Fork::Berlin => Revision::Berlin,
        Fork::London | Fork::ArrowGlacier | Fork::GrayGlacier => Revision::London,
        Fork::Paris => Revision::Paris,
        Fork::Shanghai => Revision::Shanghai,
        Fork::Cancun => Revision::Cancun,
        Fork::Prague => Revision::Prague,
        Fork::Osaka
        | Fork::Bpo1
        | Fork::Bpo2
        | Fork::Bpo3
        | Fork::Bpo4
        | Fork::Bpo5
        | Fork::Amsterdam => Revision::Osaka,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_follow_the_forks() {
        assert!(Fork::ALL.map(revision).is_sorted());
        for wanted in Revision::ALL {
            assert!(Fork::ALL.map(revision).contains(&wanted), "{wanted:?}");
        }
    }

    #[test]
    fn blobs_are_limited_from_cancun_on() {
        let config = ChainConfig::mainnet();
        let limits = |fork| execution_rules(&config, fork).blobs;
        assert_eq!(limits(Fork::Shanghai), None);
        let prague = limits(Fork::Prague).unwrap();
        assert_eq!((prague.target, prague.max, prague.max_a_transaction), (6, 9, None));
        let bpo2 = limits(Fork::Bpo2).unwrap();
        assert_eq!((bpo2.target, bpo2.max, bpo2.max_a_transaction), (14, 21, Some(6)));
    }
}
