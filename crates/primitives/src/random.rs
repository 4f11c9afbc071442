//! Randomness as a parameter. Only the node reads the system's randomness; tests use a seeded one.

use std::sync::Arc;

/// Fills a buffer with random bytes.
pub type Randomness = Arc<dyn Fn(&mut [u8]) + Send + Sync>;
