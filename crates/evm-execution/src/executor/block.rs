//! Executes the transactions of a block.

use std::sync::Arc;

use alloy_primitives::{Address, B256, Bloom, Bytes, U256, U512, address};
use esker_evm_state::state::{AccountParts, StateChanges, StateError, StateView};
use esker_evm_state::types::{Header, Receipt, Transaction, block_bloom, receipts_root};

use super::check::WARP;
use super::failure::TxFailure;
use super::runner::{ExecutionEnd, Runner};
use super::{
    BlockContext, BlockHashes, Bounds, ChainParams, ExtOutcome, Message, StateOverlay, TxError,
    sender_of,
};
use crate::rules::{Phase, Rules};

/// The caller of the system call of a block (EIP-4788).
const SYSTEM: Address = address!("0xfffffffffffffffffffffffffffffffffffffffe");

/// Gas of the system call.
const SYSTEM_CALL_GAS: u64 = 30_000_000;

/// Code of the warp precompile in the state.
pub(crate) const WARP_CODE: &[u8] = &[1];

/// The results of a block's transactions and ext data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockExecutionOutput {
    /// A receipt for each transaction.
    pub receipts: Vec<Receipt>,
    /// The transactions whose code failed.
    pub failures: Vec<TxFailure>,
    /// Root of the receipts.
    pub receipts_root: B256,
    /// Bloom filter of all logs.
    pub bloom: Bloom,
    /// Gas of all transactions.
    pub gas_used: u64,
    /// Wei paid above the base fee, by transactions and ext data.
    pub block_fee: U256,
    /// The outcome of the ext data.
    pub extension: ExtOutcome,
    /// The changes of the state.
    pub changes: StateChanges,
    /// Wei of self-destructed contracts.
    pub destroyed: U512,
}

/// Executes the transactions of one block, for the builder and for the verifier.
#[derive(Debug)]
pub struct BlockExecutor<'a> {
    runner: Runner<'a>,
    block: BlockContext,
    rules: Arc<dyn Rules>,
    gas_left: u64,
    gas_used: u64,
    tips: U256,
    receipts: Vec<Receipt>,
    failures: Vec<TxFailure>,
}

impl<'a> BlockExecutor<'a> {
    /// Begins a block on the state after `parent`: activates forks, and makes the system call. `gas_available` is the
    /// gas that all its transactions may use.
    pub fn new(
        chain: &ChainParams,
        view: StateView<'a>,
        hashes: &'a dyn BlockHashes,
        parent: &Header,
        block: BlockContext,
        gas_available: u64,
    ) -> Result<Self, TxError> {
        let mut state = StateOverlay::new(view, hashes, chain.codes.clone());
        activate(chain, &mut state, parent.time, block.time)?;
        let mut runner = Runner::new(chain, state, &block, Bounds::default());
        begin_block(chain, &mut runner, &block, B256::ZERO)?;
        let rules = Arc::clone(&chain.rules);
        let (gas_left, gas_used) = (gas_available, 0);
        let (tips, receipts, failures) = (U256::ZERO, Vec::new(), Vec::new());
        Ok(Self { runner, block, rules, gas_left, gas_used, tips, receipts, failures })
    }

    /// The block.
    pub fn block(&self) -> &BlockContext {
        &self.block
    }

    /// Gas that further transactions may use.
    pub fn gas_left(&self) -> u64 {
        self.gas_left
    }

    /// Gas used so far.
    pub fn gas_used(&self) -> u64 {
        self.gas_used
    }

    /// Wei paid above the base fee so far.
    pub fn tips(&self) -> U256 {
        self.tips
    }

    /// The receipts of the transactions so far.
    pub fn receipts(&self) -> &[Receipt] {
        &self.receipts
    }

    /// The state after the transactions so far.
    pub fn state(&mut self) -> &mut StateOverlay<'a> {
        self.runner.state()
    }

    /// Executes the next transaction. `sender` is the sender by its signature ([`sender_of`]), if it is known. After
    /// an error nothing has changed.
    pub fn execute(
        &mut self,
        tx: &Transaction,
        sender: Option<Address>,
    ) -> Result<&Receipt, TxError> {
        let sender = match sender {
            Some(sender) => sender,
            None => sender_of(tx, &*self.rules)?,
        };
        let message = Message::from_tx(tx, sender);
        if message.gas_limit > self.gas_left {
            // The reference checks nonce and funds first. The order decides with which text a block fails.
            super::check::check(&self.block, &message, self.runner.state())?;
            return Err(TxError::GasLimitReached);
        }
        let ended = self.runner.run(&self.block, &message)?;
        self.runner.commit()?;
        self.note(tx, &message, ended);
        Ok(self.receipts.last().expect("just pushed"))
    }

    fn note(&mut self, tx: &Transaction, message: &Message, ended: ExecutionEnd) {
        let price = message.effective_price(self.block.base_fee);
        let tip = price.saturating_sub(self.block.base_fee);
        self.tips = self.tips.saturating_add(tip.saturating_mul(U256::from(ended.gas_used)));
        self.gas_used += ended.gas_used;
        self.gas_left -= ended.gas_used;
        self.failures.extend(TxFailure::from_end(self.receipts.len(), &ended));
        self.receipts.push(ended.into_receipt(tx, message, self.gas_used));
    }

    /// The state after the transactions so far, for example to continue with an inspector.
    pub fn into_state(self) -> StateOverlay<'a> {
        self.runner.into_parts().0
    }

    /// Ends the block. `extension` is the outcome of its ext data, which was applied to [`Self::state`].
    pub fn finish(mut self, extension: ExtOutcome) -> BlockExecutionOutput {
        BlockExecutionOutput {
            receipts_root: receipts_root(&self.receipts),
            bloom: block_bloom(&self.receipts),
            gas_used: self.gas_used,
            block_fee: self.tips.saturating_add(extension.contribution),
            extension,
            changes: self.runner.state().changes(),
            destroyed: self.runner.state().destroyed(),
            receipts: self.receipts,
            failures: self.failures,
        }
    }
}

/// Changes the state if a phase begins between the times (Unix s) of a block and its parent.
pub(crate) fn activate(
    chain: &ChainParams,
    state: &mut StateOverlay<'_>,
    parent_time: u64,
    time: u64,
) -> Result<(), StateError> {
    let durango = chain.rules.schedule().begins(Phase::Durango);
    if parent_time < durango && durango <= time {
        activate_warp(state)?;
    }
    Ok(())
}

/// Makes the system call of a block. `beacon_root` is the root in its header.
pub(crate) fn begin_block<I>(
    chain: &ChainParams,
    runner: &mut Runner<'_, I>,
    block: &BlockContext,
    beacon_root: B256,
) -> Result<(), TxError> {
    if let Some(contract) = chain.rules.system_call(&block.rules)
        && !runner.state().code(contract)?.is_empty()
    {
        runner.system_call(SYSTEM, contract, beacon_root.into(), SYSTEM_CALL_GAS)?;
    }
    Ok(())
}

/// Creates the account of the warp precompile in the state, which then looks like a contract.
fn activate_warp(state: &mut StateOverlay<'_>) -> Result<(), StateError> {
    let balance = state.balance(WARP)?;
    let is_multi_coin = state.account(WARP)?.is_some_and(|account| account.is_multi_coin);
    let code_hash = alloy_trie::KECCAK_EMPTY;
    state.set_account(WARP, AccountParts { nonce: 1, balance, code_hash, is_multi_coin })?;
    state.set_code(WARP, Bytes::from_static(WARP_CODE))
}
