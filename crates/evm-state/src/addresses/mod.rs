//! The index of addresses: which transactions touched an account.
//!
//! A row lists the transactions of one block that touched one account, so a page of an account's history is a scan of
//! neighbouring rows, however long the history is. The rows of a block are part of its write set, as those that locate
//! its transactions: a rewind takes them back with the block. No state root depends on them.
//!
//! The index is complete from the height in [`tables::ADDRESS_START`] on. It has no rows of blocks that the node never
//! executed (those of a snapshot, and those before a fork), nor of blocks that were accepted while the index was off.

mod page;
mod places;
pub mod tables;
mod write;

pub use page::{AddressPage, AddressQuery, BlockPlaces, find};
pub use places::TxPlaces;
pub use write::write_addresses;
