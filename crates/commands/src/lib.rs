//! The commands of the binary: their arguments, what they print, and those that work on a data folder that no node
//! has open.
//!
//! [`cli`] makes the arguments of every command from the node's table of settings. [`screen`] is what `esker dev`
//! shows and what the ready file holds. [`users`], [`replay`] (`esker export` and `esker import`), [`rewind`] and [`verify`] work on
//! a stopped node's data; they open it with `offline`. Nothing here is part of a running node, and no command reads
//! the configuration by itself: `esker-node` does.

pub mod cli;
mod offline;
mod progress;
pub mod replay;
pub mod rewind;
pub mod screen;
pub mod signals;
pub mod users;
pub mod verify;

pub use offline::OfflineError;
