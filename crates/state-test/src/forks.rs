//! The names of forks in state tests.

use esker_ethereum::execution::execution_rules;
use esker_ethereum::forks::{ChainConfig, Fork};
use esker_evm_execution::rules::{BlobLimits, ExecutionRules};

/// Names of forks, oldest first.
pub const FORKS: &[(&str, Fork)] = &[
    ("Frontier", Fork::Frontier),
    ("Homestead", Fork::Homestead),
    ("EIP150", Fork::TangerineWhistle),
    ("EIP158", Fork::SpuriousDragon),
    ("Byzantium", Fork::Byzantium),
    ("Constantinople", Fork::Constantinople),
    ("ConstantinopleFix", Fork::Petersburg),
    ("Istanbul", Fork::Istanbul),
    ("Berlin", Fork::Berlin),
    ("London", Fork::London),
    ("Merge", Fork::Paris),
    ("Paris", Fork::Paris),
    ("Shanghai", Fork::Shanghai),
    ("Cancun", Fork::Cancun),
    ("Prague", Fork::Prague),
    ("Osaka", Fork::Osaka),
];

/// The fork of a name; `None` for transitions and unknown forks.
pub(crate) fn fork(name: &str) -> Option<Fork> {
    FORKS.iter().find(|(known, _)| *known == name).map(|(_, fork)| *fork)
}

/// Ethereum's rules of a fork. `blobs` replaces the usual limits of blobs.
pub(crate) fn rules(fork: Fork, blobs: Option<BlobLimits>) -> ExecutionRules {
    let rules = execution_rules(&ChainConfig::development(1, fork), fork);
    let limits = |usual: BlobLimits| BlobLimits {
        max_a_transaction: usual.max_a_transaction,
        ..blobs.unwrap_or(usual)
    };
    ExecutionRules { blobs: rules.blobs.map(limits), ..rules }
}
