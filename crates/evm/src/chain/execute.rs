//! Executes blocks on their parent and keeps their data.

use std::sync::Arc;

use bytes::Bytes;
use esker_chain::{BuildContext, ChainError, ExecutedBlock};
use esker_evm_execution::executor::BlockExecutionOutput;
use esker_evm_execution::rules::BlockAttributes;
use esker_evm_state::addresses::write_addresses;
use esker_evm_state::blocks::tables::DESTROYED;
use esker_evm_state::blocks::write_block;
use esker_evm_state::state::{AccountChange, ApplyOptions, StoredSum};
use esker_evm_state::types::{Block, Header, SealedHeader};
use esker_primitives::Id;
use esker_storage::{KvRead, WriteSet};

use super::vm::Evm;
use super::{AcceptedBlock, Ancestors, ChainReadError};
use crate::pool::AccountState;
use crate::total_difficulty;
use crate::verify::ParentContext;

impl Evm {
    /// The parent for a new block: this chain's newest undecided block, or the stored tip.
    pub(super) fn parent(
        &self,
        reader: &dyn KvRead,
        at: &BuildContext,
    ) -> Result<SealedHeader, ChainReadError> {
        if let Some(parent) =
            at.ancestors.first().and_then(|block| AcceptedBlock::from_executed(block))
        {
            return Ok(SealedHeader { header: parent.block.header.clone(), hash: parent.hash });
        }
        let view = self.view(reader);
        let tip = view.tip()?;
        let header = view.header(tip.height)?.ok_or(ChainReadError::NoTip)?;
        Ok(SealedHeader { header, hash: tip.hash })
    }

    pub(super) fn with_parent_context<R>(
        &self,
        reader: &dyn KvRead,
        parent: &SealedHeader,
        at: &BuildContext,
        work: impl FnOnce(&ParentContext<'_>) -> R,
    ) -> R {
        let undecided: Vec<_> = at
            .ancestors
            .iter()
            .filter_map(|block| AcceptedBlock::from_executed(block))
            .map(|sealed| sealed.block.ext_data.clone())
            .collect();
        let ancestors = Ancestors::for_child(self.view(reader), parent.header.number, parent.hash);
        work(&ParentContext {
            chain: &self.params,
            reader,
            scope: self.context.scope,
            base: self.state_base(),
            options: ApplyOptions { preimages: self.config.preimages },
            parent: &parent.header,
            parent_hash: parent.hash,
            hashes: &ancestors,
            ancestors: &ancestors,
            extension: self.extension.as_ref(),
            attributes: &BlockAttributes::default(),
            undecided: &undecided,
            has_undecided: at.has_undecided,
        })
    }

    /// Adds the last rows to an executed block.
    pub(super) fn seal_block(
        &self,
        reader: &dyn KvRead,
        block: Block,
        bytes: Bytes,
        processed: BlockExecutionOutput,
        mut writes: WriteSet,
    ) -> Result<ExecutedBlock, ChainError> {
        let hash = self.params.rules.block_hash(&block.header);
        let (receipts, failures) = (processed.receipts, processed.failures);
        let printed = processed.printed;
        let rows = (hash, bytes.as_ref());
        let (scope, history) = (self.context.scope, self.config.history);
        write_block(reader, scope, history, &block, rows, receipts.clone(), &mut writes)?;
        let rules = self.params.rules.as_ref();
        total_difficulty::put_next(rules, reader, scope, &block.header, &mut writes)?;
        let Header { parent_hash, number, time, .. } = block.header;
        let called = self.params.keeps_touched.then_some(processed.touched.as_slice());
        write_addresses(reader, scope, number, called, &mut writes)?;
        if !processed.destroyed.is_zero() {
            DESTROYED.put(&mut writes, scope, &number, &StoredSum(processed.destroyed));
        }
        let state_of = |change: &AccountChange| {
            let account = change.account.as_ref();
            account.map(|parts| AccountState { nonce: parts.nonce, balance: parts.balance })
        };
        let touched = processed.changes.iter();
        let touched = touched
            .map(|(address, change)| (*address, state_of(change).unwrap_or_default()))
            .collect();
        let kept = bytes.clone();
        let sealed =
            AcceptedBlock { block, hash, bytes: kept, receipts, failures, printed, touched };
        Ok(ExecutedBlock {
            id: Id::new(hash.0),
            parent_id: Id::new(parent_hash.0),
            height: number,
            timestamp_ms: time.saturating_mul(1000),
            bytes,
            writes: Arc::new(writes),
            payload: Arc::new(sealed),
        })
    }
}
