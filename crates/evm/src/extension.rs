//! The port for what a chain's blocks carry beside EVM transactions: the C-Chain's atomic transactions.

use std::fmt;

use alloy_primitives::{Address, B256, Bytes, U256, U512};
use esker_chain::audit::AuditContext;
use esker_chain::commitment::StateTable;
use esker_chain::{DropLog, PoolFigures, TxReport};
use esker_evm_execution::executor::{ExtOutcome, StateOverlay};
use esker_evm_execution::rules::{HeaderTerms, PhaseRules};
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
    /// The rules of the block's time.
    pub phase: &'a PhaseRules,
    /// Hash of the block; zero while it is being built.
    pub hash: B256,
    /// What the block carries.
    pub ext_data: &'a [u8],
    /// What this chain's undecided blocks below it carry, newest first. The state includes it.
    pub undecided: &'a [Bytes],
    /// Something is undecided, of this chain or of others: what is missing in the accepted state may yet come.
    pub has_undecided: bool,
}

/// An account that a block changed, as it is after it.
pub type ChangedAccount = (Address, AccountState);

/// What ext data holds, without looking at any state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtSummary {
    /// Transactions in it. A block without any transaction, of either kind, is refused as empty.
    pub transactions: usize,
    /// Their gas, as in the header.
    pub gas_used: u64,
}

/// Why ext data can't be part of a block.
#[derive(Debug, Error)]
pub enum ExtError {
    /// It breaks a rule; the text is the reference's, with its wrappers.
    #[error("{0}")]
    Invalid(String),
    /// State can't be read.
    #[error(transparent)]
    State(#[from] StateError),
}

/// What fills ext data, and what it means.
///
/// A block is verified in this order: [`parse`](Self::parse), the header's rules,
/// [`check_inputs`](Self::check_inputs), EVM transactions, [`apply`](Self::apply), fees, roots.
pub trait BlockExtension: Send + Sync + fmt::Debug + 'static {
    /// Decodes ext data and applies the rules that need no state. Called for every block, before all else.
    fn parse(&self, block: &ExtBlock<'_>) -> Result<ExtSummary, ExtError>;

    /// Is what the block consumes there? `parent` reads the state before the block, that of other chains
    /// included.
    fn check_inputs(&self, block: &ExtBlock<'_>, parent: &dyn KvRead) -> Result<(), ExtError>;

    /// Applies ext data to the state after the EVM transactions, and writes its own rows. `rows` shows the
    /// rows before the block.
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

    /// Writes what is kept of the transactions in a final block that comes with a snapshot of the state, and nothing of
    /// the state itself.
    fn restore_block(&self, _block: &ExtBlock<'_>, _out: &mut WriteSet) -> Result<(), ExtError> {
        Ok(())
    }

    /// Is there something waiting that a block could hold?
    fn has_work(&self) -> bool {
        false
    }

    /// The highest base fee (wei a gas) that something waiting pays.
    fn highest_payable_base_fee(&self) -> Option<U256> {
        None
    }

    /// What ext data sets of the header.
    fn header_terms(&self, _ext_data: &[u8]) -> Result<HeaderTerms, ExtError> {
        Ok(HeaderTerms::default())
    }

    /// What the block under construction sets of its header.
    fn next_header_terms(&self) -> HeaderTerms {
        HeaderTerms::default()
    }

    /// The ext data of the block under construction, completed with what it sets of its header.
    fn with_header(&self, ext_data: Bytes) -> Result<Bytes, ExtError> {
        Ok(ext_data)
    }

    /// Chooses ext data of at most `max_gas` for a block under construction (whose `ext_data` is empty) and applies it,
    /// as [`apply`](Self::apply) will when the block is verified. `None`: there is nothing to carry.
    fn build(
        &self,
        _block: &ExtBlock<'_>,
        _max_gas: u64,
        _state: &mut StateOverlay<'_>,
        _rows: &mut PendingWrites<'_>,
    ) -> Result<Option<(Bytes, ExtOutcome)>, ExtError> {
        Ok(None)
    }

    /// No block came of the last [`build`](Self::build): what was chosen waits again.
    fn not_built(&self) {}

    /// A block that carries this was executed and is being decided on.
    fn undecided(&self, _ext_data: &Bytes) {}

    /// A block that carries this, and leaves accounts so, is about to be committed. What it makes impossible goes to
    /// [`Self::drop_log`], which is saved with it. The commit may fail, so publish nothing here.
    fn before_commit(&self, _ext_data: &Bytes, _accounts: &[ChangedAccount], _accepted_ms: u64) {}

    /// A block that carries this, and leaves accounts so, was accepted and is durable.
    fn accepted(&self, _number: u64, _ext_data: &Bytes, _accounts: &[ChangedAccount]) {}

    /// Accepted blocks above a height were rewound. Their transactions are lost; the builder checks pooled ones
    /// against the restored state.
    fn rewound(&self, _number: u64) {}

    /// The transactions in the ext data of an accepted block.
    fn reports(&self, _ext_data: &Bytes) -> Vec<TxReport> {
        Vec::new()
    }

    /// A block that carries this will never be accepted.
    fn abandoned(&self, _ext_data: &Bytes) {}

    /// Whether a transaction waits in its pool.
    fn holds(&self, _tx: &esker_primitives::Id) -> bool {
        false
    }

    /// How many of its transactions wait, and the counts of its pool; `None` if it has no pool. The call is cheap.
    fn pool_figures(&self) -> Option<(u64, PoolFigures)> {
        None
    }

    /// The nonces of an account that something waiting uses, ascending.
    fn waiting_nonces(&self, _account: &Address) -> Vec<u64> {
        Vec::new()
    }

    /// Why transactions of the extension were dropped. The chain opens the log and saves what is added to it.
    fn drop_log(&self) -> Option<&DropLog> {
        None
    }

    /// The extension's transactions that wait for a block, as [`Self::restore_tx`] takes them in again.
    fn waiting_txs(&self) -> Vec<Bytes> {
        Vec::new()
    }

    /// Takes in a transaction that waited when the node stopped; false where it is not valid any more, whose reason
    /// is kept.
    fn restore_tx(&self, _tx: &[u8]) -> bool {
        false
    }

    /// Empties the pool: what a snapshot held follows.
    fn drop_waiting_txs(&self) {}

    /// Audits what accepted blocks carried, and the extension's rows.
    fn audit(&self) -> Box<dyn ExtensionAudit + '_> {
        Box::new(NoExtension)
    }
}

/// What one block's ext data moved of the native asset, in wei.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtTransfers {
    /// Taken from other chains, fees included.
    pub imported: u128,
    /// Left for other chains.
    pub exported: u128,
    /// Burnt as fees.
    pub burnt: u128,
    /// What a control record gave and took; nothing outside of development networks.
    pub set: SupplyChange,
}

/// How the supply of a chain's coin changed, wei. A sum of any number of balances fits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SupplyChange {
    /// Wei that accounts got.
    pub given: U512,
    /// Wei that accounts lost.
    pub taken: U512,
}

impl SupplyChange {
    /// Adds a balance before and after a change.
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
    /// Audits the next accepted block; what it exchanged with other chains goes to the site.
    fn block(
        &mut self,
        block: &ExtBlock<'_>,
        ctx: &mut AuditContext<'_>,
    ) -> Result<ExtTransfers, AuditError>;

    /// Audits the rows that all blocks left.
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
    /// The transactions that a block carries, as a list in JSON; `None` if ext data holds none that can be shown.
    fn transactions(&self, ext_data: &[u8]) -> Option<Box<RawValue>>;
}

/// No extension: ext data must be empty.
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
