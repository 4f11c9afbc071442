//! Rust source, as far as the rules of the repository need it: tokens, items, modules and the things that their paths
//! name. It is not a compiler: it expands no macros, and of `cfg` it knows only `cfg(test)`. It can read every file
//! that compiles.

pub mod functions;
pub mod items;
pub mod modules;
pub mod tokens;
