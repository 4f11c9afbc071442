//! Finding the blocks that may hold a log, without looking at each.
//!
//! Every header has a bloom filter of 2,048 bits over the addresses and topics of its block's logs. Those of
//! [`SECTION`] blocks are kept turned round: for each bit one row of 4,096 bits, one for each block, and one more
//! row that says which blocks have logs at all. A look-up of one address then reads four rows for 4,096 blocks, and
//! a section without logs, one. Rows without a bit are not written, and rows with few are short, so quiet blocks
//! cost nothing; at worst a section takes 1 MiB.
//!
//! The rows of a section are written with the block that completes it, which adds some 20 ms to one commit in 4,096
//! on a busy chain (docs/performance.md). Adding up coarser blooms instead (of 16, 256 and 4,096 blocks) writes less
//! at a time, but where every block has logs they are soon full of ones and skip nothing. Blooms of blocks since the
//! last whole section are kept in memory, at most 1 MiB.

mod index;
mod query;
mod row;
mod section;
pub mod tables;

pub use index::{BackfillProgress, LogCandidates, LogIndex, RewoundTail, write_section};
pub use query::LogQuery;
pub use row::{Row, SECTION};
