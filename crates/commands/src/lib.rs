//! The commands of the binary: their arguments, their output, and the commands that work on a stopped node's data
//! folder.
//!
//! [`cli`] builds the arguments of every command from the node's table of settings. [`screen`] renders the screen of
//! `esker dev` and the ready file. [`users`], [`replay`] (`esker export` and `esker import`), [`rewind`] and
//! [`verify`] work on a stopped node's data, which `offline` opens; [`backup`] copies it, also that of a running node. [`online`] has the commands of a
//! running node's users; [`anvil`] and `hardhat` translate the flags of those [`tools`]; [`terminal`] makes what a node answers fit to be shown. This crate is not part of a running node.
//! `esker-settings` loads the configuration.

pub mod anvil;
pub mod backup;
pub mod cli;
pub mod fork;
mod hardhat;
pub mod network;
mod node_url;
mod offline;
pub mod online;
pub mod replay;
pub mod rewind;
pub mod screen;
pub mod signals;
pub mod state_test;
pub mod status;
pub mod terminal;
pub mod tools;
pub mod users;
pub mod verify;

/// The process that runs scripts of tracers for a node: no command of users, and no part of the command line.
pub use esker_js_tracer::worker as script_worker;
pub use offline::OfflineError;
