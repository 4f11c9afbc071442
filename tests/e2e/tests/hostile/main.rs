//! Hostile clients against a node: what they cost has limits, and others are served meanwhile.
//!
//! The tests of this program take turns, so that one does not disturb what another measures. Those named `slow_` are
//! for a release build on a machine that does nothing else, and are run by name (docs/testing.md).

#![expect(clippy::unwrap_used, reason = "in tests a panic is the message")]
#![expect(clippy::print_stdout, reason = "what was measured is printed")]

mod arguments;
mod bodies;
mod bombs;
mod demands;
mod endless;
mod methods;
mod sockets;
mod states;
mod stock;
mod support;
mod tracing;
mod unread;
