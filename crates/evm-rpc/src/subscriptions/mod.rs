//! Subscriptions: newHeads, logs, pending and accepted transactions, syncing
//! (docs/protocol/c-chain-rpc.md, "Subscriptions").
//!
//! - `hub`: one task a chain makes an event of each accepted block, and of what becomes pending, and gives it to
//!   every subscribed connection. Without subscribers it does nothing.
//! - `event`: an event, each of whose texts is written once, by the first connection that needs it.
//! - `session`: one connection: its subscriptions, the events that it has not yet delivered, and how far it is with them.
//! - `kind`: what can be subscribed to, and the arguments.
//!
//! A connection keeps pointers to events that all share, and puts nothing but its subscription's ID around their
//! texts. So what is kept for those that never read is kept once, however many they are.

mod event;
mod hub;
mod kind;
mod session;

pub use hub::Subscriptions;

/// Subscriptions of one connection: each examines every event.
pub const MAX_SUBSCRIPTIONS: usize = 1024;
/// Subscriptions of all connections to a chain.
pub const MAX_ALL_SUBSCRIPTIONS: usize = 65_536;
/// Addresses and topics of all subscriptions of a connection, bytes.
pub const MAX_CRITERIA_BYTES: usize = 1024 * 1024;
/// Addresses and topics of all subscriptions to a chain, bytes.
pub const MAX_ALL_CRITERIA_BYTES: usize = 32 * 1024 * 1024;
/// Events that a connection may have undelivered.
pub const MAX_KEPT_EVENTS: usize = 4096;
/// Bytes of the events that a connection may have undelivered, with all their texts.
pub const MAX_KEPT_BYTES: usize = 64 * 1024 * 1024;
