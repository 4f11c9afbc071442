//! Texts that contracts print through the console contracts of Hardhat and Foundry.
//!
//! A contract prints by a call of [`CONSOLE`], an address without code: a selector of [`Signature`] and ABI-encoded
//! arguments. [`Message::decode`] reads the call data, [`Message::text`] formats them as these tools do, and
//! [`ConsoleCalls`] keeps the calls of one execution.

mod calls;
mod format;
mod message;
mod signature;
mod value;

use alloy_primitives::{Address, address};

pub use calls::ConsoleCalls;
pub use message::{Malformed, Message};
pub use signature::{Kind, Signature};
pub use value::Value;

/// The address that console contracts call: the bytes of `console.log`.
pub const CONSOLE: Address = address!("0x000000000000000000636F6e736F6c652e6c6f67");

#[cfg(test)]
mod tests;
