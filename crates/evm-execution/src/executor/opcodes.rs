//! Names and stack needs of instructions, as in the reference.

use std::borrow::Cow;

use revm::bytecode::opcode::{self, OpCode, OpCodeInfo};
use revm::primitives::hardfork::SpecId;

/// Most items on a stack.
pub(super) const STACK_LIMIT: usize = 1024;

/// What revm knows of an instruction that the reference has too: those of forks after Cancun are none.
fn known(opcode: u8) -> Option<OpCodeInfo> {
    match opcode {
        opcode::CLZ | opcode::SLOTNUM | opcode::DUPN | opcode::SWAPN | opcode::EXCHANGE => None,
        _ => OpCode::info_by_op(opcode),
    }
}

/// Is there such an instruction in a fork?
pub(super) fn is_defined(opcode: u8, spec: SpecId) -> bool {
    let since = match opcode {
        opcode::PUSH0 => SpecId::SHANGHAI,
        opcode::TLOAD | opcode::TSTORE | opcode::MCOPY | opcode::BLOBHASH | opcode::BLOBBASEFEE => {
            SpecId::CANCUN
        }
        _ => SpecId::FRONTIER,
    };
    known(opcode).is_some() && spec.is_enabled_in(since)
}

/// An instruction's name.
pub(super) fn name(opcode: u8) -> Option<&'static str> {
    known(opcode).map(|_| OpCode::name_by_op(opcode))
}

/// How many items an instruction needs on the stack, and how many may be there.
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
        // Before the Merge this was the name; the block's field still is.
        opcode::DIFFICULTY => Cow::Borrowed("DIFFICULTY"),
        opcode => match name(opcode) {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(format!("opcode {opcode:#x} not defined")),
        },
    }
}
