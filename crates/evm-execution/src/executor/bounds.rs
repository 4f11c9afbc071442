//! Bounds of an execution, and what stops one from outside.

use std::fmt;

/// Why execution was stopped from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The client is gone.
    Cancelled,
    /// It took too long.
    TimedOut,
    /// It was a try ([`Bounds::try_gas`]), and only a call with all its gas has a certain result.
    TryEnded,
    /// It needs more memory than [`Bounds::memory`], and has gas for it.
    MemoryLimit(u64),
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled => f.write_str("execution aborted"),
            Self::TimedOut => f.write_str("execution aborted (timeout)"),
            Self::TryEnded => f.write_str("execution aborted (the try was inconclusive)"),
            Self::MemoryLimit(bytes) => write!(f, "memory limit of {bytes} bytes exceeded"),
        }
    }
}

/// Called now and then while code runs; `Some` stops it.
pub type StopCheck<'a> = &'a (dyn Fn() -> Option<Stop> + 'a);

/// Bounds of one execution beside its gas. Blocks have none.
#[derive(Clone, Copy, Default)]
pub struct Bounds<'a> {
    /// Most bytes of memory of all frames together; beyond it execution stops.
    pub memory: Option<u64>,
    /// Called after every 100,000 gas or so, also within precompiled contracts, and every few hundred calls.
    pub stop: Option<StopCheck<'a>>,
    /// Makes the execution a try: code gets at most this much gas. A try either ends as it would with all
    /// the gas of its message, or with [`Stop::TryEnded`]: code that runs out of gas, loses what it was
    /// given, or looks at what a call left it, is none for a try.
    pub try_gas: Option<u64>,
}

impl fmt::Debug for Bounds<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bounds").field("memory", &self.memory).finish_non_exhaustive()
    }
}
