//! The parts of the base state that a run lacked.

use std::collections::BTreeSet;

use esker_primitives::sync::Mutex;

pub use esker_evm_state::not_fetched::Want;
pub(crate) use esker_evm_state::not_fetched::path_text;

/// Collects what a run lacks. Shared by the readers of one run.
#[derive(Debug, Default)]
pub struct Misses(Mutex<BTreeSet<Want>>);

impl From<BTreeSet<Want>> for Misses {
    fn from(wants: BTreeSet<Want>) -> Self {
        Self(Mutex::new(wants))
    }
}

impl Misses {
    /// Adds a part.
    pub fn add(&self, want: Want) {
        self.0.lock().insert(want);
    }

    /// Whether nothing is lacking.
    pub fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// The number of parts.
    pub fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// The parts so far; nothing is lacking afterwards.
    pub fn take(&self) -> BTreeSet<Want> {
        std::mem::take(&mut *self.0.lock())
    }
}
