//! Snapshots of the state over HTTP (docs/protocol/snapshot.md, "Records").

mod client;
mod join;
mod progress;
mod record;
mod serve;
mod status;

pub use client::SnapshotSource;
pub use join::{Joined, SnapshotJoin};
pub use record::{
    SNAPSHOT_VERSION, SnapshotHello, SnapshotRecord, SnapshotRecordReader, SnapshotTotals,
};
pub use serve::{SnapshotLimits, SnapshotOpenError, SnapshotServer, SnapshotStream};
pub use status::{JoinStatus, JoinStatusCell};

/// Path of the snapshot.
const PATH: &str = "/ext/sync/snapshot";
