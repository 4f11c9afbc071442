//! The pinned block: its header, and the hash recomputed from it.

mod header;
mod instead;
mod resolve;

pub use header::HeaderForm;
pub use instead::{BlockInstead, block_instead};
pub use resolve::{BlockChoice, Pin, resolve};
