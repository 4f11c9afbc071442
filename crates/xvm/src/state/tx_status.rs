//! The status of a transaction (docs/decisions.md, "Transaction status").

/// The status of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TxStatus {
    /// In an accepted block, or a genesis asset.
    Accepted,
    /// In the mempool, in the wallet's queue, or in a block that is being decided on.
    Processing,
    /// This node had accepted it into its pool and later rejected it.
    Rejected {
        /// Why.
        reason: String,
    },
    /// None of these.
    Unknown,
}
