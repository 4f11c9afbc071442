//! Instructions as Parity's `vmTrace`, written while code runs.
//!
//! As with reth, `used` is the gas before an instruction, and `mem` the whole memory before it. What an instruction
//! pushes is known when the next one begins.

use alloy_primitives::U256;
use alloy_primitives::map::AddressSet;

use crate::executor::opcode;
use crate::trace::tracers::CHUNK;
use crate::trace::{
    FrameEnd, FrameKind, FrameStart, Step, TraceContext, TraceOutput, TraceResult, json,
};

/// Writes instructions.
#[derive(Debug, Default)]
pub(super) struct VmTrace {
    frames: Vec<Frame>,
    precompiles: AddressSet,
    has_begun: bool,
}

#[derive(Debug, Default)]
struct Frame {
    /// Whether it is a precompiled contract, which has no instructions.
    is_precompile: bool,
    /// Whether there is no place for its instructions: a precompiled contract that made a second call made it.
    is_muted: bool,
    has_steps: bool,
    /// Whether a frame within a precompiled contract was written in its place.
    has_inner: bool,
    open: Open,
}

/// The part of the last instruction that is not written yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Open {
    /// Nothing.
    #[default]
    Nothing,
    /// What it pushes, and the rest.
    Push { count: usize, pc: u64, op: u8 },
    /// The frame that it begins.
    Sub,
}

impl VmTrace {
    /// A transaction begins.
    pub(super) fn start(&mut self, precompiles: &AddressSet) {
        self.precompiles.clone_from(precompiles);
    }

    /// A frame begins.
    pub(super) fn enter(&mut self, start: &FrameStart<'_>) {
        if start.kind == FrameKind::SelfDestruct {
            return;
        }
        self.has_begun = true;
        let is_muted = self.frames.last_mut().is_some_and(|caller| {
            let has_inner = caller.is_precompile && std::mem::replace(&mut caller.has_inner, true);
            caller.is_muted || has_inner
        });
        let is_precompile = start.kind.is_call() && self.precompiles.contains(&start.to);
        self.frames.push(Frame { is_precompile, is_muted, ..Frame::default() });
    }

    /// The last frame ends.
    pub(super) fn exit(&mut self, end: &FrameEnd<'_>, out: &mut dyn TraceOutput) -> TraceResult {
        if end.kind == FrameKind::SelfDestruct {
            return Ok(());
        }
        let Some(frame) = self.frames.pop() else { return Ok(()) };
        if frame.is_muted {
            return Ok(());
        }
        let buffer = out.buffer();
        if !frame.is_precompile {
            frame.open.close(&[], buffer);
            match frame.has_steps {
                true => buffer.extend_from_slice(b"]}"),
                false => buffer.extend_from_slice(NO_CODE),
            }
        } else if !frame.has_inner {
            let is_outermost = self.frames.is_empty();
            buffer.extend_from_slice(if is_outermost { NO_CODE } else { b"null" });
        }
        if let Some(caller) = self.frames.last_mut()
            && std::mem::take(&mut caller.open) == Open::Sub
        {
            buffer.push(b'}');
        }
        Ok(())
    }

    /// An instruction is about to run.
    pub(super) fn step(
        &mut self,
        step: &Step<'_>,
        context: &mut TraceContext<'_, '_>,
    ) -> TraceResult {
        let Some(frame) = self.frames.last_mut().filter(|frame| !frame.is_muted) else {
            return Ok(());
        };
        let buffer = context.out.buffer();
        std::mem::take(&mut frame.open).close(step.stack(), buffer);
        if std::mem::replace(&mut frame.has_steps, true) {
            buffer.push(b',');
        } else {
            buffer.extend_from_slice(b"{\"code\":");
            json::data(buffer, step.code());
            buffer.extend_from_slice(b",\"ops\":[");
            context.count_written(step.code().len());
        }
        write_head(step, context)?;
        let buffer = context.out.buffer();
        frame.open = match step.op {
            opcode::CALL
            | opcode::CALLCODE
            | opcode::DELEGATECALL
            | opcode::STATICCALL
            | opcode::CREATE
            | opcode::CREATE2 => {
                buffer.extend_from_slice(b"]}");
                write_place(step.pc, step.op, buffer);
                Open::Sub
            }
            op => Open::Push { count: pushed(op, step.error.is_some()), pc: step.pc, op },
        };
        match buffer.len() > CHUNK {
            true => Ok(context.out.checkpoint()?),
            false => Ok(()),
        }
    }

    /// The transaction has ended.
    pub(super) fn end(&self, out: &mut Vec<u8>) {
        if !self.has_begun {
            out.extend_from_slice(NO_CODE);
        }
    }
}

/// The instructions of a frame without code.
const NO_CODE: &[u8] = br#"{"code":"0x","ops":[]}"#;

impl Open {
    /// Writes the rest of the instruction, after which the stack is `stack`.
    fn close(self, stack: &[U256], out: &mut Vec<u8>) {
        match self {
            Self::Nothing => {}
            // The call did not begin.
            Self::Sub => out.extend_from_slice(b"null}"),
            Self::Push { count, pc, op } => {
                let items = stack.len().checked_sub(count).map_or(&[][..], |at| &stack[at..]);
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    json::big(out, item);
                }
                out.extend_from_slice(b"]}");
                write_place(pc, op, out);
                out.extend_from_slice(b"null}");
            }
        }
    }
}

/// Writes an instruction up to what it pushes.
fn write_head(step: &Step<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
    let buffer = context.out.buffer();
    buffer.extend_from_slice(b"{\"cost\":");
    json::decimal(buffer, step.cost);
    buffer.extend_from_slice(b",\"ex\":{\"used\":");
    json::decimal(buffer, step.gas);
    buffer.extend_from_slice(b",\"mem\":{\"off\":");
    let memory = step.memory();
    json::decimal(buffer, memory.len() as u64);
    buffer.extend_from_slice(b",\"data\":\"0x");
    context.count_written(memory.len());
    for part in memory.chunks(CHUNK) {
        json::hex_digits(context.out.buffer(), part);
        if context.out.buffer().len() > CHUNK {
            context.out.checkpoint()?;
        }
    }
    let buffer = context.out.buffer();
    buffer.extend_from_slice(b"\"},\"store\":");
    match (step.op, step.peek(0), step.peek(1)) {
        (opcode::SSTORE, Some(key), Some(value)) if step.error.is_none() => {
            buffer.extend_from_slice(b"{\"key\":");
            json::big(buffer, &key);
            buffer.extend_from_slice(b",\"val\":");
            json::big(buffer, &value);
            buffer.push(b'}');
        }
        _ => buffer.extend_from_slice(b"null"),
    }
    buffer.extend_from_slice(b",\"push\":[");
    Ok(())
}

fn write_place(pc: u64, op: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"pc\":");
    json::decimal(out, pc);
    out.extend_from_slice(b",\"op\":");
    json::string(out, &crate::trace::op_name(op));
    out.extend_from_slice(b",\"sub\":");
}

/// The number of items at the top of the stack that are shown as pushed. DUP and SWAP show all that they reach.
const fn pushed(op: u8, has_failed: bool) -> usize {
    if has_failed {
        return 0;
    }
    match op {
        opcode::PUSH0..=opcode::PUSH32 => 1,
        opcode::DUP1..=opcode::DUP16 => (op - opcode::DUP1) as usize + 2,
        opcode::SWAP1..=opcode::SWAP16 => (op - opcode::SWAP1) as usize + 2,
        // Instructions that take items and push one, and those that push one.
        opcode::ADD..=opcode::SIGNEXTEND
        | opcode::LT..=opcode::CLZ
        | opcode::KECCAK256
        | opcode::ADDRESS..=opcode::CALLDATASIZE
        | opcode::CODESIZE
        | opcode::GASPRICE
        | opcode::EXTCODESIZE
        | opcode::RETURNDATASIZE
        | opcode::EXTCODEHASH..=opcode::BLOBBASEFEE
        | opcode::MLOAD
        | opcode::SLOAD
        | opcode::PC
        | opcode::MSIZE
        | opcode::GAS
        | opcode::TLOAD => 1,
        _ => 0,
    }
}
