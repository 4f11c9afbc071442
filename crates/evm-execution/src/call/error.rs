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
    /// Both kinds of prices.
    #[error("both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified")]
    BothPrices,
    /// Nothing to create a contract with.
    #[error("contract creation without any data provided")]
    NoInput,
    /// An override that contradicts itself.
    #[error("account {0} has both 'state' and 'stateDiff'")]
    BothStates(Address),
    /// It can't be run.
    #[error("err: {error} (supplied gas {gas})")]
    Refused {
        /// Why.
        error: TxError,
        /// Gas given.
        gas: u64,
    },
    /// It can't be run with that much gas, in an estimate.
    #[error("failed with {gas} gas: {error}")]
    EstimateRefused {
        /// Why.
        error: TxError,
        /// Gas tried.
        gas: u64,
    },
    /// It can't be run, for an access list.
    #[error("failed to apply transaction: {hash} err: {error}")]
    AccessListRefused {
        /// Why.
        error: TxError,
        /// Hash of the transaction that it would be, without signature.
        hash: B256,
    },
    /// The sender has less than it sends.
    #[error("insufficient funds for transfer")]
    InsufficientFundsForTransfer,
    /// Even the most gas is not enough.
    #[error("gas required exceeds allowance ({0})")]
    Allowance(u64),
    /// An estimate whose code ends with an error whatever the gas: the outcome has text and data.
    #[error("{}", .0.message())]
    Failed(Box<CallOutcome>),
    /// An access list that grows with every run.
    #[error("the transaction touches something else in every run")]
    Unsettled,
    /// It took too long.
    #[error("execution aborted (timeout = {})", go_duration(*.0))]
    TimedOut(Duration),
    /// It needs more memory than the node gives, and has gas for it.
    #[error("memory limit of {0} bytes exceeded")]
    MemoryLimit(u64),
    /// The client is gone.
    #[error("execution aborted")]
    Cancelled,
    /// It was a try ([`crate::executor::Bounds::try_gas`]), and only a call with all its gas has a certain result.
    #[error("execution aborted (the try was inconclusive)")]
    TryEnded,
    /// State can't be read.
    #[error(transparent)]
    State(#[from] StateError),
}

impl CallError {
    /// Was the call ended from outside, so that nothing is known of it?
    pub(super) const fn is_stop(&self) -> bool {
        matches!(self, Self::TimedOut(_) | Self::Cancelled | Self::TryEnded)
    }

    pub(crate) fn from_tx_error(error: TxError, gas: u64, timeout: Duration) -> Self {
        Self::from_tx_error_with(error, timeout, |error| Self::Refused { error, gas })
    }

    /// What has nothing to do with the message, or else what `refused` makes of it.
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
