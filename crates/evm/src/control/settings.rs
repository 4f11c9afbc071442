//! Settings of the controls that stay until they are changed.

use std::collections::HashSet;

use alloy_primitives::Address;
use esker_evm_execution::rules::HeaderTerms;

/// Settings of the controls of a chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ControlSettings {
    pub(super) automine: bool,
    /// Blocks at regular times, s.
    pub(super) interval_s: Option<u64>,
    pub(super) timestamp_interval_s: Option<u64>,
    pub(super) impersonated: HashSet<Address>,
    pub(super) impersonates_all: bool,
    /// What was set for the header of the next block.
    pub(super) header: HeaderTerms,
}
