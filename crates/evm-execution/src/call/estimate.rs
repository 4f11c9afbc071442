//! How much gas a transaction needs.

use alloy_primitives::U256;

use super::{CallEnv, CallError, CallLimits, CallOutcome, CallRequest, StateOverrides, with_gas};
use crate::executor::{BlockContext, ExecutionEnd, Message, Runner, TxError, VmError};

/// Gas of a plain transfer, which is tried first where nothing else can be needed.
const TRANSFER_GAS: u64 = 21_000;

/// Gas that a call with value gets on top.
const STIPEND: u64 = 2_300;

/// The search ends when what may be saved is less than this part of the estimate, in thousandths.
const ERROR_PER_MILLE: u64 = 15;

/// The least gas with which a call succeeds, up to 1.5 % too much.
///
/// Without a gas limit in the request it is looked for up to the block's.
pub fn estimate_gas(
    env: &CallEnv<'_>,
    request: &CallRequest,
    state: &StateOverrides,
    limits: &CallLimits<'_>,
) -> Result<u64, CallError> {
    let mut probe = Probe::new(env, &env.block, request, state, limits)?;
    let most = probe.most(request)?;
    if probe.is_enough_for_transfer(TRANSFER_GAS)? {
        return Ok(TRANSFER_GAS);
    }
    probe.search(most)
}

/// As [`estimate_gas`], for a transaction that is sent to the block of `env`, which may also be built one second
/// later: as `later`.
///
/// What a contract writes once a second was written in the last block, if that is of the same second. A
/// transaction that comes one second later writes it again.
pub fn estimate_gas_for_next(
    env: &CallEnv<'_>,
    later: &BlockContext,
    request: &CallRequest,
    state: &StateOverrides,
    limits: &CallLimits<'_>,
) -> Result<u64, CallError> {
    let gas = estimate_gas(env, request, state, limits)?;
    if gas == TRANSFER_GAS || env.block.time > env.state_time {
        return Ok(gas);
    }
    let mut probe = Probe::new(env, later, request, state, limits)?;
    match probe.run(gas) {
        Ok(Some(end)) if end.error.is_none() => return Ok(gas),
        Err(error) if error.is_stop() => return Err(error),
        Ok(_) | Err(_) => {}
    }
    match probe.most(request).and_then(|most| probe.search(most)) {
        Ok(more) => Ok(more.max(gas)),
        Err(error) if error.is_stop() => Err(error),
        // What can't be done a second later may still be done now.
        Err(_) => Ok(gas),
    }
}

struct Probe<'s, 'a> {
    runner: Runner<'a>,
    block: &'s BlockContext,
    message: Message,
    limits: &'s CallLimits<'a>,
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
        let runner = Runner::new(env.chain, overlay, block, limits.bounds);
        Ok(Self { runner, block, message, limits })
    }

    /// The most gas that can be given: the request's or the block's, what the sender can pay, the cap.
    fn most(&mut self, request: &CallRequest) -> Result<u64, CallError> {
        let mut most = match request.gas {
            Some(_) if self.message.gas_limit >= TRANSFER_GAS => self.message.gas_limit,
            _ => self.block.gas_limit,
        };
        let price = self.message.fee_cap;
        if !price.is_zero() {
            let balance = self.runner.state().balance(self.message.from)?;
            let value = self.message.value;
            // As in the reference: a value of all there is, even of nothing, leaves nothing for gas.
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

    /// Is it a transfer to an account without code, and is that much gas enough for it?
    fn is_enough_for_transfer(&mut self, gas: u64) -> Result<bool, CallError> {
        let is_transfer = match self.message.to {
            Some(to) if self.message.input.is_empty() => self.runner.state().code(to)?.is_empty(),
            _ => false,
        };
        Ok(is_transfer && matches!(self.run(gas), Ok(Some(end)) if end.error.is_none()))
    }

    /// The least gas, up to `most`, with which it succeeds.
    fn search(&mut self, most: u64) -> Result<u64, CallError> {
        let first = match self.run(most)? {
            Some(end) if end.error.is_none() => end,
            Some(end) if end.error != Some(VmError::OutOfGas) => {
                return Err(CallError::Failed(Box::new(CallOutcome::from_end(end))));
            }
            _ => return Err(CallError::Allowance(most)),
        };
        let (mut low, mut high) = (first.gas_used - 1, most);
        // Very likely enough: what was used, and what must be there for the deepest call.
        let likely = u128::from(first.gas_used + STIPEND) * 64 / 63;
        let likely = u64::try_from(likely).unwrap_or(u64::MAX);
        if likely < high {
            self.narrow(likely, &mut low, &mut high)?;
        }
        while low + 1 < high {
            if u128::from(high - low) * 1000 < u128::from(high) * u128::from(ERROR_PER_MILLE) {
                break;
            }
            // Most need little more than they use.
            let middle = (high - low) / 2 + low;
            self.narrow(middle.min(low.saturating_mul(2)), &mut low, &mut high)?;
        }
        Ok(high)
    }

    /// Runs it with this much gas. `None`: too little to begin.
    fn run(&mut self, gas: u64) -> Result<Option<ExecutionEnd>, CallError> {
        let message = with_gas(&self.message, gas);
        let ended = self.runner.run(self.block, &message);
        self.runner.discard();
        match ended {
            Ok(end) => Ok(Some(end)),
            Err(TxError::IntrinsicGas { .. }) => Ok(None),
            Err(error) => Err(CallError::from_tx_error_with(error, self.limits.timeout, |error| {
                CallError::EstimateRefused { error, gas }
            })),
        }
    }

    fn narrow(&mut self, gas: u64, low: &mut u64, high: &mut u64) -> Result<(), CallError> {
        match self.run(gas)? {
            Some(end) if end.error.is_none() => *high = gas,
            _ => *low = gas,
        }
        Ok(())
    }
}
