//! How many transactions the chain's pool dropped and refused, by reason.

use esker_chain::{PoolFigures, ReasonCounters};

use crate::issue::IssueError;
use crate::mempool::MempoolError;

/// Why a waiting transaction was rejected, in figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RejectKind {
    /// A block that consumes the same was accepted, or its own one was abandoned and one that waits consumes the same.
    Conflict,
    /// Its block was abandoned, and the pool has no room for it.
    Full,
    /// It became invalid, or one whose outputs it spends did.
    Invalid,
    /// The pool did not take it when its turn came in the wallet's queue.
    Wallet,
    /// It was refused when a start read it back.
    Restart,
    /// The node that decides did not take it.
    Source,
}

impl RejectKind {
    /// In the order of the variants.
    const LABELS: [&str; 6] = ["conflict", "full", "invalid", "wallet", "restart", "source"];

    /// Why a transaction of an abandoned block does not wait again.
    pub(crate) const fn of_return(error: &MempoolError) -> Self {
        match error {
            MempoolError::Conflict(_) => Self::Conflict,
            MempoolError::Full { .. } | MempoolError::TooLarge { .. } => Self::Full,
        }
    }
}

/// Names of the refusals.
const REFUSALS: [&str; 8] = [
    "undecodable",
    "refused_before",
    "invalid",
    "too_large",
    "full",
    "conflict",
    "wallet_full",
    "not_forwarded",
];

/// The place of a refusal among [`REFUSALS`]; `None`: the store failed, and no rule.
const fn refusal(error: &IssueError) -> Option<usize> {
    Some(match error {
        IssueError::Codec(_) => 0,
        IssueError::RefusedBefore(_) => 1,
        IssueError::Verify(_) => 2,
        IssueError::Mempool(MempoolError::TooLarge { .. }) => 3,
        IssueError::Mempool(MempoolError::Full { .. }) => 4,
        IssueError::Mempool(MempoolError::Conflict(_)) => 5,
        IssueError::WalletFull(_) => 6,
        IssueError::Forward(_) => 7,
        IssueError::Storage(_) => return None,
    })
}

/// The counters of a chain.
#[derive(Debug)]
pub(crate) struct PoolCounters {
    dropped: ReasonCounters<{ RejectKind::LABELS.len() }>,
    refused: ReasonCounters<{ REFUSALS.len() }>,
}

impl PoolCounters {
    pub(crate) const fn new() -> Self {
        Self {
            dropped: ReasonCounters::new(&RejectKind::LABELS),
            refused: ReasonCounters::new(&REFUSALS),
        }
    }

    pub(crate) fn count_rejected(&self, kind: RejectKind) {
        self.dropped.count(kind as usize);
    }

    pub(crate) fn count_refused(&self, error: &IssueError) {
        if let Some(reason) = refusal(error) {
            self.refused.count(reason);
        }
    }

    pub(crate) fn figures(&self) -> PoolFigures {
        PoolFigures { dropped: self.dropped.figures(), refused: self.refused.figures() }
    }
}
