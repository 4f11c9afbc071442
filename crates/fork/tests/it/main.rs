//! Forks of a scripted source with real tries, and of sources that lie, limit, stall and fail.

#![expect(clippy::unwrap_used, reason = "a panic in a test is its message")]

mod assets;
mod between_forks;
mod cached;
mod claims;
mod faults;
mod implied;
mod lies;
mod other_source;
mod pinned;
mod roots;
mod seam;
mod server;
mod shared;
mod warm_up;
mod world;
