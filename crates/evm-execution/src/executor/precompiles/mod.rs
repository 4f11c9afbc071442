//! Precompiled contracts: Ethereum's of the phase, those of native assets, and warp.

mod console;
mod modexp;
mod moved;
mod named;
mod outcome;
mod pieces;
mod recovered;
mod texts;
mod warp;

use alloy_primitives::{Bytes, U256};
use esker_evm_state::state::asset_slot;
use revm::database_interface::Database;
use revm::handler::PrecompileProvider;
use revm::interpreter::{CallInputs, Gas, InstructionResult, InterpreterResult};
use revm::precompile::{
    Precompile, PrecompileError, PrecompileHalt, PrecompileOutput, PrecompileStatus,
    Precompiles as Standard,
};
use revm::primitives::hardfork::SpecId;
use revm::primitives::{Address, AddressSet};
use thiserror::Error;

use super::check::WARP;
use super::database::DatabaseError;
use super::env::EvmContext;
use super::native_asset::{NATIVE_ASSET_BALANCE, NATIVE_ASSET_CALL};
use super::{Bounds, Stop, VmError};
use crate::rules::{BLACKHOLE, ExecutionRules, NativeAsset, Revision};

use modexp::LengthError;
use outcome::PrecompileOutcome;
use pieces::LongCallInput;

pub(crate) use moved::MovedPrecompiles;
pub use named::named_precompiles;

/// Address of the contract that recovers signers.
const ECRECOVER: Address = revm::precompile::u64_to_address(1);

/// Gas of a query for the balance of another asset.
const ASSET_BALANCE_GAS: u64 = 2_100;

/// Why a precompiled contract ends the execution as a whole.
#[derive(Debug, Error)]
enum FatalError {
    /// The execution must stop; [`super::ChainEnv::stopped`] has the reason.
    #[error("stopped")]
    Stopped,
    /// The contract failed in a way that it should not.
    #[error(transparent)]
    Contract(#[from] PrecompileError),
}

/// The precompiled contracts of a phase.
#[derive(Debug)]
pub(super) struct Precompiles {
    standard: &'static Standard,
    rules: ExecutionRules,
    /// The addresses that count as accessed from the start, without warp.
    warm: AddressSet,
    moved: MovedPrecompiles,
}

impl Precompiles {
    pub(super) fn new(rules: &ExecutionRules) -> Self {
        let standard = moved::standard(rules);
        let mut warm = standard.addresses_set().clone();
        if rules.native_asset != NativeAsset::Absent {
            warm.extend([BLACKHOLE, NATIVE_ASSET_BALANCE, NATIVE_ASSET_CALL]);
        }
        let moved = MovedPrecompiles::default();
        Self { standard, rules: *rules, warm, moved }
    }

    /// Moves some precompiled contracts.
    pub(super) fn move_to(&mut self, moved: MovedPrecompiles) {
        moved.apply(&mut self.warm);
        self.moved = moved;
    }

    /// The addresses of the precompiled contracts, without warp.
    pub(super) fn addresses(&self) -> &AddressSet {
        &self.warm
    }

    fn run_own(
        &self,
        context: &mut EvmContext<'_>,
        inputs: &CallInputs,
    ) -> Result<Option<PrecompileOutcome>, DatabaseError> {
        let (address, gas) = (inputs.bytecode_address, inputs.gas_limit);
        if address == WARP && self.rules.warp {
            let input = inputs.input.bytes(&*context);
            return Ok(Some(warp::run(context, inputs, &input)));
        }
        if self.moved.resolve(address) == ECRECOVER && context.chain.chain.has_control_values {
            return recovered::run(context, inputs);
        }
        Ok(match (self.rules.native_asset, address) {
            (NativeAsset::Absent, _) => None,
            (_, BLACKHOLE) => Some(PrecompileOutcome::Reverted(gas)),
            (NativeAsset::Reverts, NATIVE_ASSET_BALANCE | NATIVE_ASSET_CALL) => {
                Some(PrecompileOutcome::Reverted(gas))
            }
            (NativeAsset::On, NATIVE_ASSET_BALANCE) => {
                let input = inputs.input.bytes(&*context);
                Some(asset_balance(context, &input, gas)?)
            }
            // `native_asset` makes calls with assets. They do not run here.
            _ => None,
        })
    }
}

/// `address 20 | asset 32` -> the balance.
fn asset_balance(
    context: &mut EvmContext<'_>,
    input: &[u8],
    gas: u64,
) -> Result<PrecompileOutcome, DatabaseError> {
    let Some(gas) = gas.checked_sub(ASSET_BALANCE_GAS) else {
        return Ok(PrecompileOutcome::Failed(VmError::OutOfGas));
    };
    let Ok(input) = <&[u8; 52]>::try_from(input) else {
        return Ok(PrecompileOutcome::Reverted(gas));
    };
    let (address, asset) = (Address::from_slice(&input[..20]), &input[20..]);
    let slot = asset_slot(revm::primitives::B256::from_slice(asset));
    let journal = &mut context.journaled_state;
    let held = journal.inner.state.get(&address).map(|account| {
        (account.storage.get(&slot).map(|slot| slot.present_value()), account.is_created())
    });
    let balance = match held {
        Some((Some(balance), _)) => balance,
        Some((None, true)) => U256::ZERO,
        _ => journal.database.storage(address, slot)?,
    };
    Ok(PrecompileOutcome::Done(gas, Bytes::copy_from_slice(&balance.to_be_bytes::<32>())))
}

/// Runs a precompiled contract of Ethereum, in pieces if the call is long and may be stopped.
fn run_standard(
    precompile: &Precompile,
    revision: Revision,
    context: &mut EvmContext<'_>,
    inputs: &CallInputs,
) -> Result<PrecompileOutcome, FatalError> {
    let (gas_limit, reservoir) = (inputs.gas_limit, inputs.reservoir);
    let Bounds { memory, stop, .. } = context.chain.bounds;
    let memory = memory.unwrap_or(u64::MAX);
    let input = inputs.input.as_bytes(&*context);
    let in_pieces = |stop| {
        let call = LongCallInput { precompile, revision, input: &input, gas_limit, reservoir };
        pieces::run(&call, stop)
    };
    let ran = match modexp::check(precompile, revision, &input, gas_limit, memory) {
        Ok(()) => stop.and_then(in_pieces),
        Err(LengthError::OutOfGas) => {
            Some(Ok(PrecompileOutput::halt(PrecompileHalt::OutOfGas, reservoir)))
        }
        Err(LengthError::Limit) => Some(Err(Stop::MemoryLimit(memory))),
    };
    let output = match ran {
        None => precompile.execute(&input, gas_limit, reservoir)?,
        Some(Ok(output)) => output,
        Some(Err(stop)) => {
            drop(input);
            context.chain.stopped = Some(stop);
            return Err(FatalError::Stopped);
        }
    };
    Ok(match output.status {
        _ if output.gas_used > gas_limit => PrecompileOutcome::Failed(VmError::OutOfGas),
        PrecompileStatus::Success => {
            PrecompileOutcome::Done(gas_limit - output.gas_used, output.bytes)
        }
        PrecompileStatus::Revert => PrecompileOutcome::Reverted(gas_limit - output.gas_used),
        PrecompileStatus::Halt(halt) => {
            PrecompileOutcome::Failed(texts::vm_error(&halt, revision, &input))
        }
    })
}

impl<'a> PrecompileProvider<EvmContext<'a>> for Precompiles {
    type Output = InterpreterResult;

    fn set_spec(&mut self, _: SpecId) -> bool {
        // The contracts are those of the phase from the start.
        false
    }

    fn run(
        &mut self,
        context: &mut EvmContext<'a>,
        inputs: &CallInputs,
    ) -> Result<Option<InterpreterResult>, String> {
        let ran = match self.run_own(context, inputs) {
            Ok(Some(ran)) => ran,
            Ok(None) => match self.standard.get(&self.moved.resolve(inputs.bytecode_address)) {
                Some(precompile) => run_standard(precompile, self.rules.revision, context, inputs)
                    .map_err(|error| error.to_string())?,
                None => {
                    console::keep(context, inputs);
                    return Ok(None);
                }
            },
            Err(error) => {
                let text = error.to_string();
                context.error = Err(revm::context_interface::context::ContextError::Db(error));
                return Err(text);
            }
        };
        let mut gas = Gas::new(inputs.gas_limit);
        let (result, output) = match ran {
            PrecompileOutcome::Done(left, output) => {
                gas.set_spent(inputs.gas_limit - left);
                (InstructionResult::Return, output)
            }
            PrecompileOutcome::Reverted(left) => {
                gas.set_spent(inputs.gas_limit - left);
                (InstructionResult::Revert, Bytes::new())
            }
            PrecompileOutcome::Failed(error) => {
                gas.spend_all();
                context.chain.failure = Some(error);
                (InstructionResult::PrecompileError, Bytes::new())
            }
        };
        if context.chain.spend(gas.total_gas_spent()) {
            return Err(FatalError::Stopped.to_string());
        }
        Ok(Some(InterpreterResult { result, output, gas }))
    }

    fn warm_addresses(&self) -> &AddressSet {
        &self.warm
    }
}
