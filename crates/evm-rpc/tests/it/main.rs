//! Reading methods against the reference's recorded answers, and what any argument is answered with.

#![expect(clippy::unwrap_used, reason = "a panic in a test is its message")]

// The recorded chain's atomic transactions, as the chain's own tests apply them.
#[path = "../../../evm/tests/it/atomic.rs"]
#[allow(dead_code, reason = "support of another crate's tests, of which this one needs a part")]
mod atomic;
mod debug;
mod decoders;
mod filters;
mod golden;
mod log_filter;
mod pending;
mod recorded;
mod replay;
mod rewound;
mod schemas;
mod sender_nonce;
mod subscriptions;
mod transact;
mod world;
