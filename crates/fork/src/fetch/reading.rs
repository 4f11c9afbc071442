//! What a fork reads from. Another source may take the place of the present one while reads are under way.

use std::sync::Arc;

use super::reader::StateReader;
use super::warm_up::WarmUps;
use crate::cache::Shared;

/// What a fork reads from, with what it has found out about it.
#[derive(Debug)]
pub(super) struct Reading {
    /// None for a fork without a source.
    pub(super) reader: Option<StateReader>,
    /// What forks of other folders and processes have read.
    pub(super) shared: Option<Arc<Shared>>,
    pub(super) warm_ups: WarmUps,
}

impl Reading {
    pub(super) fn new(reader: Option<StateReader>, shared: Option<Arc<Shared>>) -> Self {
        Self { reader, shared, warm_ups: WarmUps::default() }
    }
}
