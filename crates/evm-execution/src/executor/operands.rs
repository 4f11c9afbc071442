//! Checks the operands of instructions in the reference's order.
//!
//! The reference checks the stack, takes the constant gas, checks that the size of the requested memory fits into 64
//! bits, takes the rest of the gas, and only then runs the instruction. revm takes the constant gas first and then
//! checks the operands one by one. Both fail in the same cases and at the same cost, but with different errors. The
//! instructions here fail in the reference's order:
//!
//! - [`InstructionResult::OutOfGas`] comes from revm's loop if the constant gas is missing. If the rest is missing,
//!   the result is [`InstructionResult::MemoryOOG`], so that [`super::ends`] knows whether the stack is unchanged.
//! - [`InstructionResult::InvalidOperandOOG`]: the size of the memory does not fit into 64 bits.
//! - The node's own memory limit ends the whole execution, but only if the gas would have paid for the memory.

use alloy_primitives::{Address, U256};
use revm::bytecode::opcode;
use revm::interpreter::instructions::{arithmetic, contract, control, gas, host, memory, system};
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::interpreter_types::InputsTr;
use revm::interpreter::{
    Host, Instruction, InstructionContext, InstructionExecResult, InstructionResult, Interpreter,
};
use revm::primitives::hardfork::SpecId;

use super::Stop;
use super::env::{EvmContext, Ictx, stop_execution};
use super::opcodes::is_defined;
use super::storage::{sload, sstore};

/// Most bytes of memory for which the reference computes gas. Anything above is out of gas.
pub(super) const MAX_PAYABLE_MEMORY: u64 = 0x1f_ffff_ffe0;

const WORD: usize = 32;

/// The instructions whose gas depends on their operands, with the gas that revm's loop takes for them if it differs
/// from the usual gas.
pub(super) fn instructions<'a>(
    spec: SpecId,
) -> impl Iterator<Item = (u8, Instruction<EthInterpreter, EvmContext<'a>>, Option<u16>)> {
    macro_rules! ordered {
        ($($name:ident)*) => {
            [$((opcode::$name, Instruction::new(ordered::<{ opcode::$name }>))),*]
        };
    }
    let ordered = ordered![
        EXP KECCAK256 BALANCE CALLDATACOPY CODECOPY EXTCODESIZE EXTCODECOPY RETURNDATACOPY EXTCODEHASH SLOAD SSTORE
        MCOPY LOG0 LOG1 LOG2 LOG3 LOG4 CREATE CALL CALLCODE RETURN DELEGATECALL CREATE2 STATICCALL REVERT
        SELFDESTRUCT
    ];
    let own = [
        (opcode::MLOAD, Instruction::new(mload)),
        (opcode::MSTORE, Instruction::new(mstore)),
        (opcode::MSTORE8, Instruction::new(mstore8)),
    ];
    // An instruction that the fork lacks fails as undefined, whatever its operands are.
    let all = ordered.into_iter().chain(own).filter(move |(opcode, _)| is_defined(*opcode, spec));
    all.map(|(opcode, instruction)| {
        let gas = matches!(opcode, opcode::LOG0..=opcode::LOG4).then_some(0);
        (opcode, instruction, gas)
    })
}

/// Gas that the reference takes before it checks the memory, and revm afterwards.
const fn gas_before_memory(opcode: u8) -> u64 {
    match opcode {
        opcode::CREATE | opcode::CREATE2 => gas::CREATE,
        _ => 0,
    }
}

/// Gas that revm takes before it checks the memory, and the reference afterwards.
const fn gas_after_memory(opcode: u8) -> u64 {
    match opcode {
        opcode::LOG0..=opcode::LOG4 => gas::LOG,
        _ => 0,
    }
}

/// The instruction of revm or of this chain.
fn standard<const OP: u8>(context: Ictx<'_, '_>) -> InstructionExecResult {
    match OP {
        opcode::EXP => arithmetic::exp(context),
        opcode::KECCAK256 => system::keccak256(context),
        opcode::BALANCE => host::balance(context),
        opcode::CALLDATACOPY => system::calldatacopy(context),
        opcode::CODECOPY => system::codecopy(context),
        opcode::EXTCODESIZE => host::extcodesize(context),
        opcode::EXTCODECOPY => host::extcodecopy(context),
        opcode::RETURNDATACOPY => system::returndatacopy(context),
        opcode::EXTCODEHASH => host::extcodehash(context),
        opcode::SLOAD => sload(context),
        opcode::SSTORE => sstore(context),
        opcode::MCOPY => memory::mcopy(context),
        opcode::LOG0 => host::log::<0, _>(context),
        opcode::LOG1 => host::log::<1, _>(context),
        opcode::LOG2 => host::log::<2, _>(context),
        opcode::LOG3 => host::log::<3, _>(context),
        opcode::LOG4 => host::log::<4, _>(context),
        opcode::CREATE => contract::create::<false, _, _>(context),
        opcode::CREATE2 => contract::create::<true, _, _>(context),
        opcode::CALL => contract::call::<{ opcode::CALL }, _, _>(context),
        opcode::CALLCODE => contract::call::<{ opcode::CALLCODE }, _, _>(context),
        opcode::DELEGATECALL => contract::call::<{ opcode::DELEGATECALL }, _, _>(context),
        opcode::STATICCALL => contract::call::<{ opcode::STATICCALL }, _, _>(context),
        opcode::RETURN => control::ret(context),
        opcode::REVERT => control::revert(context),
        opcode::SELFDESTRUCT => selfdestruct(context),
        _ => control::unknown(context),
    }
}

/// Records the recipient and the amount for tracers.
fn selfdestruct(context: Ictx<'_, '_>) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    let contract = interpreter.input.target_address();
    let balance = host.journaled_state.inner.state.get(&contract).map(|held| held.info.balance);
    let to = interpreter.stack.data().last().map(|word| Address::from_word((*word).into()));
    host.chain.destroyed = to.map(|to| (to, balance.unwrap_or_default()));
    host::selfdestruct(InstructionContext { interpreter, host })
}

/// The number of items that an instruction needs on the stack, and its memory ranges: positions of the offset and of
/// the length.
pub(super) const fn memory_operands(opcode: u8) -> (usize, &'static [(usize, usize)]) {
    match opcode {
        opcode::KECCAK256 | opcode::RETURN | opcode::REVERT => (2, &[(0, 1)]),
        opcode::CALLDATACOPY | opcode::CODECOPY | opcode::RETURNDATACOPY => (3, &[(0, 2)]),
        // The range that ends later counts.
        opcode::MCOPY => (3, &[(0, 2), (1, 2)]),
        opcode::EXTCODECOPY => (4, &[(1, 3)]),
        opcode::LOG0..=opcode::LOG4 => (2 + (opcode - opcode::LOG0) as usize, &[(0, 1)]),
        opcode::CREATE => (3, &[(1, 2)]),
        opcode::CREATE2 => (4, &[(1, 2)]),
        opcode::CALL | opcode::CALLCODE => (7, &[(5, 6), (3, 4)]),
        opcode::DELEGATECALL | opcode::STATICCALL => (6, &[(4, 5), (2, 3)]),
        _ => (0, &[]),
    }
}

/// An instruction that fails in the reference's order.
fn ordered<const OP: u8>(context: Ictx<'_, '_>) -> InstructionExecResult {
    in_order::<OP>(context, standard::<OP>)
}

/// Runs an instruction so that it fails in the reference's order.
pub(super) fn in_order<const OP: u8>(
    context: Ictx<'_, '_>,
    instruction: impl FnOnce(Ictx<'_, '_>) -> InstructionExecResult,
) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    let (needed, ranges) = const { memory_operands(OP) };
    let stack = interpreter.stack.data();
    let Some(first) = stack.len().checked_sub(needed) else {
        return Err(InstructionResult::StackUnderflow);
    };
    if interpreter.gas.remaining() < const { gas_before_memory(OP) } {
        return Err(lacks_gas(interpreter));
    }
    let operand = |place: usize| &stack[first + needed - 1 - place];
    let mut end = 0;
    for (offset, length) in ranges {
        end = end.max(memory_end(operand(*offset), operand(*length))?);
    }
    let copied = if OP == opcode::RETURNDATACOPY { *operand(2) } else { U256::ZERO };
    if !interpreter.gas.record_regular_cost(const { gas_after_memory(OP) }) {
        return Err(lacks_gas(interpreter));
    }
    let run = InstructionContext { interpreter: &mut *interpreter, host: &mut *host };
    match instruction(run) {
        // The instruction may have taken long: hashes and copies of megabytes, reads of the state.
        Ok(()) if host.chain.must_stop(interpreter.gas.remaining()) => Err(stop_execution(host)),
        Ok(()) => Ok(()),
        Err(InstructionResult::OutOfGas) => Err(lacks_gas(interpreter)),
        Err(InstructionResult::MemoryLimitOOG) => Err(beyond_limit(interpreter, host, end)),
        // The gas is checked before the data.
        Err(InstructionResult::OutOfOffset) if !pays_copy(interpreter, host, end, copied) => {
            Err(lacks_gas(interpreter))
        }
        Err(error) => Err(error),
    }
}

fn mload(context: Ictx<'_, '_>) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    let Some(offset) = interpreter.stack.data().last().copied() else {
        return Err(InstructionResult::StackUnderflow);
    };
    let offset = expand(interpreter, host, &offset, WORD)?;
    let word = U256::from_be_slice(&interpreter.memory.slice_len(offset, WORD));
    *interpreter.stack.top().expect("the offset is on the stack") = word;
    Ok(())
}

fn mstore(context: Ictx<'_, '_>) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    let Some([offset, value]) = interpreter.stack.popn::<2>() else {
        return Err(InstructionResult::StackUnderflow);
    };
    let offset = expand(interpreter, host, &offset, WORD)?;
    interpreter.memory.set(offset, &value.to_be_bytes::<WORD>());
    Ok(())
}

fn mstore8(context: Ictx<'_, '_>) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    let Some([offset, value]) = interpreter.stack.popn::<2>() else {
        return Err(InstructionResult::StackUnderflow);
    };
    let offset = expand(interpreter, host, &offset, 1)?;
    interpreter.memory.set(offset, &[value.byte(0)]);
    Ok(())
}

/// Expands the memory to `length` bytes after an offset. Returns the offset.
fn expand(
    interpreter: &mut Interpreter<EthInterpreter>,
    host: &mut EvmContext<'_>,
    offset: &U256,
    length: usize,
) -> Result<usize, InstructionResult> {
    let end = range_end(offset, length as u64)?;
    let start = end as usize - length;
    match interpreter.resize_memory(host.gas_params(), start, length) {
        Ok(()) => Ok(start),
        Err(InstructionResult::MemoryLimitOOG) => Err(beyond_limit(interpreter, host, end)),
        Err(error) => Err(error),
    }
}

/// The end of a requested memory range; 0 if the length is 0.
pub(super) fn memory_end(offset: &U256, length: &U256) -> Result<u64, InstructionResult> {
    let length = u64::try_from(*length).map_err(|_| InstructionResult::InvalidOperandOOG)?;
    if length == 0 { Ok(0) } else { range_end(offset, length) }
}

pub(super) fn range_end(offset: &U256, length: u64) -> Result<u64, InstructionResult> {
    let end = u64::try_from(*offset).ok().and_then(|offset| offset.checked_add(length));
    // The reference counts bytes of whole words.
    end.filter(|end| end.checked_next_multiple_of(WORD as u64).is_some())
        .ok_or(InstructionResult::InvalidOperandOOG)
}

/// Uses up all gas, because gas other than the constant part is missing.
fn lacks_gas(interpreter: &mut Interpreter<EthInterpreter>) -> InstructionResult {
    interpreter.gas.spend_all();
    InstructionResult::MemoryOOG
}

/// Gas for memory up to `end`; `None` if it can't be computed.
fn memory_gas(
    interpreter: &Interpreter<EthInterpreter>,
    host: &EvmContext<'_>,
    end: u64,
) -> Option<u64> {
    if end > MAX_PAYABLE_MEMORY {
        return None;
    }
    let words = usize::try_from(end.div_ceil(WORD as u64)).ok()?;
    let total = host.gas_params().memory_cost(words);
    Some(total.saturating_sub(interpreter.gas.memory().expansion_cost))
}

/// Whether the gas suffices for memory up to `end`, and for copying so many bytes to it.
fn pays_copy(
    interpreter: &Interpreter<EthInterpreter>,
    host: &EvmContext<'_>,
    end: u64,
    copied: U256,
) -> bool {
    let needed = || {
        let copied = usize::try_from(copied).ok()?;
        let copy = host.gas_params().copy_cost(copied);
        memory_gas(interpreter, host, end)?.checked_add(copy)
    };
    needed().is_some_and(|needed| needed <= interpreter.gas.remaining())
}

/// Ends the execution at the node's memory limit, if the gas would have paid for more memory: the result is then
/// unknown.
fn beyond_limit(
    interpreter: &mut Interpreter<EthInterpreter>,
    host: &mut EvmContext<'_>,
    end: u64,
) -> InstructionResult {
    match memory_gas(interpreter, host, end) {
        Some(needed) if needed <= interpreter.gas.remaining() => {
            let limit = host.chain.bounds.memory.unwrap_or(u64::MAX);
            if host.cfg.memory_limit < limit {
                // The limit of the chain, which decides the result.
                return lacks_gas(interpreter);
            }
            host.chain.stopped = Some(Stop::MemoryLimit(limit));
            stop_execution(host)
        }
        Some(_) | None => lacks_gas(interpreter),
    }
}
