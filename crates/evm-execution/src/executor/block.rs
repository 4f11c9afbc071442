//! Executes the transactions of a block.

use std::sync::Arc;

use alloy_primitives::{Address, B256, Bloom, U256, U512};
use esker_evm_state::state::{StateChanges, StateTries, StateView};
use esker_evm_state::types::{Header, Receipt, Transaction, block_bloom, receipts_root};

use super::block_console::{BlockConsole, TxConsole};
use super::block_touched::BlockTouched;
use super::failure::TxFailure;
use super::runner::{ExecutionEnd, Runner};
use super::{
    BlockBody, BlockContext, BlockHashes, Bounds, ChainParams, ExtOutcome, Message, Origin,
    StateOverlay, TxError, blob_fee, check_form, sender_of,
};
use crate::rules::{
    BaseFeeUse, BlockEnd, BlockPoint, BlockResults, BlockStepError, Revision, Rules,
};

/// The results of a block's transactions and ext data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockExecutionOutput {
    /// A receipt for each transaction.
    pub receipts: Vec<Receipt>,
    /// The transactions whose code failed.
    pub failures: Vec<TxFailure>,
    /// The transactions whose code printed, if the chain keeps it ([`ChainParams::keeps_console`]).
    pub printed: Vec<TxConsole>,
    /// The accounts that transactions touched, with the indexes of the transactions, in ascending order, if the chain
    /// keeps them ([`ChainParams::keeps_touched`]): senders, recipients, created contracts, and what code called.
    pub touched: Vec<(Address, u32)>,
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
    /// The outcome of the work after the transactions.
    pub end: BlockEnd,
    /// The changes of the state.
    pub changes: StateChanges,
    /// Wei of self-destructed contracts.
    pub destroyed: U512,
}

impl BlockExecutionOutput {
    /// What a header shows or must agree with.
    pub fn results(&self) -> BlockResults {
        BlockResults {
            receipts_root: self.receipts_root,
            bloom: self.bloom,
            gas_used: self.gas_used,
            ext_gas_used: self.extension.gas_used,
            block_fee: self.block_fee,
            end: self.end.clone(),
        }
    }
}

/// Executes the transactions of one block, for the builder and for the verifier.
#[derive(Debug)]
pub struct BlockExecutor<'a> {
    runner: Runner<'a>,
    block: BlockContext,
    body: BlockBody<'a>,
    rules: Arc<dyn Rules>,
    /// The tries after the transactions so far, if receipts have their root.
    tries: Option<StateTries<'a>>,
    gas_left: u64,
    gas_used: u64,
    tips: U256,
    receipts: Vec<Receipt>,
    failures: Vec<TxFailure>,
    printed: BlockConsole,
    /// `None` if nobody wants it.
    touched: Option<BlockTouched>,
}

impl<'a> BlockExecutor<'a> {
    /// Begins a block on the state after `parent`: activates forks, and does the work before the transactions.
    /// `gas_available` is the gas that all its transactions may use.
    pub fn new(
        chain: &'a ChainParams,
        view: StateView<'a>,
        hashes: &'a dyn BlockHashes,
        parent: &Header,
        (block, body): (BlockContext, BlockBody<'a>),
        gas_available: u64,
    ) -> Result<Self, BlockStepError> {
        let rules = Arc::clone(&chain.rules);
        let mut state = StateOverlay::new(view, hashes, chain.machine.codes.clone());
        let has_roots = block.rules.revision < Revision::Byzantium;
        let tries = has_roots.then(|| StateTries::new(&*chain.rules, view, parent.state_root));
        let tries = tries.transpose()?;
        if has_roots {
            state = state.tracking();
        }
        rules.apply_forks(&BlockPoint::of(parent), &block.point(), &mut state)?;
        let mut runner = Runner::new(&chain.machine, state, &block, Bounds::default());
        rules.begin_block(&body.running(&block), &mut runner)?;
        if chain.keeps_console {
            runner.keep_console();
        }
        if chain.keeps_touched {
            runner.keep_called();
        }
        Ok(Self {
            runner,
            block,
            body,
            rules,
            tries,
            gas_left: gas_available,
            gas_used: 0,
            tips: U256::ZERO,
            receipts: Vec::new(),
            failures: Vec::new(),
            printed: BlockConsole::default(),
            touched: chain.keeps_touched.then(BlockTouched::default),
        })
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
        check_form(&self.block.rules, tx)?;
        let sender = match sender {
            Some(sender) => sender,
            None => sender_of(tx, &*self.rules)?,
        };
        self.runner.check_chain_id(tx)?;
        let message = Message::from_tx(tx, sender);
        if message.gas_limit > self.gas_left {
            // The reference checks nonce and funds first. The order decides with which text a block fails.
            super::check::check(&self.block, &message, self.runner.state())?;
            return Err(TxError::GasLimitReached);
        }
        let ended = self.runner.run(&self.block, &message)?;
        let burnt = self.burnt_fee(&message, ended.gas_used);
        self.runner.commit_burning(burnt)?;
        self.note(tx, &message, ended)?;
        Ok(self.receipts.last().expect("just pushed"))
    }

    /// Executes a transaction as if its nonce were the next one, without an effect. `sender` is as that of
    /// [`Self::execute`].
    pub fn probe(&mut self, tx: &Transaction, sender: Option<Address>) -> Result<(), TxError> {
        let sender = sender.map_or_else(|| sender_of(tx, &*self.rules), Ok)?;
        self.runner.check_chain_id(tx)?;
        let message = Message { origin: Origin::Call, ..Message::from_tx(tx, sender) };
        let ended = self.runner.run(&self.block, &message);
        self.runner.discard();
        ended.map(drop)
    }

    /// The part of a message's fee that nobody receives, wei.
    fn burnt_fee(&self, message: &Message, gas_used: u64) -> U256 {
        let base_fee = match self.block.rules.base_fee {
            BaseFeeUse::ToCoinbase => U256::ZERO,
            BaseFeeUse::Burnt => self.block.base_fee,
        };
        let of_gas = base_fee.saturating_mul(U256::from(gas_used));
        of_gas.saturating_add(blob_fee(&self.block, message))
    }

    fn note(
        &mut self,
        tx: &Transaction,
        message: &Message,
        ended: ExecutionEnd,
    ) -> Result<(), TxError> {
        let price = message.effective_price(self.block.base_fee);
        let tip = price.saturating_sub(self.block.base_fee);
        self.tips = self.tips.saturating_add(tip.saturating_mul(U256::from(ended.gas_used)));
        self.gas_used += ended.gas_used;
        self.gas_left -= ended.gas_used;
        let index = self.receipts.len();
        self.failures.extend(TxFailure::from_end(index, &ended));
        self.printed.push(index, self.runner.take_console());
        let mut receipt = ended.into_receipt(tx, message, self.gas_used);
        if let Some(touched) = &mut self.touched {
            let place = u32::try_from(index).expect("gas bounds the transactions of a block");
            let own = [Some(receipt.from), message.to, receipt.contract_address];
            touched.push(place, own.into_iter().flatten().chain(self.runner.called()));
        }
        if let Some(tries) = &mut self.tries {
            let changes = self.runner.state().recent_changes();
            receipt.state_root = Some(tries.apply(&changes).map_err(TxError::State)?);
        }
        self.receipts.push(receipt);
        Ok(())
    }

    /// The state after the transactions so far, for example to continue with an inspector.
    pub fn into_state(self) -> StateOverlay<'a> {
        self.runner.into_parts().0
    }

    /// Ends the block. `extension` is the outcome of its ext data, which was applied to [`Self::state`].
    pub fn finish(mut self, extension: ExtOutcome) -> Result<BlockExecutionOutput, BlockStepError> {
        let running = self.body.running(&self.block);
        let end = self.rules.end_block(&running, &self.receipts, &mut self.runner)?;
        Ok(BlockExecutionOutput {
            receipts_root: receipts_root(&self.receipts),
            bloom: block_bloom(&self.receipts),
            gas_used: self.gas_used,
            block_fee: self.tips.saturating_add(extension.contribution),
            extension,
            end,
            changes: self.runner.state().changes(),
            destroyed: self.runner.state().destroyed(),
            receipts: self.receipts,
            failures: self.failures,
            printed: self.printed.into_txs(),
            touched: self.touched.map(BlockTouched::into_sorted).unwrap_or_default(),
        })
    }
}
