//! The block of another node on which the EVM chain began, for people.

use esker_fork::{Fork, Trust};

/// The block of another node on which the EVM chain began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkedBlock {
    /// The source, without credentials and keys; `None` where the chain runs without one.
    pub url: Option<String>,
    /// The chain's ID there.
    pub chain_id: u64,
    /// The height.
    pub number: u64,
    /// The hash.
    pub hash: String,
    /// The base fee, wei; 0 if it has none.
    pub base_fee: u64,
    /// Whether values are proved against the state root of the block; else they are the source's word.
    pub is_proven: bool,
}

impl ForkedBlock {
    pub(crate) fn of(fork: &Fork) -> Self {
        let pin = fork.pin();
        Self {
            url: fork.url(),
            chain_id: pin.chain_id,
            number: pin.header.number,
            hash: pin.hash.to_string(),
            base_fee: pin.header.base_fee.unwrap_or_default().saturating_to(),
            is_proven: *fork.trust() == Trust::Proven,
        }
    }
}
