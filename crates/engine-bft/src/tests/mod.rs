//! Tests of whole engines: in virtual time, and over real sockets with hostile peers.

mod followers;
mod hostile;
mod loopback;
mod rotation;
pub(crate) mod simulation;
mod toy_pool;
