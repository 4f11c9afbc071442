//! The parts of a header's extra data.

use super::fortuna::STATE_BYTES;
use super::phase::{Phase, PhaseRules};
use super::window::WINDOW_BYTES;

/// Predicate results of a block without predicates: codec version 0, an empty map.
const NO_PREDICATE_RESULTS: [u8; 6] = [0; 6];

/// Length of the part that fees depend on. Predicate results follow it, if the phase has them.
pub(super) fn extra_prefix_length(phase: &PhaseRules) -> usize {
    if phase.at_least(Phase::Fortuna) { STATE_BYTES } else { WINDOW_BYTES }
}

/// Predicate results of a block without predicates; `None` if the phase has no predicates.
pub(super) fn no_predicate_results(phase: &PhaseRules) -> Option<&'static [u8]> {
    phase.execution.warp.then_some(&NO_PREDICATE_RESULTS)
}
