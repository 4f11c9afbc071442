//! The chain's stored state: its tables, typed reads over any reader, and the views that services use.

mod address_txs;
mod chain_state;
pub(crate) mod index;
pub(crate) mod index_row;
mod page;
pub mod raw;
pub mod tables;
mod tx_status;
mod view;

pub use address_txs::{AddressTxsError, MAX_ADDRESS_TXS_PAGE};
pub use chain_state::ChainState;
pub use index::IndexProgress;
pub use page::{MAX_UTXO_PAGE, PageEnd, PageStart};
pub use tx_status::TxStatus;
pub use view::{AssetBalances, Balance, BalanceError, View};
