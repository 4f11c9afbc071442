//! Reasons, figures and log lines of dropped and refused transactions.

use alloy_primitives::{B256, U256};
use esker_chain::{DropLog, DropTables, PoolFigures, ReasonCounters};
use esker_primitives::Id;
use esker_primitives::sync::Mutex;
use esker_storage::Table;
use thiserror::Error;

use super::{PoolError, PooledTx};

/// Tables of the reasons of dropped transactions: by hash, and the hashes in order. They are in the chain's scope,
/// with tags between those of the chain's own rows.
pub static DROPPED: DropTables = DropTables {
    records: Table::new(0x58, "dropped transaction"),
    order: Table::new(0x59, "dropped transaction order"),
};

/// Time between two log lines with the number of dropped transactions, ms.
const REPORT_INTERVAL_MS: u64 = 10_000;

/// Why a transaction left the pool without being mined. Clients see the texts.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DropReason {
    /// Its sender sent another transaction with the same nonce, which pays more.
    #[error("replaced by transaction {by} with the same nonce")]
    Replaced {
        /// The other transaction.
        by: B256,
    },
    /// A full pool made room for a transaction that pays more.
    #[error("the pool is full, and transaction {by} pays more")]
    Outbid {
        /// The other transaction.
        by: B256,
    },
    /// Another transaction of the sender with this nonce was mined.
    #[error("nonce {0} was used by another transaction")]
    NonceUsed(u64),
    /// Its sender can no longer pay for it.
    #[error("insufficient funds for gas * price + value: balance {balance}, tx cost {cost}")]
    Funds {
        /// Wei.
        balance: U256,
        /// Wei.
        cost: U256,
    },
    /// The gas limit of blocks has become lower.
    #[error("exceeds block gas limit: tx gas ({gas}) > current max gas ({limit})")]
    GasLimit {
        /// Gas limit of the transaction.
        gas: u64,
        /// Gas of a block.
        limit: u64,
    },
    /// It waited too long for the transactions before it.
    #[error("queued for too long without the transactions before it")]
    Expired,
    /// Too many transactions are queued.
    #[error("too many queued transactions")]
    QueueFull,
    /// It waited when the node stopped, and was refused at the next start.
    #[error("refused after a restart: {0}")]
    Restart(String),
    /// The node that decides refused it.
    #[error("{0}")]
    Source(String),
    /// A client of a development node asked for it.
    #[error("dropped on request")]
    Request,
    /// A client of a development node set another chain ID.
    #[error("invalid chain id for signer: have {have} want {want}")]
    ChainId {
        /// Chain ID of the transaction.
        have: u64,
        /// ID of the chain.
        want: u64,
    },
}

impl DropReason {
    const LABELS: [&str; 11] = [
        "replaced",
        "outbid",
        "nonce_used",
        "funds",
        "gas_limit",
        "expired",
        "queue_full",
        "restart",
        "source",
        "request",
        "chain_id",
    ];

    const fn index(&self) -> usize {
        match self {
            Self::Replaced { .. } => 0,
            Self::Outbid { .. } => 1,
            Self::NonceUsed(_) => 2,
            Self::Funds { .. } => 3,
            Self::GasLimit { .. } => 4,
            Self::Expired => 5,
            Self::QueueFull => 6,
            Self::Restart(_) => 7,
            Self::Source(_) => 8,
            Self::Request => 9,
            Self::ChainId { .. } => 10,
        }
    }
}

/// A transaction that was dropped, and why.
#[derive(Clone, Debug)]
pub struct DroppedTx {
    /// The transaction.
    pub tx: PooledTx,
    /// Why it left.
    pub reason: DropReason,
}

/// Reasons, figures and log lines of one pool.
#[derive(Debug)]
pub(super) struct Drops {
    /// The chain's primary alias, for log lines.
    pub(super) chain: String,
    log: DropLog,
    dropped: ReasonCounters<{ DropReason::LABELS.len() }>,
    refused: ReasonCounters<{ PoolError::LABELS.len() }>,
    report: Mutex<Report>,
}

#[derive(Debug, Default)]
struct Report {
    last_ms: Option<u64>,
    since: u64,
}

impl Drops {
    pub(super) fn new() -> Self {
        Self {
            chain: String::new(),
            log: DropLog::new(&DROPPED, "evm.drops"),
            dropped: ReasonCounters::new(&DropReason::LABELS),
            refused: ReasonCounters::new(&PoolError::LABELS),
            report: Mutex::new_named("evm.drop-report", Report::default()),
        }
    }

    pub(super) const fn log(&self) -> &DropLog {
        &self.log
    }

    /// Records dropped transactions. The caller must not hold the pool's lock.
    pub(super) fn record(&self, dropped: &[DroppedTx], now_ms: u64) {
        for DroppedTx { tx, reason } in dropped {
            tracing::debug!(chain = self.chain, hash = %tx.hash(), sender = %tx.sender(), %reason, "transaction dropped");
            self.note(tx.hash(), reason, now_ms);
        }
        let count = dropped.len() as u64;
        if let Some(count) = (count > 0).then(|| self.report.lock().add(count, now_ms)).flatten() {
            tracing::info!(
                chain = self.chain,
                count,
                "the pool dropped transactions; level debug names each"
            );
        }
    }

    /// Records a dropped transaction.
    pub(super) fn note(&self, hash: B256, reason: &DropReason, now_ms: u64) {
        self.dropped.count(reason.index());
        self.log.add(Id::new(hash.0), reason.to_string(), now_ms);
    }

    /// Counts a refused transaction.
    pub(super) fn count_refused(&self, error: &PoolError) {
        self.refused.count(error.index());
    }

    pub(super) fn figures(&self) -> PoolFigures {
        PoolFigures { dropped: self.dropped.figures(), refused: self.refused.figures() }
    }
}

impl Report {
    /// The number to log now: the first call logs at once, later calls log the sum of an interval.
    fn add(&mut self, count: u64, now_ms: u64) -> Option<u64> {
        self.since = self.since.saturating_add(count);
        let is_due =
            self.last_ms.is_none_or(|last| now_ms.saturating_sub(last) >= REPORT_INTERVAL_MS);
        is_due.then(|| {
            self.last_ms = Some(now_ms);
            std::mem::take(&mut self.since)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_reported_at_once_and_then_every_ten_seconds() {
        let mut report = Report::default();
        assert_eq!(report.add(2, 5), Some(2));
        assert_eq!(report.add(3, 6), None);
        assert_eq!(report.add(4, 5 + REPORT_INTERVAL_MS), Some(7));
        assert_eq!(report.add(1, 6 + REPORT_INTERVAL_MS), None);
    }
}
