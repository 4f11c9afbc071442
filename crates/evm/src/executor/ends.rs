//! How code ended, in the reference's terms.

use revm::bytecode::opcode;
use revm::handler::{EthFrame, FrameResult};
use revm::interpreter::InstructionResult;
use revm::interpreter::interpreter_types::{Jumps, LegacyBytecode, RuntimeFlag};
use revm::primitives::hardfork::SpecId;

use super::VmError;
use super::env::ChainEnv;
use super::opcodes::{is_defined, stack_bounds};

/// How the outermost frame ended; `frame` is there if it ran. `None`: well.
pub(super) fn frame_error(
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
        InstructionResult::OutOfGas => at.without_constant_gas(),
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
        // revm calls both an overflow where an instruction reaches below the stack.
        InstructionResult::StackUnderflow | InstructionResult::StackOverflow => {
            at.stack_fault().unwrap_or(VmError::OutOfGas)
        }
        // Gas beside the constant part (`super::operands`). Among them init code that is too long: the reference,
        // too, calls it a lack of gas.
        _ => VmError::OutOfGas,
    })
}

/// Where a frame halted. The stack is as it was before the instruction, unless gas beside the constant part was
/// missing.
#[derive(Clone, Copy)]
struct Halt {
    opcode: u8,
    stack: usize,
    spec: SpecId,
}

impl Default for Halt {
    fn default() -> Self {
        Self { opcode: opcode::STOP, stack: 0, spec: SpecId::default() }
    }
}

impl Halt {
    fn of(frame: &EthFrame) -> Self {
        let code = &frame.interpreter.bytecode;
        // The program counter has moved on.
        let at = code.pc().checked_sub(1);
        let opcode = at.and_then(|pc| code.bytecode_slice().get(pc)).copied();
        let spec = frame.interpreter.runtime_flag.spec_id();
        Self { opcode: opcode.unwrap_or(opcode::STOP), stack: frame.interpreter.stack.len(), spec }
    }

    /// Too few items on the stack, or too many.
    fn stack_fault(self) -> Option<VmError> {
        let (have, (want, limit)) = (self.stack, stack_bounds(self.opcode));
        if have < want {
            return Some(VmError::StackUnderflow { have, want });
        }
        (have > limit).then_some(VmError::StackOverflow { have, limit })
    }

    /// The reference takes no gas for what is no instruction, and looks at the stack before it takes any.
    fn without_constant_gas(self) -> VmError {
        if !is_defined(self.opcode, self.spec) {
            return VmError::InvalidOpcode(self.opcode);
        }
        self.stack_fault().unwrap_or(VmError::OutOfGas)
    }
}
