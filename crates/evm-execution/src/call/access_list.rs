//! Creates access lists.

use std::collections::{BTreeMap, BTreeSet};

use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_primitives::{Address, B256, Bytes, U256};

use super::{CallEnv, CallError, CallLimits, CallRequest};
use crate::executor::interpreter::Interpreter;
use crate::executor::interpreter::interpreter::EthInterpreter;
use crate::executor::interpreter::interpreter_types::{InputsTr, Jumps};
use crate::executor::{EvmContext, ExecutionEnd, Inspector, Runner, VmError, opcode};

/// An access list, and the outcome of the transaction with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessListOutcome {
    /// The list, in the order of addresses and keys.
    pub access_list: AccessList,
    /// Gas used with it.
    pub gas_used: u64,
    /// The error with which the transaction ends, if any.
    pub error: Option<VmError>,
    /// Returned data, also that of a revert.
    pub output: Bytes,
}

/// Most runs. A list that still grows after them is given up: code can touch something new in every run.
const MAX_RUNS: usize = 100;

/// Finds the access list of a request whose gas, fees and nonce are filled in.
///
/// Sender, recipient (unless it has keys) and precompiled contracts are left out: they are accessed anyway.
pub fn create_access_list(
    env: &CallEnv<'_>,
    request: &CallRequest,
    limits: &CallLimits<'_>,
) -> Result<AccessListOutcome, CallError> {
    if request.to.is_none() && request.input.is_empty() {
        return Err(CallError::NoInput);
    }
    let from = request.from.unwrap_or_default();
    let to = request.to.unwrap_or_else(|| from.create(request.nonce.unwrap_or_default()));
    let overlay = super::overlay(env, &super::StateOverrides::default(), limits)?;
    let block = &env.block;
    let tracer = AccessSet::default();
    let mut runner =
        Runner::with_inspector(&env.chain.machine, overlay, block, limits.bounds, tracer);
    limits.prepare(&mut runner);
    let mut excluded: BTreeSet<Address> = runner.precompiles().iter().copied().collect();
    excluded.extend([from, to]);
    let mut accessed = AccessSet { excluded, list: BTreeMap::new() };
    for item in request.access_list.iter().flat_map(|list| &list.0) {
        accessed.add_address(item.address);
        for key in &item.storage_keys {
            accessed.add_key(item.address, *key);
        }
    }
    let mut request = request.clone();
    for _ in 0..MAX_RUNS {
        let access_list = accessed.access_list();
        request.access_list = Some(access_list.clone());
        let message = request.message(limits.gas_cap)?;
        *runner.inspector() = accessed.clone();
        let ended = runner.inspect(block, &message);
        runner.discard();
        limits.report_console(&mut runner);
        let ended = ended.map_err(|error| {
            CallError::from_tx_error_with(error, limits.timeout, |error| {
                CallError::AccessListRefused { error, hash: request.unsigned_hash() }
            })
        })?;
        if runner.inspector().list == accessed.list {
            let ExecutionEnd { error, gas_used, output, .. } = ended;
            return Ok(AccessListOutcome { access_list, gas_used, error, output });
        }
        accessed = runner.inspector().clone();
    }
    Err(CallError::Unsettled)
}

/// The accounts and slots that were accessed so far.
#[derive(Clone, Default)]
struct AccessSet {
    excluded: BTreeSet<Address>,
    list: BTreeMap<Address, BTreeSet<B256>>,
}

impl AccessSet {
    fn add_address(&mut self, address: Address) {
        if !self.excluded.contains(&address) {
            self.list.entry(address).or_default();
        }
    }

    fn add_key(&mut self, address: Address, key: B256) {
        self.list.entry(address).or_default().insert(key);
    }

    fn access_list(&self) -> AccessList {
        let items = self.list.iter().map(|(address, keys)| AccessListItem {
            address: *address,
            storage_keys: keys.iter().copied().collect(),
        });
        AccessList(items.collect())
    }
}

impl<'a> Inspector<EvmContext<'a>, EthInterpreter> for AccessSet {
    fn step(&mut self, interpreter: &mut Interpreter<EthInterpreter>, _: &mut EvmContext<'a>) {
        let stack = interpreter.stack.data();
        let item = |depth: usize| stack.len().checked_sub(depth + 1).map(|at| stack[at]);
        let address = |word: U256| Address::from_word(word.into());
        match interpreter.bytecode.opcode() {
            opcode::SLOAD | opcode::SSTORE => {
                if let Some(key) = item(0) {
                    self.add_key(interpreter.input.target_address(), key.into());
                }
            }
            opcode::EXTCODECOPY
            | opcode::EXTCODEHASH
            | opcode::EXTCODESIZE
            | opcode::BALANCE
            | opcode::SELFDESTRUCT => {
                if let Some(word) = item(0) {
                    self.add_address(address(word));
                }
            }
            opcode::CALL | opcode::CALLCODE | opcode::DELEGATECALL | opcode::STATICCALL => {
                if let (Some(word), Some(_)) = (item(1), item(4)) {
                    self.add_address(address(word));
                }
            }
            _ => {}
        }
    }
}
