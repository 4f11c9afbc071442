//! Unsigned messages: calls, gas estimates, access lists (docs/protocol/c-chain-execution.md, "Calls").
//!
//! The functions here take a [`CallEnv`]: the state and the block of the call. RPC reads requests and renders
//! results. Error texts come from here.

mod access_list;
mod bundle;
mod error;
mod estimate;
mod many;
mod outcome;
mod overrides;
mod request;

use std::cell::RefCell;

use esker_evm_state::state::StateView;

use crate::console::ConsoleCalls;
use crate::executor::{
    BlockContext, BlockHashes, Bounds, ChainParams, Message, Runner, StateOverlay, TxError,
};
use crate::rules::BlockPoint;

pub use access_list::{AccessListOutcome, create_access_list};
pub use bundle::{BundleOutcome, BundleTxOutcome, call_bundle};
pub use error::{CallError, go_duration};
pub use estimate::{estimate_gas, estimate_gas_for_next};
pub use many::{Bundle, MAX_BUNDLES, MAX_RETURNED_BYTES, call_many};
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
    /// The block whose state `view` is. Forks between it and `block` are activated.
    pub state_point: BlockPoint,
    /// The block that code sees ([`BlockContext::for_call`], [`BlockContext::next`]). Prices are checked against its
    /// base fee. At the tip this is the lower base fee of the last and the next block (docs/decisions.md, "Base fee
    /// of a call").
    pub block: BlockContext,
    /// Hashes of the block and its ancestors.
    pub hashes: &'a dyn BlockHashes,
}

impl std::fmt::Debug for CallEnv<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallEnv").field("block", &self.block).finish_non_exhaustive()
    }
}

/// Default memory limit of a call, bytes. It is several times the memory that the reference's gas cap of 50,000,000
/// pays for.
pub const CALL_MEMORY: u64 = 256 << 20;

/// Limits of a call.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallLimits<'a> {
    /// Highest gas limit. A higher request is lowered to it. 0 is no limit.
    pub gas_cap: u64,
    /// Memory limit and stop check.
    pub bounds: Bounds<'a>,
    /// The time after which [`Bounds::stop`] stops, for the error text.
    pub timeout: std::time::Duration,
    /// Receives what the code of calls prints: of an estimate, that of its last run that succeeded, or of the run that
    /// failed; of an access list, that of its last run. `None` if nobody wants it.
    pub console: Option<&'a RefCell<ConsoleCalls>>,
    /// How estimates are made.
    pub estimates: Estimates,
}

/// How gas is estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Estimates {
    /// Up to 1.5 % too high, as geth's.
    #[default]
    Usual,
    /// The gas that the call uses, if that is enough, as that of Hardhat's node.
    Exact,
    /// Exact, above the gas of an empty call, and 21,000 for a transfer to an account without code, which is not run, as
    /// anvil's.
    Anvil,
}

/// Accounts and slots that are changed between two stop checks.
pub(crate) const CHANGES_BETWEEN_CHECKS: usize = 64;

impl CallLimits<'_> {
    /// Lets a runner keep what its messages print, if somebody wants it.
    pub(crate) fn prepare<I>(&self, runner: &mut Runner<'_, I>) {
        if self.console.is_some() {
            runner.keep_console();
        }
    }

    /// Passes on what the last message printed, and nothing that earlier ones did.
    fn report_console<I>(&self, runner: &mut Runner<'_, I>) {
        if let Some(console) = self.console {
            console.replace(runner.take_console());
        }
    }

    /// Passes on what the last message printed, after what earlier ones did.
    pub(crate) fn add_console<I>(&self, runner: &mut Runner<'_, I>) {
        if let Some(console) = self.console {
            console.borrow_mut().append(runner.take_console());
        }
    }

    /// Fails if the call must stop. It is called between steps of work that executes no code.
    pub(crate) fn check(&self) -> Result<(), CallError> {
        match self.bounds.stop.and_then(|stop| stop()) {
            Some(stop) => Err(CallError::from_tx_error(TxError::Stopped(stop), 0, self.timeout)),
            None => Ok(()),
        }
    }
}

/// Makes a call without changing the state.
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
    let mut runner = Runner::new(&env.chain.machine, overlay, &block, limits.bounds);
    limits.prepare(&mut runner);
    let ended = runner.run(&block, &message);
    limits.report_console(&mut runner);
    let ended = ended
        .map_err(|error| CallError::from_tx_error(error, message.gas_limit, limits.timeout))?;
    Ok(CallOutcome::from_end(ended))
}

/// The state of an environment, with overrides.
pub fn overlay<'a>(
    env: &CallEnv<'a>,
    overrides: &StateOverrides,
    limits: &CallLimits<'_>,
) -> Result<StateOverlay<'a>, CallError> {
    let rules = &env.chain.rules;
    let mut state = StateOverlay::new(env.view, env.hashes, env.chain.machine.codes.clone());
    rules.apply_forks(&env.state_point, &env.block.point(), &mut state)?;
    overrides.apply(rules.storage_keys(), &mut state, limits)?;
    Ok(state)
}

/// The same message with another gas limit.
fn with_gas(message: &Message, gas_limit: u64) -> Message {
    Message { gas_limit, ..message.clone() }
}
