//! Signed transactions in sequence, as a builder would put them into one block.

use alloy_primitives::{Address, B256, I256, U256};
use esker_evm_state::types::Transaction;

use super::many::MAX_RETURNED_BYTES;
use super::{BlockOverrides, CallEnv, CallError, CallLimits, CallOutcome, overlay};
use crate::executor::{BlockContext, Message, Runner, TxError, check_form, sender_of};
use crate::rules::{BaseFeeUse, Rules};

/// The outcome of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleOutcome {
    /// What the coinbase has more afterwards, wei.
    pub coinbase_diff: I256,
    /// One for each transaction.
    pub transactions: Vec<BundleTxOutcome>,
}

/// The outcome of a transaction of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleTxOutcome {
    /// Its hash.
    pub hash: B256,
    /// Its sender.
    pub from: Address,
    /// Its recipient; `None` creates a contract.
    pub to: Option<Address>,
    /// What the coinbase has more after it, wei.
    pub coinbase_diff: I256,
    /// The part of that which pays for gas.
    pub gas_fees: U256,
    /// How its code ended.
    pub outcome: CallOutcome,
}

/// Executes transactions in sequence in the block of an environment with overrides. `limits` bounds memory, time, and the
/// gas of all transactions together.
///
/// # Errors
/// One of the transactions can't be part of the block. One whose code fails is an outcome.
pub fn call_bundle(
    env: &CallEnv<'_>,
    block: &BlockOverrides,
    transactions: &[Transaction],
    limits: &CallLimits<'_>,
) -> Result<BundleOutcome, CallError> {
    let block = block.apply(env);
    check_blobs(&block, transactions)?;
    let mut state = overlay(env, &Default::default(), limits)?;
    let before = state.balance(block.coinbase)?;
    let mut runner = Runner::new(&env.chain.machine, state, &block, limits.bounds);
    limits.prepare(&mut runner);
    let left = Left {
        of_block: block.gas_limit,
        of_cap: if limits.gas_cap == 0 { u64::MAX } else { limits.gas_cap },
        returned: MAX_RETURNED_BYTES,
    };
    let mut run = Run { runner, rules: &*env.chain.rules, block: &block, limits, left };
    let outcomes = transactions.iter().map(|tx| run.execute(tx)).collect::<Result<Vec<_>, _>>()?;
    let after = run.runner.state().balance(block.coinbase)?;
    Ok(BundleOutcome { coinbase_diff: difference(before, after), transactions: outcomes })
}

/// A block holds so many blobs at most.
fn check_blobs(block: &BlockContext, transactions: &[Transaction]) -> Result<(), CallError> {
    let Some(limits) = block.rules.blobs else { return Ok(()) };
    let of_tx = |tx: &Transaction| alloy_consensus::Transaction::blob_count(tx).unwrap_or(0);
    let have: u64 = transactions.iter().map(of_tx).sum();
    if have > limits.max {
        return Err(CallError::TooManyBlobs { have, most: limits.max });
    }
    Ok(())
}

/// Balances are below 2^255.
fn difference(before: U256, after: U256) -> I256 {
    I256::from_raw(after.wrapping_sub(before))
}

/// What transactions may still use.
struct Left {
    of_block: u64,
    of_cap: u64,
    /// Bytes that they return.
    returned: usize,
}

struct Run<'r, 'a> {
    runner: Runner<'a>,
    rules: &'r dyn Rules,
    block: &'r BlockContext,
    limits: &'r CallLimits<'a>,
    left: Left,
}

impl Run<'_, '_> {
    fn execute(&mut self, tx: &Transaction) -> Result<BundleTxOutcome, CallError> {
        self.limits.check()?;
        let hash = *tx.tx_hash();
        let refused = |error: TxError| {
            CallError::from_tx_error_with(error, self.limits.timeout, |error| {
                CallError::TransactionRefused { error: Box::new(error), hash }
            })
        };
        check_form(&self.block.rules, tx).map_err(|error| refused(error.into()))?;
        let from = sender_of(tx, self.rules).map_err(|error| refused(error.into()))?;
        self.runner.check_chain_id(tx).map_err(refused)?;
        let message = Message::from_tx(tx, from);
        if message.gas_limit > self.left.of_block {
            return Err(refused(TxError::GasLimitReached));
        }
        if message.gas_limit > self.left.of_cap {
            let (cap, left) = (self.limits.gas_cap, self.left.of_cap);
            return Err(CallError::GasCapUsedUp { cap, left, want: message.gas_limit });
        }
        let coinbase = self.block.coinbase;
        let before = self.runner.state().balance(coinbase)?;
        let ended = self.runner.run(self.block, &message);
        self.limits.add_console(&mut self.runner);
        let ended = ended.map_err(refused)?;
        self.runner.commit()?;
        let after = self.runner.state().balance(coinbase)?;
        self.left.of_block -= ended.gas_used;
        self.left.of_cap -= ended.gas_used;
        let outcome = CallOutcome { logs: Vec::new(), ..CallOutcome::from_end(ended) };
        let returned = self.left.returned.checked_sub(outcome.output.len());
        self.left.returned = returned.ok_or(CallError::TooMuchData(MAX_RETURNED_BYTES))?;
        let gas_fees = self.gas_fee(&message).saturating_mul(U256::from(outcome.gas_used));
        let coinbase_diff = difference(before, after);
        Ok(BundleTxOutcome { hash, from, to: message.to, coinbase_diff, gas_fees, outcome })
    }

    /// What the coinbase gets for a gas of a message, wei.
    fn gas_fee(&self, message: &Message) -> U256 {
        let price = message.effective_price(self.block.base_fee);
        match self.block.rules.base_fee {
            BaseFeeUse::ToCoinbase => price,
            BaseFeeUse::Burnt => price.saturating_sub(self.block.base_fee),
        }
    }
}
