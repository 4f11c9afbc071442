//! Calls by the system, which belong to no transaction.

use alloy_primitives::{Address, Bytes, TxKind, U256};
use esker_evm_state::state::StateError;
use revm::context::TxEnv;
use revm::context_interface::result::EVMError;
use revm::handler::Handler;

use super::handler::ChainHandler;
use super::{Runner, StateOverlay};
use crate::rules::{SystemCallOutcome, SystemCalls};

impl<'a, I> SystemCalls<'a> for Runner<'a, I> {
    fn state(&mut self) -> &mut StateOverlay<'a> {
        Runner::state(self)
    }

    fn system_call(
        &mut self,
        caller: Address,
        to: Address,
        input: Bytes,
        gas_limit: u64,
    ) -> Result<SystemCallOutcome, StateError> {
        let context = &mut self.machine.ctx;
        context.tx =
            TxEnv { caller, kind: TxKind::Call(to), data: input, gas_limit, ..TxEnv::default() };
        context.chain.gas_price = U256::ZERO;
        match ChainHandler::default().run_system_call(&mut self.machine) {
            Ok(result) => {
                self.commit()?;
                let success = result.is_success();
                Ok(SystemCallOutcome { success, output: result.into_output().unwrap_or_default() })
            }
            Err(EVMError::Database(error)) => {
                self.discard();
                Err(error.0)
            }
            Err(_) => {
                self.discard();
                Ok(SystemCallOutcome { success: false, output: Bytes::new() })
            }
        }
    }
}
