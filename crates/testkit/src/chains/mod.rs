//! The X-Chain and the C-Chain under one machine.

pub mod any_tx;
pub mod audit;
pub mod funded;
pub mod world;
