//! Calls of the console contracts' address, which has no code.

use revm::interpreter::CallInputs;

use crate::console::CONSOLE;
use crate::executor::env::EvmContext;

/// Keeps the data of a call, if it is one of the console and somebody wants them.
pub(super) fn keep(context: &mut EvmContext<'_>, inputs: &CallInputs) {
    if inputs.bytecode_address != CONSOLE {
        return;
    }
    let Some(mut console) = context.chain.console.take() else { return };
    console.push(inputs.input.len(), || inputs.input.bytes(&*context));
    context.chain.console = Some(console);
}
