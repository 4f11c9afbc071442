//! The environment of instructions and precompiled contracts.

use std::fmt;

use alloy_primitives::{Address, U256};
use revm::context::{BlockEnv, CfgEnv, Context, Journal, LocalContext, TxEnv};
use revm::context_interface::JournalTr;
use revm::context_interface::context::ContextError;
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::{InstructionContext, InstructionResult};

use super::database::DatabaseError;
use super::stop_meter::StopMeter;
use super::{Bounds, ChainParams, StateOverlay, Stop, VmError};
use crate::rules::NativeAsset;

/// What code runs in: block, transaction, journal over a [`StateOverlay`].
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

/// What instructions and precompiled contracts need beside what revm has places for.
pub struct ChainEnv<'a> {
    pub(super) chain: ChainParams,
    pub(super) native_asset: NativeAsset,
    /// BASEFEE, which may exceed revm's 64 bits.
    pub(super) base_fee: U256,
    /// GASPRICE, which may exceed revm's 128 bits.
    pub(super) gas_price: U256,
    /// What the sender pays beforehand, the value aside.
    pub(super) prepaid: U256,
    pub(super) intrinsic_gas: u64,
    /// Gas of the message that a try does not get.
    pub(super) withheld_gas: u64,
    /// How the outermost frame ended; set by the frames' loop.
    pub(super) end: Option<VmError>,
    /// Why the precompiled contract called last failed.
    pub(super) failure: Option<VmError>,
    pub(super) bounds: Bounds<'a>,
    pub(super) meter: StopMeter,
    pub(super) stopped: Option<Stop>,
    /// How the frame ended whose end an inspector is shown next.
    pub(super) frame_error: Option<VmError>,
    /// Does the inspector want no instructions?
    pub(super) skips_steps: bool,
    /// Who got what a contract had that destroyed itself, and how much.
    pub(super) destroyed: Option<(Address, U256)>,
}

impl fmt::Debug for ChainEnv<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChainEnv").field("chain", &self.chain).finish_non_exhaustive()
    }
}

impl<'a> ChainEnv<'a> {
    /// The chain.
    pub(crate) fn chain(&self) -> &ChainParams {
        &self.chain
    }

    /// Memory, and when to stop.
    pub(crate) fn bounds(&self) -> Bounds<'a> {
        self.bounds
    }

    /// Whether to stop, asked now and then: after an instruction that may have been long, with the gas that is left.
    #[inline]
    pub(super) fn must_stop(&mut self, gas_left: u64) -> bool {
        self.meter.is_due(gas_left) && self.ask_in_frame(gas_left)
    }

    #[cold]
    fn ask_in_frame(&mut self, gas_left: u64) -> bool {
        self.meter.restart(gas_left);
        self.ask()
    }

    /// Code begins to run, or goes on.
    pub(super) fn frame_runs(&mut self, gas_left: u64) {
        self.meter.frame_runs(gas_left);
    }

    /// It has ended, or calls; `gas_left` includes the gas of the call.
    pub(super) fn frame_rests(&mut self, gas_left: u64) {
        self.meter.frame_rests(gas_left);
    }

    /// Counts work outside of code, as gas; true: stop.
    pub(super) fn spend(&mut self, work: u64) -> bool {
        if self.meter.spend(work) { self.ask() } else { self.stopped.is_some() }
    }

    /// Counts work beside the gas of code that runs, such as a tracer's; true: stop.
    pub(crate) fn spend_in_frame(&mut self, work: u64, gas_left: u64) -> bool {
        self.count_in_frame(work);
        self.must_stop(gas_left)
    }

    /// Counts such work, without a question.
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

    /// Are instructions not shown to the inspector? Code then runs at full speed.
    pub(crate) fn skip_steps(&mut self, skips: bool) {
        self.skips_steps = skips;
    }

    /// How the frame ended that an inspector is shown the end of; `None`: well.
    pub(crate) fn frame_error(&self) -> Option<&VmError> {
        self.frame_error.as_ref()
    }

    /// Who got what the contract had that destroyed itself last, and how much.
    pub(crate) fn take_destroyed(&mut self) -> Option<(Address, U256)> {
        self.destroyed.take()
    }

    /// The slot that a storage key means.
    pub(crate) fn storage_slot(&self, key: U256) -> U256 {
        self.chain.rules.storage_slot(key)
    }

    /// Ends a try that could go on otherwise with all the gas of its message; true: stop.
    pub(super) fn end_try(&mut self) -> bool {
        let is_try = self.withheld_gas > 0;
        if is_try {
            self.stopped = Some(Stop::TryEnded);
        }
        is_try
    }
}

/// Ends the execution as a whole; [`super::ChainEnv::stopped`] holds the reason.
pub(crate) fn stop_execution(host: &mut EvmContext<'_>) -> InstructionResult {
    host.error = Err(ContextError::Custom("stopped".into()));
    InstructionResult::FatalExternalError
}

/// An account's nonce while a message runs.
pub(crate) fn nonce_of(
    context: &mut EvmContext<'_>,
    address: Address,
) -> Result<u64, DatabaseError> {
    Ok(context.journaled_state.load_account(address)?.info.nonce)
}
