//! Harness of the end-to-end tests: a whole node as a process of its own, over a real port.
//!
//! [`Node`] starts the binary on a fresh (or given) data folder and ends it, gently or with a kill; [`golden`]
//! replays recorded exchanges; [`disk`] has disks that fill up and fail; [`hostile`] has clients that mean harm;
//! [`Proxy`] cuts and holds connections between processes, [`Mesh`] those between validators; [`avalanchego`] is a stand-in for an AvalancheGo node; [`tables`] has the
//! method tables of a node; [`Socket`] is a websocket; [`funds`] has the well-known keys of the local network. Nothing here knows how the
//! node works inside: tests see what a client sees. Only [`decoders`] has functions of the node itself, each one of
//! bytes alone, and [`history`] prepares a folder with them. Start at `tests/it/main.rs`.

pub mod avalanchego;
pub mod decoders;
pub mod disk;
pub mod docs;
pub mod files;
pub mod golden;
pub mod history;
pub mod hostile;
pub mod mesh;
pub mod preload;
pub mod proxy;
pub mod socket;
pub mod tables;

pub use esker_testing::{Node, NodeBuilder, StartingNode, funds, until};
pub use mesh::{Flow, Mesh};
pub use preload::ShiftedClock;
pub use proxy::Proxy;
pub use socket::Socket;
