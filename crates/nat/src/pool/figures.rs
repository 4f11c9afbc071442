//! The numbers of transactions that the pool dropped and refused, by reason.

use esker_chain::{PoolFigures, ReasonCounters};

use super::PoolError;

/// The reason why a transaction left the pool without being accepted, in figures.
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

    /// The reason why a transaction of an abandoned block does not wait again.
    pub(super) const fn of_return(error: &PoolError) -> Self {
        match error {
            PoolError::Amount(_) => Self::Invalid,
            PoolError::Conflict { .. } | PoolError::Undecided(_) => Self::Replaced,
            PoolError::FeeTooLow { .. } | PoolError::TooMany => Self::Outbid,
        }
    }
}

/// The reason why a transaction was not taken, in figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefusalKind {
    /// It is longer than what a block may carry.
    TooLong,
    /// It takes more gas than a block may use.
    GasLimit,
    /// It is invalid on the last accepted state.
    Invalid,
    /// It does not pay more than one that consumes the same, or an undecided block consumes that.
    Conflict,
    /// The pool is full, and it pays no more than those in it.
    Underpriced,
    /// All places are taken by undecided blocks.
    Full,
    /// The chain moved on, again and again.
    Outdated,
    /// The node passes no transactions on, or too many already.
    NotForwarded,
}

impl RefusalKind {
    /// In the order of the variants.
    const LABELS: [&str; 8] = [
        "too_long",
        "gas_limit",
        "invalid",
        "conflict",
        "underpriced",
        "full",
        "outdated",
        "not_forwarded",
    ];
}

/// The counters of a pool.
#[derive(Debug)]
pub(super) struct PoolCounters {
    dropped: ReasonCounters<{ DropKind::LABELS.len() }>,
    refused: ReasonCounters<{ RefusalKind::LABELS.len() }>,
}

impl PoolCounters {
    pub(super) const fn new() -> Self {
        Self {
            dropped: ReasonCounters::new(&DropKind::LABELS),
            refused: ReasonCounters::new(&RefusalKind::LABELS),
        }
    }

    pub(super) fn count_dropped(&self, kind: DropKind) {
        self.dropped.count(kind as usize);
    }

    pub(super) fn count_refused(&self, kind: RefusalKind) {
        self.refused.count(kind as usize);
    }

    pub(super) fn figures(&self) -> PoolFigures {
        PoolFigures { dropped: self.dropped.figures(), refused: self.refused.figures() }
    }
}
