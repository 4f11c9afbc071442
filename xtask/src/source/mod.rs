//! Rust source as far as the rules of the repository need it: tokens, items, modules and what their paths name.
//!
//! No compiler: nothing is expanded, and of `cfg` only `cfg(test)` is known. Every file that compiles can be read.

pub mod functions;
pub mod items;
pub mod modules;
pub mod tokens;
