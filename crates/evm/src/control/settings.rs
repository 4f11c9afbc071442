//! The settings of the controls.

use std::collections::{BTreeSet, HashSet};

use alloy_primitives::Address;
use esker_evm_execution::rules::HeaderTerms;
use esker_primitives::ShortId;

use super::intervals::Interval;

/// Settings of the controls of a chain. They stay until they are changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ControlSettings {
    pub(super) automine: bool,
    /// Interval of blocks at regular times.
    pub(super) interval: Option<Interval>,
    pub(super) timestamp_interval_s: Option<u64>,
    pub(super) impersonated: HashSet<Address>,
    pub(super) impersonates_all: bool,
    /// The impersonated addresses of the chains of UTXOs, in a snapshot.
    pub(super) addresses: BTreeSet<ShortId>,
    /// Header fields that were set for the next block.
    pub(super) header: HeaderTerms,
}
