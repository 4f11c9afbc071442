//! Names of traced calls, events and errors, from artifacts.

use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, keccak256};
use esker_artifacts::{ContractState, Decoded, Found, Registry};
use esker_evm_execution::trace::{CallName, CallNames, TraceContext, TraceError};

/// Names of the contracts of artifacts.
#[derive(Clone, Debug)]
pub(super) struct ArtifactNames(pub(super) Registry);

impl CallNames for ArtifactNames {
    fn of_call(
        &self,
        to: Address,
        input: &[u8],
        context: &mut TraceContext<'_, '_>,
    ) -> Result<Option<CallName>, TraceError> {
        let mut state = TracedState(context);
        if state.code_hash(to)?.is_none() {
            return Ok(None);
        }
        let has_function = |found: &Found| found.has_function(input);
        let found = self.0.contract_with(&mut state, to, has_function)?;
        Ok(self.0.call(found.as_ref(), input).map(name))
    }

    fn of_creation(&self, code: &[u8], input: &[u8]) -> Option<CallName> {
        let code_of = || Ok::<_, std::convert::Infallible>(code);
        let Ok(found) = self.0.contract(keccak256(code), code_of);
        let found = found?;
        Some(match self.0.creation(Some(&found), input) {
            Some(decoded) => name(decoded),
            None => CallName { contract: Some(found.label().to_string()), ..CallName::default() },
        })
    }

    fn of_event(
        &self,
        address: Address,
        topics: &[B256],
        data: &[u8],
        context: &mut TraceContext<'_, '_>,
    ) -> Result<Option<CallName>, TraceError> {
        let has_event = |found: &Found| found.has_event(topics);
        let found = self.0.contract_with(&mut TracedState(context), address, has_event)?;
        Ok(self.0.event(found.as_ref(), topics, data).map(name))
    }

    fn of_error(&self, data: &[u8]) -> Option<CallName> {
        self.0.error(data).map(name)
    }
}

fn name(decoded: Decoded) -> CallName {
    let Decoded { contract, name, arguments, is_cut: _ } = decoded;
    let arguments = arguments.map(|arguments| {
        arguments.into_iter().map(|argument| (argument.name, argument.value)).collect()
    });
    CallName { contract: contract.map(|name| name.to_string()), item: Some(name), arguments }
}

/// The state in which a call begins.
struct TracedState<'s, 'c, 'a>(&'s mut TraceContext<'c, 'a>);

impl ContractState for TracedState<'_, '_, '_> {
    type Error = TraceError;

    fn code_hash(&mut self, address: Address) -> Result<Option<B256>, TraceError> {
        let account = self.0.account(address)?;
        Ok(account.map(|account| account.code_hash).filter(|hash| *hash != KECCAK256_EMPTY))
    }

    fn code(&mut self, address: Address, _: B256) -> Result<Bytes, TraceError> {
        self.0.code(address)
    }

    fn slot(&mut self, address: Address, slot: B256) -> Result<B256, TraceError> {
        self.0.storage(address, slot.into()).map(B256::from)
    }
}
