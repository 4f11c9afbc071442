//! What a node gets from the machine that it runs on: the time, and randomness.

use std::fmt;
use std::sync::Arc;

use esker_primitives::{Clock, Randomness};

use crate::clock::SystemClock;

/// The clock and the randomness of a node. Tests use a manual clock and fixed bytes.
#[derive(Clone)]
pub struct Host {
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// What secrets and unguessable names are made of. The staking certificate's key alone is not: its library has
    /// the system's randomness only.
    pub randomness: Randomness,
}

impl Host {
    /// The system's.
    pub fn system() -> Self {
        Self { clock: Arc::new(SystemClock), randomness: system_randomness() }
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").finish_non_exhaustive()
    }
}

/// The system's randomness. A system that has none can't make keys: nothing goes on then.
fn system_randomness() -> Randomness {
    use rand::TryRngCore as _;
    Arc::new(|bytes: &mut [u8]| {
        rand::rngs::OsRng.try_fill_bytes(bytes).expect("the system gives random bytes");
    })
}
