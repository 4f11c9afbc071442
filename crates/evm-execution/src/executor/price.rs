//! Computes the cost of an instruction before it runs, as geth does, and geth's reasons not to run it.
//!
//! revm takes the gas of an instruction step by step while it runs. Tracers show the whole cost before. If the gas is
//! insufficient, they show the cost that geth had counted until then. Nothing here changes the state: accounts and
//! slots that the instruction warms are still cold when it runs.

use alloy_primitives::{Address, U256};
use revm::bytecode::opcode;
use revm::context_interface::context::SStoreResult;
use revm::database_interface::Database;
use revm::interpreter::instructions::gas_table_spec;
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::interpreter_types::{InputsTr, Jumps, RuntimeFlag};
use revm::interpreter::{Host, Interpreter};
use revm::primitives::hardfork::SpecId;

use super::VmError;
use super::env::EvmContext;
use super::opcodes::{is_defined, stack_bounds};
use super::operands::{MAX_PAYABLE_MEMORY, memory_end, memory_operands, range_end};
use crate::rules::Revision;
use crate::trace::{account, storage};

const SELFDESTRUCT: u64 = 5_000;
/// SSTORE needs more gas than this (EIP-2200).
const SSTORE_SENTRY: u64 = 2_300;

/// The cost of the next instruction, and why it will not run.
pub(crate) fn price(
    interpreter: &Interpreter<EthInterpreter>,
    evm: &mut EvmContext<'_>,
) -> (u64, Option<VmError>) {
    let (op, spec) = (interpreter.bytecode.opcode(), interpreter.runtime_flag.spec_id());
    let (have, gas) = (interpreter.stack.len(), interpreter.gas.remaining());
    let constant = constant_gas(op, spec);
    let (want, limit) = if is_defined(op, spec) { stack_bounds(op) } else { (0, 1024) };
    if have < want {
        return (constant, Some(VmError::StackUnderflow { have, want }));
    }
    if have > limit {
        return (constant, Some(VmError::StackOverflow { have, limit }));
    }
    if !is_defined(op, spec) {
        // It costs nothing and fails when it runs.
        return (0, None);
    }
    let Some(left) = gas.checked_sub(constant) else { return (constant, Some(VmError::OutOfGas)) };
    let operands = Operands(interpreter.stack.data());
    let memory = match operands.memory(op) {
        Some(Ok(end)) => end,
        Some(Err(())) => return (constant, Some(VmError::GasOverflow)),
        None => 0,
    };
    let instruction = Instruction { op, spec, left, memory, operands, interpreter };
    match instruction.dynamic_gas(evm) {
        None => (constant, Some(VmError::OutOfGas)),
        Some(dynamic) => {
            let error = (dynamic > left).then_some(VmError::OutOfGas);
            (constant.saturating_add(dynamic), error)
        }
    }
}

/// Gas that geth takes before it reads the operands.
fn constant_gas(op: u8, spec: SpecId) -> u64 {
    match op {
        opcode::SSTORE
        | opcode::EXP
        | opcode::RETURN
        | opcode::REVERT
        | opcode::LOG0..=opcode::LOG4 => 0,
        opcode::CREATE | opcode::CREATE2 => 32_000,
        // Geth's tables before and since access lists differ in what they call constant.
        opcode::SLOAD if spec.is_enabled_in(SpecId::BERLIN) => 0,
        opcode::SELFDESTRUCT if !spec.is_enabled_in(SpecId::BERLIN) => 0,
        _ => table(spec)[usize::from(op)].into(),
    }
}

/// revm's constant gas in a fork.
fn table(spec: SpecId) -> &'static [u16; 256] {
    static TABLES: [(SpecId, [u16; 256]); 4] = [
        (SpecId::BERLIN, gas_table_spec(SpecId::BERLIN)),
        (SpecId::ISTANBUL, gas_table_spec(SpecId::ISTANBUL)),
        (SpecId::TANGERINE, gas_table_spec(SpecId::TANGERINE)),
        (SpecId::FRONTIER, gas_table_spec(SpecId::FRONTIER)),
    ];
    let [.., (_, oldest)] = &TABLES;
    TABLES.iter().find(|(since, _)| spec.is_enabled_in(*since)).map_or(oldest, |(_, table)| table)
}

#[derive(Clone, Copy)]
struct Operands<'i>(&'i [U256]);

impl Operands<'_> {
    /// An item of the stack, counted from the top. It must exist.
    fn at(self, place: usize) -> U256 {
        let stack = self.0;
        stack.len().checked_sub(place + 1).map_or(U256::ZERO, |at| stack[at])
    }

    fn address(self, place: usize) -> Address {
        Address::from_word(self.at(place).into())
    }

    /// The end of the memory that an instruction uses; `None` if it uses none. `Err` if the end does not fit into 64
    /// bits.
    fn memory(self, op: u8) -> Option<Result<u64, ()>> {
        let length = match op {
            opcode::MLOAD | opcode::MSTORE => 32,
            opcode::MSTORE8 => 1,
            op => {
                let (_, ranges) = memory_operands(op);
                let ends = ranges.iter().map(|(offset, length)| {
                    memory_end(&self.at(*offset), &self.at(*length)).map_err(|_| ())
                });
                let most = |a: Result<u64, ()>, b: Result<u64, ()>| Ok(a?.max(b?));
                return ends.reduce(most);
            }
        };
        Some(range_end(&self.at(0), length).map_err(|_| ()))
    }
}

struct Instruction<'i> {
    op: u8,
    spec: SpecId,
    /// Gas after the constant part.
    left: u64,
    /// End of the memory that the instruction uses.
    memory: u64,
    operands: Operands<'i>,
    interpreter: &'i Interpreter<EthInterpreter>,
}

impl Instruction<'_> {
    /// Gas that geth takes besides the constant part; `None` if geth stops counting, which is out of gas.
    fn dynamic_gas(&self, evm: &mut EvmContext<'_>) -> Option<u64> {
        let Self { op, operands, .. } = *self;
        match op {
            opcode::MLOAD | opcode::MSTORE | opcode::MSTORE8 | opcode::RETURN | opcode::REVERT => {
                self.memory_gas(evm)
            }
            opcode::EXP => Some(10 + evm.gas_params().exp_cost(operands.at(1))),
            opcode::KECCAK256 => self.memory_and_words(evm, operands.at(1), 6),
            opcode::CALLDATACOPY | opcode::CODECOPY | opcode::RETURNDATACOPY => {
                self.memory_and_words(evm, operands.at(2), 3)
            }
            opcode::MCOPY => self.memory_and_words(evm, operands.at(2), 3),
            opcode::EXTCODECOPY => self
                .memory_and_words(evm, operands.at(3), 3)?
                .checked_add(self.cold_surcharge(evm, 0)),
            opcode::BALANCE | opcode::EXTCODESIZE | opcode::EXTCODEHASH => {
                Some(self.cold_surcharge(evm, 0))
            }
            opcode::LOG0..=opcode::LOG4 => {
                let topics = u64::from(op - opcode::LOG0);
                let data = u64::try_from(operands.at(1)).ok()?.checked_mul(8)?;
                self.memory_gas(evm)?.checked_add(375 + 375 * topics)?.checked_add(data)
            }
            opcode::SLOAD => Some(self.sload_gas(evm)),
            opcode::SSTORE => self.sstore_gas(evm),
            opcode::CREATE | opcode::CREATE2 => self.create_gas(evm),
            opcode::CALL | opcode::CALLCODE | opcode::DELEGATECALL | opcode::STATICCALL => {
                self.call_gas(evm)
            }
            opcode::SELFDESTRUCT => Some(self.selfdestruct_gas(evm)),
            _ => Some(0),
        }
    }

    fn memory_gas(&self, evm: &EvmContext<'_>) -> Option<u64> {
        if self.memory > MAX_PAYABLE_MEMORY {
            return None;
        }
        let words = usize::try_from(self.memory.div_ceil(32)).ok()?;
        let total = evm.gas_params().memory_cost(words);
        Some(total.saturating_sub(self.interpreter.gas.memory().expansion_cost))
    }

    /// Gas of the memory, and `each` for each word of a length.
    fn memory_and_words(&self, evm: &EvmContext<'_>, length: U256, each: u64) -> Option<u64> {
        let words = u64::try_from(length).ok()?.div_ceil(32);
        self.memory_gas(evm)?.checked_add(words.checked_mul(each)?)
    }

    fn cold_surcharge(&self, evm: &EvmContext<'_>, place: usize) -> u64 {
        match is_warm(evm, self.operands.address(place)) {
            true => 0,
            false => evm.gas_params().cold_account_additional_cost(),
        }
    }

    fn is_slot_warm(&self, evm: &EvmContext<'_>) -> bool {
        let (contract, key) = (self.interpreter.input.target_address(), self.operands.at(0));
        let inner = &evm.journaled_state.inner;
        inner.warm_addresses.is_storage_warm(&contract, &key)
            || inner.state.get(&contract).is_some_and(|account| {
                let slot = account.storage.get(&key);
                slot.is_some_and(|slot| !slot.is_cold_transaction_id(inner.transaction_id))
            })
    }

    fn sload_gas(&self, evm: &EvmContext<'_>) -> u64 {
        let gas = evm.gas_params();
        let cold = if self.is_slot_warm(evm) { 0 } else { gas.cold_storage_additional_cost() };
        gas.warm_storage_read_cost() + cold
    }

    fn sstore_gas(&self, evm: &mut EvmContext<'_>) -> Option<u64> {
        if self.spec.is_enabled_in(SpecId::ISTANBUL) && self.left <= SSTORE_SENTRY {
            return None;
        }
        let is_cold = !self.is_slot_warm(evm);
        let (change, is_net) = (slot_change(self.interpreter, evm), is_net_metered(evm));
        let gas = evm.gas_params();
        Some(gas.sstore_static_gas() + gas.sstore_dynamic_gas(is_net, &change, is_cold))
    }

    fn create_gas(&self, evm: &EvmContext<'_>) -> Option<u64> {
        let length = u64::try_from(self.operands.at(2)).ok()?;
        let shanghai = self.spec >= SpecId::SHANGHAI;
        if shanghai && length > evm.chain.rules.max_init_code() as u64 {
            return None;
        }
        let init = if shanghai { 2 } else { 0 };
        let hash = if self.op == opcode::CREATE2 { 6 } else { 0 };
        self.memory_gas(evm)?.checked_add(length.div_ceil(32).checked_mul(init + hash)?)
    }

    /// Includes the gas that the call gets, without the stipend.
    fn call_gas(&self, evm: &mut EvmContext<'_>) -> Option<u64> {
        let access = self.cold_surcharge(evm, 1).checked_add(self.delegation_gas(evm))?;
        let left = self.left.checked_sub(access)?;
        let has_value = matches!(self.op, opcode::CALL | opcode::CALLCODE);
        let sends = has_value && !self.operands.at(2).is_zero();
        let mut base = if sends { evm.gas_params().transfer_value_cost() } else { 0 };
        if self.op == opcode::CALL && self.is_new(evm, self.operands.address(1)) {
            let has_empty = self.spec.is_enabled_in(SpecId::SPURIOUS_DRAGON);
            base += evm.gas_params().new_account_cost(has_empty, sends);
        }
        let base = base.checked_add(self.memory_gas(evm)?)?;
        if !self.spec.is_enabled_in(SpecId::TANGERINE) {
            return base.checked_add(u64::try_from(self.operands.at(0)).ok()?);
        }
        // If the gas does not cover the base cost, geth's subtraction wraps around.
        let available = left.wrapping_sub(base);
        let most = available - available / 64;
        let given = u64::try_from(self.operands.at(0)).map_or(most, |asked| asked.min(most));
        base.checked_add(given)?.checked_add(access)
    }

    /// Gas for reading the contract to which the called account delegates (EIP-7702).
    fn delegation_gas(&self, evm: &mut EvmContext<'_>) -> u64 {
        if !self.spec.is_enabled_in(SpecId::PRAGUE) {
            return 0;
        }
        let Some(contract) = delegation(evm, self.operands.address(1)) else { return 0 };
        let gas = evm.gas_params();
        let cold = if is_warm(evm, contract) { 0 } else { gas.cold_account_additional_cost() };
        gas.warm_storage_read_cost() + cold
    }

    fn selfdestruct_gas(&self, evm: &mut EvmContext<'_>) -> u64 {
        let to = self.operands.address(0);
        let contract = self.interpreter.input.target_address();
        let held = account(evm, contract).ok().flatten();
        let sends = held.is_some_and(|held| !held.balance.is_zero());
        let has_empty = self.spec.is_enabled_in(SpecId::SPURIOUS_DRAGON);
        let makes = self.is_new(evm, to) && (sends || !has_empty);
        // Since Berlin the base cost is constant.
        let is_dynamic = (SpecId::TANGERINE..SpecId::BERLIN).contains(&self.spec);
        let base = if is_dynamic { SELFDESTRUCT } else { 0 };
        base + evm.gas_params().selfdestruct_cost(makes, !is_warm(evm, to))
    }

    /// Whether a transfer to the account makes it: it does not exist, or is empty where empty accounts are removed.
    fn is_new(&self, evm: &mut EvmContext<'_>, address: Address) -> bool {
        let has_empty = self.spec.is_enabled_in(SpecId::SPURIOUS_DRAGON);
        let found = account(evm, address).ok().flatten();
        found.is_none_or(|account| {
            has_empty
                && account.nonce == 0
                && account.balance.is_zero()
                && account.code_hash == alloy_trie::KECCAK_EMPTY
        })
    }
}

/// The change of a slot that SSTORE will make, with its operands on the stack.
pub(super) fn slot_change(
    interpreter: &Interpreter<EthInterpreter>,
    evm: &mut EvmContext<'_>,
) -> SStoreResult {
    let operands = Operands(interpreter.stack.data());
    let (key, new_value) = (operands.at(0), operands.at(1));
    let contract = interpreter.input.target_address();
    let slot = evm.chain.storage_slot(key);
    let held = evm.journaled_state.inner.state.get(&contract);
    let known = held.and_then(|account| account.storage.get(&slot));
    let (original_value, present_value) = match known {
        Some(slot) => (slot.original_value(), slot.present_value()),
        None => {
            // If the state can't be read, the instruction itself fails.
            let value = storage(evm, contract, key).unwrap_or_default();
            (value, value)
        }
    };
    SStoreResult { original_value, present_value, new_value }
}

/// Whether the gas of SSTORE depends on the slot's value before the transaction.
pub(super) fn is_net_metered(evm: &EvmContext<'_>) -> bool {
    let revision = evm.chain.rules.revision;
    revision == Revision::Constantinople || revision >= Revision::Istanbul
}

/// The contract to which an account delegates.
fn delegation(evm: &mut EvmContext<'_>, address: Address) -> Option<Address> {
    let held = account(evm, address).ok().flatten()?;
    let loaded = evm.journaled_state.inner.state.get(&address);
    let code = match loaded.and_then(|account| account.info.code.clone()) {
        Some(code) => code,
        None => evm.journaled_state.database.code_by_hash(held.code_hash).ok()?,
    };
    code.eip7702_address()
}

fn is_warm(evm: &EvmContext<'_>, address: Address) -> bool {
    let inner = &evm.journaled_state.inner;
    inner.warm_addresses.is_warm(&address)
        || inner
            .state
            .get(&address)
            .is_some_and(|account| !account.is_cold_transaction_id(inner.transaction_id))
}
