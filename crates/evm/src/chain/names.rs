//! Names of what transactions did, for the screen: contracts, functions, events.

use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, B256, KECCAK256_EMPTY, Log, U256, b256};
use esker_artifacts::{Found, Registry};
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

/// The slot of a proxy's implementation (ERC-1967).
const IMPLEMENTATION: B256 =
    b256!("0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc");
/// The code of a clone up to the address (ERC-1167).
const CLONE: [u8; 10] = [0x36, 0x3d, 0x3d, 0x37, 0x3d, 0x3d, 0x3d, 0x36, 0x3d, 0x73];
/// The code of an account that delegates, up to the address (EIP-7702).
const DELEGATION: [u8; 3] = [0xef, 0x01, 0x00];

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
            names.contract = self.contract(address)?.map(|found| found.label().to_string());
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
        let code = self.state.code(hash)?;
        let rest = code.strip_prefix(&CLONE).or_else(|| code.strip_prefix(&DELEGATION));
        if let Some(address) = rest.and_then(|rest| rest.first_chunk::<20>()) {
            return Ok(Some(Address::from(*address)));
        }
        let stored = self.state.storage(&address, U256::from_be_bytes(IMPLEMENTATION.0))?;
        Ok((!stored.is_zero()).then(|| Address::from_word(stored.into())))
    }
}
