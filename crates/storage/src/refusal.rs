//! Temporary refusals of writes.

/// The reason why the store temporarily refuses writes, although it can be read. Clients see the texts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteRefusal {
    /// The disk, or the user's share of it, is full.
    #[error("insufficient disk space")]
    DiskFull,
    /// The store has reached its map size, in bytes.
    #[error(
        "insufficient disk space: the store has reached its limit of {0} bytes (store-map-size)"
    )]
    MapFull(u64),
    /// The file system is mounted read-only.
    #[error("the disk is read-only")]
    ReadOnly,
    /// Any other error of the system, with its text.
    #[error("the disk does not take writes: {0}")]
    Device(String),
}
