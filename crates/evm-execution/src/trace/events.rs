//! What tracers are shown.

use std::cell::Ref;

use alloy_primitives::map::AddressSet;
use alloy_primitives::{Address, B256, Bytes, U256};

use crate::executor::interpreter::interpreter::EthInterpreter;
use crate::executor::interpreter::interpreter_types::{InputsTr, LegacyBytecode, ReturnData};
use crate::executor::interpreter::{CallInput, Interpreter};
use crate::executor::{BlockContext, ExecutionEnd, Message, VmError};

/// Longest range of memory that is shown, bytes: more than what the gas cap of calls pays for.
const MAX_RANGE: usize = 16 << 20;
/// Most zeros that geth adds at the end of the memory for [`Step::memory_copy`].
const MAX_PADDING: i64 = 1 << 20;

/// Where a transaction is; all `None` for a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TxPlace {
    /// Its block.
    pub block_hash: Option<B256>,
    /// Its index in the block.
    pub tx_index: Option<usize>,
    /// Its hash.
    pub tx_hash: Option<B256>,
}

/// A transaction that begins.
#[derive(Clone, Copy, Debug)]
pub struct TxStart<'t> {
    /// The transaction. Its gas limit is the whole one.
    pub message: &'t Message,
    /// The recipient, or the address of the contract that it creates.
    pub to: Address,
    /// Gas that is taken before code runs.
    pub intrinsic_gas: u64,
    /// What a gas costs, wei.
    pub gas_price: U256,
    /// The block that code sees.
    pub block: &'t BlockContext,
    /// Where it is.
    pub place: TxPlace,
    /// Addresses of the precompiled contracts of the block's time, warp aside.
    pub precompiles: &'t AddressSet,
    /// What it comes to, if [`super::Tracer::needs_end_first`] asks for it.
    pub end: Option<&'t ExecutionEnd>,
}

/// How a frame was begun.
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

    /// Does it create a contract?
    pub const fn is_create(self) -> bool {
        matches!(self, Self::Create | Self::Create2)
    }
}

/// A frame that begins.
#[derive(Clone, Copy, Debug)]
pub struct FrameStart<'f> {
    /// How.
    pub kind: FrameKind,
    /// 0 for the outermost frame.
    pub depth: usize,
    /// Who calls. In a DELEGATECALL the contract that has the instruction.
    pub from: Address,
    /// Whose code runs, the contract to be created, or who gets what a contract had that destroys itself.
    pub to: Address,
    /// Call data, or init code.
    pub input: &'f Bytes,
    /// Gas that it gets, the stipend included. Of the outermost frame without the intrinsic gas.
    pub gas: u64,
    /// Wei that go along; of a DELEGATECALL the caller's own; `None` in a STATICCALL.
    pub value: Option<U256>,
}

/// A frame that ends.
#[derive(Clone, Copy, Debug)]
pub struct FrameEnd<'f> {
    /// As when it began.
    pub kind: FrameKind,
    /// As when it began.
    pub depth: usize,
    /// What it returned; the code of a new contract; the data of a revert.
    pub output: &'f Bytes,
    /// Gas that it used.
    pub gas_used: u64,
    /// How it ended, unless well.
    pub error: Option<&'f VmError>,
}

/// An instruction that is about to run.
#[derive(Clone, Copy, Debug)]
pub struct Step<'s> {
    /// Where it is in the code.
    pub pc: u64,
    /// The instruction.
    pub op: u8,
    /// Gas before it.
    pub gas: u64,
    /// What it costs, as geth counts: with what a call gets, without what a creation gets.
    pub cost: u64,
    /// 1 in the outermost frame.
    pub depth: usize,
    /// Why it will not run: too few or too many items on the stack, or too little gas.
    pub error: Option<&'s VmError>,
    pub(super) interpreter: &'s Interpreter<EthInterpreter>,
}

impl<'s> Step<'s> {
    /// The stack, its top at the end.
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

    /// A range of the memory, as it will be once the instruction has made it larger: zeros beyond its end. Nothing
    /// where the range is longer than any gas pays for.
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

    /// As [`Self::memory_padded`], with geth's `GetMemoryCopyPadded`: nothing where more than a mebibyte of it lies
    /// beyond the end of the memory, and the numbers are those of 64 bits.
    pub fn memory_copy(&self, offset: U256, length: U256) -> Option<Vec<u8>> {
        let [offset, length] = [offset, length].map(|number| number.as_limbs()[0].cast_signed());
        if offset < 0 || length < 0 {
            return None;
        }
        let padding = offset.wrapping_add(length) - self.memory().len() as i64;
        let place = [offset, length].map(U256::from);
        (padding <= MAX_PADDING).then(|| self.memory_padded(place[0], place[1]))
    }

    /// What the last call returned.
    pub fn return_data(&self) -> &'s [u8] {
        self.interpreter.return_data.buffer()
    }

    /// The contract in whose name the code runs: whose storage it is.
    pub fn address(&self) -> Address {
        self.interpreter.input.target_address()
    }

    /// Who called it.
    pub fn caller(&self) -> Address {
        self.interpreter.input.caller_address()
    }

    /// CALLVALUE, wei.
    pub fn value(&self) -> U256 {
        self.interpreter.input.call_value()
    }

    /// The code that runs.
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

    /// The instruction's name, as geth writes it.
    pub fn op_name(&self) -> std::borrow::Cow<'static, str> {
        crate::executor::opcode_name(self.op)
    }
}

/// The name of an instruction, as geth writes it.
pub fn op_name(op: u8) -> std::borrow::Cow<'static, str> {
    crate::executor::opcode_name(op)
}
