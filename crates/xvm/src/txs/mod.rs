//! Transactions: one file per type, the [`UnsignedTx`] that is any of them, the signed [`Tx`].

mod base;
mod create_asset;
mod export;
mod import;
mod operation;
mod tx;
mod unsigned;

pub use base::{BaseTx, MAX_MEMO_LEN};
pub use create_asset::{CreateAssetTx, InitialState};
pub use export::ExportTx;
pub use import::ImportTx;
pub use operation::{Operation, OperationTx};
pub use tx::Tx;
pub use unsigned::UnsignedTx;
