//! The engine of followers and the server of their stream, over machines without chains: their bundles are empty.

#![expect(clippy::unwrap_used, reason = "in tests a panic is the message")]

mod back;
mod certificates;
mod engine;
mod serve;
mod snapshot;
mod toy;
mod validators;
mod withheld;
