//! The node's inputs from outside: time, randomness, a consensus library, and the commit of its program. Tests set
//! their own.

use std::fmt;
use std::sync::Arc;

use esker_evm::fork_point::ForkPoint;
use esker_fork::Fork;
use esker_primitives::{Clock, Randomness};
use esker_validators::Consensus;
use esker_xvm::Takeover;

use crate::clock::{ShiftedClock, SystemClock};

/// The node's inputs from outside. Tests use a manual clock and fixed bytes.
#[derive(Clone)]
pub struct Environment {
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The source of secrets and unguessable names. Only the staking certificate's key has another source: its library
    /// reads the system's randomness.
    pub randomness: Randomness,
    /// The git commit that the program was built from, in full; empty if it is not known. The binary sets it.
    pub commit: &'static str,
    /// The library with which validators decide; `None`: this build has no validators. The binary sets it.
    pub consensus: Option<Arc<dyn Consensus>>,
    /// The block of another node on which the EVM chain begins. A start sets it by the settings.
    pub fork: Option<NodeFork>,
    /// What the X-Chain of a new folder takes over from another network. A start sets it by the settings.
    pub takeover: Option<Arc<Takeover>>,
}

/// The block of another node on which the EVM chain begins.
#[derive(Clone, Debug)]
pub struct NodeFork {
    /// The block, for the chain.
    pub point: ForkPoint,
    /// The source.
    pub source: Fork,
}

impl Environment {
    /// The clock and the randomness of the operating system, without a commit or a consensus library.
    pub fn system() -> Self {
        let (clock, randomness) = (Arc::new(SystemClock), system_randomness());
        Self { clock, randomness, commit: "", consensus: None, fork: None, takeover: None }
    }

    /// An environment whose clock shows `start_ms` (Unix ms) now and goes on from there.
    pub(crate) fn starting_at(self, start_ms: u64) -> Self {
        let clock = Arc::new(ShiftedClock::starting_at(start_ms, Arc::clone(&self.clock)));
        Self { clock, ..self }
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment").finish_non_exhaustive()
    }
}

/// The system's randomness. The node can't make keys without it and panics.
fn system_randomness() -> Randomness {
    use rand::TryRngCore as _;
    Arc::new(|bytes: &mut [u8]| {
        rand::rngs::OsRng.try_fill_bytes(bytes).expect("the system gives random bytes");
    })
}
