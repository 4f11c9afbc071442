//! The port for the ext data of blocks: the atomic transactions of the C-Chain.

use std::fmt;

use alloy_primitives::{Address, B256, Bytes, U256, U512};
use esker_chain::audit::AuditContext;
use esker_chain::commitment::StateTable;
use esker_chain::{DropLog, PoolFigures, TxReport};
use esker_evm_execution::executor::{ExtOutcome, StateOverlay};
use esker_evm_execution::rules::{ExtSummary, HeaderTerms};
use esker_evm_state::state::StateError;
use esker_storage::audit::{AuditError, Finding, shown};
use esker_storage::{KvRead, PendingWrites, WriteSet};
use serde_json::value::RawValue;
use thiserror::Error;

use crate::pool::AccountState;

/// A block as an extension sees it.
#[derive(Clone, Copy, Debug)]
pub struct ExtBlock<'a> {
    /// Height.
    pub number: u64,
    /// Unix s.
    pub time: u64,
    /// Wei a gas.
    pub base_fee: U256,
    /// Hash of the block; zero while the block is built.
    pub hash: B256,
    /// The ext data of the block.
    pub ext_data: &'a [u8],
    /// The ext data of this chain's undecided ancestors, newest first. The state includes their effects.
    pub undecided: &'a [Bytes],
    /// Whether a block of this or another chain is undecided. What is missing in the accepted state may then still
    /// come.
    pub has_undecided: bool,
}

/// An account that a block changed, and its state after the block.
pub type ChangedAccount = (Address, AccountState);

/// Why ext data is refused.
#[derive(Debug, Error)]
pub enum ExtError {
    /// It breaks a rule. The text is the reference's, with its wrappers.
    #[error("{0}")]
    Invalid(String),
    /// State can't be read.
    #[error(transparent)]
    State(#[from] StateError),
}

/// Builds, verifies and applies ext data.
///
/// A block is verified in this order: [`parse`](Self::parse), the header's rules,
/// [`check_inputs`](Self::check_inputs), EVM transactions, [`apply`](Self::apply), fees, roots.
pub trait BlockExtension: Send + Sync + fmt::Debug + 'static {
    /// Decodes ext data and applies the rules that need no state. Called for every block, before all else.
    fn parse(&self, block: &ExtBlock<'_>) -> Result<ExtSummary, ExtError>;

    /// Checks that the inputs of the block exist. `parent` reads the state before the block, that of other chains
    /// included.
    fn check_inputs(&self, block: &ExtBlock<'_>, parent: &dyn KvRead) -> Result<(), ExtError>;

    /// Applies ext data to the state after the EVM transactions, and writes the extension's own rows. `rows` reads
    /// the rows before the block.
    fn apply(
        &self,
        block: &ExtBlock<'_>,
        state: &mut StateOverlay<'_>,
        rows: &mut PendingWrites<'_>,
    ) -> Result<ExtOutcome, ExtError>;

    /// As [`esker_chain::ChainVm::state_tables`].
    fn state_tables(&self) -> Vec<StateTable> {
        Vec::new()
    }

    /// Writes the rows of the transactions in a block of a snapshot, without rows of the state.
    fn restore_block(&self, _block: &ExtBlock<'_>, _out: &mut WriteSet) -> Result<(), ExtError> {
        Ok(())
    }

    /// Whether a transaction waits that a block could hold.
    fn has_work(&self) -> bool {
        false
    }

    /// Most gas of a waiting transaction.
    fn max_tx_gas(&self) -> u64 {
        0
    }

    /// The highest base fee (wei a gas) that a waiting transaction pays.
    fn highest_payable_base_fee(&self) -> Option<U256> {
        None
    }

    /// The header fields that ext data sets.
    fn header_terms(&self, _ext_data: &[u8]) -> Result<HeaderTerms, ExtError> {
        Ok(HeaderTerms::default())
    }

    /// The header fields that the block under construction sets.
    fn next_header_terms(&self) -> HeaderTerms {
        HeaderTerms::default()
    }

    /// The ext data of the block under construction, with the header fields that the block sets.
    fn with_header(&self, ext_data: Bytes) -> Result<Bytes, ExtError> {
        Ok(ext_data)
    }

    /// Chooses ext data of at most `max_gas` for a block under construction (whose `ext_data` is empty) and applies
    /// it, as [`apply`](Self::apply) will when the block is verified. Returns `None` if there is no ext data.
    fn build(
        &self,
        _block: &ExtBlock<'_>,
        _max_gas: u64,
        _state: &mut StateOverlay<'_>,
        _rows: &mut PendingWrites<'_>,
    ) -> Result<Option<(Bytes, ExtOutcome)>, ExtError> {
        Ok(None)
    }

    /// Called if the last [`build`](Self::build) led to no block: the chosen transactions wait again.
    fn not_built(&self) {}

    /// Called when a block with this ext data was executed. It is not decided yet.
    fn undecided(&self, _ext_data: &Bytes) {}

    /// Called before a block with this ext data and these accounts is committed. Transactions that the block makes
    /// impossible are added to [`Self::drop_log`], which is saved with the block. The commit may fail, so nothing may
    /// be published here.
    fn before_commit(&self, _ext_data: &Bytes, _accounts: &[ChangedAccount], _accepted_ms: u64) {}

    /// Called when a block with this ext data and these accounts was accepted and is durable.
    fn accepted(&self, _number: u64, _ext_data: &Bytes, _accounts: &[ChangedAccount]) {}

    /// Called when accepted blocks above a height were rewound. Their transactions are lost. The builder checks
    /// pooled transactions against the restored state.
    fn rewound(&self, _number: u64) {}

    /// The transactions in the ext data of an accepted block.
    fn reports(&self, _ext_data: &Bytes) -> Vec<TxReport> {
        Vec::new()
    }

    /// Called when a block with this ext data will never be accepted.
    fn abandoned(&self, _ext_data: &Bytes) {}

    /// Whether a transaction waits in the extension's pool.
    fn holds(&self, _tx: &esker_primitives::Id) -> bool {
        false
    }

    /// The number of waiting transactions, and the counts of the pool; `None` if the extension has no pool. The call
    /// is cheap.
    fn pool_figures(&self) -> Option<(u64, PoolFigures)> {
        None
    }

    /// The nonces of an account that waiting transactions use, ascending.
    fn waiting_nonces(&self, _account: &Address) -> Vec<u64> {
        Vec::new()
    }

    /// The log of dropped transactions of the extension. The chain opens and saves it.
    fn drop_log(&self) -> Option<&DropLog> {
        None
    }

    /// The extension's waiting transactions, in the form for [`Self::restore_tx`].
    fn waiting_txs(&self) -> Vec<Bytes> {
        Vec::new()
    }

    /// Pools a transaction that waited when the node stopped. Returns false if it is no longer valid; the reason is
    /// kept.
    fn restore_tx(&self, _tx: &[u8]) -> bool {
        false
    }

    /// Empties the pool before the transactions of a snapshot are restored.
    fn drop_waiting_txs(&self) {}

    /// Audits the ext data of accepted blocks, and the extension's rows.
    fn audit(&self) -> Box<dyn ExtensionAudit + '_> {
        Box::new(NoExtension)
    }
}

/// The native asset that the ext data of a block moved, wei.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtTransfers {
    /// Imported from other chains, fees included.
    pub imported: u128,
    /// Exported to other chains.
    pub exported: u128,
    /// Burned as fees.
    pub burnt: u128,
    /// The change of the supply by a control record, on development networks.
    pub set: SupplyChange,
}

/// The change of the supply of a chain's coin, wei. The sum of any number of balances fits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SupplyChange {
    /// Wei that accounts received.
    pub given: U512,
    /// Wei that accounts lost.
    pub taken: U512,
}

impl SupplyChange {
    /// Adds the change of a balance.
    pub fn add_balance(&mut self, before: U256, after: U256) {
        self.given = self.given.saturating_add(U512::from(after.saturating_sub(before)));
        self.taken = self.taken.saturating_add(U512::from(before.saturating_sub(after)));
    }

    /// Adds another change.
    pub fn add(&mut self, other: &Self) {
        self.given = self.given.saturating_add(other.given);
        self.taken = self.taken.saturating_add(other.taken);
    }
}

/// An extension's part of an audit of its chain.
pub trait ExtensionAudit {
    /// Audits the next accepted block. Reports the exchange with other chains to the context.
    fn block(
        &mut self,
        block: &ExtBlock<'_>,
        ctx: &mut AuditContext<'_>,
    ) -> Result<ExtTransfers, AuditError>;

    /// Audits the rows after all blocks.
    fn finish(&mut self, ctx: &mut AuditContext<'_>) -> Result<(), AuditError>;
}

impl ExtensionAudit for NoExtension {
    fn block(
        &mut self,
        block: &ExtBlock<'_>,
        ctx: &mut AuditContext<'_>,
    ) -> Result<ExtTransfers, AuditError> {
        if !block.ext_data.is_empty() {
            let place = format!("ext data of block {} {}", block.number, block.hash);
            ctx.log.finding(Finding::new(place, "none", shown(block.ext_data)));
        }
        Ok(ExtTransfers::default())
    }

    fn finish(&mut self, _: &mut AuditContext<'_>) -> Result<(), AuditError> {
        Ok(())
    }
}

/// Shows ext data to clients.
pub trait ExtDataView: Send + Sync + fmt::Debug + 'static {
    /// The transactions in ext data as a list in JSON; `None` if none of them can be shown.
    fn transactions(&self, ext_data: &[u8]) -> Option<Box<RawValue>>;
}

/// The extension of a chain without ext data: ext data must be empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoExtension;

impl BlockExtension for NoExtension {
    fn parse(&self, block: &ExtBlock<'_>) -> Result<ExtSummary, ExtError> {
        if block.ext_data.is_empty() {
            return Ok(ExtSummary::default());
        }
        Err(ExtError::Invalid("this chain has no atomic transactions".into()))
    }

    fn check_inputs(&self, _: &ExtBlock<'_>, _: &dyn KvRead) -> Result<(), ExtError> {
        Ok(())
    }

    fn apply(
        &self,
        _: &ExtBlock<'_>,
        _: &mut StateOverlay<'_>,
        _: &mut PendingWrites<'_>,
    ) -> Result<ExtOutcome, ExtError> {
        Ok(ExtOutcome::default())
    }
}
