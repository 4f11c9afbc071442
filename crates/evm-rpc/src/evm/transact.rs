//! The state of methods that run code or send transactions.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Address, B256, U512, b256};
use esker_artifacts::Registry;
use esker_evm::accounts::{AccountManager, SenderLocks};
use esker_evm::chain::{Evm, SubmitError, SubmittedTx};
use esker_evm::oracle::{FeeOracle, HistoryLimits, PriceOptionsConfig, SuggestedFees};
use esker_evm::printed::PrintedCalls;
use esker_evm::view::ChainEvents;
use esker_evm_execution::executor::ChainParams;
use esker_evm_execution::trace::Scripts;
use esker_evm_state::types::Transaction;
use esker_primitives::clock::Clock;
use esker_rpc::{ReplyAfter, RpcError};
use esker_services::sending::{forward_error, reply_wait};

use super::failed_sends::FailedSends;
use super::receipt_waits::ReceiptWaits;
use crate::error::read_error;
use crate::reads::ReadApi;
use crate::wire::{BlockNumber, BlockNumberOrHash};

/// A transaction that anybody may send although it can be sent again on other chains: the deployment of the
/// registry of EIP-1820, whose sender has no key.
const UNPROTECTED_BY_DEFAULT: B256 =
    b256!("0xfefb2da535e927b85fe68eb81cb2e4a5827c905f78381a01ef2322aa9b0aee8e");

/// Takes transactions into the pool.
pub trait TxSubmitter: Send + Sync + Debug + 'static {
    /// Checks a transaction and takes it in; gives its hash, which waits for the node that decides. It recovers the signature, so it is not for the
    /// async threads.
    fn submit(&self, tx: Transaction) -> Result<ReplyAfter<B256>, SubmitError>;

    /// Whether transactions are taken in at all.
    fn check_sending(&self) -> Result<(), RpcError>;

    /// The reason why a transaction is refused whose value, beyond 256 bits, `tx` has no room for; `hash` is its own,
    /// `signed_hash` is what its sender signed.
    fn refuse_value(
        &self,
        tx: Transaction,
        value: U512,
        hash: B256,
        signed_hash: B256,
    ) -> SubmitError;
}

impl TxSubmitter for Evm {
    fn submit(&self, tx: Transaction) -> Result<ReplyAfter<B256>, SubmitError> {
        let SubmittedTx { hash, answer } = self.submit_and_forward(tx)?;
        Ok(ReplyAfter { reply: hash, wait: reply_wait(answer) })
    }

    fn check_sending(&self) -> Result<(), RpcError> {
        Self::check_sending(self).map_err(forward_error)
    }

    fn refuse_value(
        &self,
        tx: Transaction,
        value: U512,
        hash: B256,
        signed_hash: B256,
    ) -> SubmitError {
        Self::refuse_value(self, tx, value, hash, signed_hash)
    }
}

/// Settings, with the reference's defaults (docs/configuration.md, "Chains of the EVM").
#[derive(Clone, Debug, PartialEq)]
pub struct TransactConfig {
    /// Most gas of a call; 0: no limit.
    pub gas_cap: u64,
    /// Most that a transaction may pay for gas, whole coins; 0: no limit.
    pub tx_fee_cap: f64,
    /// Longest time of a call; zero: no limit.
    pub max_duration: Duration,
    /// Most memory of a call, bytes. The reference has no such limit but the gas.
    pub max_memory: u64,
    /// Whether transactions without a chain ID are accepted.
    pub allow_unprotected_txs: bool,
    /// Transactions without a chain ID that are always accepted.
    pub allow_unprotected_tx_hashes: Vec<B256>,
    /// Whether clients may unlock accounts for later calls.
    pub allow_unlock: bool,
    /// How a send is answered if its transaction failed in its block. Has an effect only where sends wait for their block.
    pub failed_sends: FailedSends,
    /// How price options differ.
    pub price_options: PriceOptionsConfig,
    /// Bounds of a fee history.
    pub history: HistoryLimits,
    /// Most blocks whose traces are searched at once (`api-max-blocks-per-request`); 0: no limit.
    pub max_trace_blocks: u64,
}

impl Default for TransactConfig {
    fn default() -> Self {
        Self {
            gas_cap: 50_000_000,
            tx_fee_cap: 100.0,
            max_duration: Duration::ZERO,
            max_memory: 128 * 1024 * 1024,
            allow_unprotected_txs: false,
            allow_unprotected_tx_hashes: vec![UNPROTECTED_BY_DEFAULT],
            allow_unlock: true,
            failed_sends: FailedSends::default(),
            price_options: PriceOptionsConfig::default(),
            history: HistoryLimits::default(),
            max_trace_blocks: 0,
        }
    }
}

/// The state of methods that run code or send transactions.
#[derive(Debug)]
pub struct TransactApi {
    /// The chain and the pool, to be read.
    pub reads: Arc<ReadApi>,
    /// The chain, to run code on.
    pub chain: ChainParams,
    /// Suggests fees.
    pub oracle: FeeOracle,
    /// Submits transactions to the pool.
    pub submitter: Arc<dyn TxSubmitter>,
    /// Announces the blocks that calls wait for.
    pub events: Arc<dyn ChainEvents>,
    /// Signs for accounts that the node holds.
    pub accounts: Arc<dyn AccountManager>,
    /// The time of the next block.
    pub clock: Arc<dyn Clock>,
    /// The node's clock, for time limits: controls of a development network do not move it.
    pub limit_clock: Arc<dyn Clock>,
    /// Settings.
    pub config: TransactConfig,
    /// Held while a transaction without a nonce gets the next one.
    pub senders: Arc<SenderLocks>,
    /// Held while a call waits for a receipt.
    pub receipt_waits: ReceiptWaits,
    /// Runs tracers that are scripts.
    pub scripts: Arc<dyn Scripts>,
    /// Receives what the code of calls prints, on development networks that show it.
    pub printed: Option<PrintedCalls>,
    /// Whether it also receives what calls and estimates call.
    pub traces_calls: bool,
    /// Knows the names of custom errors, on development networks.
    pub artifacts: Option<Registry>,
}

impl TransactApi {
    /// Fees for a transaction that is sent now.
    pub(crate) fn suggested(&self) -> Result<SuggestedFees, RpcError> {
        self.oracle.suggest(&*self.reads.chain, self.clock.now_s()).map_err(read_error)
    }

    /// Takes a transaction into the pool.
    pub(super) fn submit(&self, tx: Transaction) -> Result<ReplyAfter<B256>, RpcError> {
        self.submitter.submit(tx).map_err(|error| self.submit_error(error))
    }

    /// Whether transactions are taken in at all: methods that send ask this first.
    pub(crate) fn check_sending(&self) -> Result<(), RpcError> {
        self.submitter.check_sending()
    }

    /// The nonce of an account's next transaction, those in the pool counted.
    pub(super) fn next_nonce(&self, account: Address) -> Result<u64, RpcError> {
        if let Some(nonce) = self.reads.pool.next_nonce(account) {
            return Ok(nonce);
        }
        let latest = BlockNumberOrHash::Number(BlockNumber::Latest);
        let (state, _) = self.reads.state(latest)?;
        let account = state.view().account(&account).map_err(read_error)?;
        Ok(account.unwrap_or_default().nonce)
    }
}
