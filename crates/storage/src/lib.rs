//! The node's store: one ordered key space for all chains, shared memory and keystore, so that one write can change
//! several of them atomically.
//!
//! - [`KvStore`], [`KvRead`], [`KvWrite`]: the interface of a store. [`LmdbStore`] is on disk, [`MemoryStore`] in
//!   memory, [`FailingStore`] makes either fail on demand.
//! - [`WriteSet`] is a set of changes; [`PendingWrites`] collects one and reads its own writes, [`Overlay`] reads through
//!   sets that are not committed yet.
//! - [`Table`] and [`Scope`]: typed tables; every crate lists its own in one file.
//! - [`Writer`]: the one thread that writes; [`Store`] is a store with its writer. While the disk is full or fails,
//!   writes are refused with a [`WriteRefusal`] and reads go on.
//! - [`meta`]: opening a data folder, and the records that describe it.
//!
//! It never blocks a reader for a writer, never holds a snapshot by itself, and does not interpret values.

mod abandoned;
pub mod audit;
mod check;
mod codec;
mod error;
mod failing;
mod folder;
mod inverse;
mod kv;
mod lmdb;
mod long_read;
mod memory;
mod merge;
pub mod meta;
mod overlay;
mod readers;
mod refusal;
mod rows;
mod scope;
mod store;
mod table;
mod write_set;
mod writer;

pub use codec::{KeyCodec, ValueCodec};
pub use error::{StorageError, StorageResult};
pub use failing::{FailPoint, FailingStore};
pub use kv::{CopyProgress, KvStore, StoreSpace};
pub use lmdb::{FileSpace, LmdbStore};
pub use long_read::GrowthLimit;
pub use memory::MemoryStore;
pub use overlay::{Overlay, PendingWrites};
pub use refusal::WriteRefusal;
pub use rows::{Entry, KvRead, KvWrite, MAX_KEY_LEN, Visitor};
pub use scope::Scope;
pub use store::Store;
pub use table::Table;
pub use write_set::WriteSet;
pub use writer::{QueuedCommit, RetryPolicy, Writer};
