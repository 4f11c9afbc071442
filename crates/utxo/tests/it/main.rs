//! Known vectors, rules and properties of outputs, inputs, credentials and operations.

#![expect(clippy::unwrap_used, reason = "what a test unwraps is what it asserts")]

mod fx;
mod props;
mod vectors;
