//! The pinned block: its header, and the hash recomputed from it.

mod header;
mod resolve;

pub use header::HeaderForm;
pub use resolve::{BlockChoice, Pin, resolve};
