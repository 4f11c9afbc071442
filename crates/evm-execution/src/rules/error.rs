//! Errors of rules.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use esker_evm_state::state::StateError;
use thiserror::Error;

/// Why a block breaks a chain's rules, or has none. The text is the chain's.
#[derive(Clone, Debug)]
pub struct RuleError {
    cause: Arc<dyn Error + Send + Sync>,
    remedy: Option<Remedy>,
}

/// What makes a refused block valid.
#[derive(Clone, Copy, Debug)]
enum Remedy {
    /// A later clock: the time of the block, and the latest accepted one, Unix s.
    Clock(u64, u64),
    /// Higher fees, or a later block.
    Fees,
}

impl RuleError {
    /// A rule that no time and no fee changes.
    pub fn new(cause: impl Error + Send + Sync + 'static) -> Self {
        Self { cause: Arc::new(cause), remedy: None }
    }

    /// The block is only too far ahead of the clock. `allowed` is the latest accepted time, Unix s.
    pub fn ahead_of_clock(
        cause: impl Error + Send + Sync + 'static,
        time: u64,
        allowed: u64,
    ) -> Self {
        Self { cause: Arc::new(cause), remedy: Some(Remedy::Clock(time, allowed)) }
    }

    /// The fees of the block do not pay for its time.
    pub fn unpaid(cause: impl Error + Send + Sync + 'static) -> Self {
        Self { cause: Arc::new(cause), remedy: Some(Remedy::Fees) }
    }

    /// The block's time and the latest accepted time (Unix s), if the block is only too early.
    pub fn too_early(&self) -> Option<(u64, u64)> {
        match self.remedy {
            Some(Remedy::Clock(time, allowed)) => Some((time, allowed)),
            Some(Remedy::Fees) | None => None,
        }
    }

    /// Whether only the fees of the block are too low for its time.
    pub fn is_unpaid(&self) -> bool {
        matches!(self.remedy, Some(Remedy::Fees))
    }

    /// The chain's own error.
    pub fn cause(&self) -> &(dyn Error + 'static) {
        &*self.cause
    }
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

impl Error for RuleError {}

/// Why the work before or after a block's transactions failed.
#[derive(Debug, Error)]
pub enum BlockStepError {
    /// The block is invalid.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// State can't be read.
    #[error(transparent)]
    State(#[from] StateError),
}
