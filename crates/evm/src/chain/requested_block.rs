//! Builds blocks with requested attributes, which do not become part of the chain.

use alloy_primitives::{Address, B256, Bytes, U256};
use esker_chain::{BuildContext, ChainError};
use esker_evm_execution::executor::{ExtOutcome, TxError};
use esker_evm_execution::rules::{BlockAttributes, ExtSummary, HeaderTerms, RuleError};
use esker_evm_state::types::{SealedBlock, Transaction};
use esker_storage::WriteSet;
use thiserror::Error;

use super::builder::{BuildError, Selection, take_transactions};
use super::vm::Evm;
use crate::pool::{Sidecar, without_sidecar};
use crate::verify::{ParentContext, VerifyError, assemble, child_executor};

/// A block that is asked for.
#[derive(Clone, Debug)]
pub struct BlockRequest {
    /// The parent, which must be the last accepted block.
    pub parent: B256,
    /// Unix s.
    pub time: u64,
    /// The result of PREVRANDAO.
    pub random: B256,
    /// Recipient of the fees.
    pub fee_recipient: Address,
    /// What else it is asked for.
    pub attributes: BlockAttributes,
    /// Its transactions; `None` for those of the pool.
    pub transactions: Option<Vec<Transaction>>,
}

/// A block that was built, and what it pays.
#[derive(Clone, Debug)]
pub struct RequestedBlock {
    /// The block.
    pub block: SealedBlock,
    /// Wei that its transactions pay above the base fee.
    pub value: U256,
    /// Sidecars of its blob transactions that the pool has.
    pub sidecars: Vec<Sidecar>,
    /// Requests of its contracts to the consensus layer (EIP-7685).
    pub requests: Vec<Bytes>,
}

/// Why a block can't be built. Texts are those of geth, and of the rules.
#[derive(Debug, Error)]
pub enum RequestedBlockError {
    /// The chain has another last block.
    #[error("parentHash is not current head")]
    NotHead,
    /// A transaction can't be in the block.
    #[error(transparent)]
    Transaction(#[from] TxError),
    /// The rules refuse the block.
    #[error(transparent)]
    Rules(#[from] RuleError),
    /// The node failed.
    #[error(transparent)]
    Chain(#[from] ChainError),
}

impl From<BuildError> for RequestedBlockError {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::Execution(error) => Self::Transaction(error),
            BuildError::Rules(error) => Self::Rules(error),
            error => Self::Chain(error.into()),
        }
    }
}

impl Evm {
    /// Builds a block on the last one.
    pub fn build_requested(
        &self,
        request: BlockRequest,
    ) -> Result<RequestedBlock, RequestedBlockError> {
        let reader = self.context.store.snapshot().map_err(ChainError::from)?;
        let now_ms = self.context.clock.now_ms();
        let at = BuildContext { now_ms, ancestors: Vec::new(), has_undecided: false };
        let parent = self.parent(reader.as_ref(), &at).map_err(ChainError::from)?;
        if parent.hash != request.parent {
            return Err(RequestedBlockError::NotHead);
        }
        self.with_parent_context(reader.as_ref(), &parent, &at, |ctx| {
            let ctx = ParentContext { attributes: &request.attributes, ..*ctx };
            self.requested(&ctx, &request)
        })
    }

    fn requested(
        &self,
        ctx: &ParentContext<'_>,
        request: &BlockRequest,
    ) -> Result<RequestedBlock, RequestedBlockError> {
        let (rules, time) = (&ctx.chain.rules, request.time);
        let terms = ctx.child_terms(time).map_err(BuildError::from)?;
        let set = HeaderTerms {
            coinbase: Some(request.fee_recipient),
            random: Some(request.random),
            gas_limit: Some(rules.requested_gas_limit(terms.gas_limit)),
            ..HeaderTerms::default()
        };
        let terms = terms.with(&set);
        let mut executor = child_executor(ctx, &terms, time).map_err(BuildError::from)?;
        let transactions = match &request.transactions {
            None => {
                take_transactions(&mut executor, &self.pool, &terms, Selection::default())?.all()?
            }
            Some(given) => {
                let given: Vec<_> = given.iter().cloned().map(without_sidecar).collect();
                for tx in &given {
                    executor.execute(tx, None)?;
                }
                given
            }
        };
        let processed = executor.finish(ExtOutcome::default()).map_err(BuildError::from)?;
        let mut out = WriteSet::default();
        let assembled =
            assemble(ctx, &terms, time, transactions, Bytes::new(), &processed, &mut out);
        let block = assembled.map_err(|error| match error {
            VerifyError::Rules(error) => BuildError::Rules(error),
            error => BuildError::Invalid(Box::new(error)),
        })?;
        // What is asked for may break rules that the node's own blocks never break.
        rules.check_body(&block)?;
        rules.check_header(ctx.parent, &terms, &block, &ExtSummary::default())?;
        let (hash, size) = (rules.block_hash(&block.header), rules.encode_block(&block).len());
        let pooled = block.transactions.iter().map(|tx| self.pool.get(tx.tx_hash()));
        let sidecars = pooled.flatten().filter_map(|(tx, _)| tx.sidecar().cloned()).collect();
        let block = SealedBlock { block, hash, size };
        let (value, requests) = (processed.block_fee, processed.end.requests);
        Ok(RequestedBlock { block, value, sidecars, requests })
    }
}
