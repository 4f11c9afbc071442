//! How many transactions the pool dropped and refused, by reason.

use esker_chain::{PoolFigures, ReasonCounters};

use super::PoolError;
use crate::chain::SubmitError;

/// Why a transaction left the pool without being accepted, in figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DropKind {
    /// Another one that consumes the same pays more.
    Replaced,
    /// The pool was full, and another one pays more.
    Outbid,
    /// It became invalid.
    Invalid,
    /// A block that consumes the same was accepted.
    Conflict,
    /// It was refused when a start read it back.
    Restart,
    /// The node that decides did not take it.
    Source,
}

impl DropKind {
    /// In the order of the variants.
    const LABELS: [&str; 6] = ["replaced", "outbid", "invalid", "conflict", "restart", "source"];

    /// Why a transaction of an abandoned block does not wait again.
    pub(super) const fn of_return(error: &PoolError) -> Self {
        match error {
            PoolError::Amount(_) => Self::Invalid,
            PoolError::Conflict { .. } | PoolError::Undecided(_) => Self::Replaced,
            PoolError::FeeTooLow { .. } | PoolError::TooMany => Self::Outbid,
        }
    }
}

/// Names of the refusals.
const REFUSALS: [&str; 8] = [
    "too_long",
    "gas_limit",
    "invalid",
    "conflict",
    "underpriced",
    "full",
    "outdated",
    "not_forwarded",
];

/// The place of a refusal among [`REFUSALS`]; `None`: the node failed, and no rule.
const fn refusal(error: &SubmitError) -> Option<usize> {
    Some(match error {
        SubmitError::TooLong(_) => 0,
        SubmitError::TooMuchGas(_) => 1,
        SubmitError::Invalid(_) | SubmitError::Pool(PoolError::Amount(_)) => 2,
        SubmitError::Pool(PoolError::Conflict { .. } | PoolError::Undecided(_)) => 3,
        SubmitError::Pool(PoolError::FeeTooLow { .. }) => 4,
        SubmitError::Pool(PoolError::TooMany) => 5,
        SubmitError::Outdated => 6,
        SubmitError::Forward(_) => 7,
        SubmitError::Fees(_) | SubmitError::State(_) => return None,
    })
}

/// The counters of a pool.
#[derive(Debug)]
pub(super) struct PoolCounters {
    dropped: ReasonCounters<{ DropKind::LABELS.len() }>,
    refused: ReasonCounters<{ REFUSALS.len() }>,
}

impl PoolCounters {
    pub(super) const fn new() -> Self {
        Self {
            dropped: ReasonCounters::new(&DropKind::LABELS),
            refused: ReasonCounters::new(&REFUSALS),
        }
    }

    pub(super) fn count_dropped(&self, kind: DropKind) {
        self.dropped.count(kind as usize);
    }

    pub(super) fn count_refused(&self, error: &SubmitError) {
        if let Some(reason) = refusal(error) {
            self.refused.count(reason);
        }
    }

    pub(super) fn figures(&self) -> PoolFigures {
        PoolFigures { dropped: self.dropped.figures(), refused: self.refused.figures() }
    }
}
