//! Known answers, texts of the reference, round trips and properties of the primitives.

#![expect(clippy::unwrap_used, reason = "in tests a panic is the message")]

mod clock;
mod codec;
mod properties;
mod signatures;
mod texts;
mod vectors;
