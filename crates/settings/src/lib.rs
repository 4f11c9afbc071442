//! Settings of a node: configuration, networks, fixtures.
//!
//! - [`config`]: flags, environment and file become a [`config::Config`]. [`config::keys`] is the table of settings.
//! - [`networks`]: presets and network files become a [`networks::Network`], with its chains and their genesis.
//! - [`fixture`]: a fixture file becomes the transactions that a development node makes at its first start.
//! - [`logging`], [`exit_code`]: what commands and node agree on besides.
//!
//! It reads the files that settings name, opens no store and no port, and runs no chain. Commands use it without a node.

pub mod config;
pub mod exit_code;
pub mod fixture;
pub mod logging;
pub mod networks;
