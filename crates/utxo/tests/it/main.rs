//! Known vectors, rules and properties of outputs, inputs, credentials and operations.

#![allow(clippy::wildcard_enum_match_arm, reason = "tests name the one variant that they ask for")]

mod arbitrary;
mod fx;
mod props;
mod vectors;
