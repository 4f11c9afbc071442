//! Outputs and assets of another network's X-Chain with which a development network begins (docs/forking.md, "An X-Chain").

mod assets;
mod open;
mod outputs;
mod source;

pub(super) use open::{open, stored};
