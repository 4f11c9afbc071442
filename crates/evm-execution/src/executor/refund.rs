//! Geth's refund counter during a transaction, for tracers.

use revm::bytecode::opcode;
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::interpreter_types::{InputsTr, Jumps};
use revm::interpreter::{Host, Interpreter};

use super::env::EvmContext;
use super::price::{is_net_metered, slot_change};

/// The counter when a tracer sees the next instruction: with its refund, which geth adds with the cost.
pub(crate) fn refund_counter(
    interpreter: &Interpreter<EthInterpreter>,
    evm: &mut EvmContext<'_>,
) -> u64 {
    if !evm.chain.rules.refunds {
        return 0;
    }
    let outside = evm.chain.refunds.outside();
    let counter = outside + interpreter.gas.refunded() + refund(interpreter, evm);
    u64::try_from(counter).unwrap_or_default()
}

/// The refund of the next instruction.
fn refund(interpreter: &Interpreter<EthInterpreter>, evm: &mut EvmContext<'_>) -> i64 {
    match interpreter.bytecode.opcode() {
        opcode::SSTORE if interpreter.stack.len() >= 2 => {
            let change = slot_change(interpreter, evm);
            evm.gas_params().sstore_refund(is_net_metered(evm), &change)
        }
        opcode::SELFDESTRUCT if !interpreter.stack.data().is_empty() => {
            let contract = interpreter.input.target_address();
            let held = evm.journaled_state.inner.state.get(&contract);
            match held.is_some_and(|account| account.is_selfdestructed()) {
                true => 0,
                false => evm.gas_params().selfdestruct_refund(),
            }
        }
        _ => 0,
    }
}
