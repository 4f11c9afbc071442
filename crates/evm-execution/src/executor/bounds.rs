//! Bounds of an execution, and reasons to stop it from outside.

use std::fmt;

/// Why execution was stopped from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The client is gone.
    Cancelled,
    /// It took too long.
    TimedOut,
    /// It was a try ([`Bounds::try_gas`]) without a certain result.
    TryEnded,
    /// It pays for more memory than [`Bounds::memory`].
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

/// Called now and then while code runs. `Some` stops the execution.
pub type StopCheck<'a> = &'a (dyn Fn() -> Option<Stop> + 'a);

/// Bounds of one execution besides its gas. Blocks have no such bounds.
#[derive(Clone, Copy, Default)]
pub struct Bounds<'a> {
    /// Most bytes of memory of all frames together. Beyond that the execution stops.
    pub memory: Option<u64>,
    /// Called after every 100,000 gas or so, also within precompiled contracts, and every few hundred calls.
    pub stop: Option<StopCheck<'a>>,
    /// Makes the execution a try: code gets at most this much gas. A try either ends as it would with the whole gas
    /// of its message, or with [`Stop::TryEnded`]. The latter is the case if code runs out of gas, loses its gas, or
    /// observes the remaining gas after a call.
    pub try_gas: Option<u64>,
}

impl fmt::Debug for Bounds<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bounds").field("memory", &self.memory).finish_non_exhaustive()
    }
}
