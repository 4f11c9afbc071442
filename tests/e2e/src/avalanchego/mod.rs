//! A stand-in for AvalancheGo: it serves the recordings of `tests/vectors/follow` through the recorded forms of its
//! index API, with delays, failures and contradictions on request.

mod answers;
mod recording;
mod stand_in;

pub use recording::{Container, Recording};
pub use stand_in::StandIn;
