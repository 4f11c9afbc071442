//! The node's API over real ports.

#![expect(clippy::unwrap_used, reason = "a panic is a test's message")]

mod api;
mod environment;
mod fork;
mod fork_c_chain;
mod fork_c_chain_rules;
mod fork_filters;
mod fork_offline;
mod fork_otterscan;
mod fork_random;
mod fork_reset;
mod fork_rules;
mod fork_source;
mod fork_traces;
mod fork_url;
mod fork_x;
mod fork_x_faults;
mod proxy;
mod witness;
mod witness_state;
