//! End-to-end tests: each starts nodes of its own on free ports and temporary folders.

#![expect(clippy::unwrap_used, reason = "in tests a panic is the message")]

mod admin;
mod assets;
mod atomic;
mod backup;
mod calls;
mod clients;
mod controls;
mod corpus;
mod crash;
mod crash_atomic;
mod crash_evm;
mod dev_screen;
mod dev_settings;
mod development;
mod discover;
mod disk;
mod docs;
mod estimates;
mod evm_chains;
mod evm_methods;
mod evm_pool;
mod folders;
mod followers;
mod golden;
mod history;
mod index;
mod keystore;
mod legacy_tx;
mod load;
mod logs;
mod methods;
mod metrics;
mod nat;
mod origins;
mod paging;
mod parameters;
mod personal;
#[path = "../../../../crates/profiling/tests/it/read.rs"]
#[expect(dead_code, reason = "the profiles' own tests use all of it")]
mod profile_reader;
mod public;
mod quoting;
mod replay;
mod rewind;
mod scripts;
mod specification;
mod start;
mod support;
mod tls;
mod traces;
mod two_chains;
mod user_payments;
mod validator_byzantine;
mod validator_faults;
mod validator_followers;
mod validator_links;
mod validator_measure;
mod validator_net;
mod validator_states;
mod validator_strangers;
mod validator_traffic;
mod validator_txs;
mod validators;
mod verify;
