//! The exchange between chains, through the same layers that a node reads through.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod cases;
mod model;
