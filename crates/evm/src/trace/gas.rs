//! What an instruction costs, known before it runs, and whether it can be paid.

use crate::executor::interpreter::Interpreter;
use crate::executor::interpreter::interpreter::EthInterpreter;
use crate::executor::{EvmContext, VmError};

/// The cost of the instruction that runs next, as geth counts it, and why it will not run.
pub(super) fn price(
    _: &Interpreter<EthInterpreter>,
    _: &mut EvmContext<'_>,
) -> (u64, Option<VmError>) {
    (0, None)
}
