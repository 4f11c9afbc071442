//! State tests of the public suite, and malformed ones.

#![expect(clippy::unwrap_used, reason = "a panic in a test is its message")]

mod files;
mod forms;
