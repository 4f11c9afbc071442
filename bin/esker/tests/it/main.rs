//! The real binary: commands, exit codes, signals, what it prints and what it keeps.
#![expect(clippy::unwrap_used, reason = "a test's panic is its message")]

mod alone;
mod alone_commands;
mod altered_blocks;
mod anvil;
mod anvil_answers;
mod anvil_flags;
mod anvil_queries;
mod artifacts;
mod attack;
mod blobs;
mod build;
mod chains;
mod console;
mod control_values;
mod dev;
mod evm;
mod execution_apis;
mod exit_codes;
mod first_number;
mod fork;
mod fork_dev;
mod fork_files;
mod hardhat;
mod hardhat_answers;
mod harness;
mod merge;
mod number_forms;
mod packages;
mod process;
mod replay;
mod users;
