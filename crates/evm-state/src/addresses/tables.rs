//! The tables of the index, with the tags 0x5b and 0x5c of the chain's scope.

use esker_storage::Table;

use super::places::TxPlaces;

/// An address as a key.
pub type AddressKey = [u8; 20];

/// Transactions that touched an account, by the account and the height of their block.
pub const ADDRESS_TXS: Table<(AddressKey, u64), TxPlaces> =
    Table::new(0x5b, "transactions of address");
/// Height of the first block from which on all blocks are in the index, in one row. Without it no block is.
pub const ADDRESS_START: Table<(), u64> = Table::new(0x5c, "start of addresses");
