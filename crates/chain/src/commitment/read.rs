//! Reading the stored commitment.

use esker_primitives::ChainId;
use esker_storage::{KvRead, Scope, StorageResult};

use super::{StatePart, StateSummary};
use crate::tables::{STATE, STATE_PARTS};

impl StatePart {
    /// A part as it is stored; empty if the store has no row of it.
    pub fn read(reader: &dyn KvRead, part: &ChainId) -> StorageResult<Self> {
        Ok(STATE_PARTS.get(reader, Scope::NODE, part.as_bytes())?.unwrap_or_default())
    }
}

impl StateSummary {
    /// The stored summary; `None` if the store was made by a version without commitments.
    pub fn read(reader: &dyn KvRead) -> StorageResult<Option<Self>> {
        STATE.get(reader, Scope::NODE, &())
    }
}
