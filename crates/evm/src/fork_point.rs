//! The block of another node on which a chain began.

use std::fmt;
use std::sync::Arc;

use esker_evm_state::state::StateBase;
use esker_evm_state::types::SealedHeader;

/// The block of another node on which a chain began. The chain's first own block is the next one.
#[derive(Clone)]
pub struct ForkPoint {
    /// ID of the other chain.
    pub chain_id: u64,
    /// Its header.
    pub header: SealedHeader,
    /// The state after it.
    pub state: Arc<dyn StateBase>,
}

impl fmt::Debug for ForkPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForkPoint").field("header", &self.header).finish_non_exhaustive()
    }
}
