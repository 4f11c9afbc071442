//! Calls in sequence: each runs on the state that those before it left.

use alloy_primitives::U256;

use super::{BlockOverrides, CallEnv, CallError, CallLimits, CallOutcome, CallRequest};
use crate::executor::{Message, Runner, StateOverlay, TxError};

/// Most bundles of a sequence.
pub const MAX_BUNDLES: usize = 256;

/// Most bytes that all calls of a sequence return. The gas cap alone allows a hundred megabytes.
pub const MAX_RETURNED_BYTES: usize = 12_000_000;

/// Calls that see the same block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bundle {
    /// The calls.
    pub calls: Vec<CallRequest>,
    /// Overrides of the block, for this bundle only.
    pub block: BlockOverrides,
}

/// Makes calls in sequence on `state`, which is lost. The first bundle sees the block of the environment, each further
/// one a block that is one higher, and as much later as blocks are apart. `limits` bounds memory, time, and the gas of all
/// calls together.
///
/// # Errors
/// One of the calls can't be executed. A call that fails is an outcome.
pub fn call_many<'a>(
    env: &CallEnv<'_>,
    mut state: StateOverlay<'a>,
    bundles: &[Bundle],
    limits: &CallLimits<'a>,
) -> Result<Vec<Vec<CallOutcome>>, CallError> {
    if bundles.iter().all(|bundle| bundle.calls.is_empty()) {
        return Err(CallError::NoCalls);
    }
    if bundles.len() > MAX_BUNDLES {
        return Err(CallError::TooManyBundles { have: bundles.len(), most: MAX_BUNDLES });
    }
    let mut left = Left { gas: limits.gas_cap, returned: MAX_RETURNED_BYTES };
    let mut outcomes = Vec::with_capacity(bundles.len());
    for (index, bundle) in bundles.iter().enumerate() {
        let env = CallEnv { block: later(env, index as u64).apply(env), ..env.clone() };
        let (after, made) = run(&env, state, bundle, limits, &mut left)?;
        state = after;
        outcomes.push(made);
    }
    Ok(outcomes)
}

/// The block so many blocks after that of an environment.
fn later(env: &CallEnv<'_>, blocks: u64) -> BlockOverrides {
    let interval_s = env.chain.rules.block_interval_s();
    BlockOverrides {
        number: Some(env.block.number.saturating_add(U256::from(blocks))),
        time: Some(env.block.time.saturating_add(blocks.saturating_mul(interval_s))),
        ..BlockOverrides::default()
    }
}

/// What calls may still use.
struct Left {
    /// Gas. It is without meaning if there is no gas cap.
    gas: u64,
    /// Bytes that they return.
    returned: usize,
}

/// Makes the calls of a bundle. Returns the state after them, too.
fn run<'a>(
    env: &CallEnv<'_>,
    state: StateOverlay<'a>,
    bundle: &Bundle,
    limits: &CallLimits<'a>,
    left: &mut Left,
) -> Result<(StateOverlay<'a>, Vec<CallOutcome>), CallError> {
    let block = bundle.block.apply(env);
    let mut runner = Runner::new(&env.chain.machine, state, &block, limits.bounds);
    limits.prepare(&mut runner);
    let mut outcomes = Vec::with_capacity(bundle.calls.len());
    for request in &bundle.calls {
        limits.check()?;
        let message = message(request, limits, left)?;
        let ended = runner.run(&block, &message);
        limits.add_console(&mut runner);
        let ended = ended.map_err(|error| refused(error, &message, limits, left))?;
        runner.commit()?;
        left.gas = left.gas.saturating_sub(ended.gas_used);
        let outcome = CallOutcome::from_end(ended);
        let returned = left.returned.checked_sub(outcome.output.len());
        left.returned = returned.ok_or(CallError::TooMuchData(MAX_RETURNED_BYTES))?;
        outcomes.push(CallOutcome { logs: Vec::new(), ..outcome });
    }
    Ok((runner.into_parts().0, outcomes))
}

/// The message of a call, with at most the gas that is left.
fn message(
    request: &CallRequest,
    limits: &CallLimits<'_>,
    left: &Left,
) -> Result<Message, CallError> {
    let message = request.message(limits.gas_cap)?;
    let gas_limit = match limits.gas_cap {
        0 => message.gas_limit,
        _ => message.gas_limit.min(left.gas),
    };
    Ok(Message { gas_limit, ..message })
}

/// Why a call can't be executed.
fn refused(error: TxError, message: &Message, limits: &CallLimits<'_>, left: &Left) -> CallError {
    let lacks = match error {
        TxError::IntrinsicGas { want, .. } | TxError::FloorGas { want, .. } => Some(want),
        _ => None,
    };
    match lacks {
        Some(want) if message.gas_limit == left.gas && limits.gas_cap != left.gas => {
            CallError::GasCapUsedUp { cap: limits.gas_cap, left: left.gas, want }
        }
        _ => CallError::from_tx_error(error, message.gas_limit, limits.timeout),
    }
}
