//! `debug`: the chain looked at from inside (docs/api/evm-debug.md).

mod trace;

pub use trace::tracing_methods;
