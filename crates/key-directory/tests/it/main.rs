//! Key files and folders of them.

#![expect(clippy::unwrap_used, reason = "in tests a panic is the message")]

mod directory;
mod files;
mod format;
mod support;
