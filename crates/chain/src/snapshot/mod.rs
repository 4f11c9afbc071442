//! Snapshots of the state: how a new follower gets the state at a final bundle without the blocks before it
//! (docs/protocol/snapshot.md, "Records").
//!
//! * [`SnapshotReader`] gives the blocks and rows of a snapshot out of one view of the source's store.
//! * [`SnapshotTarget`] is the empty store of a follower; [`Restore`] checks what arrives and writes it.
//! * [`PartSnapshot`] and [`ChainSnapshot`]: what each chain, and shared memory, knows of its own rows.
//!
//! This module knows no transport: `esker-follow` has it.

mod page;
mod part;
mod reader;
mod restore;
mod rows_hash;
mod target;

pub use self::page::{Page, PageBuilder};
pub use self::part::{
    ChainSnapshot, PartRestore, PartSnapshot, RestoreError, SnapshotBlock, SnapshotTable,
};
pub use self::reader::{SnapshotItem, SnapshotReader, SnapshotRefusal};
pub use self::restore::Restore;
pub use self::target::{SnapshotTarget, check_finished, is_unfinished};

/// Most blocks of a chain in a snapshot.
pub const MAX_BLOCKS: u64 = 256;
