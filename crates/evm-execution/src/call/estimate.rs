//! Estimates the gas of a transaction.

use alloy_primitives::U256;

use super::{
    CallEnv, CallError, CallLimits, CallOutcome, CallRequest, Estimates, StateOverrides, with_gas,
};
use crate::executor::{BlockContext, ExecutionEnd, Message, Runner, TxError, VmError};

/// Gas of a plain transfer.
const TRANSFER_GAS: u64 = 21_000;

/// Gas of a creation without code to run.
const CREATE_GAS: u64 = 53_000;

/// Additional gas of a call with value.
const STIPEND: u64 = 2_300;

/// The search ends when the error is less than this part of the estimate, in thousandths.
const ERROR_PER_MILLE: u64 = 15;

/// The lowest gas limit with which a call succeeds, up to 1.5 % too high with [`Estimates::Usual`].
///
/// If the request has no gas limit, the search goes up to that of the block.
pub fn estimate_gas(
    env: &CallEnv<'_>,
    request: &CallRequest,
    state: &StateOverrides,
    limits: &CallLimits<'_>,
) -> Result<u64, CallError> {
    let mut probe = Probe::new(env, &env.block, request, state, limits)?;
    let is_of_anvil = limits.estimates == Estimates::Anvil;
    if is_of_anvil && probe.is_plain(request)? {
        return Ok(TRANSFER_GAS);
    }
    let most = probe.most(request)?;
    if !is_of_anvil && probe.is_enough_for_transfer(TRANSFER_GAS)? {
        return Ok(TRANSFER_GAS);
    }
    probe.search(most)
}

/// As [`estimate_gas`], for a transaction that will be in the block of `env`, or in `later` if the block is built one
/// second later.
///
/// A contract may write a slot once a second. If the last block has the same second, it wrote the slot already, but a
/// transaction one second later writes it again.
pub fn estimate_gas_for_next(
    env: &CallEnv<'_>,
    later: &BlockContext,
    request: &CallRequest,
    state: &StateOverrides,
    limits: &CallLimits<'_>,
) -> Result<u64, CallError> {
    let gas = estimate_gas(env, request, state, limits)?;
    if gas == TRANSFER_GAS || env.block.time > env.state_point.time {
        return Ok(gas);
    }
    let mut probe = Probe::new(env, later, request, state, limits)?;
    probe.has_succeeded = true;
    match probe.run(gas) {
        Ok(Some(end)) if end.error.is_none() => return Ok(gas),
        Err(error) if error.is_stop() => return Err(error),
        Ok(_) | Err(_) => {}
    }
    match probe.most(request).and_then(|most| probe.search(most)) {
        Ok(more) => Ok(more.max(gas)),
        Err(error) if error.is_stop() => Err(error),
        // The transaction may fail a second later and still succeed now.
        Err(_) => Ok(gas),
    }
}

struct Probe<'s, 'a> {
    runner: Runner<'a>,
    block: &'s BlockContext,
    message: Message,
    limits: &'s CallLimits<'a>,
    /// Whether a run has succeeded. What a failing one prints does not count then.
    has_succeeded: bool,
}

impl<'s, 'a> Probe<'s, 'a> {
    fn new(
        env: &CallEnv<'a>,
        block: &'s BlockContext,
        request: &CallRequest,
        state: &StateOverrides,
        limits: &'s CallLimits<'a>,
    ) -> Result<Self, CallError> {
        let overlay = super::overlay(env, state, limits)?;
        let message = request.message(limits.gas_cap)?;
        let mut runner = Runner::new(&env.chain.machine, overlay, block, limits.bounds);
        limits.prepare(&mut runner);
        Ok(Self { runner, block, message, limits, has_succeeded: false })
    }

    /// The highest gas limit: that of the request or of the block, limited by the sender's balance and the cap.
    fn most(&mut self, request: &CallRequest) -> Result<u64, CallError> {
        let mut most = match request.gas {
            Some(_) if self.message.gas_limit >= TRANSFER_GAS => self.message.gas_limit,
            _ => self.block.gas_limit,
        };
        let price = self.message.fee_cap;
        if !price.is_zero() {
            let balance = self.runner.state().balance(self.message.from)?;
            let value = self.message.value;
            // As in the reference, a value that equals the balance leaves nothing for gas, even if both are zero.
            if value >= balance {
                return Err(CallError::InsufficientFundsForTransfer);
            }
            let affordable = (balance - value) / price;
            if affordable < U256::from(most) {
                most = affordable.saturating_to();
            }
        }
        if self.limits.gas_cap != 0 {
            most = most.min(self.limits.gas_cap);
        }
        Ok(most)
    }

    /// Whether the call is a transfer to an account without code that succeeds with this gas limit.
    fn is_enough_for_transfer(&mut self, gas: u64) -> Result<bool, CallError> {
        let is_transfer = self.runs_no_code()?;
        Ok(is_transfer && matches!(self.run(gas), Ok(Some(end)) if end.error.is_none()))
    }

    /// Whether the call is for an account without code, and has no data.
    fn runs_no_code(&mut self) -> Result<bool, CallError> {
        Ok(match self.message.to {
            Some(to) if self.message.input.is_empty() => self.runner.state().code(to)?.is_empty(),
            _ => false,
        })
    }

    /// Whether the call runs no code, and asks for nothing else that costs gas.
    fn is_plain(&mut self, request: &CallRequest) -> Result<bool, CallError> {
        let has_lists = request.access_list.is_some()
            || request.authorization_list.is_some()
            || request.blob_hashes.is_some();
        Ok(!has_lists && self.runs_no_code()?)
    }

    /// Gas above which an estimate is.
    fn least(&self) -> u64 {
        match (self.limits.estimates, self.message.to) {
            (Estimates::Usual | Estimates::Exact, _) => 0,
            (Estimates::Anvil, Some(_)) => TRANSFER_GAS,
            (Estimates::Anvil, None) => CREATE_GAS,
        }
    }

    /// The lowest gas limit, up to `most`, with which the call succeeds.
    fn search(&mut self, most: u64) -> Result<u64, CallError> {
        let first = match self.run(most)? {
            Some(end) if end.error.is_none() => end,
            Some(end) if end.error != Some(VmError::OutOfGas) => {
                return Err(CallError::Failed(Box::new(CallOutcome::from_end(end))));
            }
            _ => return Err(CallError::Allowance(most)),
        };
        let used = first.gas_used;
        let is_exact = self.limits.estimates != Estimates::Usual;
        if is_exact && used > self.least() && self.is_enough(used)? {
            return Ok(used);
        }
        let (mut low, mut high) = ((used - 1).max(self.least()), most);
        // Very likely sufficient: the used gas, and the reserve that calls need.
        let likely = u128::from(first.max_gas_used + STIPEND) * 64 / 63;
        let likely = u64::try_from(likely).unwrap_or(u64::MAX);
        if likely < high {
            self.narrow(likely, &mut low, &mut high)?;
        }
        while low + 1 < high {
            let is_near =
                u128::from(high - low) * 1000 < u128::from(high) * u128::from(ERROR_PER_MILLE);
            if is_near && !is_exact {
                break;
            }
            // Most calls need little more than they use.
            let middle = (high - low) / 2 + low;
            self.narrow(middle.min(low.saturating_mul(2)), &mut low, &mut high)?;
        }
        Ok(high)
    }

    /// Whether the call succeeds with this gas limit.
    fn is_enough(&mut self, gas: u64) -> Result<bool, CallError> {
        Ok(matches!(self.run(gas)?, Some(end) if end.error.is_none()))
    }

    /// Runs the call with this gas limit. `None` if the gas is below the intrinsic gas.
    fn run(&mut self, gas: u64) -> Result<Option<ExecutionEnd>, CallError> {
        let message = with_gas(&self.message, gas);
        let ended = self.runner.run(self.block, &message);
        self.runner.discard();
        let is_success = matches!(&ended, Ok(end) if end.error.is_none());
        self.has_succeeded |= is_success;
        if is_success || !self.has_succeeded {
            self.limits.report_console(&mut self.runner);
        }
        match ended {
            Ok(end) => Ok(Some(end)),
            Err(TxError::IntrinsicGas { .. } | TxError::FloorGas { .. }) => Ok(None),
            Err(error) => Err(CallError::from_tx_error_with(error, self.limits.timeout, |error| {
                CallError::EstimateRefused { error, gas }
            })),
        }
    }

    fn narrow(&mut self, gas: u64, low: &mut u64, high: &mut u64) -> Result<(), CallError> {
        match self.is_enough(gas)? {
            true => *high = gas,
            false => *low = gas,
        }
        Ok(())
    }
}
