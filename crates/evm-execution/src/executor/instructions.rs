//! The instruction table of a fork, with the differences from Ethereum's. Instructions with operands are in
//! [`super::operands`].

use alloy_primitives::U256;
use revm::bytecode::opcode;
use revm::handler::instructions::EthInstructions;
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::{Instruction, InstructionExecResult, InstructionResult};
use revm::primitives::hardfork::SpecId;

use super::env::{EvmContext, Ictx, stop_execution};
use super::operands::in_order;
use super::storage::sstore_of_constantinople;
use super::{Bounds, operands};
use crate::rules::Revision;

/// The instructions of a fork, with this chain's differences and the checks of the bounds.
pub(super) fn table<'a>(
    revision: Revision,
    spec: SpecId,
    bounds: Bounds<'_>,
) -> EthInstructions<EthInterpreter, EvmContext<'a>> {
    let mut table = EthInstructions::new_mainnet_with_spec(spec);
    let mut replace_with_gas = |opcode: u8, instruction, gas: Option<u16>| {
        let gas = gas.unwrap_or(table.gas_table()[usize::from(opcode)]);
        table.insert_instruction(opcode, instruction, gas);
    };
    for (opcode, instruction, gas) in operands::instructions(spec) {
        replace_with_gas(opcode, instruction, gas);
    }
    let mut replace = |opcode, instruction| replace_with_gas(opcode, instruction, None);
    if spec.is_enabled_in(SpecId::LONDON) {
        replace(opcode::BASEFEE, Instruction::new(basefee));
    }
    if revision == Revision::Constantinople {
        replace(opcode::SSTORE, Instruction::new(constantinople_sstore));
    }
    replace(opcode::GASPRICE, Instruction::new(gasprice));
    if bounds.stop.is_some() {
        replace(opcode::JUMPDEST, Instruction::new(jumpdest));
    }
    if bounds.try_gas.is_some() {
        replace(opcode::GAS, Instruction::new(gas_of_a_try));
    }
    table
}

fn constantinople_sstore(context: Ictx<'_, '_>) -> InstructionExecResult {
    in_order::<{ opcode::SSTORE }>(context, sstore_of_constantinople)
}

fn push(context: Ictx<'_, '_>, value: U256) -> InstructionExecResult {
    match context.interpreter.stack.push(value) {
        true => Ok(()),
        false => Err(InstructionResult::StackOverflow),
    }
}

fn basefee(context: Ictx<'_, '_>) -> InstructionExecResult {
    let value = context.host.chain.base_fee;
    push(context, value)
}

fn gasprice(context: Ictx<'_, '_>) -> InstructionExecResult {
    let value = context.host.chain.gas_price;
    push(context, value)
}

fn jumpdest(context: Ictx<'_, '_>) -> InstructionExecResult {
    match context.host.chain.must_stop(context.interpreter.gas.remaining()) {
        true => Err(stop_execution(context.host)),
        false => Ok(()),
    }
}

/// GAS in a try. For the outermost code, the withheld gas is added to the remaining gas. The gas of a call may depend
/// on the withheld gas in other ways, so that GAS in a call ends the try.
fn gas_of_a_try(context: Ictx<'_, '_>) -> InstructionExecResult {
    let is_outermost = context.host.journaled_state.inner.depth == 1;
    if !is_outermost && context.host.chain.end_try() {
        return Err(stop_execution(context.host));
    }
    let gas = context.interpreter.gas.remaining() + context.host.chain.withheld_gas;
    push(context, U256::from(gas))
}
