//! The rows of the index. Tags 0x55 and 0x56 of the chain's scope.

use esker_storage::Table;

use super::row::Row;

/// Which blocks of a section have this bit in their bloom.
pub const LOG_ROWS: Table<(u64, u16), Row> = Table::new(0x55, "log row");
/// Sections whose log rows are there; one row.
pub const LOG_SECTIONS: Table<(), u64> = Table::new(0x56, "log sections");
