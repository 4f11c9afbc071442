//! The cost of calls in the units that an address may use ([`crate::work::RateLimitConfig`]). It grows with the work
//! that a call may cause. A small read costs one unit.

/// A small read, and every request without a call.
pub const READ: u32 = 1;
/// A read of a block or of a transaction with all that belongs to it.
pub const LARGE_READ: u32 = 2;
/// A transaction that is sent: signatures are checked, and others wait for the same lock.
pub const SEND: u32 = 5;
/// Code that runs once, a page of rows, a proof, a subscription.
pub const CALL: u32 = 10;
/// A search over blocks or over all outputs of an address, code that runs several times.
pub const SEARCH: u32 = 20;
/// A trace, a simulation, a view of the whole pool or state, the check of a password.
pub const HEAVY: u32 = 50;
