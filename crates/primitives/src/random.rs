//! Randomness as a parameter. That of the system is read in the node alone; tests bring a seeded one.

use std::sync::Arc;

/// Fills a buffer with random bytes.
pub type Randomness = Arc<dyn Fn(&mut [u8]) + Send + Sync>;
