//! AvalancheGo as a source of final blocks, for a node that follows it.
//!
//! Every container of its block indexes is a block of the proposer VM around the chain's own block. [`outer`] takes
//! that off.
//!
//! Signatures of outer blocks are not checked: the followed node has decided, and the reader trusts it. What is
//! checked is in [`outer`]: a container's ID is the hash of its bytes.

#![warn(
    clippy::wildcard_enum_match_arm,
    clippy::cast_possible_truncation,
    clippy::arithmetic_side_effects
)]

pub mod outer;

pub use outer::{Outer, OuterError, OuterKind};
