//! The tables of the index, with the tags 0x55 and 0x56 of the chain's scope.

use esker_storage::Table;

use super::row::Row;

/// The blocks of a section whose bloom has a bit.
pub const LOG_ROWS: Table<(u64, u16), Row> = Table::new(0x55, "log row");
/// Number of sections with log rows, in one row.
pub const LOG_SECTIONS: Table<(), u64> = Table::new(0x56, "log sections");
