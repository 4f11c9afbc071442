//! Converts the ends of frames to the errors of the reference.

use revm::bytecode::opcode;
use revm::handler::{EthFrame, FrameResult};
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::interpreter_types::{Jumps, LegacyBytecode, RuntimeFlag};
use revm::interpreter::{InstructionResult, Interpreter};
use revm::primitives::hardfork::SpecId;

use super::VmError;
use super::env::ChainEnv;
use super::opcodes::{is_defined, stack_bounds};

/// The error of the outermost frame; `None` if it succeeded. `frame` is `Some` if code ran.
pub(super) fn frame_error(
    result: &FrameResult,
    frame: Option<&EthFrame>,
    chain: &ChainEnv<'_>,
) -> Option<VmError> {
    let created = matches!(result, FrameResult::Create(_));
    let instruction_result = result.instruction_result();
    if instruction_result.is_ok() {
        return None;
    }
    // Only a frame without code can be a precompiled contract. An earlier call of one may have left its failure here.
    if frame.is_none()
        && let Some(failure) = &chain.failure
    {
        return Some(failure.clone());
    }
    let at = frame.map(|frame| Halt::from_interpreter(&frame.interpreter)).unwrap_or_default();
    let lacks_store_gas = created && !result.interpreter_result().output.is_empty();
    Some(at.error(instruction_result, lacks_store_gas))
}

/// Why the last instruction failed.
pub(crate) fn halt_error(
    result: InstructionResult,
    interpreter: &Interpreter<EthInterpreter>,
) -> VmError {
    Halt::from_interpreter(interpreter).error(result, false)
}

/// Where a frame halted. The stack is that before the instruction, unless gas other than the constant part was
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
    fn from_interpreter(interpreter: &Interpreter<EthInterpreter>) -> Self {
        let code = &interpreter.bytecode;
        // The program counter already points to the next instruction.
        let at = code.pc().checked_sub(1);
        let opcode = at.and_then(|pc| code.bytecode_slice().get(pc)).copied();
        let spec = interpreter.runtime_flag.spec_id();
        Self { opcode: opcode.unwrap_or(opcode::STOP), stack: interpreter.stack.len(), spec }
    }

    /// The error of a frame that ended with this result.
    fn error(self, result: InstructionResult, lacks_store_gas: bool) -> VmError {
        match result {
            InstructionResult::Revert => VmError::Reverted,
            InstructionResult::CallTooDeep => VmError::Depth,
            InstructionResult::OutOfFunds | InstructionResult::OverflowPayment => {
                VmError::InsufficientBalance
            }
            // The code was returned, but the gas to store it is missing.
            InstructionResult::OutOfGas if lacks_store_gas => VmError::CodeStoreOutOfGas,
            InstructionResult::OutOfGas => self.without_constant_gas(),
            InstructionResult::InvalidOperandOOG => VmError::GasOverflow,
            InstructionResult::OpcodeNotFound
            | InstructionResult::InvalidFEOpcode
            | InstructionResult::NotActivated
            | InstructionResult::InvalidImmediateEncoding => VmError::InvalidOpcode(self.opcode),
            InstructionResult::InvalidJump => VmError::InvalidJump,
            InstructionResult::CallNotAllowedInsideStatic
            | InstructionResult::StateChangeDuringStaticCall => VmError::WriteProtection,
            InstructionResult::OutOfOffset => VmError::ReturnDataOutOfBounds,
            InstructionResult::CreateCollision => VmError::AddressCollision,
            InstructionResult::CreateContractSizeLimit => VmError::CodeSize,
            InstructionResult::CreateContractStartingWithEF => VmError::InvalidCode,
            InstructionResult::NonceOverflow => VmError::NonceOverflow,
            // revm also reports an overflow if an instruction reaches below the stack.
            InstructionResult::StackUnderflow | InstructionResult::StackOverflow => {
                self.stack_fault().unwrap_or(VmError::OutOfGas)
            }
            // Gas other than the constant part is missing (`super::operands`). Too long init code is also reported as
            // a lack of gas, as in the reference.
            _ => VmError::OutOfGas,
        }
    }

    /// The error if the stack has too few or too many items.
    fn stack_fault(self) -> Option<VmError> {
        let (have, (want, limit)) = (self.stack, stack_bounds(self.opcode));
        if have < want {
            return Some(VmError::StackUnderflow { have, want });
        }
        (have > limit).then_some(VmError::StackOverflow { have, limit })
    }

    /// The error if the constant gas is missing. The reference takes no gas for an undefined instruction, and checks
    /// the stack before it takes gas.
    fn without_constant_gas(self) -> VmError {
        if !is_defined(self.opcode, self.spec) {
            return VmError::InvalidOpcode(self.opcode);
        }
        self.stack_fault().unwrap_or(VmError::OutOfGas)
    }
}
