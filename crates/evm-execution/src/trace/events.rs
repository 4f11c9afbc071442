//! The events that tracers see.

use std::cell::Ref;

use alloy_primitives::map::AddressSet;
use alloy_primitives::{Address, B256, Bytes, U256};

use crate::executor::interpreter::interpreter::EthInterpreter;
use crate::executor::interpreter::interpreter_types::{
    InputsTr, LegacyBytecode, ReturnData, RuntimeFlag,
};
use crate::executor::interpreter::{CallInput, Interpreter};
use crate::executor::{BlockContext, ExecutionEnd, Message, VmError, opcode_name, opcode_name_in};

/// Longest shown range of memory, bytes. The gas cap of calls pays for less.
const MAX_RANGE: usize = 16 << 20;
/// Most zeros that geth adds at the end of the memory for [`Step::memory_copy`].
const MAX_PADDING: i64 = 1 << 20;

/// The location of a transaction; all fields are `None` for a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TxPlace {
    /// Hash of its block.
    pub block_hash: Option<B256>,
    /// Index in the block.
    pub tx_index: Option<usize>,
    /// Hash of the transaction.
    pub tx_hash: Option<B256>,
}

/// The beginning of a transaction.
#[derive(Clone, Copy, Debug)]
pub struct TxStart<'t> {
    /// The transaction with its whole gas limit.
    pub message: &'t Message,
    /// The recipient, or the address of the contract that it creates.
    pub to: Address,
    /// Gas that is charged before code runs.
    pub intrinsic_gas: u64,
    /// Gas price, wei.
    pub gas_price: U256,
    /// The block that code sees.
    pub block: &'t BlockContext,
    /// Location of the transaction.
    pub place: TxPlace,
    /// Addresses of the precompiled contracts at the block's time, without warp.
    pub precompiles: &'t AddressSet,
    /// The outcome of the transaction, if [`super::Tracer::needs_end_first`] is true.
    pub end: Option<&'t ExecutionEnd>,
}

/// The instruction that begins a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// CALL, or a transaction with a recipient.
    Call,
    /// CALLCODE.
    CallCode,
    /// DELEGATECALL.
    DelegateCall,
    /// STATICCALL.
    StaticCall,
    /// CREATE, or a transaction without a recipient.
    Create,
    /// CREATE2.
    Create2,
    /// SELFDESTRUCT: no code runs in it.
    SelfDestruct,
}

impl FrameKind {
    /// The name of the instruction.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Call => "CALL",
            Self::CallCode => "CALLCODE",
            Self::DelegateCall => "DELEGATECALL",
            Self::StaticCall => "STATICCALL",
            Self::Create => "CREATE",
            Self::Create2 => "CREATE2",
            Self::SelfDestruct => "SELFDESTRUCT",
        }
    }

    /// Whether it calls an address.
    pub const fn is_call(self) -> bool {
        matches!(self, Self::Call | Self::CallCode | Self::DelegateCall | Self::StaticCall)
    }

    /// Whether it creates a contract.
    pub const fn is_create(self) -> bool {
        matches!(self, Self::Create | Self::Create2)
    }
}

/// The beginning of a frame.
#[derive(Clone, Copy, Debug)]
pub struct FrameStart<'f> {
    /// The kind of frame.
    pub kind: FrameKind,
    /// 0 for the outermost frame.
    pub depth: usize,
    /// The caller. For a DELEGATECALL, the contract with the instruction.
    pub from: Address,
    /// The contract whose code runs, the contract to be created, or the recipient of a SELFDESTRUCT.
    pub to: Address,
    /// Call data, or init code.
    pub input: &'f Bytes,
    /// Gas of the frame with the stipend. That of the outermost frame is without the intrinsic gas.
    pub gas: u64,
    /// Value, wei. For a DELEGATECALL, the value of the caller's frame; `None` for a STATICCALL.
    pub value: Option<U256>,
}

/// The end of a frame.
#[derive(Clone, Copy, Debug)]
pub struct FrameEnd<'f> {
    /// The same as at the beginning of the frame.
    pub kind: FrameKind,
    /// The same as at the beginning of the frame.
    pub depth: usize,
    /// Returned data, the code of a new contract, or the data of a revert.
    pub output: &'f Bytes,
    /// Gas that it used.
    pub gas_used: u64,
    /// The error with which the frame ended, if any.
    pub error: Option<&'f VmError>,
}

/// An instruction that is about to run.
#[derive(Clone, Copy, Debug)]
pub struct Step<'s> {
    /// Position in the code.
    pub pc: u64,
    /// The instruction.
    pub op: u8,
    /// Gas before it.
    pub gas: u64,
    /// Cost as geth counts it: with the gas of a call, without the gas of a creation.
    pub cost: u64,
    /// 1 in the outermost frame.
    pub depth: usize,
    /// Why it will not run: too few or too many items on the stack, or too little gas.
    pub error: Option<&'s VmError>,
    pub(super) interpreter: &'s Interpreter<EthInterpreter>,
}

impl<'s> Step<'s> {
    /// The stack with its top at the end.
    pub fn stack(&self) -> &'s [U256] {
        self.interpreter.stack.data()
    }

    /// An item of the stack, counted from the top.
    pub fn peek(&self, place: usize) -> Option<U256> {
        let stack = self.stack();
        stack.len().checked_sub(place + 1).map(|at| stack[at])
    }

    /// The memory of the frame, a whole number of words.
    pub fn memory(&self) -> Ref<'s, [u8]> {
        self.interpreter.memory.context_memory()
    }

    /// A range of the memory after its expansion by the instruction: there are zeros beyond the current end. The
    /// result is empty if no gas pays for a range of this length.
    pub fn memory_padded(&self, offset: U256, length: U256) -> Vec<u8> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length == 0 || length > MAX_RANGE {
            return Vec::new();
        }
        let memory = self.memory();
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(memory.len());
        let end = start.saturating_add(length).min(memory.len());
        let mut data = memory[start..end].to_vec();
        data.resize(length, 0);
        data
    }

    /// As [`Self::memory_padded`], by the rules of geth's `GetMemoryCopyPadded`: `None` if more than a mebibyte of
    /// the range lies beyond the end of the memory, and only the low 64 bits of the numbers count.
    pub fn memory_copy(&self, offset: U256, length: U256) -> Option<Vec<u8>> {
        let [offset, length] = [offset, length].map(|number| number.as_limbs()[0].cast_signed());
        if offset < 0 || length < 0 {
            return None;
        }
        let padding = offset.wrapping_add(length) - self.memory().len() as i64;
        let place = [offset, length].map(U256::from);
        (padding <= MAX_PADDING).then(|| self.memory_padded(place[0], place[1]))
    }

    /// The returned data of the last call.
    pub fn return_data(&self) -> &'s [u8] {
        self.interpreter.return_data.buffer()
    }

    /// The contract in whose name the code runs, and whose storage it uses.
    pub fn address(&self) -> Address {
        self.interpreter.input.target_address()
    }

    /// The caller of the frame.
    pub fn caller(&self) -> Address {
        self.interpreter.input.caller_address()
    }

    /// CALLVALUE, wei.
    pub fn value(&self) -> U256 {
        self.interpreter.input.call_value()
    }

    /// The code of the frame.
    pub fn code(&self) -> &'s [u8] {
        self.interpreter.bytecode.bytecode_slice()
    }

    /// The call data of the frame.
    pub fn input(&self) -> Bytes {
        match self.interpreter.input.input() {
            CallInput::Bytes(bytes) => bytes.clone(),
            CallInput::SharedBuffer(range) => {
                Bytes::copy_from_slice(&self.interpreter.memory.global_slice_range(range.clone()))
            }
        }
    }

    /// Geth's name of the instruction.
    pub fn op_name(&self) -> std::borrow::Cow<'static, str> {
        opcode_name_in(self.op, self.interpreter.runtime_flag.spec_id())
    }
}

/// Geth's name of an instruction.
pub fn op_name(op: u8) -> std::borrow::Cow<'static, str> {
    opcode_name(op)
}
