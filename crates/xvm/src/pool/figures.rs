//! The numbers of transactions that the chain's pool dropped and refused, by reason.

use esker_chain::{PoolFigures, ReasonCounters};

use super::MempoolError;

/// The reason why a waiting transaction was rejected, in figures.
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

    /// The reason why a transaction of an abandoned block does not wait again.
    pub(crate) const fn of_return(error: &MempoolError) -> Self {
        match error {
            MempoolError::Conflict(_) => Self::Conflict,
            MempoolError::Full { .. } | MempoolError::TooLarge { .. } => Self::Full,
        }
    }
}

/// The reason why a transaction was not taken, in figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefusalKind {
    /// The bytes are no transaction.
    Undecodable,
    /// It was refused before, and nothing has changed since.
    RefusedBefore,
    /// A rule is broken.
    Invalid,
    /// It is longer than one transaction may be.
    TooLarge,
    /// The pool has no room.
    Full,
    /// One that waits consumes the same.
    Conflict,
    /// The wallet's queue has no room.
    WalletFull,
    /// The node passes no transactions on, or too many already.
    NotForwarded,
}

impl RefusalKind {
    /// In the order of the variants.
    const LABELS: [&str; 8] = [
        "undecodable",
        "refused_before",
        "invalid",
        "too_large",
        "full",
        "conflict",
        "wallet_full",
        "not_forwarded",
    ];
}

/// The counters of a chain.
#[derive(Debug)]
pub(crate) struct PoolCounters {
    dropped: ReasonCounters<{ RejectKind::LABELS.len() }>,
    refused: ReasonCounters<{ RefusalKind::LABELS.len() }>,
}

impl PoolCounters {
    pub(crate) const fn new() -> Self {
        Self {
            dropped: ReasonCounters::new(&RejectKind::LABELS),
            refused: ReasonCounters::new(&RefusalKind::LABELS),
        }
    }

    pub(crate) fn count_rejected(&self, kind: RejectKind) {
        self.dropped.count(kind as usize);
    }

    pub(crate) fn count_refused(&self, kind: RefusalKind) {
        self.refused.count(kind as usize);
    }

    pub(crate) fn figures(&self) -> PoolFigures {
        PoolFigures { dropped: self.dropped.figures(), refused: self.refused.figures() }
    }
}
