//! Finding the blocks that may hold a log, without looking at each.
//!
//! Every header has a bloom filter of 2,048 bits over the addresses and topics of its block's logs. The filters of
//! [`SECTION`] blocks are stored transposed: each bit of the filter has a row of 4,096 bits, one for each block, and
//! a further row says which blocks have logs. A look-up of one address then reads four rows for 4,096 blocks, and
//! only one row of a section without logs. Empty rows are not written, and rows with few bits are short, so quiet
//! blocks cost nothing. At worst a section takes 1 MiB.
//!
//! The rows of a section are written with the block that completes it, which adds some 20 ms to one commit in 4,096
//! on a busy chain (docs/performance.md). Coarser blooms (of 16, 256 and 4,096 blocks) would write less at a time.
//! But if every block has logs, they soon consist of ones and skip nothing. Blooms of blocks after the last complete
//! section are kept in memory, at most 1 MiB.

mod index;
mod query;
mod row;
mod section;
pub mod tables;

pub use index::{BackfillProgress, LogCandidates, LogIndex, RewoundTail, write_section};
pub use query::LogQuery;
pub use row::{Row, SECTION};
