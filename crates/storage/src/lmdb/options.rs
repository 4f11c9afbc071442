//! Options for opening a data folder.

/// Options for opening a data folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenOptions {
    /// Address space to reserve, in bytes: the database never grows beyond it.
    pub map_size: u64,
    /// Whether each commit is on the disk before it returns. Without it, a killed process loses nothing, but a power
    /// cut can destroy the database.
    pub durable: bool,
    /// Bytes that stay free on the disk, or a 32nd of it if that is less. A write that would leave less is refused,
    /// so that the node can still write other files. 0 disables the reserve.
    pub disk_reserve: u64,
}

impl OpenOptions {
    /// 1 TiB, durable, 16 MiB of the disk in reserve.
    pub const PRODUCTION: Self = Self { map_size: 1 << 40, durable: true, disk_reserve: 16 << 20 };
    /// 1 GiB, not durable: for tests and temporary folders.
    pub const TEST: Self = Self { map_size: 1 << 30, durable: false, disk_reserve: 0 };
}
