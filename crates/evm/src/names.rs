//! Names of what transactions did, for the screen: contracts, functions, events.

use std::sync::Arc;

use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, B256, Log};
use esker_artifacts::{ContractState as _, Decoded, Found, Registry};
use esker_chain::{PrintedTexts, RunTarget, TxNames};
use esker_evm_state::state::{StateError, StateView};
use esker_evm_state::types::{Receipt, Transaction};

use crate::contracts::Contracts;
use crate::runs::target_of;

/// Most events of a transaction that are shown.
const MAX_EVENTS: usize = 16;

/// Names by the code of contracts in one state.
pub(crate) struct Names<'a> {
    registry: Registry,
    state: Contracts<'a>,
}

impl<'a> Names<'a> {
    /// Names of a registry in a state.
    pub(crate) fn new(registry: Registry, state: StateView<'a>) -> Self {
        Self { registry, state: Contracts::new(state) }
    }

    /// What a transaction did, and what it reached.
    pub(crate) fn of_tx(
        &mut self,
        tx: &Transaction,
        receipt: &Receipt,
    ) -> Result<(TxNames, RunTarget), StateError> {
        let mut names = TxNames::default();
        if let Some(address) = receipt.contract_address {
            let found = self.registry.contract_at(&mut self.state, address)?;
            let creation = self.registry.creation(found.as_ref(), tx.input());
            names.call = creation.map(|creation| creation.to_string());
            names.contract = found.map(|found| found.label().to_string());
        } else if let Some(to) = tx.to() {
            names.call = self.call(to, tx.input())?;
        }
        let mut events = PrintedTexts::default();
        for log in receipt.logs.iter().take(MAX_EVENTS) {
            events.texts.extend(self.event(log)?);
        }
        if !events.texts.is_empty() {
            events.left_out = receipt.logs.len().saturating_sub(MAX_EVENTS) as u64;
        }
        names.events = events;
        let created = receipt.contract_address.unwrap_or_default();
        let target = target_of(&self.registry, &mut self.state, tx.to(), tx.input(), created)?;
        Ok((names, target))
    }

    fn call(&mut self, to: Address, data: &[u8]) -> Result<Option<String>, StateError> {
        if self.state.code_hash(to)?.is_none() {
            return Ok(None);
        }
        let has_function = |found: &Found| found.has_function(data);
        let found = self.registry.contract_with(&mut self.state, to, has_function)?;
        Ok(self.registry.call(found.as_ref(), data).map(|call| call.to_string()))
    }

    fn event(&mut self, log: &Log) -> Result<Option<String>, StateError> {
        let event = self.event_of(log.address, log.data.topics(), &log.data.data)?;
        Ok(event.map(|event| event.to_string()))
    }

    /// An event with its arguments, if it is known.
    pub(crate) fn event_of(
        &mut self,
        address: Address,
        topics: &[B256],
        data: &[u8],
    ) -> Result<Option<Decoded>, StateError> {
        let has_event = |found: &Found| found.has_event(topics);
        let found = self.registry.contract_with(&mut self.state, address, has_event)?;
        Ok(self.registry.event(found.as_ref(), topics, data))
    }

    /// The name of a function and its arguments, if they are known.
    pub(crate) fn function(
        &mut self,
        to: Address,
        data: &[u8],
    ) -> Result<Option<(String, String)>, StateError> {
        let has_function = |found: &Found| found.has_function(data);
        let found = self.registry.contract_with(&mut self.state, to, has_function)?;
        let call = self.registry.call(found.as_ref(), data).map(Decoded::without_names);
        Ok(call.and_then(|call| {
            let values: Vec<_> = call.arguments?.into_iter().map(|one| one.value).collect();
            Some((call.name, values.join(", ")))
        }))
    }

    /// The name of the contract at an address, if it is known.
    pub(crate) fn label(&mut self, address: Address) -> Result<Option<Arc<str>>, StateError> {
        let found = self.registry.contract_at(&mut self.state, address)?;
        Ok(found.map(|found| found.label()))
    }

    /// A custom error, if it is known.
    pub(crate) fn error(&self, data: &[u8]) -> Option<Decoded> {
        self.registry.error(data)
    }
}
