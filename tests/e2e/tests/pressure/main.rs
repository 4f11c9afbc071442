//! Journeys under pressure: many calls back to back, from one client and from four at once, as clients really make them.
//!
//! Whatever the node has answered with a hash or an ID is mined or Accepted in the end, or the node says why not;
//! balances are what the answers say, and nothing is left in a pool. `slow_` ones take minutes: they are run with
//! `cargo test --release -p esker-e2e --test pressure -- --ignored`.

#![expect(clippy::unwrap_used, reason = "in tests a panic is the message")]

mod accounts;
mod mixed;
mod support;
mod users;
