//! Names of what transactions did, for the screen: contracts, functions, events.

use std::sync::Arc;

use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, B256, Log};
use esker_artifacts::{ContractState as _, Decoded, Found, Registry};
use esker_chain::{PrintedTexts, RunTarget, TxNames, TxReport};
use esker_evm_state::state::{StateError, StateView};
use esker_evm_state::types::{Receipt, SealedHeader, Transaction};

use super::AcceptedBlock;
use super::vm::Evm;
use crate::contracts::Contracts;
use crate::runs::target_of;
use crate::view::ChainReader as _;

/// Most transactions of a block that get names.
pub(super) const MAX_TXS: usize = 10;
/// Most events of a transaction that are shown.
const MAX_EVENTS: usize = 16;

impl Evm {
    /// Adds names to the reports of a block's first transactions.
    pub(super) fn add_names(&self, accepted: &AcceptedBlock, reports: &mut [TxReport]) {
        if self.controls.is_none() {
            return;
        }
        let AcceptedBlock { block, hash, receipts, .. } = accepted;
        let header = SealedHeader { header: block.header.clone(), hash: *hash };
        // The block may have been taken back meanwhile.
        let Ok(state) = self.state_after(&header) else { return };
        let mut names = self.names(state.view());
        let txs = block.transactions.iter().zip(receipts).zip(reports).take(MAX_TXS);
        for ((tx, receipt), report) in txs {
            match names.of_tx(tx, receipt) {
                Ok((of_tx, target)) => {
                    report.names = of_tx;
                    report.run.get_or_insert_default().target = target;
                }
                Err(error) => tracing::debug!(%error, "cannot name what a transaction did"),
            }
        }
    }

    /// Names in this state: by artifacts on a development network, elsewhere by common standards.
    pub(super) fn names<'a>(&self, state: StateView<'a>) -> Names<'a> {
        let registry = self.controls.as_ref().map(|controls| controls.artifacts().clone());
        Names { registry: registry.unwrap_or_default(), state: Contracts::new(state) }
    }
}

/// Names by the code of contracts in one state.
pub(super) struct Names<'a> {
    registry: Registry,
    state: Contracts<'a>,
}

impl Names<'_> {
    fn of_tx(
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
    pub(super) fn event_of(
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
    pub(super) fn function(
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
    pub(super) fn label(&mut self, address: Address) -> Result<Option<Arc<str>>, StateError> {
        let found = self.registry.contract_at(&mut self.state, address)?;
        Ok(found.map(|found| found.label()))
    }

    /// A custom error, if it is known.
    pub(super) fn error(&self, data: &[u8]) -> Option<Decoded> {
        self.registry.error(data)
    }
}
