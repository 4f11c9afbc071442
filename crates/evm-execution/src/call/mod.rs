//! Unsigned messages: calls, gas estimates, access lists (docs/protocol/c-chain-execution.md, "Calls").
//!
//! Everything here is a plain function over a [`CallEnv`], the state and the block at which is called. RPC
//! reads requests and renders results; texts come from here.

mod access_list;
mod error;
mod estimate;
mod outcome;
mod overrides;
mod request;

use esker_evm_state::state::StateView;

use crate::executor::{
    BlockContext, BlockHashes, Bounds, ChainParams, Message, Runner, StateOverlay, TxError,
    activate,
};

pub use access_list::{AccessListOutcome, create_access_list};
pub use error::{CallError, go_duration};
pub use estimate::{estimate_gas, estimate_gas_for_next};
pub use outcome::{CallOutcome, RevertReason, failure_text, panic_reason, revert_reason};
pub use overrides::{AccountOverride, BlockOverrides, StateOverrides};
pub use request::CallRequest;

/// The environment of a call.
#[derive(Clone)]
pub struct CallEnv<'a> {
    /// The chain.
    pub chain: &'a ChainParams,
    /// The state.
    pub view: StateView<'a>,
    /// Time of the block whose state `view` is, Unix s. What begins between it and the time of `block` is active.
    pub state_time: u64,
    /// The block that code sees ([`BlockContext::for_call`], [`BlockContext::next`]). Prices are checked against
    /// its base fee: at the tip that is the lower of the last and the next one (docs/decisions.md, "Base fee of a
    /// call").
    pub block: BlockContext,
    /// Hashes of that block and those before it.
    pub hashes: &'a dyn BlockHashes,
}

impl std::fmt::Debug for CallEnv<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallEnv").field("block", &self.block).finish_non_exhaustive()
    }
}

/// Memory that a call may use where nothing else is said, bytes: several times what the reference's gas cap
/// of 50,000,000 pays for.
pub const CALL_MEMORY: u64 = 256 << 20;

/// What a call may use.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallLimits<'a> {
    /// Most gas; a request for more is lowered to it. 0: no limit.
    pub gas_cap: u64,
    /// Memory, and when to stop.
    pub bounds: Bounds<'a>,
    /// The time after which [`Bounds::stop`] stops, for the text.
    pub timeout: std::time::Duration,
}

/// Accounts and slots that are changed between two checks whether to stop.
pub(crate) const CHANGES_BETWEEN_CHECKS: usize = 64;

impl CallLimits<'_> {
    /// Checks whether to go on, between steps of work that runs no code.
    pub(crate) fn check(&self) -> Result<(), CallError> {
        match self.bounds.stop.and_then(|stop| stop()) {
            Some(stop) => Err(CallError::from_tx_error(TxError::Stopped(stop), 0, self.timeout)),
            None => Ok(()),
        }
    }
}

/// Makes a call; nothing of it stays.
pub fn call(
    env: &CallEnv<'_>,
    request: &CallRequest,
    state: &StateOverrides,
    block: &BlockOverrides,
    limits: &CallLimits<'_>,
) -> Result<CallOutcome, CallError> {
    let block = block.apply(env);
    let overlay = overlay(env, state, limits)?;
    let message = request.message(limits.gas_cap)?;
    let mut runner = Runner::new(env.chain, overlay, &block, limits.bounds);
    let ended = runner
        .run(&block, &message)
        .map_err(|error| CallError::from_tx_error(error, message.gas_limit, limits.timeout))?;
    Ok(CallOutcome::from_end(ended))
}

/// The state of an environment, with overrides.
pub fn overlay<'a>(
    env: &CallEnv<'a>,
    overrides: &StateOverrides,
    limits: &CallLimits<'_>,
) -> Result<StateOverlay<'a>, CallError> {
    let mut state = StateOverlay::new(env.view, env.hashes, env.chain.codes.clone());
    activate(env.chain, &mut state, env.state_time, env.block.time)?;
    overrides.apply(&*env.chain.rules, &mut state, limits)?;
    Ok(state)
}

/// The same message with another gas limit.
fn with_gas(message: &Message, gas_limit: u64) -> Message {
    Message { gas_limit, ..message.clone() }
}
