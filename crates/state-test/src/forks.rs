//! The names of forks in state tests.

use esker_evm_execution::rules::{
    BaseFeeUse, BlobLimits, ExecutionRules, NativeAsset, Revision, StorageKeys,
};

/// Names of forks and their revisions, oldest first.
pub const REVISIONS: &[(&str, Revision)] = &[
    ("Frontier", Revision::Frontier),
    ("Homestead", Revision::Homestead),
    ("EIP150", Revision::TangerineWhistle),
    ("EIP158", Revision::SpuriousDragon),
    ("Byzantium", Revision::Byzantium),
    ("Constantinople", Revision::Constantinople),
    ("ConstantinopleFix", Revision::Petersburg),
    ("Istanbul", Revision::Istanbul),
    ("Berlin", Revision::Berlin),
    ("London", Revision::London),
    ("Merge", Revision::Paris),
    ("Paris", Revision::Paris),
    ("Shanghai", Revision::Shanghai),
    ("Cancun", Revision::Cancun),
    ("Prague", Revision::Prague),
    ("Osaka", Revision::Osaka),
];

/// The revision of a fork's name; `None` for transitions and unknown forks.
pub(crate) fn revision(name: &str) -> Option<Revision> {
    REVISIONS.iter().find(|(known, _)| *known == name).map(|(_, revision)| *revision)
}

/// Ethereum's rules of a revision. `blobs` replaces the usual limits of blobs.
pub(crate) fn rules(revision: Revision, blobs: Option<BlobLimits>) -> ExecutionRules {
    ExecutionRules {
        revision,
        native_asset: NativeAsset::Absent,
        warp: false,
        storage_keys: StorageKeys::Whole,
        reserves_addresses: false,
        base_fee: BaseFeeUse::Burnt,
        refunds: true,
        blobs: usual_blobs(revision).map(|usual| BlobLimits {
            max_a_transaction: usual.max_a_transaction,
            ..blobs.unwrap_or(usual)
        }),
    }
}

fn usual_blobs(revision: Revision) -> Option<BlobLimits> {
    let limits = |target, max, update_fraction, max_a_transaction| {
        Some(BlobLimits { target, max, update_fraction, max_a_transaction })
    };
    match revision {
        Revision::Osaka => limits(6, 9, 5_007_716, Some(6)),
        Revision::Prague => limits(6, 9, 5_007_716, None),
        Revision::Cancun => limits(3, 6, 3_338_477, None),
        _ => None,
    }
}
