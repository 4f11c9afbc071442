//! Settings of a chain.

use std::sync::Arc;

use esker_keystore::Keystore;

use crate::pool::MempoolLimits;
use crate::takeover::Takeover;

/// Settings of one chain.
#[derive(Clone, Debug)]
pub struct XvmConfig {
    /// Fee of every transaction but those that create assets, in the fee asset's smallest unit.
    pub tx_fee: u64,
    /// Fee of creating an asset.
    pub create_asset_tx_fee: u64,
    /// Whether transactions are listed by address (`index-transactions`;
    /// docs/decisions.md, "Transactions by address").
    pub index_transactions: bool,
    /// Limits of the pool.
    pub mempool: MempoolLimits,
    /// Users whose keys the methods that sign use; without it they know no user.
    pub keystore: Arc<Keystore>,
    /// What the chain takes over from another network's chain at its beginning, or took over.
    pub takeover: Option<Arc<Takeover>>,
}

impl Default for XvmConfig {
    /// The fees of the reference's local network; the index is on.
    fn default() -> Self {
        Self {
            tx_fee: 1_000_000,
            create_asset_tx_fee: 1_000_000,
            index_transactions: true,
            mempool: MempoolLimits::default(),
            keystore: Keystore::disabled(),
            takeover: None,
        }
    }
}
