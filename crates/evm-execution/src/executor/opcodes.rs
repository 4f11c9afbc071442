//! Names and stack needs of instructions, as in the reference.

use std::borrow::Cow;

use revm::bytecode::opcode::{self, OpCode, OpCodeInfo};
use revm::primitives::hardfork::SpecId;

/// Most items on a stack.
pub(super) const STACK_LIMIT: usize = 1024;

/// revm's data of an instruction that the reference also has; `None` for instructions of forks after Osaka.
fn known(opcode: u8) -> Option<OpCodeInfo> {
    match opcode {
        opcode::SLOTNUM | opcode::DUPN | opcode::SWAPN | opcode::EXCHANGE => None,
        _ => OpCode::info_by_op(opcode),
    }
}

/// Whether a fork has the instruction.
pub(super) fn is_defined(opcode: u8, spec: SpecId) -> bool {
    let since = match opcode {
        opcode::DELEGATECALL => SpecId::HOMESTEAD,
        opcode::REVERT | opcode::RETURNDATASIZE | opcode::RETURNDATACOPY | opcode::STATICCALL => {
            SpecId::BYZANTIUM
        }
        opcode::SHL | opcode::SHR | opcode::SAR | opcode::EXTCODEHASH | opcode::CREATE2 => {
            SpecId::PETERSBURG
        }
        opcode::CHAINID | opcode::SELFBALANCE => SpecId::ISTANBUL,
        opcode::BASEFEE => SpecId::LONDON,
        opcode::PUSH0 => SpecId::SHANGHAI,
        opcode::TLOAD | opcode::TSTORE | opcode::MCOPY | opcode::BLOBHASH | opcode::BLOBBASEFEE => {
            SpecId::CANCUN
        }
        opcode::CLZ => SpecId::OSAKA,
        _ => SpecId::FRONTIER,
    };
    known(opcode).is_some() && spec.is_enabled_in(since)
}

/// The name of an instruction up to Cancun. Newer instructions have a name only where they are defined: in code of
/// older forks, the reference calls them undefined.
pub(super) fn name(opcode: u8) -> Option<&'static str> {
    let is_new = opcode == opcode::CLZ;
    known(opcode).filter(|_| !is_new).map(|_| OpCode::name_by_op(opcode))
}

/// The least and the most items on the stack before an instruction.
pub(super) fn stack_bounds(opcode: u8) -> (usize, usize) {
    let info = known(opcode);
    let (inputs, outputs) = match opcode {
        0x80..=0x8f => (usize::from(opcode - 0x7f), usize::from(opcode - 0x7f) + 1),
        0x90..=0x9f => (usize::from(opcode - 0x8e), usize::from(opcode - 0x8e)),
        _ => info.map_or((0, 0), |info| (info.inputs().into(), info.outputs().into())),
    };
    (inputs, STACK_LIMIT + inputs - outputs.min(STACK_LIMIT))
}

/// An instruction's name as geth writes it.
pub(crate) fn opcode_name(opcode: u8) -> Cow<'static, str> {
    match opcode {
        // The name before the Merge. The block's field still has it.
        opcode::DIFFICULTY => Cow::Borrowed("DIFFICULTY"),
        opcode => match name(opcode) {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(format!("opcode {opcode:#x} not defined")),
        },
    }
}

/// As [`opcode_name`], in code of a fork.
pub(crate) fn opcode_name_in(opcode: u8, spec: SpecId) -> Cow<'static, str> {
    match opcode {
        opcode::CLZ if is_defined(opcode, spec) => Cow::Borrowed("CLZ"),
        opcode => opcode_name(opcode),
    }
}
