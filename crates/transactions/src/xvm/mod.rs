//! Transactions of the asset VM: one file per type, the [`UnsignedTx`] that is any of them, and the signed [`Tx`]. A
//! [`Block`] holds them.

mod base;
mod block;
mod create_asset;
mod export;
mod import;
pub mod json;
mod operation;
mod tx;
mod unsigned;

pub use base::{BaseTx, MAX_MEMO_LEN};
pub use block::Block;
pub use create_asset::{CreateAssetTx, InitialState};
pub use export::ExportTx;
pub use import::ImportTx;
pub use operation::{Operation, OperationTx};
pub use tx::Tx;
pub use unsigned::UnsignedTx;
