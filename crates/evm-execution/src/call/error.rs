//! Why a call gave no result.

use std::time::Duration;

use alloy_primitives::{Address, B256};
use esker_evm_state::state::StateError;
use thiserror::Error;

use super::CallOutcome;
use crate::executor::{Stop, TxError};

/// Why a call gave no result. The texts are the reference's.
#[derive(Debug, Error)]
pub enum CallError {
    /// The request has both kinds of prices.
    #[error("both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified")]
    BothPrices,
    /// The request creates a contract without init code.
    #[error("contract creation without any data provided")]
    NoInput,
    /// The overrides of an account contradict each other.
    #[error("account {0} has both 'state' and 'stateDiff'")]
    BothStates(Address),
    /// The call can't be executed.
    #[error("err: {error} (supplied gas {gas})")]
    Refused {
        /// Why it can't be executed.
        error: TxError,
        /// Gas limit of the call.
        gas: u64,
    },
    /// The call can't be executed with this gas limit, in an estimate.
    #[error("failed with {gas} gas: {error}")]
    EstimateRefused {
        /// Why it can't be executed.
        error: TxError,
        /// Gas limit of the failed run.
        gas: u64,
    },
    /// The call can't be executed, for an access list.
    #[error("failed to apply transaction: {hash} err: {error}")]
    AccessListRefused {
        /// Why it can't be executed.
        error: TxError,
        /// Hash of the unsigned transaction.
        hash: B256,
    },
    /// The transaction can't be part of the block, in a bundle.
    #[error("err: {error}; txhash {hash}")]
    TransactionRefused {
        /// Why it can't be executed.
        error: Box<TxError>,
        /// Its hash.
        hash: B256,
    },
    /// A bundle has more blobs than a block.
    #[error("the bundle has {have} blobs: at most {most} fit into a block")]
    TooManyBlobs {
        /// Blobs of all its transactions.
        have: u64,
        /// Most of a block.
        most: u64,
    },
    /// The sender has less wei than it sends.
    #[error("insufficient funds for transfer")]
    InsufficientFundsForTransfer,
    /// Even the highest allowed gas limit is not enough.
    #[error("gas required exceeds allowance ({0})")]
    Allowance(u64),
    /// The code ends with an error at any gas limit, in an estimate. The outcome has the text and the data.
    #[error("{}", .0.message())]
    Failed(Box<CallOutcome>),
    /// The access list grows with every run.
    #[error("the transaction touches something else in every run")]
    Unsettled,
    /// No bundle has a call.
    #[error("empty bundles")]
    NoCalls,
    /// There are too many bundles of calls.
    #[error("{have} bundles are too many: at most {most}")]
    TooManyBundles {
        /// Their number.
        have: usize,
        /// Most that there may be.
        most: usize,
    },
    /// Calls in sequence have used the gas that they may use together.
    #[error("gas cap of {cap} for all calls of the request is used up: {left} left, want {want}")]
    GasCapUsedUp {
        /// Gas that all calls together may use.
        cap: u64,
        /// What is left of it.
        left: u64,
        /// What the next call takes at least.
        want: u64,
    },
    /// Calls in sequence return too much.
    #[error("the calls return more than {0} bytes")]
    TooMuchData(usize),
    /// The call took too long.
    #[error("execution aborted (timeout = {})", go_duration(*.0))]
    TimedOut(Duration),
    /// The call pays for more memory than the node allows.
    #[error("memory limit of {0} bytes exceeded")]
    MemoryLimit(u64),
    /// The client is gone.
    #[error("execution aborted")]
    Cancelled,
    /// The call was a try ([`crate::executor::Bounds::try_gas`]) without a certain result.
    #[error("execution aborted (the try was inconclusive)")]
    TryEnded,
    /// State can't be read.
    #[error(transparent)]
    State(#[from] StateError),
}

impl CallError {
    /// Whether the call was stopped from outside, so that its result is unknown.
    pub(super) const fn is_stop(&self) -> bool {
        matches!(self, Self::TimedOut(_) | Self::Cancelled | Self::TryEnded)
    }

    pub(crate) fn from_tx_error(error: TxError, gas: u64, timeout: Duration) -> Self {
        Self::from_tx_error_with(error, timeout, |error| Self::Refused { error, gas })
    }

    /// Converts errors that do not depend on the message; `refused` converts all others.
    pub(super) fn from_tx_error_with(
        error: TxError,
        timeout: Duration,
        refused: impl FnOnce(TxError) -> Self,
    ) -> Self {
        match error {
            TxError::Stopped(Stop::TimedOut) => Self::TimedOut(timeout),
            TxError::Stopped(Stop::Cancelled) => Self::Cancelled,
            TxError::Stopped(Stop::TryEnded) => Self::TryEnded,
            TxError::Stopped(Stop::MemoryLimit(bytes)) => Self::MemoryLimit(bytes),
            TxError::State(error) => Self::State(error),
            error => refused(error),
        }
    }
}

/// A duration as Go prints it: `1m30s`, `1.5s`, `250ms`.
pub fn go_duration(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    let fraction = |nanos: u128, unit: u128, name: &str| {
        let digits = format!("{:0width$}", nanos % unit, width = unit.ilog10() as usize);
        let digits = digits.trim_end_matches('0');
        let point = if digits.is_empty() { "" } else { "." };
        format!("{}{point}{digits}{name}", nanos / unit)
    };
    match nanos {
        0 => "0s".into(),
        1..1_000 => format!("{nanos}ns"),
        1_000..1_000_000 => fraction(nanos, 1_000, "µs"),
        1_000_000..1_000_000_000 => fraction(nanos, 1_000_000, "ms"),
        _ => {
            let (minutes, rest) = (nanos / 60_000_000_000, nanos % 60_000_000_000);
            let seconds = fraction(rest, 1_000_000_000, "s");
            match (minutes / 60, minutes % 60) {
                (0, 0) => seconds,
                (0, minutes) => format!("{minutes}m{seconds}"),
                (hours, minutes) => format!("{hours}h{minutes}m{seconds}"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_printed_as_go_does() {
        for (nanos, want) in [
            (0, "0s"),
            (7, "7ns"),
            (1_500, "1.5µs"),
            (250_000_000, "250ms"),
            (5_000_000_000, "5s"),
            (1_050_000_000, "1.05s"),
            (90_000_000_000, "1m30s"),
            (3_600_000_000_000, "1h0m0s"),
        ] {
            assert_eq!(go_duration(Duration::from_nanos(nanos)), want);
        }
    }
}
