//! Reading methods against the reference's recorded answers, and what any argument is answered with.

#![expect(clippy::unwrap_used, reason = "a panic in a test is its message")]

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
mod standard;
mod subscriptions;
mod tags;
mod transact;
mod world;
