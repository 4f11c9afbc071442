//! JSON-RPC as clients see it, from bytes to bytes.

#![expect(clippy::unwrap_used, reason = "in tests a panic is the message")]

mod calls;
mod discover;
mod ended_calls;
mod positional;
mod properties;
mod recorded;
mod reply_after;
mod toy;
mod wire;
mod work;
