//! Shows transfers of the chain's own coin as logs among those of contracts.

use alloy_primitives::{Address, B256, Bytes, Log, LogData, U256, address, b256};

use crate::executor::interpreter::interpreter::EthInterpreter;
use crate::executor::interpreter::{
    CallInputs, CallOutcome, CallScheme, CreateInputs, CreateOutcome,
};
use crate::executor::{EvmContext, Inspector, nonce_of};

/// Address of the logs (ERC-7528).
const NATIVE_COIN: Address = address!("0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee");

/// keccak of `Transfer(address,address,uint256)`.
const TRANSFER: B256 = b256!("0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");

/// Collects logs and transfers in their order. Those of a failed call are dropped.
#[derive(Debug, Default)]
pub(super) struct Transfers {
    /// The logs of each open call.
    open: Vec<Vec<Log>>,
    /// The logs of the outermost call, once it has ended.
    done: Vec<Log>,
}

impl Transfers {
    /// Takes the logs of a finished message.
    pub(super) fn take(&mut self) -> Vec<Log> {
        self.open.clear();
        std::mem::take(&mut self.done)
    }

    fn enter(&mut self, from: Address, to: Address, value: U256) {
        self.open.push(Vec::new());
        self.transfer(from, to, value);
    }

    fn leave(&mut self, is_ok: bool) {
        let Some(logs) = self.open.pop() else { return };
        if is_ok {
            self.open.last_mut().unwrap_or(&mut self.done).extend(logs);
        }
    }

    fn transfer(&mut self, from: Address, to: Address, value: U256) {
        if value.is_zero() {
            return;
        }
        let topics = vec![TRANSFER, from.into_word(), to.into_word()];
        let data = Bytes::copy_from_slice(&value.to_be_bytes::<32>());
        self.note(Log { address: NATIVE_COIN, data: LogData::new_unchecked(topics, data) });
    }

    fn note(&mut self, log: Log) {
        self.open.last_mut().unwrap_or(&mut self.done).push(log);
    }
}

impl<'a> Inspector<EvmContext<'a>, EthInterpreter> for Transfers {
    fn log(&mut self, _: &mut EvmContext<'a>, log: Log) {
        self.note(log);
    }

    fn call(&mut self, _: &mut EvmContext<'a>, inputs: &mut CallInputs) -> Option<CallOutcome> {
        let value = match inputs.scheme {
            CallScheme::Call | CallScheme::CallCode => inputs.call_value(),
            CallScheme::DelegateCall | CallScheme::StaticCall => U256::ZERO,
        };
        self.enter(inputs.caller, inputs.bytecode_address, value);
        None
    }

    fn call_end(&mut self, _: &mut EvmContext<'a>, _: &CallInputs, outcome: &mut CallOutcome) {
        self.leave(outcome.result.is_ok());
    }

    fn create(
        &mut self,
        context: &mut EvmContext<'a>,
        inputs: &mut CreateInputs,
    ) -> Option<CreateOutcome> {
        match nonce_of(context, inputs.caller()) {
            Ok(nonce) => {
                let created = inputs.created_address(nonce);
                self.enter(inputs.caller(), created, inputs.value());
            }
            // The store failed. The frame also fails and returns the error.
            Err(_) => self.open.push(Vec::new()),
        }
        None
    }

    fn create_end(
        &mut self,
        _: &mut EvmContext<'a>,
        _: &CreateInputs,
        outcome: &mut CreateOutcome,
    ) {
        self.leave(outcome.result.is_ok());
    }

    fn selfdestruct(&mut self, contract: Address, target: Address, value: U256) {
        self.transfer(contract, target, value);
    }
}
