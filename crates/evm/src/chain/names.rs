//! Names of what transactions did, for the screen: contracts, functions, events.

use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, B256, KECCAK256_EMPTY, Log};
use esker_artifacts::{Found, IMPLEMENTATION_SLOT, Registry, delegate_of};
use esker_chain::{PrintedTexts, TxNames, TxReport};
use esker_evm_state::state::{StateError, StateView};
use esker_evm_state::types::{Receipt, SealedHeader, Transaction};

use super::AcceptedBlock;
use super::vm::Evm;
use crate::view::ChainReader as _;

/// Most transactions of a block that get names.
const MAX_TXS: usize = 10;
/// Most events of a transaction that are shown.
const MAX_EVENTS: usize = 16;

impl Evm {
    /// Adds names to the reports of a block's first transactions.
    pub(super) fn add_names(&self, accepted: &AcceptedBlock, reports: &mut [TxReport]) {
        let Some(controls) = &self.controls else { return };
        let AcceptedBlock { block, hash, receipts, .. } = accepted;
        let header = SealedHeader { header: block.header.clone(), hash: *hash };
        // The block may have been taken back meanwhile.
        let Ok(state) = self.state_after(&header) else { return };
        let names = Names { registry: controls.artifacts(), state: state.view() };
        let txs = block.transactions.iter().zip(receipts).zip(reports).take(MAX_TXS);
        for ((tx, receipt), report) in txs {
            match names.of_tx(tx, receipt) {
                Ok(of_tx) => report.names = of_tx,
                Err(error) => tracing::debug!(%error, "cannot name what a transaction did"),
            }
        }
    }
}

/// Names by the code of contracts in one state.
struct Names<'a> {
    registry: &'a Registry,
    state: StateView<'a>,
}

impl Names<'_> {
    fn of_tx(&self, tx: &Transaction, receipt: &Receipt) -> Result<TxNames, StateError> {
        let mut names = TxNames::default();
        if let Some(address) = receipt.contract_address {
            let found = self.contract(address)?;
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
        Ok(names)
    }

    fn call(&self, to: Address, data: &[u8]) -> Result<Option<String>, StateError> {
        if self.code_hash(to)?.is_none() {
            return Ok(None);
        }
        let found = self.with_item(to, |found| found.has_function(data))?;
        Ok(self.registry.call(found.as_ref(), data).map(|call| call.to_string()))
    }

    fn event(&self, log: &Log) -> Result<Option<String>, StateError> {
        let topics = log.data.topics();
        let found = self.with_item(log.address, |found| found.has_event(topics))?;
        let event = self.registry.event(found.as_ref(), topics, &log.data.data);
        Ok(event.map(|event| event.to_string()))
    }

    /// The contract at an address, or that to which it delegates if only that one has an item.
    fn with_item(
        &self,
        address: Address,
        has_item: impl Fn(&Found) -> bool,
    ) -> Result<Option<Found>, StateError> {
        let own = self.contract(address)?;
        if self.registry.is_empty() || own.as_ref().is_some_and(&has_item) {
            return Ok(own);
        }
        let Some(behind) = self.implementation(address)? else { return Ok(own) };
        let behind = self.contract(behind)?;
        Ok(behind.filter(|found| own.is_none() || has_item(found)).or(own))
    }

    fn contract(&self, address: Address) -> Result<Option<Found>, StateError> {
        let Some(hash) = self.code_hash(address)? else { return Ok(None) };
        self.registry.contract(hash, || self.state.code(hash))
    }

    fn code_hash(&self, address: Address) -> Result<Option<B256>, StateError> {
        let account = self.state.account(&address)?;
        Ok(account.map(|account| account.code_hash).filter(|hash| *hash != KECCAK256_EMPTY))
    }

    /// The contract to which a contract passes calls on.
    fn implementation(&self, address: Address) -> Result<Option<Address>, StateError> {
        let Some(hash) = self.code_hash(address)? else { return Ok(None) };
        if let Some(delegate) = delegate_of(&self.state.code(hash)?) {
            return Ok(Some(delegate));
        }
        let stored = self.state.storage(&address, IMPLEMENTATION_SLOT.into())?;
        Ok((!stored.is_zero()).then(|| Address::from_word(stored.into())))
    }
}
