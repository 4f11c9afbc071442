//! The example `shell_files`, which cargo builds with the tests.
#![expect(clippy::unwrap_used, reason = "a test's panic is its message")]

mod shell_files;
