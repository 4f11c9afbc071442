//! Blocks and transactions of the P-Chain, as far as they are read.

mod block;
mod error;
mod fields;
mod tx;

pub use block::{Block, BlockKind};
pub use error::ParseError;
pub use tx::{Exchange, Tx, TxKind};
