//! Read transactions that last: while one is open, the space of overwritten rows is not used again.

use crate::error::{StorageError, StorageResult};
use crate::kv::KvStore;

/// Bytes by which a store's file may grow meanwhile, or its size at the beginning if that is more.
const MAX_GROWTH: u64 = 4 << 30;
/// Bytes above the reserve of the disk that are left for the writes of the store.
const GROWTH_ROOM: usize = 1 << 20;

/// The limit of a store's growth while a long read lasts.
#[derive(Clone, Copy, Debug)]
pub struct GrowthLimit(u64);

impl GrowthLimit {
    /// From the size of the store now.
    pub fn for_store(store: &dyn KvStore) -> StorageResult<Self> {
        Ok(Self::from_size(store.size_on_disk()?))
    }

    fn from_size(size: u64) -> Self {
        Self(size.saturating_add(size.max(MAX_GROWTH)))
    }

    /// Whether the read may go on; `reader` names it.
    ///
    /// # Errors
    /// The store has grown too much, or has too little room.
    pub fn check(&self, store: &dyn KvStore, reader: &str) -> StorageResult<()> {
        self.check_size(store.size_on_disk()?, reader)?;
        // Before the growth suspends the writes of the store.
        store.check_room(GROWTH_ROOM)
    }

    fn check_size(&self, size: u64, reader: &str) -> StorageResult<()> {
        let limit = self.0;
        if size <= limit {
            return Ok(());
        }
        Err(StorageError::Cancelled(format!(
            "the store has grown to {size} bytes during the {reader}, more than {limit}: try again with less load or a faster disk"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_doubles_ends_a_long_read() {
        let gib = 1 << 30;
        assert_eq!(GrowthLimit::from_size(gib).0, 5 * gib);
        assert_eq!(GrowthLimit::from_size(100 * gib).0, 200 * gib);
        assert_eq!(GrowthLimit::from_size(u64::MAX).0, u64::MAX);
        let limit = GrowthLimit(5 * gib);
        limit.check_size(5 * gib, "backup").unwrap();
        let error = limit.check_size(5 * gib + 1, "backup").unwrap_err().to_string();
        assert!(
            error.starts_with("the store has grown to 5368709121 bytes during the backup"),
            "{error}"
        );
    }
}
