//! Shows transfers of the chain's own coin as logs among those of contracts.

use alloy_primitives::{Address, B256, Bytes, Log, LogData, U256, address, b256};

use crate::executor::interpreter::interpreter::EthInterpreter;
use crate::executor::interpreter::{
    CallInputs, CallOutcome, CallScheme, CreateInputs, CreateOutcome,
};
use crate::executor::{EvmContext, Inspector, nonce_of};
use crate::rules::Dialect;

/// Address of the logs (ERC-7528).
const NATIVE_COIN: Address = address!("0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee");

/// keccak of `Transfer(address,address,uint256)`.
const TRANSFER: B256 = b256!("0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");

/// Collects logs and transfers of a block in their order. Those of a failed call are dropped.
#[derive(Debug, Default)]
pub(super) struct Transfers {
    /// The logs of each open call, with their indexes in the block.
    open: Vec<Vec<(usize, Log)>>,
    /// The logs of the outermost call, once it has ended.
    done: Vec<(usize, Log)>,
    /// The index of the next log.
    next: usize,
    /// Whether no other log gets the index of a dropped one.
    keeps_indexes: bool,
}

impl Transfers {
    pub(super) fn new(dialect: Dialect) -> Self {
        // The recorded answers of the execution API suite count dropped logs.
        Self { keeps_indexes: dialect.is_standard(), ..Self::default() }
    }

    /// Takes the indexes and logs of a finished message.
    pub(super) fn take(&mut self) -> (Vec<usize>, Vec<Log>) {
        self.open.clear();
        std::mem::take(&mut self.done).into_iter().unzip()
    }

    /// The indexes of so many logs of a message that was not watched.
    pub(super) fn skip(&mut self, count: usize) -> Vec<usize> {
        let first = self.next;
        self.next += count;
        (first..self.next).collect()
    }

    fn enter(&mut self, from: Address, to: Address, value: U256) {
        self.open.push(Vec::new());
        self.transfer(from, to, value);
    }

    fn leave(&mut self, is_ok: bool) {
        let Some(logs) = self.open.pop() else { return };
        if is_ok {
            self.open.last_mut().unwrap_or(&mut self.done).extend(logs);
        } else if !self.keeps_indexes {
            // They are the latest ones.
            self.next -= logs.len();
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
        self.open.last_mut().unwrap_or(&mut self.done).push((self.next, log));
        self.next += 1;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The indexes of a message: a transfer, a failed call with a transfer, a log after it.
    fn message(transfers: &mut Transfers, is_ok: bool) -> Vec<usize> {
        let (a, b) = (Address::repeat_byte(1), Address::repeat_byte(2));
        transfers.enter(a, b, U256::ONE);
        transfers.enter(b, a, U256::ONE);
        transfers.leave(false);
        transfers.note(Log::default());
        transfers.leave(is_ok);
        let (indexes, logs) = transfers.take();
        assert_eq!(indexes.len(), logs.len());
        indexes
    }

    #[test]
    fn indexes_of_dropped_logs_are_free_in_the_reference_only() {
        let mut reference = Transfers::new(Dialect::Reference);
        assert_eq!(message(&mut reference, true), [0, 1]);
        assert_eq!(message(&mut reference, false), [0_usize; 0]);
        assert_eq!(message(&mut reference, true), [2, 3]);
        let mut standard = Transfers::new(Dialect::Standard);
        assert_eq!(message(&mut standard, true), [0, 2]);
        assert_eq!(message(&mut standard, false), [0_usize; 0]);
        assert_eq!(message(&mut standard, true), [6, 8]);
        assert_eq!(standard.skip(2), [9, 10]);
    }
}
