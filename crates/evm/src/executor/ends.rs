//! How code ended, in the reference's terms.

use revm::bytecode::opcode;
use revm::handler::{EthFrame, FrameResult};
use revm::interpreter::InstructionResult;
use revm::interpreter::interpreter_types::{Jumps, LegacyBytecode};

use super::VmError;
use super::opcodes::stack_bounds;
use super::vm::ChainEnv;

/// How the outermost frame ended; `frame` is there if it ran. `None`: well.
pub(super) fn end_of(
    result: &FrameResult,
    frame: Option<&EthFrame>,
    chain: &mut ChainEnv<'_>,
) -> Option<VmError> {
    let created = matches!(result, FrameResult::Create(_));
    let instruction_result = result.instruction_result();
    if instruction_result.is_ok() {
        return None;
    }
    if let Some(failure) = chain.failure.take() {
        return Some(failure);
    }
    let at = frame.map(Halt::of).unwrap_or_default();
    Some(match instruction_result {
        InstructionResult::Revert => VmError::Reverted,
        InstructionResult::CallTooDeep => VmError::Depth,
        InstructionResult::OutOfFunds | InstructionResult::OverflowPayment => {
            VmError::InsufficientBalance
        }
        // The data is there, only the gas to store it is not.
        InstructionResult::OutOfGas
            if created && !result.interpreter_result().output.is_empty() =>
        {
            VmError::CodeStoreOutOfGas
        }
        InstructionResult::MemoryLimitOOG => {
            VmError::MemoryLimit(chain.bounds.memory.unwrap_or(u64::MAX))
        }
        InstructionResult::InvalidOperandOOG => VmError::GasOverflow,
        InstructionResult::OpcodeNotFound
        | InstructionResult::InvalidFEOpcode
        | InstructionResult::NotActivated
        | InstructionResult::InvalidImmediateEncoding => VmError::InvalidOpcode(at.opcode),
        InstructionResult::InvalidJump => VmError::InvalidJump,
        InstructionResult::CallNotAllowedInsideStatic
        | InstructionResult::StateChangeDuringStaticCall => VmError::WriteProtection,
        InstructionResult::OutOfOffset => VmError::ReturnDataOutOfBounds,
        InstructionResult::CreateCollision => VmError::AddressCollision,
        InstructionResult::CreateContractSizeLimit => VmError::CodeSize,
        InstructionResult::CreateContractStartingWithEF => VmError::InvalidCode,
        InstructionResult::NonceOverflow => VmError::NonceOverflow,
        InstructionResult::StackUnderflow | InstructionResult::StackOverflow => {
            // revm calls both an overflow where an instruction reaches below the stack.
            let (have, (want, limit)) = (at.stack, stack_bounds(at.opcode));
            match have < want {
                true => VmError::StackUnderflow { have, want },
                false => VmError::StackOverflow { have, limit },
            }
        }
        // Among them init code that is too long: the reference, too, calls it a lack of gas.
        _ => VmError::OutOfGas,
    })
}

/// Where a frame halted.
#[derive(Clone, Copy, Default)]
struct Halt {
    opcode: u8,
    stack: usize,
}

impl Halt {
    fn of(frame: &EthFrame) -> Self {
        let code = &frame.interpreter.bytecode;
        // The program counter has moved on.
        let at = code.pc().checked_sub(1);
        let opcode = at.and_then(|pc| code.bytecode_slice().get(pc)).copied();
        Self { opcode: opcode.unwrap_or(opcode::STOP), stack: frame.interpreter.stack.len() }
    }
}
