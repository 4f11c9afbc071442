//! The environment of instructions and precompiled contracts.

use std::fmt;

use alloy_primitives::{Address, U256};
use revm::context::{BlockEnv, CfgEnv, Context, Journal, LocalContext, TxEnv};
use revm::context_interface::JournalTr;
use revm::context_interface::context::ContextError;
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::{InstructionContext, InstructionResult};

use super::called::CalledAccounts;
use super::database::DatabaseError;
use super::refund_counter::RefundCounter;
use super::stop_meter::StopMeter;
use super::{Bounds, MachineParams, StateOverlay, Stop, VmError};
use crate::console::ConsoleCalls;
use crate::rules::ExecutionRules;

/// The context of code: block, transaction, and journal over a [`StateOverlay`].
pub type EvmContext<'a> = Context<
    BlockEnv,
    TxEnv,
    CfgEnv,
    StateOverlay<'a>,
    Journal<StateOverlay<'a>>,
    ChainEnv<'a>,
    LocalContext,
>;

/// An instruction's view of the machine.
pub(super) type Ictx<'i, 'a> = InstructionContext<'i, EvmContext<'a>, EthInterpreter>;

/// Data for instructions and precompiled contracts that revm has no fields for.
pub struct ChainEnv<'a> {
    pub(super) chain: MachineParams,
    /// Whether the chain ID was read from the state.
    pub(super) knows_chain_id: bool,
    pub(super) rules: ExecutionRules,
    /// BASEFEE, which may exceed revm's 64 bits.
    pub(super) base_fee: U256,
    /// GASPRICE, which may exceed revm's 128 bits.
    pub(super) gas_price: U256,
    /// Wei that the sender pays in advance, without the value.
    pub(super) prepaid: U256,
    pub(super) intrinsic_gas: u64,
    /// Least gas of the message (EIP-7623).
    pub(super) floor_gas: u64,
    /// Gas of the message that is withheld from a try.
    pub(super) withheld_gas: u64,
    /// The error of the outermost frame. The loop over frames sets it.
    pub(super) end: Option<VmError>,
    /// The error of the last called precompiled contract.
    pub(super) failure: Option<VmError>,
    pub(super) bounds: Bounds<'a>,
    pub(super) meter: StopMeter,
    pub(super) stopped: Option<Stop>,
    /// The error of the frame whose end is shown to the inspector next.
    pub(super) frame_error: Option<VmError>,
    /// Whether the inspector skips instructions.
    pub(super) skips_steps: bool,
    /// Parts of the refund counter, if an inspector watches.
    pub(super) refunds: RefundCounter,
    /// The refund counter that a tracer sees.
    pub(crate) refund_shown: u64,
    /// The recipient and the amount of the last SELFDESTRUCT.
    pub(super) destroyed: Option<(Address, U256)>,
    /// What the message printed; `None` if nobody wants it.
    pub(super) console: Option<ConsoleCalls>,
    /// The accounts that the message called; `None` if nobody wants them.
    pub(super) called: Option<CalledAccounts>,
}

impl fmt::Debug for ChainEnv<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChainEnv").field("chain", &self.chain).finish_non_exhaustive()
    }
}

impl<'a> ChainEnv<'a> {
    /// The chain.
    pub(crate) fn chain(&self) -> &MachineParams {
        &self.chain
    }

    /// Memory, and when to stop.
    pub(crate) fn bounds(&self) -> Bounds<'a> {
        self.bounds
    }

    /// Whether to stop. It is called after instructions that may take long, with the remaining gas.
    #[inline]
    pub(super) fn must_stop(&mut self, gas_left: u64) -> bool {
        self.meter.is_due(gas_left) && self.ask_in_frame(gas_left)
    }

    #[cold]
    fn ask_in_frame(&mut self, gas_left: u64) -> bool {
        self.meter.restart(gas_left);
        self.ask()
    }

    /// Called when code begins or continues.
    pub(super) fn frame_runs(&mut self, gas_left: u64) {
        self.meter.frame_runs(gas_left);
    }

    /// Called when code ends or calls. `gas_left` includes the gas of the call.
    pub(super) fn frame_rests(&mut self, gas_left: u64) {
        self.meter.frame_rests(gas_left);
    }

    /// Counts work outside of code, as gas. Returns true to stop.
    pub(super) fn spend(&mut self, work: u64) -> bool {
        if self.meter.spend(work) { self.ask() } else { self.stopped.is_some() }
    }

    /// Counts work besides the gas of code, such as that of a tracer. Returns true to stop.
    pub(crate) fn spend_in_frame(&mut self, work: u64, gas_left: u64) -> bool {
        self.count_in_frame(work);
        self.must_stop(gas_left)
    }

    /// As [`Self::spend_in_frame`], without a stop check.
    pub(crate) fn count_in_frame(&mut self, work: u64) {
        self.meter.spend_in_frame(work);
    }

    fn ask(&mut self) -> bool {
        if self.stopped.is_none()
            && let Some(stop) = self.bounds.stop
        {
            self.stopped = stop();
        }
        self.stopped.is_some()
    }

    /// Ends the execution at the next call or jump.
    pub(crate) fn abort(&mut self) {
        self.stopped.get_or_insert(Stop::Cancelled);
        self.meter.set_due();
    }

    /// Sets whether the inspector skips instructions. Code then runs at full speed.
    pub(crate) fn skip_steps(&mut self, skips: bool) {
        self.skips_steps = skips;
    }

    /// The error of the frame whose end the inspector is shown; `None` if it succeeded.
    pub(crate) fn frame_error(&self) -> Option<&VmError> {
        self.frame_error.as_ref()
    }

    /// Takes the recipient and the amount of the last SELFDESTRUCT.
    pub(crate) fn take_destroyed(&mut self) -> Option<(Address, U256)> {
        self.destroyed.take()
    }

    /// The slot of a storage key.
    pub(crate) fn storage_slot(&self, key: U256) -> U256 {
        self.rules.storage_keys.slot(key)
    }

    /// Ends a try that could continue differently with the whole gas of its message. Returns true to stop.
    pub(super) fn end_try(&mut self) -> bool {
        let is_try = self.withheld_gas > 0;
        if is_try {
            self.stopped = Some(Stop::TryEnded);
        }
        is_try
    }
}

/// Ends the whole execution; [`super::ChainEnv::stopped`] has the reason.
pub(crate) fn stop_execution(host: &mut EvmContext<'_>) -> InstructionResult {
    host.error = Err(ContextError::Custom("stopped".into()));
    InstructionResult::FatalExternalError
}

/// An account's nonce during the execution of a message.
pub(crate) fn nonce_of(
    context: &mut EvmContext<'_>,
    address: Address,
) -> Result<u64, DatabaseError> {
    Ok(context.journaled_state.load_account(address)?.info.nonce)
}
